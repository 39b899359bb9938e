"""`add_columns`: new columns computed by many workers, in one commit."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.distributed.calls import require_columns
from lance_namespace_impls.distributed.runners import ThreadRunner
from lance_namespace_impls.spark import Added, add_columns, backfill
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark two")


@pytest.fixture
def table(lake: Lake) -> Lake:
    lake.put("t", pa.table({"a": range(100), "s": ["x"] * 100}), max_rows_per_file=30)
    lake.dataset("t").delete("a % 10 = 3")
    return lake


def rows_of(lake: Lake) -> list[dict[str, Any]]:
    return sorted(lake.dataset("t").to_table().to_pylist(), key=lambda row: row["a"])


def vectors(batch: pa.RecordBatch) -> pa.RecordBatch:
    a = batch.column(0)
    pairs = [[n, n / 2] for n in a.to_pylist()]
    return pa.record_batch({"v": pairs, "twice": pc.multiply(a, 2)})


def test_a_function_computes_columns_from_other_columns(table: Lake, spark: Any) -> None:
    before = table.data_files("t")
    added = add_columns(
        spark,
        table.namespace,
        "t",
        vectors,
        types="v:float32[2], twice:int64",
        reads=["a"],
        batch_rows=7,
    )
    assert added == Added(version=3, columns=("v", "twice"), rows=90)
    expected = [
        {"a": n, "s": "x", "v": [n, n / 2], "twice": 2 * n} for n in range(100) if n % 10 != 3
    ]
    assert rows_of(table) == expected
    assert table.dataset("t").schema.field("v").type == pa.list_(pa.float32(), 2)
    assert len(table.data_files("t") - before) == 4
    assert table.notes() == []


def test_expressions_add_columns(table: Lake, spark: Any) -> None:
    add_columns(
        spark, table.namespace, ["t"], {"b": "a * 2", "c": "concat(s, 'y')"}, types="b:int32"
    )
    assert rows_of(table)[5] == {"a": 6, "s": "x", "b": 12, "c": "xy"}
    assert table.dataset("t").schema.field("b").type == pa.int32()


def test_a_frame_provides_values_by_key_and_other_rows_are_null(table: Lake, spark: Any) -> None:
    frame = spark.range(50, 500, 1, 3).selectExpr(
        "int(id) AS a", "array(id / 2.0D) AS v", "'n' AS n"
    )
    add_columns(spark, table.namespace, "t", frame, on="a", types="v:float32[1]")
    expected = [
        {"a": n, "s": "x", "v": [n / 2] if n >= 50 else None, "n": "n" if n >= 50 else None}
        for n in range(100)
        if n % 10 != 3
    ]
    assert rows_of(table) == expected
    assert table.notes() == []


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], always: bool = False
) -> list[int]:
    """Call `act` before the first commit, or before each, and return the list of read versions.

    Each commit appends its read version to the list.
    """
    real, versions = backfill.commit_onto, []

    def commit(storage: Any, change: Any) -> int:
        if always or not versions:
            act()
        versions.append(change.read_version)
        return real(storage, change)

    monkeypatch.setattr(backfill, "commit_onto", commit)
    return versions


@pytest.mark.parametrize("by_key", [False, True])
def test_rows_appended_deleted_or_compacted_concurrently_are_complete(
    table: Lake, spark: Any, monkeypatch: pytest.MonkeyPatch, by_key: bool
) -> None:
    def theirs() -> None:
        table.put("t", pa.table({"a": [200, 201], "s": ["theirs"] * 2}), mode="append")
        table.dataset("t").delete("a = 5 OR a = 50")

    versions = meanwhile(monkeypatch, theirs)
    frame = spark.range(300).selectExpr("id AS a", "id + 1 AS b")
    made: Any = frame if by_key else {"b": "a + 1"}
    added = add_columns(spark, table.namespace, "t", made, on="a" if by_key else None)
    assert (added.version, added.rows, versions) == (5, 90, [2, 4])
    kept = [n for n in range(100) if n % 10 != 3 and n not in (5, 50)] + [200, 201]
    assert [(row["a"], row["b"]) for row in rows_of(table)] == [(n, n + 1) for n in kept]

    versions = meanwhile(monkeypatch, lambda: table.dataset("t").optimize.compact_files())
    add_columns(spark, table.namespace, "t", {"c": "a + 2"})
    assert versions == [5, 7]
    assert [(row["a"], row["c"]) for row in rows_of(table)] == [(n, n + 2) for n in kept]
    assert table.notes() == []


def test_concurrent_column_changes_conflict_and_leave_nothing(
    table: Lake, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, lambda: table.dataset("t").add_columns({"theirs": "1"}))
    with pytest.raises(ConcurrentModificationError, match="another writer changed its columns"):
        add_columns(spark, table.namespace, "t", {"b": "a + 1"})
    assert table.dataset("t").schema.names == ["a", "s", "theirs"]
    held = {file.path for each in table.dataset("t").get_fragments() for file in each.data_files()}
    assert table.data_files("t") == held
    assert table.notes() == []


def test_changes_before_every_commit_conflict_and_leave_nothing(
    quiet_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet_lake.put("t", pa.table({"a": range(100)}))
    files, numbers = quiet_lake.data_files("t"), count()
    versions = meanwhile(
        monkeypatch, lambda: quiet_lake.dataset("t").delete(f"a = {next(numbers)}"), always=True
    )
    monkeypatch.setattr(backfill, "spark_runner", lambda spark: ThreadRunner(1))
    namespace = connect("dir", {"path": str(quiet_lake.root)})
    spark: Any = None
    with pytest.raises(ConcurrentModificationError) as caught:
        add_columns(spark, namespace, "t", {"b": "a + 1"})
    assert int(caught.value.code) == 14
    assert len(versions) > 1
    assert quiet_lake.dataset("t").schema.names == ["a"]
    assert quiet_lake.data_files("t") == files
    assert quiet_lake.notes() == []


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_decimals_of_a_frame_are_aligned_for_lance(lake: Lake, spark: Any, rows: int) -> None:
    lake.put("t", pa.table({"id": range(rows)}))
    values = [f"CAST(id AS decimal(38, {scale})) AS d{scale}" for scale in range(4)]
    frame = spark.range(rows).selectExpr(
        "id", *values, "struct('x' AS s, CAST(id AS decimal(18, 2)) AS d) AS n"
    )
    add_columns(spark, lake.namespace, "t", frame, on="id")
    found = lake.dataset("t").to_table()
    for scale in range(4):
        assert found[f"d{scale}"].to_pylist() == found["id"].to_pylist()
    assert [each["d"] for each in found["n"].to_pylist()] == found["id"].to_pylist()


def fails_late(batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.column(0)[0].as_py() > 80:
        raise ValueError("no model for this row")
    return pa.record_batch({"b": batch.column(0)})


@pytest.mark.parametrize(
    ("table_name", "columns", "more", "error"),
    [
        ("nowhere", {"b": "a"}, {}, TableNotFoundError),
        ("t", {}, {}, TableSchemaValidationError),
        ("t", {"a": "1"}, {}, TableSchemaValidationError),
        ("t", {"b.c": "1"}, {}, TableSchemaValidationError),
        ("t", {"b": "nothing(a)"}, {}, InvalidInputError),
        ("t", {"b": ""}, {}, InvalidInputError),
        ("t", vectors, {}, InvalidInputError),
        ("t", vectors, {"types": "v:float32[2]"}, TableSchemaValidationError),
        ("t", vectors, {"types": "v:float32[2]", "reads": ["z"]}, TableColumnNotFoundError),
        ("t", fails_late, {"types": "b:int64", "batch_rows": 5}, LanceNamespaceError),
        ("t", {"b": "a * 1000"}, {"types": "b:int8"}, TableSchemaValidationError),
        ("t", "frame", {}, InvalidInputError),
        ("t", "frame", {"on": "z"}, TableColumnNotFoundError),
        ("t", "twice", {"on": "a"}, InvalidInputError),
    ],
)  # fmt: skip
def test_invalid_additions_are_rejected_and_leave_nothing(
    table: Lake,
    spark: Any,
    table_name: str,
    columns: Any,
    more: dict[str, Any],
    error: type[LanceNamespaceError],
) -> None:
    if isinstance(columns, str):
        frame = spark.range(10).selectExpr("id AS a", "id AS b")
        columns = frame.union(frame) if columns == "twice" else frame
    files = table.data_files("t")
    with pytest.raises(error):
        add_columns(spark, table.namespace, table_name, columns, **more)
    assert (table.dataset("t").version, table.data_files("t"), table.notes()) == (2, files, [])


@pytest.mark.parametrize(
    ("made", "kind", "said"),
    [
        ({"a": [1, 2]}, InvalidInputError, "returned a dict, not a pyarrow.RecordBatch"),
        (pa.record_batch({"v": [1]}), InvalidInputError, "returned 1 rows for 2"),
        (
            pa.record_batch({"w": [1, 2]}),
            TableSchemaValidationError,
            "returned the columns w, but types= specifies v",
        ),
        (
            pa.record_batch({"v": [1, 2], "w": [1, 2]}),
            TableSchemaValidationError,
            "returned the columns v, w, but types= specifies v",
        ),
    ],
)
def test_invalid_results_of_a_function_are_rejected(
    made: Any, kind: type[LanceNamespaceError], said: str
) -> None:
    schema = pa.schema([("v", pa.int64())])
    with pytest.raises(kind, match=said) as caught:
        require_columns(made, schema, 2)
    assert type(caught.value) is kind
    right = pa.record_batch({"v": [3, 4]})
    assert require_columns(right, schema, 2) == right
