"""Writes on clusters of several processes: rows are exact after failures and races."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pytest
from cryptography.fernet import Fernet

import hatch_build
from lance_namespace_impls import connect
from lance_namespace_impls.distributed.secrets import ENVIRONMENT
from lance_namespace_impls.maintenance import Upkeep, maintain

from .driver import SCENARIOS
from .servers import standalone

LOCAL_CLUSTER = "local-cluster[2,1,512]"
SEEDS = range(30)
SECONDS = 1800
FAULTS = [name for name in SCENARIOS if name not in ("everyday", "plain", "secrets", "closures")]


def run(master: str, root: Path, scenario: str, seeds: list[int]) -> list[dict[str, Any]]:
    """Run a scenario in a separate driver process and return its results."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.spark.cluster.driver", master, str(root), scenario]
        + [str(seed) for seed in seeds],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    expected = [] if scenario == "driver-killed" else seeds
    assert [line["seed"] for line in lines] == expected, err[-5000:]
    return lines


def left_behind(root: Path) -> set[str]:
    """Return the data files that no version of the table uses."""
    folder = root / "t.lance"
    held = {
        file.path
        for version in lance.dataset(str(folder)).versions()
        for each in lance.dataset(str(folder), version=version["version"]).get_fragments()
        for file in each.data_files()
    }
    return {path.name for path in (folder / "data").glob("*.lance")} - held


@pytest.mark.slow
@pytest.mark.parametrize("scenario", FAULTS)
def test_rows_are_exact_and_maintain_removes_remaining_files(tmp_path: Path, scenario: str) -> None:
    if scenario == "driver-killed":
        for seed in SEEDS:
            run(LOCAL_CLUSTER, tmp_path, scenario, [seed])
        lines = []
    else:
        lines = run(LOCAL_CLUSTER, tmp_path, scenario, list(SEEDS))
    wrong = [line for line in lines if not line["exact"]]
    assert not wrong, wrong
    found = 0
    for seed in SEEDS:
        root = tmp_path / str(seed)
        rows = lance.dataset(str(root / "t.lance")).count_rows()
        left = left_behind(root)
        if scenario == "driver-killed":
            assert rows == 100
            assert left, "the driver was killed before anything was written"
        upkeep = Upkeep(compact=False, orphans_older_than=timedelta(0))
        (row,) = maintain(connect("dir", {"path": str(root)}), upkeep=upkeep)
        assert row.problem is None
        assert row.orphans_deleted >= len(left)
        found += len(left)
        assert left_behind(root) == set()
        # Folders without files do not exist in an object store, so they may remain.
        assert not list((root / "t.lance/_transactions").glob("*/*"))
        assert lance.dataset(str(root / "t.lance")).count_rows() == rows
    ends = [line["ends"] for line in lines if "ends" in line]
    if scenario == "two-appends":
        assert all(each == ["done", "done"] for each in ends), ends
    print(
        scenario, len(SEEDS), {str(each): ends.count(each) for each in ends}, f"{found} files left"
    )


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["local-cluster", "standalone", "connect"])
def test_read_append_and_a_job_on_each_kind_of_cluster(tmp_path: Path, cluster: str) -> None:
    with ExitStack() as running:
        master = LOCAL_CLUSTER if cluster == "local-cluster" else cluster
        if cluster == "standalone":
            master = running.enter_context(standalone(tmp_path))
        (line,) = run(master, tmp_path / "lake", "everyday", [0])
    assert line == {"seed": 0, "exact": True, "compacted": True}


@pytest.mark.slow
@pytest.mark.parametrize("master", [LOCAL_CLUSTER, "connect"])
def test_plain_queries_are_pushed_down_to_lance(tmp_path: Path, master: str) -> None:
    hatch_build.compile_jar(Path(hatch_build.__file__).parent)
    (line,) = run(master, tmp_path / "lake", "plain", [0])
    assert line == {"seed": 0, "exact": True, "pushed": True}


@pytest.mark.slow
def test_spark_shows_and_logs_no_secret(tmp_path: Path) -> None:
    (line,) = run("local[2]", tmp_path, "secrets", [0])
    assert line == {"seed": 0, "exact": True, "empty": [], "leaks": []}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "master"),
    [
        ("by the session", LOCAL_CLUSTER),
        ("by the session", "connect"),
        ("in the environment", LOCAL_CLUSTER),
        ("in the environment", "connect"),
        ("of this user", LOCAL_CLUSTER),  # only the data source needs it
    ],
)
def test_executors_and_files_of_spark_contain_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, master: str
) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    if key == "in the environment":
        monkeypatch.setenv(ENVIRONMENT, Fernet.generate_key().decode())
    if key != "of this user":
        cache.write_text("no folder can be here")
    (line,) = run(master, tmp_path / "lake", "closures", [0])
    assert line == {"seed": 0, "wrong": [], "blind": [], "leaks": []}
