"""Lookups in a version of a manifest, compared with a direct evaluation of its rows."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.directory.manifest import (
    MAX_CHUNKS,
    NAMESPACE,
    TABLE,
    TABLE_VERSION,
    Change,
    Row,
    Snapshot,
    _schema,
)

TYPES = (NAMESPACE, TABLE, TABLE_VERSION, "view")
# Some sort before the delimiter of the levels, and some immediately after it.
NAMES = [f"{start}{n}" for start in ("a", "a!", "a#", "a%", "b", "ü") for n in ("", "1", "2", "10")]


def _rows(seed: int) -> dict[str, str]:
    """Return identifiers of up to three names, and the type of each."""
    choice = random.Random(seed)
    found: dict[str, str] = {}
    for _ in range(900):
        names = choice.choices(NAMES, k=choice.choice((1, 2, 2, 3)))
        found["$".join(names)] = choice.choice(TYPES)
    return found


def _table(rows: dict[str, str], choice: random.Random) -> pa.Table:
    columns: list[dict[str, Any]] = [
        {
            "object_id": name,
            "object_type": type,
            "location": choice.choice((None, "x", f"{name}.lance")),
        }
        for name, type in rows.items()
    ]
    choice.shuffle(columns)
    return pa.Table.from_pylist(columns, schema=_schema())


@pytest.fixture(params=[1, 2])
def rows(request: pytest.FixtureRequest) -> dict[str, str]:
    return _rows(request.param)


@pytest.fixture
def snapshot(rows: dict[str, str]) -> Snapshot:
    return Snapshot.of(7, _table(rows, random.Random(3)), {"k": "v"})


def test_rows_in_any_order_are_sorted(rows: dict[str, str], snapshot: Snapshot) -> None:
    assert snapshot.ids == sorted(rows)
    assert snapshot.table["object_id"].to_pylist() == sorted(rows)
    assert (snapshot.version, snapshot.metadata) == (7, {"k": "v"})


def test_the_type_of_an_object(rows: dict[str, str], snapshot: Snapshot) -> None:
    for name in (*rows, "", "a$", "zz", "a3", "b$b$b$b"):
        assert snapshot.type_of(name) == rows.get(name)
        row = snapshot.row(name)
        assert (row and (row.id, row.type)) == ((name, rows[name]) if name in rows else None)


@pytest.mark.parametrize("type", [NAMESPACE, TABLE])
def test_children_are_those_one_level_below(
    rows: dict[str, str], snapshot: Snapshot, type: str
) -> None:
    for parent in ("", *NAMES, "a$b", "b1$a#", "none"):
        start = f"{parent}$" if parent else ""
        below = [name[len(start) :] for name in rows if name.startswith(start)]
        children = sorted(n for n in below if "$" not in n and rows[start + n] == type)
        assert list(snapshot.children(parent, type, None)) == children
        for after in ("a", "a#1", "b2", "none"):
            wanted = [name for name in children if name > after]
            assert list(snapshot.children(parent, type, after)) == wanted


def test_descendants_at_any_depth(rows: dict[str, str], snapshot: Snapshot) -> None:
    for name in (*NAMES, "a$b", "none"):
        assert snapshot.below(name) == sorted(n for n in rows if n.startswith(f"{name}$"))


def test_tables_of_the_root_with_another_location(snapshot: Snapshot) -> None:
    wanted = {
        row["object_id"]: row["location"]
        for row in snapshot.table.to_pylist()
        if row["object_type"] == TABLE
        and "$" not in row["object_id"]
        and row["location"] not in (None, f"{row['object_id']}.lance")
    }
    assert wanted
    assert snapshot.tables_elsewhere() == wanted


def test_a_change_removes_and_adds_rows_in_sorted_order(
    rows: dict[str, str], snapshot: Snapshot
) -> None:
    for count in (0, 1, MAX_CHUNKS, 100):
        choice = random.Random(count)
        remove = choice.sample(sorted(rows), count)
        put = [Row(id=name, type="new") for name in choice.sample(sorted(rows), count)]
        put += [Row(id=f"{name}$new", type="new") for name in choice.sample(NAMES, min(count, 9))]
        wanted = {name: type for name, type in rows.items() if name not in remove}
        wanted |= {row.id: row.type for row in put}
        table, ids = snapshot.changed(Change(remove=[*remove, "none"], put=put))
        assert ids == table["object_id"].to_pylist() == sorted(wanted)
        assert table["object_type"].to_pylist() == [wanted[name] for name in ids]
        assert table["object_id"].num_chunks <= MAX_CHUNKS
