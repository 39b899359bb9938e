package io.github.lancenamespacekit.spark;

import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/** The scan of one query. Scans of the same version that read the same rows are equal. */
final class LanceScan implements Scan, Batch, SupportsReportStatistics {
  private final LanceTable table;
  private final StructType schema;
  private final List<String> conditions;
  private final Integer limit;
  private final List<Object> aggregates;
  private PythonRead read;

  /**
   * @param table the table
   * @param schema the columns of the result
   * @param conditions the pushed filters in Lance's SQL
   * @param limit the maximum number of rows of a task, or null
   * @param aggregates the aggregates that each task computes, or null
   */
  LanceScan(
      LanceTable table,
      StructType schema,
      List<String> conditions,
      Integer limit,
      List<Object> aggregates) {
    this.table = table;
    this.schema = schema;
    this.conditions = List.copyOf(conditions);
    this.limit = limit;
    this.aggregates = aggregates;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    return "Lance columns="
        + List.of(schema.fieldNames())
        + (conditions.isEmpty() ? "" : " filter=" + String.join(" AND ", conditions))
        + (limit == null ? "" : " limit=" + limit);
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    return new PythonSource().scan(table.schema(), table.options())
        .toMicroBatchStream(checkpointLocation);
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return new PythonSource().scan(schema, table.options()).supportedCustomMetrics();
  }

  @Override
  public InputPartition[] planInputPartitions() {
    return read().partitions();
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return read().factory();
  }

  private synchronized PythonRead read() {
    if (read == null) {
      Map<String, Object> request = new HashMap<>();
      request.put("source", table.snapshot().source());
      request.put("schema", schema.json());
      request.put("conditions", conditions);
      request.put("limit", limit);
      request.put("aggregates", aggregates);
      request.put("cores", SparkContext.getOrCreate().defaultParallelism());
      Map<String, Object> answer = Planner.call("plan", request);
      List<byte[]> partitions = new ArrayList<>();
      for (Object each : (List<?>) answer.get("partitions")) {
        partitions.add(Base64.getDecoder().decode((String) each));
      }
      byte[] function = Base64.getDecoder().decode((String) answer.get("function"));
      read = new PythonSource().read(schema, table.options(), function, partitions);
    }
    return read;
  }

  @Override
  public Statistics estimateStatistics() {
    Snapshot snapshot = table.snapshot();
    // Ignore filters: for a broadcast, an estimate that is too large is safer than one too small.
    long rows = aggregates == null ? snapshot.rows() : 1;
    double width = 8;
    for (String name : schema.fieldNames()) {
      width += snapshot.widths().getOrDefault(name, 8.0);
    }
    long bytes = (long) Math.max(1, rows * width);
    OptionalLong count = OptionalLong.of(rows);
    return new Statistics() {
      @Override
      public OptionalLong sizeInBytes() {
        return OptionalLong.of(bytes);
      }

      @Override
      public OptionalLong numRows() {
        return count;
      }
    };
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof LanceScan scan && key().equals(scan.key());
  }

  @Override
  public int hashCode() {
    return key().hashCode();
  }

  private List<Object> key() {
    return java.util.Arrays.asList(
        table.snapshot().source(), schema, conditions, limit, Objects.toString(aggregates));
  }
}
