"""Randomly killed writers: readers see either all rows of a write or none."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.maintenance import Upkeep, maintain
from lance_namespace_impls.partitioned.namespace import PartitionedNamespace

from .race_writer import SCHEMA

ROOT = Path(__file__).parents[2]


def start(folder: Path, name: str, partitions: int) -> subprocess.Popen[bytes]:
    arguments = [str(folder / "lake"), name, str(partitions)]
    with open(folder / f"{name}.log", "wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.partitioned.race_writer", *arguments],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "generated")])},
        )


def printed(folder: Path, word: str) -> set[str]:
    """Return the batches that the writers have started or committed so far."""
    lines = [line for log in folder.glob("*.log") for line in log.read_text().splitlines()]
    return {line.partition(" ")[2] for line in lines if line.startswith(f"{word} ")}


def visible(made: PartitionedNamespace) -> set[str]:
    """Return the visible batches, all of which are complete."""
    rows = made.scan().read_all().to_pylist()
    found: Counter[str] = Counter(row["batch"] for row in rows)
    wanted = {row["batch"]: row["of"] for row in rows}
    assert found == wanted
    assert len({(row["batch"], row["p"]) for row in rows}) == len(rows)
    return set(found)


def race(
    folder: Path, writers: int, partitions: int, seconds: float, kill_every: float
) -> dict[str, int]:
    """Run writers and kill some; return counts for the report."""
    lake = connect("dir", {"path": str(folder / "lake"), "manifest": "true"})
    made = lake.create_partitioned("events", SCHEMA, ["p"])
    running = {f"w{n}": start(folder, f"w{n}", partitions) for n in range(writers)}
    limit = time.monotonic() + 120
    while len(printed(folder, "ready")) < writers:
        assert time.monotonic() < limit
        time.sleep(0.1)
    end, killed, reads = time.monotonic() + seconds, 0, 0
    before: set[str] = set()
    next_kill = time.monotonic() + kill_every
    # A write becomes visible atomically between its start and its end. Each read sees all earlier
    # commits, no write that has not started, and never less than an earlier read.
    while time.monotonic() < end:
        committed = printed(folder, "done")
        found = visible(made)
        assert committed <= found
        assert before <= found <= printed(folder, "start")
        before, reads = found, reads + 1
        if time.monotonic() > next_kill and printed(folder, "done"):
            name = random.choice([*running])
            running.pop(name).kill()
            killed += 1
            new = f"w{writers + killed}"
            running[new] = start(folder, new, partitions)
            next_kill = time.monotonic() + kill_every
    (folder / "stop").touch()
    for process in running.values():
        process.wait(120)
    logs = "\n".join(log.read_text() for log in folder.glob("*.log"))
    assert "Traceback" not in logs, logs[-3000:]
    committed, found = printed(folder, "done"), visible(made)
    assert committed <= found
    rows = maintain(
        made.namespace,
        upkeep=Upkeep(cleanup_older_than=timedelta(0), orphans_older_than=timedelta(0)),
    )
    assert [row.problem for row in rows if row.problem] == []
    assert visible(made) == found
    tables = {Path(each.location).name for each in made.partitions()}
    folders = {path.name for path in (folder / "lake" / "events").iterdir() if path.is_dir()}
    assert folders - tables <= {"__manifest"}
    assert len(tables) <= partitions
    return {"committed": len(committed), "visible": len(found), "killed": killed, "reads": reads}


def test_readers_see_all_rows_of_a_write_or_none(tmp_path: Path) -> None:
    counts = race(tmp_path, writers=3, partitions=6, seconds=4, kill_every=1.2)
    assert counts["committed"] > 0 and counts["reads"] > 0


@pytest.mark.slow
def test_sixteen_writers_for_a_minute(tmp_path: Path) -> None:
    counts = race(tmp_path, writers=16, partitions=50, seconds=60, kill_every=3.0)
    print(counts)
    assert counts["killed"] >= 10 and counts["committed"] >= 20
