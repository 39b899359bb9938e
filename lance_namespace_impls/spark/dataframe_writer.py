"""Writes a DataFrame to a table, in a single commit by the driver."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    TableNotFoundError,
    UnsupportedError,
)

from ..core.modes import parse_mode
from ..distributed import partition_write, write_plan
from ..distributed.failures import coded, decoded
from ..distributed.partition_write import PartitionedMode
from ..distributed.secrets import map_in_arrow
from ..distributed.target import PartitionedTarget, Target, partitioned_target
from ..distributed.write_plan import FileOptions, Mode
from ..tables.align import ROWS_PER_FILE
from .dataframe_reader import target_of
from .extra import require_pyspark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..catalog.namespace import Namespace

__all__ = ["Written", "write_table"]


@frozen(kw_only=True)
class Written:
    """Result of a write.

    Attributes:
        version: version of the table with the rows; for a partitioned namespace, that of its
            manifest.
        rows: number of rows written; 0 if the table already exists and the mode is exist_ok.
    """

    version: int
    rows: int


def write_table(
    frame: DataFrame,
    namespace: Namespace,
    table: str | Sequence[str],
    mode: str = "create",
    *,
    partitioned_by: Sequence[str] | None = None,
    if_version: int | None = None,
    properties: Mapping[str, str] | None = None,
    types: str | None = None,
    rows_per_file: int = ROWS_PER_FILE,
    bytes_per_file: int | None = None,
    data_storage_version: str | None = None,
    stable_row_ids: bool | None = None,
    merge_schema: bool = False,
    commit_properties: Mapping[str, str] | None = None,
) -> Written:
    """Write the rows of a DataFrame and return the new version and the number of rows.

    Workers write the files. Spark's plan contains nothing about the namespace.

    Args:
        frame: the rows.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        mode: ``create``, ``append`` (code 4 if the table does not exist), ``overwrite`` (replaces
            rows and columns, and creates a missing table) or ``exist_ok`` (leaves an existing table
            unchanged); for a partitioned namespace also ``overwrite_partitions`` (replaces the rows
            of the partitions that receive rows), but not ``overwrite``.
        partitioned_by: partition fields of a partitioned namespace, the outermost first, such as
            ``["day(ts)", "bucket(16, user)"]``, as for `Namespace.create_partitioned`. They can be
            omitted for an existing one.
        if_version: version that the table must have, in any mode; 0 requires that it has no data.
        properties: properties for the declaration of a new table.
        types: Arrow types of columns of a new table, such as ``vector:float32[768]``.
        rows_per_file: maximum number of rows in one data file.
        bytes_per_file: approximate maximum size of one data file.
        data_storage_version: version of the file format of a new table: ``2.0``, ``2.1``, ``2.2`` or
            ``stable``, the default; it must match that of an existing table.
        stable_row_ids: whether rows of a new table keep their ids when they are updated or
            compacted, which `changes` requires; an existing table must have the same setting.
            Defaults to false.
        merge_schema: whether an append adds columns that the table lacks; they become nullable.
        commit_properties: transaction properties of the commit.

    Raises:
        NamespaceNotFoundError: code 1.
        TableNotFoundError: code 4, the mode is append.
        TableAlreadyExistsError: code 5, the mode is create.
        InvalidInputError: code 13, an argument is invalid.
        ConcurrentModificationError: code 14, the version of the table is not `if_version`, or
            another writer committed a conflicting change; the table keeps that change.
        TableSchemaValidationError: code 20, the rows do not fit the table.
    """
    require_pyspark()
    from ..distributed.casts import warn_of_losses
    from ..distributed.columns import lance_schema

    target = target_of(namespace, table)
    more = {
        "if_version": if_version,
        "properties": properties,
        "rows_per_file": None if rows_per_file == ROWS_PER_FILE else rows_per_file,
        "bytes_per_file": bytes_per_file,
        "data_storage_version": data_storage_version,
        "stable_row_ids": stable_row_ids,
        "merge_schema": merge_schema or None,
        "commit_properties": commit_properties,
    }
    replaces = parse_mode(mode, PartitionedMode.CREATE) is PartitionedMode.OVERWRITE_PARTITIONS
    if partitioned_by is not None or replaces:
        there = PartitionedTarget(namespace=target.namespace, table=target.table)
        return _write_partitions(frame, there, mode, partitioned_by, types, more)
    chosen = parse_mode(mode, Mode.CREATE)
    files = FileOptions(
        rows=rows_per_file,
        bytes=bytes_per_file,
        data_storage_version=data_storage_version,
        stable_row_ids=stable_row_ids,
    )
    rows = lance_schema(frame.schema)
    try:
        plan = write_plan.plan_write(
            target,
            rows if types is None else lance_schema(frame.schema, types),
            chosen,
            files=files,
            merge_schema=merge_schema,
            properties=properties,
        )
    except TableNotFoundError:
        partitioned = partitioned_target(target)
        if partitioned is None:
            raise
        return _write_partitions(frame, partitioned, mode, None, types, more)
    if plan is None:
        return Written(version=int(target.open(target.storage()).version), rows=0)
    try:
        if if_version is not None and plan.read_version != if_version:
            raise ConcurrentModificationError(
                f"{target.name} has version {plan.read_version}, not {if_version}: another "
                "writer changed it, so nothing was written; read it again and retry"
            )
        warn_of_losses(rows, plan.schema, target.name)
        with decoded():
            found = map_in_arrow(frame, _writer(plan), "fragments string").collect()
        fragments = [fragment for row in found for fragment in json.loads(row.fragments)]
        version = write_plan.commit(plan, fragments, properties=commit_properties)
    except BaseException:
        write_plan.abort(plan, [])
        raise
    return Written(version=version, rows=sum(fragment["physical_rows"] for fragment in fragments))


def _write_partitions(
    frame: DataFrame,
    target: PartitionedTarget,
    mode: str,
    partitioned_by: Sequence[str] | None,
    types: str | None,
    more: Mapping[str, Any],
) -> Written:
    """Write the rows of a DataFrame to a partitioned namespace; `more` are the other arguments."""
    from ..distributed.casts import warn_of_losses
    from ..distributed.columns import lance_schema

    if unsupported := [name for name, value in more.items() if value is not None]:
        raise UnsupportedError(
            f"{target.name}: {unsupported[0]} is not supported for partitioned namespaces; omit it"
        )
    rows = lance_schema(frame.schema)
    written = rows if types is None else lance_schema(frame.schema, types)
    plan = partition_write.plan_partitions(target, written, mode, partitioned_by)
    if plan is None:
        return Written(version=target.store().load().version, rows=0)
    try:
        warn_of_losses(rows, plan.schema, target.name)
        with decoded():
            found = map_in_arrow(frame, _partition_writer(plan), "files binary").collect()
        files = [each for row in found for each in pickle.loads(row.files)]
    except BaseException:
        partition_write.abort_partitions(plan)
        raise
    result, version = partition_write.commit_partitions(plan, files)
    return Written(version=version, rows=result.rows)


def _partition_writer(
    plan: partition_write.PartitionsPlan,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def written(rows: Iterator[pa.RecordBatch]) -> dict[str, list[Any]]:
        return {"files": [pickle.dumps(partition_write.write_partitions(plan, rows))]}

    return _task(plan.target, plan.schema, written)


def _writer(
    plan: write_plan.WritePlan,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def written(rows: Iterator[pa.RecordBatch]) -> dict[str, list[Any]]:
        return {"fragments": [json.dumps(write_plan.write_rows(plan, rows))]}

    return _task(plan.target, plan.schema, written)


def _task(
    target: Target,
    schema: pa.Schema,
    write: Callable[[Iterator[pa.RecordBatch]], dict[str, list[Any]]],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function of a task: it writes rows, and yields the result for the driver."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ..distributed.columns import cast_rows

        with coded(f"writing {target.name}", target.namespace.config.secrets()):
            yield pa.record_batch(write(cast_rows(batches, schema)))

    return work
