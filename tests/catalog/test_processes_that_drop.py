"""Several processes drop the same table concurrently, and exactly one succeeds."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_client.errors import TableNotFoundError
from lance_namespace_impls import connect
from tests.servers.unity import UnityDouble

PATIENCE = 120
# Drops a table when it is told to. Reports when the deletion of its data begins, and waits for an
# instruction.
DROP = """
import json, os, sys
from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.directory.filesystem import Directory
from lance_namespace_impls.tables.drop import TableFolder

def said(owner, name):
    method = getattr(owner, name)
    def call(*arguments):
        print("deleting", flush=True)
        if sys.stdin.readline() == "die\\n":
            os._exit(9)
        return method(*arguments)
    setattr(owner, name, call)

impl, properties, identifier = map(json.loads, sys.argv[1:])
said(*((Directory, "move_to_trash") if impl == "dir" else (TableFolder, "delete")))
with connect(impl, properties) as namespace:
    print("ready", flush=True)
    sys.stdin.readline()
    print("begins", flush=True)
    try:
        namespace.drop_table({"id": identifier})
        print("dropped", flush=True)
    except LanceNamespaceError as error:
        print(int(error.code), flush=True)
"""


@pytest.fixture(params=["dir", "unity"])
def target(request, tmp_path):
    """An implementation, its properties, and the identifier of a table."""
    if request.param == "dir":
        yield "dir", {"path": str(tmp_path)}, ["t"]
        return
    with UnityDouble() as server:
        server.add_catalog("main", {})
        properties = {"endpoint": server.uri, "catalog": "main", "root": str(tmp_path)}
        with connect("unity", properties) as namespace:
            namespace.create_namespace({"id": ["main", "s"]})
        yield "unity", properties, ["main", "s", "t"]


@pytest.fixture
def droppers(target):
    """Two processes that drop the table when they are told to."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", DROP, *map(json.dumps, target)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # no read-ahead, so that `select` reports each line
            cwd=Path(__file__).parents[2],
        )
        for _ in range(2)
    ]
    yield started
    for process in started:
        process.kill()
        process.communicate()


def read_line_within(process, seconds):
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    return process.stdout.readline().decode() if ready else None


@pytest.fixture
def namespace(target):
    """A namespace that contains the table."""
    impl, properties, identifier = target
    with connect(impl, properties) as connected:
        connected.create_table({"id": identifier}, pa.table({"a": [1]}))
        yield connected


@pytest.fixture
def two(namespace, droppers):
    """Two processes: the first is deleting the data, and the second began its drop after that."""
    for process in droppers:
        assert read_line_within(process, PATIENCE) == "ready\n"
    first, second = droppers
    first.stdin.write(b"drop\n")
    assert read_line_within(first, PATIENCE) == "begins\n"
    assert read_line_within(first, PATIENCE) == "deleting\n"
    second.stdin.write(b"drop\n")
    assert read_line_within(second, PATIENCE) == "begins\n"
    return first, second


def test_a_second_process_waits_and_finds_no_table(two):
    first, second = two
    assert read_line_within(second, 0.3) is None, "it waits for the first"
    first.stdin.write(b"go on\n")
    assert read_line_within(first, PATIENCE) == "dropped\n"
    assert read_line_within(second, PATIENCE) == "4\n"


def test_a_drop_by_a_killed_process_is_finished_by_another(target, namespace, two):
    first, second = two
    time.sleep(0.2)
    first.stdin.write(b"die\n")
    assert first.wait(PATIENCE) == 9
    assert read_line_within(second, PATIENCE) == "deleting\n", "it goes on where the first ended"
    second.stdin.write(b"go on\n")
    assert read_line_within(second, PATIENCE) == "dropped\n"
    with pytest.raises(TableNotFoundError):
        namespace.drop_table({"id": target[2]})
