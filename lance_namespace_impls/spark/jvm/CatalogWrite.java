package io.github.lancenamespacekit.spark;

import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.JobArtifactSet;
import org.apache.spark.JobArtifactState;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.datasources.v2.python.PythonBatchWriterFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * A write to a table of a catalog. The planner plans and commits it, so Spark does not start a
 * process for that; the workers run the writer of the Python data source.
 */
final class CatalogWrite implements WriteBuilder, SupportsTruncate, Write, BatchWrite {
  private final LogicalWriteInfo info;
  private final StructType schema;
  private final CaseInsensitiveStringMap options;
  private boolean truncates;
  private String writer;

  /**
   * @param info Spark's description of the write
   * @param schema the columns that Python receives
   * @param planned the option that describes the write
   */
  CatalogWrite(LogicalWriteInfo info, StructType schema, String planned) {
    this.info = info;
    this.schema = schema;
    this.options = CatalogTable.planned(planned, info.options().asCaseSensitiveMap());
  }

  @Override
  public WriteBuilder truncate() {
    truncates = true;
    return this;
  }

  @Override
  public Write build() {
    return this;
  }

  @Override
  public String description() {
    return "Lance";
  }

  @Override
  public String toString() {
    return description();
  }

  @Override
  public BatchWrite toBatch() {
    return this;
  }

  @Override
  public StreamingWrite toStreaming() {
    return python().toStreaming();
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return python().supportedCustomMetrics();
  }

  private Write python() {
    WriteBuilder builder =
        new PythonSource().table(schema).newWriteBuilder(new OptionsOfWrite(info, schema, options));
    return (truncates ? ((SupportsTruncate) builder).truncate() : builder).build();
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo unused) {
    Map<String, Object> request = new HashMap<>();
    request.put("options", options.asCaseSensitiveMap());
    request.put("schema", schema.json());
    request.put("output", UserDefinedPythonDataSource.writeOutputSchema().json());
    request.put("overwrite", truncates);
    Map<String, Object> answer = Planner.call("start_write", request);
    writer = (String) answer.get("writer");
    byte[] function = Base64.getDecoder().decode((String) answer.get("function"));
    Option<String> artifacts =
        JobArtifactSet.getCurrentJobArtifactState().map(JobArtifactState::uuid);
    return new PythonBatchWriterFactory(
        new PythonSource().python(), function, schema, artifacts, Option.empty());
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    finish("commit_write", messages);
  }

  @Override
  public void abort(WriterCommitMessage[] messages) {
    finish("abort_write", messages);
  }

  private void finish(String operation, WriterCommitMessage[] messages) {
    List<String> texts = new ArrayList<>();
    for (WriterCommitMessage each : messages) {
      if (each instanceof PythonWriterCommitMessage message) { // null if the task failed
        texts.add(Base64.getEncoder().encodeToString(message.pickledMessage()));
      }
    }
    Planner.call(operation, Map.of("writer", writer, "messages", texts));
  }
}
