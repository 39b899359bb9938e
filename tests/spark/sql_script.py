"""One SQL script with the expected rows of each query, for any catalog that supports DML.

python -m tests.spark.sql_script NAMESPACE FIRST
runs it on the default tables of another Spark session, such as Delta's, and prints the differences.
Set PYSPARK_SUBMIT_ARGS for its jars and settings. FIRST is the number of a table's first version.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["LANCE_ONLY", "SCRIPT", "differences"]

Rows = list[tuple[Any, ...]]

SCRIPT: list[tuple[str, Rows | None]] = [
    ("CREATE TABLE {t} (id BIGINT NOT NULL COMMENT 'key', name STRING, price DOUBLE)", None),
    ("DESCRIBE {t}", [("id", "bigint"), ("name", "string"), ("price", "double")]),
    ("INSERT INTO {t} VALUES (1, 'a', 1.5D), (2, 'b', 2.5D), (3, NULL, NULL)", None),
    ("INSERT INTO {t} (price, id) VALUES (4.5D, 4)", None),
    ("SELECT * FROM {t}", [(1, "a", 1.5), (2, "b", 2.5), (3, None, None), (4, None, 4.5)]),
    ("SELECT id FROM {t} WHERE price > 2 AND name IS NULL", [(4,)]),
    ("UPDATE {t} SET price = price * 10, name = upper(name) WHERE id <= 2", None),
    ("UPDATE {t} SET name = 'none' WHERE name IS NULL AND price IS NULL", None),
    ("SELECT * FROM {t}", [(1, "A", 15.0), (2, "B", 25.0), (3, "none", None), (4, None, 4.5)]),
    ("DELETE FROM {t} WHERE price > 20", None),
    ("DELETE FROM {t} WHERE id IN (SELECT max(id) FROM {t})", None),
    ("SELECT id, name FROM {t}", [(1, "A"), (3, "none")]),
    (
        "MERGE INTO {t} AS t USING (SELECT * FROM VALUES (1L, 'x', 1D), (3L, 'drop', 0D), "
        "(7L, 'new', 7D) AS v(id, name, price)) AS s ON t.id = s.id "
        "WHEN MATCHED AND s.name = 'drop' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET name = s.name, price = t.price + s.price "
        "WHEN NOT MATCHED THEN INSERT *",
        None,
    ),
    ("SELECT * FROM {t}", [(1, "x", 16.0), (7, "new", 7.0)]),
    (
        "MERGE INTO {t} AS t USING (SELECT id, 'more' AS name, 0D AS price FROM range(7, 10)) AS s "
        "ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
        None,
    ),
    (
        "MERGE INTO {t} AS t USING (SELECT 8L AS id) AS s ON t.id = s.id "
        "WHEN NOT MATCHED BY SOURCE AND t.id > 8 THEN UPDATE SET price = -1",
        None,
    ),
    ("SELECT * FROM {t}", [(1, "x", 16.0), (7, "new", 7.0), (8, "more", 0.0), (9, "more", -1.0)]),
    ("CREATE TABLE {t}_copy AS SELECT id, price FROM {t} WHERE id > 7", None),
    ("CREATE TABLE IF NOT EXISTS {t}_copy AS SELECT 0 AS nothing", None),
    ("SELECT c.id, t.name FROM {t}_copy c JOIN {t} t ON c.id = t.id", [(8, "more"), (9, "more")]),
    ("INSERT OVERWRITE {t}_copy SELECT id + 1, price FROM {t}_copy", None),
    ("SELECT id FROM {t}_copy", [(9,), (10,)]),
    ("SELECT id FROM {t}_copy VERSION AS OF {first}", [(8,), (9,)]),
    ("CREATE OR REPLACE TABLE {t}_copy AS SELECT 'r' AS other", None),
    ("SELECT * FROM {t}_copy", [("r",)]),
    ("SHOW TABLES IN {n} LIKE '{name}_copy'", [("{name}_copy",)]),
    ("DROP TABLE {t}_copy", None),
    ("DROP TABLE IF EXISTS {t}_copy", None),
    ("SHOW TABLES IN {n} LIKE '{name}_copy'", []),
    ("ALTER TABLE {t} ADD COLUMNS (note STRING COMMENT 'free text')", None),
    ("INSERT INTO {t} VALUES (10, 'ten', 10D, 'n')", None),
    ("SELECT id, note FROM {t} WHERE id > 8", [(9, None), (10, "n")]),
    ("ALTER TABLE {t} ALTER COLUMN note COMMENT 'remark'", None),
    ("DESCRIBE {t}", [("id", "bigint"), ("name", "string"), ("note", "string"), ("price", "double")]),
    ("TRUNCATE TABLE {t}", None),
    ("SELECT count(*) FROM {t}", [(0,)]),
    ("DROP TABLE {t}", None),
]  # fmt: skip
"""Statements with their expected rows in any order, or None if no rows are compared."""

LANCE_ONLY: list[tuple[str, Rows | None]] = [
    ("CREATE TABLE {t} AS SELECT id, CAST(id AS INT) AS small, 'x' AS old FROM range(3)", None),
    ("ALTER TABLE {t} RENAME COLUMN old TO new", None),
    ("ALTER TABLE {t} ALTER COLUMN small TYPE BIGINT", None),
    ("SELECT small, new FROM {t}", [(0, "x"), (1, "x"), (2, "x")]),
    ("ALTER TABLE {t} DROP COLUMNS (small)", None),
    ("DESCRIBE {t}", [("id", "bigint"), ("new", "string")]),
    ("DROP TABLE {t}", None),
]
"""Statements that Delta supports only with certain table properties."""


def differences(
    spark: Any, script: list[tuple[str, Rows | None]], namespace: str, name: str, first: int
) -> Iterator[str]:
    """Run a script and yield each difference.

    Args:
        spark: the session.
        script: the statements and rows.
        namespace: the namespace of the table, with its catalog.
        name: name of the table.
        first: number of the first version of a table.
    """
    names = {"n": namespace, "t": f"{namespace}.{name}", "name": name, "first": first}
    for text, wanted in script:
        statement = text.format(**names)
        try:
            frame = spark.sql(statement)
            rows = sorted((_values(frame, row) for row in frame.collect()), key=str)
        except Exception as error:  # noqa: BLE001 an outcome to compare
            yield f"{statement}: {error}"
            continue
        if wanted is not None:
            expected = [
                tuple(v.format(**names) if isinstance(v, str) else v for v in row) for row in wanted
            ]
            if rows != sorted(expected, key=str):
                yield f"{statement}: {rows} instead of {expected}"


def _values(frame: Any, row: Any) -> tuple[Any, ...]:
    """Return the columns of a row that all catalogs have in common."""
    if "tableName" in frame.columns:
        return (row["tableName"],)
    if frame.columns == ["col_name", "data_type", "comment"]:
        return (row["col_name"], row["data_type"])
    return tuple(row)


def _main() -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    found = list(differences(spark, SCRIPT, sys.argv[1], "t", int(sys.argv[2])))
    sys.stdout.write("\n".join([*found, f"{len(found)} differences"]) + "\n")


if __name__ == "__main__":
    _main()
