"""Column changes that cannot be made have the protocol's code and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace

T = {"id": ["t"]}
ROWS = pa.table(
    {"a": [1, None, 3], "b": [300, 2, 3], "s": ["x", "1", "y"], "n": [{"k": 1, "l": 2}] * 3}
)
VIRTUAL = {
    "input_columns": ["a"],
    "outputs": [],
    "image": "i",
    "udf": "u",
    "udf_name": "f",
    "udf_version": "1",
}


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Namespace]:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table(T, ROWS)
        yield namespace
        assert namespace.open_table(["t"]).to_table() == ROWS
        assert namespace.open_table(["t"]).version == 1


def code_of(call: Any, request: dict[str, Any]) -> int:
    with pytest.raises(LanceNamespaceError) as caught:
        call({**T, **request})
    assert "\n" not in str(caught.value)
    return int(caught.value.code)


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ([{"path": "n.k", "rename": "l"}], 20),
        ([{"path": "n.k", "rename": "x"}, {"path": "n.l", "rename": "x"}], 20),
        ([{"path": "a", "rename": "x"}, {"path": "b", "rename": "x"}], 20),
        ([{"path": "a", "rename": "b"}], 20),
        ([{"path": "b", "rename": "x"}, {"path": "b", "nullable": True}], 13),
    ],
)
def test_no_two_columns_get_one_name_and_no_entry_is_lost(
    table: Namespace, entries: list[dict[str, Any]], code: int
) -> None:
    assert code_of(table.alter_table_alter_columns, {"alterations": entries}) == code


def test_two_entries_of_one_column_are_refused(table: Namespace) -> None:
    updates = [{"path": "a", "metadata": {key: "1"}} for key in ("x", "y")]
    assert code_of(table.update_field_metadata, {"updates": updates}) == 13


@pytest.mark.parametrize("mode", ["create", "overwrite"])
@pytest.mark.parametrize("within", ["structure", "list", "extension"])
def test_two_fields_of_one_name_are_refused(table: Namespace, mode: str, within: str) -> None:
    """Lance writes them and then reads no row."""
    fields = [pa.field("u", pa.int64())] * 2
    twice: Any = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], fields=fields)
    if within == "list":
        twice = pa.ListArray.from_arrays([0, 1], twice)
    elif within == "extension":
        twice = pa.ExtensionArray.from_storage(pa.opaque(twice.type, "pair", "test"), twice)
    rows = pa.table({"s": twice})
    call = table.create_table if mode == "create" else table.insert_into_table
    with pytest.raises(LanceNamespaceError, match="two columns are named") as caught:
        call({"id": ["new"]} if mode == "create" else {**T, "mode": mode}, rows)
    assert caught.value.code == 20
    assert table.list_tables({}).tables == ["t"]


@pytest.mark.parametrize(
    "alteration",
    [
        {"path": "a", "nullable": False},
        {"path": "s", "data_type": {"type": "int32"}},
        {"path": "b", "data_type": {"type": "int8"}},
        {"path": "b", "data_type": {"type": "utf8"}},
        {"path": "n", "data_type": {"type": "int32"}},
        {"path": "b", "data_type": {"type": "timestamp", "unit": "us"}},
    ],
    ids=lambda row: (
        "nulls" if "nullable" in row else f"{row['path']} to {row['data_type']['type']}"
    ),
)
def test_nulls_and_casts_that_cannot_be_are_20(
    table: Namespace, alteration: dict[str, Any]
) -> None:
    assert code_of(table.alter_table_alter_columns, {"alterations": [alteration]}) == 20


@pytest.mark.parametrize(
    ("sources", "code"),
    [
        ({}, 13),
        ({"expression": "a + 1", "computed": "a + 1"}, 13),
        ({"expression": "a + 1", "virtual_column": VIRTUAL}, 13),
        ({"computed": "a + 1", "virtual_column": VIRTUAL}, 13),
        ({"expression": " "}, 13),
        ({"computed": "a + 1"}, 0),
        ({"virtual_column": VIRTUAL}, 0),
    ],
    ids=lambda value: " and ".join(value) if isinstance(value, dict) else "",
)
def test_a_new_column_has_one_source(table: Namespace, sources: dict[str, Any], code: int) -> None:
    column = {"name": "new", **sources}
    assert code_of(table.alter_table_add_columns, {"new_columns": [column]}) == code


def test_the_main_branch_is_not_deleted(table: Namespace) -> None:
    assert code_of(table.delete_table_branch, {"name": "main"}) == 13
