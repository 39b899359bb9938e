"""Ranges of a text file that hold whole lines."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

__all__ = ["BLOCK_BYTES", "Lines"]

BLOCK_BYTES = 8 << 20


class Lines(io.RawIOBase):
    """The lines that start in a range of bytes, as a file.

    Args:
        source: the file; it need not be searchable for the range from 0 to None.
        start: first byte of the range.
        end: first byte after it; None is the end of the file.
        line_end: what to add where the last line of the file has none.
    """

    def __init__(
        self, source: Any, start: int = 0, end: int | None = None, line_end: bytes = b""
    ) -> None:
        first = _line_start(source, start)
        self._left = None if end is None else _line_start(source, end) - first
        self._source = source
        self._line_end = line_end
        self._chunks = self._read_chunks()
        self._rest = b""
        if start or end is not None:
            source.seek(first)

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes, no more than `size`."""
        self._rest = self._rest or next(self._chunks, b"")
        size = len(self._rest) if size < 0 else size
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def blocks(self) -> Iterator[bytes]:
        """Return the lines, many at a time and each whole."""
        rest = b""
        for chunk in self._chunks:
            block = rest + chunk
            cut = block.rfind(b"\n") + 1
            if cut:
                yield block[:cut]
            rest = block[cut:]
        if rest:
            yield rest

    def _read_chunks(self) -> Iterator[bytes]:
        chunk = self._fetch()
        while chunk:
            following = self._fetch()
            ended = following or chunk.endswith((b"\n", b"\r"))
            yield chunk if ended else chunk + self._line_end
            chunk = following

    def _fetch(self) -> bytes:
        size = BLOCK_BYTES if self._left is None else min(BLOCK_BYTES, self._left)
        part = bytes(self._source.read(size))
        if self._left is not None:
            self._left -= len(part)
        return part


def _line_start(source: Any, position: int) -> int:
    """Return where the first line starts that does not start before `position`."""
    if position == 0:
        return 0
    source.seek(position - 1)
    while block := bytes(source.read(BLOCK_BYTES)):
        found = block.find(b"\n")
        if found >= 0:
            return int(source.tell()) - len(block) + found + 1
    return int(source.tell())
