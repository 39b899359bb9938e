package io.github.lancenamespacekit.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;

/** Spark's expressions as the planner's JSON; unsupported expressions become "?". */
final class Trees {
  // JSON parsers have a limit.
  private static final int MAX_DEPTH = 200;
  private static final Map<String, Object> UNKNOWN = Map.of("op", "?", "args", List.of());

  private Trees() {}

  static Map<String, Object> of(Expression expression) {
    return of(expression, MAX_DEPTH);
  }

  private static Map<String, Object> of(Expression expression, int depth) {
    if (depth == 0) {
      return UNKNOWN;
    }
    if (expression instanceof NamedReference reference) {
      return Map.of("field", reference.fieldNames());
    }
    if (expression instanceof Literal<?> literal) {
      String type = literal.dataType().json();
      return literal.value() == null
          ? Map.of("null", type)
          : Map.of("literal", text(literal.value()), "type", type);
    }
    if (expression instanceof CountStar) {
      return Map.of("op", "COUNT", "args", List.of());
    }
    if (expression instanceof Count count && !count.isDistinct()) {
      return operation("COUNT", count, depth);
    }
    if (expression instanceof Min) {
      return operation("MIN", expression, depth);
    }
    if (expression instanceof Max) {
      return operation("MAX", expression, depth);
    }
    if (expression instanceof GeneralScalarExpression general) {
      return operation(general.name(), general, depth);
    }
    return UNKNOWN;
  }

  private static Map<String, Object> operation(String name, Expression expression, int depth) {
    List<Object> arguments = new ArrayList<>();
    for (Expression child : expression.children()) {
      arguments.add(of(child, depth - 1));
    }
    return Map.of("op", name, "args", arguments);
  }

  private static String text(Object value) {
    return value instanceof byte[] ? "" : value.toString();
  }
}
