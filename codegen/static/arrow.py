"""Converts the rows in requests and responses to and from Arrow record batches."""

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
# Maximum size, in bytes, of rows that are read before a writer starts; they may decompress to up to
# 64 MiB.
FEW_BYTES = 1 << 16
# Maximum total size, in bytes, of the pieces of a batch that are buffered.
BUFFER_BYTES = 1 << 16
# Maximum nesting depth of types that Arrow IPC readers accept.
MAX_NESTING = 64


def __getattr__(name: str) -> Any:
    if name in ("ArrowData", "AsyncArrowData"):
        return Any
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def to_reader(
    data: ArrowData, *, max_batch_bytes: int | None = None, infer_vectors: bool = False
) -> pa.RecordBatchReader:
    """Return a reader for rows in any supported form.

    Arrow IPC data is fully validated as it is read: offsets, UTF-8, dictionary indices, and the
    claimed sizes of compressed batches. Reading an invalid batch raises ``pyarrow.ArrowInvalid``.

    Args:
        data: a ``pyarrow.RecordBatchReader``, ``Table`` or ``RecordBatch``; any object that exports
            an Arrow C stream (polars, duckdb); a pandas frame, a lazy polars frame, a list of
            dicts or a dict of columns, including numpy arrays; or an Arrow IPC stream as bytes or
            as a binary file object.
        max_batch_bytes: maximum decoded size of a batch in an IPC stream, in bytes; unlimited by
            default.
        infer_vectors: see `rows.to_table`.

    Raises:
        InvalidInputError: code 13, the data has none of these forms, or is not an Arrow IPC stream.
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
    if (table := to_table(data, infer_vectors=infer_vectors)) is not None:
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
        raise InvalidInputError(f"the data is not an Arrow IPC stream: {_line(error)}") from error


def _has_few_bytes(data: Any) -> bool:
    """Return whether rows are in memory and small enough to copy."""
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
    """A stream of rows for a writer, which counts the rows and records failures.

    If reading the rows fails, libraries report an error of their own, for example about storage.
    `guarded` replaces that error with the original failure.

    Args:
        schema: columns of the rows.
        batches: the rows, which are read once.
    """

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        self.schema = schema
        self.are_few = False
        """Whether the rows are in memory and small enough to be read again."""
        self._table: pa.Table | None = None
        self.rows = 0
        """Number of rows returned so far."""
        self.failure: Exception | None = None
        """The original exception that interrupted the rows."""
        self._fault: LanceNamespaceError | None = None
        self._batches = iter(batches)
        self._first: pa.RecordBatch | None = None
        self._count = 0

    @classmethod
    def of(
        cls, data: ArrowData, *, max_batch_bytes: int | None = None, infer_vectors: bool = False
    ) -> RowStream:
        """Return a stream for rows in any supported form; a stream is returned unchanged.

        Args:
            data: see `to_reader`.
            max_batch_bytes: see `to_reader`.
            infer_vectors: see `rows.to_table`.

        Raises:
            InvalidInputError: code 13, the data has none of these forms, or is not an Arrow IPC
                stream.
        """
        if isinstance(data, RowStream):
            return data
        if _is_in_memory(data):
            rows = cls(*_open_batches(data, max_batch_bytes))
        else:
            reader = to_reader(data, max_batch_bytes=max_batch_bytes, infer_vectors=infer_vectors)
            rows = cls(reader.schema, reader)
        rows.are_few = _has_few_bytes(data)
        return rows

    @property
    def can_begin_again(self) -> bool:
        """Whether a new reader would still return all rows, because at most one batch has been
        read.
        """
        return self.are_few or self._count < 2

    def reader(
        self,
        prepare: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
        schema: pa.Schema | None = None,
    ) -> pa.RecordBatchReader:
        """Return a reader for the rows.

        Args:
            prepare: applied to each batch before it is returned; must be the same function in all
                calls.
            schema: schema of prepared batches, if it differs from that of the rows.
        """
        import pyarrow as pa

        schema = self.schema if schema is None else schema
        if not self.are_few:
            return pa.RecordBatchReader.from_batches(schema, self._each(prepare))
        if self._table is None:
            self._table = pa.Table.from_batches(self._each(prepare), schema)
        # A writer's threads read these without calling Python.
        return self._table.to_reader()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the rows as an Arrow C stream."""
        return self.reader().__arrow_c_stream__(requested_schema)

    @contextmanager
    def guarded(self, subject: str | None = None) -> Iterator[None]:
        """If a failure interrupted the rows, raise it in place of the consumer's exception.

        Args:
            subject: subject of the message, such as the operation.

        Raises:
            InvalidInputError: code 13, the rows cannot be read completely.
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
        """Record why the rows were interrupted; return the error that `guarded` then raises.

        Args:
            error: the original exception.
        """
        from .errors import InvalidInputError, LanceNamespaceError

        self.failure = error
        if isinstance(error, LanceNamespaceError):
            self._fault = error
        else:
            self._fault = InvalidInputError(f"the Arrow data cannot be read: {_line(error)}")
        return self._fault


class _Chunks:
    """A file object that collects the data written to it, at most one batch."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        return len(part)

    def flush(self) -> None:
        """Do nothing, because writes are not buffered."""

    def close(self) -> None:
        self.closed = True

    def drain(self) -> bytes:
        out = b"".join(self._parts)
        self._parts.clear()
        return out


