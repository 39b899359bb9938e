package io.github.lancenamespacekit.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The format {@code lance_namespace}. Spark prefers this class to the Python data source of the same
 * name, which still reads streams and writes.
 */
public final class LanceSource implements TableProvider, DataSourceRegister {
  static final String NAME = "lance_namespace";

  private Snapshot inferred;

  @Override
  public String shortName() {
    return NAME;
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    inferred = Snapshot.of(options, null);
    return inferred.schema();
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> options) {
    Snapshot snapshot = inferred != null && inferred.schema().equals(schema) ? inferred : null;
    return new LanceTable(schema, new CaseInsensitiveStringMap(options), snapshot);
  }
}
