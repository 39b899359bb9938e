package io.github.lancenamespacekit.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Sends changed rows to the Python writer: the columns, the address of the row to remove (or null)
 * and whether the columns contain a new row. Spark pushes rows, and Python pulls them on another
 * thread.
 */
final class ChangeWriter implements DeltaWriter<InternalRow> {
  private static final int CHUNK_ROWS = 256;
  private static final int CHUNKS = 16;
  private static final List<InternalRow> END = new ArrayList<>();

  private final DataWriter<InternalRow> python;
  private final UnsafeProjection projection;
  private final InternalRow nothing;
  private final JoinedRow joined = new JoinedRow();
  private final BlockingQueue<List<InternalRow>> queue = new ArrayBlockingQueue<>(CHUNKS);
  private final Thread thread;
  private List<InternalRow> chunk = new ArrayList<>(CHUNK_ROWS);
  private volatile Throwable failure;
  private volatile boolean stopped;

  /** Returns the columns that the Python writer receives; removed rows have no values. */
  static StructType schema(StructType columns) {
    StructType found = new StructType();
    for (StructField field : columns.fields()) {
      found = found.add(new StructField(field.name(), field.dataType(), true, field.metadata()));
    }
    return found.add(CatalogTable.ROW_ADDRESS, DataTypes.LongType, true)
        .add("_rowwritten", DataTypes.BooleanType, false);
  }

  /** Creates the writers of tasks. */
  record Factory(DataWriterFactory python, StructType schema) implements DeltaWriterFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public DeltaWriter<InternalRow> createWriter(int partition, long task) {
      return new ChangeWriter(python.createWriter(partition, task), schema);
    }
  }

  private ChangeWriter(DataWriter<InternalRow> python, StructType schema) {
    this.python = python;
    this.projection = UnsafeProjection.create(schema);
    this.nothing = new GenericInternalRow(schema.length() - 2);
    TaskContext context = TaskContext.get();
    thread =
        new Thread(
            () -> {
              TaskContext$.MODULE$.setTaskContext(context);
              try {
                python.writeAll(rows());
              } catch (Throwable error) {
                failure = error;
              } finally {
                TaskContext$.MODULE$.unset();
              }
            },
            "lance-namespace-writer");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void delete(InternalRow metadata, InternalRow id) throws IOException {
    send(nothing, id.getLong(0), false);
  }

  @Override
  public void update(InternalRow metadata, InternalRow id, InternalRow row) throws IOException {
    send(row, id.getLong(0), true);
  }

  @Override
  public void insert(InternalRow row) throws IOException {
    send(row, null, true);
  }

  private void send(InternalRow row, Long address, boolean written) throws IOException {
    InternalRow change = new GenericInternalRow(new Object[] {address, written});
    chunk.add(projection.apply(joined.apply(row, change)).copy());
    if (chunk.size() == CHUNK_ROWS) {
      put(chunk);
      chunk = new ArrayList<>(CHUNK_ROWS);
    }
  }

  private void put(List<InternalRow> rows) throws IOException {
    try {
      while (!queue.offer(rows, 100, TimeUnit.MILLISECONDS)) {
        if (!thread.isAlive()) {
          break;
        }
      }
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", error);
    }
    raiseFailure();
  }

  private void raiseFailure() throws IOException {
    if (failure instanceof RuntimeException error) {
      throw error;
    }
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure != null) {
      throw new IOException(failure);
    }
  }

  private Iterator<InternalRow> rows() {
    return new Iterator<>() {
      private Iterator<InternalRow> rows = List.<InternalRow>of().iterator();
      private boolean ended;

      @Override
      public boolean hasNext() {
        while (!rows.hasNext() && !ended) {
          try {
            List<InternalRow> next = queue.poll(100, TimeUnit.MILLISECONDS);
            if (stopped) {
              throw new IllegalStateException("the task was stopped");
            }
            ended = next == END;
            rows = next == null || ended ? rows : next.iterator();
          } catch (InterruptedException error) {
            throw new IllegalStateException("the task was stopped", error);
          }
        }
        return rows.hasNext();
      }

      @Override
      public InternalRow next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        return rows.next();
      }
    };
  }

  @Override
  public WriterCommitMessage commit() throws IOException {
    put(chunk);
    put(END);
    join();
    raiseFailure();
    return python.commit();
  }

  private void join() throws IOException {
    try {
      thread.join();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", error);
    }
  }

  @Override
  public void abort() throws IOException {
    stopped = true;
    python.abort();
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return python.currentMetricsValues();
  }

  @Override
  public void close() throws IOException {
    stopped = true;
    python.close();
  }
}
