"""Rows can be written regardless of the memory alignment of their buffers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from lance_namespace_impls.tables.align import ROWS_PER_FILE, aligned, split_at_files

DECIMAL = pa.decimal128(10, 2)
STRUCT = pa.struct([("a", pa.string()), ("b", DECIMAL)])
COLUMNS: dict[str, pa.Array] = {
    "decimal": pa.array([Decimal("1.50"), None], DECIMAL),
    "decimal256": pa.array([Decimal("1.50"), None], pa.decimal256(40, 2)),
    "list": pa.array([[Decimal("1.50")], None], pa.list_(DECIMAL)),
    "fixed": pa.array([[Decimal("1.50")] * 2, None], pa.list_(DECIMAL, 2)),
    "struct": pa.array([{"a": "x", "b": Decimal("1.50")}, None], STRUCT),
    "map": pa.array([[("k", Decimal("1.50"))], None], pa.map_(pa.string(), DECIMAL)),
    "dictionary": pa.array([Decimal("1.50"), None], DECIMAL).dictionary_encode(),
    "whole": pa.array([2**64 - 1, None], pa.uint64()),
    "text": pa.array(["x", None]),
    "string_view": pa.array(["longer than the twelve bytes of a view", None], pa.string_view()),
    "binary_view": pa.array([b"longer than the twelve bytes of a view", None], pa.binary_view()),
}  # fmt: skip


def shifted(rows: pa.Table, address: int) -> pa.Table:
    """Return the same rows from a stream that starts `address` bytes after a multiple of 16."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    stream = np.frombuffer(sink.getvalue(), np.uint8)
    room = np.zeros(len(stream) + 32, np.uint8)
    start = (address - room.ctypes.data) % 16
    room[start : start + len(stream)] = stream
    return pa.ipc.open_stream(pa.py_buffer(room[start : start + len(stream)])).read_all()


@pytest.mark.parametrize("address", [0, 4, 8])
@pytest.mark.parametrize("name", COLUMNS)
def test_each_column_ends_up_aligned_with_the_same_values(name: str, address: int) -> None:
    rows = pa.table({name: COLUMNS[name], "other": [1, 2]})
    for batch in shifted(rows, address).to_batches():
        found = aligned(batch)
        assert found.to_pydict() == rows.to_pydict()
        assert found.schema == rows.schema
        unit = 8 if name in ("whole", "text") else 16
        buffers = [buffer for buffer in found[name].buffers() if buffer is not None]
        if name.endswith("view"):
            buffers = [buffer for buffer in found[name].buffers()[:2] if buffer is not None]
        assert {buffer.address % unit for buffer in buffers} == {0}
        assert aligned(found) is found


@pytest.mark.parametrize("name", ["decimal", "list", "struct", "whole", "text", "string_view"])
def test_rows_of_any_alignment_are_written(tmp_path: Any, name: str) -> None:
    rows = pa.table({"s": ["x", "y"], name: COLUMNS[name]})
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        for address in (0, 4, 8):
            moved = shifted(rows, address)
            namespace.create_table({"id": [f"t{address}"]}, moved)
            namespace.insert_into_table({"id": [f"t{address}"]}, moved)
            namespace.merge_insert_into_table(
                {"id": [f"t{address}"], "on": ["s"], "when_matched_update_all": True}, moved
            )
            stored = lance.dataset(str(tmp_path / f"t{address}.lance"))
            found = stored.to_table().sort_by("s").to_pylist()
            assert found == [row for row in rows.to_pylist() for _ in range(2)]


def test_a_stream_through_the_server_may_have_its_columns_in_any_order(tmp_path: Any) -> None:
    """Each preceding column adds 8 bytes to a column's offset in the stream."""
    with (
        connect("dir", {"path": str(tmp_path)}) as namespace,
        serving(namespace) as address,
        connect("rest", {"uri": address}) as remote,
    ):
        for before in range(4):
            columns = {f"n{n}": pa.array([n], pa.int64()) for n in range(before)}
            rows = pa.table({**columns, "d": pa.array([Decimal("1.50")], DECIMAL), "s": ["x"]})
            table = {"id": [f"t{before}"]}
            remote.create_table(table, rows)
            remote.insert_into_table(table, rows)
            found = namespace.open_table(table["id"]).to_table()
            assert found == pa.concat_tables([rows] * 2), before


