"""Iceberg tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ..extras import load_extra
from ..lakes import open_iceberg, table_failure
from ..sources import SourceFile
from .base import FileInfo, Piece, named_once
from .typed import TypedFormat

__all__ = ["IcebergFormat"]


class IcebergFormat(TypedFormat):
    """The current snapshot of an Iceberg metadata file, divided between data files.

    pyiceberg applies positional deletes and deletion vectors, schema evolution and partitions. It
    rejects equality deletes.
    """

    def inspect(self, file: SourceFile) -> FileInfo:
        """Read the schema and the sizes of the data files."""
        try:
            scan = _scan(file)
            schema = _arrow(scan)
            named_once(schema.names)
            sizes = [max(1, task.file.file_size_in_bytes) for task in _tasks(scan)]
        except Exception as error:
            raise table_failure(error, file.name) from error
        return FileInfo(file=file, schema=schema, row_groups=sizes)

    def read(
        self, piece: Piece, schema: pa.Schema, exact: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Read data files, one batch at a time; row numbers count from the first one read."""
        try:
            scan = _scan(piece.file)
            tasks = _tasks(scan)
            chosen = [tasks[number] for number in piece.row_groups]
            arrow = load_extra("pyiceberg.io.pyarrow", "importing Iceberg tables", "iceberg-tables")
            reading = arrow.ArrowScan(
                scan.table_metadata, scan.io, scan.projection(), scan.row_filter
            )
            yield from self.converted(reading.to_record_batches(chosen), schema, exact)
        except Exception as error:
            raise table_failure(error, piece.file.name) from error

    def described(self, files: Sequence[SourceFile]) -> dict[str, str]:
        """Return the metadata files."""
        return {"metadata": ", ".join(file.path for file in files)}


def _scan(file: SourceFile) -> Any:
    # The metadata file is immutable: its current snapshot is the same on every worker.
    return open_iceberg(file.store or file.path, file.storage).scan()


def _tasks(scan: Any) -> list[Any]:
    """Return the data files with their deletes, in the same order on every worker."""
    return sorted(scan.plan_files(), key=lambda task: str(task.file.file_path))


def _arrow(scan: Any) -> pa.Schema:
    arrow = load_extra("pyiceberg.io.pyarrow", "importing Iceberg tables", "iceberg-tables")
    found = arrow.schema_to_pyarrow(scan.projection(), include_field_ids=False)
    return pa.schema([field.remove_metadata() for field in found])
