"""Files are divided into tasks: each task is filled up to the limit, and nothing is lost."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_namespace_impls.ingest.file_import import divide
from lance_namespace_impls.ingest.readers.base import FileInfo
from lance_namespace_impls.ingest.sources import SourceFile
from lance_namespace_impls.spark.row_changes import Removals
from lance_namespace_impls.spark.row_changes import removed as removed_rows


def source(size: int) -> SourceFile:
    return SourceFile(path="f", size=size)


def parquet(groups: list[int]) -> FileInfo:
    return FileInfo(file=source(sum(groups)), schema=pa.schema([("a", "int8")]), row_groups=groups)


def text(size: int, *, divisible: bool) -> FileInfo:
    return FileInfo(file=source(size), schema=pa.schema([("a", "int8")]), divisible=divisible)


SIZES = st.integers(1, 12)
FILES = st.lists(
    st.one_of(
        st.lists(SIZES, min_size=1, max_size=4).map(parquet),
        st.builds(text, SIZES, divisible=st.booleans()),
    ),
    max_size=6,
)


@given(FILES, st.integers(1, 14))
def test_tasks_stay_within_the_limit_and_are_filled_in_order(
    infos: list[FileInfo], most: int
) -> None:
    tasks = divide(infos, most)
    sizes = [[piece.size for piece in task] for task in tasks]
    assert all(sum(task) <= most for task in sizes if len(task) > 1)
    assert all(sum(before) + after[0] > most for before, after in pairwise(sizes))
    pieces = [piece for task in tasks for piece in task]
    assert pieces == [piece for info in infos for piece in info.pieces(most)]


@given(FILES, st.integers(1, 14))
def test_the_pieces_of_a_file_cover_it_exactly_once(infos: list[FileInfo], most: int) -> None:
    for info in infos:
        pieces = info.pieces(most)
        if info.row_groups:
            assert [i for piece in pieces for i in piece.row_groups] == [
                *range(len(info.row_groups))
            ]
            runs = [[info.row_groups[i] for i in piece.row_groups] for piece in pieces]
            assert [piece.size for piece in pieces] == [sum(run) for run in runs]
            assert all(sum(run) <= most for run in runs if len(run) > 1)
            assert all(sum(run) + after[0] > most for run, after in pairwise(runs))
        else:
            assert (pieces[0].start, pieces[-1].end) == (0, None)
            assert [piece.end for piece in pieces[:-1]] == [piece.start for piece in pieces[1:]]
            assert info.divisible or len(pieces) == 1
            assert not info.divisible or all(piece.size <= most for piece in pieces)


@pytest.mark.parametrize(
    ("where", "changed", "removed", "rows"),
    [
        ("false", [], [], 0),
        ("a = 0", [0], [], 1),
        ("a < 2", [], [0], 2),
        ("a in (0, 2, 3)", [0], [1], 3),
        ("a in (1, 3, 4)", [0, 1, 2], [], 3),
        ("true", [], [0, 1, 2], 6),
    ],
)
def test_fragments_that_lose_some_rows_differ_from_those_that_lose_all(
    where: str, changed: list[int], removed: list[int], rows: int
) -> None:
    dataset = lance.write_dataset(pa.table({"a": range(6)}), "memory://", max_rows_per_file=2)
    fragments: Any = dataset.get_fragments()
    answers = [
        removed_rows((each, each.delete(where)) for each in fragments[at : at + 2]) for at in (0, 2)
    ]
    found = Removals.of([json.dumps(answer) for answer in answers])
    assert sorted(each["id"] for each in found.changed) == changed
    assert (sorted(found.removed), found.rows) == (removed, rows)
