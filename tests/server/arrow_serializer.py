"""A schemathesis serializer for Arrow bodies: valid tables, corrupted tables and arbitrary bytes.

The schemathesis command loads it (``SCHEMATHESIS_HOOKS=tests.server.arrow_serializer``).
"""

from __future__ import annotations

import hashlib
import io
from typing import Any

import pyarrow as pa
import schemathesis

from lance_namespace_client.wire import STREAM_TYPE

COLUMNS = (
    {"id": [1, 2, 3]},
    {"id": [1, None], "text": ["a", "b"]},
    {"vector": pa.array([[0.1, 0.2], [0.3, 0.4]], pa.list_(pa.float32(), 2)), "id": [1, 2]},
    {"id": pa.array([], pa.int64())},
    {"nested": [{"a": 1, "b": ["x"]}]},
    {},
)


def stream(number: int) -> bytes:
    """Return one of the tables in `COLUMNS` as an Arrow stream."""
    table = pa.table(COLUMNS[number % len(COLUMNS)])
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


@schemathesis.serializer(STREAM_TYPE)
def arrow(context: Any, value: Any) -> bytes:
    """Return a body that depends deterministically on the generated value."""
    given = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(given).digest()
    body = stream(digest[0])
    if digest[1] < 32:
        return given
    if digest[1] < 64:
        return body[: len(body) * digest[2] // 256]
    if digest[1] < 96:
        at = digest[2] * len(body) // 256
        return body[:at] + bytes([digest[3]]) + body[at + 1 :]
    return body
