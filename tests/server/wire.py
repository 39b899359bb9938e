"""Request bodies for the server."""

from __future__ import annotations

import io

import pyarrow as pa

__all__ = ["STREAM", "ipc"]

STREAM = "application/vnd.apache.arrow.stream"


def ipc(rows=3, batches=1):
    """Return an Arrow IPC stream of batches with the column `a`."""
    sink = io.BytesIO()
    batch = pa.record_batch({"a": list(range(rows))})
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    return sink.getvalue()
