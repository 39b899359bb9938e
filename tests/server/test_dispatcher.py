"""Connections go to the worker that has the fewest."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from lance_namespace_impls.server.workers import dispatcher as accepting
from lance_namespace_impls.server.workers.dispatcher import COUNTS, Dispatcher, Lane

PATIENCE = 60.0


class Worker:
    """Takes connections, in this process."""

    def __init__(self):
        self.lane = Lane([0] * COUNTS)
        self.intake = self.lane.intake
        self.connections = []

    def start(self, serve=None):
        self.intake.start(serve or self.serve)

    async def serve(self, connection):
        assert not connection.getblocking() and not connection.get_inheritable()
        self.connections.append(connection)

    def end(self, count):
        for _ in range(count):
            self.connections.pop().close()
            self.intake.ended()


async def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.002)


@contextlib.contextmanager
def dispatching(clients):
    """Yield a dispatcher, and what connects so many clients to it."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        dispatcher = Dispatcher(listener)

        def connect(count):
            for _ in range(count):
                clients.append(socket.create_connection(listener.getsockname(), timeout=PATIENCE))

        try:
            yield dispatcher, connect
        finally:
            closing = threading.Thread(target=dispatcher.close, daemon=True)
            closing.start()
            closing.join(PATIENCE)
            assert not closing.is_alive(), "it never stopped"


@pytest.fixture
def clients():
    found = []
    yield found
    for client in found:
        client.close()


def test_each_goes_to_the_one_with_the_fewest(clients):
    first, second = workers = [Worker(), Worker()]

    async def scenario():
        with dispatching(clients) as (dispatcher, connect):
            for worker in workers:
                worker.start()
                dispatcher.add(worker.lane)
            for count in range(1, 9):
                connect(1)
                await until(lambda: sum(len(w.connections) for w in workers) == count)  # noqa: B023
            assert [len(worker.connections) for worker in workers] == [4, 4]
            first.end(3)
            connect(3)
            await until(lambda: len(first.connections) == 4)
            assert len(second.connections) == 4
            for worker in workers:
                dispatcher.remove(worker.lane)
                worker.end(4)

    asyncio.run(scenario())


def test_who_takes_none_gets_no_more_and_others_take_what_was_its(clients):
    stalled, busy = Worker(), Worker()

    async def scenario():
        with dispatching(clients) as (dispatcher, connect):
            busy.start()
            dispatcher.add(stalled.lane)
            connect(1)
            await until(lambda: stalled.lane.connections == 1)
            dispatcher.add(busy.lane)
            await until(stalled.lane.is_stalled)
            connect(20)
            await until(lambda: len(busy.connections) == 20)
            dispatcher.remove(stalled.lane)
            await until(lambda: len(busy.connections) == 21)
            dispatcher.remove(busy.lane)
            busy.end(21)

    asyncio.run(scenario())


def test_connections_wait_for_the_first_worker(clients):
    worker = Worker()

    async def scenario():
        with dispatching(clients) as (dispatcher, connect):
            connect(5)
            worker.start()
            dispatcher.add(worker.lane)
            await until(lambda: len(worker.connections) == 5)
            dispatcher.remove(worker.lane)
            worker.end(5)

    asyncio.run(scenario())


def test_what_workers_left_that_all_ended_waits_for_the_next(clients):
    gone, other, following = Worker(), Worker(), Worker()

    async def scenario():
        with dispatching(clients) as (dispatcher, connect):
            for worker in (gone, other):
                dispatcher.add(worker.lane)
            connect(3)
            await until(lambda: gone.lane.connections + other.lane.connections == 3)
            for worker in (gone, other):
                dispatcher.remove(worker.lane)
            following.start()
            dispatcher.add(following.lane)
            await until(lambda: len(following.connections) == 3)
            following.connections[0].sendall(b"x")
        following.end(3)

    asyncio.run(scenario())
    assert sorted(client.recv(1) for client in clients) == [b"", b"", b"x"]


def test_one_that_comes_to_nothing_does_not_count(clients):
    worker = Worker()

    async def fails(connection):
        connection.close()
        raise ConnectionResetError("gone")

    async def scenario():
        with dispatching(clients) as (dispatcher, connect):
            worker.start(fails)
            dispatcher.add(worker.lane)
            connect(3)
            await until(lambda: list(worker.lane.counts) == [3, 3])
            assert worker.lane.connections == 0
            dispatcher.remove(worker.lane)

    asyncio.run(scenario())


def test_a_lane_without_room_is_waited_for(clients, monkeypatch):
    """Between two processes there is room for some hundred, here for few."""
    worker = Worker()
    monkeypatch.setattr(accepting, "PAUSE_SECONDS", 0.0001)

    async def scenario():
        with dispatching(clients) as (dispatcher, connect):
            for end in worker.lane._ends:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
            dispatcher.add(worker.lane)
            connect(50)
            worker.start()
            await until(lambda: len(worker.connections) == 50)
            dispatcher.remove(worker.lane)
            worker.end(50)

    asyncio.run(scenario())


