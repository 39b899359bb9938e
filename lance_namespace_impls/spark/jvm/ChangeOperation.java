package io.github.lancenamespacekit.spark;

import java.util.Locale;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * UPDATE, DELETE or MERGE. Workers write the new rows and return the addresses of the rows to remove;
 * the driver commits both as one version.
 */
final class ChangeOperation implements SupportsDelta {
  private static final NamedReference[] ROW_ID = {Expressions.column(CatalogTable.ROW_ADDRESS)};

  private final CatalogTable table;
  private final Command command;

  ChangeOperation(CatalogTable table, Command command) {
    this.table = table;
    this.command = command;
  }

  @Override
  public String description() {
    return "Lance " + command;
  }

  @Override
  public Command command() {
    return command;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return table.newScanBuilder(options);
  }

  @Override
  public NamedReference[] rowId() {
    return ROW_ID;
  }

  @Override
  public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new DeltaWriteBuilder() {
      @Override
      public DeltaWrite build() {
        return write(info);
      }
    };
  }

  private DeltaWrite write(LogicalWriteInfo info) {
    StructType schema = ChangeWriter.schema(info.schema());
    String planned = table.write(command.name().toLowerCase(Locale.ROOT));
    BatchWrite python = new CatalogWrite(info, schema, planned);
    return new DeltaWrite() {
      @Override
      public String description() {
        return "Lance " + command;
      }

      @Override
      public DeltaBatchWrite toBatch() {
        return new Batch(python, schema);
      }
    };
  }

  private record Batch(BatchWrite python, StructType schema) implements DeltaBatchWrite {
    @Override
    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return new ChangeWriter.Factory(python.createBatchWriterFactory(info), schema);
    }

    @Override
    public boolean useCommitCoordinator() {
      return python.useCommitCoordinator();
    }

    @Override
    public void onDataWriterCommit(WriterCommitMessage message) {
      python.onDataWriterCommit(message);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      python.commit(messages);
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      python.abort(messages);
    }
  }
}
