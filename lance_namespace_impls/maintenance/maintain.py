"""Maintains the tables of a catalog: compaction, indices, cleanup."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace_client.errors import (
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedError,
)

from ..distributed.failures import protocol_error
from ..distributed.runners import ThreadRunner, spark_runner
from ..distributed.target import Target
from .results import Rows, as_plain, from_plain
from .selection import Selection
from .state import job_state
from .upkeep import Budget, IndexWish, TableUpkeep, Upkeep, UpkeepRow, check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..catalog.namespace import Namespace
    from ..core.identifiers import Identifier
    from ..distributed.runners import Runner
    from ..partitioned.store import PartitionStore
    from .state import JobState

__all__ = ["IndexWish", "Upkeep", "UpkeepRow", "maintain", "maintain_table", "maintenance_name"]

MAX_CONCURRENCY = 4


def maintain(
    namespace: Namespace,
    selection: Selection | None = None,
    upkeep: Upkeep | None = None,
    *,
    spark: SparkSession | None = None,
    dry_run: bool = False,
    state: Path | None = None,
    max_concurrency: int = MAX_CONCURRENCY,
    progress: Callable[[int, int], None] | None = None,
) -> Rows[UpkeepRow]:
    """Maintain tables, and return a row for each table with the steps that were completed.

    The compaction, the creation of each index and the update of the indices are one commit each. In
    a partitioned namespace, the tables of writes that were never committed are deleted when files
    that no version references are deleted; these tables are reported in a row for the root.

    If a table fails, its row contains the problem, and the job continues with the others. Tables
    that need no maintenance remain unchanged.

    Args:
        namespace: the catalog.
        selection: tables to include; defaults to all.
        upkeep: steps to run; defaults to compaction and the update of indices.
        spark: session that runs the tasks; defaults to threads of this process.
        dry_run: whether to only report the steps.
        state: file with the progress, so that the same call resumes after a crash or when the
            budget was used up; it is deleted when the job is complete.
        max_concurrency: maximum number of tables that are processed concurrently.
        progress: called with the number of finished tables and the total.

    Raises:
        NamespaceNotFoundError: code 1.
        InvalidInputError: code 13, an index type is unknown.
        ConcurrentModificationError: code 14, another process runs the same job with that state
            file.
        LanceNamespaceError: the catalog cannot be listed.
    """
    selection, upkeep = selection or Selection(), upkeep or Upkeep()
    check(upkeep)
    runner: Runner = ThreadRunner() if spark is None else spark_runner(spark)
    hours = upkeep.max_hours
    budget = Budget(None if hours is None else hours * 3600, upkeep.max_bytes)
    partitions = _partitions_of(namespace)

    def process(table: Identifier) -> UpkeepRow | None:
        target = Target(namespace=namespace, table=table)
        work = TableUpkeep(target, upkeep, runner, budget, dry_run=dry_run, partitions=partitions)
        if budget.is_over:
            work.row.left = "all of it"
            return work.row
        try:
            work.run()
        except TableNotFoundError:
            return None  # it was dropped after it was listed
        except Exception as error:  # noqa: BLE001 the row reports it
            budget.check()
            secrets = namespace.config.secrets()
            failure = protocol_error(error, f"maintaining {target.name}", secrets)
            work.row.problem, work.row.code = failure.message, int(failure.code)
        return work.row

    name = maintenance_name(namespace, selection)
    with job_state(None if dry_run else state, "maintain", name) as state_file:
        tables = list(selection.find(namespace))
        rows = [
            from_plain(UpkeepRow, state_file.done[_key(t)])
            for t in tables
            if _key(t) in state_file.done
        ]
        left = [table for table in tables if _key(table) not in state_file.done]
        done, noted = len(rows), 0
        with ThreadPoolExecutor(max_concurrency, "lance-maintain") as pool:
            futures = {pool.submit(process, table): table for table in left}
            try:
                for future in as_completed(futures):
                    row = future.result()
                    done += 1
                    if row is not None:
                        rows.append(row)
                        noted += _note(state_file, row)
                    if progress is not None:
                        progress(done, len(tables))
            except BaseException:
                budget.stopped.set()
                pool.shutdown(cancel_futures=True)
                raise
        age = upkeep.orphans_older_than
        if partitions is not None and age is not None and not selection.under:
            count, size = partitions.clean(age, dry_run=dry_run)
            if count:
                rows.append(UpkeepRow(table=(), orphans_deleted=count, freed_bytes=size))
        # If a run finishes no further table, delete the state, so that the next run starts with all
        # tables.
        state_file.is_whole = not (noted and any(row.left for row in rows))
    return Rows(UpkeepRow, sorted(rows, key=lambda row: row.table))


def maintain_table(
    namespace: Namespace, table: Identifier, upkeep: Upkeep | None = None, *, dry_run: bool = False
) -> UpkeepRow:
    """Maintain one table, and return a row with the steps that were completed.

    Args:
        namespace: the catalog.
        table: the table.
        upkeep: steps to run; defaults to compaction and the update of indices.
        dry_run: whether to only report the steps.

    Raises:
        TableNotFoundError: code 4.
        ConcurrentModificationError: code 14, other writers kept changing the table.
        LanceNamespaceError: a step failed; the steps before it are complete.
    """
    upkeep = upkeep or Upkeep()
    check(upkeep)
    target, budget = Target(namespace=namespace, table=table), Budget(None, None)
    partitions = _partitions_of(namespace)
    work = TableUpkeep(
        target, upkeep, ThreadRunner(), budget, dry_run=dry_run, partitions=partitions
    )
    work.run()
    return work.row


def _partitions_of(namespace: Namespace) -> PartitionStore | None:
    """Return the storage of a partitioned namespace, or None if it is not partitioned."""
    try:
        store = namespace.partition_store(())
        store.load()
    except (NamespaceNotFoundError, UnsupportedError):
        return None
    return store


def maintenance_name(namespace: Namespace, selection: Selection) -> str:
    """Return a name that distinguishes a maintenance job from others."""
    return f"{namespace.namespace_id()} {selection.shown()}"


def _note(state_file: JobState, row: UpkeepRow) -> bool:
    """Record a table if it is finished, and return whether it is; the next run repeats others."""
    is_done = row.left is None and row.problem is None
    if is_done:
        state_file.add(_key(row.table), as_plain(row))
    return is_done


def _key(table: Identifier) -> str:
    return "\0".join(table)
