package io.github.lancenamespacekit.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * One version of a table.
 *
 * @param source the planner's own description of the version
 * @param schema the columns
 * @param rows the number of rows, without the reader's own filter
 * @param widths estimated bytes per row of each column
 * @param pushes whether filters, limits and aggregates may be pushed
 * @param version location and number of the version
 */
record Snapshot(
    String source,
    StructType schema,
    long rows,
    Map<String, Double> widths,
    boolean pushes,
    String version) {

  /** Opens the version that options select; with a schema, only its columns. */
  static Snapshot of(CaseInsensitiveStringMap options, StructType schema) {
    Map<String, Object> request = new HashMap<>();
    request.put("options", new HashMap<>(options)); // with keys in lower case
    request.put("schema", schema == null ? null : schema.json());
    return of(Planner.call("open", request));
  }

  /** Returns the version that the planner describes. */
  @SuppressWarnings("unchecked")
  static Snapshot of(Map<String, Object> answer) {
    return new Snapshot(
        (String) answer.get("source"),
        (StructType) DataType.fromJson((String) answer.get("schema")),
        ((Number) answer.get("rows")).longValue(),
        (Map<String, Double>) (Map<?, ?>) answer.get("widths"),
        (Boolean) answer.get("pushdown"),
        (String) answer.get("version"));
  }
}
