package io.github.lancenamespacekit.spark;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonCustomMetric;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonPartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.python.ArrowPythonRunner;
import org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Returns the Arrow batches of the Python workers without copying them. Spark's own reader of a
 * Python data source copies them row by row, and the query then copies the rows again.
 *
 * <p>Spark's runner is not public: its class and constructor are the same in 4.0 to 4.3. If they are
 * missing, or if the executors do not have the jar, Spark's own reader is used.
 */
final class BatchReaderFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1L;
  private static final String RUNNER =
      "org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory$MapInBatchEvaluator$$anon$1";

  private final UserDefinedPythonDataSource source;
  private final byte[] function;
  private final StructType schema;
  private final List<Object> sessions;

  private BatchReaderFactory(
      UserDefinedPythonDataSource source,
      byte[] function,
      StructType schema,
      List<Object> sessions) {
    this.source = source;
    this.function = function;
    this.schema = schema;
    this.sessions = sessions;
  }

  /** Returns a factory instead of Spark's own, if this Spark and its executors support it. */
  static Optional<PartitionReaderFactory> of(
      PartitionReaderFactory own,
      UserDefinedPythonDataSource source,
      byte[] function,
      StructType schema) {
    if (!isOnExecutors() || !(own instanceof PythonPartitionReaderFactory)) {
      return Optional.empty();
    }
    try {
      runner();
      List<Object> sessions = new ArrayList<>();
      for (int each = 5; each < planner().getParameterCount(); each++) {
        sessions.add(sessionOf(own, each == 5 ? "jobArtifactUUID" : "sessionUUID"));
      }
      return Optional.of(new BatchReaderFactory(source, function, schema, sessions));
    } catch (ReflectiveOperationException | InaccessibleObjectException error) {
      return Optional.empty();
    }
  }

  /** Whether executors have this jar: in local mode, or if Spark distributes it. */
  private static boolean isOnExecutors() {
    SparkContext context = SparkContext.getOrCreate();
    return context.isLocal()
        || CollectionConverters.asJava(context.listJars()).stream()
            .anyMatch(jar -> jar.endsWith("/lance-namespace-spark.jar"));
  }

  private static Constructor<?> runner() throws ReflectiveOperationException {
    return Class.forName(RUNNER, true, ArrowPythonRunner.class.getClassLoader())
        .getConstructors()[0];
  }

  private static Method planner() throws ReflectiveOperationException {
    for (Method method : UserDefinedPythonDataSource.class.getMethods()) {
      if (method.getName().equals("createMapInBatchEvaluatorFactory")) {
        return method;
      }
    }
    throw new NoSuchMethodException("createMapInBatchEvaluatorFactory");
  }

  private static Object sessionOf(Object factory, String name)
      throws ReflectiveOperationException {
    for (Field field : factory.getClass().getDeclaredFields()) {
      if (field.getName().endsWith(name)) {
        field.setAccessible(true);
        return field.get(factory);
      }
    }
    throw new NoSuchFieldException(name);
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException("this reader returns only batches");
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    try {
      return new Reader((PythonInputPartition) partition);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }

  private final class Reader implements PartitionReader<ColumnarBatch> {
    private final Map<String, SQLMetric> metrics = PythonCustomMetric.pythonMetrics();
    private final Iterator<ColumnarBatch> batches;

    Reader(PythonInputPartition partition) throws ReflectiveOperationException {
      List<Object> arguments = new ArrayList<>();
      arguments.add(function);
      arguments.add("read_from_data_source");
      arguments.add(UserDefinedPythonDataSource.readInputSchema());
      arguments.add(schema);
      arguments.add(metrics);
      arguments.addAll(sessions);
      MapInBatchEvaluatorFactory factory =
          (MapInBatchEvaluatorFactory) planner().invoke(source, arguments.toArray());
      ArrowPythonRunner python =
          (ArrowPythonRunner) runner().newInstance(factory.createEvaluator(), new int[][] {{0}});
      InternalRow pieces =
          new GenericInternalRow(new Object[] {row(partition.pickedPartition())});
      batches =
          python.compute(
              single(single(pieces)), partition.index(), TaskContext.get());
    }

    private InternalRow row(Object value) {
      return new GenericInternalRow(new Object[] {value});
    }

    private <T> Iterator<T> single(T value) {
      return CollectionConverters.asScala(List.of(value).iterator());
    }

    @Override
    public boolean next() {
      return batches.hasNext();
    }

    @Override
    public ColumnarBatch get() {
      ColumnarBatch batch = batches.next();
      ArrowColumnVector struct = (ArrowColumnVector) batch.column(0);
      if (!DataType$.MODULE$.equalsIgnoreCompatibleNullability(struct.dataType(), schema)) {
        throw new IllegalStateException(
            "Python returned " + struct.dataType().sql() + " instead of " + schema.sql());
      }
      ColumnVector[] columns = new ColumnVector[schema.length()];
      for (int index = 0; index < columns.length; index++) {
        columns[index] = new BorrowedVector(struct.getChild(index).getValueVector());
      }
      return new ColumnarBatch(columns, batch.numRows());
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
      List<Tuple2<String, Object>> values = new ArrayList<>();
      for (Tuple2<String, SQLMetric> each : CollectionConverters.asJava(metrics.toList())) {
        values.add(Tuple2.apply(each._1(), each._2().value()));
      }
      return source.createPythonTaskMetrics(
          scala.collection.immutable.Map.from(CollectionConverters.asScala(values)));
    }

    @Override
    public void close() {} // Spark ends the worker with the task
  }
}
