"""All expressions of an update see the values from before the update."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.tables.update import reads_updated_columns, update_at_once
from tests.tables.calls import at_once

T = {"id": ["t"]}
SWAP = {"updates": [["a", "b"], ["b", "a"]]}
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


def test_two_columns_are_swapped(table: Namespace) -> None:
    answer = table.update_table({**T, **SWAP})
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


def test_an_update_of_a_branch_does_not_change_the_main_branch(table: Namespace) -> None:
    table.create_table_branch({**T, "name": "side"})
    answer = table.update_table({**T, "branch": "side", **SWAP})
    assert answer.updated_rows == 4
    assert rows_of(table) == ROWS.to_pylist()
    side = table.open_table(["t"]).checkout_version(("side", None)).to_table().to_pylist()
    assert [(row["a"], row["b"]) for row in side] == [
        (row["b"], row["a"]) for row in ROWS.to_pylist()
    ]


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
def test_an_invalid_update_changes_nothing(
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
    table.update_table({**T, **SWAP, "predicate": "given = 2"})
    assert [row["given"] for row in rows_of(table, filter="a = 20")] == [2]
    assert rows_of(table, filter="a = 2") == []


def test_concurrent_updates_lose_nothing(table: Namespace) -> None:
    def swap() -> int:
        try:
            request = {**T, **SWAP, "predicate": "given <= 3"}
            return table.update_table(request).updated_rows
        except LanceNamespaceError as error:
            assert int(error.code) == 14
            return 0

    done = sum(count > 0 for count in at_once([swap] * 3))
    assert done
    kept = [(row["a"], row["b"]) for row in rows_of(table)]
    before = [(row["a"], row["b"]) for row in ROWS.to_pylist()]
    swapped = [(b, a) for a, b in before[:3]] + before[3:]
    assert kept == (swapped if done % 2 else before)


def test_an_update_whose_response_is_lost_keeps_its_files_and_is_not_repeated(
    table: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = lance.LanceDataset.commit

    def lost(*args: Any, **more: Any) -> None:
        version = commit(*args, **more).version
        raise OSError(f"Commit result for version {version} is unknown: it may have been applied")

    monkeypatch.setattr(lance.LanceDataset, "commit", lost)
    with pytest.raises(LanceNamespaceError, match="is unknown") as caught:
        table.update_table({**T, **SWAP})
    assert int(caught.value.code) == 14
    found = rows_of(table, columns=["a", "b", "given"])
    assert [(row["a"], row["b"]) for row in found] == [(10, 1), (20, 2), (300, 3), (40, None)]
    assert table.open_table(["t"]).version == 2


@pytest.mark.parametrize(
    ("where", "count", "version"), [("a >= 2", 2, 2), (None, 4, 2), ("a = 9", 0, 1)]
)
def test_the_dataset_is_at_the_version_of_the_update(
    tmp_path: Path, where: str | None, count: int, version: int
) -> None:
    dataset = lance.write_dataset(ROWS, tmp_path / "t.lance")
    assert update_at_once(dataset, {"a": "b", "b": "a"}, where, None) == (count, version)
    assert dataset.version == version


def data_files(path: Path) -> set[str]:
    return {each.name for each in (path / "t.lance" / "data").iterdir()}


@pytest.mark.parametrize("branch", [None, "side"])
@pytest.mark.parametrize("times", [1, 9])
def test_an_update_after_a_conflict_is_applied_to_the_latest_version(
    table: Namespace, times: int, branch: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.create_table_branch({**T, "name": "side"})
    commit, left = lance.LanceDataset.commit, [times]

    def overtaken(*args: Any, **more: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise OSError("Commit conflict for version 2")
        return commit(*args, **more)

    monkeypatch.setattr(lance.LanceDataset, "commit", overtaken)
    answer = table.update_table({**T, **SWAP, "branch": branch})
    assert (answer.updated_rows, left) == (4, [0])
    found = table.open_table(["t"]).checkout_version((branch, answer.version)).to_table()
    assert sorted(found["a"].to_pylist()) == [10, 20, 40, 300]


@pytest.mark.parametrize(
    ("said", "code", "tries"),
    [("Commit conflict for version 2", 14, 10), ("Permission denied (os error 13)", 15, 1)],
)
def test_an_update_that_cannot_be_committed_leaves_no_files(
    table: Namespace,
    tmp_path: Path,
    said: str,
    code: int,
    tries: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, tried = data_files(tmp_path), []

    def refuse(*_: Any, **__: Any) -> None:
        tried.append(len(data_files(tmp_path)))
        raise OSError(said)

    monkeypatch.setattr(lance.LanceDataset, "commit", refuse)
    with pytest.raises(LanceNamespaceError) as caught:
        table.update_table({**T, **SWAP})
    assert int(caught.value.code) == code
    assert tried == [len(before) + 1] * tries
    assert data_files(tmp_path) == before


def test_a_column_that_is_read_as_another_type_is_not_written_back(tmp_path: Path) -> None:
    """The content of a blob is not read with the other columns."""
    blob = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64()), blob])
    lance.write_dataset(pa.table([[1], [2], [b"x"]], schema=schema), tmp_path / "t.lance")
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        with pytest.raises(
            LanceNamespaceError, match=r"column 'blob' is read as .* update one"
        ) as caught:
            namespace.update_table({**T, **SWAP})
        assert int(caught.value.code) == 0
        assert namespace.open_table(["t"]).version == 1


@pytest.mark.parametrize(
    ("updates", "reads"),
    [
        ({"a": "1", "b": "2"}, False),
        ({"a": "a + 1", "b": "b + 1"}, False),
        ({"a": "b", "b": "1"}, True),
        ({"a": "1", "b": "A"}, True),
        ({"Odd": "1", "b": "odd + 1"}, True),
        ({"a": "'a text'"}, False),
    ],
)
def test_an_expression_may_read_a_column_that_another_sets(
    updates: dict[str, str], reads: bool
) -> None:
    assert reads_updated_columns(updates) is reads


def test_an_update_of_nested_fields_is_passed_to_pylance(tmp_path: Path) -> None:
    rows = pa.table({"n": [{"k": 1, "l": 2}], "a": [5]})
    lance.write_dataset(rows, tmp_path / "t.lance")
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        with pytest.raises(LanceNamespaceError) as caught:
            namespace.update_table({**T, "updates": [["n.k", "a"], ["a", "n.k"]]})
        assert int(caught.value.code) == 13
        assert namespace.open_table(["t"]).to_table() == rows
