"""Writing rows to a declared table that has no data yet creates the table."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.server import serving
from lance_namespace_impls.tables import write
from tests.behaviour.memory import MemoryConfig, Mixed
from tests.tables.calls import code_of

ROWS = pa.table({"id": [1, 2, 3], "x": ["a", "b", "c"]})
T = {"id": ["t"]}
MERGE = {**T, "on": ["id"]}


def directory(path: Path) -> Namespace:
    return connect("dir", {"path": str(path)})


def catalog(path: Path) -> Namespace:
    return Mixed(MemoryConfig(root=str(path)))


@pytest.fixture(params=[directory, catalog], ids=["dir", "catalog"])
def declared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    with request.param(tmp_path / "lake") as namespace:
        namespace.declare_table(T)
        yield namespace


@pytest.fixture
def caller(request: pytest.FixtureRequest, declared: Namespace) -> Iterator[Namespace]:
    if request.param == "in process":
        yield declared
        return
    with serving(declared) as uri, connect("rest", {"uri": uri}) as namespace:
        yield namespace


def rows_of(namespace: Namespace) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = namespace.open_table(["t"]).to_table().to_pylist()
    return found


# Over REST, only the form of the response is different.
@pytest.mark.parametrize(
    ("caller", "mode"),
    [
        *(("in process", mode) for mode in (None, "append", "Overwrite")),
        ("over REST", "Overwrite"),
    ],
    indirect=["caller"],
)
def test_an_insert_creates_the_table(caller: Namespace, mode: str | None) -> None:
    answer = caller.insert_into_table({**T, "mode": mode}, ROWS)
    assert (answer.num_inserted_rows, answer.version) == (3, 1)
    assert rows_of(caller) == ROWS.to_pylist()
    assert list(caller.iter_tables(include_declared=False)) == ["t"]
    assert caller.insert_into_table(T, ROWS).version == 2
    assert len(rows_of(caller)) == 6


ACTIONS = (
    "when_matched_update_all",
    "when_not_matched_insert_all",
    "when_not_matched_by_source_delete",
)


@pytest.mark.parametrize(
    ("caller", "what"),
    [*(("in process", action) for action in ACTIONS), ("over REST", ACTIONS[0])],
    indirect=["caller"],
)
def test_a_merge_creates_the_table_with_all_rows_as_in_pylance(
    caller: Namespace, what: str
) -> None:
    answer = caller.merge_insert_into_table({**MERGE, what: True}, ROWS)
    counts = (answer.num_inserted_rows, answer.num_updated_rows, answer.num_deleted_rows)
    assert (counts, answer.version) == ((3, 0, 0), 1)
    assert rows_of(caller) == ROWS.to_pylist()


@pytest.mark.parametrize("mode", ["Create", "create", "ExistOk", "Overwrite"])
def test_create_table_writes_to_the_declared_location(tmp_path: Path, mode: str) -> None:
    place = str(tmp_path / "place")
    with catalog(tmp_path / "lake") as namespace:
        namespace.declare_table({**T, "location": place, "properties": {"a": "b"}})
        made = namespace.create_table({**T, "mode": mode, "properties": {"a": "b"}}, ROWS)
        assert (made.location, made.version, made.properties.get("a")) == (place, 1, "b")
    assert lance.dataset(place).count_rows() == 3


OTHER = {**T, "on": ["other"], "when_matched_update_all": True}
DOTTED = ROWS.rename_columns(["id", "a.b"])
CANNOT_BE: dict[str, tuple[int, Callable[[Namespace], Any]]] = {
    "a merge that does nothing": (13, lambda ns: ns.merge_insert_into_table(MERGE, ROWS)),
    "a merge without a key": (
        13,
        lambda ns: ns.merge_insert_into_table({**MERGE, "on": None}, ROWS),
    ),
    "a merge by a column that is not there": (
        12,
        lambda ns: ns.merge_insert_into_table(OTHER, ROWS),
    ),
    "a column that could not be read": (20, lambda ns: ns.insert_into_table(T, DOTTED)),
    "a branch": (19, lambda ns: ns.insert_into_table({**T, "branch": "side"}, ROWS)),
    "a table that is not there": (4, lambda ns: ns.insert_into_table({"id": ["missing"]}, ROWS)),
    "rows that are interrupted": (13, lambda ns: ns.insert_into_table(T, broken())),
    "a mode that is none": (13, lambda ns: ns.insert_into_table({**T, "mode": "upsert"}, ROWS)),
}


@pytest.mark.parametrize("name", CANNOT_BE)
def test_a_failed_write_leaves_the_table_declared(declared: Namespace, name: str) -> None:
    code, call = CANNOT_BE[name]
    assert code_of(call, declared) == code
    assert declared.describe_table({**T, "check_declared": True}).is_only_declared
    assert declared.insert_into_table(T, ROWS).version == 1


def broken() -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield ROWS.to_batches()[0]
        raise OSError("the client has gone")

    return pa.RecordBatchReader.from_batches(ROWS.schema, batches())


def test_no_concurrent_first_insert_is_lost_silently(
    declared: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2)
    commit = write.commit_onto

    def together(*args: Any) -> int:
        # If the catalog locks out the second insert, only one thread arrives.
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return commit(*args)

    monkeypatch.setattr(write, "commit_onto", together)

    def insert(n: int) -> int:
        try:
            declared.insert_into_table(T, pa.table({"id": [n]}))
        except LanceNamespaceError as error:
            return int(error.code)
        return -1

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(insert, (1, 2)))
    assert set(outcomes) <= {-1, 14}
    kept = sorted(row["id"] for row in rows_of(declared))
    assert kept == [n for n, outcome in zip((1, 2), outcomes, strict=True) if outcome == -1]
    assert kept
