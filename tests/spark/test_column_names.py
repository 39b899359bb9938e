"""Unusual column names in every function, including names that only other tools create."""

from __future__ import annotations

from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    TableSchemaValidationError,
    UnsupportedError,
)
from lance_namespace_impls.maintenance import Upkeep, maintain
from lance_namespace_impls.spark import (
    add_columns,
    count_rows,
    delete,
    frame_from_arrow,
    merge_into,
    read_table,
    update,
    write_table,
)
from tests.spark.conftest import Lake, failure_of

NAMES = [
    "a b", 'a"b', "a'b", "*", "select", "ü", "日本", "a,b", " s", "a\\b", "x/y", "a[0]", "%s", "${x}",
    "value", "element", "numbers", "c1", "a\nb", "\U0001f600",
]  # fmt: skip


def schema(names: list[str]) -> pa.Schema:
    return pa.schema([("id", pa.int64()), *((name, pa.string()) for name in names)])


def rows(names: list[str], *ids: int) -> pa.Table:
    return pa.Table.from_pylist(
        [{"id": n, **{name: f"{number}:{n}" for number, name in enumerate(names)}} for n in ids],
        schema(names),
    )


def held(lake: Lake) -> list[dict[str, Any]]:
    return sorted(lake.dataset("t").to_table().to_pylist(), key=lambda row: row["id"])


def test_all_names_that_lance_can_find_work_everywhere(lake: Lake, spark: Any) -> None:
    namespace = lake.namespace
    write_table(frame_from_arrow(spark, rows(NAMES, 1, 2)), namespace, "t")
    lake.save(frame_from_arrow(spark, rows(NAMES, 3)), "t")
    write_table(frame_from_arrow(spark, rows(NAMES, 4)), namespace, "t", "append")
    merge_into(frame_from_arrow(spark, rows(NAMES, 4, 5)), namespace, "t", "id")
    assert held(lake) == rows(NAMES, 1, 2, 3, 4, 5).to_pylist()
    for frame in (lake.load("t"), read_table(spark, namespace, "t")):
        assert frame.columns == ["id", *NAMES]
        found = sorted(frame.toArrow().to_pylist(), key=lambda row: row["id"])
        assert found == held(lake)
    for number, name in enumerate(NAMES):
        found = read_table(spark, namespace, "t", columns=[name, "id"], filter=f"`{name}` >= '0'")
        assert found.columns == [name, "id"]
        assert sorted(found.toArrow()[name].to_pylist()) == [f"{number}:{n}" for n in range(1, 6)]
    update(spark, namespace, "t", {name: f"`{name}` || '!'" for name in NAMES}, "id = 1")
    assert held(lake)[0] == {"id": 1, **{name: f"{number}:1!" for number, name in enumerate(NAMES)}}
    assert delete(spark, namespace, "t", "`*` = '3:1!'").deleted == 1


def test_columns_with_any_name_can_be_added_and_used_as_keys(lake: Lake, spark: Any) -> None:
    lake.put("t", rows([], 1, 2))
    add_columns(spark, lake.namespace, "t", frame_from_arrow(spark, rows(NAMES, 1, 2)), on="id")
    assert held(lake) == rows(NAMES, 1, 2).to_pylist()
    keyed = rows(NAMES, 2).drop_columns(["id"]).append_column("more", pa.array([7]))
    add_columns(spark, lake.namespace, "t", frame_from_arrow(spark, keyed), on=NAMES)
    assert [row["more"] for row in held(lake)] == [None, 7]
    source = frame_from_arrow(spark, keyed.append_column("id", pa.array([9])))
    assert merge_into(source, lake.namespace, "t", NAMES).updated == 1


def test_column_names_that_differ_only_in_case(lake: Lake, spark: Any) -> None:
    frame = frame_from_arrow(spark, rows(["ID", "Id"], 1, 2))
    write_table(frame, lake.namespace, "t")
    lake.save(frame_from_arrow(spark, rows(["ID", "Id"], 3)), "t")
    assert held(lake) == rows(["ID", "Id"], 1, 2, 3).to_pylist()
    found = read_table(spark, lake.namespace, "t", columns=["ID", "id"])
    assert sorted(found.collect()) == [("0:1", 1), ("0:2", 2), ("0:3", 3)]
    keyed = frame_from_arrow(spark, pa.table({"ID": ["0:1"], "id": [9], "more": ["x"]}))
    for act in (
        lambda: merge_into(frame, lake.namespace, "t", "ID"),
        lambda: add_columns(spark, lake.namespace, "t", keyed, on="ID"),
    ):
        with pytest.raises(InvalidInputError, match="differ only in case"):
            act()
    assert lake.dataset("t").version == 2


