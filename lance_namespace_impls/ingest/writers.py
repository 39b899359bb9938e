"""Writes rows to files that the import readers read back unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv as pa_csv
from pyarrow import parquet
from pyarrow import types as is_

from lance_namespace_client.errors import TableSchemaValidationError

__all__ = ["RowWriter", "open_writer"]


class RowWriter(Protocol):
    """A writer of record batches to a file."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write a batch of rows."""


@contextmanager
def open_writer(sink: Any, schema: pa.Schema, format: str) -> Iterator[RowWriter]:
    """Open a row writer.

    Args:
        sink: a path, or a file.
        schema: schema of the rows.
        format: ``csv``, ``parquet`` or ``arrow``.

    Raises:
        TableSchemaValidationError: code 20, the format cannot represent the rows.
    """
    if format == "parquet":
        with parquet.ParquetWriter(sink, schema) as writer:
            yield writer
    elif format == "arrow":
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        with pa.ipc.new_file(sink, schema, options=options) as writer:
            yield _GrowingDictionaries(writer)
    else:
        cells = pa.schema([(field.name, _cell_type(field.type)) for field in schema])
        nested = [field.name for field in schema if is_.is_nested(field.type)]
        if nested:
            raise TableSchemaValidationError(
                f"CSV cannot store lists and structs: exclude {', '.join(nested)} with "
                "--select, or write Parquet or Arrow"
            )
        with pa_csv.CSVWriter(sink, cells) as writer:
            yield _Cells(writer, cells)


def _cell_type(kind: pa.DataType) -> pa.DataType:
    """Return the CSV cell type of a column, which replaces types that Arrow cannot write."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.bool_() if kind.extension_name == "arrow.bool8" else _cell_type(kind.storage_type)
    if is_.is_dictionary(kind):
        return _cell_type(kind.value_type)
    if is_.is_timestamp(kind) and kind.tz:
        # Arrow drops the seconds of UTC offsets; until about 1900, many zones had such offsets.
        return pa.timestamp(kind.unit, "UTC")
    if is_.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if is_.is_binary_view(kind) else kind


class _Cells:
    """A CSV writer.

    Args:
        writer: Arrow's writer.
        schema: types of the cells.
    """

    def __init__(self, writer: pa_csv.CSVWriter, schema: pa.Schema) -> None:
        self._writer = writer
        self._schema = schema

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write a batch of rows.

        Raises:
            TableSchemaValidationError: code 20, bytes are not valid text.
        """
        arrays = [
            self._cells(field, column) for field, column in zip(self._schema, batch, strict=True)
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def _cells(self, field: pa.Field, column: pa.Array) -> pa.Array:
        cells = column if column.type == field.type else _plain(column).cast(field.type)
        if is_.is_binary(cells.type) or is_.is_large_binary(cells.type):
            self._check_text(field.name, cells)
        elif is_.is_fixed_size_binary(cells.type):
            self._check_text(field.name, cells.cast(pa.binary()))
        return cells

    def _check_text(self, name: str, cells: pa.Array) -> None:
        try:
            cells.cast(pa.large_string())
        except pa.ArrowInvalid as error:
            raise TableSchemaValidationError(
                f"CSV cannot store bytes that are not text: exclude {name} with --select, or "
                "write Parquet or Arrow"
            ) from error


def _plain(column: pa.Array) -> pa.Array:
    """Return the values without extension type and dictionary encoding."""
    if isinstance(column, pa.ExtensionArray):
        return _plain(column.storage)
    return column.dictionary_decode() if is_.is_dictionary(column.type) else column


class _GrowingDictionaries:
    """An Arrow file writer; in such files, dictionaries may grow between batches but not change.

    Args:
        writer: Arrow's writer.
    """

    def __init__(self, writer: pa.ipc.RecordBatchFileWriter) -> None:
        self._writer = writer
        self._known: dict[int, pa.Array] = {}

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write a batch of rows."""
        arrays = [
            self._grown(index, column) if is_.is_dictionary(column.type) else column
            for index, column in enumerate(batch.columns)
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=batch.schema))

    def _grown(self, index: int, column: pa.DictionaryArray) -> pa.DictionaryArray:
        values = column.dictionary_decode()
        known = self._known.get(index, column.dictionary.slice(0, 0))
        new = pc.unique(values.drop_null())
        known = pa.concat_arrays([known, new.filter(pc.invert(pc.is_in(new, known)))])
        self._known[index] = known
        indices = pc.index_in(values, known, skip_nulls=True).cast(column.type.index_type)
        return pa.DictionaryArray.from_arrays(indices, known, ordered=column.type.ordered)
