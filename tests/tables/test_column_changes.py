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
ROWS = pa.table({"a": [1, None, 3], "b": [300, 2, 3], "s": ["x", "1", "y"], "n": [{"k": 1}] * 3})
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
