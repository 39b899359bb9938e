package io.github.lancenamespacekit.spark;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntFunction;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A namespace as a catalog of Spark SQL: {@code spark.sql.catalog.<name>} is the name of this class,
 * and {@code spark.sql.catalog.<name>.<property>} are the properties of the namespace. The planner
 * calls the namespace.
 */
public final class LanceCatalog implements StagingTableCatalog, SupportsNamespaces {
  // The codes of the protocol's errors for which Spark has exceptions.
  private static final int NAMESPACE_NOT_FOUND = 1;
  private static final int NAMESPACE_EXISTS = 2;
  private static final int NAMESPACE_NOT_EMPTY = 3;
  private static final int TABLE_NOT_FOUND = 4;
  private static final int TABLE_EXISTS = 5;

  private String name;
  private Map<String, String> options;

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.options = Map.copyOf(options.asCaseSensitiveMap());
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Set<TableCatalogCapability> capabilities() {
    // The planner rejects these, with an alternative in the message.
    return EnumSet.of(
        TableCatalogCapability.SUPPORTS_CREATE_TABLE_WITH_GENERATED_COLUMNS,
        TableCatalogCapability.SUPPORTS_CREATE_TABLE_WITH_IDENTITY_COLUMNS,
        TableCatalogCapability.SUPPORT_COLUMN_DEFAULT_VALUE,
        TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT);
  }

  @Override
  public String[][] listNamespaces() {
    return listNamespaces(new String[0]);
  }

  @Override
  public String[][] listNamespaces(String[] namespace) {
    List<?> names = (List<?>) inNamespace("list_namespaces", namespace, Map.of()).get("names");
    String[][] found = new String[names.size()][];
    for (int i = 0; i < found.length; i++) {
      found[i] = Names.child(namespace, (String) names.get(i));
    }
    return found;
  }

  @Override
  @SuppressWarnings("unchecked")
  public Map<String, String> loadNamespaceMetadata(String[] namespace) {
    return (Map<String, String>)
        inNamespace("describe_namespace", namespace, Map.of()).get("properties");
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata) {
    inNamespace("create_namespace", namespace, Map.of("properties", metadata));
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) {
    Map<String, String> set = new HashMap<>();
    List<String> removed = new ArrayList<>();
    for (NamespaceChange change : changes) {
      if (change instanceof NamespaceChange.SetProperty property) {
        set.put(property.property(), property.value());
      } else if (change instanceof NamespaceChange.RemoveProperty property) {
        removed.add(property.property());
      } else {
        throw new UnsupportedOperationException(change.getClass().getSimpleName());
      }
    }
    inNamespace("alter_namespace", namespace, Map.of("set", set, "removed", removed));
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade) {
    inNamespace("drop_namespace", namespace, Map.of("cascade", cascade));
    return true;
  }

  @Override
  public Identifier[] listTables(String[] namespace) {
    List<?> names = (List<?>) inNamespace("list_tables", namespace, Map.of()).get("names");
    return names.stream()
        .map(each -> Identifier.of(namespace, (String) each))
        .toArray(Identifier[]::new);
  }

  @Override
  public boolean tableExists(Identifier table) {
    return (Boolean) onTable("table_exists", table, Map.of()).get("exists");
  }

  @Override
  public Table loadTable(Identifier table) {
    return load(table, Map.of(), false);
  }

  @Override
  public Table loadTable(Identifier table, Set<TableWritePrivilege> privileges) {
    return load(table, Map.of(), true);
  }

  @Override
  public Table loadTable(Identifier table, String version) {
    return load(table, Map.of("version", version), false);
  }

  @Override
  public Table loadTable(Identifier table, long timestamp) {
    Instant moment = Instant.EPOCH.plus(timestamp, ChronoUnit.MICROS);
    return load(table, Map.of("timestamp", moment.toString()), false);
  }

  private Table load(Identifier table, Map<String, Object> version, boolean writes) {
    Map<String, Object> answer = onTable("load_table", table, version);
    return CatalogTable.of(Names.quoted(name, table), answer, writes);
  }

  @Override
  public Table createTable(Identifier table, TableInfo info) {
    onTable("create_table", table, definition(info, "Create"));
    return loadTable(table);
  }

  @Override
  public StagedTable stageCreate(Identifier table, TableInfo info) {
    return stage(table, info, "Create");
  }

