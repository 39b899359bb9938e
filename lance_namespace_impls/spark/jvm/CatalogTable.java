package io.github.lancenamespacekit.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.expressions.filter.AlwaysTrue;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A version of a table of a {@link LanceCatalog}. */
final class CatalogTable extends LanceTable
    implements SupportsMetadataColumns, SupportsRowLevelOperations, SupportsDeleteV2 {
  static final String ROW_ADDRESS = "_rowaddr";

  private final String name;
  private final String table;
  private final Map<String, String> properties;
  private final boolean isTarget;
  private boolean scanned;

  private CatalogTable(
      String name,
      String table,
      StructType schema,
      Snapshot snapshot,
      Map<String, String> properties,
      boolean isTarget) {
    super(schema, planned(table, Map.of()), snapshot);
    this.name = name;
    this.table = table;
    this.properties = properties;
    this.isTarget = isTarget;
  }

  /**
   * Returns the table that the planner loaded.
   *
   * @param name the name in SQL
   * @param answer the planner's response
   * @param isTarget whether a statement writes this table
   */
  @SuppressWarnings("unchecked")
  static CatalogTable of(String name, Map<String, Object> answer, boolean isTarget) {
    StructType schema = (StructType) DataType.fromJson((String) answer.get("schema"));
    Snapshot snapshot = answer.get("source") == null ? null : Snapshot.of(answer);
    return new CatalogTable(
        name,
        (String) answer.get("table"),
        schema,
        snapshot,
        (Map<String, String>) answer.get("properties"),
        isTarget);
  }

  /** Returns the options with which the Python data source finds the table. */
  static CaseInsensitiveStringMap planned(String table, Map<String, String> options) {
    Map<String, String> found = new HashMap<>(options);
    found.keySet().removeIf(key -> key.equalsIgnoreCase("planned"));
    found.put("planned", table);
    return new CaseInsensitiveStringMap(found);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Map<String, String> properties() {
    return properties;
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return new MetadataColumn[] {rowAddress()};
  }

  private static MetadataColumn rowAddress() {
    return new MetadataColumn() {
      @Override
      public String name() {
        return ROW_ADDRESS;
      }

      @Override
      public DataType dataType() {
        return DataTypes.LongType;
      }

      @Override
      public boolean isNullable() {
        return false;
      }

      @Override
      public String comment() {
        return "address of the row in this version";
      }
    };
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap query) {
    scanned = true;
    Map<String, String> options = withoutTimeTravel(query);
    if (options.isEmpty()) {
      return super.newScanBuilder(query);
    }
    Map<String, Object> request = new HashMap<>();
    request.put("source", snapshot().source());
    request.put("options", options);
    request.put("schema", schema().json());
    Snapshot other = Snapshot.of(Planner.call("configure", request));
    return new LanceScanBuilder(
        new CatalogTable(name, table, other.schema(), other, properties, isTarget));
  }

  /** Returns options without those with which Spark has already chosen the version to load. */
  private static Map<String, String> withoutTimeTravel(CaseInsensitiveStringMap query) {
    SQLConf settings = SQLConf.get();
    Map<String, String> options = new HashMap<>(query.asCaseSensitiveMap());
    options.keySet().removeIf(
        key ->
            key.equalsIgnoreCase(
                    settings.getConfString("spark.sql.timeTravelVersionKey", "versionAsOf"))
                || key.equalsIgnoreCase(
                    settings.getConfString("spark.sql.timeTravelTimestampKey", "timestampAsOf")));
    return options;
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    // Spark turns a MERGE that only inserts into an append of the rows without a match. Only then,
    // the table that a statement writes is also read.
    String write = isTarget && scanned ? write("merge") : write("insert");
    return new CatalogWrite(info, info.schema(), write);
  }

  /** Returns the option that describes a write of this table. */
  String write(String kind) {
    Map<String, Object> request = new HashMap<>();
    request.put("planned", table);
    request.put("kind", kind);
    request.put("base", kind.equals("insert") ? null : snapshot().source());
    return (String) Planner.call("write", request).get("table");
  }

  @Override
  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    return () -> new ChangeOperation(this, info.command());
  }

  @Override
  public boolean canDeleteWhere(Predicate[] predicates) {
    return condition(predicates) != null;
  }

  @Override
  public void deleteWhere(Predicate[] predicates) {
    Map<String, Object> request = new HashMap<>();
    request.put("source", snapshot().source());
    request.put("condition", condition(predicates));
    Planner.call("delete", request);
  }

  /** Returns the condition in Lance's SQL, or null if Lance would not select the same rows. */
  private String condition(Predicate[] predicates) {
    List<Object> trees = new ArrayList<>();
    for (Predicate each : predicates) {
      if (!(each instanceof AlwaysTrue)) {
        trees.add(Trees.of(each));
      }
    }
    if (trees.isEmpty()) {
      return "true";
    }
    Map<String, Object> request = new HashMap<>();
    request.put("source", snapshot().source());
    request.put("predicates", trees);
    List<String> parts = new ArrayList<>();
    for (Object each : (List<?>) Planner.call("translate", request).get("conditions")) {
      if (each == null) {
        return null;
      }
      if (!((String) each).isEmpty()) {
        parts.add((String) each);
      }
    }
    return String.join(" AND ", parts);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CatalogTable table && Arrays.equals(key(), table.key());
  }

  @Override
  public int hashCode() {
    return Objects.hash(key());
  }

  private Object[] key() {
    Object version = snapshot == null ? null : snapshot.version();
    return new Object[] {name, version, schema(), isTarget};
  }
}
