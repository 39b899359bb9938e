package io.github.lancenamespacekit.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.TableChange;

/** Converts the changes of an ALTER TABLE to the planner's JSON. */
final class Changes {
  private Changes() {}

  static Map<String, Object> of(TableChange change) {
    Map<String, Object> found = new HashMap<>();
    found.put("change", change.getClass().getSimpleName());
    if (change instanceof TableChange.ColumnChange column) {
      found.put("path", column.fieldNames());
    }
    if (change instanceof TableChange.SetProperty each) {
      found.put("property", each.property());
      found.put("value", each.value());
    } else if (change instanceof TableChange.RemoveProperty each) {
      found.put("property", each.property());
    } else if (change instanceof TableChange.AddColumn each) {
      found.put("type", each.dataType().json());
      found.put("nullable", each.isNullable());
      found.put("comment", each.comment());
      found.put("positioned", each.position() != null);
      found.put("default", each.defaultValue() != null);
    } else if (change instanceof TableChange.RenameColumn each) {
      found.put("name", each.newName());
    } else if (change instanceof TableChange.UpdateColumnType each) {
      found.put("type", each.newDataType().json());
    } else if (change instanceof TableChange.UpdateColumnNullability each) {
      found.put("nullable", each.nullable());
    } else if (change instanceof TableChange.UpdateColumnComment each) {
      found.put("comment", each.newComment());
    } else if (change instanceof TableChange.DeleteColumn each) {
      found.put("if_exists", each.ifExists());
    }
    return found;
  }
}
