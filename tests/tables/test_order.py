"""A query returns its rows in the order that its context specifies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.tables.context import ORDER_BY

ROWS = pa.table({"x": [2, None, 1, 2], "y": ["a", "b", "c", "d"]})


@pytest.fixture(scope="module")
def namespace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    with connect("memory", {"root": str(tmp_path_factory.mktemp("order"))}) as found:
        found.create_table({"id": ["t"]}, ROWS)
        yield found


def ordered(namespace: Namespace, text: str, **more: Any) -> str:
    request = {"id": ["t"], "k": 0, "vector": None, "context": {ORDER_BY: text}, **more}
    with namespace.query_table(request) as rows:
        return "".join(rows.read_all()["y"].to_pylist())


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([{"column_name": "y", "ascending": False}], "dcba"),
        ([{"column_name": "x"}, {"column_name": "y"}], "cadb"),
        ([{"column_name": "x"}, {"column_name": "y", "ascending": False}], "cdab"),
        ([{"column_name": "x", "ascending": True, "nulls_first": True}, {"column_name": "y"}], "bcad"),
        ([{"column_name": "x", "ascending": False}, {"column_name": "y"}], "adcb"),
        ([{"column_name": "x", "ascending": False, "nulls_first": True}, {"column_name": "y"}], "badc"),
    ],
)  # fmt: skip
def test_rows_are_returned_in_the_requested_order(
    namespace: Namespace, order: list[dict[str, Any]], expected: str
) -> None:
    text = json.dumps(order)
    assert ordered(namespace, text) == expected
    assert ordered(namespace, text, k=2, offset=1) == expected[1:3]
    assert ordered(namespace, text, filter="y != 'a'") == expected.replace("a", "")


@pytest.mark.parametrize("text", ["y", "7", "[7]", "[{}]", '{"column_name": "y"}', "[" * 100_000])
def test_an_invalid_order_is_rejected(namespace: Namespace, text: str) -> None:
    with pytest.raises(InvalidInputError, match="JSON list of objects with column_name"):
        ordered(namespace, text)
