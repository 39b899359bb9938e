"""Column changes that cannot be made have the protocol's code and change nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError, TableColumnNotFoundError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.tables.columns import require

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


COPY = {"name": "new", "expression": "a"}
REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("add_columns", {"new_columns": []}, 13, "no column to add"),
    ("add_columns", {"new_columns": [COPY, COPY]}, 20, "column 'new' already exists"),
    ("add_columns", {"new_columns": [{**COPY, "name": "s"}]}, 20, "column 's' already exists"),
    ("add_columns", {"new_columns": [{**COPY, "expression": " "}]}, 13,
     "the expression of column 'new' is empty"),
    ("add_columns", {"new_columns": [{**COPY, "expression": "a = ?"}]}, 13,
     "the expression of column 'new' has a ?"),
    ("add_columns", {"new_columns": [COPY, {"name": "b.c", "expression": "a"}]}, 20, "a dot"),
    ("add_columns", {"new_columns": [COPY, {"name": "two"}]}, 13, "column 'two' has nothing to"),
    ("add_columns", {"new_columns": [{**COPY, "computed": "a"}]}, 13, "has expression and computed to"),
    ("alter_columns", {"alterations": []}, 13, "no column to alter"),
    ("alter_columns", {"alterations": [{"path": "a"}]}, 13, "no change is specified for column 'a'"),
    ("alter_columns", {"alterations": [{"path": "none", "rename": "x"}]}, 12, "column 'none' does not"),
    ("alter_columns", {"alterations": [{"path": "n.none", "rename": "x"}]}, 12, "'n.none' does not"),
    ("alter_columns", {"alterations": [{"path": "a.b", "rename": "x"}]}, 12, "'a.b' does not"),
    ("alter_columns", {"alterations": [{"path": "n.k.x", "rename": "x"}]}, 12, "'n.k.x' does not"),
    ("alter_columns", {"alterations": [{"path": "a", "rename": "_rowid"}]}, 20, "reserved by Lance"),
    ("alter_columns", {"alterations": [{"path": "n.k", "rename": "l"}]}, 20, "column 'n.l' already"),
    ("alter_columns", {"alterations": [{"path": "a", "rename": "s"}]}, 20, "column 's' already exists"),
    ("alter_columns", {"alterations": [{"path": "a", "data_type": {"type": "utf9"}}]}, 13,
     "a: unknown type 'utf9'"),
    ("alter_columns", {"alterations": [{"path": "a", "virtual_column": {"udf": "u"}}]}, 0,
     "column 'a': Lance tables have no virtual"),
    ("drop_columns", {"columns": []}, 13, "no column to drop"),
    ("drop_columns", {"columns": ["a", "none"]}, 12, "column 'none' does not exist"),
    ("drop_columns", {"columns": ["n.none"]}, 12, "column 'n.none' does not exist"),
    ("drop_columns", {"columns": ["a", "b", "s", "n"]}, 13, "a table needs at least one column"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "request_", "code", "said"), REFUSED)
def test_a_change_that_cannot_be_says_why(
    table: Namespace, change: str, request_: dict[str, Any], code: int, said: str
) -> None:
    with pytest.raises(LanceNamespaceError, match=re.escape(said)) as caught:
        getattr(table, f"alter_table_{change}")({**T, **request_})
    assert caught.value.code == code


@pytest.mark.parametrize("path", ["none", "n.none", "a.b"])
def test_metadata_of_a_column_that_is_not_there(table: Namespace, path: str) -> None:
    """What is replaced is a commit of its own, before which nothing is done either."""
    missing = {"path": path, "metadata": {"k": "v"}, "replace": True}
    updates = [{"path": "a", "metadata": {"k": "v"}}, missing]
    assert code_of(table.update_field_metadata, {"updates": updates}) == 12


@pytest.mark.parametrize(
    ("updates", "code"),
    [
        ([], 13),
        ([["a"]], 13),
        ([["a", "1", "2"]], 13),
        ([["a", "1"], ["a", "2"]], 13),
        ([["a", "b = ?"]], 13),
        ([["none", "1"]], 12),
    ],
)
def test_an_update_that_cannot_be(table: Namespace, updates: list[list[str]], code: int) -> None:
    assert code_of(table.update_table, {"updates": updates}) == code


@pytest.mark.parametrize("predicate", ["", " ", "\n", "a = ?"])
def test_a_deletion_that_cannot_be(table: Namespace, predicate: str) -> None:
    assert code_of(table.delete_from_table, {"predicate": predicate}) == 13


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({}, 13),
        ({"when_matched_update_all": True, "on": []}, 13),
        ({"when_matched_update_all": True, "on": ["none"]}, 12),
        ({"when_not_matched_insert_all": True, "on": ["a", "none"]}, 12),
        ({"when_matched_update_all": True, "when_matched_update_all_filt": "a = ?"}, 13),
        (
            {
                "when_not_matched_by_source_delete": True,
                "when_not_matched_by_source_delete_filt": "a = ?",
            },
            13,
        ),
    ],
)
def test_a_merge_that_cannot_be(table: Namespace, more: dict[str, Any], code: int) -> None:
    with pytest.raises(LanceNamespaceError) as caught:
        table.merge_insert_into_table({**T, "on": ["a"], **more}, ROWS)
    assert caught.value.code == code


def test_fields_within_others_are_found_by_their_path() -> None:
    inner = pa.struct([pa.field("k", pa.int64()), pa.field("l", pa.int64())])
    schema = pa.schema(
        [("n", inner), ("m", pa.list_(pa.field("item", inner))), ("f", pa.list_(pa.int8(), 2))]
    )
    dataset = SimpleNamespace(schema=schema)
    for path, kind in (
        ("n", inner), ("n.k", pa.int64()), ("m.item", inner), ("m.item.l", pa.int64()), ("f.item", pa.int8()),
    ):  # fmt: skip
        assert require(dataset, path).type == kind
    for path in ("k", "n.", ".n", "m.k", "m.item.x", "n.k.l"):
        with pytest.raises(TableColumnNotFoundError, match=f"column {path!r} does not exist"):
            require(dataset, path)
    dotted = SimpleNamespace(schema=pa.schema([("n.k", pa.utf8()), ("n", inner)]))
    assert require(dotted, "n.k").type == pa.utf8()


def test_a_field_within_another_is_changed_alone(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table(T, ROWS)
        renamed = {"alterations": [{"path": "n.k", "rename": "x"}, {"path": "a", "rename": "x"}]}
        assert namespace.alter_table_alter_columns({**T, **renamed}).version == 2
        assert namespace.alter_table_drop_columns({**T, "columns": ["n.l", "b", "s"]}).version == 3
        assert namespace.open_table(["t"]).to_table().to_pylist() == [
            {"x": number, "n": {"x": 1}} for number in (1, None, 3)
        ]
        updates = [
            {"path": "x", "metadata": {"k": "v"}},
            {"path": "n.x", "metadata": {"k": "w"}, "replace": True},
        ]
        answer = namespace.update_field_metadata({**T, "updates": updates})
        assert answer.fields == {"x": {"k": "v"}, "n.x": {"k": "w"}}
        assert answer.version == namespace.open_table(["t"]).version


def test_the_main_branch_is_not_deleted(table: Namespace) -> None:
    assert code_of(table.delete_table_branch, {"name": "main"}) == 13
