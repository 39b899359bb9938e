package io.github.lancenamespacekit.spark;

import java.util.Optional;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Spark's description of a write, with the options of the Python data source. */
final class OptionsOfWrite implements LogicalWriteInfo {
  private final LogicalWriteInfo info;
  private final StructType schema;
  private final CaseInsensitiveStringMap options;

  OptionsOfWrite(LogicalWriteInfo info, StructType schema, CaseInsensitiveStringMap options) {
    this.info = info;
    this.schema = schema;
    this.options = options;
  }

  @Override
  public CaseInsensitiveStringMap options() {
    return options;
  }

  @Override
  public String queryId() {
    return info.queryId();
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public Optional<StructType> rowIdSchema() {
    return Optional.empty();
  }

  @Override
  public Optional<StructType> metadataSchema() {
    return Optional.empty();
  }
}
