"""The supervisor handles workers that do not start, exit early, or do not stop."""

from __future__ import annotations

import multiprocessing
import os
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from lance_namespace_client.errors import ServiceUnavailableError
from lance_namespace_impls.server import ServerOptions
from lance_namespace_impls.server.execution.limits import cores
from lance_namespace_impls.server.workers import supervisor
from lance_namespace_impls.server.workers.supervisor import Job, Supervisor
from tests.servers.echo import EchoNamespace


class Process:
    """Replaces the process of a worker."""

    def __init__(self, pid: int, events: list[str]) -> None:
        self.pid = pid
        self.exitcode: int | None = None
        self.ends_when_told = True
        self._events = events
        self.sentinel, self.other_end = multiprocessing.Pipe(duplex=False)

    def is_alive(self) -> bool:
        return self.exitcode is None

    def end(self, status: int) -> None:
        if self.exitcode is None:
            self.exitcode = status
            self.other_end.close()

    def terminate(self) -> None:
        self._events.append(f"terminate {self.pid}")
        if self.ends_when_told:
            self.end(0)

    def kill(self) -> None:
        self._events.append(f"kill {self.pid}")
        self.end(-9)

    def join(self, seconds: float | None = None) -> None:
        """Return immediately: a fake process has either exited already or never exits."""

    def close(self) -> None:
        self.end(0)
        self.sentinel.close()
        self._events.append(f"close {self.pid}")


class Workers(Supervisor):
    """A supervisor with fake workers; `starts` determines how each of them starts."""

    made: ClassVar[list[Any]] = []
    """Pipes and sockets to close after the test."""

    def __init__(self, count: int, *starts: str) -> None:
        listeners = [socket.socket() for _ in range(count)]
        super().__init__(Job(EchoNamespace(), ServerOptions(), print), listeners)  # type: ignore[arg-type]
        self.made += listeners
        self.events: list[str] = []
        self.starts = list(starts)
        self.started = 0

    def _start(self, slot: int) -> Any:
        self.started += 1
        process: Any = Process(self.started, self.events)
        ready, tell = self._context.Pipe(duplex=False)
        watch, life = self._context.Pipe(duplex=False)
        self.made += [ready, tell, watch, life, process.sentinel, process.other_end]
        received, orphans = self._context.Pipe(duplex=False)
        self.made += [received, orphans]
        made = supervisor._Worker(process, slot, orphans, ready, life)
        made.started = supervisor.time.monotonic()
        how = self.starts.pop(0) if self.starts else "ready"
        if how == "ready":
            tell.send(True)
        elif how == "dead":
            tell.close()
            process.end(3)
        elif how == "stuck":
            process.ends_when_told = False
        return made

    @property
    def pids(self) -> list[int | None]:
        return [each.process.pid for each in self._workers]

    @property
    def adopted(self) -> dict[int | None, set[int]]:
        """The additional slots from which each worker accepts connections."""
        return {each.process.pid: set(each.adopted) for each in self._workers}


