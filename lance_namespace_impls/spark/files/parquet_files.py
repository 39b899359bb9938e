"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import parquet

from lance_namespace_client._ipc import validated

from ..columns import cast_batch
from .base import Format, Look, Piece, named_once, refused
from .sources import SourceFile

__all__ = ["ParquetFormat"]

BATCH_ROWS = 64 << 10


class ParquetFormat(Format):
    """Parquet files: divided between row groups."""

    def look(self, file: SourceFile) -> Look:
        """Read the footer."""
        with refused(file), file.open() as source:
            content = parquet.ParquetFile(source)
            metadata, schema = content.metadata, content.schema_arrow
            named_once(schema.names)
        groups = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
        return Look(file=file, schema=schema.remove_metadata(), row_groups=groups)

    def read(self, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read row groups, a batch at a time."""
        with refused(piece.file), piece.file.open() as source:
            content = parquet.ParquetFile(source, pre_buffer=True)
            batches = content.iter_batches(BATCH_ROWS, row_groups=list(piece.row_groups))
            for batch in validated(batches):
                yield cast_batch(batch, schema)

    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Parquet files say themselves what type their values are read in."""
        return kind
