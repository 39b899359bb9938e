"""Reads the content of blobs on the workers, from references in a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from attrs import frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
)

from ..core.imports import load
from ..distributed.calls import require_columns
from ..distributed.columns import cast_batch, spark_arrow_schema, to_spark_schema
from ..distributed.failures import coded
from ..distributed.options import require_positive
from ..distributed.secrets import map_in_arrow
from ..distributed.type_names import parse_types
from .dataframe_reader import target_of
from .extra import require_pyspark
from .read_plan import REFERENCE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..catalog.namespace import Namespace
    from ..distributed.target import Target

__all__ = ["BlobFunction", "resolve_blobs"]

BlobFunction = Callable[[Sequence[bytes | None]], pa.RecordBatch]
"""Computes columns from the content of blobs, with a row for each, in the same order."""

BATCH_BYTES = 64 << 20


def resolve_blobs(
    frame: DataFrame,
    namespace: Namespace,
    table: str | Sequence[str],
    column: str,
    function: BlobFunction | None = None,
    *,
    types: str | None = None,
    batch_bytes: int = BATCH_BYTES,
) -> DataFrame:
    """Return a frame with the blobs that a column of references points to, read on the workers.

    Without a function, the content replaces the references. With a function, the columns that it
    computes are added to the frame, and the content never reaches the JVM.

    Args:
        frame: a frame with a column of references, from `read_table` or the data source with
            ``blobs="references"``.
        namespace: namespace of the table that the references point to.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        column: the column of references in the frame.
        function: receives the contents of up to `batch_bytes`; None for a null.
        types: Arrow types of the columns that the function returns, such as
            ``width:int32, embedding:float32[512]``.
        batch_bytes: total size of the blobs that a worker reads for one call; one blob may be
            larger.

    Raises:
        TableNotFoundError: code 4.
        TableVersionNotFoundError: code 11, the version of a reference was cleaned up.
        TableColumnNotFoundError: code 12, the frame has no such column.
        InvalidInputError: code 13, the column has no references, `types` is missing or names an
            existing column, or the function returns a different number of rows.
        TableSchemaValidationError: code 20, the function returns columns other than `types`.
    """
    require_pyspark()
    from pyspark.sql.types import StructType

    require_positive(batch_bytes=batch_bytes)
    target = target_of(namespace, table)
    if column not in frame.columns:
        raise TableColumnNotFoundError(
            f"{target.name}: the DataFrame has no column {column}; it has {', '.join(frame.columns)}"
        )
    place = frame.columns.index(column)
    reference = to_spark_schema(pa.schema([("reference", REFERENCE)]))[0].dataType
    if frame.schema[place].dataType != reference:
        raise InvalidInputError(
            f"{target.name}: column {column} is {frame.schema[place].dataType.simpleString()}, not "
            "a reference to a blob; read the table with blobs='references'"
        )
    added_schema = pa.schema(list(parse_types(types or "").items()))
    if (function is None) != (not added_schema.names):
        raise InvalidInputError(
            f"{target.name}: types= is required with a function, and only then; specify the "
            "columns that it returns, such as 'width:int32'"
        )
    if duplicates := [name for name in added_schema.names if name in frame.columns]:
        raise InvalidInputError(
            f"{target.name}: the DataFrame already has a column {', '.join(duplicates)}"
        )
    if function is None:
        added_schema = pa.schema([(column, pa.binary())])
        own = [field for field in frame.schema if field.name != column]
    else:
        own = list(frame.schema)
    added = to_spark_schema(added_schema)
    names = frame.columns if function is None else [*frame.columns, *added_schema.names]
    by_name = {field.name: field for field in [*own, *added]}
    schema = StructType([by_name[name] for name in names])
    output_schema = spark_arrow_schema(schema)
    target.locate()  # a missing table is an error here, not in a task

    resolver = _Resolver(target, place, function, added_schema, output_schema, batch_bytes)
    return map_in_arrow(frame, resolver, schema)


@frozen
class _Resolver:
    """Reads blobs on a worker.

    Args:
        target: the table that the references point to.
        place: position of the column of references.
        function: computes columns from contents; None if they replace the references.
        added_schema: the columns that the function returns, or the column with the content.
        output_schema: Spark's Arrow schema of the result.
        batch_bytes: total size of the blobs that are read at a time.
    """

    target: Target
    place: int
    function: BlobFunction | None
    added_schema: pa.Schema
    output_schema: pa.Schema
    batch_bytes: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows with the contents, or with the columns of the function."""
        target = self.target
        with coded(f"reading blobs of {target.name}", target.namespace.config.secrets()):
            for batch in batches:
                for part in _parts(batch, self.place, self.batch_bytes):
                    yield self._resolved(part)

    def _resolved(self, part: pa.RecordBatch) -> pa.RecordBatch:
        contents = _read(self.target, part.column(self.place))
        columns = {name: part.column(name) for name in part.schema.names}
        if self.function is None:
            columns[self.added_schema.names[0]] = pa.array(contents, pa.large_binary())
        else:
            added_schema = require_columns(
                self.function(contents), self.added_schema, len(contents)
            )
            columns |= {name: added_schema.column(name) for name in self.added_schema.names}
        return cast_batch(pa.RecordBatch.from_pydict(columns), self.output_schema)


def _parts(batch: pa.RecordBatch, place: int, most: int) -> Iterator[pa.RecordBatch]:
    """Split a batch into parts whose blobs have at most `most` bytes, unless one is larger."""
    pc = load("pyarrow.compute")
    sizes = pc.fill_null(pc.struct_field(batch.column(place), "size"), 0).to_pylist()
    start = total = 0
    for row, size in enumerate(sizes):
        if row > start and total + size > most:
            yield batch.slice(start, row - start)
            start, total = row, 0
        total += size
    if start < batch.num_rows:
        yield batch.slice(start)


def _read(target: Target, references: pa.Array) -> list[bytes | None]:
    """Return the contents that references point to, in order."""
    contents: list[bytes | None] = [None] * len(references)
    groups: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for row, each in enumerate(references.to_pylist()):
        if each is not None:
            key = each["column"], each["version"]
            groups.setdefault(key, []).append((row, each["address"]))
    for (column, version), rows in groups.items():
        dataset = target.open(target.storage(), version)
        addresses = [address for _, address in rows]
        found = dataset.read_blobs(column, addresses=addresses, preserve_order=True)
        if [address for address, _ in found] != addresses:
            raise InvalidInputError(
                f"{target.name}: version {version} lacks rows that the references in column "
                f"{column} point to; read the references from this table, not from another one"
            )
        for (row, _), (_, content) in zip(rows, found, strict=True):
            contents[row] = content
    return contents
