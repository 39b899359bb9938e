"""Writes rows on the workers, for DataFrames and streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..distributed.failures import coded
from ..distributed.secrets import freeze_loaded_modules

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from pyspark.sql.datasource import DataSourceArrowWriter

    from ..distributed.write_plan import WritePlan

__all__ = ["RowWriter", "WriteTask"]


class RowWriter:
    """Base class of the writers for DataFrames and streams.

    Args:
        plan: plan of the write.
        overflow: whether floating-point numbers that are too large for their column become
            infinite.
    """

    def __init__(self, plan: WritePlan, *, overflow: bool = False) -> None:
        self._plan = plan
        self._overflow = overflow

    def _write_rows(self, batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
        """Write the rows of one task on a worker; return its fragments."""
        from ..distributed.columns import cast_rows
        from ..distributed.write_plan import write_rows

        rows = cast_rows(batches, self._plan.schema, overflow=self._overflow)
        return write_rows(self._plan, rows)

    def _coded(self) -> AbstractContextManager[None]:
        target = self._plan.target
        return coded(f"writing {target.name}", target.namespace.config.secrets())


@frozen
class WriteTask:
    """Writes the rows of a task on a worker.

    Args:
        writer: the writer.
        column: name of the column with its message.
    """

    writer: DataSourceArrowWriter
    column: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the pickled message for the commit."""
        from pickle import dumps

        import pyarrow as pa

        message = self.writer.write(batches)
        yield pa.record_batch([pa.array([dumps(message)])], names=[self.column])
        freeze_loaded_modules()
