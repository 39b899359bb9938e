"""Fast path from a table to a DataFrame: passes Arrow from Lance to Spark, without the data source.

>>> from lance_namespace_impls import connect
>>> from lance_namespace_impls.spark import read_table
>>> lake = connect("dir", {"path": "/data/lance"})
>>> read_table(spark, lake, ["flights"], columns=["day", "price"], filter="price > 9.5")
... # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError

from ..core.identifiers import to_identifier
from ..distributed.failures import coded
from ..distributed.options import require_positive
from ..distributed.secrets import map_in_arrow
from ..distributed.target import Target
from .extra import require_pyspark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

    from ..catalog.namespace import Namespace
    from .read_plan import Piece, Pinned

__all__ = [
    "count_rows",
    "pin_version",
    "read_table",
    "reader_of",
    "require_clear_keys",
    "target_of",
]

_NUMBERS_AN_ARRAY = 8192


def read_table(
    spark: SparkSession,
    namespace: Namespace,
    table: str | Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    filter: str | None = None,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    timestamp: datetime | None = None,
    with_row_id: bool = False,
    blobs: str = "binary",
    batch_rows: int | None = None,
    splits: int | None = None,
) -> DataFrame:
    """Return a table as a DataFrame, with the same rows and types as the data source.

    Workers read Lance and pass Arrow to Spark. Only `columns` and the rows that match `filter` are
    read. In contrast, `select` and `where` on the returned DataFrame drop data only after its
    transfer to Spark. Without a filter, its `count` uses the table's metadata.

    Args:
        spark: the session.
        namespace: namespace of the table; it is sent to the workers as its impl and properties.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        columns: columns to read; defaults to all.
        filter: condition in Lance's SQL for the rows to read; defaults to all.
        version: version to read; defaults to the current latest.
        tag: tag of the version.
        branch: branch; defaults to the main branch.
        timestamp: reads the latest version at that time; without a zone it is in UTC.
        with_row_id: whether to add a column `_rowid` with the row ids.
        blobs: ``binary`` reads the values of blob columns; ``references`` reads structs, which
            `resolve_blobs` resolves on the workers.
        batch_rows: maximum number of rows per batch sent to Spark; defaults to 65,536, limited to 8
            MiB.
        splits: maximum number of tasks; defaults to one per core of the cluster, and more for large
            tables.

    Raises:
        UnsupportedError: code 0, a column has a type that Spark does not have.
        TableNotFoundError: code 4.
        TableTagNotFoundError: code 8.
        TableVersionNotFoundError: code 11.
        TableColumnNotFoundError: code 12.
        InvalidInputError: code 13, the filter or `blobs` is invalid, or more than one of version,
            tag and timestamp is set.
        InvalidTableStateError: code 19, the table has no data.
        TableBranchNotFoundError: code 22.
    """
    require_pyspark()
    from ..distributed.columns import spark_arrow_schema
    from .read_plan import plan_tasks, readable_schema

    require_positive(splits=splits, batch_rows=batch_rows)
    pinned = pin_version(
        namespace,
        table,
        columns=columns,
        filter=filter,
        version=version,
        tag=tag,
        branch=branch,
        timestamp=timestamp,
        with_row_id=with_row_id,
        blobs=blobs,
    )
    schema = readable_schema(pinned)
    tasks = plan_tasks(pinned, splits, cores_of(spark))
    # Each row contains the number of a task.
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    reads = reader_of(pinned, tasks, spark_arrow_schema(schema), batch_rows)
    if len(schema) == 1 and isinstance(schema[0].dataType, _plain_numbers()):
        frame = _one_column(numbers, reads, schema[0])
    else:
        frame = map_in_arrow(numbers, reads, schema)
    return frame if filter is not None else _counting_by_metadata(frame, pinned)


def _counting_by_metadata(frame: DataFrame, pinned: Pinned) -> DataFrame:
    """Patch `count` of this frame, but not of derived frames, to use the table's metadata.

    If the frame is marked for caching, Spark counts the rows, because a count fills the cache.
    """
    by_spark = frame.count

    @wraps(by_spark)
    def count() -> int:
        level = frame.storageLevel
        return by_spark() if level.useMemory or level.useDisk else _count(pinned)

    frame.count = count  # type: ignore[method-assign]
    return frame


def _plain_numbers() -> tuple[type, ...]:
    from pyspark.sql.types import DoubleType, FloatType, IntegralType

    return (IntegralType, FloatType, DoubleType)


def _one_column(numbers: DataFrame, reads: Any, field: StructField) -> DataFrame:
    """Return a numeric column, which is transferred to Spark as arrays.

    Spark copies values from Python row by row. It copies an array as a whole and unpacks it in
    generated code, which is faster.
    """
    from pyspark.sql.functions import explode
    from pyspark.sql.types import ArrayType, StructType

    from ..distributed.columns import spark_arrow_schema

    arrays = StructType().add("numbers", ArrayType(field.dataType, field.nullable), False)
    target = spark_arrow_schema(arrays)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in reads(batches):
            starts = [*range(0, batch.num_rows, _NUMBERS_AN_ARRAY), batch.num_rows]
            parts = pa.ListArray.from_arrays(
                pa.array(starts, pa.int32()), batch.column(0), type=target[0].type
            )
            yield pa.record_batch([parts], schema=target)

    column = explode("numbers").alias(field.name, metadata=field.metadata)
    return map_in_arrow(numbers, read, arrays).select(column)


def reader_of(
    pinned: Pinned,
    tasks: Sequence[Sequence[Piece]],
    schema: pa.Schema,
    batch_rows: int | None = None,
) -> Any:
    """Return a function for the workers that reads the tasks whose numbers it receives."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from .read_plan import read_pieces

        target = pinned.target
        with coded(f"reading {target.name}", target.namespace.config.secrets()):
            for batch in batches:
                for task in batch.column(0).to_pylist():
                    yield from read_pieces(pinned, tasks[task], schema, batch_rows)

    return read


