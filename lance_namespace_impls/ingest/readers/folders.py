"""Reads files together with the columns in the names of their folders."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa

from lance_namespace_client.errors import TableSchemaValidationError

from ...distributed.casts import MISFITS
from .base import Format, Piece

__all__ = ["read_piece"]


def read_piece(
    format: Format, piece: Piece, schema: pa.Schema, exact: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """Read a part of a file, with the columns in the names of its folders.

    The arguments are those of `Format.read`.

    Raises:
        TableSchemaValidationError: code 20, a value does not fit; the message names the file and
            the column.
    """
    values = dict(piece.file.folder_values)
    if not values:
        yield from format.read(piece, schema, exact)
        return
    constants = {
        name: _constant(piece.file.name, name, text, schema.field(name).type)
        for name, text in values.items()
    }
    stored = pa.schema([field for field in schema if field.name not in values])
    left = [name for name in exact if name not in values]
    for batch in format.read(piece, stored, left):
        columns = [
            pa.repeat(constants[field.name], batch.num_rows)
            if field.name in constants
            else batch.column(field.name)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _constant(file: str, name: str, text: str | None, kind: pa.DataType) -> pa.Scalar:
    if text is None:
        return pa.scalar(None, kind)
    try:
        return pa.array([text]).cast(kind)[0]
    except MISFITS as error:
        raise TableSchemaValidationError(
            f"{file}: column {name}: the folder's value {text[:100]!r} is not of type {kind}"
        ) from error
