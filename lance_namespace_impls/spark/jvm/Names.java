package io.github.lancenamespacekit.spark;

import java.util.Arrays;
import org.apache.spark.sql.connector.catalog.Identifier;

/** Identifiers of namespaces and tables. */
final class Names {
  private Names() {}

  static String[] child(String[] parent, String name) {
    String[] found = Arrays.copyOf(parent, parent.length + 1);
    found[parent.length] = name;
    return found;
  }

  static String[] of(Identifier table) {
    return child(table.namespace(), table.name());
  }

  /** Returns the name of a table as SQL accepts it. */
  static String quoted(String catalog, Identifier table) {
    StringBuilder found = new StringBuilder(quoted(catalog));
    for (String each : of(table)) {
      found.append('.').append(quoted(each));
    }
    return found.toString();
  }

  private static String quoted(String name) {
    return name.matches("[A-Za-z_][A-Za-z0-9_]*") ? name : "`" + name.replace("`", "``") + "`";
  }
}
