"""Rows for checks, as tables and as Arrow IPC streams."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa

__all__ = ["END", "PEOPLE", "numbers", "people", "plain", "stream"]

END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
"""Last bytes of an Arrow IPC stream, after its last message."""


def stream(table: pa.Table, *, batch_rows: int | None = None, **options: Any) -> bytes:
    """Return a table as an Arrow IPC stream.

    Args:
        table: the rows.
        batch_rows: rows per batch; a single batch by default.
        options: options of ``pyarrow.ipc.IpcWriteOptions``.
    """
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=batch_rows)
    return sink.getvalue()


def numbers(*values: int, column: str = "x") -> pa.Table:
    """Return rows with one integer column."""
    return pa.table({column: pa.array(values, pa.int64())})


def plain(*values: int, column: str = "x") -> bytes:
    """Return a stream with one integer column."""
    return stream(numbers(*values, column=column))


def people(*ids: int) -> pa.Table:
    """Return rows with an id, and a name, a nullable score and a 2D vector derived from it."""
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([f"n{i}" for i in ids], pa.string()),
            "score": pa.array([None if i % 4 == 0 else i / 2 for i in ids], pa.float64()),
            "vec": pa.array([[float(i), 0.0] for i in ids], pa.list_(pa.float32(), 2)),
        }
    )


PEOPLE = tuple(range(1, 11))
"""Ids of the initial rows of most tables in checks."""
