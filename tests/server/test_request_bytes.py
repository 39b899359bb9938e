"""Each request gets its own response, regardless of how its bytes arrive."""

from __future__ import annotations

import http.client
import random
import socket
import time
from itertools import pairwise
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import serving

DESCRIBE, COUNT = "/v1/table/t/describe", "/v1/table/t/count_rows"
HEAD = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
REQUEST = HEAD % DESCRIBE.encode() + b"Content-Length: 2\r\n\r\n{}"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with connect("dir", {"path": str(tmp_path_factory.mktemp("root"))}) as namespace:
        namespace.create_table({"id": ["t"]}, pa.table({"id": [1, 2, 3]}))
        with serving(namespace) as uri:
            yield urlsplit(uri).hostname, urlsplit(uri).port


class Raw:
    """A connection that sends raw bytes and reads responses."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=300)
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def answer(self):
        answer = http.client.HTTPResponse(self)
        answer.begin()
        return answer.status, answer.read()

    def makefile(self, mode):
        return _Open(self.file)


class _Open:
    """A file that ignores `close()`."""

    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def close(self):
        """Leave the file open for the next response."""


def test_a_body_is_not_parsed_as_a_request(address):
    raw = Raw(address)
    for _ in range(3):
        raw.send(REQUEST)
        known = raw.answer()
    assert known[0] == 200
    # A body that looks like a request, sent separately from its head.
    raw.send(HEAD % COUNT.encode() + b"Content-Length: %d\r\n\r\n" % len(REQUEST))
    raw.send(REQUEST)
    assert raw.answer()[0] == 400
    # Two requests in one packet, and requests that are split across packets.
    raw.send(REQUEST * 2)
    assert [raw.answer(), raw.answer()] == [known, known]
    raw.send(REQUEST[:30])
    raw.send(REQUEST[30:] + REQUEST[:50])
    assert raw.answer() == known
    raw.send(REQUEST[50:])
    assert raw.answer() == known
    raw.send(REQUEST)
    assert raw.answer() == known
    # Head and body separately, and the body byte by byte.
    for pieces in (
        [REQUEST[:-2], b"{}"],
        [REQUEST[:-2], b"{", b"}"],
        [REQUEST[:-2], b"{}" + REQUEST],
    ):
        for piece in pieces:
            raw.send(piece)
            time.sleep(0.05)
        assert raw.answer() == known
    assert raw.answer() == known
    raw.send(REQUEST[:-2])
    time.sleep(0.05)
    raw.send(b"]]")
    assert raw.answer()[0] == 400


def test_randomly_split_requests_get_their_own_responses(address):
    random.seed(11)
    body = HEAD % COUNT.encode() + b"Content-Length: %d\r\n\r\n%s"
    chunked = HEAD % COUNT.encode() + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    kinds = (
        *[(REQUEST, 200)] * 4,
        *[(body % (2, b"{}"), 200)] * 4,
        (chunked, 200),
        (body % (len(REQUEST), REQUEST), 400),
        (body % (len(REQUEST) + 4, b"\r\n\r\n" + REQUEST), 400),
        (REQUEST.replace(b"/t/", b"/missing/"), 404),
    )
    raw = Raw(address)
    raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(60):
        chosen = random.choices(kinds, k=random.randint(1, 6))
        text = b"".join(request for request, _ in chosen)
        cuts = sorted(random.sample(range(1, len(text)), random.randint(0, 4)))
        if random.random() < 0.3:
            cuts = [at for at in range(len(text)) if text[:at].endswith(b"\r\n\r\n")]
        for start, end in pairwise([0, *cuts, len(text)]):
            raw.send(text[start:end])
            time.sleep(random.choice((0, 0.002)))
        answers = [raw.answer() for _ in chosen]
        assert [status for status, _ in answers] == [status for _, status in chosen], chosen
        for (request, status), (_, answer) in zip(chosen, answers, strict=True):
            assert status != 200 or (b"location" in answer) == (request == REQUEST)


def test_trailing_line_breaks_do_not_delay_a_response(address):
    """Some clients send line breaks after a request, and the server skips them."""
    bare = HEAD % COUNT.encode() + b"Content-Length: 0\r\n\r\n"
    for ends in (b"\r\n", b"\r\n\r\n"):
        raw = Raw(address)
        for _ in range(3):
            raw.send(bare + ends)
            assert raw.answer() == (200, b"3")
        raw = Raw(address)
        for _ in range(3):
            raw.send(bare)
            assert raw.answer() == (200, b"3")


def test_a_request_can_close_its_connection(address):
    closing = HEAD % DESCRIBE.encode() + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"
    old = REQUEST.replace(b"HTTP/1.1", b"HTTP/1.0")
    for request in (closing, closing, closing, old, old, old):
        raw = Raw(address)
        raw.send(request)
        assert raw.answer()[0] == 200
        assert raw.file.read() == b""
