"""Interrupted or killed runs on a Hive Metastore: they change no foreign object.

Their own objects are removed, at the latest by ``--clean``.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from tests.servers.hive import shared

MOMENTS = 10


def output_of(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=300)
    return out


@pytest.mark.slow
def test_ten_runs_that_are_stopped_at_random(tmp_path):
    uri = shared("3.1").uri
    properties = {"uri": uri, "root": str(tmp_path / "lake")}
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [str(Path(sys.executable).with_name("lance-ns")), "conformance", "--impl", "hive2",
               *(part for key, value in properties.items() for part in ("-p", f"{key}={value}"))]  # fmt: skip

    def start(*more: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*command, *more], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip

    with connect("hive2", properties) as namespace:
        others = f"others{uuid4().hex[:8]}"
        namespace.create_namespace({"id": [others], "properties": {"owner": "somebody"}})
        table = pa.table({"x": [1, 2, 3]})
        namespace.create_table({"id": [others, "t"]}, table)

        def seen() -> tuple[object, ...]:
            return (
                namespace.describe_namespace({"id": [others]}).to_dict(),
                namespace.describe_table({"id": [others, "t"]}).to_dict(),
                namespace.count_table_rows({"id": [others, "t"]}).to_dict(),
                namespace.list_tables({"id": [others]}).to_dict(),
            )

        def left() -> set[str]:
            found = namespace.list_namespaces({"id": []}).namespaces
            return {name for name in found if name.startswith("lnkit")}

        before, foreign = seen(), left()
        chance = random.Random(13)
        killed = 0
        for moment in range(MOMENTS):
            process = start("--max-seconds", "60")
            deadline = time.monotonic() + 120
            while not left() - foreign and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(chance.uniform(0, 12))
            assert process.poll() is None, output_of(process)
            sent = signal.SIGINT if moment % 2 else signal.SIGKILL
            process.send_signal(sent)
            said = output_of(process)
            assert seen() == before, said
            if sent == signal.SIGINT:
                assert left() == foreign, said  # it cleaned up after itself
                continue
            mine = left() - foreign
            killed += bool(mine)
            named = output_of(start("--only", "LN-OPERATIONS-001"))
            for name in mine:
                assert f"left by an earlier run: namespace {name}" in named
            cleaned = start("--clean")
            assert "removed" in output_of(cleaned)
            assert cleaned.returncode == 0
            assert left() == foreign
            assert seen() == before
        assert killed, "no run was killed while its namespace was there"
    assert not list(Path(tmp_path / "state").rglob("*.jsonl"))
