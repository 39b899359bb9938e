"""In-memory catalogs, and rows to write to them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from tests.behaviour.memory import (
    MemoryConfig,
    MemoryNamespace,
)

__all__ = ["ROWS", "broken_rows", "code_of", "connected"]

ROWS = pa.table({"x": [1, 2, 3]})


def code_of(call: Any) -> tuple[int, str]:
    with pytest.raises(LanceNamespaceError) as caught:
        call()
    return int(caught.value.code), str(caught.value)


def connected(cls: type[MemoryNamespace], root: Path, **more: Any) -> MemoryNamespace:
    return cls(MemoryConfig(root=str(root), **more))


def broken_rows() -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, ROWS.schema) as writer:
        for _ in range(2):
            writer.write_table(pa.table({"x": list(range(100))}))
    return sink.getvalue()[:-600]
