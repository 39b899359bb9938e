"""Several processes change one manifest concurrently, here and through pylance: one wins."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from tests.servers.s3 import GuardedS3

from .lakes import ROWS, Peer, manifest_rows

RACERS = 4
ROUNDS = 3
WAIT_SECONDS = 300


def race(properties: dict[str, str], start: Any, inbox: Any) -> None:
    """Run the received calls, through this package or through pylance."""
    with connect("dir", properties) as namespace:
        while (call := inbox.recv()) is not None:
            method, request, rows, through_pylance = call
            start.wait(WAIT_SECONDS)
            try:
                if through_pylance:
                    peer = Peer.at(properties["root"])
                    getattr(peer, method)(request["id"], **({} if rows is None else {"rows": rows}))
                else:
                    getattr(namespace, method)(request, *([] if rows is None else [rows]))
            except Exception as error:  # noqa: BLE001 returned to the caller
                inbox.send((int(getattr(error, "code", -1)), str(error)))
            else:
                inbox.send((None, ""))


class Racers:
    """Processes that wait for calls."""

    def __init__(self, properties: dict[str, str]) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, "lance_namespace_impls.directory", "pyarrow.fs"])
        self._start = context.Barrier(RACERS)
        self._lines, self._processes = [], []
        for _ in range(RACERS):
            mine, theirs = context.Pipe()
            process = context.Process(target=race, args=(properties, self._start, theirs))
            process.start()
            self._lines.append(mine)
            self._processes.append(process)

    def run(
        self,
        calls: Callable[[int], tuple[str, dict[str, Any], Any]],
        through_pylance: Callable[[int], bool] = lambda racer: False,
    ) -> list[tuple[int | None, str]]:
        """Let all racers make their calls concurrently, and return the outcome of each call."""
        for racer, line in enumerate(self._lines):
            line.send((*calls(racer), through_pylance(racer)))
        for line in self._lines:
            assert line.poll(WAIT_SECONDS), "a racer hangs"
        return [line.recv() for line in self._lines]

    def end(self) -> None:
        """Stop the processes."""
        for line in self._lines:
            line.send(None)
        for process in self._processes:
            process.join(WAIT_SECONDS)
            if process.is_alive():
                process.terminate()


def winners(outcomes: list[tuple[int | None, str]], *losing: int) -> list[int]:
    """Return the racers that succeeded; the others failed with one of the codes."""
    assert {code for code, _ in outcomes if code is not None} <= set(losing), outcomes
    return [racer for racer, (code, _) in enumerate(outcomes) if code is None]


@pytest.fixture(scope="module", params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    if request.param == "local":
        yield {"root": str(tmp_path_factory.mktemp("races")), "manifest": "true"}
        return
    s3: GuardedS3 = request.getfixturevalue("running_s3")
    s3.clear()
    options = {f"storage.{key}": value for key, value in s3.options().items()}
    yield {"root": f"s3://{s3.bucket}/races", "manifest": "true", **options}


@pytest.fixture(scope="module")
def racers(place: dict[str, str]) -> Iterator[Racers]:
    found = Racers(place)
    yield found
    found.end()


@pytest.fixture
def lake(place: dict[str, str]) -> Iterator[Namespace]:
    with connect("dir", place) as found:
        for name in found.iter_namespaces():
            found.drop_namespace({"id": [name], "behavior": "Cascade"})
        found.create_namespace({"id": ["n"]})
        yield found


def test_one_racer_creates_a_namespace(racers: Racers, lake: Namespace) -> None:
    for turn in range(ROUNDS):
        outcomes = racers.run(
            lambda racer: (
                "create_namespace",
                {"id": [f"x{turn}"], "properties": {"racer": str(racer)}},  # noqa: B023
                None,
            )
        )
        (winner,) = winners(outcomes, 2)
        made = lake.describe_namespace({"id": [f"x{turn}"]}).properties
        assert made == {"racer": str(winner)}


def test_one_racer_creates_a_table(racers: Racers, lake: Namespace) -> None:
    for turn in range(ROUNDS):
        outcomes = racers.run(
            lambda racer: (
                "create_table",
                {"id": ["n", f"t{turn}"], "properties": {"racer": str(racer)}},  # noqa: B023
                ROWS,
            )
        )
        (winner,) = winners(outcomes, 5, 14)
        found = lake.describe_table({"id": ["n", f"t{turn}"], "check_declared": True})
        assert (found.properties, found.is_only_declared) == ({"racer": str(winner)}, False)
        assert lake.open_table(["n", f"t{turn}"]).to_table() == ROWS


def test_different_names_are_all_created(racers: Racers, lake: Namespace) -> None:
    for turn in range(ROUNDS):
        outcomes = racers.run(
            lambda racer: ("declare_table", {"id": ["n", f"t{turn}-{racer}"]}, None)  # noqa: B023
        )
        assert len(winners(outcomes)) == RACERS
    assert len(list(lake.iter_tables(["n"]))) == RACERS * ROUNDS


def test_a_table_is_never_left_in_a_dropped_namespace(racers: Racers, lake: Namespace) -> None:
    for turn in range(ROUNDS):
        lake.create_namespace({"id": [f"p{turn}"]})
        outcomes = racers.run(
            lambda racer: (
                ("declare_table", {"id": [f"p{turn}", f"t{racer}"]}, None)  # noqa: B023
                if racer % 2
                else ("drop_namespace", {"id": [f"p{turn}"]}, None)  # noqa: B023
            )
        )
        won = winners(outcomes, 1, 3)
        dropped = [racer for racer in won if racer % 2 == 0]
        assert len(dropped) <= 1
        if dropped:
            assert f"p{turn}" not in list(lake.iter_namespaces())
            assert won == dropped
        else:
            tables = set(lake.iter_tables([f"p{turn}"]))
            assert tables == {f"t{racer}" for racer in won}


def test_no_change_of_properties_is_lost(racers: Racers, lake: Namespace) -> None:
    for _ in range(ROUNDS):
        outcomes = racers.run(
            lambda racer: (
                "alter_namespace",
                {"id": ["n"], "set_properties": {f"racer{racer}": "x"}},
                None,
            )
        )
        assert len(winners(outcomes)) == RACERS
        properties = lake.describe_namespace({"id": ["n"]}).properties
        assert properties == {f"racer{racer}": "x" for racer in range(RACERS)}
        lake.alter_namespace({"id": ["n"], "unset_properties": list(properties)})


def test_one_racer_renames_the_table(racers: Racers, lake: Namespace) -> None:
    for turn in range(ROUNDS):
        lake.create_table({"id": ["n", f"t{turn}"]}, ROWS)
        outcomes = racers.run(
            lambda racer: (
                "rename_table",
                {"id": ["n", f"t{turn}"], "new_table_name": f"u{turn}-{racer}"},  # noqa: B023
                None,
            )
        )
        (winner,) = winners(outcomes, 4)
        tables = [name for name in lake.iter_tables(["n"]) if name.startswith(f"u{turn}-")]
        assert tables == [f"u{turn}-{winner}"]
        assert lake.open_table(["n", *tables]).to_table() == ROWS


def test_one_racer_drops(racers: Racers, lake: Namespace) -> None:
    for _ in range(ROUNDS):
        lake.create_table({"id": ["n", "t"]}, ROWS)
        outcomes = racers.run(lambda racer: ("drop_table", {"id": ["n", "t"]}, None))
        assert len(winners(outcomes, 4, 14)) == 1
        assert list(lake.iter_tables(["n"])) == []


@pytest.mark.parametrize("place", ["local"], indirect=True)
def test_no_first_change_is_lost(racers: Racers, lake: Namespace, place: dict[str, str]) -> None:
    """If several racers create the manifest concurrently, none of them replaces another's rows."""
    for turn in range(ROUNDS):
        shutil.rmtree(f"{place['root']}/__manifest")
        outcomes = racers.run(
            lambda racer: ("create_namespace", {"id": [f"x{turn}-{racer}"]}, None)  # noqa: B023
        )
        assert len(winners(outcomes)) == RACERS
        assert set(manifest_rows(place["root"])) == {f"x{turn}-{each}" for each in range(RACERS)}


