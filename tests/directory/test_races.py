"""Eight processes make the same call on one directory concurrently: one of them wins."""

from __future__ import annotations

import io
import multiprocessing
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    LanceNamespaceError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.directory import folders, local, sweep
from lance_namespace_impls.directory.filesystem import Directory

RACERS = 8
ROUNDS = 25
WAIT_SECONDS = 300
ROWS = pa.table({"racer": [1]})

Call = tuple[str, dict[str, Any], Any]
Outcome = tuple[int | None, str]
"""The code, None for success, and the message."""


def rows_of(racer: int) -> pa.Table:
    return pa.table({"racer": [racer]})


def broken_rows() -> bytes:
    """Return an Arrow stream that is interrupted in its second batch."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, ROWS.schema) as writer:
        writer.write_table(ROWS)
        writer.write_table(pa.table({"racer": list(range(1000))}))
    return sink.getvalue()[:-4000]


def race_on(path: str, barrier: Barrier, inbox: Connection) -> None:
    """Run the received calls, each of them when all racers have received theirs."""
    with connect("dir", {"path": path}) as namespace:
        while (call := inbox.recv()) is not None:
            method, request, rows = call
            barrier.wait(WAIT_SECONDS)
            inbox.send(_outcome(namespace, method, request, rows))


def _outcome(namespace: Namespace, method: str, request: dict[str, Any], rows: Any) -> Outcome:
    try:
        getattr(namespace, method)(request, *([] if rows is None else [rows]))
    except LanceNamespaceError as error:
        return int(error.code), str(error)
    return None, ""


class Race:
    """Processes that wait for calls."""

    def __init__(self, path: Path) -> None:
        # A process with threads of pylance or pyarrow must not be forked: fork a separate server.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["lance_namespace_impls.directory", "pyarrow.fs"])
        self._barrier = context.Barrier(RACERS)
        self._lines, self._processes = [], []
        for _ in range(RACERS):
            ours, theirs = context.Pipe()
            process = context.Process(target=race_on, args=(str(path), self._barrier, theirs))
            process.start()
            self._lines.append(ours)
            self._processes.append(process)

    def run(self, calls: Callable[[int], Call]) -> list[Outcome]:
        """Let all racers make their calls concurrently, and return the outcome of each call."""
        for racer, line in enumerate(self._lines):
            line.send(calls(racer))
        for line in self._lines:
            assert line.poll(WAIT_SECONDS), "a racer hangs"
        return [line.recv() for line in self._lines]

    def end(self) -> None:
        for line in self._lines:
            line.send(None)
        for process in self._processes:
            process.join(WAIT_SECONDS)
            if process.is_alive():
                process.terminate()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("races")


@pytest.fixture(scope="module")
def race(place: Path) -> Iterator[Race]:
    found = Race(place)
    yield found
    found.end()


@pytest.fixture
def rounds(place: Path) -> Iterator[Iterator[Namespace]]:
    """Yield an iterator that returns the namespace for each round, without tables."""

    def each(found: Namespace) -> Iterator[Namespace]:
        for _ in range(ROUNDS):
            for name in found.iter_tables():
                found.drop_table({"id": [name]})
            yield found

    with connect("dir", {"path": str(place)}) as found:
        yield each(found)


def winner_of(outcomes: list[Outcome], *losing: int) -> int:
    """Return the one racer that succeeded; all others failed with one of the codes."""
    winners = [racer for racer, (code, _) in enumerate(outcomes) if code is None]
    assert len(winners) == 1, f"winners: {winners}; {Counter(outcomes)}"
    assert {code for code, _ in outcomes if code is not None} <= set(losing), Counter(outcomes)
    return winners[0]


def only_tables(place: Path) -> set[str]:
    """Return the table directories, and check that nothing else is left."""
    names = {path.name for path in place.iterdir()}
    assert all(name.endswith(".lance") and not name.startswith(".") for name in names), names
    return names


def test_one_racer_declares(race: Race, rounds: Iterator[Namespace], place: Path) -> None:
    for namespace in rounds:
        outcomes = race.run(
            lambda racer: (
                "declare_table",
                {"id": ["t"], "properties": {"racer": str(racer)}},
                None,
            )
        )
        winner = winner_of(outcomes, 5)
        assert namespace.describe_table({"id": ["t"]}).properties == {"racer": str(winner)}
        assert only_tables(place) == {"t.lance"}


def test_one_racer_creates(race: Race, rounds: Iterator[Namespace], place: Path) -> None:
    for namespace in rounds:
        outcomes = race.run(
            lambda racer: ("create_table", {"id": ["t"]}, rows_of(racer)),
        )
        winner = winner_of(outcomes, 5, 14)
        assert namespace.open_table(["t"]).to_table() == rows_of(winner)
        assert (
            namespace.describe_table({"id": ["t"], "check_declared": True}).is_only_declared
            is False
        )
        assert only_tables(place) == {"t.lance"}


def test_one_racer_creates_while_others_fail(
    race: Race, rounds: Iterator[Namespace], place: Path
) -> None:
    """A failed create rolls back its own changes, and nothing that another racer created."""
    for namespace in rounds:
        outcomes = race.run(
            lambda racer: (
                "create_table",
                {"id": ["t"]},
                rows_of(racer) if racer % 2 else broken_rows(),
            )
        )
        winners = [racer for racer, (code, _) in enumerate(outcomes) if code is None]
        assert {code for code, _ in outcomes} <= {None, 5, 13, 14}, Counter(outcomes)
        assert len(winners) <= 1, winners
        if winners:
            assert namespace.open_table(["t"]).to_table() == rows_of(winners[0])
        else:
            assert list(namespace.iter_tables(include_declared=False)) == []
            namespace.create_table({"id": ["t"], "mode": "Overwrite"}, ROWS)
            assert namespace.open_table(["t"]).to_table() == ROWS
        assert only_tables(place) == {"t.lance"}


def test_every_racer_succeeds_with_exist_ok(
    race: Race, rounds: Iterator[Namespace], place: Path
) -> None:
    for namespace in rounds:
        request = {"id": ["t"], "mode": "ExistOk"}
        outcomes = race.run(lambda racer: ("create_table", request, rows_of(racer)))  # noqa: B023
        assert [code for code, _ in outcomes] == [None] * RACERS, Counter(outcomes)
        assert namespace.count_table_rows({"id": ["t"]}).count == 1
        assert only_tables(place) == {"t.lance"}


def test_creating_against_dropping(race: Race, rounds: Iterator[Namespace], place: Path) -> None:
    """A successful create never leaves a partial table, and every failure names the table."""
    for namespace in rounds:
        outcomes = race.run(
            lambda racer: (
                ("create_table", {"id": ["t"]}, rows_of(racer))
                if racer % 2
                else ("drop_table", {"id": ["t"]}, None)
            )
        )
        assert {code for code, _ in outcomes} <= {None, 4, 5, 14}, Counter(outcomes)
        assert all(
            "table t" in message or "/t.lance" in message for code, message in outcomes if code
        )
        for name in namespace.iter_tables(include_declared=False):
            assert namespace.open_table([name]).to_table().num_rows == 1
        assert only_tables(place) <= {"t.lance"}


def test_one_racer_fills_a_declared_table(race: Race, rounds: Iterator[Namespace]) -> None:
    for namespace in rounds:
        namespace.declare_table({"id": ["t"]})
        outcomes = race.run(lambda racer: ("create_table", {"id": ["t"]}, rows_of(racer)))
        winner = winner_of(outcomes, 5, 14)
        assert namespace.open_table(["t"]).to_table() == rows_of(winner)


def test_one_racer_registers(race: Race, rounds: Iterator[Namespace], place: Path) -> None:
    for namespace in rounds:
        namespace.create_table({"id": ["t"], "properties": {"old": "1"}}, ROWS)
        namespace.deregister_table({"id": ["t"]})
        outcomes = race.run(
            lambda racer: (
                "register_table",
                {"id": ["t"], "location": "t.lance", "properties": {"racer": str(racer)}},
                None,
            )
        )
        winner = winner_of(outcomes, 5)
        assert namespace.describe_table({"id": ["t"]}).properties == {"racer": str(winner)}
        assert namespace.open_table(["t"]).to_table() == ROWS
        assert only_tables(place) == {"t.lance"}


def test_one_racer_deregisters(race: Race, rounds: Iterator[Namespace]) -> None:
    for namespace in rounds:
        namespace.create_table({"id": ["t"]}, ROWS)
        outcomes = race.run(lambda racer: ("deregister_table", {"id": ["t"]}, None))
        winner_of(outcomes, 4)
        assert list(namespace.iter_tables()) == []
        namespace.register_table({"id": ["t"], "location": "t.lance"})
        assert namespace.open_table(["t"]).to_table() == ROWS


def test_one_racer_renames(race: Race, rounds: Iterator[Namespace], place: Path) -> None:
    for namespace in rounds:
        namespace.create_table({"id": ["t"], "properties": {"k": "v"}}, ROWS)
        outcomes = race.run(
            lambda racer: ("rename_table", {"id": ["t"], "new_table_name": f"new{racer}"}, None)
        )
        winner = winner_of(outcomes, 4)
        assert list(namespace.iter_tables()) == [f"new{winner}"]
        assert namespace.describe_table({"id": [f"new{winner}"]}).properties == {"k": "v"}
        assert namespace.open_table([f"new{winner}"]).to_table() == ROWS
        assert only_tables(place) == {f"new{winner}.lance"}


def test_one_of_several_tables_is_renamed_to_a_name(
    race: Race, rounds: Iterator[Namespace]
) -> None:
    """Different tables are renamed to one name: one rename succeeds, the others change nothing."""
    for namespace in rounds:
        for racer in range(RACERS):
            namespace.create_table({"id": [f"old{racer}"]}, rows_of(racer))
        outcomes = race.run(
            lambda racer: ("rename_table", {"id": [f"old{racer}"], "new_table_name": "t"}, None)
        )
        winner = winner_of(outcomes, 5)
        others = {f"old{racer}" for racer in range(RACERS) if racer != winner}
        assert set(namespace.iter_tables()) == {"t", *others}
        assert namespace.open_table(["t"]).to_table() == rows_of(winner)


def test_one_racer_drops(race: Race, rounds: Iterator[Namespace], place: Path) -> None:
    for namespace in rounds:
        namespace.create_table({"id": ["t"]}, ROWS)
        outcomes = race.run(lambda racer: ("drop_table", {"id": ["t"]}, None))
        winner_of(outcomes, 4)
        assert list(namespace.iter_tables()) == []
        assert list(place.iterdir()) == []


def test_no_change_of_properties_is_lost(race: Race, rounds: Iterator[Namespace]) -> None:
    for namespace in rounds:
        namespace.create_table({"id": ["t"], "properties": {"old": "1"}}, ROWS)
        outcomes = race.run(
            lambda racer: (
                "alter_table",
                {
                    "id": ["t"],
                    "set_properties": {f"racer{racer}": "x"},
                    "unset_properties": ["old"],
                },
                None,
            )
        )
        assert [code for code, _ in outcomes] == [None] * RACERS
        expected = {f"racer{racer}": "x" for racer in range(RACERS)}
        assert namespace.describe_table({"id": ["t"]}).properties == expected


def test_a_listing_contains_the_remaining_tables(race: Race, rounds: Iterator[Namespace]) -> None:
    """Some racers drop tables while others list tables."""
    for namespace in rounds:
        for name in ("a", "m", "z"):
            namespace.create_table({"id": [name]}, ROWS)
        for racer in range(RACERS):
            namespace.declare_table({"id": [f"goes{racer}"]})

        def calls(racer: int) -> Call:
            if racer % 2:
                return "drop_table", {"id": [f"goes{racer}"]}, None
            return "list_tables", {"include_declared": bool(racer % 4)}, None

        assert {code for code, _ in race.run(calls)} == {None}
        stay = {f"goes{racer}" for racer in range(0, RACERS, 2)}
        assert set(namespace.iter_tables()) == {"a", "m", "z", *stay}


# --- two clients, with calls at chosen moments


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Namespace, Namespace]]:
    with (
        connect("dir", {"path": str(tmp_path)}) as one,
        connect("dir", {"path": str(tmp_path)}) as two,
    ):
        yield one, two


def rows_while(meanwhile: Callable[[], Any]) -> pa.RecordBatchReader:
    """Return a stream of one row, which calls a function before it ends."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches()
        meanwhile()

    return pa.RecordBatchReader.from_batches(ROWS.schema, batches())


