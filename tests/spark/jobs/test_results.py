"""Rows of jobs in the format of a state file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lance_namespace_impls.maintenance import TableRow
from lance_namespace_impls.maintenance.inventory import IndexRow
from lance_namespace_impls.maintenance.results import as_plain, from_plain
from lance_namespace_impls.spark import ImportRow

INDICES = tuple(
    IndexRow(name=name, type="BTREE", columns=columns, unindexed_rows=rows)
    for name, columns, rows in (("one", ("a",), 0), ("two", ("b", "c"), 5))
)


@pytest.mark.parametrize(
    "row",
    [
        TableRow(
            table=("a", "b"),
            version=3,
            last_commit=datetime(2026, 1, 2, 3, 4, 5, 678, UTC),
            indices=INDICES,
        ),
        TableRow(table=("a",), indices=()),
        TableRow(table=("a",), problem="it cannot be read", code=18),
        ImportRow(
            table=("t",), source="a.csv", columns=("a: int64", "b: utf8"), rows=1, checked=True
        ),
    ],
    ids=["whole", "without-indices", "failed", "import"],
)
def test_a_row_makes_a_round_trip_through_json(row: Any) -> None:
    assert from_plain(type(row), json.loads(json.dumps(as_plain(row)))) == row
