# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
# pyarrow has no types of its own.
# mypy: disable-error-code="import-untyped"

"""Rows in and out of an operation, as Arrow record batches."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

if TYPE_CHECKING:
    from io import BufferedReader

    import pyarrow as pa

    from .errors import LanceNamespaceError

    ArrowData: TypeAlias = (
        "pa.RecordBatchReader | pa.Table | pa.RecordBatch | bytes | BinaryIO | Any"
    )
    AsyncArrowData: TypeAlias = ArrowData | AsyncIterable[pa.RecordBatch]

__all__ = [
    "ArrowData",
    "AsyncArrowData",
    "RowStream",
    "file_chunks",
    "read_file_stream",
    "stream_chunks",
    "to_reader",
]

FILE_MAGIC = b"ARROW1"
# Rows in so few bytes are read before a writer asks; compressed ones become 64 MiB at most.
FEW_BYTES = 1 << 16
# Pieces of a batch that are handed on together.
HELD_BYTES = 1 << 16
# Levels of a type that readers of Arrow IPC accept.
MAX_NESTING = 64


def __getattr__(name: str) -> Any:
    if name in ("ArrowData", "AsyncArrowData"):
        return Any
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def to_reader(
    data: ArrowData, *, max_batch_bytes: int | None = None
) -> pa.RecordBatchReader:
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
    from .ipc import validated
    from .rows import to_table

    if isinstance(data, RowStream):
        return data.reader()
    if isinstance(data, pa.RecordBatchStreamReader):
        return pa.RecordBatchReader.from_batches(data.schema, validated(data))
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if _is_in_memory(data) or hasattr(data, "read"):
        return pa.RecordBatchReader.from_batches(*_open_batches(data, max_batch_bytes))
    if (table := to_table(data)) is not None:
        return table.to_reader()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    raise InvalidInputError(
        "rows must be an Arrow table, reader or IPC stream, a frame, a list of dicts or a dict of "
        f"columns, not {type(data).__name__}"
    )


def _is_in_memory(data: Any) -> bool:
    """Return whether rows are an Arrow IPC stream in memory."""
    import pyarrow as pa

    return isinstance(data, bytes | bytearray | memoryview | pa.Buffer)


def _open_batches(
    data: Any, max_batch_bytes: int | None
) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    import pyarrow as pa

    from .errors import InvalidInputError
    from .ipc import open_batches

    try:
        return open_batches(data, max_batch_bytes)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(
            f"the data is not an Arrow IPC stream: {_line(error)}"
        ) from error


def _has_few_bytes(data: Any) -> bool:
    """Return whether rows are in memory already, and so few that their copy is no burden."""
    import pyarrow as pa

    if isinstance(data, pa.Table | pa.RecordBatch):
        return bool(data.nbytes <= FEW_BYTES)
    if isinstance(data, pa.Buffer):
        return bool(data.size <= FEW_BYTES)
    return isinstance(data, bytes | bytearray | memoryview) and len(data) <= FEW_BYTES


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:297]}..."


class RowStream:
    """Rows on their way to a writer, a batch at a time: counted, and blamed if interrupted.

    Libraries report rows that cannot be read to their end as failures of their own, say of storage.
    Within `guarded` the failure of the rows takes the place of such a one.

    Args:
        schema: columns of the rows.
        batches: the rows; they are read once.
    """

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        self.schema = schema
        self.are_few = False
        """Whether they are in memory already, and so few that they can be read again."""
        self._kept: pa.Table | None = None
        self.rows = 0
        """Rows that were handed on so far."""
        self.failure: Exception | None = None
        """Why the rows were interrupted, as their maker raised it."""
        self._fault: LanceNamespaceError | None = None
        self._batches = iter(batches)
        self._first: pa.RecordBatch | None = None
        self._count = 0

    @classmethod
    def of(cls, data: ArrowData, *, max_batch_bytes: int | None = None) -> RowStream:
        """Return rows given in any of the usual forms as a stream; a stream is itself.

        Args:
            data: as for `to_reader`.
            max_batch_bytes: as for `to_reader`.

        Raises:
            InvalidInputError: code 13, the data is none of the forms or not an Arrow IPC stream.
        """
        if isinstance(data, RowStream):
            return data
        if _is_in_memory(data):
            rows = cls(*_open_batches(data, max_batch_bytes))
        else:
            reader = to_reader(data, max_batch_bytes=max_batch_bytes)
            rows = cls(reader.schema, reader)
        rows.are_few = _has_few_bytes(data)
        return rows

    @property
    def can_begin_again(self) -> bool:
        """Whether another reader would read all rows, since no more than one batch was."""
        return self.are_few or self._count < 2

    def reader(
        self,
        prepare: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
        schema: pa.Schema | None = None,
    ) -> pa.RecordBatchReader:
        """Return a reader of the rows.

        Args:
            prepare: what is done to each batch before it is handed on; the same in each call.
            schema: schema of prepared batches, if it differs from that of the rows.
        """
        import pyarrow as pa

        schema = self.schema if schema is None else schema
        if not self.are_few:
            return pa.RecordBatchReader.from_batches(schema, self._each(prepare))
        if self._kept is None:
            self._kept = pa.Table.from_batches(self._each(prepare), schema)
        # A writer's threads read these without a word of Python.
        return self._kept.to_reader()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the rows as an Arrow C stream."""
        return self.reader().__arrow_c_stream__(requested_schema)

    @contextmanager
    def guarded(self, subject: str | None = None) -> Iterator[None]:
        """Raise why the rows were interrupted, if so, not what their consumer raises.

        Args:
            subject: what the message is about.

        Raises:
            InvalidInputError: code 13, the rows cannot be read to their end.
        """
        try:
            yield
        except Exception:
            if self._fault is None:
                raise
            if self._fault.subject is None:
                self._fault.subject = subject
            raise self._fault from self.failure

    def _each(self, prepare: Any) -> Iterator[pa.RecordBatch]:
        try:
            if self._first is not None:
                yield self._first if prepare is None else prepare(self._first)
            for batch in self._batches:
                self._count += 1
                self._first = batch if self._count == 1 else None
                self.rows += batch.num_rows
                yield batch if prepare is None else prepare(batch)
        except Exception as error:
            fault = self.interrupted_by(error)
            if fault is error:
                raise
            raise fault from error

    def interrupted_by(self, error: Exception) -> LanceNamespaceError:
        """Note why the rows were interrupted; return what `guarded` raises of it.

        Args:
            error: what their maker raised.
        """
        from .errors import InvalidInputError, LanceNamespaceError

        self.failure = error
        if isinstance(error, LanceNamespaceError):
            self._fault = error
        else:
            self._fault = InvalidInputError(
                f"the Arrow data cannot be read: {_line(error)}"
            )
        return self._fault


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

    def close(self) -> None:
        self.closed = True

    def take(self) -> bytes:
        out = b"".join(self._parts)
        self._parts.clear()
        return out


