"""Of several processes that drop one table at the same moment, one succeeds."""

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
# Drops a table; says when the catalog has let it go, and goes on as it is told to.
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
    print("begins", flush=True)
    try:
        namespace.drop_table({"id": identifier})
        print("dropped", flush=True)
    except LanceNamespaceError as error:
        print(int(error.code), flush=True)
"""


@pytest.fixture(params=["dir", "unity"])
def target(request, tmp_path):
    """A namespace with a table, as implementation, properties and the table's identifier."""
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
def dropping(target):
    """Starts processes that drop the table."""
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", DROP, *map(json.dumps, target)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # nothing is read ahead, so that `select` tells of each line
            cwd=Path(__file__).parents[2],
        )
        started.append(process)
        assert process.stdout.readline() == b"begins\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def said_within(process, seconds):
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    return process.stdout.readline().decode() if ready else None


@pytest.fixture
def namespace(target):
    """The namespace, with the table in it."""
    impl, properties, identifier = target
    with connect(impl, properties) as connected:
        connected.create_table({"id": identifier}, pa.table({"a": [1]}))
        yield connected


@pytest.fixture
def two(namespace, dropping):
    """Two processes, of which the first deletes the data and the second has been started since."""
    first = dropping()
    assert said_within(first, PATIENCE) == "deleting\n"
    return first, dropping()


def test_who_comes_while_another_process_deletes_finds_no_table(two):
    first, second = two
    assert said_within(second, 1) is None, "it waits for the first"
    first.stdin.write(b"go on\n")
    assert said_within(first, PATIENCE) == "dropped\n"
    assert said_within(second, PATIENCE) == "4\n"


def test_what_a_process_left_when_it_died_is_dropped_by_another(target, namespace, two):
    first, second = two
    time.sleep(0.2)
    first.stdin.write(b"die\n")
    assert first.wait(PATIENCE) == 9
    assert said_within(second, PATIENCE) == "deleting\n", "it goes on where the first ended"
    second.stdin.write(b"go on\n")
    assert said_within(second, PATIENCE) == "dropped\n"
    with pytest.raises(TableNotFoundError):
        namespace.drop_table({"id": target[2]})