def cores_of(spark: SparkSession) -> int | None:
    """Return the number of concurrent tasks of the cluster, or None on Spark Connect.

    Spark Connect does not report it.
    """
    from pyspark.errors import PySparkAttributeError

    try:
        return int(spark.sparkContext.defaultParallelism)
    except PySparkAttributeError:
        return None


def count_rows(
    namespace: Namespace,
    table: str | Sequence[str],
    *,
    filter: str | None = None,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    timestamp: datetime | None = None,
) -> int:
    """Return the number of rows of a table, without Spark.

    Without a filter, the count comes from the table's metadata. With a filter, Lance counts the
    rows, using its indices.

    Args:
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        filter: condition in Lance's SQL for the rows to count; defaults to all.
        version: version; defaults to the latest.
        tag: tag of the version.
        branch: branch; defaults to the main branch.
        timestamp: uses the latest version at that time; without a zone it is in UTC.

    Raises:
        LanceNamespaceError: the errors of `read_table`.
    """
    pinned = pin_version(
        namespace,
        table,
        filter=filter,
        version=version,
        tag=tag,
        branch=branch,
        timestamp=timestamp,
    )
    return _count(pinned)


def _count(pinned: Pinned) -> int:
    try:
        return sum(int(found.count_rows(pinned.filter)) for _, found in pinned.datasets())
    except Exception as error:
        raise pinned.target.failure(error, "counting") from error


def pin_version(
    namespace: Namespace,
    table: str | Sequence[str],
    *,
    version: int | None,
    tag: str | None,
    timestamp: datetime | None,
    **more: Any,
) -> Pinned:
    """Look up a table or partitioned namespace and fix the version to read, as `pin` does."""
    from .read_plan import pin_rows

    if sum(each is not None for each in (version, tag, timestamp)) > 1:
        raise InvalidInputError("specify only one of version, tag and timestamp")
    chosen = version if version is not None else tag
    return pin_rows(target_of(namespace, table), version=chosen, timestamp=timestamp, **more)


def require_clear_keys(frame: DataFrame, keys: Sequence[str], what: str) -> None:
    """Reject keys that Spark's joins would confuse with another column of the frame.

    Raises:
        InvalidInputError: code 13, the message names the columns.
    """
    if frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true":
        return
    for key in keys:
        alike = [name for name in frame.columns if name.lower() == key.lower()]
        if len(alike) > 1:
            raise InvalidInputError(
                f"{what}: columns {', '.join(alike)} of the DataFrame differ only in case, and "
                "Spark would join on the first one; set spark.sql.caseSensitive to true"
            )


def target_of(namespace: Namespace, table: str | Sequence[str]) -> Target:
    """Return a job's target for a table identifier, given as a string or a list.

    Raises:
        InvalidInputError: code 13, a name is empty or not a string.
    """
    return Target(namespace=namespace, table=to_identifier(table))