@pytest.mark.parametrize("name", ["a`b", "`", "`a`", ""])
def test_a_column_that_lance_cannot_find_leaves_the_others_usable(
    lake: Lake, spark: Any, name: str
) -> None:
    lake.put("t", pa.table({"id": [1, 2, 3], name: ["a", "b", "c"], "z": [0.5, 1.5, 2.5]}))
    namespace = lake.namespace
    found = read_table(spark, namespace, "t", columns=["z", "id"], filter="id > 1")
    assert sorted(found.collect()) == [(1.5, 2), (2.5, 3)]
    assert sorted(lake.load("t", columns="id").collect()) == [(1,), (2,), (3,)]
    given = spark.read.schema("z double").format("lance_namespace")
    chosen = given.options(impl="dir", root=str(lake.root)).load("t")
    assert sorted(chosen.collect()) == [(0.5,), (1.5,), (2.5,)]
    assert (count_rows(namespace, "t"), count_rows(namespace, "t", filter="id > 1")) == (3, 2)
    assert delete(spark, namespace, "t", "id = 1").deleted == 1
    assert add_columns(spark, namespace, "t", {"w": "id * 2"}).rows == 2
    added = read_table(spark, namespace, "t", columns=["id", "w"])
    assert sorted(added.collect()) == [(2, 4), (3, 6)]


@pytest.mark.parametrize("name", ["a`b", ""])
def test_errors_name_a_column_that_lance_cannot_find(lake: Lake, spark: Any, name: str) -> None:
    lake.put("t", pa.table({"id": [1], name: ["a"]}))
    namespace = lake.namespace
    why = "backtick" if name else "an empty name"
    for act in (
        lambda: read_table(spark, namespace, "t"),
        lambda: read_table(spark, namespace, "t", columns=[name]),
        lambda: update(spark, namespace, "t", {"id": "id + 1"}),
        lambda: add_columns(spark, namespace, "t", lambda batch: batch, types="b:int64"),
    ):
        with pytest.raises(UnsupportedError, match=f"{why}.*select the other columns"):
            act()
    assert why in str(failure_of(lambda: lake.load("t")))
    with pytest.raises(TableSchemaValidationError, match=why):
        write_table(spark.range(1), namespace, "t", "append")
    with pytest.raises(TableSchemaValidationError, match=why):
        merge_into(frame_from_arrow(spark, lake_rows(lake, name)), namespace, "t", "id")
    assert lake.dataset("t").version == 1


def lake_rows(lake: Lake, name: str) -> pa.Table:
    path = lake.dataset("t").get_fragments()[0].data_files()[0].path
    return lance.file.LanceFileReader(f"{lake.path('t')}/data/{path}").read_all().to_table()


def test_names_inside_structs(lake: Lake, spark: Any) -> None:
    kind = pa.struct([(name, pa.int64()) for name in ["a.b", "a`b", "c d", "*", "E", "e"]])
    table = pa.table(
        {"s": pa.array([dict.fromkeys(["a.b", "a`b", "c d", "*", "E", "e"], 1)], kind)}
    )
    write_table(frame_from_arrow(spark, table), lake.namespace, "t")
    assert lake.dataset("t").to_table() == table
    assert read_table(spark, lake.namespace, "t").toArrow().to_pylist() == table.to_pylist()
    assert lake.load("t").toArrow().to_pylist() == table.to_pylist()


def test_upkeep_of_a_table_with_a_column_that_lance_cannot_find(
    lake: Lake, spark: Any, tmp_path: Any
) -> None:
    lake.put("t", pa.table({"id": range(4), "a`b": range(4)}), max_rows_per_file=2)
    [row] = maintain(lake.namespace, upkeep=Upkeep(), state=tmp_path / "state")
    assert row.code != 18
    assert lake.dataset("t").count_rows() == 4
