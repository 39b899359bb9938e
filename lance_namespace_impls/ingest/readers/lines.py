"""Ranges of a text file that contain whole lines, and blocks that contain whole rows."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

__all__ = [
    "BLOCK_BYTES",
    "Lines",
    "RowTooLong",
    "decoded",
    "line_end",
    "row_blocks",
    "row_end",
    "rows_end",
]

BLOCK_BYTES = 8 << 20
_BOM = codecs.BOM_UTF8


class RowTooLong(Exception):
    """Raised if a row is longer than the limit.

    Args:
        size: number of bytes of the row that were read.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"a row of at least {size} bytes")
        self.size = size


class Lines:
    """The lines that start in a range of bytes.

    Args:
        source: the file; it need not be seekable for the range from 0 to None.
        start: first byte of the range.
        end: first byte after the range; None for the end of the file.
    """

    def __init__(self, source: Any, start: int = 0, end: int | None = None) -> None:
        first = _line_start(source, start)
        self._left = None if end is None else _line_start(source, end) - first
        self._source = source
        if start or end is not None:
            source.seek(first)

    def chunks(self) -> Iterator[bytes]:
        """Return the bytes of the lines in chunks."""
        while chunk := self._fetch():
            yield chunk

    def _fetch(self) -> bytes:
        size = BLOCK_BYTES if self._left is None else min(BLOCK_BYTES, self._left)
        part = bytes(self._source.read(size))
        if self._left is not None:
            self._left -= len(part)
        return part


def line_end(data: bytes) -> int:
    """Return the end of the last complete line; 0 if there is none."""
    return data.rfind(b"\n") + 1


def row_blocks(
    chunks: Iterable[bytes], last_end: Callable[[bytes], int], most: int
) -> Iterator[bytes]:
    """Join chunks of text into blocks that end at the end of a row.

    Args:
        chunks: the text.
        last_end: returns the end of the last complete row in a text that starts with a row; 0 if
            there is none.
        most: maximum size of a row in bytes; rows that fit into a chunk are never too long.

    Raises:
        RowTooLong: a row has more than `most` bytes.
    """
    parts: list[bytes] = []
    size = target = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size < target:
            continue
        data = b"".join(parts)
        cut = last_end(data)
        if cut:
            yield data[:cut]
        elif size > max(most, BLOCK_BYTES):
            raise RowTooLong(size)
        parts = [data[cut:]]
        size -= cut
        # Search a long row again only after its size has doubled.
        target = min(2 * size, max(most, BLOCK_BYTES) + 1)
    if size:
        yield b"".join(parts)


def decoded(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Convert encoded text to UTF-8 without a byte order mark.

    Raises:
        UnicodeError: the text is not valid in that encoding.
    """
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
    head = b""
    begun = False
    for chunk in chunks:
        text = chunk if decoder is None else decoder.decode(chunk).encode()
        if begun:
            yield text
            continue
        head += text
        if begun := len(head) >= len(_BOM):
            yield head.removeprefix(_BOM)
    rest = b"" if decoder is None else decoder.decode(b"", final=True).encode()
    yield rest if begun else (head + rest).removeprefix(_BOM)


@cache
def _patterns(
    delimiter: str, quote: str, escape: str | None
) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return patterns for one row and for all complete rows, following Arrow's CSV parser.

    A quote opens only at the start of a value. Text after the closing quote belongs to the value.
    """
    cut, mark = re.escape(delimiter), re.escape(quote)
    sign = re.escape(escape or "")
    escaped = f"|{sign}." if escape else ""
    quoted = rf"{mark}(?:[^{mark}{sign}]++|{mark}{mark}{escaped})*+{mark}"
    value = rf"(?:{quoted}|(?!{mark}))(?:[^{cut}\r\n{sign}]++{escaped})*+"
    row = rf"{value}(?:{cut}{value})*+(?:\r\n|\n|\r(?!\n|\Z))"
    return (
        re.compile(row.encode(), re.DOTALL),
        re.compile(rf"(?:{row})*+".encode(), re.DOTALL),
    )


def row_end(data: bytes, delimiter: str, quote: str, escape: str | None) -> int:
    """Return the end of the first CSV row; 0 if it is incomplete."""
    found = _patterns(delimiter, quote, escape)[0].match(data)
    return found.end() if found else 0


def rows_end(
    data: bytes, delimiter: str, quote: str, escape: str | None, one_line_each: bool = False
) -> int:
    """Return the end of the last complete CSV row; 0 if there is none.

    Args:
        data: text that starts with a row.
        delimiter: separator of values.
        quote: quote character.
        escape: escape character.
        one_line_each: whether values are known to contain no line breaks.
    """
    signs = [quote, *filter(None, [escape])]
    if one_line_each or not any(sign.encode() in data for sign in signs):
        # A line feed after a final carriage return may not have been read yet.
        return max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
    found = _patterns(delimiter, quote, escape)[1].match(data)
    return found.end() if found else 0


def _line_start(source: Any, position: int) -> int:
    """Return the start of the first line that starts at or after `position`."""
    if position == 0:
        return 0
    source.seek(position - 1)
    while block := bytes(source.read(BLOCK_BYTES)):
        found = block.find(b"\n")
        if found >= 0:
            return int(source.tell()) - len(block) + found + 1
    return int(source.tell())
