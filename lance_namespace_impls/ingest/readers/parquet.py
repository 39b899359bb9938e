"""The Parquet format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import parquet
from pyarrow import types as is_

from lance_namespace_client.errors import TableSchemaValidationError

from ..sources import SourceFile
from .base import FileInfo, Piece, named_once, refused
from .typed import TypedFormat

__all__ = ["ParquetFormat", "rows_of"]

BATCH_ROWS = 64 << 10
# Allocations above this size are mapped from the system and returned to it for every batch.
BATCH_BYTES = 8 << 20
WRITTEN_BY_SPARK = b"org.apache.spark.version"
# Maximum distance from 1970 in microseconds that fits into 64-bit nanoseconds.
MAX_MICROSECONDS = 2**63 // 1000


class ParquetFormat(TypedFormat):
    """Parquet files; they are divided between row groups.

    Timestamps of the legacy type INT96 become microseconds, which cover their whole range, or
    nanoseconds if one of them has fractions of a microsecond.
    """

    def inspect(self, file: SourceFile) -> FileInfo:
        """Read the footer, and the INT96 timestamps unless Spark wrote them."""
        with refused(file), file.open() as source:
            metadata = parquet.read_metadata(source)
            unit = _int96_unit(source, metadata)
            schema = parquet.ParquetFile(
                source, metadata=metadata, coerce_int96_timestamp_unit=unit
            ).schema_arrow
            named_once(schema.names)
        groups = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
        return FileInfo(
            file=file, schema=schema.remove_metadata(), row_groups=groups, int96_unit=unit
        )

    def read(
        self, piece: Piece, schema: pa.Schema, exact: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Read row groups, one batch at a time."""
        with refused(piece.file), piece.file.open() as source:
            content = parquet.ParquetFile(
                source, pre_buffer=True, coerce_int96_timestamp_unit=piece.int96_unit
            )
            groups = list(piece.row_groups)
            batches = content.iter_batches(_batch_rows(content.metadata, groups), row_groups=groups)
            first = 1 + sum(
                content.metadata.row_group(i).num_rows for i in range(min(groups, default=0))
            )
            yield from self.converted(batches, schema, exact, first)


def _batch_rows(metadata: parquet.FileMetaData, groups: Sequence[int]) -> int:
    """Return the number of rows of these row groups that fit `BATCH_BYTES`, up to `BATCH_ROWS`."""
    parts = [metadata.row_group(group) for group in groups]
    rows, size = sum(each.num_rows for each in parts), sum(each.total_byte_size for each in parts)
    return int(min(BATCH_ROWS, max(1, BATCH_BYTES * rows // max(1, size))))


def rows_of(file: SourceFile) -> int:
    """Return the number of rows according to the file's footer."""
    with refused(file), file.open() as source:
        return int(parquet.read_metadata(source).num_rows)


def _int96_unit(source: Any, metadata: parquet.FileMetaData) -> str | None:
    """Return the unit that represents a file's INT96 timestamps without loss.

    INT96 has no unit. Arrow assumes nanoseconds, which overflow before 1677 and after 2262.

    Raises:
        TableSchemaValidationError: code 20, there is no such unit; the message names the column.
    """
    columns = [metadata.schema.column(index) for index in range(metadata.num_columns)]
    paths = [column.path for column in columns if column.physical_type == "INT96"]
    if not paths:
        return None
    if WRITTEN_BY_SPARK in (metadata.metadata or {}):
        return "us"
    fine, far = set(), set()
    for path in paths:
        units = [_moments(source, path, unit) for unit in ("us", "ns")]
        for coarse, exact in zip(*units, strict=True):
            if pc.any(
                pc.or_(pc.less(coarse, -1 - MAX_MICROSECONDS), pc.greater(coarse, MAX_MICROSECONDS))
            ).as_py():
                far.add(path)
            near = pc.less_equal(pc.abs(coarse), MAX_MICROSECONDS)
            nanoseconds = pc.multiply(coarse.filter(near), 1000)
            if pc.any(pc.not_equal(nanoseconds, exact.filter(near))).as_py():
                fine.add(path)
    if not fine:
        return "us"
    if far:
        raise TableSchemaValidationError(
            f"column {min(fine)} has nanoseconds, and column {min(far)} timestamps before "
            "1677 or after 2262, which nanoseconds cannot represent: write the file's "
            "timestamps as microseconds"
        )
    return "ns"


def _moments(source: Any, path: str, unit: str) -> Iterator[pa.Array]:
    """Read a column of timestamps, nested or not, as integers."""
    content = parquet.ParquetFile(source, coerce_int96_timestamp_unit=unit)
    for batch in content.iter_batches(BATCH_ROWS, columns=[path]):
        for array in batch.columns:
            for leaf in _leaves(array):
                yield leaf.cast(pa.int64()).drop_null()


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    if is_.is_struct(array.type):
        for child in array.flatten():
            yield from _leaves(child)
    elif is_.is_map(array.type):
        yield from (*_leaves(array.keys), *_leaves(array.items))
    elif is_.is_nested(array.type):
        yield from _leaves(array.flatten())
    else:
        yield array
