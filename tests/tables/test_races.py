"""Processes that want the same table at the same moment: one wins, the others are told."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_impls import connect

PROCESSES = 4
ROUNDS = 5
ROWS = pa.table({"id": [1, 2, 3]})

# Each process waits for its turn by the clock, so that all call at once.
CHILD = """
import sys, time
import pyarrow as pa
from lance_namespace_impls import connect
from lance_namespace_client.errors import LanceNamespaceError

path, start, what, rounds = sys.argv[1], float(sys.argv[2]), sys.argv[3], int(sys.argv[4])
namespace = connect("dir", {"path": path})
rows = pa.table({"id": [1, 2, 3]})
calls = {
    "declare": lambda i: namespace.declare_table({"id": [f"t{i}"]}),
    "create": lambda i: namespace.create_table({"id": [f"t{i}"]}, rows),
    "deregister": lambda i: namespace.deregister_table({"id": [f"t{i}"]}),
    "register": lambda i: namespace.register_table({"id": [f"t{i}"], "location": f"t{i}.lance"}),
    "drop": lambda i: namespace.drop_table({"id": [f"t{i}"]}),
    "rename": lambda i: namespace.rename_table({"id": [f"t{i}"], "new_table_name": f"u{i}"}),
}
import lance
for i in range(rounds):
    time.sleep(max(0.0, start + i * 0.3 - time.time()))
    try:
        calls[what](i)
        print(i, "won")
    except LanceNamespaceError as error:
        print(i, int(error.code))
"""

# The operation, whether its tables exist before, and the codes that losers get; one that finds
# another at work on the first rows is told 14.
RACES = [
    ("declare", None, {5}),
    ("create", None, {5, 14}),
    ("deregister", "live", {4}),
    ("register", "deregistered", {5}),
    ("drop", "live", {4}),
    ("rename", "live", {4}),
]


@pytest.mark.parametrize(("what", "before", "codes"), RACES, ids=[race[0] for race in RACES])
def test_one_process_wins(tmp_path: Path, what: str, before: str | None, codes: set[int]) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        if before is not None:
            for index in range(ROUNDS):
                namespace.create_table({"id": [f"t{index}"]}, ROWS)
                if before == "deregistered":
                    namespace.deregister_table({"id": [f"t{index}"]})
        start = str(time.time() + 6)
        command = [sys.executable, "-c", CHILD, str(tmp_path), start, what, str(ROUNDS)]
        children = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)
        ]
        outcomes = [
            line for child in children for line in child.communicate()[0].split("\n") if line
        ]
        for index in range(ROUNDS):
            found = Counter(line.split()[1] for line in outcomes if line.split()[0] == str(index))
            assert found.pop("won") == 1, f"round {index}: {found}"
            assert {int(code) for code in found} <= codes, f"round {index}: {found}"
            assert found.total() == PROCESSES - 1
            if what in ("create", "register"):
                assert namespace.count_table_rows({"id": [f"t{index}"]}).count == 3
    left = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert left == []
