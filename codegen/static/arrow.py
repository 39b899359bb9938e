"""Rows in and out of an operation, as Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

if TYPE_CHECKING:
    from io import BufferedReader

    import pyarrow as pa

    ArrowData: TypeAlias = (
        "pa.RecordBatchReader | pa.Table | pa.RecordBatch | bytes | BinaryIO | Any"
    )

__all__ = ["ArrowData", "file_chunks", "read_file_stream", "stream_chunks", "to_reader"]

FILE_MAGIC = b"ARROW1"


def __getattr__(name: str) -> Any:
    if name == "ArrowData":
        return Any
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def to_reader(data: ArrowData, *, max_batch_bytes: int | None = None) -> pa.RecordBatchReader:
    """Return rows given in any of the usual forms as a reader.

    What comes as Arrow IPC is checked in full as it is read: offsets, UTF-8, dictionary indices,
    and the size that compressed batches claim. Reading a batch that is not valid raises
    ``pyarrow.ArrowInvalid``.

    Args:
        data: a ``pyarrow.RecordBatchReader``, ``Table`` or ``RecordBatch``; anything that exports
            an Arrow C stream (polars, duckdb); a pandas frame, a lazy polars frame, a list of
            dicts or a dict of columns, numpy arrays included; or an Arrow IPC stream as bytes or
            as a binary file object.
        max_batch_bytes: size in bytes of the largest batch of an IPC stream that is decoded;
            unbounded unless given.

    Raises:
        InvalidInputError: code 13, the data is none of these or not an Arrow IPC stream.
    """
    import pyarrow as pa

    from .errors import InvalidInputError
    from .ipc import open_checked, validated
    from .rows import to_table

    if isinstance(data, pa.RecordBatchStreamReader):
        return pa.RecordBatchReader.from_batches(data.schema, validated(data))
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if isinstance(data, bytes | bytearray | memoryview | pa.Buffer) or hasattr(data, "read"):
        try:
            return open_checked(data, max_batch_bytes)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInputError(
                f"the data is not an Arrow IPC stream: {_line(error)}"
            ) from error
    if (table := to_table(data)) is not None:
        return table.to_reader()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    raise InvalidInputError(
        "rows must be an Arrow table, reader or IPC stream, a frame, a list of dicts or a dict of "
        f"columns, not {type(data).__name__}"
    )


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


class _Chunks:
    """A file object that hands on what is written to it; it holds no more than one batch."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        return len(part)

    def flush(self) -> None:
        """Nothing is held back."""

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True

    def take(self) -> bytes:
        out = b"".join(self._parts)
        self._parts.clear()
        return out


def _chunks(reader: pa.RecordBatchReader, new_writer: Any) -> Iterator[bytes]:
    sink = _Chunks()
    with reader, new_writer(sink, reader.schema) as writer:
        yield sink.take()
        for batch in reader:
            writer.write_batch(batch)
            yield sink.take()
    yield sink.take()


def stream_chunks(reader: pa.RecordBatchReader) -> Iterator[bytes]:
    """Write record batches as an Arrow IPC stream, one batch a chunk."""
    import pyarrow as pa

    return _chunks(reader, pa.ipc.new_stream)


def file_chunks(reader: pa.RecordBatchReader) -> Iterator[bytes]:
    """Write record batches as an Arrow IPC file, one batch a chunk."""
    import pyarrow as pa

    return _chunks(reader, pa.ipc.new_file)


def read_file_stream(source: BufferedReader) -> pa.RecordBatchReader:
    """Open an Arrow IPC file to be read front to back, a batch at a time, each checked in full.

    The file format is the stream format between a magic and a footer, so no seeking is needed.

    Raises:
        pyarrow.ArrowInvalid: it is no such file; reading a batch that is not valid raises it, too.
    """
    import pyarrow as pa

    from .ipc import open_checked

    if source.read(len(FILE_MAGIC)) != FILE_MAGIC:
        raise pa.ArrowInvalid("not an Arrow IPC file: the magic is missing")
    # Zeros fill up the magic to the writer's alignment: 8 bytes in most, 64 in Rust's.
    while source.peek(1)[:1] == b"\0":
        source.read(1)
    return open_checked(source)
