"""The steps of `maintain` for one table, and their budget."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, field, frozen

from lance_namespace_client.errors import ConcurrentModificationError, InvalidInputError
from lance_namespace_client.models import CreateTableIndexRequest

from ..core.imports import load
from ..distributed.failures import failure_result, raise_failure
from ..distributed.index_build import IndexBuild
from ..distributed.target import Target
from ..tables import indices
from ..tables.errors import may_be_committed
from ..tables.lineage import LocationState, OpenedVersion
from ..tables.orphans import delete_orphans, find_orphans
from ..tables.write import delete_data_files

if TYPE_CHECKING:
    from lance.optimize import CompactionOptions

    from ..core.identifiers import Identifier
    from ..distributed.runners import Count, Runner
    from ..partitioned.store import PartitionStore

__all__ = ["Budget", "IndexWish", "TableUpkeep", "Upkeep", "UpkeepRow"]

COMMIT_ATTEMPTS = 3


@frozen(kw_only=True)
class IndexWish:
    """An index to create on each table that has the column.

    Attributes:
        column: the column.
        type: index type, such as ``BTREE``, ``INVERTED`` or ``IVF_PQ``.
        options: options of the type, as in `Table.create_index`, such as ``num_partitions``.
    """

    column: str
    type: str
    options: Mapping[str, object] = field(factory=dict)

    def request(self, table: Identifier) -> CreateTableIndexRequest:
        """Return the request that creates the index.

        Raises:
            InvalidInputError: code 13, an option is unknown or its value is invalid.
        """
        return CreateTableIndexRequest.coerce(
            {"id": list(table), "column": self.column, "index_type": self.type, **self.options}
        )


@frozen(kw_only=True)
class Upkeep:
    """The steps of `maintain`.

    Attributes:
        compact: whether to merge small fragments and remove deleted rows.
        rows_per_fragment: target size of a fragment; fragments with fewer rows are small.
        indices: indices to create if the column has none.
        update_indices: whether to add unindexed rows to the indices.
        cleanup_older_than: minimum age of versions to delete; None keeps all versions. Tagged
            versions are always kept.
        orphans_older_than: minimum age of files to delete that no version references; None keeps
            all files. It must exceed the duration of any write.
        max_hours: number of hours after which no further step is started.
        max_bytes: maximum total size of data files to rewrite.
    """

    compact: bool = True
    rows_per_fragment: int = 1 << 20
    indices: Sequence[IndexWish] = ()
    update_indices: bool = True
    cleanup_older_than: timedelta | None = None
    orphans_older_than: timedelta | None = None
    max_hours: float | None = None
    max_bytes: int | None = None


@define(kw_only=True)
class UpkeepRow:
    """The result of `maintain` for a table.

    A dry run reports a lower bound: updating indices may allow more compaction.
    """

    table: tuple[str, ...]
    """Identifier of the table."""
    version: int | None = None
    """Version after the maintenance; None if the table has no data."""
    compacted_fragments: int = 0
    """Number of fragments that were merged or had deleted rows."""
    new_fragments: int = 0
    """Number of fragments that replace them; 0 in a dry run."""
    rewritten_bytes: int = 0
    """Size of the data files that the compaction read, in bytes."""
    indices_created: tuple[str, ...] = ()
    """Columns for which an index was created."""
    indices_updated: tuple[str, ...] = ()
    """Indices that did not cover all rows and were updated."""
    versions_deleted: int = 0
    """Number of versions deleted."""
    orphans_deleted: int = 0
    """Number of deleted files that no version referenced."""
    freed_bytes: int = 0
    """Total size of the deleted files in bytes."""
    left: str | None = None
    """Work that exceeded the budget."""
    problem: str | None = None
    """Reason why the remaining work was not done."""
    code: int | None = None
    """Error code of the problem."""


@define
class Budget:
    """The remaining budget of a job."""

    seconds: float | None
    bytes: int | None
    stopped: Event = Factory(Event)
    _started: float = field(factory=monotonic)
    _lock: Lock = Factory(Lock)

    @property
    def is_over(self) -> bool:
        """Whether the time limit has been reached."""
        return self.seconds is not None and monotonic() - self._started >= self.seconds

    def take(self, size: int) -> bool:
        """Return whether `size` more bytes may be rewritten; if so, deduct them from the budget."""
        with self._lock:
            if self.is_over or (self.bytes is not None and size > self.bytes):
                return False
            if self.bytes is not None:
                self.bytes -= size
            return True

    def check(self, done: int = 0, rows: int = 0) -> None:
        """Raise InterruptedError if the job was stopped; the runner calls this periodically."""
        if self.stopped.is_set():
            raise InterruptedError("the job was stopped")


class TableUpkeep:
    """The maintenance of one table.

    Args:
        target: the table.
        upkeep: steps to run.
        runner: runs the tasks.
        budget: the remaining budget.
        dry_run: whether to only report the steps.
        partitions: the partitioned namespace that contains the table, if any; its readers then use
            the versions that the maintenance creates.
    """

    def __init__(
        self,
        target: Target,
        upkeep: Upkeep,
        runner: Runner,
        budget: Budget,
        *,
        dry_run: bool,
        partitions: PartitionStore | None = None,
    ) -> None:
        self.row = UpkeepRow(table=target.table)
        self._target = target
        self._upkeep = upkeep
        self._runner = runner
        self._budget = budget
        self._dry_run = dry_run
        self._partitions = None if dry_run else partitions

    def run(self) -> None:
        """Run all steps and record their results in `row`.

        Raises:
            LanceNamespaceError: a step failed; the steps before it are complete.
        """
        storage, has_data = self._target.locate()
        if not has_data:
            return
        self._storage = storage
        steps: list[Callable[[Any], None]] = []
        if self._upkeep.update_indices:
            # Update the indices first, because Lance does not merge indexed fragments with
            # unindexed ones.
            steps.append(self._update_indices)
        if self._upkeep.compact:
            steps.append(self._compact)
        if self._upkeep.indices:
            steps.append(self._create_indices)
        if self._upkeep.cleanup_older_than is not None:
            steps.append(self._clean_up)
        if self._upkeep.orphans_older_than is not None:
            steps.append(self._delete_orphans)
        for step in steps:
            self._budget.check()
            if self._budget.is_over:
                self._postpone("steps that were not started before the time limit")
                break
            try:
                self._run_step(step)
            except Exception as error:
                raise self._target.failure(error, "maintaining") from error
        self.row.version = int(self._open().version)

    def _run_step(self, step: Callable[[Any], None]) -> None:
        table, partitions = self._target.table, self._partitions
        if partitions is None:
            step(self._open())
            return
        # The latest version may belong to a write that was never committed.
        partitions.settle(table)
        with partitions.pinned(table):
            step(self._open())
        partitions.advance(table)

    def _open(self) -> Any:
        return self._target.open(self._storage)

    def _postpone(self, work_left: str) -> None:
        self.row.left = f"{self.row.left}; {work_left}" if self.row.left else work_left

    def _run(self, tasks: Sequence[str], work: Callable[[str], dict[str, Any]]) -> list[Any]:
        """Run tasks on workers, and return the results after all tasks have finished."""
        target = self._target

        def run_task(task: str, count: Count) -> str:
            try:
                return json.dumps(work(task))
            except Exception as error:  # noqa: BLE001 it is the result, and the driver raises it
                return json.dumps(failure_result(target.failure(error, "maintaining")))

        found = self._runner.run(
            f"maintain {target.name}", tasks, run_task, lambda done, rows: self._budget.check()
        )
        return [json.loads(each) for each in found]

    def _compact(self, dataset: Any) -> None:
        Compaction = load("lance.optimize").Compaction

        options: CompactionOptions = {"target_rows_per_fragment": self._upkeep.rows_per_fragment}
        for attempt in range(COMMIT_ATTEMPTS):
            planned = Compaction.plan(dataset, options).tasks
            tasks = planned
            if attempt == 0:  # later attempts rewrite bytes that have already been counted
                tasks = [task for task in planned if self._budget.take(_size(task))]
            if len(tasks) < len(planned):
                left = sum(map(_size, planned)) - sum(map(_size, tasks))
                self._postpone(f"compaction of {left:,} bytes")
            self.row.compacted_fragments = sum(len(task.fragments) for task in tasks)
            self.row.rewritten_bytes += sum(map(_size, tasks))
            if self._dry_run or not tasks:
                return
            try:
                self._rewrite(dataset, tasks)
            except ConcurrentModificationError:
                if attempt == COMMIT_ATTEMPTS - 1:
                    raise
                dataset = self._open()
            else:
                return

    def _rewrite(self, dataset: Any, tasks: Sequence[Any]) -> None:
        """Run the tasks of a compaction and commit them together; on failure, delete new files."""
        optimize = load("lance.optimize")

        # pylance's stubs lack from_json.
        read_task: Any = optimize.CompactionTask
        read_result: Any = optimize.RewriteResult
        target, version = self._target, int(dataset.version)
        opened = OpenedVersion.of(dataset, self._storage, None)
        location = self._storage.location

        def rewrite(task: str) -> dict[str, Any]:
            dataset = target.open(target.storage_at(location), version)
            return {"rewritten": read_task.from_json(task).execute(dataset).json()}

        answers = self._run([task.json() for task in tasks], rewrite)
        results = [
            task_result["rewritten"] for task_result in answers if "rewritten" in task_result
        ]
        try:
            for task_result in answers:
                raise_failure(task_result)
            if opened.state() is not LocationState.SAME:
                raise ConcurrentModificationError(
                    f"{target.name} was dropped, and possibly created again, while it was "
                    "compacted; try again"
                )
            metrics = optimize.Compaction.commit(
                dataset, [read_result.from_json(each) for each in results]
            )
        except Exception as error:
            if not may_be_committed(error):
                written = [json.loads(each)["new_fragments"] for each in results]
                files = [file["path"] for each in written for new in each for file in new["files"]]
                delete_data_files(self._storage, files)
            raise target.failure(error, "compacting") from error
        opened.require_same(dataset, target.name)  # the new version uses the files
        self.row.new_fragments = int(metrics.fragments_added)

    def _create_indices(self, dataset: Any) -> None:
        indexed = {name for index in dataset.describe_indices() for name in index.field_names}
        wishes = [
            wish
            for wish in self._upkeep.indices
            if wish.column in dataset.schema.names and wish.column not in indexed
        ]
        if not dataset.count_rows():
            wishes = []  # an index cannot be trained on an empty table
        self.row.indices_created = tuple(wish.column for wish in wishes)
        if self._dry_run or not wishes:
            return
        for wish in wishes:
            request = wish.request(self._target.table)
            IndexBuild(
                self._target,
                request,
                self._runner,
                report=lambda done, rows: self._budget.check(),
            ).run()

    def _update_indices(self, dataset: Any) -> None:
        rows = dataset.count_rows()
        behind = [
            index.name for index in dataset.describe_indices() if index.num_rows_indexed < rows
        ]
        self.row.indices_updated = tuple(sorted(behind))
        if self._dry_run or not behind:
            return
        target, location = self._target, self._storage.location

        def update(task: str) -> dict[str, Any]:
            dataset = target.open(storage := target.storage_at(location))
            opened = OpenedVersion.of(dataset, storage, None)
            dataset.optimize.optimize_indices(index_names=json.loads(task))
            opened.require_same(dataset, target.name)
            return {}

        for task_result in self._run([json.dumps(behind)], update):
            raise_failure(task_result)

    def _clean_up(self, dataset: Any) -> None:
        age = self._upkeep.cleanup_older_than
        if self._dry_run:
            found = dataset.explain_cleanup_old_versions(
                older_than=age, error_if_tagged_old_versions=False
            ).stats
        else:
            found = dataset.cleanup_old_versions(older_than=age, error_if_tagged_old_versions=False)
        self.row.versions_deleted = int(found.old_versions)
        self.row.freed_bytes += int(found.bytes_removed)

    def _delete_orphans(self, dataset: Any) -> None:
        age = self._upkeep.orphans_older_than
        assert age is not None
        orphans = find_orphans(dataset, age)
        self.row.orphans_deleted = len(orphans)
        if self._dry_run:
            self.row.freed_bytes += sum(orphan.bytes for orphan in orphans)
        else:
            self.row.freed_bytes += delete_orphans(self._storage, orphans)


def _size(task: Any) -> int:
    """Return the size of the data files that a compaction task reads, in bytes."""
    return sum(file.file_size_bytes or 0 for fragment in task.fragments for file in fragment.files)


def check(upkeep: Upkeep) -> None:
    """Reject invalid settings before any work starts (code 13)."""
    known = (*indices.SCALAR, *indices.FULL_TEXT, *indices.VECTOR)
    for wish in upkeep.indices:
        if wish.type.upper() not in known:
            raise InvalidInputError(
                f"maintain: unknown index type {wish.type!r}; the supported types are "
                f"{', '.join(known)}"
            )
        wish.request(())
    if upkeep.rows_per_fragment < 1:
        raise InvalidInputError("maintain: rows_per_fragment must be 1 or more")
