"""Decodes HTTP response bodies incrementally, with a size limit.

A few hundred kilobytes of gzip data may expand to hundreds of megabytes, and the HTTP library
decodes them without a limit.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import cast

import httpx

__all__ = ["ACCEPTED_ENCODINGS", "MAX_ANSWER_BYTES", "bound"]

ACCEPTED_ENCODINGS = "gzip, deflate"
MAX_ANSWER_BYTES = 64 << 20
"""Maximum decoded size, in bytes, of a response that is read as a whole."""
# Maximum decoded size of a streamed response: this many bytes per received byte, but at least this
# many bytes.
DECODED_PER_BYTE = 32
DECODED_ANYWAY = 64 << 20
PIECE_BYTES = 1 << 16
MAX_ENCODINGS = 2


def bound(response: httpx.Response, limit: int | None = MAX_ANSWER_BYTES) -> None:
    """Decode a response body while it is read, and limit its size; a body that was read is
    unchanged.

    Reading then raises ``httpx.DecodingError`` for a body that is too large or cannot be decoded.

    Args:
        response: a response from ``send(..., stream=True)`` or a transport.
        limit: maximum decoded size in bytes; if None, proportional to the received bytes.
    """
    if response.is_stream_consumed or response.is_closed or isinstance(response.stream, _Body):
        return
    names = response.headers.get("Content-Encoding", "").split(",")
    encodings = [name for each in names if (name := each.strip().lower()) not in ("", "identity")]
    response.stream = _Body(response.stream, encodings, limit)
    if encodings:
        # With this header, the library would decode the body again.
        del response.headers["Content-Encoding"]
        response.headers.pop("Content-Length", None)


class _Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(
        self,
        stream: httpx.SyncByteStream | httpx.AsyncByteStream,
        encodings: list[str],
        limit: int | None,
    ) -> None:
        self._stream = stream
        self._encodings = encodings
        self._limit = limit
        self._received = 0
        self._decoded = 0

    def __iter__(self) -> Iterator[bytes]:
        decoders = self._decoders()
        for part in cast("httpx.SyncByteStream", self._stream):
            yield from self._pieces(part, decoders)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoders = self._decoders()
        async for part in cast("httpx.AsyncByteStream", self._stream):
            for piece in self._pieces(part, decoders):
                yield piece

    def close(self) -> None:
        if isinstance(self._stream, httpx.SyncByteStream):
            self._stream.close()

    async def aclose(self) -> None:
        if isinstance(self._stream, httpx.AsyncByteStream):
            await self._stream.aclose()

    def _decoders(self) -> list[_Inflater]:
        if len(self._encodings) > MAX_ENCODINGS:
            raise httpx.DecodingError(f"the body is encoded {len(self._encodings)} times")
        return [_Inflater(name) for name in reversed(self._encodings)]

    def _pieces(self, part: bytes, decoders: list[_Inflater]) -> Iterator[bytes]:
        self._received += len(part)
        pieces: Iterator[bytes] = iter((part,))
        for decoder in decoders:
            pieces = decoder.decode(pieces)
        for piece in pieces:
            self._decoded += len(piece)
            if self._limit is not None:
                if self._decoded > self._limit:
                    raise httpx.DecodingError(f"the body is larger than {self._limit} bytes")
            elif decoders and self._decoded > DECODED_ANYWAY + DECODED_PER_BYTE * self._received:
                raise httpx.DecodingError(
                    f"{self._received} bytes expand to more than {self._decoded - 1} when they are "
                    "decoded"
                )
            yield piece


class _Inflater:
    """An incremental decoder for gzip or deflate."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise httpx.DecodingError(f"the body is encoded as {encoding[:40]!r}")
        self._may_be_raw = encoding == "deflate"
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | (0 if self._may_be_raw else 16))

    def decode(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        for part in parts:
            rest, piece = part, b""
            while rest or len(piece) == PIECE_BYTES:
                piece = self._next(rest)
                rest = self._inflate.unconsumed_tail
                if piece:
                    yield piece

    def _next(self, data: bytes) -> bytes:
        try:
            piece = self._inflate.decompress(data, PIECE_BYTES)
        except zlib.error as error:
            if not self._may_be_raw:
                raise httpx.DecodingError(str(error)) from error
            # Some servers send deflate data without the zlib header.
            self._may_be_raw = False
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._next(data)
        if piece:
            self._may_be_raw = False
        return piece
