"""Streams into a table: each batch is committed exactly once.

After a crash, Spark repeats a batch with the same rows and the same number. Therefore a commit
contains the ids of query and batch as transaction properties. A batch whose ids are already in the
table's transactions is not committed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from ..core.imports import load
from ..distributed import write_plan
from ..distributed.markers import marked
from .row_writer import RowWriter

if TYPE_CHECKING:
    import pyarrow as pa

    from ..distributed.write_plan import WritePlan

__all__ = ["BATCH", "QUERY", "LanceStreamWriter", "last_batch"]

QUERY = "lance_namespace.stream_query"
BATCH = "lance_namespace.stream_batch"
_QUERY_PROPERTY = "sql.streaming.queryId"

# State of this process: the last version that was checked, and the query's last batch in it.
_checked: dict[tuple[str, str], tuple[int, int]] = {}


@frozen
class WrittenBatch(WriterCommitMessage):
    """Fragments that one task of a batch wrote.

    Spark uses separate writers for the tasks and for the commit, so the message contains the plan.
    """

    plan: WritePlan
    query: str
    fragments: Sequence[Mapping[str, Any]]


class LanceStreamWriter(RowWriter, DataSourceStreamArrowWriter):
    """Writes the batches of a stream."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenBatch:
        """Write the rows of one task on a worker."""
        from pyspark import TaskContext

        with self._coded():
            context = TaskContext.get()
            assert context is not None  # a task is running
            query = str(context.getLocalProperty(_QUERY_PROPERTY))
            write_plan.start(self._plan)
            return WrittenBatch(self._plan, query, self._write_rows(iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Commit a batch, unless it is already committed."""
        written = [each for each in messages if isinstance(each, WrittenBatch)]
        if not written:
            return
        plan, query = written[0].plan, written[0].query
        fragments = [fragment for each in written for fragment in each.fragments]
        with self._coded():
            if plan.adds and not fragments:
                write_plan.abort(plan, [])
                return
            if last_batch(plan, query) >= batchId:
                # `abort` keeps files that versions reference; no version references this attempt's.
                write_plan.delete_rest(plan, fragments, needed=())
                return
            checked = _checked[plan.location, query][0]
            properties = {QUERY: query, BATCH: str(batchId)}
            version = write_plan.commit(plan, fragments, properties=properties)
            if plan.adds and last_batch(plan, query, before=version, after=checked) >= batchId:
                _roll_back(plan, version, len(fragments))
            _checked[plan.location, query] = (version, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Roll back the data of the successful tasks; a failed task leaves no data."""
        written = [each for each in messages if isinstance(each, WrittenBatch)]
        with self._coded():
            for each in written:
                write_plan.abort(each.plan, each.fragments)


def last_batch(
    plan: WritePlan, query: str, *, before: int | None = None, after: int | None = None
) -> int:
    """Return the id of the last batch that a query wrote to the table, or -1.

    Args:
        plan: plan with the location of the table.
        query: id of the query.
        before: search only versions before this one; defaults to all.
        after: search only versions after this one; defaults to those that this process has not
            checked.
    """
    from ..tables.dataset import exists

    target = plan.target
    storage = target.storage_at(plan.location)
    if not exists(storage):
        _checked[plan.location, query] = (0, -1)
        return -1
    dataset = target.open(storage)
    latest = int(dataset.version)
    if before is not None and after is not None:
        return _last_between(dataset, query, after, before - 1)
    checked, batch = _checked.get((plan.location, query), (0, -1))
    if checked > latest:  # another table has replaced the checked one
        checked, batch = 0, -1
    batch = max(batch, _last_between(dataset, query, checked, latest))
    _checked[plan.location, query] = (latest, batch)
    return batch


def _last_between(dataset: Any, query: str, after: int, latest: int) -> int:
    for _, properties in marked(dataset, QUERY, query, after=after, until=latest):
        return int(properties[BATCH])
    return -1


def _roll_back(plan: WritePlan, version: int, count: int) -> None:
    """Delete the rows of a batch that another run of the same query committed concurrently."""
    lance = load("lance")

    target = plan.target
    storage = target.storage_at(plan.location)
    numbers = [each.fragment_id for each in target.open(storage, version).get_fragments()]
    operation = lance.LanceOperation.Delete([], numbers[-count:], "true")
    lance.LanceDataset.commit(
        storage.location,
        lance.Transaction(version, operation),
        storage_options=storage.lance_options(),
        **storage.of_namespace(),
    )
