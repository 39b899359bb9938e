"""Dispatcher of connections: each is passed to the worker with the fewest.

Workers that accept connections from a shared socket get them by chance: of four clients, all may
connect to one worker while the others are idle.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Coroutine, MutableSequence
from multiprocessing.connection import wait
from typing import Any

import attrs

__all__ = ["Dispatcher", "Intake", "Lane"]

logger = logging.getLogger("lance_namespace_impls.server")

# Indices of a worker's counters: connections accepted, and connections ended.
_TAKEN, _ENDED = 0, 1
COUNTS = 2
# A worker that has accepted none of its connections for this time gets more only if all have
# stalled.
STALLED_SECONDS = 0.1
MOST_AT_ONCE = 64
# Errors of the system if too many connections are in transit.
_NO_ROOM = (errno.ETOOMANYREFS, errno.ENOBUFS, errno.ENOMEM)
PAUSE_SECONDS, FAILED_SECONDS = 0.001, 1.0


class Intake:
    """Source of a worker's connections, passed to its process.

    Args:
        source: socket that the connections arrive on.
        counts: `COUNTS` zeros, in memory shared by both processes.
    """

    def __init__(self, source: socket.socket, counts: MutableSequence[int]) -> None:
        self._source = source
        self._counts = counts

    def start(self, serve: Callable[[socket.socket], Coroutine[Any, Any, object]]) -> None:
        """Start accepting connections on the running event loop.

        Args:
            serve: serves the connection of a socket; if it fails, there is no connection.
        """
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._begun: set[asyncio.Task[None]] = set()
        self._loop.add_reader(self._source, self._take)

    def stop(self) -> None:
        """Stop accepting connections."""
        self._loop.remove_reader(self._source)

    def ended(self) -> None:
        """Record the end of a connection."""
        self._counts[_ENDED] += 1

    def _take(self) -> None:
        while True:
            try:
                message, handles, _, _ = socket.recv_fds(self._source, 1, 1)
            except (BlockingIOError, InterruptedError):
                return
            if not message:  # the sender is closed
                self.stop()
                return
            self._counts[_TAKEN] += 1
            if not handles:
                logger.error("a connection was dropped: this process has too many open files")
                self.ended()
                continue
            os.set_inheritable(handles[0], False)
            task = self._loop.create_task(self._begin(socket.socket(fileno=handles[0])))
            self._begun.add(task)
            task.add_done_callback(self._begun.discard)

    async def _begin(self, connection: socket.socket) -> None:
        try:
            connection.setblocking(False)
            await self._serve(connection)
        except OSError as error:  # it was closed, or its TLS handshake failed
            self.ended()
            logger.debug("a connection was dropped: %s", error)


@attrs.define(eq=False)
class Lane:
    """Path of connections to one worker.

    Args:
        counts: `COUNTS` zeros, in memory shared by both processes.
    """

    counts: MutableSequence[int]
    _ends: tuple[socket.socket, socket.socket] = attrs.field(factory=socket.socketpair, init=False)
    _given: int = attrs.field(default=0, init=False)
    _taken: int = attrs.field(default=0, init=False)
    _since: float = attrs.field(factory=time.monotonic, init=False)
    """When the worker was last seen accepting a connection, or with none waiting."""

    def __attrs_post_init__(self) -> None:
        for end in self._ends:
            end.setblocking(False)

    @property
    def intake(self) -> Intake:
        """The worker's end."""
        return Intake(self._ends[1], self.counts)

    @property
    def connections(self) -> int:
        """Number of the worker's connections."""
        return self._given - self.counts[_ENDED]

    def is_stalled(self) -> bool:
        """Return whether the worker does not accept its waiting connections."""
        taken, now = self.counts[_TAKEN], time.monotonic()
        if taken != self._taken or taken == self._given:
            self._taken, self._since = taken, now
        return now - self._since > STALLED_SECONDS

    def give(self, connection: socket.socket) -> bool:
        """Pass a connection to the worker; return whether there was room for it."""
        try:
            socket.send_fds(self._ends[0], [b"\0"], [connection.fileno()])
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            return False
        self._given += 1
        return True

    def close(self) -> list[socket.socket]:
        """Return the connections that the worker has not accepted."""
        left = []
        with contextlib.suppress(BlockingIOError):
            while handles := socket.recv_fds(self._ends[1], 1, 1)[1]:
                left.append(socket.socket(fileno=handles[0]))
        for end in self._ends:
            end.close()
        return left


class Dispatcher:
    """Accepts connections from a socket in a thread and passes each to the worker with the fewest.

    While there is no worker, connections wait in the socket's own queue, and already accepted ones
    wait here.

    Args:
        listener: the socket.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._lanes: list[Lane] = []
        self._waiting: list[socket.socket] = []
        """Connections of ended workers, while there is no other worker."""
        self._changed = threading.Condition()
        """Held while a connection is passed on, so that none is sent to a closed lane."""
        self._wake, self._woken = socket.socketpair()
        self._is_stopped = False
        listener.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="lance-ns-accept", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it accepts connections."""
        return self._thread.is_alive()

    def add(self, lane: Lane) -> None:
        """Add a worker that receives connections."""
        with self._changed:
            self._lanes.append(lane)
            waiting, self._waiting = self._waiting, []
            for connection in waiting:
                self._hand_over(connection)
            self._changed.notify()

    def remove(self, lane: Lane) -> None:
        """Remove a worker; other workers receive the connections that it has not accepted."""
        with self._changed:
            if lane in self._lanes:
                self._lanes.remove(lane)
            for connection in lane.close():
                self._hand_over(connection)

    def close(self) -> None:
        """Stop accepting connections."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        self._wake.send(b"\0")
        self._thread.join()
        for connection in self._waiting:
            connection.close()
        self._wake.close()
        self._woken.close()

    def _run(self) -> None:
        while True:
            wait([self._listener, self._woken])
            with self._changed:
                while not self._lanes and not self._is_stopped:
                    self._changed.wait()
                if self._is_stopped:
                    return
                self._take_some()

    def _take_some(self) -> None:
        """Accept some connections, then release the lock for other threads."""
        for _ in range(MOST_AT_ONCE):
            if not self._lanes:
                return
            try:
                connection = self._listener.accept()[0]
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.error("cannot accept connections: %s", error)
                self._changed.wait(FAILED_SECONDS)
                return
            self._hand_over(connection)

    def _hand_over(self, connection: socket.socket) -> None:
        """Pass a connection to a worker and close it here; without a worker, keep it waiting."""
        while not self._is_stopped:
            if not self._lanes:
                self._waiting.append(connection)
                return
            lanes = sorted(self._lanes, key=lambda lane: (lane.is_stalled(), lane.connections))
            if any(lane.give(connection) for lane in lanes):
                break
            self._changed.wait(PAUSE_SECONDS)
        connection.close()
