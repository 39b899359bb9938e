"""Connections go to the worker that has the fewest."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time

import pytest

from lance_namespace_impls.server import accepting
from lance_namespace_impls.server.accepting import COUNTS, Dispatcher, Lane

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