@pytest.fixture(autouse=True)
def gone(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Return a list that collects the ids of workers whose metrics are marked as dead."""
    found: list[int] = []
    monkeypatch.setattr(supervisor, "mark_process_dead", found.append)
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.01)
    yield found
    while Workers.made:
        Workers.made.pop().close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    time = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda _: None)
    monkeypatch.setattr(supervisor, "time", time)
    return now


def test_each_worker_accepts_from_its_own_slot() -> None:
    made = Workers(3)
    made._start_all()
    assert all(each.is_ready for each in made._workers)
    assert [each.slot for each in made._workers] == [0, 1, 2]
    assert made.adopted == {1: set(), 2: set(), 3: set()}


def test_other_workers_accept_for_a_worker_that_exited(clock: list[float]) -> None:
    made = Workers(3)
    made._start_all()
    made.starts = ["slow"]
    made._workers[1].process.end(3)  # type: ignore[attr-defined]
    made._restart_dead()
    assert made.adopted == {1: {1}, 3: {1}}
    clock[0] += 60.0
    made._restart_dead()
    assert made.adopted == {1: {1}, 3: {1}, 4: set()}, "its replacement is not ready"
    made._workers[2].is_ready = True
    made._share_out()
    assert made.adopted == {1: set(), 3: set(), 4: set()}


def test_workers_that_share_a_socket_adopt_no_slots() -> None:
    made = Workers(2)
    made._listeners = [made._listeners[0]] * 2
    made._start_all()
    made._workers[0].process.end(3)  # type: ignore[attr-defined]
    made._share_out()
    assert made.adopted == {1: set(), 2: set()}


def test_a_worker_that_does_not_start_is_code_17() -> None:
    with pytest.raises(ServiceUnavailableError, match="a worker did not start"):
        Workers(2, "ready", "dead")._start_all()


def test_workers_that_are_not_ready_in_time_are_code_17(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "START_SECONDS", 0.05)
    with pytest.raises(ServiceUnavailableError, match=r"were not ready after 0\.05 seconds"):
        Workers(2, "ready", "slow")._start_all()


def test_a_stop_during_the_start_is_handled() -> None:
    made = Workers(1, "slow")
    made._stop = True
    made._start_all()
    assert not any(each.is_ready for each in made._workers)


def test_restarts_of_a_worker_have_increasing_delays(
    clock: list[float], gone: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    made = Workers(1)
    made._start_all()
    for pause in (1.0, 2.0, 5.0, 10.0, 10.0):
        made._workers[0].process.end(3)  # type: ignore[attr-defined]
        number = made.started
        made._restart_dead()
        assert made.pids == [] and gone[-1] == number
        clock[0] += pause - 0.1
        made._restart_dead()
        assert made.pids == [], pause
        clock[0] += 0.1
        made._restart_dead()
        assert made.pids == [number + 1], pause
    assert "worker 1 exited with status 3; starting another" in caplog.text
    assert made.events[0] == "close 1"
    clock[0] += 6.0
    made._workers[0].process.end(3)  # type: ignore[attr-defined]
    made._restart_dead()
    assert made.pids == [7], "it had run for a while"


def test_workers_are_not_restarted_during_shutdown(clock: list[float]) -> None:
    made = Workers(1)
    made._start_all()
    made._workers[0].process.end(0)  # type: ignore[attr-defined]
    made._stop = True
    clock[0] += 60.0
    made._restart_dead()
    assert made.started == 1


def test_each_worker_is_replaced_after_its_successor_is_ready() -> None:
    made = Workers(2)
    made._start_all()
    made.events.clear()
    made._replace_all()
    assert made.pids == [3, 4]
    assert made.events == [
        "terminate 1", "close 1", "terminate 2", "close 2",
    ]  # fmt: skip
    assert [each.slot for each in made._workers] == [0, 1]


def test_workers_continue_if_their_successors_do_not_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for how in ("dead", "slow"):
        made = Workers(2)
        made._start_all()
        made.starts = [how]
        with monkeypatch.context() as patch:
            patch.setattr(supervisor, "START_SECONDS", 0.05)
            made._replace_all()
        assert (made.pids, made.started) == ([1, 2], 3), how
        assert made.events[-1] == "close 3"
    assert caplog.text.count("a new worker did not start; the existing workers continue") == 2


def test_a_worker_that_does_not_stop_is_killed(
    gone: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = Workers(2, "ready", "stuck")
    made._workers = [made._start(0), made._start(1)]
    made._stop_workers(made._workers)
    assert made.events == [
        "terminate 1", "terminate 2", "close 1", "kill 2", "close 2",
    ]  # fmt: skip
    assert (made.pids, gone) == ([], [1, 2])
    assert "worker 2 did not stop in time and was killed" in caplog.text


@pytest.mark.parametrize("given", [None, "7"])
def test_the_environment_is_restored(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(supervisor.MULTIPROCESS_FOLDER, raising=False)
    monkeypatch.delenv(supervisor.LANCE_THREADS, raising=False)
    monkeypatch.setattr(supervisor, "cores", lambda: 8)
    if given is not None:
        monkeypatch.setenv(supervisor.LANCE_THREADS, given)
    with Workers(3)._environment():
        assert os.path.isdir(os.environ[supervisor.MULTIPROCESS_FOLDER])
        assert os.environ[supervisor.LANCE_THREADS] == (given or "2")
    assert supervisor.MULTIPROCESS_FOLDER not in os.environ
    assert os.environ.get(supervisor.LANCE_THREADS) == given
    monkeypatch.delenv(supervisor.LANCE_THREADS, raising=False)
    with Workers(9)._environment():
        assert os.environ[supervisor.LANCE_THREADS] == "1"


@pytest.mark.parametrize(
    ("share", "found"),
    [(None, 5), ("", 5), ("3", 3), ("1", 1), ("0", 1), ("x", 5), ("-1", 5), ("²", 5), ("٣", 5)],
)
def test_the_number_of_cores_of_a_process(
    monkeypatch: pytest.MonkeyPatch, share: str | None, found: int
) -> None:
    monkeypatch.delenv("TOKIO_WORKER_THREADS", raising=False)
    if share is not None:
        monkeypatch.setenv("TOKIO_WORKER_THREADS", share)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0: set(range(5))}[process])
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert cores() == found


@pytest.mark.parametrize(("count", "found"), [(7, 7), (None, 1)])
def test_cores_without_sched_getaffinity(
    monkeypatch: pytest.MonkeyPatch, count: int | None, found: int
) -> None:
    monkeypatch.delenv("TOKIO_WORKER_THREADS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    assert cores() == found
