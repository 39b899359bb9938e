"""Lists that are all null have values without a buffer; casting them to vectors crashed pyarrow.

Each case runs in a separate process, because a regression would crash it.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

SOURCE = """
import sys
import pyarrow as pa
from lance_namespace_impls import connect
from lance_namespace_impls.tables.align import cast

def nulls(rows):
    values = pa.Array.from_buffers(pa.float32(), 0, [None, None])
    buffers = [pa.py_buffer(bytes(1)), pa.py_buffer(bytes(4 * (rows + 1)))]
    return pa.Array.from_buffers(pa.list_(pa.float32()), rows, buffers, children=[values])

def sent(table):  # as another process sends it
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()

VECTOR = pa.list_(pa.float32(), 2)
lists = pa.table({"id": pa.array([2, 3]), "v": nulls(2)})
first = pa.table({"id": pa.array([1]), "v": pa.array([[1.0, 2.0]], VECTOR)})
"""
WRITES = """
with connect("dir", {"path": sys.argv[1]}) as lake:
    table = lake.table("t")
    table.create(first)
    WRITE
    found = table.to_arrow().sort_by("id")["v"].to_pylist()
    assert found == [[1.0, 2.0], None, None], found
"""
CASES = {
    "array": "assert cast(nulls(3), VECTOR).to_pylist() == [None] * 3",
    "large list": "assert cast(nulls(3).cast(pa.large_list(pa.float32())), VECTOR).null_count == 3",
    "chunks": "assert cast(pa.chunked_array([nulls(2), nulls(1)]), VECTOR).null_count == 3",
    "slice": "assert cast(nulls(3).slice(1), VECTOR).to_pylist() == [None] * 2",
    "struct": """
whole = pa.StructArray.from_arrays([nulls(3)], fields=[pa.field("v", pa.list_(pa.float32()))])
assert cast(whole, pa.struct([("v", VECTOR)])).to_pylist() == [{"v": None}] * 3
""",
    "list of lists": """
outer = pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), nulls(3))
assert cast(outer, pa.list_(VECTOR)).to_pylist() == [[None], [None, None]]
""",
    "add": WRITES.replace("WRITE", "table.add(pa.ipc.open_stream(sent(lists)).read_all())"),
    "insert": WRITES.replace("WRITE", 'lake.insert_into_table({"id": ["t"]}, sent(lists))'),
    "merge": WRITES.replace(
        "WRITE",
        'lake.merge_insert_into_table({"id": ["t"], "on": "id", '
        '"when_not_matched_insert_all": True}, sent(lists))',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_lists_without_values_become_vectors(name: str, tmp_path: object) -> None:
    program = SOURCE + CASES[name]
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
