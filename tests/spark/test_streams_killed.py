"""A stream that is killed again and again puts each row of its source into the sink once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from tests.spark.conftest import Lake

ROWS_A_VERSION = 50
# The process that runs the query; it tells of each batch, and ends once all rows are through.
QUERY = """
import sys
from pathlib import Path
from lance_namespace_impls.spark import local_session

root, checkpoint, rows = sys.argv[1:]
spark = local_session("stream", cores=2, settings={"spark.sql.shuffle.partitions": "2"})
source = spark.readStream.format("lance_namespace").options(
    impl="dir", root=root, startingVersion="1", maxRowsPerTrigger=rows
).load("t")
sink = source.writeStream.format("lance_namespace").options(
    impl="dir", root=root, table="out", checkpointLocation=checkpoint
)
query = sink.trigger(availableNow=True).start()
print("started", flush=True)
while query.isActive:
    query.awaitTermination(0.2)
    if query.lastProgress:
        print("batch", query.lastProgress["batchId"], flush=True)
query.awaitTermination()
print("whole", flush=True)
"""


def run_until(lake: Lake, checkpoint: Path, seed: random.Random | None) -> bool:
    """Run the query, and kill it and all that it started at some moment; return whether it ended."""
    arguments = [str(lake.root), str(checkpoint), str(seed.randint(20, 90) if seed else 1000)]
    process = subprocess.Popen(
        [sys.executable, "-c", QUERY, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    lines = []
    left = seed.randint(1, 6) if seed else -1
    try:
        for line in process.stdout:
            lines.append(line)
            if line.startswith("whole"):
                return process.wait() == 0
            left -= line.startswith(("started", "batch"))
            if left == 0:
                return False
    finally:
        # A session of its own: the JVM and the Python workers are killed with it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    raise AssertionError("the query failed:\n" + "".join(lines[-30:]))


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_each_row_comes_through_once(quiet_lake: Lake, tmp_path: Path, kills: int) -> None:
    seed = random.Random(kills)
    ends, written = 0, 0
    for _ in range(kills):
        for _ in range(seed.randint(1, 3)):
            rows = pa.table({"id": range(written, written + ROWS_A_VERSION)})
            quiet_lake.put("t", rows, mode="append" if written else "create", max_rows_per_file=30)
            written += ROWS_A_VERSION
        ends += run_until(quiet_lake, tmp_path / "checkpoint", seed)
    assert ends < kills, "it was never killed"
    assert run_until(quiet_lake, tmp_path / "checkpoint", None)
    found = Counter(quiet_lake.dataset("out").to_table()["id"].to_pylist())
    assert found == Counter(range(written))
