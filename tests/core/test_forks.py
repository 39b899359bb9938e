"""Namespaces and tables in forked processes: they are reopened or report an error, but never hang.

Each program runs in a separate process, because the process of the tests has many threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import serving

PROGRAM = """
import asyncio, os, signal, sys, warnings
import pyarrow as pa
from lance_namespace_impls import connect, connect_async

warnings.simplefilter("ignore")

def forked(call):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        try:
            print("returned", call())
        except Exception as error:
            print(type(error).__name__, error)
        sys.stdout.flush()
        os._exit(0)
    print("status", os.waitpid(child, 0)[1])

"""
SPAWN = "start worker processes with 'spawn'"


def run(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + program, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "LANCE_NS_CONFIG": "/nonexistent"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


USED = """
with connect(sys.argv[1], {"path": sys.argv[2]} if sys.argv[1] == "dir" else {}) as namespace:
    table = namespace.table("t").create([{"id": n, "vector": [float(n), 1.0]} for n in range(9)])
    search = table.search([1.0, 1.0])
    assert len(search.to_list()) == 9
    batches = table.to_batches()
    calls = {
        "count": table.count_rows,
        "search": search.to_list,
        "index": lambda: table.create_scalar_index("id"),
        "tables": lambda: list(namespace.iter_tables()),
        "open": table.to_lance,
        "stream": batches.read_all,
        "new": lambda: connect("dir", {"path": sys.argv[2]}).table("t").count_rows(),
        "async": lambda: asyncio.run(namespace.asynchronous().table("t").count_rows()),
    }
    for name, call in calls.items():
        print("---", name)
        forked(call)
    print("---")
    assert table.count_rows() == 9
"""


@pytest.mark.parametrize("impl", ["dir", "memory"])
def test_a_fork_after_lance_was_used_is_reported(impl: str, tmp_path: Path) -> None:
    _, *parts = run(USED, impl, str(tmp_path)).split("--- ")
    assert len(parts) == 8
    for part in parts:
        assert SPAWN in part, part
        assert "status 0" in part


def test_the_error_names_the_object_and_has_code_13(tmp_path: Path) -> None:
    printed = run(USED, "dir", str(tmp_path))
    assert "InvalidInputError CountTableRows t: this process was forked" in printed


def test_a_fork_before_lance_was_used_works(tmp_path: Path) -> None:
    printed = run(
        """
with connect("dir", {"path": sys.argv[1]}) as namespace:
    table = namespace.table("t")
    forked(lambda: table.create([{"id": 1}]).count_rows())
    assert table.count_rows() == 1
""",
        str(tmp_path),
    )
    assert printed.splitlines() == ["returned 1", "status 0"]


REST = """
with connect("rest", {"uri": sys.argv[1]}) as namespace:
    table = namespace.table("t")
    client = namespace._client
    assert table.count_rows() == 1
    forked(lambda: (table.count_rows(), table.to_list(), namespace._client is client))
    assert table.count_rows() == 1 and namespace._client is client

async def count():
    return await asynchronous.table("t").count_rows()

asynchronous = asyncio.run(connect_async("rest", {"uri": sys.argv[1]}))
assert asyncio.run(count()) == 1
forked(lambda: asyncio.run(count()))
"""


def test_a_rest_namespace_opens_its_own_connections_after_a_fork(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.table("t").create([{"id": 1}])
        with serving(namespace) as uri:
            printed = run(REST, uri)
    assert printed.splitlines() == [
        "returned (1, [{'id': 1}], False)",
        "status 0",
        "returned 1",
        "status 0",
    ]


def test_a_forked_process_that_exits_keeps_the_tables_in_memory() -> None:
    printed = run(
        """
with connect("memory") as namespace:
    table = namespace.table("t").create([{"id": 1}])
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
    print(table.count_rows())
"""
    )
    assert printed == "1\n"
