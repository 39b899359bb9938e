"""The lines of requests go to standard error together, and hold nobody up."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from lance_namespace_impls.server import log_requests
from lance_namespace_impls.server.observability import observer
from lance_namespace_impls.server.observability.observer import REQUESTS, _Batches, _write

LOGGER = logging.getLogger(REQUESTS)
PATIENCE = 60.0


class Stream:
    """Stands for standard error; knows what was written at once, and in which thread."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.threads: list[int] = []
        self.flushed = 0

    def write(self, text: str) -> None:
        self.written.append(text)
        self.threads.append(threading.get_ident())

    def flush(self) -> None:
        self.flushed += 1


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Stream:
    found = Stream()
    monkeypatch.setattr(observer, "sys", SimpleNamespace(stderr=found))
    return found


@contextmanager
def configured() -> Iterator[None]:
    """Set the log up as a server does; in a fixture, pytest would add handlers of its own."""
    before = LOGGER.handlers, LOGGER.level, LOGGER.propagate
    log_requests()
    [handler] = LOGGER.handlers
    assert isinstance(handler, _Batches)
    try:
        yield
    finally:
        LOGGER.handlers, LOGGER.propagate = before[0], before[2]
        LOGGER.setLevel(before[1])


async def until(stream: Stream, count: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while len(stream.written) < count:
            await asyncio.sleep(0.005)


def test_a_line_is_written_at_once_where_no_loop_runs(stream: Stream) -> None:
    handler = _Batches()
    handler.queue_line("one")
    handler.queue_line("two")
    assert (stream.written, stream.flushed) == (["one\n", "two\n"], 2)
    handler.flush()
    assert stream.flushed == 2, "there is nothing to write"


def test_lines_are_written_together_and_not_by_the_loop(stream: Stream) -> None:
    handler = _Batches()

    async def scenario() -> None:
        for text in ("one", "two", "three"):
            handler.queue_line(text)
        assert stream.written == []
        await until(stream, 1)
        handler.queue_line("four")
        await until(stream, 2)

    asyncio.run(scenario())
    assert stream.written == ["one\ntwo\nthree\n", "four\n"]
    assert threading.get_ident() not in stream.threads


def test_where_very_many_are_unwritten_the_loop_writes(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer, "MOST_LINES", 3)
    monkeypatch.setattr(observer, "WRITE_SECONDS", 3600.0)
    handler = _Batches()

    async def scenario() -> None:
        for text in ("one", "two"):
            handler.queue_line(text)
        assert stream.written == []
        handler.queue_line("three")

    asyncio.run(scenario())
    assert stream.written == ["one\ntwo\nthree\n"]
    assert stream.threads == [threading.get_ident()]


def test_they_go_there_and_nowhere_else(stream: Stream, caplog: pytest.LogCaptureFixture) -> None:
    with configured():
        assert LOGGER.isEnabledFor(logging.INFO) and not LOGGER.isEnabledFor(logging.DEBUG)
        _write('{"a": 1}')
        LOGGER.info("%s", "text")
    assert stream.written == ['{"a": 1}\n', "text\n"]
    assert not caplog.records


def test_other_handlers_get_records(stream: Stream, caplog: pytest.LogCaptureFixture) -> None:
    with configured():
        LOGGER.propagate = True
        _write("a line with % in it")
    assert stream.written == ["a line with % in it\n"]
    assert [record.getMessage() for record in caplog.records] == ["a line with % in it"]
    assert caplog.records[0].levelno == logging.INFO and caplog.records[0].name == REQUESTS
