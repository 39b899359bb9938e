package io.github.lancenamespacekit.spark;

import java.util.List;
import org.apache.spark.JobArtifactSet;
import org.apache.spark.JobArtifactState;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonPartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's wrapper around the Python data source. It is stateful, so each use creates a new one. */
final class PythonSource {
  private final PythonDataSourceV2 source = new PythonDataSourceV2();

  PythonSource() {
    source.setShortName(LanceSource.NAME);
  }

  UserDefinedPythonDataSource python() {
    return source.source();
  }

  PythonTable table(StructType schema) {
    return new PythonTable(source, LanceSource.NAME, schema);
  }

  Scan scan(StructType schema, CaseInsensitiveStringMap options) {
    return table(schema).newScanBuilder(options).build();
  }

  /** A read that is already planned, so Spark does not start a process to plan it. */
  PythonRead read(
      StructType schema,
      CaseInsensitiveStringMap options,
      byte[] function,
      List<byte[]> partitions) {
    InputPartition[] inputs = new InputPartition[partitions.size()];
    for (int index = 0; index < inputs.length; index++) {
      inputs[index] = new PythonInputPartition(index, partitions.get(index));
    }
    PartitionReaderFactory rows = rowFactory(schema, options, function);
    return new PythonRead(
        inputs, BatchReaderFactory.of(rows, python(), function, schema).orElse(rows));
  }

  private PartitionReaderFactory rowFactory(
      StructType schema, CaseInsensitiveStringMap options, byte[] function) {
    try {
      source.setReadInfo(
          new PythonDataSourceReadInfo(
              function, CollectionConverters.asScala(List.<byte[]>of()).toList()));
    } catch (NoSuchMethodError error) { // Spark 4.0 plans in each scan
      return rowFactoryOfSpark40(schema, function);
    }
    Batch batch = scan(schema, options).toBatch();
    return batch.createReaderFactory();
  }

  private PartitionReaderFactory rowFactoryOfSpark40(StructType schema, byte[] function) {
    Option<String> artifacts =
        JobArtifactSet.getCurrentJobArtifactState().map(JobArtifactState::uuid);
    try {
      return PythonPartitionReaderFactory.class
          .getConstructor(
              UserDefinedPythonDataSource.class, byte[].class, StructType.class, Option.class)
          .newInstance(python(), function, schema, artifacts);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("this version of Spark is not supported", error);
    }
  }
}
