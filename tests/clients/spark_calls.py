"""The SQL calls of lance-spark with the expected rows; each call uses its own tables.

In a statement, ``{t}`` is a table of five rows (``id`` from 0, ``x`` is twice the id), ``{new}`` is
the name of a missing table, and ``{ns}`` is the namespace of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["CALLS", "MAKE", "Call"]

MAKE = "CREATE TABLE {t} AS SELECT id, id * 2 AS x, concat('name ', id) AS s FROM range(5)"


class Call(NamedTuple):
    """Statements, and the expected rows of the last one; None accepts any rows."""

    statements: Sequence[str]
    rows: list[list[Any]] | None = None
    on_table: bool = True
    """Whether the call needs the table of five rows."""


SUM = "SELECT count(*), sum(x) FROM {t}"

CALLS: dict[str, Call] = {
    "create table": Call(
        ["CREATE TABLE {new} (id BIGINT, s STRING)", "SELECT count(*) FROM {new}"], [[0]], False
    ),
    "create table as select": Call(
        ["CREATE TABLE {new} AS SELECT id FROM range(3)", "SELECT count(*) FROM {new}"],
        [[3]],
        False,
    ),
    "create table if not exists": Call(
        ["CREATE TABLE IF NOT EXISTS {t} (id BIGINT)", SUM], [[5, 20]]
    ),
    "create or replace table": Call(
        ["CREATE OR REPLACE TABLE {t} AS SELECT 7L AS id, 7L AS x", SUM], [[1, 7]]
    ),
    "replace table": Call(["REPLACE TABLE {t} AS SELECT 7L AS id, 7L AS x", SUM], [[1, 7]]),
    "drop table": Call(["DROP TABLE {t}", "SHOW TABLES IN {ns} LIKE '{name}'"], []),
    "drop table if exists": Call(["DROP TABLE IF EXISTS {new}"], [], False),
    "drop and create again": Call(
        ["DROP TABLE {t}", "CREATE TABLE {t} (id BIGINT, x BIGINT)", "SELECT count(*) FROM {t}"],
        [[0]],
    ),
    "show tables": Call(["SHOW TABLES IN {ns}"]),
    "describe table": Call(["DESCRIBE TABLE {t}"]),
    "show columns": Call(["SHOW COLUMNS IN {t}"], [["id"], ["x"], ["s"]]),
    "select": Call(["SELECT id, x, s FROM {t} WHERE id > 3"], [[4, 8, "name 4"]]),
    "order and limit": Call(["SELECT id FROM {t} ORDER BY id DESC LIMIT 2"], [[4], [3]]),
    "aggregate": Call([SUM], [[5, 20]]),
    "join": Call(["SELECT count(*) FROM {t} a JOIN {t} b ON a.id = b.x"], [[3]]),
    "insert values": Call(["INSERT INTO {t} VALUES (9, 9, 'n')", SUM], [[6, 29]]),
    "insert select": Call(["INSERT INTO {t} SELECT id, x, s FROM {t}", SUM], [[10, 40]]),
    "insert by name": Call(
        ["INSERT INTO {t} BY NAME SELECT 's' AS s, 1L AS x, 1L AS id", SUM], [[6, 21]]
    ),
    "insert overwrite": Call(
        ["INSERT OVERWRITE {t} SELECT 1L AS id, 5L AS x, 's' AS s", SUM], [[1, 5]]
    ),
    "update": Call(["UPDATE {t} SET x = 100 WHERE id = 0", SUM], [[5, 120]]),
    "delete": Call(["DELETE FROM {t} WHERE id >= 3", SUM], [[3, 6]]),
    "merge": Call(
        [
            "MERGE INTO {t} USING (SELECT explode(array(4L, 5L)) AS id) s ON {t}.id = s.id "
            "WHEN MATCHED THEN UPDATE SET x = 0 "
            "WHEN NOT MATCHED THEN INSERT (id, x, s) VALUES (s.id, 1, 'new')",
            SUM,
        ],
        [[6, 13]],
    ),
    "version as of": Call(
        ["INSERT INTO {t} VALUES (9, 9, 'n')", "SELECT count(*) FROM {t} VERSION AS OF 1"]
    ),
    "add columns": Call(["ALTER TABLE {t} ADD COLUMNS (y INT)", "SELECT count(y) FROM {t}"], [[0]]),
    "drop column": Call(["ALTER TABLE {t} DROP COLUMN s", "SHOW COLUMNS IN {t}"], [["id"], ["x"]]),
    "rename table": Call(["ALTER TABLE {t} RENAME TO {new}", "SELECT count(*) FROM {new}"], [[5]]),
    "set table properties": Call(["ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')"]),
    "truncate": Call(["TRUNCATE TABLE {t}", SUM], [[0, None]]),
    "create index": Call(["ALTER TABLE {t} CREATE INDEX by_id USING btree (id)", SUM], [[5, 20]]),
    "optimize": Call(["OPTIMIZE {t}", SUM], [[5, 20]]),
    "vacuum": Call(["VACUUM {t} WITH (older_than_millis = 0)", SUM], [[5, 20]]),
    "all types": Call(
        [
            "CREATE TABLE {new} AS SELECT true AS a, 1Y AS b, 2S AS c, 3 AS d, 4L AS e, "
            "CAST(1.5 AS FLOAT) AS f, 2.5D AS g, 1.25BD AS h, DATE '2026-01-02' AS i, "
            "TIMESTAMP '2026-01-02 03:04:05' AS j, CAST('x' AS BINARY) AS k, array(1, 2) AS l, "
            "named_struct('m', 1) AS n",
            "SELECT a, b, c, d, e, f, g, l FROM {new}",
        ],
        [[True, 1, 2, 3, 4, 1.5, 2.5, [1, 2]]],
        False,
    ),
    "show namespaces": Call(["SHOW NAMESPACES IN {catalog}"], None, False),
    "a missing table": Call(["DROP TABLE IF EXISTS {new}", "SHOW TABLES IN {ns} LIKE 'nope'"], []),
}
