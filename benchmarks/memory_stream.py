"""Measures the server's memory while it streams a large amount of Arrow data in and out.

A client streams generated vectors into CreateTable and reads them back with QueryTable; the server
runs in a separate process over a directory. The output is the growth of the server's resident memory
at its peak, relative to its size before the stream.

    python benchmarks/memory_stream.py [--gib 2]

Requires Linux: the peak is read from /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lance_namespace_impls import connect

LIMIT_MIB = 300
MIB = 1 << 20
DIMENSION = 768
BATCH_ROWS = 1024
ROW_BYTES = 8 + 4 * DIMENSION

SERVE = """
import json, sys
from lance_namespace_impls import connect
from lance_namespace_impls.server import serve
serve(connect("dir", {"path": sys.argv[1]}), port=0, announce=lambda uri: print(uri, flush=True))
"""
SCHEMA = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), DIMENSION))])


class Peak(NamedTuple):
    """Memory and time for one stream."""

    grown_mib: float
    seconds: float


class Server:
    """The server's process, and its memory."""

    def __init__(self, process: subprocess.Popen[str], uri: str) -> None:
        self.uri = uri
        self._proc = Path(f"/proc/{process.pid}")

    def resident_mib(self, line: str) -> float:
        """Read a value in MiB: ``VmRSS`` is the current memory, ``VmHWM`` the maximum."""
        status = (self._proc / "status").read_text()
        kib = next(row.split()[1] for row in status.splitlines() if row.startswith(line))
        return int(kib) / 1024

    @contextlib.contextmanager
    def growth(self) -> Iterator[list[Peak]]:
        """Record the growth of the peak during the block."""
        (self._proc / "clear_refs").write_text("5")  # resets VmHWM
        before = self.resident_mib("VmRSS")
        started = time.perf_counter()
        peaks: list[Peak] = []
        yield peaks
        seconds = time.perf_counter() - started
        peaks.append(Peak(self.resident_mib("VmHWM") - before, seconds))


@contextlib.contextmanager
def server(root: Path) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(root)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield Server(process, process.stdout.readline().strip())
    finally:
        process.terminate()
        process.wait()


def vectors(rows: int) -> pa.RecordBatchReader:
    """Generate rows on demand; at most one batch is in memory."""

    def batches() -> Iterator[pa.RecordBatch]:
        random = np.random.default_rng(7)
        for start in range(0, rows, BATCH_ROWS):
            count = min(BATCH_ROWS, rows - start)
            values = pa.array(random.random(count * DIMENSION, dtype=np.float32))
            column = pa.FixedSizeListArray.from_arrays(values, DIMENSION)
            ids = pa.array(np.arange(start, start + count))
            yield pa.record_batch([ids, column], schema=SCHEMA)

    return pa.RecordBatchReader.from_batches(SCHEMA, batches())


def measure(gib: float) -> tuple[Peak, Peak]:
    """Send a stream through a new server in both directions; return the two peaks."""
    rows = int(gib * (1 << 30)) // ROW_BYTES
    with (
        tempfile.TemporaryDirectory() as folder,
        server(Path(folder)) as served,
        connect("rest", {"uri": served.uri, "read_timeout": 600}) as namespace,
    ):
        # Libraries that the first call loads are not part of the stream's cost.
        namespace.create_table({"id": ["warm"]}, vectors(10))
        namespace.query_table({"id": ["warm"], "k": 0, "vector": None}).read_all()
        with served.growth() as peaks:
            namespace.create_table({"id": ["vectors"]}, vectors(rows))
        with served.growth() as more:
            reader = namespace.query_table({"id": ["vectors"], "k": 0, "vector": None})
            read = sum(batch.num_rows for batch in reader)
    assert read == rows, f"{read} rows came back of {rows}"
    return peaks[0], more[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gib", type=float, default=2.0, help="size of the stream in GiB")
    gib = parser.parse_args().gib
    failed = False
    for name, peak in zip(("CreateTable", "QueryTable"), measure(gib), strict=True):
        rate = gib * 1024 / peak.seconds
        print(
            f"{name}: {gib:g} GiB in {peak.seconds:.1f} s ({rate:.0f} MiB/s), "
            f"server grew by {peak.grown_mib:.0f} MiB (limit {LIMIT_MIB})"
        )
        failed |= peak.grown_mib >= LIMIT_MIB
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