@pytest.fixture
def lane():
    made = Worker()
    yield made.lane
    made.lane.close()


def test_who_takes_nothing_for_a_tenth_of_a_second_is_stalled(lane, monkeypatch):
    now = 100.0
    clock = SimpleNamespace(**vars(time) | {"monotonic": lambda: now})
    monkeypatch.setattr(accepting, "time", clock)
    for _ in range(3):
        assert not lane.is_stalled()
        now += 10.0  # nothing was given
    assert not lane.is_stalled()
    with socket.socket() as connection:
        assert lane.give(connection) and lane.give(connection)
    for seconds, stalled in ((0.09, False), (0.02, True), (1.0, True)):
        now += seconds
        assert lane.is_stalled() is stalled
    lane.counts[0] = 1  # it takes one of the two
    for seconds, stalled in ((0.0, False), (0.09, False), (0.02, True)):
        now += seconds
        assert lane.is_stalled() is stalled
    lane.counts[0] = 2
    now += 10.0
    assert not lane.is_stalled()


@pytest.mark.parametrize(
    ("error", "is_raised"),
    [
        (BlockingIOError(errno.EAGAIN, "no room"), False),
        (InterruptedError(errno.EINTR, "a signal"), False),
        (OSError(errno.ETOOMANYREFS, "too many"), False),
        (OSError(errno.ENOBUFS, "no room"), False),
        (OSError(errno.ENOMEM, "no room"), False),
        (OSError(errno.EPIPE, "the other end is closed"), True),
    ],
)
def test_no_room_is_told_from_a_failure(lane, monkeypatch, error, is_raised):
    def fail(*_):
        raise error

    monkeypatch.setattr(socket, "send_fds", fail)
    with (
        socket.socket() as connection,
        pytest.raises(OSError, match="closed") if is_raised else contextlib.nullcontext(),
    ):
        assert lane.give(connection) is False
    assert lane.connections == 0


def test_a_connection_that_is_lost_on_its_way_is_no_connection(caplog):
    worker = Worker()

    async def scenario():
        worker.start()
        given = worker.lane._ends[0]
        given.send(b"\0")  # as it arrives where a process has too many files open
        await until(lambda: list(worker.lane.counts) == [1, 1])
        with socket.socket() as connection:
            assert worker.lane.give(connection)
        await until(lambda: len(worker.connections) == 1)
        worker.intake.stop()

    asyncio.run(scenario())
    assert "this process has too many open files" in caplog.text
    assert list(worker.lane.counts) == [2, 1]
    worker.end(1)
    worker.lane.close()


def test_where_nobody_gives_any_more_nothing_is_waited_for():
    worker = Worker()

    async def scenario():
        worker.start()
        worker.lane._ends[0].close()
        loop = asyncio.get_running_loop()
        source = worker.lane._ends[1].fileno()
        await until(lambda: source not in loop._selector.get_map())

    asyncio.run(scenario())
    assert list(worker.lane.counts) == [0, 0]
    worker.lane._ends[1].close()


def test_what_is_left_is_closed_at_the_end(clients):
    gone = Worker()

    async def scenario():
        with dispatching(clients) as (dispatcher, connect):
            dispatcher.add(gone.lane)
            connect(2)
            await until(lambda: gone.lane.connections == 2)
            dispatcher.remove(gone.lane)
            left.extend(dispatcher._waiting)

    left = []
    asyncio.run(scenario())
    assert [connection.fileno() for connection in left] == [-1, -1]
    assert [client.recv(1) for client in clients] == [b"", b""]
    assert [end.fileno() for end in gone.lane._ends] == [-1, -1]


class Failing(socket.socket):
    """Takes no connection at first, as where a process has too many files open."""

    failures = 2

    def accept(self):
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "too many open files")
        return super().accept()


def test_a_failure_to_take_a_connection_is_logged_and_tried_again(clients, monkeypatch, caplog):
    monkeypatch.setattr(accepting, "FAILED_SECONDS", 0.01)
    worker = Worker()

    async def scenario():
        with Failing() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            dispatcher = Dispatcher(listener)
            worker.start()
            dispatcher.add(worker.lane)
            clients.append(socket.create_connection(listener.getsockname(), timeout=PATIENCE))
            await until(lambda: len(worker.connections) == 1)
            assert dispatcher.is_running
            dispatcher.remove(worker.lane)
            worker.end(1)
            dispatcher.close()
            assert not dispatcher.is_running

    asyncio.run(scenario())
    assert caplog.text.count("cannot accept connections: [Errno 24] too many open files") == 2