@pytest.mark.parametrize(
    ("method", "request_", "rows"),
    [
        ("create_table", {"id": ["t"]}, ROWS),
        ("create_table", {"id": ["t"], "mode": "Overwrite"}, ROWS),
        ("drop_table", {"id": ["t"]}, None),
        ("rename_table", {"id": ["t"], "new_table_name": "u"}, None),
    ],
)
def test_a_table_that_is_being_filled_is_reported_and_not_changed(
    pair: tuple[Namespace, Namespace],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    request_: dict[str, Any],
    rows: Any,
) -> None:
    monkeypatch.setattr(folders, "LOCK_TIMEOUT_SECONDS", 0.05)
    one, two = pair
    outcomes: list[Outcome] = []
    one.declare_table({"id": ["t"]})
    created = one.create_table(
        {"id": ["t"]},
        rows_while(lambda: outcomes.append(_outcome(two, method, request_, rows))),
    )
    assert created.version == 1
    assert outcomes == [(14, "table t: another process is writing its first rows; try again later")]
    assert two.open_table(["t"]).to_table() == ROWS


@pytest.mark.parametrize(
    ("method", "request_", "left"),
    [
        ("create_table", {"id": ["t"], "mode": "ExistOk"}, ["t"]),
        ("drop_table", {"id": ["t"]}, []),
        ("rename_table", {"id": ["t"], "new_table_name": "u"}, ["u"]),
    ],
)
def test_a_call_waits_while_a_table_is_filled(
    pair: tuple[Namespace, Namespace], method: str, request_: dict[str, Any], left: list[str]
) -> None:
    one, two = pair
    outcomes: list[Outcome] = []
    rows = rows_of(2) if method == "create_table" else None
    later = threading.Thread(target=lambda: outcomes.append(_outcome(two, method, request_, rows)))

    def come() -> None:
        later.start()
        later.join(0.1)
        assert later.is_alive()

    one.declare_table({"id": ["t"]})
    one.create_table({"id": ["t"]}, rows_while(come))
    later.join(WAIT_SECONDS)
    assert outcomes == [(None, "")]
    assert list(two.iter_tables()) == left
    for name in left:
        assert two.open_table([name]).to_table() == ROWS


