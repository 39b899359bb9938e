"""Streams into a table: each batch is one commit, which is made once.

Spark runs a batch again after a crash, with the same rows and the same number. So a commit carries the
ids of query and batch as properties of its transaction, and a batch whose ids the table's transactions
have is not committed again.
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

# What this process has seen: the version up to which, and the last batch of the query in it.
_seen: dict[tuple[str, str], tuple[int, int]] = {}


@frozen
class WrittenBatch(WriterCommitMessage):
    """What one task of a batch wrote.

    Spark makes a writer for the tasks and another for the commit, so the plan travels with it.
    """

    plan: WritePlan
    query: str
    fragments: Sequence[Mapping[str, Any]]


class LanceStreamWriter(RowWriter, DataSourceStreamArrowWriter):
    """Writes the batches of a stream."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenBatch:
        """Write the rows of one task, on a worker."""
        from pyspark import TaskContext

        with self._coded():
            context = TaskContext.get()
            assert context is not None  # a task is running
            query = str(context.getLocalProperty(_QUERY_PROPERTY))
            write_plan.start(self._plan)
            return WrittenBatch(self._plan, query, self._write_rows(iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Commit a batch, unless it was committed before."""
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
                # Not by `abort`, which keeps what versions hold: this attempt is in none.
                write_plan.delete_rest(plan, fragments, needed=())
                return
            checked = _seen[plan.location, query][0]
            properties = {QUERY: query, BATCH: str(batchId)}
            version = write_plan.commit(plan, fragments, properties=properties)
            if plan.adds and last_batch(plan, query, before=version, after=checked) >= batchId:
                _take_back(plan, version, len(fragments))
            _seen[plan.location, query] = (version, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Take back what the tasks wrote that did not fail; a task that failed leaves nothing."""
        written = [each for each in messages if isinstance(each, WrittenBatch)]
        with self._coded():
            for each in written:
                write_plan.abort(each.plan, each.fragments)


def last_batch(
    plan: WritePlan, query: str, *, before: int | None = None, after: int | None = None
) -> int:
    """Return the last batch of a query that the table holds, -1 for none.

    Args:
        plan: where the table is.
        query: id of the query.
        before: look at versions before this one alone, else at all.
        after: look at versions after this one alone, else at those that this process has not seen.
    """
    from ..tables.dataset import exists

    target = plan.target
    storage = target.storage_at(plan.location)
    if not exists(storage):
        _seen[plan.location, query] = (0, -1)
        return -1
    dataset = target.open(storage)
    latest = int(dataset.version)
    if before is not None and after is not None:
        return _last_between(dataset, query, after, before - 1)
    seen, batch = _seen.get((plan.location, query), (0, -1))
    if seen > latest:  # another table is there now
        seen, batch = 0, -1
    batch = max(batch, _last_between(dataset, query, seen, latest))
    _seen[plan.location, query] = (latest, batch)
    return batch


def _last_between(dataset: Any, query: str, after: int, latest: int) -> int:
    for _, properties in marked(dataset, QUERY, query, after=after, until=latest):
        return int(properties[BATCH])
    return -1


def _take_back(plan: WritePlan, version: int, count: int) -> None:
    """Delete the rows of a batch that another run of the same query committed at the same time."""
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
