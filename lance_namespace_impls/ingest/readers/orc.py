"""The ORC format."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa

from ...core.imports import load
from ..sources import SourceFile
from .base import FileInfo, Piece, named_once, refused
from .typed import TypedFormat

__all__ = ["OrcFormat"]


class OrcFormat(TypedFormat):
    """ORC files; they are divided between stripes.

    Arrow reads timestamps in nanoseconds, and rejects those before 1677 or after 2262.
    """

    def inspect(self, file: SourceFile) -> FileInfo:
        """Read the footer."""
        with refused(file), file.open() as source:
            content = load("pyarrow.orc").ORCFile(source)
            schema = content.schema.remove_metadata()
            named_once(schema.names)
            stripes = content.nstripes
        sizes = [max(1, file.size // stripes)] * stripes if stripes else []
        return FileInfo(file=file, schema=schema, row_groups=sizes)

    def read(
        self, piece: Piece, schema: pa.Schema, exact: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Read stripes, one at a time; row numbers in messages count from the first stripe read."""
        with refused(piece.file), piece.file.open() as source:
            content = load("pyarrow.orc").ORCFile(source)
            stripes = map(content.read_stripe, piece.row_groups)
            yield from self.converted(stripes, schema, exact)
