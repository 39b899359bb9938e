"""Check that concurrent changes of a manifest are linearizable, although processes are killed.

Sixteen processes change one manifest for a minute, and one of them is killed each second. In
another run, sixteen more processes use the directory namespace of pylance.

Each process logs its calls, with the time of the call and of the response, and the result. A call
whose process was killed may or may not have taken effect. For every name there must be an order of
the calls that agrees with their times, in which every response is correct, and which ends in the
final state of the directory.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from collections import defaultdict
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import lance_namespace as official
import pyarrow as pa
import pytest
from attrs import frozen

from lance_namespace_client.errors import LanceNamespaceError

from .lakes import Peer, manifest_rows, ours

PROCESSES = 16
SECONDS = float(os.environ.get("LANCE_NS_HISTORY_SECONDS", "60"))
SECONDS_TO_END = 300
NAMES = [f"t{number}" for number in range(24)]
PARENTS = ("n", "m")
OPERATIONS = ("declare", "create", "drop", "deregister", "rename")
BY_PYLANCE = ("create", "drop", "deregister")
UNKNOWN = -1
"""The code of a call through pylance, which may or may not have taken effect. Its responses are not
checked: among pylance processes alone, two drops or two creates of one table can both succeed."""


@frozen
class Event:
    """One call on one name."""

    start: float
    end: float
    """Infinite if the process was killed before the response."""
    what: str
    """``make`` or ``remove``; a rename is one of each."""
    succeeded: bool | None
    """None if it is unknown."""
    owner: str
    """The caller that created the table, for ``make``."""


def _work(root: str, worker: int, log: str, is_pylance: bool, stop: str) -> None:
    choice = random.Random(f"{worker}-{os.getpid()}")
    with ours(root) as lake, open(log, "a", buffering=1) as notes:
        client = Peer.at(root) if is_pylance else lake
        do, known = (_do_by_pylance, BY_PYLANCE) if is_pylance else (_do, OPERATIONS)
        for number in count():
            if os.path.exists(stop):
                return
            table = [choice.choice(PARENTS), choice.choice(NAMES)]
            owner = f"{worker}-{os.getpid()}-{number}"
            what = choice.choice(known)
            call: dict[str, Any] = {"what": what, "id": table, "owner": owner}
            if what == "rename":
                call["new"] = [choice.choice(PARENTS), choice.choice(NAMES)]
            notes.write(json.dumps({**call, "at": time.monotonic(), "state": "called"}) + "\n")
            code = do(client, call)
            notes.write(
                json.dumps({**call, "at": time.monotonic(), "state": "done", "code": code}) + "\n"
            )


def _do(lake: Any, call: dict[str, Any]) -> int | None:
    request: dict[str, Any] = {"id": call["id"]}
    properties = {"owner": call["owner"]}
    try:
        match call["what"]:
            case "declare":
                lake.declare_table({**request, "properties": properties})
            case "create":
                rows = pa.table({"owner": [call["owner"]]})
                lake.create_table({**request, "properties": properties}, rows)
            case "drop":
                lake.drop_table(request)
            case "deregister":
                lake.deregister_table(request)
            case "rename":
                to = {"new_namespace_id": call["new"][:1], "new_table_name": call["new"][1]}
                lake.rename_table({**request, **to})
    except LanceNamespaceError as error:
        return int(error.code)
    return None


def _do_by_pylance(peer: Peer, call: dict[str, Any]) -> int:
    request: dict[str, Any] = {"id": call["id"]}
    with suppress(
        Exception
    ):  # pylance raises its own exceptions, and its responses are not checked
        match call["what"]:
            case "create":
                peer.create_table(call["id"], pa.table({"owner": [call["owner"]]}))
            case "drop":
                peer.namespace.drop_table(official.DropTableRequest(**request))
            case "deregister":
                peer.namespace.deregister_table(official.DeregisterTableRequest(**request))
    return UNKNOWN


def _history(logs: list[Path]) -> dict[tuple[str, ...], list[Event]]:
    """Return for each name the calls that may have changed it."""
    events: dict[tuple[str, ...], list[Event]] = defaultdict(list)
    for log in logs:
        pending: dict[str, Any] | None = None
        for line in log.read_text().splitlines():
            try:
                note = json.loads(line)
            except ValueError:
                continue  # the process was killed while it wrote
            if note["state"] == "called":
                if pending is not None:
                    _add(events, pending, None)
                pending = note
            else:
                assert pending is not None
                _add(events, pending, note)
                pending = None
        if pending is not None:
            _add(events, pending, None)
    return events


def _add(
    events: dict[tuple[str, ...], list[Event]], called: dict[str, Any], done: dict[str, Any] | None
) -> None:
    end = float("inf") if done is None else done["at"]
    code = None if done is None else done["code"]
    succeeded = None if done is None else code is None
    start, owner, old = called["at"], called["owner"], tuple(called["id"])
    if code in (14, UNKNOWN):  # another writer won the race for the first rows and owns the entry
        succeeded = None
    assert code in (None, 1, 4, 5, 14, UNKNOWN), (called, code)
    match called["what"]:
        case "declare" | "create":
            # A create can fill a declared table, and then does not create the name.
            known = succeeded if called["what"] == "declare" or not succeeded else None
            events[old].append(Event(start, end, "make", known, owner))
        case "rename":
            if succeeded is not False:
                events[old].append(Event(start, end, "remove", succeeded, owner))
                events[tuple(called["new"])].append(Event(start, end, "make", succeeded, owner))
        case _:
            events[old].append(Event(start, end, "remove", succeeded, owner))


def fits(events: list[Event], at_last: bool) -> bool:
    """Return whether there is an order of the calls on a name in which each response is correct."""
    events = sorted(events, key=lambda event: event.start)
    frontier = {(0, frozenset[int](), False)}
    seen = set(frontier)
    while frontier:
        index, done, there = frontier.pop()
        while index in done:
            done, index = done - {index}, index + 1
        if index == len(events):
            if there == at_last:
                return True
            continue
        limit = min(events[i].end for i in range(index, len(events)) if i not in done)
        for i in range(index, len(events)):
            if events[i].start > limit:
                break
            if i in done:
                continue
            event = events[i]
            for succeeded in (True, False) if event.succeeded is None else (event.succeeded,):
                if event.what == "make":
                    after = True if succeeded and not there else there if not succeeded else None
                    right = after is not None and (succeeded or there or event.succeeded is None)
                else:
                    after = False if succeeded and there else there if not succeeded else None
                    right = after is not None and (
                        succeeded or not there or event.succeeded is None
                    )
                if right and after is not None:
                    step = (index, done | {i}, after)
                    if step not in seen:
                        seen.add(step)
                        frontier.add(step)
    return False


def test_the_check_detects_inconsistent_histories() -> None:
    def event(start: float, end: float, what: str, succeeded: bool | None) -> Event:
        return Event(start, end, what, succeeded, "")

    make, again = event(0, 1, "make", True), event(2, 3, "make", True)
    assert fits([make], True)
    assert not fits([make], False)
    assert not fits([make, again], True)
    assert fits([make, event(1.5, 4, "remove", True), again], True)
    assert not fits([make, event(3.5, 4, "remove", True), again], True)
    assert fits([make, event(0.5, float("inf"), "remove", None)], True)
    assert fits([make, event(0.5, float("inf"), "remove", None)], False)
    assert not fits([make, event(2, 3, "make", False), event(1.2, 1.5, "remove", True)], False)


@pytest.mark.slow
@pytest.mark.parametrize("beside", [0, PROCESSES], ids=["alone", "beside pylance"])
def test_the_history_is_linearizable(tmp_path: Path, beside: int) -> None:
    root = tmp_path / "lake"
    with ours(root) as lake:
        for parent in PARENTS:
            lake.create_namespace({"id": [parent]})
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "lance_namespace_impls.tables.write"])
    logs = [tmp_path / f"log{worker}" for worker in range(PROCESSES + beside)]
    stop = tmp_path / "stop"

    def start(worker: int) -> Any:
        arguments = (str(root), worker, str(logs[worker]), worker >= PROCESSES, str(stop))
        process = context.Process(target=_work, args=arguments)
        process.start()
        return process

    running = [start(worker) for worker in range(PROCESSES + beside)]
    until = time.monotonic() + SECONDS
    kills = 0
    while time.monotonic() < until:
        time.sleep(1)
        victim = random.randrange(PROCESSES)  # pylance is not killed: its leftovers are not tested
        os.kill(running[victim].pid, signal.SIGKILL)
        running[victim].join(300)
        running[victim] = start(victim)
        kills += 1
    for process in running[:PROCESSES]:
        os.kill(process.pid, signal.SIGKILL)
        process.join(300)
    stop.touch()
    for process in running[PROCESSES:]:
        process.join(SECONDS_TO_END)
        assert process.exitcode == 0
    with ours(root) as lake:
        held = {(parent, name) for parent in PARENTS for name in lake.iter_tables([parent])}
        peer = Peer.at(root)
        assert held == {(parent, name) for parent in PARENTS for name in peer.tables([parent])}
        ready = 0
        for parent in PARENTS:
            for name in lake.iter_tables([parent], include_declared=False):
                table = lake.open_table([parent, name]).to_table()
                assert table.num_rows == 1
                ready += 1
    for row in manifest_rows(root).values():
        if row["object_type"] == "table":
            assert (root / row["location"]).is_dir(), row
    history = _history(logs)
    calls = sum(map(len, history.values()))
    for name in {*history, *held}:
        assert fits(history[name], name in held), (name, history[name][-20:])
    print(f"{calls} calls on {len(history)} names, {kills} kills, {len(held)} left, {ready} ready")
    assert calls > SECONDS and kills >= SECONDS / 3
