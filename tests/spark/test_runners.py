"""Run tasks in threads of this process."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from lance_namespace_impls.distributed.runners import ThreadRunner


def test_results_are_in_the_order_of_the_tasks_and_all_rows_are_reported() -> None:
    told: list[tuple[int, int]] = []

    def work(task: str, count: Any) -> str:
        count(len(task))
        return task.upper()

    answers = ThreadRunner(cores=2).run("j", ["a", "bb", "ccc"], work, lambda *at: told.append(at))
    assert answers == ["A", "BB", "CCC"]
    assert told[-1] == (3, 6)


@pytest.mark.parametrize("failing", ["a task", "the report"])
def test_a_failure_stops_running_tasks(failing: str) -> None:
    started, ended = threading.Event(), []

    def work(task: str, count: Any) -> str:
        if task == "fails":
            started.wait(300)
            raise ValueError("no")
        started.set()
        until = time.monotonic() + 300
        try:
            while time.monotonic() < until:
                count(1)
                time.sleep(0.001)
        except InterruptedError as error:
            ended.append(str(error))
            raise
        return task

    def report(done: int, rows: int) -> None:
        if failing == "the report":
            raise KeyboardInterrupt

    tasks = ["goes on", "fails"] if failing == "a task" else ["goes on"]
    with pytest.raises((ValueError, KeyboardInterrupt)):
        ThreadRunner(cores=2).run("the import", tasks, work, report)
    assert ended == ["the import was stopped"]
