"""Supervises several processes that serve one namespace on one port.

The parent process owns the listening sockets, so they remain open if a worker exits. On Linux,
there is one socket per worker, and the system distributes connections among the sockets; on other
systems, the workers share one socket. While a worker restarts, the other workers accept connections
on its socket. If all workers restart, connections wait but are not refused. Workers are spawned,
not forked, because neither Lance nor the threads of a client survive a fork.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import attrs
from prometheus_client.multiprocess import mark_process_dead

from lance_namespace_client.errors import InvalidInputError, ServiceUnavailableError
from lance_namespace_client.namespace import LanceNamespace

from ...catalog.namespace import Namespace
from ...core.errors import first_line
from ..execution.limits import LANCE_THREADS, cores
from ..observability.metrics import MULTIPROCESS_FOLDER
from ..options import ServerOptions

__all__ = ["Job", "Listeners", "Supervisor", "check_workers"]

logger = logging.getLogger("lance_namespace_impls.server")

START_SECONDS = 120.0
# Number of seconds that workers have after the time limit of active requests; then they are killed.
STOP_SECONDS = 15.0
LOOK_SECONDS = 0.5
# Pauses, in seconds, before restarting a worker that exited soon after its start.
SOON_SECONDS, PAUSES = 5.0, (0.0, 1.0, 2.0, 5.0, 10.0)

_STOPS = (signal.SIGINT, signal.SIGTERM)


@attrs.frozen
class Listeners:
    """The listening sockets of all workers, as passed to one of them."""

    sockets: Sequence[socket.socket]
    """The sockets, by index of the worker."""
    own: int
    """Index of the worker."""
    orphans: Connection
    """Receives the set of workers that are not serving; this worker must also accept connections on
    their sockets.
    """


Run = Callable[[LanceNamespace, ServerOptions, Listeners, Callable[[], None]], None]


@attrs.frozen
class Job:
    """The task of a worker; the task is pickled and sent to the worker process."""

    namespace: LanceNamespace
    options: ServerOptions
    run: Run
    """Serves the namespace, and calls the last argument once the worker is serving."""
    on_start: Callable[[], None] | None = None
    """Called first, to set up per-process state such as logging."""


def check_workers(job: Job, workers: int) -> None:
    """Reject a configuration that several processes cannot serve.

    Raises:
        InvalidInputError: code 13, the number of workers is less than one, or the namespace or an
            option cannot be pickled.
    """
    if workers < 1:
        raise InvalidInputError(f"there must be at least one worker, not {workers}")
    namespace = job.namespace
    if isinstance(namespace, Namespace) and namespace.in_process:
        raise InvalidInputError(
            f"a namespace with impl={namespace.config.impl} exists only in one process; omit "
            "--workers"
        )
    try:
        copy: Job = pickle.loads(pickle.dumps(job))
        if isinstance(copy.namespace, Namespace):
            copy.namespace.close()
    except Exception as error:
        raise InvalidInputError(
            f"the namespace or an option cannot be sent to other processes: {first_line(error)}"
        ) from error


@attrs.define(eq=False)
class _Worker:
    process: BaseProcess
    slot: int
    """Index of the worker's listening socket; a worker's replacement has the same index."""
    orphans: Connection
    """Sends the set of slots that have no serving worker."""
    ready: Connection
    """Receives a message once the worker is serving."""
    life: Connection
    """Closed when this process exits for any reason; the worker then exits as well."""
    started: float = attrs.field(factory=time.monotonic)
    is_ready: bool = False
    adopted: frozenset[int] = frozenset()
    """The last set of slots that was sent."""

    def begins(self) -> bool:
        """Return whether the worker has started serving since the last call."""
        with contextlib.suppress(EOFError, OSError):
            if not self.is_ready and self.ready.poll():
                self.is_ready = bool(self.ready.recv())
                return self.is_ready
        return False

    def adopt(self, slots: frozenset[int]) -> None:
        """Make the worker also accept connections on the specified slots' sockets, but on no
        others.
        """
        if slots != self.adopted:
            self.adopted = slots
            with contextlib.suppress(OSError):  # the worker has exited
                self.orphans.send(slots)

    def close(self) -> None:
        self.orphans.close()
        self.ready.close()
        self.life.close()
        self.process.close()


class Supervisor:
    """Keeps workers running until stopped.

    Args:
        job: the task of each worker.
        listeners: the listening socket of each worker; several workers may share one.
    """

    def __init__(self, job: Job, listeners: Sequence[socket.socket]) -> None:
        self._job = job
        self._listeners = listeners
        self._count = len(listeners)
        self._workers: list[_Worker] = []
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._replace = False
        self._deaths = 0
        self._not_before = 0.0

    def run(self, on_started: Callable[[], None]) -> None:
        """Run the workers; SIGINT and SIGTERM stop them, SIGHUP replaces them one after the other.

        Args:
            on_started: called once all workers are serving.

        Raises:
            ServiceUnavailableError: code 17, the workers do not start.
        """
        with self._environment(), self._signals():
            try:
                self._start_all()
                if not self._stop:
                    on_started()
                while not self._stop:
                    self._wait()
                    self._restart_dead()
                    if self._replace:
                        self._replace = False
                        self._replace_all()
            finally:
                self._stop_workers(self._workers)

    @contextlib.contextmanager
    def _environment(self) -> Iterator[None]:
        """Set the workers' environment: the shared metrics folder and the number of threads."""
        with TemporaryDirectory(prefix="lance-ns-metrics-") as folder:
            given = {MULTIPROCESS_FOLDER: folder}
            if LANCE_THREADS not in os.environ:
                given[LANCE_THREADS] = str(max(1, cores() // self._count))
            before = {name: os.environ.get(name) for name in given}
            os.environ.update(given)
            try:
                yield
            finally:
                for name, value in before.items():
                    if value is None:
                        del os.environ[name]
                    else:
                        os.environ[name] = value

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        def note(number: int, frame: FrameType | None) -> None:
            if number in _STOPS:
                self._stop = True
            else:
                self._replace = True

        numbers = (*_STOPS, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
        before = {number: signal.signal(number, note) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start(self, slot: int) -> _Worker:
        received, orphans = self._context.Pipe(duplex=False)
        ready, tell = self._context.Pipe(duplex=False)
        watch, life = self._context.Pipe(duplex=False)
        listeners = Listeners(self._listeners, slot, received)
        process = self._context.Process(
            target=_work,
            args=(self._job, listeners, tell, watch),
            name="lance-ns-worker",
        )
        with _interrupts_blocked():
            process.start()
        received.close()
        tell.close()
        watch.close()
        return _Worker(process, slot, orphans, ready, life)

    def _start_all(self) -> None:
        self._workers = [self._start(slot) for slot in range(self._count)]
        deadline = time.monotonic() + START_SECONDS
        while not self._stop and not all(worker.is_ready for worker in self._workers):
            wait([worker.ready for worker in self._workers if not worker.is_ready], LOOK_SECONDS)
            for worker in self._workers:
                self._look(worker)
                if not worker.is_ready and not worker.process.is_alive():
                    raise ServiceUnavailableError(
                        "a worker did not start; see its output for the reason"
                    )
            if time.monotonic() > deadline:
                raise ServiceUnavailableError(
                    f"the workers were not ready after {START_SECONDS:g} seconds"
                )

    def _wait(self) -> None:
        """Wait briefly for a worker to exit, because signals do not interrupt the wait."""
        signs: list[Any] = [worker.process.sentinel for worker in self._workers]
        signs += [worker.ready for worker in self._workers if not worker.is_ready]
        if signs:
            wait(signs, LOOK_SECONDS)
        else:
            time.sleep(LOOK_SECONDS)
        for worker in self._workers:
            self._look(worker)

    def _look(self, worker: _Worker) -> None:
        """Record whether a worker has started serving."""
        if worker.begins():
            self._share_out()

    def _share_out(self) -> None:
        """Distribute the connections of workers that are not serving among the workers that are."""
        serving = [each for each in self._workers if each.is_ready and each.process.is_alive()]
        served = {self._listeners[worker.slot] for worker in serving}
        orphans = frozenset(
            slot for slot, listener in enumerate(self._listeners) if listener not in served
        )
        for worker in serving:
            worker.adopt(orphans)

    def _restart_dead(self) -> None:
        if self._stop:
            return
        for worker in [each for each in self._workers if not each.process.is_alive()]:
            logger.error(
                "worker %s exited with status %s; starting another",
                worker.process.pid,
                worker.process.exitcode,
            )
            soon = time.monotonic() - worker.started < SOON_SECONDS
            self._deaths = self._deaths + 1 if soon else 0
            pause = PAUSES[min(self._deaths, len(PAUSES) - 1)]
            self._not_before = time.monotonic() + pause
            self._forget(worker)
            self._share_out()
        missing = set(range(self._count)).difference(worker.slot for worker in self._workers)
        if time.monotonic() >= self._not_before:
            self._workers += [self._start(slot) for slot in sorted(missing)]

    def _replace_all(self) -> None:
        """Start a replacement for each worker, and stop the old worker once the new one is serving."""
        for old in list(self._workers):
            new = self._start(old.slot)
            deadline = time.monotonic() + START_SECONDS
            while not new.is_ready and new.process.is_alive() and time.monotonic() < deadline:
                wait([new.ready, new.process.sentinel], LOOK_SECONDS)
                self._look(new)
                self._share_out()
                if self._stop:
                    break
            if not new.is_ready:
                if not self._stop:
                    logger.error("a new worker did not start; the existing workers continue")
                self._stop_workers([new])
                return
            self._workers.append(new)
            self._stop_workers([old])

    def _stop_workers(self, workers: list[_Worker]) -> None:
        """Let workers finish their active requests; kill those that do not exit in time."""
        workers = list(workers)
        for worker in workers:
            worker.process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for worker in workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                logger.error("worker %s did not stop in time and was killed", worker.process.pid)
                worker.process.kill()
                worker.process.join()
            self._forget(worker)

    def _forget(self, worker: _Worker) -> None:
        mark_process_dead(worker.process.pid)  # type: ignore[no-untyped-call]
        worker.close()
        if worker in self._workers:
            self._workers.remove(worker)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that Ctrl-C does not interrupt; the parent process stops them in order."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(job: Job, listeners: Listeners, ready: Connection, life: Connection) -> None:
    """Run the server in a worker process, which exits when its parent exits."""
    threading.Thread(target=_end_with, args=(life,), name="lance-ns-life", daemon=True).start()
    if job.on_start is not None:
        job.on_start()
    with contextlib.suppress(KeyboardInterrupt):
        job.run(job.namespace, job.options, listeners, lambda: ready.send(True))
    sys.stdout.flush()


def _end_with(life: Connection) -> Any:
    with contextlib.suppress(EOFError, OSError):
        life.recv()
    os.kill(os.getpid(), signal.SIGTERM)
