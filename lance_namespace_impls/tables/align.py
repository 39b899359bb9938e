"""Aligns record batches for pylance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

__all__ = ["ROWS_PER_FILE", "aligned", "cast", "split_at_files"]

ROWS_PER_FILE = 1 << 20
"""Number of rows that pylance writes to one file by default."""

# In bytes. Arrow requires at least 8; Rust requires the size of the widest value, and panics
# otherwise.
_LEAST, _WIDE = 8, 16


def aligned(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch, with misaligned or unreadable columns copied.

    Other writers, including the Java one, pad the buffers of an Arrow stream to only 8 bytes.
    Whether a 128-bit column in such a stream is aligned then depends on the preceding columns.
    pylance also panics on a slice of a struct that contains another struct.

    Source: the Arrow columnar format, "Buffer Alignment and Padding".
    """
    import pyarrow as pa

    before = batch.columns
    columns = [_aligned(column) for column in before]
    if all(new is old for new, old in zip(columns, before, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def cast(values: Any, kind: pa.DataType, *, safe: bool = True) -> Any:
    """Return an array, or a chunked array, cast to a type.

    When pyarrow casts lists to fixed-size lists, it crashes if all lists are empty and their values
    have no buffer, as in streams from the JVM or another process. Such arrays are copied first.

    Args:
        values: a ``pyarrow.Array`` or ``pyarrow.ChunkedArray``.
        kind: the target type.
        safe: whether a value that does not fit is an error.

    Raises:
        pyarrow.ArrowException: the cast is impossible, or a value does not fit.
    """
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([cast(each, kind, safe=safe) for each in values.chunks], kind)
    if _has_empty_lists(values):
        values = values.take(pa.array(range(len(values))))
    return values.cast(kind, safe=safe)


def _has_empty_lists(array: pa.Array) -> bool:
    """Return whether an array contains lists, at any depth, that have no values at all."""
    from pyarrow import types as is_

    kind = array.type
    if is_.is_struct(kind):
        return any(_has_empty_lists(array.field(place)) for place in range(kind.num_fields))
    if is_.is_list(kind) or is_.is_large_list(kind):
        return (len(array) > 0 and len(array.values) == 0) or _has_empty_lists(array.values)
    if is_.is_fixed_size_list(kind):
        return _has_empty_lists(array.values)
    return False


def split_at_files(
    rows: pa.RecordBatchReader, rows_per_file: int = ROWS_PER_FILE
) -> pa.RecordBatchReader:
    """Return a reader for the same rows that has no batch with structs spanning two files.

    pylance slices a batch at the end of a file, and then fails on structs of booleans and panics on
    structs of structs.

    Args:
        rows: the rows; returned unchanged if no column contains a struct.
        rows_per_file: the number of rows after which pylance begins a new file.
    """
    import pyarrow as pa

    if not any(_has_struct(field.type) for field in rows.schema):
        return rows
    return pa.RecordBatchReader.from_batches(rows.schema, _split(rows, rows_per_file))


def _split(batches: Iterable[pa.RecordBatch], rows_per_file: int) -> Iterator[pa.RecordBatch]:
    left = rows_per_file
    for batch in batches:
        start = 0
        while batch.num_rows - start > left:
            yield aligned(batch.slice(start, left))
            start += left
            left = rows_per_file
        rest = batch.slice(start) if start else batch
        yield aligned(rest)
        left = left - rest.num_rows or rows_per_file


def _aligned(column: Any) -> Any:
    import pyarrow as pa

    unit = _WIDE if _is_wide(column.type) else _LEAST
    buffers = column.buffers()
    if _is_view(column.type):
        buffers = buffers[
            :2
        ]  # the buffers after the views contain characters, which need no alignment
    is_aligned = all(buffer is None or buffer.address % unit == 0 for buffer in buffers)
    if is_aligned and not (_has_struct(column.type) and _is_sliced(column)):
        return column
    return pa.concat_arrays([column])


def _is_wide(kind: Any) -> bool:
    """Return whether values of a type, or nested values, have 128 bits or more."""
    import pyarrow as pa
    from pyarrow import types as is_

    if isinstance(kind, pa.BaseExtensionType):
        return _is_wide(kind.storage_type)
    if is_.is_dictionary(kind):
        return _is_wide(kind.value_type)
    if is_.is_nested(kind):
        return any(_is_wide(kind.field(index).type) for index in range(kind.num_fields))
    return bool(is_.is_decimal128(kind) or is_.is_decimal256(kind) or _is_view(kind))


def _has_struct(kind: Any) -> bool:
    from pyarrow import types as is_

    return bool(is_.is_struct(kind)) or any(
        _has_struct(kind.field(index).type) for index in range(kind.num_fields)
    )


def _is_sliced(column: Any) -> bool:
    """Return whether an array, or one nested in it, starts after the beginning of its buffers."""
    import pyarrow as pa
    from pyarrow import types as is_

    kind = column.type
    if column.offset:
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return _is_sliced(column.storage)
    if is_.is_struct(kind):
        return any(_is_sliced(column.field(index)) for index in range(kind.num_fields))
    if is_.is_map(kind):
        return _is_sliced(column.keys) or _is_sliced(column.items)
    return hasattr(kind, "value_field") and _is_sliced(column.values)


def _is_view(kind: Any) -> bool:
    from pyarrow import types as is_

    return bool(is_.is_string_view(kind) or is_.is_binary_view(kind))
