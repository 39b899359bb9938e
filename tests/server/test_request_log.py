"""The request log writes lines to standard error in batches and does not block requests."""

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
    """Replaces standard error; records the text and the thread of each write."""

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
    """Configure the log as a server does; in a fixture, pytest would add its own handlers."""
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


def test_without_an_event_loop_lines_are_written_immediately(stream: Stream) -> None:
    handler = _Batches()
    handler.queue_line("one")
    handler.queue_line("two")
    assert (stream.written, stream.flushed) == (["one\n", "two\n"], 2)
    handler.flush()
    assert stream.flushed == 2, "there is nothing to write"


def test_lines_are_written_in_batches_by_another_thread(stream: Stream) -> None:
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


def test_the_event_loop_writes_too_many_pending_lines(
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


def test_lines_are_written_only_to_standard_error(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
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
