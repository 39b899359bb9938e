# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
# pyarrow has no type information.
# mypy: disable-error-code="import-untyped"

"""Validation of untrusted Arrow IPC data.

pyarrow trusts the data: an offset beyond its buffer reads other memory or crashes the process, and
a few compressed bytes may claim any size. Therefore, before a message is decoded, the sizes that it
claims are compared with the number of received bytes, and each decoded batch is fully validated.

Source: the Arrow columnar format, "Serialization and Interprocess Communication".
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_batches", "open_checked", "validated"]

# Maximum decoded size of a stream: this many bytes per received byte, but at least this many bytes.
# Columns with a single value compress even better, but are rarely this large.
DECODED_PER_BYTE = 32
DECODED_ANYWAY = 64 << 20
# Maximum number of rows in a batch without any bytes, such as nulls.
EMPTY_ROWS = 1 << 20
MAX_METADATA_BYTES = 16 << 20
PIECE_BYTES = 64 << 20

FEW_BYTES = 1 << 16
"""In-memory streams up to this size, in bytes, are checked as a whole before the first batch is
read."""

CONTINUATION = b"\xff\xff\xff\xff"
DICTIONARY_BATCH, RECORD_BATCH = 2, 3
# Arrow 0.17 marked compressed bodies only with this entry in a message's metadata.
EARLY_COMPRESSION = b"ARROW:experimental_compression"


def open_checked(
    source: Any, max_batch_bytes: int | None = None
) -> pa.RecordBatchReader:
    """Open an Arrow IPC stream whose batches are checked as they are read.

    Args:
        source: a binary file object, or bytes.
        max_batch_bytes: maximum decoded size of a batch, in bytes; unlimited by default.

    Raises:
        pyarrow.ArrowInvalid: the data is not a stream; also raised when an invalid batch is read.
    """
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(*open_batches(source, max_batch_bytes))


def open_batches(
    source: Any, max_batch_bytes: int | None = None
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Open an Arrow IPC stream like `open_checked`; return its schema and its batches."""
    import pyarrow as pa

    sizes = _Sizes(max_batch_bytes)
    few: _Messages | None = None
    if isinstance(source, bytes | bytearray | memoryview | pa.Buffer):
        source = pa.py_buffer(source)
        if source.size <= FEW_BYTES:
            few = _Messages(pa.BufferReader(source), sizes)
        source = pa.BufferReader(source)
    # If the data is small, pyarrow reads the buffer directly; otherwise, it calls Python for each
    # piece.
    stream = pa.ipc.open_stream(_Messages(source, sizes) if few is None else source)
    schema = stream.schema
    try:
        for field in schema:
            _check_names(field)
    except UnicodeDecodeError:
        raise pa.ArrowInvalid("the name of a column is not valid UTF-8") from None
    batches = stream if few is None else _checked_batches(few, stream)
    return schema, validated(batches, sizes)


