"""Expressions of one update see the values from before it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace

T = {"id": ["t"]}
SCHEMA = pa.schema(
    [
        pa.field("a", pa.int64()),
        pa.field("b", pa.int64()),
        pa.field("small", pa.int8()),
        pa.field("given", pa.int64(), nullable=False),
        pa.field("odd name", pa.utf8()),
        pa.field("v", pa.list_(pa.float32(), 2)),
    ]
)
ROWS = pa.table(
    {
        "a": [1, 2, 3, None],
        "b": [10, 20, 300, 40],
        "small": [1, 2, 3, 4],
        "given": [1, 2, 3, 4],
        "odd name": ["w", "x", "y", "z"],
        "v": [[1.0, 2.0]] * 4,
    },
    schema=SCHEMA,
)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Namespace]:
    lance.write_dataset(ROWS, tmp_path / "t.lance", max_rows_per_file=2)
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        yield namespace


def rows_of(namespace: Namespace, **more: Any) -> list[dict[str, Any]]:
    found = namespace.open_table(["t"]).to_table(**more).to_pylist()
    return sorted(found, key=lambda row: row["given"])


def test_two_columns_swap(table: Namespace) -> None:
    answer = table.update_table({**T, "updates": [["a", "b"], ["b", "a"]]})
    assert (answer.updated_rows, answer.version) == (4, 2)
    assert rows_of(table) == [{**row, "a": row["b"], "b": row["a"]} for row in ROWS.to_pylist()]
    assert table.open_table(["t"]).schema == SCHEMA


@pytest.mark.parametrize("turn", range(3))
def test_the_order_of_the_updates_makes_no_difference(table: Namespace, turn: int) -> None:
    updates = [["a", "b + 1"], ["b", "given * 2"], ["given", "given + 100"]]
    updates = updates[turn:] + updates[:turn]
    table.update_table({**T, "updates": updates, "predicate": "b >= 20"})
    expected = [
        {**row, "a": row["b"] + 1, "b": row["given"] * 2, "given": row["given"] + 100}
        if row["b"] >= 20
        else row
        for row in ROWS.to_pylist()
    ]
    assert rows_of(table) == expected


def test_on_a_branch_the_main_one_stays(table: Namespace) -> None:
    table.create_table_branch({**T, "name": "side"})
    answer = table.update_table({**T, "branch": "side", "updates": [["a", "b"], ["b", "a"]]})
    assert answer.updated_rows == 4
    assert rows_of(table) == ROWS.to_pylist()
    side = table.open_table(["t"]).checkout_version(("side", None)).to_table().to_pylist()
    assert [(row["a"], row["b"]) for row in side] == [
        (row["b"], row["a"]) for row in ROWS.to_pylist()
    ]


def test_where_no_row_fits_nothing_is_written(table: Namespace) -> None:
    request = {**T, "updates": [["a", "b"], ["b", "a"]], "predicate": "a = 99"}
    answer = table.update_table(request)
    assert (answer.updated_rows, answer.version) == (0, 1)


@pytest.mark.parametrize(
    ("updates", "code"),
    [
        ([["small", "b"], ["b", "small"]], 13),
        ([["given", "a"], ["a", "given"]], 13),
        ([["a", "nope + b"], ["b", "a"]], 12),
        ([["a", "b +"], ["b", "a"]], 13),
        ([["a", "b"], ["b", "a"], ["nope", "a"]], 12),
    ],
    ids=["too large", "null where none may be", "no such column", "no SQL", "sets no column"],
)
def test_what_does_not_fit_changes_nothing(
    table: Namespace, tmp_path: Path, updates: list[list[str]], code: int
) -> None:
    with pytest.raises(LanceNamespaceError) as caught:
        table.update_table({**T, "updates": updates})
    assert int(caught.value.code) == code
    assert "\n" not in str(caught.value)
    assert table.open_table(["t"]).version == 1
    assert rows_of(table) == ROWS.to_pylist()


def test_an_index_finds_the_new_values(table: Namespace) -> None:
    table.create_table_scalar_index({**T, "column": "a", "index_type": "BTREE"})
    table.update_table({**T, "updates": [["a", "b"], ["b", "a"]], "predicate": "given = 2"})
    assert [row["given"] for row in rows_of(table, filter="a = 20")] == [2]
    assert rows_of(table, filter="a = 2") == []


def test_writers_at_the_same_time_lose_nothing(table: Namespace) -> None:
    start = threading.Barrier(3)

    def swap(_: int) -> int:
        start.wait(30)
        try:
            request = {**T, "updates": [["a", "b"], ["b", "a"]], "predicate": "given <= 3"}
            return table.update_table(request).updated_rows
        except LanceNamespaceError as error:
            assert int(error.code) == 14
            return 0

    with ThreadPoolExecutor(3) as pool:
        done = sum(count > 0 for count in pool.map(swap, range(3)))
    assert done
    kept = [(row["a"], row["b"]) for row in rows_of(table)]
    before = [(row["a"], row["b"]) for row in ROWS.to_pylist()]
    swapped = [(b, a) for a, b in before[:3]] + before[3:]
    assert kept == (swapped if done % 2 else before)


def test_an_update_whose_answer_is_lost_keeps_its_files_and_is_not_repeated(
    table: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = lance.LanceDataset.commit

    def lost(*args: Any, **more: Any) -> None:
        version = commit(*args, **more).version
        raise OSError(f"Commit result for version {version} is unknown: it may have been applied")

    monkeypatch.setattr(lance.LanceDataset, "commit", lost)
    with pytest.raises(LanceNamespaceError, match="is unknown") as caught:
        table.update_table({**T, "updates": [["a", "b"], ["b", "a"]]})
    assert int(caught.value.code) == 14
    found = rows_of(table, columns=["a", "b", "given"])
    assert [(row["a"], row["b"]) for row in found] == [(10, 1), (20, 2), (300, 3), (40, None)]
    assert table.open_table(["t"]).version == 2