@pytest.mark.parametrize("place", ["local"], indirect=True)
@pytest.mark.parametrize("what", ["create_namespace", "create_table"])
def test_one_racer_here_or_in_pylance_creates_a_name(
    racers: Racers, lake: Namespace, place: dict[str, str], what: str
) -> None:
    rows = ROWS if what == "create_table" else None
    for turn in range(ROUNDS):
        outcomes = racers.run(
            lambda racer: (what, {"id": ["n", f"{what}{turn}"]}, rows),  # noqa: B023
            lambda racer: racer % 2 == 0,
        )
        won = [racer for racer, (code, _) in enumerate(outcomes) if code is None]
        assert len(won) == 1, outcomes
    assert len([row for row in manifest_rows(place["root"]) if what in row]) == ROUNDS


def test_a_commit_onto_an_outdated_version_is_evaluated_again(
    running_s3: GuardedS3,
) -> None:
    """A commit whose version already exists is evaluated again, on the latest version."""
    options = {f"storage.{key}": value for key, value in running_s3.options().items()}
    properties = {"root": f"s3://{running_s3.bucket}/twice", "manifest": "true", **options}
    with connect("dir", properties) as one, connect("dir", properties) as two:
        one.create_namespace({"id": ["n"]})
        assert list(two.iter_namespaces()) == ["n"]
        one.drop_namespace({"id": ["n"]})
        with pytest.raises(LanceNamespaceError) as caught:
            two.declare_table({"id": ["n", "t"]})
        assert caught.value.code == 1
