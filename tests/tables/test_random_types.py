"""Rows of random types are read back unchanged, or rejected before anything is written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect

from .random_types import normal, random_table, stored_type

# Duration of the slow test. LANCE_NS_RANDOM_SECONDS overrides it, and LANCE_NS_RANDOM_SEED sets the
# first seed.
SECONDS = 120.0


def create(lake: Any, rows: pa.Table) -> None:
    lake.create_table({"id": ["t"]}, rows)


def overwrite(lake: Any, rows: pa.Table) -> None:
    lake.create_table({"id": ["t"]}, pa.table({"old": [1]}))
    lake.insert_into_table({"id": ["t"], "mode": "Overwrite"}, rows)


def append(lake: Any, rows: pa.Table) -> None:
    lake.create_table({"id": ["t"]}, pa.Table.from_batches([], rows.schema))
    lake.insert_into_table({"id": ["t"]}, rows)


def fill(lake: Any, rows: pa.Table) -> None:
    lake.declare_table({"id": ["t"]})
    lake.insert_into_table({"id": ["t"]}, rows)


def stream(lake: Any, rows: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    lake.create_table({"id": ["t"]}, sink.getvalue().to_pybytes())


WAYS: tuple[Callable[[Any, pa.Table], None], ...] = (create, overwrite, append, fill, stream)


def check(folder: Path, seed: int) -> bool:
    """Write a random table and read it back; return whether it was accepted."""
    rng = Random(seed)
    rows = random_table(rng)
    way = rng.choice(WAYS)
    lake = connect("dir", {"path": str(folder)})
    note = f"seed {seed}, {way.__name__}: {rows.schema}"
    try:
        way(lake, rows)
    except LanceNamespaceError as error:
        assert error.code == 20, f"{note}: {error!r}"
        held = [path for path in folder.rglob("*.lance") if path.is_file()]
        assert len(held) <= (way is overwrite), f"{note}: files are left: {held}"
        return False
    got = lake.query_table({"id": ["t"], "k": 0}).read_all()
    assert got.num_rows == rows.num_rows, note
    for field in rows.schema:
        there = got.schema.field(field.name)
        expected_type = stored_type(field.type)
        assert there.type == expected_type, f"{note}: {field.name} is {there.type}"
        kind = field.type
        expected = [normal(kind, value) for value in rows[field.name].to_pylist()]
        found = [normal(kind, value) for value in got[field.name].to_pylist()]
        assert found == expected, f"{note}: {field.name}"
    return True


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_rows_of_random_types_read_back_or_are_rejected(tmp_path: Path, first: int) -> None:
    accepted = sum(check(tmp_path / str(seed), seed) for seed in range(first, first + 30))
    assert 0 < accepted < 30


@pytest.mark.slow
def test_rows_of_many_random_types_read_back_or_are_rejected(tmp_path: Path) -> None:
    seed = int(os.environ.get("LANCE_NS_RANDOM_SEED", "1000"))
    end = time.monotonic() + float(os.environ.get("LANCE_NS_RANDOM_SECONDS", SECONDS))
    while time.monotonic() < end:
        check(tmp_path / str(seed), seed)
        seed += 1