def test_a_table_dropped_before_it_is_filled_is_reported(
    pair: tuple[Namespace, Namespace], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one, two = pair
    one.declare_table({"id": ["t"]})
    found = one.load_table(("t",))  # type: ignore[attr-defined]
    two.drop_table({"id": ["t"]})
    monkeypatch.setattr(one, "create_table_at_once", lambda *_: None)
    monkeypatch.setattr(one, "add_table_for", lambda *_: found)
    with pytest.raises(ConcurrentModificationError, match="table t was dropped or renamed"):
        one.create_table({"id": ["t"]}, rows_while(lambda: None))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("renames", ["exclusively", "as it can"])
@pytest.mark.parametrize("other", ["pylance", "declared", "created", "empty"])
def test_a_create_with_few_rows_never_replaces_a_concurrent_table(
    pair: tuple[Namespace, Namespace],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    other: str,
    renames: str,
) -> None:
    """A table that another client creates between the write and the final rename is detected."""
    one, two = pair
    move, theirs = Directory.move, pa.table({"x": [7, 8]})

    def meanwhile() -> None:
        if other == "pylance":
            lance.write_dataset(theirs, tmp_path / "t.lance")
        elif other == "created":
            two.create_table({"id": ["t"]}, theirs)
        elif other == "declared":
            two.declare_table({"id": ["t"]})
        else:
            (tmp_path / "t.lance").mkdir()

    def late(self: Directory, folder: str, new: str) -> bool:
        monkeypatch.setattr(Directory, "move", move)
        meanwhile()
        return self.move(folder, new)

    if renames == "as it can":
        monkeypatch.setattr(local, "_renameat2", lambda: None)
    monkeypatch.setattr(Directory, "move", late)
    code, _ = _outcome(one, "create_table", {"id": ["t"]}, ROWS)
    is_theirs = other in ("pylance", "created")
    assert code == (5 if is_theirs else None)
    assert two.open_table(["t"]).to_table() == (theirs if is_theirs else ROWS)
    assert [path.name for path in tmp_path.iterdir()] == ["t.lance"]


def test_a_drop_does_not_fail_because_of_leftovers_of_another_table(
    pair: tuple[Namespace, Namespace], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    namespace, _ = pair
    real = local.delete_tree
    stuck: set[str] = set()

    def refuse(path: str, *more: Any) -> None:
        if not stuck or path in stuck:
            stuck.add(path)
            raise PermissionError(13, "Permission denied", path)
        real(path, *more)

    for name in ("t", "u", "v"):
        namespace.create_table({"id": [name]}, ROWS)
    monkeypatch.setattr(local, "delete_tree", refuse)
    monkeypatch.setattr(sweep, "SWEEP_SECONDS", 0.0)
    with pytest.raises(InternalError, match="table t was removed from the directory") as caught:
        namespace.drop_table({"id": ["t"]})
    (left,) = stuck
    assert f"{left} could not be deleted (" in str(caught.value)
    with pytest.warns(UserWarning, match=f"{left}.* could not be deleted .*; delete it"):
        namespace.drop_table({"id": ["u"]})
    assert {path.name for path in tmp_path.iterdir()} == {Path(left).name, "v.lance"}
    stuck |= {"nothing"}
    stuck.discard(left)
    namespace.drop_table({"id": ["v"]})
    assert list(tmp_path.iterdir()) == []


FORKED = """
import os, sys
from lance_namespace_impls.directory import local
from lance_namespace_impls.directory.filesystem import Directory

directory = Directory(sys.argv[1], {})
end, hold = os.pipe()
with directory.lock("t.lance"), directory.hold(".filling-t", timeout=0, marker="t.lance/marker"):
    if not (child := os.fork()):
        os.close(hold)
        os.read(end, 1)
        os._exit(0)
for name in ("t.lance", "t.lance/marker"):
    assert local.try_lock(f"{sys.argv[1]}/{name}", os.O_RDONLY) is not None, name
"""


def test_a_process_forked_under_a_lock_does_not_keep_it(tmp_path: Path) -> None:
    (tmp_path / "t.lance").mkdir()
    (tmp_path / "t.lance" / "marker").touch()
    subprocess.run([sys.executable, "-c", FORKED, str(tmp_path)], check=True, timeout=300)
