"""Measures the cost of validating Arrow IPC, relative to reading it without validation.

Both variants read the same stream from memory, alternately; the fastest runs are compared.

    python benchmarks/arrow_checks.py
"""

from __future__ import annotations

import io
import sys
import time

import numpy as np
import pyarrow as pa

from lance_namespace_client.arrow import RowStream

TURNS = 15
ROWS, BATCH_ROWS, DIMENSION = 64 << 10, 8 << 10, 768
LIMIT = 1.5  # relative to a baseline that does little more than copy the bytes


def columns() -> dict[str, pa.Array]:
    random = np.random.default_rng(7)
    vectors = pa.array(random.random(ROWS * DIMENSION, dtype=np.float32))
    return {
        "vectors": pa.FixedSizeListArray.from_arrays(vectors, DIMENSION),
        "numbers": pa.array(random.random(ROWS * 64)),
        "strings": pa.array([f"row {i} " * 20 for i in range(ROWS)]),
        "dictionary": pa.array([f"word {i % 500}" for i in range(ROWS * 8)]).dictionary_encode(),
    }


def stream(column: pa.Array) -> bytes:
    sink = io.BytesIO()
    table = pa.table({"a": column})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS * len(column) // ROWS)
    return sink.getvalue()


def main() -> int:
    failed = False
    for name, column in columns().items():
        data = stream(column)
        plain: list[float] = []
        checked: list[float] = []
        for _ in range(TURNS):
            started = time.perf_counter()
            RowStream.of(
                pa.ipc.open_stream(io.BufferedReader(io.BytesIO(data), 1 << 20))
            ).reader().read_all()
            plain.append(time.perf_counter() - started)
            started = time.perf_counter()
            RowStream.of(io.BufferedReader(io.BytesIO(data), 1 << 20)).reader().read_all()
            checked.append(time.perf_counter() - started)
        ratio = min(checked) / min(plain)
        limit = LIMIT if name in ("vectors", "numbers") else None
        extra = (min(checked) - min(plain)) * 1e3 / (len(data) / 2.3e6)
        print(
            f"{name}: {len(data) / 1e6:.0f} MB, checked takes {ratio:.2f} of unchecked, "
            f"{extra:.3f} ms more per 2.3 MB" + (f" (limit {limit})" if limit else "")
        )
        failed |= limit is not None and ratio > limit
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
