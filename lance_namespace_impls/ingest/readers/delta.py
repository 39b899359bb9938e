"""Delta Lake tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ...core.imports import load
from ..lakes import open_delta, table_failure
from ..sources import SourceFile
from .base import FileInfo, Piece, named_once
from .typed import TypedFormat

__all__ = ["DeltaFormat"]


class DeltaFormat(TypedFormat):
    """A version of a Delta table, read by one task.

    deltalake applies deletion vectors, partition columns and column mapping, and rejects tables
    with features that it does not support.
    """

    def inspect(self, file: SourceFile) -> FileInfo:
        """Read the schema of the version."""
        try:
            schema = pa.schema([_plain(field) for field in _scan(file).schema])
            named_once(schema.names)
        except Exception as error:
            raise table_failure(error, file.name) from error
        return FileInfo(file=file, schema=schema, row_groups=[max(1, file.size)])

    def read(
        self, piece: Piece, schema: pa.Schema, exact: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Read the rows of the version, one batch at a time."""
        try:
            yield from self.converted(_scan(piece.file), schema, exact)
        except Exception as error:
            raise table_failure(error, piece.file.name) from error

    def described(self, files: Sequence[SourceFile]) -> dict[str, str]:
        """Return the versions of the tables."""
        return {"version": ", ".join(str(file.version) for file in files)}


def _scan(file: SourceFile) -> Any:
    table = open_delta(file.store or file.path, file.storage, file.version)
    return load("pyarrow").RecordBatchReader.from_stream(table.scan())


def _plain(field: Any) -> Any:
    """Return a field without view types: deltalake returns them, but Delta does not have them."""
    views = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return pa.field(field.name, _without(field.type, views), field.nullable)


def _without(kind: pa.DataType, views: dict[pa.DataType, pa.DataType]) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_plain(child) for child in kind])
    if pa.types.is_map(kind):
        return pa.map_(_without(kind.key_type, views), _without(kind.item_type, views))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_without(kind.value_type, views))
    return views.get(kind, kind)