@pytest.mark.parametrize("wrap", ["plain", "list", "deep"])
def test_structs_in_structs_that_start_in_the_middle_of_a_buffer(wrap: str) -> None:
    inner = pa.struct([("y", pa.uint32())])
    kind = {
        "plain": pa.struct([("x", inner)]),
        "list": pa.struct([("x", pa.list_(inner))]),
        "deep": pa.struct([("x", pa.struct([("x", inner)]))]),
    }[wrap]
    rows = pa.table({"n": pa.chunked_array([[1], [2]]), "c": pa.nulls(2, kind)})
    lake = connect("memory", {})
    lake.create_table({"id": ["t"]}, rows)
    lake.insert_into_table({"id": ["t"]}, rows)
    assert lake.query_table({"id": ["t"], "k": 0}).read_all()["c"].to_pylist() == [None] * 4


STRUCTS = {
    "booleans": pa.array([{"k": True}, None, {"k": None}] * 4, pa.struct([("k", pa.bool_())])),
    "structs": pa.array([{"k": {"x": 1}}, None, {"k": None}] * 4),
    "lists": pa.array([[{"k": True}], None, [{"k": None}, None]] * 4),
}


@pytest.mark.parametrize("batch", [5, 12])
@pytest.mark.parametrize("rows_per_file", [1, 5, 7, 8, 12])
@pytest.mark.parametrize("name", STRUCTS)
def test_a_batch_of_structs_never_spans_two_files(
    tmp_path: Any, name: str, rows_per_file: int, batch: int
) -> None:
    rows = pa.table({"n": range(12), "c": STRUCTS[name]})
    batches = rows.to_batches(batch)
    reader = split_at_files(
        pa.RecordBatchReader.from_batches(rows.schema, iter(batches)), rows_per_file
    )
    stored = lance.write_dataset(reader, str(tmp_path), max_rows_per_file=rows_per_file)
    assert stored.to_table().to_pylist() == rows.to_pylist()
    assert len(stored.get_fragments()) == -(-12 // rows_per_file)


def test_rows_without_structs_are_not_split() -> None:
    reader = pa.table({"n": [1, 2]}).to_reader()
    assert split_at_files(reader, 1) is reader


@pytest.mark.parametrize("write", ["overwrite", "update"])
def test_structs_of_booleans_across_files(tmp_path: Any, write: str) -> None:
    """pylance fails on such structs when it starts a new file after 1,048,576 rows."""
    kind = pa.struct([("k", pa.bool_())])
    count = ROWS_PER_FILE + 1003
    structs = pa.StructArray.from_arrays(
        [pa.array([True, False, None, True] * (count // 4))], fields=list(kind)
    )
    rows = pa.table({"n": pa.array(range(len(structs)), pa.int32()), "c": structs})
    batches = iter(rows.to_batches(50_003))
    with connect("dir", {"path": str(tmp_path)}) as lake:
        if write == "overwrite":
            lake.create_table({"id": ["t"]}, rows.slice(0, 1))
            lake.insert_into_table(
                {"id": ["t"], "mode": "overwrite"},
                pa.RecordBatchReader.from_batches(rows.schema, batches),
            )
        else:
            lake.create_table(
                {"id": ["t"]}, pa.RecordBatchReader.from_batches(rows.schema, batches)
            )
            lake.update_table({"id": ["t"], "updates": [["n", "n + 0"]]})
        found = lance.dataset(str(tmp_path / "t.lance")).to_table().sort_by("n")
    assert found.combine_chunks().equals(rows.combine_chunks())