def _checked_batches(
    messages: _Messages, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Check the sizes in all messages, and then return the batches."""
    messages.check()
    yield from batches


def validated(
    batches: Iterable[pa.RecordBatch], sizes: _Sizes | None = None
) -> Iterator[pa.RecordBatch]:
    """Return the batches after validating each of them fully.

    Raises:
        pyarrow.ArrowInvalid: a batch is invalid; the message names the batch and the column.
    """
    import pyarrow as pa

    for number, batch in enumerate(batches):
        try:
            batch.validate(full=True)
        except pa.ArrowException:
            raise pa.ArrowInvalid(f"batch {number}: {_fault(batch)}") from None
        if sizes is not None:
            sizes.check_expanded(batch)
        yield batch


def _check_names(field: pa.Field) -> None:
    """Raise UnicodeDecodeError if the name of a field, including nested fields, is not UTF-8."""
    _ = field.name
    for i in range(field.type.num_fields):
        _check_names(field.type.field(i))


def _fault(batch: pa.RecordBatch) -> str:
    """Describe the first invalid column and the error."""
    import pyarrow as pa

    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowException as error:
            return f"column {name[:100]!r} is not valid: {' '.join(str(error).split())[:300]}"
    return "its columns are inconsistent"


class _Sizes:
    """Compares the sizes that a stream claims with the number of received bytes."""

    def __init__(self, max_batch_bytes: int | None) -> None:
        self._most = max_batch_bytes
        self._sent = 0
        self._decoded = 0
        self._grown: dict[int, int] = {}

    def sent(self, count: int) -> None:
        """Record the number of received bytes."""
        self._sent += count

    def check_length(self, body: int) -> None:
        """Reject a message whose body exceeds the maximum size of a batch."""
        if body < 0:
            raise _invalid("a message has a negative length")
        if self._most is not None and body > self._most:
            raise _invalid(
                f"a batch has {body} bytes, but the maximum is {self._most}; send smaller batches"
            )

    def check_decoded(self, decoded: int, rows: int, grown: int | None = None) -> None:
        """Reject a batch before it is decoded if it would be too large when decoded.

        Args:
            decoded: decoded size of the batch in bytes.
            rows: number of rows in the batch.
            grown: id of the dictionary to which the batch adds values.
        """
        self.check_length(decoded)
        if grown is not None:
            self._grown[grown] = self._grown.get(grown, 0) + decoded
            self.check_length(sum(self._grown.values()))
        self._decoded += decoded
        if self._decoded > DECODED_ANYWAY + DECODED_PER_BYTE * self._sent:
            raise _invalid(
                f"{self._sent} bytes would expand to {self._decoded} when they are decompressed; "
                "send them without compression"
            )
        if rows > max(EMPTY_ROWS, 8 * decoded):
            raise _invalid(
                f"a batch claims {rows} rows in {decoded} bytes; send smaller batches"
            )

    def check_expanded(self, batch: pa.RecordBatch) -> None:
        """Reject a batch whose values would take too much memory if they were stored separately.

        Several views may refer to the same long value, but Lance writes the value for each of them.
        """
        expanded = sum(map(_expanded, batch.columns))
        if expanded:
            self.check_length(expanded)
            if expanded > DECODED_ANYWAY + DECODED_PER_BYTE * self._sent:
                raise _invalid(
                    f"{self._sent} bytes refer to values of {expanded} bytes in a batch; "
                    "send smaller batches"
                )


def _invalid(message: str) -> Exception:
    import pyarrow as pa

    error: Exception = pa.ArrowInvalid(message)
    return error


def _expanded(array: Any) -> int:
    """Return the size, in bytes, of a view array's values if each is stored separately."""
    import pyarrow as pa

    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _expanded(array.storage)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return sum(_view_lengths(array))
    if pa.types.is_dictionary(kind):
        return _expanded(array.dictionary)
    if pa.types.is_struct(kind):
        return sum(_expanded(array.field(i)) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _expanded(array.keys) + _expanded(array.items)
    if (
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
    ):
        return _expanded(array.values)
    return 0


def _view_lengths(array: Any) -> list[int]:
    """Return the lengths of the values of a view array."""
    views = array.buffers()[1]
    if views is None:
        return []
    words = memoryview(views).cast("B").cast("i")
    lengths = words[4 * array.offset : 4 * (array.offset + len(array))].tolist()[::4]
    return [max(0, length) for length in lengths]


class _Messages:
    """A file object that returns the messages of a stream only after checking the sizes in them."""

    closed = False

    def __init__(self, source: Any, sizes: _Sizes) -> None:
        # Arrow's file objects return memory without a copy if possible.
        self._read = (
            source.read_buffer if hasattr(source, "read_buffer") else source.read
        )
        self._sizes = sizes
        self._piece: Any = b""
        self._metadata: bytes | None = None
        """Metadata of the message whose body is read next."""
        self._ended = False

    def close(self) -> None:
        self.closed = True

    def read(self, size: int) -> Any:
        if not len(self._piece):
            self._piece = self._next()
        if len(self._piece) == size:
            piece, self._piece = self._piece, b""
            return piece
        parts = []
        while size and len(self._piece):
            part = memoryview(self._piece)[:size]
            self._piece = memoryview(self._piece)[len(part) :]
            parts.append(part)
            size -= len(part)
            if size and not len(self._piece):
                self._piece = self._next()
        return b"".join(parts)

    def check(self) -> None:
        """Check all messages up to the end of the stream, without returning them."""
        while self._head() and not self._ended:
            metadata, self._metadata = self._metadata, None
            if metadata is not None:
                self._body(metadata)

    def _next(self) -> Any:
        """Return the next part of the stream: the metadata or the body of a message."""
        metadata, self._metadata = self._metadata, None
        body = self._body(metadata) if metadata is not None else b""
        return body if len(body) else self._head()

    def _body(self, metadata: bytes) -> Any:
        try:
            length = _body_length(metadata)
            self._sizes.check_length(length)
            body = self._read_bytes(length)
            self._sizes.sent(len(metadata) + len(body))
            found = _claims(metadata, memoryview(body))
        except struct.error as error:
            raise _invalid(f"a message cannot be read: {error}") from None
        if found is not None:
            self._sizes.check_decoded(*found)
        return body

    def _head(self) -> bytes:
        prefix = bytes(self._read_bytes(4))
        if prefix == CONTINUATION:
            prefix += bytes(self._read_bytes(4))
        if len(prefix) % 4 or not prefix:
            return prefix
        (length,) = struct.unpack_from("<i", prefix, len(prefix) - 4)
        if length == 0:
            self._ended = True
            return prefix
        if not 0 < length <= MAX_METADATA_BYTES:
            raise _invalid(
                f"a message has {length} bytes of metadata; check that the data is an Arrow IPC "
                f"stream"
            )
        metadata = bytes(self._read_bytes(length))
        if len(metadata) < length:
            raise _invalid("the stream ends within a message")
        if _may_have_body(metadata):
            self._metadata = metadata
        else:
            self._body(metadata)  # Arrow decodes a message without a body immediately
        return prefix + metadata

    def _read_bytes(self, size: int) -> Any:
        """Read up to `size` bytes, without allocating more memory than the received bytes need."""
        part = self._read(min(size, PIECE_BYTES)) if size else b""
        if len(part) == size or not len(part):
            return part
        parts, size = [part], size - len(part)
        while size:
            part = self._read(min(size, PIECE_BYTES))
            if not len(part):
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _may_have_body(metadata: bytes) -> bool:
    try:
        return _body_length(metadata) != 0
    except struct.error:
        return True  # reported when the body is read


# --- decoding of the FlatBuffers fields that contain the sizes, which pyarrow does not expose


_read_u16 = struct.Struct("<H").unpack_from
_read_i32 = struct.Struct("<i").unpack_from
_read_u32 = struct.Struct("<I").unpack_from


def _u32(data: bytes, at: int) -> int:
    return int(_read_u32(data, at)[0])


def _field(data: bytes, table: int, index: int) -> int | None:
    """Return the position of a field in a table, or None if the field is absent."""
    vtable = table - int(_read_i32(data, table)[0])
    if vtable < 0:
        raise struct.error("an offset is out of bounds")
    (size,) = _read_u16(data, vtable)
    if 4 + 2 * index >= size:
        return None
    (offset,) = _read_u16(data, vtable + 4 + 2 * index)
    return table + offset if offset else None


def _child(data: bytes, table: int, index: int) -> int | None:
    at = _field(data, table, index)
    return None if at is None else at + _u32(data, at)


def _structs(data: bytes, table: int, index: int) -> Iterator[tuple[int, int]]:
    """Return the structs of two 64-bit numbers in a vector."""
    at = _child(data, table, index)
    if at is not None:
        end = at + 4 + 16 * _u32(data, at)
        if end > len(data):
            raise struct.error("a vector is out of bounds")
        yield from struct.iter_unpack("<qq", data[at + 4 : end])


def _body_length(metadata: bytes) -> int:
    at = _field(metadata, _u32(metadata, 0), 3)
    return 0 if at is None else int(struct.unpack_from("<q", metadata, at)[0])


def _claims(metadata: bytes, body: memoryview) -> tuple[int, int, int | None] | None:
    """Return the decoded size, in bytes, and the number of rows that a batch claims.

    The third value is the id of the dictionary to which the batch adds values, or None. For
    messages that are not batches, the result is None.
    """
    message = _u32(metadata, 0)
    kind_at = _field(metadata, message, 1)
    kind = metadata[kind_at] if kind_at is not None and kind_at < len(metadata) else 0
    batch = _child(metadata, message, 2)
    grown = None
    if batch is not None and kind == DICTIONARY_BATCH:
        grown = _grown_dictionary(metadata, batch)
        batch = _child(metadata, batch, 1)
    if batch is None or kind not in (DICTIONARY_BATCH, RECORD_BATCH):
        return None
    if EARLY_COMPRESSION in metadata:
        raise _invalid(
            "the compression of Arrow 0.17 is not supported; use a newer version to write it"
        )
    length_at = _field(metadata, batch, 0)
    rows = (
        0
        if length_at is None
        else int(struct.unpack_from("<q", metadata, length_at)[0])
    )
    rows = max([rows, *(length for length, _ in _structs(metadata, batch, 1))])
    compressed = _field(metadata, batch, 3) is not None
    decoded = 0
    for offset, length in _structs(metadata, batch, 2):
        if offset < 0 or length < 0 or offset + length > len(body):
            raise _invalid("a buffer exceeds its message; the stream may be truncated")
        size = length
        if compressed and length:
            (size,) = struct.unpack_from("<q", body[offset : offset + length])
            if size < 0:  # this buffer is not compressed
                size = length
        decoded += size
    return decoded, rows, grown


def _grown_dictionary(metadata: bytes, batch: int) -> int | None:
    """Return the id of the dictionary to which a batch adds values, or None if it replaces one."""
    delta = _field(metadata, batch, 2)
    if delta is None or not metadata[delta]:
        return None
    number = _field(metadata, batch, 0)
    return 0 if number is None else int(struct.unpack_from("<q", metadata, number)[0])
