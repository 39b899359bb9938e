"""Many processes use one database, and some are killed: one order explains every answer."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_impls.sql import SqlNamespace

from .conftest import KINDS
from .history import GROUPS, TABLES, Call, has_an_order, read_log, work

SECONDS_TO_END = 300


@pytest.mark.parametrize(
    ("processes", "seconds"),
    [(4, 2), pytest.param(16, 60, marks=pytest.mark.slow)],
    ids=["short", "long"],
)
@pytest.mark.parametrize("properties", KINDS, indirect=True)
def test_one_order_explains_every_answer(
    properties: dict[str, str], tmp_path: Path, processes: int, seconds: int
) -> None:
    with SqlNamespace.from_properties({**properties, "managed": "true"}) as catalog:
        for table in range(TABLES):
            catalog.create_table({"id": [f"managed{table}"]}, pa.table({"row": [table]}))
        logs = run(properties, tmp_path, processes, seconds)
        by_group: dict[int, list[Call]] = defaultdict(list)
        commits = []
        for log in logs:
            calls, committed = read_log(log)
            commits += committed
            for call in calls:
                by_group[call.group].append(call)
        end = time.monotonic_ns()
        for group in range(GROUPS):
            for name in (0, 1):
                there = f"g{group}{'ab'[name]}" in catalog.list_tables({}).tables
                answer = 0 if there else 4
                by_group[group].append(Call(group, "exists", name, end, end + 1, answer))
        assert sum(map(len, by_group.values())) > 2 * GROUPS and commits
        for group, calls in by_group.items():
            assert has_an_order(calls), f"no order explains the answers about group {group}"
        for name in catalog.list_tables({"include_declared": False}).tables:
            filled = catalog.open_table([name]).to_table()
            assert name.startswith("managed") or filled.num_rows == 1
        for table in range(TABLES):
            rows = catalog.open_table([f"managed{table}"]).to_table()["row"].to_pylist()
            mine = [each for each in commits if each["group"] == table]
            acknowledged = [each for each in mine if each["answer"] == 0]
            assert len(rows) == len(set(rows)), "a commit counts twice"
            assert {each["row"] for each in acknowledged} <= set(rows), "a commit is lost"
            assert set(rows) <= {table} | {
                each["row"] for each in mine if each["answer"] in (0, None)
            }, "a refused commit counts"
            numbers = [each["version"] for each in acknowledged]
            assert len(numbers) == len(set(numbers)), "two won one version"
            found = catalog.list_table_versions({"id": [f"managed{table}"]}).versions
            assert [each.version for each in found] == list(range(1, len(rows) + 1))
        answers = {each["answer"] for each in commits}
        assert 0 in answers and answers <= {0, 14, None}
    calls = [call for calls in by_group.values() for call in calls]
    killed = sum(call.answer is None for call in calls) + sum(c["answer"] is None for c in commits)
    print(f"{len(calls)} calls on names, {len(commits)} commits, {killed} killed in a call")


def run(properties: dict[str, str], folder: Path, processes: int, seconds: int) -> list[Path]:
    """Let processes make calls for some time, and return their logs.

    Every half second, one process is killed, and some are suspended for a moment, as on a busy
    machine.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["lance", "tests.sql.history"])
    chance = random.Random(1)
    logs: list[Path] = []

    def start(left: float) -> multiprocessing.process.BaseProcess:
        log = folder / f"{len(logs)}.log"
        log.touch()
        logs.append(log)
        process = context.Process(target=work, args=(properties, len(logs), str(log), left))
        process.start()
        return process

    def suspend_processes() -> None:
        while time.monotonic() < until:
            time.sleep(moments.uniform(0, 0.03))
            number = running[moments.randrange(processes)].pid
            assert number is not None  # it was started
            with suppress(ProcessLookupError):  # it was killed
                os.kill(number, signal.SIGSTOP)
                time.sleep(moments.uniform(0, 0.15))
                os.kill(number, signal.SIGCONT)

    running = [start(seconds) for _ in range(processes)]
    until = time.monotonic() + seconds
    moments = random.Random(2)
    with ThreadPoolExecutor() as pool:
        still = pool.submit(suspend_processes)
        while (left := until - time.monotonic()) > 0.5:
            time.sleep(0.5)
            victim = chance.randrange(processes)
            running[victim].kill()
            running[victim].join()
            running[victim] = start(max(left - 0.5, 0.1))
        still.result()
    for process in running:
        process.join(SECONDS_TO_END)
        assert process.exitcode == 0
    return logs


def a_call(kind: str, begin: int, end: int, answer: int | None, name: int = 0) -> Call:
    return Call(0, kind, name, begin, end, answer)


@pytest.mark.parametrize(
    ("calls", "right"),
    [
        ([a_call("declare", 0, 1, 0), a_call("exists", 2, 3, 0)], True),
        ([a_call("declare", 0, 1, 0), a_call("exists", 2, 3, 4)], False),
        ([a_call("declare", 0, 5, 0), a_call("exists", 2, 3, 4)], True),
        ([a_call("declare", 0, 1, 0), a_call("declare", 0, 1, 0)], False),
        ([a_call("declare", 0, 9, None), a_call("exists", 2, 3, 0)], True),
        (
            [a_call("declare", 0, 1, 0), a_call("rename", 2, 3, 0), a_call("exists", 4, 5, 0, 1)],
            True,
        ),
        ([a_call("declare", 0, 1, 0), a_call("rename", 2, 3, 0), a_call("exists", 4, 5, 0)], False),
        ([a_call("create", 0, 1, 0), a_call("create", 2, 3, 0)], False),
        ([a_call("declare", 0, 1, 0), a_call("create", 2, 3, 0)], True),
        ([a_call("create", 0, 1, 0), a_call("drop", 2, 3, 0), a_call("exists", 4, 5, 0)], False),
        ([a_call("drop", 0, 1, 0)], False),
        # A create adds the table, and fills it later.
        ([a_call("create", 0, 9, 14), a_call("exists", 2, 3, 0), a_call("drop", 4, 5, 0)], True),
        ([a_call("create", 0, 9, 14), *[a_call("drop", at, at + 1, 0) for at in (2, 4, 6)]], False),
        ([a_call("create", 0, 9, 14), a_call("exists", 10, 11, 0)], True),
        # If it fails, it withdraws its own table, and no other.
        (
            [a_call("create", 0, 9, 14), a_call("exists", 2, 3, 0), a_call("exists", 10, 11, 4)],
            True,
        ),
        (
            [a_call("declare", 0, 1, 0), a_call("create", 2, 9, 14), a_call("exists", 10, 11, 4)],
            False,
        ),
        ([a_call("create", 0, 9, 5), a_call("exists", 1, 2, 0), a_call("create", 3, 4, 0)], True),
        # It is rejected although the table was never filled and was deregistered concurrently.
        (
            [a_call("declare", 0, 1, 0), a_call("deregister", 2, 5, 0), a_call("create", 3, 4, 5)],
            False,
        ),
        # Another create filled the table, which was then deregistered.
        (
            [
                a_call("declare", 0, 1, 0),
                a_call("create", 2, 19, 0),
                a_call("create", 3, 4, 0),
                a_call("deregister", 5, 6, 0),
                a_call("exists", 20, 21, 4),
            ],
            False,
        ),
    ],
)
def test_the_check_finds_impossible_answers(calls: list[Call], right: bool) -> None:
    assert has_an_order(calls) is right
