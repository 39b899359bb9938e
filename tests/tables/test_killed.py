"""CreateTable and DropTable, killed at every step: a second run completes or undoes them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_client.errors import TableAlreadyExistsError, TableNotFoundError
from lance_namespace_impls import connect

ROWS = pa.table({"id": list(range(10))})

# What dies where: the function that is replaced, and whether it still runs before the end.
CREATE_STEPS = {
    "before the table is added": ("Directory.add", "before"),
    "after the table was added": ("Directory.add", "after"),
    "before the data is written": ("write.create", "before"),
    "in the middle of the stream": ("RowCount._batches", "first"),
    "after the data was written": ("write.create", "after"),
    "before the marker goes": ("Directory.unmark", "before"),
    "after the marker went": ("Directory.unmark", "after"),
}
DROP_STEPS = {
    "before the directory goes": ("os.rename", "before"),
    "after the directory was renamed": ("os.rename", "after"),
    "in the middle of deleting": ("os.unlink", "after"),
    "after everything was deleted": ("Directory.remove", "after"),
}

CHILD = """
import os, sys, importlib
import pyarrow as pa
from lance_namespace_impls import connect
from lance_namespace_impls.directory.filesystem import Directory
from lance_namespace_impls.tables import write
from lance_namespace_impls.tables.write import RowCount

owner, name = {target!r}.split(".")
owner = {{"Directory": Directory, "write": write, "RowCount": RowCount, "os": os}}[owner]
real = getattr(owner, name)

def dying(*args, **kwargs):
    if {when!r} == "before":
        os._exit(9)
    result = real(*args, **kwargs)
    if {when!r} == "first":
        def one():
            yield next(result)
            os._exit(9)
        return one()
    os._exit(9)

namespace = connect("dir", {{"path": {path!r}}})
setattr(owner, name, dying)
rows = pa.table({{"id": list(range(10))}})
if {operation!r} == "create":
    batches = rows.to_batches(max_chunksize=5)
    data = pa.RecordBatchReader.from_batches(rows.schema, batches)
    namespace.create_table({{"id": ["t"], "properties": {{"k": "v"}}}}, data)
else:
    namespace.drop_table({{"id": ["t"]}})
os._exit(0)
"""


def run_and_die(path: Path, operation: str, step: tuple[str, str]) -> None:
    target, when = step
    code = CHILD.format(target=target, when=when, path=str(path), operation=operation)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert done.returncode == 9, "the step was never reached"


@pytest.mark.parametrize("step", CREATE_STEPS.values(), ids=CREATE_STEPS)
def test_create_table_killed(tmp_path: Path, step: tuple[str, str]) -> None:
    run_and_die(tmp_path, "create", step)
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        ready = list(namespace.iter_tables(include_declared=False))
        if ready:
            assert namespace.count_table_rows({"id": ["t"]}).count == 10
            with pytest.raises(TableAlreadyExistsError):
                namespace.create_table({"id": ["t"]}, ROWS)
        else:
            created = namespace.create_table({"id": ["t"], "properties": {"k": "v"}}, ROWS)
            assert created.version == 1
        assert list(namespace.iter_tables(include_declared=False)) == ["t"]
        assert namespace.count_table_rows({"id": ["t"]}).count == 10
        assert namespace.describe_table({"id": ["t"]}).properties == {"k": "v"}
        namespace.drop_table({"id": ["t"]})
        assert list(namespace.iter_tables()) == []


@pytest.mark.parametrize("step", DROP_STEPS.values(), ids=DROP_STEPS)
def test_drop_table_killed(tmp_path: Path, step: tuple[str, str]) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        run_and_die(tmp_path, "drop", step)
        if list(namespace.iter_tables()):
            assert namespace.count_table_rows({"id": ["t"]}).count == 10
            namespace.drop_table({"id": ["t"]})
        with pytest.raises(TableNotFoundError):
            namespace.describe_table({"id": ["t"]})
        # The name is free again, and what the killed drop left is gone after the next one.
        namespace.create_table({"id": ["t"]}, ROWS)
        assert namespace.count_table_rows({"id": ["t"]}).count == 10
        namespace.drop_table({"id": ["t"]})
    assert list(tmp_path.iterdir()) == []
