package io.github.lancenamespacekit.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Collects the columns, filters, limit and aggregates of one query; used for one query only. */
final class LanceScanBuilder
    implements SupportsPushDownV2Filters,
        SupportsPushDownRequiredColumns,
        SupportsPushDownLimit,
        SupportsPushDownAggregates {
  private final LanceTable table;
  private final List<Predicate> pushed = new ArrayList<>();
  private final List<String> conditions = new ArrayList<>();
  private StructType columns;
  private Integer limit;
  private List<Object> aggregates;
  private Map<String, Object> aggregated;

  @SuppressWarnings("deprecation")
  LanceScanBuilder(LanceTable table) {
    this.table = table;
    this.columns = table.schema();
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    if (!table.snapshot().pushes() || predicates.length == 0) {
      return predicates;
    }
    List<Object> trees = new ArrayList<>();
    for (Predicate predicate : predicates) {
      trees.add(Trees.of(predicate));
    }
    Map<String, Object> request = request();
    request.put("predicates", trees);
    List<?> translated = (List<?>) Planner.call("translate", request).get("conditions");
    List<Predicate> rest = new ArrayList<>();
    for (int i = 0; i < predicates.length; i++) {
      String condition = (String) translated.get(i);
      if (condition == null) {
        rest.add(predicates[i]);
      } else {
        pushed.add(predicates[i]);
        if (!condition.isEmpty()) { // otherwise another one implies it
          conditions.add(condition);
        }
      }
    }
    return rest.toArray(new Predicate[0]);
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushed.toArray(new Predicate[0]);
  }

  @Override
  public void pruneColumns(StructType required) {
    // Nested fields are read with their column.
    Set<String> names = new HashSet<>(Arrays.asList(required.fieldNames()));
    StructType chosen = new StructType();
    for (StructField field : columns.fields()) {
      if (names.remove(field.name())) {
        chosen = chosen.add(field);
      }
    }
    for (StructField field : required.fields()) {
      if (names.contains(field.name())) { // a metadata column
        chosen = chosen.add(field);
      }
    }
    // Spark 4.0 loses batches without columns.
    columns = chosen.isEmpty() ? new StructType(new StructField[] {narrowest()}) : chosen;
  }

  private StructField narrowest() {
    Map<String, Double> widths = table.snapshot().widths();
    return Arrays.stream(columns.fields())
        .min(Comparator.comparingDouble(field -> widths.getOrDefault(field.name(), 0.0)))
        .orElseThrow();
  }

  @Override
  public boolean pushLimit(int rows) {
    if (!table.snapshot().pushes()) {
      return false;
    }
    limit = rows;
    return true;
  }

  @Override
  public boolean isPartiallyPushed() {
    return true; // each task returns up to that many rows
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    if (!table.snapshot().pushes() || aggregation.groupByExpressions().length > 0) {
      return false;
    }
    List<Object> trees = new ArrayList<>();
    for (Expression each : aggregation.aggregateExpressions()) {
      trees.add(Trees.of(each));
    }
    Map<String, Object> request = request();
    request.put("conditions", conditions);
    request.put("aggregates", trees);
    Map<String, Object> answer = Planner.call("aggregate", request);
    if (answer.get("schema") == null) {
      return false;
    }
    aggregates = trees;
    aggregated = answer;
    return true;
  }

  @Override
  public Scan build() {
    if (aggregates == null) {
      return new LanceScan(table, columns, conditions, limit, null);
    }
    StructType schema = (StructType) DataType.fromJson((String) aggregated.get("schema"));
    List<?> row = (List<?>) aggregated.get("row");
    return row != null
        ? new MetadataScan(schema, row)
        : new LanceScan(table, schema, conditions, null, aggregates);
  }

  private Map<String, Object> request() {
    Map<String, Object> request = new HashMap<>();
    request.put("source", table.snapshot().source());
    return request;
  }
}
