"""Impossible column changes fail with the protocol's error code and change nothing."""

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
    **dict.fromkeys(("image", "udf", "udf_name", "udf_version"), "u"),
}


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Namespace]:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table(T, ROWS)
        yield namespace
        assert namespace.open_table(["t"]).to_table() == ROWS
        assert namespace.open_table(["t"]).version == 1


@pytest.mark.parametrize("mode", ["create", "overwrite"])
@pytest.mark.parametrize("within", ["structure", "list", "extension"])
def test_duplicate_field_names_are_rejected(table: Namespace, mode: str, within: str) -> None:
    """Lance writes such fields, but cannot read any row afterwards."""
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


COPY = {"name": "new", "expression": "a"}
REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("add_columns", {"new_columns": []}, 13, "no column to add"),
    ("add_columns", {"new_columns": [COPY, COPY]}, 20, "column 'new' already exists"),
    ("add_columns", {"new_columns": [{**COPY, "name": "s"}]}, 20, "column 's' already exists"),
    ("add_columns", {"new_columns": [{**COPY, "expression": " "}]}, 13,
     "the expression for column 'new' is empty"),
    ("add_columns", {"new_columns": [{**COPY, "expression": "a = ?"}]}, 13,
     "the expression of column 'new' has a ?"),
    ("add_columns", {"new_columns": [COPY, {"name": "b.c", "expression": "a"}]}, 20, "a dot"),
    ("add_columns", {"new_columns": [COPY, {"name": "two"}]}, 13,
     "column 'two' specifies no source of values"),
    ("add_columns", {"new_columns": [{**COPY, "computed": "a"}]}, 13,
     "specifies expression and computed; specify"),
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
    ("drop_columns", {"columns": ["a", "none"]}, 12, "column 'none' does not exist"),
    ("drop_columns", {"columns": ["n.none"]}, 12, "column 'n.none' does not exist"),
    ("drop_columns", {"columns": ["a", "b", "s", "n"]}, 13, "a table needs at least one column"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "request_", "code", "said"), REFUSED)
def test_an_invalid_change_states_the_reason(
    table: Namespace, change: str, request_: dict[str, Any], code: int, said: str
) -> None:
    with pytest.raises(LanceNamespaceError, match=re.escape(said)) as caught:
        getattr(table, f"alter_table_{change}")({**T, **request_})
    assert caught.value.code == code


def altered(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"alterations": entries}


def renamed(path: str) -> dict[str, Any]:
    return {"path": path, "rename": "x"}


def typed(path: str, kind: str, **more: Any) -> dict[str, Any]:
    return altered({"path": path, "data_type": {"type": kind, **more}})


def added(**source: Any) -> dict[str, Any]:
    return {"new_columns": [{"name": "new", **source}]}


def described(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"updates": [{"metadata": {"k": "v"}, **entry} for entry in entries]}


# Failures whose message comes from Lance, or that have one of the messages above.
CODES: list[tuple[str, dict[str, Any], int]] = [
    ("alter_table_alter_columns", altered(renamed("n.k"), renamed("n.l")), 20),
    ("alter_table_alter_columns", altered(renamed("a"), renamed("b")), 20),
    ("alter_table_alter_columns", altered(renamed("b"), {"path": "b", "nullable": True}), 13),
    ("alter_table_alter_columns", altered({"path": "a", "nullable": False}), 20),
    ("alter_table_alter_columns", typed("s", "int32"), 20),
    ("alter_table_alter_columns", typed("b", "int8"), 20),
    ("alter_table_alter_columns", typed("b", "utf8"), 20),
    ("alter_table_alter_columns", typed("n", "int32"), 20),
    ("alter_table_alter_columns", typed("b", "timestamp", unit="us"), 20),
    ("alter_table_add_columns", added(expression="a + 1", virtual_column=VIRTUAL), 13),
    ("alter_table_add_columns", added(computed="a + 1", virtual_column=VIRTUAL), 13),
    ("alter_table_add_columns", added(computed="a + 1"), 0),
    ("alter_table_add_columns", added(virtual_column=VIRTUAL), 0),
    ("update_field_metadata", described({"path": "a"}, {"path": "a"}), 13),
    # A replacement is a separate commit, but the request must fail before any commit.
    ("update_field_metadata", described({"path": "a"}, {"path": "none", "replace": True}), 12),
    ("update_field_metadata", described({"path": "a"}, {"path": "n.none", "replace": True}), 12),
    ("update_field_metadata", described({"path": "a"}, {"path": "a.b", "replace": True}), 12),
    ("update_table", {"updates": [["a"]]}, 13),
    ("update_table", {"updates": [["a", "1", "2"]]}, 13),
    ("update_table", {"updates": [["a", "1"], ["a", "2"]]}, 13),
    ("update_table", {"updates": [["a", "b = ?"]]}, 13),
    ("update_table", {"updates": [["none", "1"]]}, 12),
    *(("delete_from_table", {"predicate": text}, 13) for text in ("", " ", "\n", "a = ?")),
]


@pytest.mark.parametrize(("method", "request_", "code"), CODES)
def test_an_invalid_change_has_an_error_code(
    table: Namespace, method: str, request_: dict[str, Any], code: int
) -> None:
    with pytest.raises(LanceNamespaceError) as caught:
        getattr(table, method)({**T, **request_})
    assert caught.value.code == code
    assert "\n" not in str(caught.value)


DELETE, UPDATE = "when_not_matched_by_source_delete", "when_matched_update_all"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({}, 13),
        ({UPDATE: True, "on": []}, 13),
        ({UPDATE: True, "on": ["none"]}, 12),
        ({"when_not_matched_insert_all": True, "on": ["a", "none"]}, 12),
        ({UPDATE: True, f"{UPDATE}_filt": "a = ?"}, 13),
        ({DELETE: True, f"{DELETE}_filt": "a = ?"}, 13),
    ],
)
def test_an_invalid_merge_is_rejected(table: Namespace, more: dict[str, Any], code: int) -> None:
    with pytest.raises(LanceNamespaceError) as caught:
        table.merge_insert_into_table({**T, "on": ["a"], **more}, ROWS)
    assert caught.value.code == code


def test_nested_fields_are_found_by_path() -> None:
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


def test_only_the_nested_field_at_the_path_is_changed(tmp_path: Path) -> None:
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
