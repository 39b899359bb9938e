package io.github.lancenamespacekit.spark;

import java.util.Optional;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A write of a table of a catalog, as the Python data source accepts it. */
final class PlannedWrite implements LogicalWriteInfo {
  private final LogicalWriteInfo info;
  private final StructType schema;
  private final CaseInsensitiveStringMap options;

  PlannedWrite(LogicalWriteInfo info, String planned) {
    this(info, info.schema(), planned);
  }

  PlannedWrite(LogicalWriteInfo info, StructType schema, String planned) {
    this.info = info;
    this.schema = schema;
    this.options = CatalogTable.planned(planned, info.options().asCaseSensitiveMap());
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
