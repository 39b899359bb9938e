"""Rows are read as they arrive, and their connection is released in every case."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise

import httpx
import pyarrow as pa
import pytest

from lance_namespace_client.async_rest import AsyncRestNamespace
from lance_namespace_client.errors import InternalError, InvalidInputError, LanceNamespaceError
from lance_namespace_client.rest import RestNamespace

BATCHES = 50
QUERY = {"id": ["t"], "vector": None, "k": 1000}


def chunks() -> list[bytes]:
    """Return the parts of an Arrow file, one for each batch."""
    batch = pa.record_batch({"a": range(100)})
    sink = io.BytesIO()
    ends = [0]
    with pa.ipc.new_file(sink, batch.schema) as writer:
        for _ in range(BATCHES):
            writer.write_batch(batch)
            ends.append(sink.tell())
    return [sink.getvalue()[start:end] for start, end in pairwise([*ends, sink.tell()])]


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that records how many of its parts were read, and whether it was closed."""

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = parts
        self.taken = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for part in self.parts:
            self.taken += 1
            yield part

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self:
            yield part

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True


class Server(httpx.BaseTransport, httpx.AsyncBaseTransport):
    def __init__(self, body: Body, status: int, headers: dict[str, str]) -> None:
        self.answer = lambda: httpx.Response(status, headers=headers, stream=body)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.answer()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.answer()


def use_rows(kind: str, body: Body, how: str, status: int = 200) -> int:
    """Query rows and use them in one way; return the number of parts read for the first batch."""
    server = Server(body, status, {"content-type": "application/vnd.apache.arrow.file"})
    if kind == "sync":
        with httpx.Client(transport=server) as client:
            rows = RestNamespace(client, "http://server").query_table(QUERY)
            rows.read_next_batch()
            taken = body.taken
            if how == "close":
                rows.close()
            else:
                assert rows.read_all().num_rows == 100 * (BATCHES - 1)
                rows.close()
        return taken

    async def main() -> int:
        async with httpx.AsyncClient(transport=server) as client:
            rows = await AsyncRestNamespace(client, "http://server").query_table(QUERY)
            await anext(rows)
            taken = body.taken
            if how == "close":
                await rows.aclose()
            else:
                assert (await rows.read_all()).num_rows == 100 * (BATCHES - 1)
        return taken

    return asyncio.run(main())


@pytest.mark.parametrize("how", ["close", "read all"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_rows_are_read_as_they_arrive_and_release_their_connection(kind: str, how: str) -> None:
    body = Body(chunks())
    assert use_rows(kind, body, how) < BATCHES / 2
    assert body.closed
    if how == "close":
        assert body.taken < BATCHES


@pytest.mark.parametrize(
    ("status", "parts", "wrong"),
    [
        (200, [b"no stream" * 9], InternalError),
        (200, [], InternalError),
        (500, [b'{"error": "it broke", "code": 18}'], InternalError),
        (400, [b'{"error": "bad", "code": 13}'], InvalidInputError),
        (502, [b"<html>"], LanceNamespaceError),
    ],
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_response_without_rows_releases_its_connection(
    kind: str, status: int, parts: list[bytes], wrong: type[LanceNamespaceError]
) -> None:
    body = Body(parts)
    with pytest.raises(wrong):
        use_rows(kind, body, "close", status)
    assert body.closed


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_damaged_rows_release_their_connection(kind: str) -> None:
    body = Body([*chunks()[:3], b"\x00broken"])
    with pytest.raises(LanceNamespaceError) as caught:
        use_rows(kind, body, "read all")
    assert body.closed, "while the error and all that it holds is still there"
    assert caught.value.code in (17, 18)


def test_an_empty_delimiter_is_invalid_for_every_client() -> None:
    with httpx.Client() as client, pytest.raises(InvalidInputError, match="must not be empty"):
        RestNamespace(client, "http://server", delimiter="")
    with pytest.raises(InvalidInputError, match="must not be empty"):
        AsyncRestNamespace(httpx.AsyncClient(), "http://server", delimiter="")