def _check_sendable(kind: pa.DataType, column: str, depth: int = 1) -> None:
    """Reject a type that Arrow IPC does not support (code 13)."""
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
            f"support; cast the column to its value type"
        )
    for number in range(kind.num_fields):
        _check_sendable(kind.field(number).type, column, depth + 1)


def _chunks(
    reader: pa.RecordBatchReader,
    new_writer: Any,
    batches: Iterable[pa.RecordBatch],
    *,
    deltas: bool = False,
) -> Iterator[bytes]:
    import pyarrow as pa

    for field in reader.schema:
        _check_sendable(field.type, field.name)
    sink = _Chunks()
    # Writers produce many small pieces; without a buffer, each piece would wait for the GIL.
    sink_buffer = pa.BufferedOutputStream(pa.PythonFile(sink, mode="w"), BUFFER_BYTES)
    with sink_buffer:
        with (
            reader,
            new_writer(
                sink_buffer,
                reader.schema,
                options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas),
            ) as writer,
        ):
            sink_buffer.flush()
            yield sink.drain()
            for batch in batches:
                writer.write_batch(batch)
                sink_buffer.flush()
                yield sink.drain()
        sink_buffer.flush()
        yield sink.drain()


def stream_chunks(reader: pa.RecordBatchReader) -> Iterator[bytes]:
    """Convert record batches to an Arrow IPC stream, one batch per chunk."""
    import pyarrow as pa

    return _chunks(reader, pa.ipc.new_stream, reader)


def file_chunks(reader: pa.RecordBatchReader) -> Iterator[bytes]:
    """Convert record batches to an Arrow IPC file, one batch per chunk."""
    import pyarrow as pa

    return _chunks(reader, pa.ipc.new_file, _with_growing_dictionaries(reader), deltas=True)


def _with_growing_dictionaries(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yield batches in which each dictionary extends that of the batch before.

    An Arrow IPC file cannot replace a dictionary, and those of stored batches may differ.

    Raises:
        pyarrow.ArrowInvalid: the index type of a column is too small for all values.
    """
    import pyarrow as pa

    coded = [
        number for number, each in enumerate(reader.schema) if pa.types.is_dictionary(each.type)
    ]
    known: dict[int, pa.Array] = {}
    for batch in reader:
        columns = list(batch.columns)
        for number in coded:
            columns[number] = _extended(columns[number], known.get(number))
            known[number] = columns[number].dictionary
        yield pa.RecordBatch.from_arrays(columns, schema=batch.schema) if coded else batch


def _extended(column: pa.DictionaryArray, known: pa.Array | None) -> pa.DictionaryArray:
    """Return a column with a dictionary that starts with the known values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if known is None or column.dictionary.equals(known):
        return column
    new = column.dictionary.filter(pc.invert(pc.is_in(column.dictionary, value_set=known)))
    dictionary = pa.concat_arrays([known, new])
    places = pc.index_in(column.dictionary, value_set=dictionary)
    indices = places.take(column.indices).cast(column.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=column.type.ordered)


def read_file_stream(source: BufferedReader) -> pa.RecordBatchReader:
    """Open an Arrow IPC file for sequential reading; each batch is fully validated.

    The file format is the stream format between a magic number and a footer, so no seeking is
    needed.

    Raises:
        pyarrow.ArrowInvalid: the data is not such a file; also raised when an invalid batch is
            read.
    """
    import pyarrow as pa

    from .ipc import open_checked

    if source.read(len(FILE_MAGIC)) != FILE_MAGIC:
        raise pa.ArrowInvalid("not an Arrow IPC file: the magic number is missing")
    # Zeros pad the magic number to the writer's alignment: 8 bytes for most writers, 64 for Rust's.
    while source.peek(1)[:1] == b"\0":
        source.read(1)
    return open_checked(source)
