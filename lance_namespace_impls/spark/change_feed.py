"""Returns the rows inserted, updated and deleted between two versions (the change feed)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lance_namespace_client.errors import (
    InvalidInputError,
    TableVersionNotFoundError,
)

from ..distributed.failures import coded
from ..distributed.options import require_positive
from ..distributed.secrets import map_in_arrow
from .dataframe_reader import cores_of, target_of
from .extra import require_pyspark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ..catalog.namespace import Namespace
    from .read_plan import Pinned

__all__ = ["changes"]


def changes(
    spark: SparkSession,
    namespace: Namespace,
    table: str | Sequence[str],
    *,
    since: int | datetime,
    until: int | datetime | None = None,
    columns: Sequence[str] | None = None,
    batch_rows: int | None = None,
    splits: int | None = None,
) -> DataFrame:
    """Return the rows that the versions after `since` changed, up to and including `until`.

    A row that several versions change is returned once for each of them. Next to the table's
    columns, the frame has ``_change_type`` (``insert``, ``update`` with the new values, or
    ``delete`` with the last ones), ``_commit_version``, ``_commit_timestamp`` and ``_rowid``. A
    column that a version does not have is null.

    On a table with stable row ids, ``_rowid`` identifies a row in all versions, and updated rows are
    recognized by it. On other tables it is the row's address in the version that has the row, and a
    version that updates rows is rejected.

    Args:
        spark: the session.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        since: version, or time, whose rows are the starting point; 0 for an empty table.
        until: last version, or a time: the latest version at that time; defaults to the latest.
        columns: columns to read; defaults to those of `until`.
        batch_rows: maximum number of rows per batch sent to Spark.
        splits: maximum number of tasks; defaults to one per core of the cluster.

    Raises:
        UnsupportedError: code 0, a version updated rows and the table has no stable row ids.
        TableNotFoundError: code 4.
        TableVersionNotFoundError: code 11, a version does not exist or was cleaned up.
        TableColumnNotFoundError: code 12.
        InvalidInputError: code 13, `until` precedes `since`, or a column has the name of a column
            of the feed.
        InvalidTableStateError: code 19, the table has no data.
    """
    require_pyspark()
    from ..distributed.columns import spark_arrow_schema, to_spark_schema
    from ..distributed.division import group_by_size
    from .change_plan import Changes, feed_schema, read_changes
    from .read_plan import pin, readable_schema

    require_positive(batch_rows=batch_rows, splits=splits)
    target = target_of(namespace, table)
    pinned = pin(
        target,
        columns=columns,
        version=until if isinstance(until, int) else None,
        timestamp=until if isinstance(until, datetime) else None,
    )
    start = _start(pinned, since)
    if start > pinned.version:
        raise InvalidInputError(
            f"{target.name}: the range starts after version {start} (since) and ends at version "
            f"{pinned.version} (until); swap since and until"
        )
    feed = feed_schema(pinned.schema, target.name)
    readable_schema(pinned)
    schema = to_spark_schema(feed)
    log = Changes(pinned)
    rows = [each for version in range(start + 1, pinned.version + 1) for each in log.of(version)]
    cores = cores_of(spark) or 16
    groups = group_by_size([each.bytes for each in rows], splits or cores)
    tasks = [[rows[place] for place in group] for group in groups]
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    wanted = spark_arrow_schema(schema)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with coded(f"reading changes of {target.name}", target.namespace.config.secrets()):
            for batch in batches:
                for task in batch.column(0).to_pylist():
                    yield from read_changes(pinned, tasks[task], wanted, batch_rows)

    return map_in_arrow(numbers, read, schema)


def _start(pinned: Pinned, since: int | datetime) -> int:
    from .read_plan import version_at

    if isinstance(since, datetime):
        dataset = pinned.target.open(pinned.target.storage_at(pinned.location), None, pinned.branch)
        try:
            return version_at(dataset, since)
        except TableVersionNotFoundError:
            return 0
    if isinstance(since, bool) or not isinstance(since, int) or since < 0:
        raise InvalidInputError(f"since must be a version or a time, not {since!r}")
    return since
