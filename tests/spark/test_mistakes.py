"""Invalid arguments of every Spark function: the error has a code, and nothing changes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.spark import (
    add_columns,
    count_rows,
    delete,
    merge_into,
    protocol_error_in,
    read_table,
    update,
    write_table,
)
from tests.spark.conftest import Lake

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("small", pa.int8()),
        ("s", pa.string()),
        ("v", pa.list_(pa.float32(), 2)),
        ("d", pa.decimal128(4, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("f", pa.float32()),
    ]
)
ROWS = pa.table(
    {
        "id": [1, 2, 3],
        "small": [1, 2, None],
        "s": ["a", None, "c"],
        "v": [[1, 2], None, [3, 4]],
        "d": [1, None, 2],
        "at": [0, 1, None],
        "f": [0.5, 1.5, None],
    },
    schema=SCHEMA,
)
# Invalid conditions and expressions. Some are valid expressions that are not boolean.
CONDITIONS = [
    "", " ", "id =", "nope = 1", "id = 'x'", "s", "1", "id + 1", "id = 1; DROP TABLE t", "sum(id) > 1",
    "v = 1", "(", "'", "`", "id IN ()", "id BETWEEN 1", "cast('x' AS int) = id", "nothing(id) = 1",
    "id = (SELECT 1)", "at > 'yesterday'", "d > 'x'", "s.a = 1", "\0",
    "id = 99999999999999999999", "id / 0 = 1",
]  # fmt: skip
EXPRESSIONS = [
    ("id", "NULL"), ("id", "CASE WHEN id > 1 THEN id END"), ("small", "id + 127"), ("small", "300"),
    ("small", "'x'"),
    ("small", "s"), ("s", "id"), ("v", "1"), ("v", "[1.0, 2.0, 3.0]"), ("d", "12345.678"), ("d", "'x'"),
    ("at", "'never'"), ("at", "1"), ("f", "1e300"), ("f", "s"), ("nope", "1"), ("s", ""), ("s", "nope"),
    ("s", "lower("), ("id", "sum(id)"), ("id", "id; 1"), ("", "1"), ("_rowid", "1"), ("s", "cast(s AS int)"),
    ("id", "9223372036854775807 + id"), ("id", "id / 0"), ("id", "1.5"), ("id", "99999999999999999999"),
]  # fmt: skip
FRAMES = [
    "SELECT 1L AS nope",
    "SELECT CAST(NULL AS bigint) AS id",
    "SELECT 9L AS id, 'x' AS small",
    "SELECT 9L AS id, 300 AS small",
    "SELECT 9L AS id, 1 AS s",
    "SELECT 9L AS id, array(1f, 2f, 3f) AS v",
    "SELECT 9L AS id, array(1f) AS v",
    "SELECT 9L AS id, 12345.5 AS d",
    "SELECT 9L AS id, 1.234BD AS d",
    "SELECT 9L AS id, 1e300 AS f",
    "SELECT 9L AS id, date'2024-01-01' AS at",
    "SELECT 9L AS id, 1 AS `_rowid`",
    "SELECT 9L AS id, 'x' AS `a.b`",
    "SELECT 9L AS id, 'x' AS `a``b`",
    "SELECT 9L AS id, parse_json('1') AS j",
    "SELECT 9L AS id, interval '1' year AS y",
    "SELECT 9L AS id, 1 AS id",
    "SELECT 9L AS id, 1 AS ID",
    "SELECT bigint(raise_error('no')) AS id",
    "SELECT 1 / (id - id) AS id FROM range(3)",
    "SELECT 's' AS s",
    "SELECT 9.5 AS id",
    "SELECT struct(1 AS a) AS id",
]
TYPES = [
    "x",
    "id:",
    ":int64",
    "id:nope",
    "nope:int64",
    "id:decimal(99, 2)",
    "v:float32[0]",
    "id:float32[2]",
]
NAMES: list[Any] = ["nope", "", " ", ["a", "t"], [], ["t", ""], "t`", "a$b"]


def _invalid_calls(spark: Any, lake: Lake, namespace: Namespace) -> dict[str, Callable[[], object]]:
    acts: dict[str, Callable[[], object]] = {}

    def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({"b": batch.column(0)})

    for text in CONDITIONS:
        acts[f"read_table filter {text!r}"] = lambda x=text: read_table(
            spark, namespace, "t", filter=x
        ).collect()
        acts[f"count_rows {text!r}"] = lambda x=text: count_rows(namespace, "t", filter=x)
        acts[f"load filter {text!r}"] = lambda x=text: lake.load("t", filter=x).collect()
        acts[f"delete {text!r}"] = lambda x=text: delete(spark, namespace, "t", x)
        acts[f"update where {text!r}"] = lambda x=text: update(
            spark, namespace, "t", {"s": "'y'"}, x
        )
        acts[f"add_columns {text!r}"] = lambda x=text: add_columns(spark, namespace, "t", {"b": x})
    for column, text in EXPRESSIONS:
        acts[f"update {column}={text!r}"] = lambda c=column, x=text: update(
            spark, namespace, "t", {c: x}
        )
    for text in FRAMES:
        acts[f"append {text!r}"] = lambda x=text: write_table(
            spark.sql(x), namespace, "t", "append"
        )
        if "raise_error" not in text and "/" not in text:  # Spark reports those itself
            acts[f"save {text!r}"] = lambda x=text: lake.save(spark.sql(x), "t")
        acts[f"merge {text!r}"] = lambda x=text: merge_into(spark.sql(x), namespace, "t", "id")
        acts[f"add by key {text!r}"] = lambda x=text: add_columns(
            spark, namespace, "t", spark.sql(x), on="id"
        )
    for text in TYPES:
        frame = spark.range(3)
        acts[f"types {text!r}"] = lambda x=text, y=frame: write_table(y, namespace, "new", types=x)
        acts[f"add types {text!r}"] = lambda x=text: add_columns(
            spark, namespace, "t", doubled, types=x
        )
    for name in NAMES:
        frame = spark.range(3)
        acts[f"read_table {name!r}"] = lambda n=name: read_table(spark, namespace, n)
        acts[f"append to {name!r}"] = lambda n=name, y=frame: write_table(y, namespace, n, "append")
        acts[f"delete from {name!r}"] = lambda n=name: delete(spark, namespace, n, "true")
        acts[f"merge into {name!r}"] = lambda n=name, y=frame: merge_into(y, namespace, n, "id")
    other: dict[str, Any] = {
        "version": 99, "tag": "nope", "branch": "nope", "columns": ["nope"], "splits": 0,
        "batch_rows": 0,
    }  # fmt: skip
    for key, value in other.items():
        acts[f"read_table {key}={value}"] = lambda k=key, v=value: read_table(
            spark, namespace, "t", **{k: v}
        ).collect()
    acts["rows_per_file"] = lambda: write_table(spark.range(3), namespace, "new", rows_per_file=0)
    acts["mode"] = lambda: write_table(spark.range(3), namespace, "new", "replace")
    acts["batch_rows of a function"] = lambda: add_columns(
        spark, namespace, "t", doubled, types="b:int64", batch_rows=0
    )
    acts["a failing function"] = lambda: add_columns(
        spark, namespace, "t", lambda batch: batch.column("nope"), types="b:int64"
    )
    acts["no values"] = lambda: update(spark, namespace, "t", {})
    acts["merge on nothing"] = lambda: merge_into(spark.range(3), namespace, "t", [])
    return acts


def _outcome(act: Callable[[], object]) -> tuple[bool, str | None]:
    """Return whether a call failed, and what is wrong with its error, if anything."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 any error is reported
        found = protocol_error_in(error)
        if found is None:
            return True, f"{type(error).__name__}: {str(error)[:300]}"
        return True, f"code 18: {found}"[:400] if int(found.code) == 18 else None
    return False, None


@pytest.mark.slow
def test_invalid_arguments_have_a_code_and_change_nothing(lake: Lake, spark: Any) -> None:
    lake.put("t", ROWS)
    wrong: dict[str, str] = {}
    failures = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, act in _invalid_calls(spark, lake, lake.namespace).items():
            before = lake.dataset("t").version
            failed, found = _outcome(act)
            failures += failed
            if found:
                wrong[name] = found
            after = lake.dataset("t")
            if after.version != before:
                if failed:
                    wrong[name] = "failed, and changed the table"
                after.checkout_version(before).restore()  # some arguments are valid for a function
    assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())
    assert failures > 150