  @Override
  public StagedTable stageReplace(Identifier table, TableInfo info) {
    return stage(table, info, "Overwrite");
  }

  @Override
  public StagedTable stageCreateOrReplace(Identifier table, TableInfo info) {
    return stage(table, info, "Overwrite");
  }

  private StagedTable stage(Identifier table, TableInfo info, String mode) {
    Map<String, Object> definition = definition(info, mode);
    Map<String, Object> answer = onTable("stage_table", table, definition);
    return new StagedLanceTable(
        Names.quoted(name, table),
        info.schema(),
        (String) answer.get("table"),
        () -> onTable("create_table", table, definition),
        () -> onTable("set_properties", table, definition));
  }

  private static Map<String, Object> definition(TableInfo info, String mode) {
    List<String> layout = new ArrayList<>();
    for (Transform each : info.partitions()) {
      layout.add(each.describe());
    }
    Map<String, List<String>> features = new HashMap<>();
    for (Column column : info.columns()) {
      if (column.generationExpression() != null) {
        add(features, "GENERATED ALWAYS AS", column.name());
      }
      if (column.identityColumnSpec() != null) {
        add(features, "GENERATED AS IDENTITY", column.name());
      }
      if (column.defaultValue() != null) {
        add(features, "DEFAULT", column.name());
      }
    }
    for (Constraint constraint : info.constraints()) {
      add(features, "constraints", constraint.name());
    }
    Map<String, Object> found = new HashMap<>();
    found.put("features", features);
    found.put("schema", info.schema().json());
    found.put("partitions", layout);
    found.put("properties", info.properties());
    found.put("mode", mode);
    return found;
  }

  private static void add(Map<String, List<String>> features, String feature, String name) {
    features.computeIfAbsent(feature, unused -> new ArrayList<>()).add(name);
  }

  @Override
  public Table alterTable(Identifier table, TableChange... changes) {
    List<Object> written = new ArrayList<>();
    for (TableChange change : changes) {
      written.add(Changes.of(change));
    }
    onTable("alter_table", table, Map.of("changes", written));
    return loadTable(table);
  }

  @Override
  public boolean dropTable(Identifier table) {
    return (Boolean) onTable("drop_table", table, Map.of()).get("dropped");
  }

  @Override
  public boolean purgeTable(Identifier table) {
    return dropTable(table); // which deletes the data
  }

  @Override
  public void renameTable(Identifier table, Identifier renamed) {
    Map<String, Object> request =
        Map.of("new_namespace", renamed.namespace(), "new_name", renamed.name());
    call(
        "rename_table",
        Names.of(table),
        request,
        code ->
            switch (code) {
              case TABLE_NOT_FOUND -> new NoSuchTableException(table);
              case NAMESPACE_NOT_FOUND -> new NoSuchNamespaceException(renamed.namespace());
              case TABLE_EXISTS -> new TableAlreadyExistsException(renamed);
              default -> null;
            });
  }

  private Map<String, Object> inNamespace(
      String action, String[] namespace, Map<String, Object> more) {
    return call(
        action,
        namespace,
        more,
        code ->
            switch (code) {
              case NAMESPACE_NOT_FOUND -> new NoSuchNamespaceException(namespace);
              case NAMESPACE_EXISTS -> new NamespaceAlreadyExistsException(namespace);
              case NAMESPACE_NOT_EMPTY -> new NonEmptyNamespaceException(namespace);
              default -> null;
            });
  }

  private Map<String, Object> onTable(String action, Identifier table, Map<String, Object> more) {
    boolean creates = more.containsKey("mode");
    return call(
        action,
        Names.of(table),
        more,
        code ->
            switch (code) {
              case NAMESPACE_NOT_FOUND ->
                  creates
                      ? new NoSuchNamespaceException(table.namespace())
                      : new NoSuchTableException(table);
              case TABLE_NOT_FOUND -> new NoSuchTableException(table);
              case TABLE_EXISTS -> new TableAlreadyExistsException(table);
              default -> null;
            });
  }

  private Map<String, Object> call(
      String action, String[] id, Map<String, Object> more, IntFunction<Throwable> errors) {
    Map<String, Object> request = new HashMap<>(more);
    request.put("catalog", options);
    request.put("name", name);
    request.put("id", id);
    return Planner.call(action, request, errors);
  }
}