def _check_sendable(kind: pa.DataType, column: str, depth: int = 1) -> None:
    """Reject a type that Arrow IPC does not carry (code 13)."""
    import pyarrow as pa

    from .errors import InvalidInputError

    if depth > MAX_NESTING:
        raise InvalidInputError(
            f"column {column!r} is nested deeper than {MAX_NESTING} levels; flatten it"
        )
    kind = getattr(kind, "storage_type", kind)
    if pa.types.is_dictionary(kind) and pa.types.is_dictionary(kind.value_type):
        raise InvalidInputError(
            f"column {column!r} is a dictionary of {kind.value_type}, which Arrow IPC does not "
            "carry; cast the column to the type of its values"
        )
    for number in range(kind.num_fields):
        _check_sendable(kind.field(number).type, column, depth + 1)


def _chunks(reader: pa.RecordBatchReader, new_writer: Any) -> Iterator[bytes]:
    import pyarrow as pa

    for field in reader.schema:
        _check_sendable(field.type, field.name)
    sink = _Chunks()
    # A writer hands on many small pieces, and with each one it would wait for its turn in Python.
    held = pa.BufferedOutputStream(pa.PythonFile(sink, mode="w"), HELD_BYTES)
    with held:
        with (
            reader,
            new_writer(held, reader.schema, options=pa.ipc.IpcWriteOptions()) as writer,
        ):
            held.flush()
            yield sink.take()
            for batch in reader:
                writer.write_batch(batch)
                held.flush()
                yield sink.take()
        held.flush()
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
