"""A stream whose process is stopped and killed at random moments delivers each row exactly once."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

import pyarrow as pa
import pytest

from tests.spark.conftest import Lake

ROWS_A_VERSION = 50
BUSY = re.compile("Python worker (failed )?to connect back")
"""The error of a query on a busy machine, where Spark's timeout of 10 seconds acts like a kill."""
# The process that runs the query. It reads the number of rows of a batch, and the number of batches
# and of seconds after which it stops the query. It then runs the query again until it is killed or
# all rows are processed.
QUERY = """
import sys, time
from lance_namespace_impls.spark import local_session

root, checkpoint = sys.argv[1:]
spark = local_session("stream", cores=2, settings={"spark.sql.shuffle.partitions": "2"})

def start():
    source = spark.readStream.format("lance_namespace").options(
        impl="dir", root=root, startingVersion="1", maxRowsPerTrigger=rows
    ).load("t")
    sink = source.writeStream.format("lance_namespace").options(
        impl="dir", root=root, table="out", checkpointLocation=checkpoint
    )
    return sink.trigger(availableNow=True).start()

def batches(query):
    told = None
    while query.isActive:
        query.awaitTermination(0.05)
        batch = query.lastProgress and query.lastProgress["batchId"]
        if batch != told:
            told = batch
            yield batch

rows, *stop = input().split()
if stop:
    count, moments = stop
    query = start()
    seen = batches(query)
    for _ in zip(range(int(count)), seen):
        pass
    time.sleep(float(moments))
    query.stop()
    print("stopped", flush=True)
query = start()
print("batch", flush=True)
for _ in batches(query):
    print("batch", flush=True)
query.awaitTermination()
print("whole", flush=True)
"""


def start(lake: Lake, checkpoint: Path, running: ExitStack) -> subprocess.Popen[str]:
    """Start a process that can run the query."""
    process = subprocess.Popen(
        [sys.executable, "-c", QUERY, str(lake.root), str(checkpoint)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    running.callback(kill, process)
    return process


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a process and its children: the JVM and the Python workers belong to its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(running: subprocess.Popen[str], seed: random.Random | None) -> str:
    """Run the query, stop it, run it again and kill it, each at a random moment.

    Returns:
        The outcome: ``killed``, ``whole`` or, on a machine too busy for Spark, ``busy``.
    """
    assert running.stdin is not None
    assert running.stdout is not None
    lines = []
    left = seed.randint(1, 3) if seed else -1
    rows, stop = (
        (seed.randint(20, 90), f"{seed.randint(0, 2)} {seed.random()}") if seed else (1000, "")
    )
    running.stdin.write(f"{rows} {stop}\n")
    running.stdin.flush()
    for line in running.stdout:
        lines.append(line)
        if line.startswith("whole"):
            assert running.wait() == 0
            return "whole"
        left -= line.startswith("batch")
        if seed and left == 0:
            time.sleep(seed.random() * 2)  # at any point of the next batch
            if running.poll() is not None:
                return "whole"
            kill(running)
            return "killed"
    assert BUSY.search("".join(lines)), "the query failed:\n" + "".join(lines[-300:])
    return "busy"


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_each_row_is_delivered_once(quiet_lake: Lake, tmp_path: Path, kills: int) -> None:
    seed = random.Random(kills)
    checkpoint = tmp_path / "checkpoint"
    ends: Counter[str] = Counter()
    written = 0
    with ExitStack() as running:
        following = start(quiet_lake, checkpoint, running)
        while ends["killed"] < kills:
            # The next process starts its JVM concurrently.
            process, following = following, start(quiet_lake, checkpoint, running)
            for _ in range(seed.randint(1, 3)):
                rows = pa.table({"id": range(written, written + ROWS_A_VERSION)})
                mode = "append" if written else "create"
                quiet_lake.put("t", rows, mode=mode, max_rows_per_file=30)
                written += ROWS_A_VERSION
            ends[run(process, seed)] += 1
        while run(following, None) != "whole":
            following = start(quiet_lake, checkpoint, running)
    found = Counter(quiet_lake.dataset("out").to_table()["id"].to_pylist())
    assert found == Counter(range(written))
    print(f"stopped {ends.total()} times, {dict(ends)}; {written} rows, each once")
