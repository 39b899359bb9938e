"""`update`: columns set by expressions, on many workers, in one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
)
from lance_namespace_impls.spark import update
from lance_namespace_impls.spark.dml import Change
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark two")


@pytest.fixture
def table(lake: Lake) -> Lake:
    rows = pa.table({"a": range(100), "b": range(100, 200), "s": ["old"] * 100})
    lake.put("t", rows, max_rows_per_file=30)
    return lake


def rows_of(lake: Lake) -> list[dict[str, Any]]:
    return sorted(lake.dataset("t").to_table().to_pylist(), key=lambda row: str(row))


@pytest.mark.parametrize(
    ("values", "where", "changed"),
    [
        ({"s": "'new'"}, "a < 45", lambda r: r["a"] < 45 and {**r, "s": "new"}),
        ({"a": "b", "b": "a"}, "a >= 95", lambda r: r["a"] >= 95 and {**r, "a": r["b"], "b": r["a"]}),
        ({"a": "a + 1000", "s": "upper(s)"}, None, lambda r: {**r, "a": r["a"] + 1000, "s": "OLD"}),
        ({"s": "NULL"}, "a = 3", lambda r: r["a"] == 3 and {**r, "s": None}),
        ({"s": "'new'"}, "a > 1000", lambda r: False),
    ],
)  # fmt: skip
def test_rows_are_updated_in_one_commit(
    table: Lake, spark: Any, values: Mapping[str, str], where: str | None, changed: Any
) -> None:
    before = rows_of(table)
    expected = [changed(row) or row for row in before]
    count = sum(bool(changed(row)) for row in before)
    change = update(spark, table.namespace, "t", values, where)
    assert change == Change(version=2 if count else 1, updated=count)
    assert rows_of(table) == sorted(expected, key=lambda row: str(row))
    assert table.notes() == []


def test_an_update_keeps_the_columns_that_it_does_not_set(lake: Lake, spark: Any) -> None:
    """Vectors, blobs and nested values are written back unchanged."""
    schema = pa.schema(
        [
            pa.field("a", pa.int64()),
            pa.field("v", pa.list_(pa.float16(), 2)),
            pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
            pa.field("n", pa.struct([("x", pa.list_(pa.int32()))])),
        ]
    )
    rows = [{"a": n, "v": [n, 1], "b": bytes([n]), "n": {"x": [n, None]}} for n in range(6)]
    before = lake.put("t", pa.Table.from_pylist(rows, schema)).schema
    update(spark, lake.namespace, ["t"], {"a": "a * 10"}, "a > 2")
    after = lake.dataset("t").scanner(blob_handling="all_binary").to_table()
    expected = [{**row, "a": row["a"] * 10 if row["a"] > 2 else row["a"]} for row in rows]
    assert sorted(after.to_pylist(), key=lambda row: row["b"]) == expected
    assert lake.dataset("t").schema == before


@pytest.mark.parametrize("theirs", ["append", "delete", "overwrite"])
def test_an_update_tolerates_only_concurrent_appends(
    table: Lake, spark: Any, before_commit: Callable[..., None], theirs: str
) -> None:
    def change() -> None:
        if theirs == "delete":
            table.dataset("t").delete("a = 5")
        else:
            table.put("t", pa.table({"a": [200], "b": [1], "s": ["theirs"]}), mode=theirs)

    before_commit(change)
    if theirs == "append":
        assert update(spark, table.namespace, "t", {"s": "'new'"}, "a < 10").version == 3
    else:
        with pytest.raises(ConcurrentModificationError):
            update(spark, table.namespace, "t", {"s": "'new'"}, "a < 10")
    found = [row["s"] for row in rows_of(table)]
    assert found.count("new") == (10 if theirs == "append" else 0)
    assert len(found) == {"append": 101, "delete": 99, "overwrite": 1}[theirs]
    assert table.notes() == []


@pytest.mark.parametrize(
    ("table_name", "values", "where", "error"),
    [
        ("nowhere", {"s": "'x'"}, None, TableNotFoundError),
        ("t", {}, None, InvalidInputError),
        ("t", {"z": "1"}, None, TableColumnNotFoundError),
        ("t", {"s": "nothing(1)"}, None, InvalidInputError),
        ("t", {"s": "'x'"}, "a ==== 1", InvalidInputError),
        ("t", {"s": "a + 1"}, None, TableSchemaValidationError),
        ("t", {"s": "'x'"}, "random() < 0.5", InvalidInputError),
    ],
)
def test_invalid_updates_are_rejected_and_change_nothing(
    table: Lake,
    spark: Any,
    table_name: str,
    values: Mapping[str, str],
    where: str | None,
    error: type[LanceNamespaceError],
) -> None:
    files = table.data_files("t")
    with pytest.raises(error):
        update(spark, table.namespace, table_name, values, where)
    assert (table.dataset("t").version, table.data_files("t"), table.notes()) == (1, files, [])
