"""Small data in memory: it is validated like any stream, and can be read repeatedly."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.arrow import RowStream, file_chunks, stream_chunks, to_reader
from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError

TABLE = pa.table(
    {
        "x": [1, 2, 3, 4, 5],
        "s": ["a", "bb", None, "dddd", "e"],
        "d": pa.array(["p", "q", "p", "p", "q"]).dictionary_encode(),
        "l": [[1], [2, 3], [], None, [4]],
    }
)


def as_stream(compression: str | None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, TABLE.schema, options=options) as writer:
        writer.write_table(TABLE, max_chunksize=3)
    return sink.getvalue()


def rows_of(data: Any) -> int | None:
    """Read all rows and return their number, or None if they are rejected."""
    try:
        return int(to_reader(data).read_all().num_rows)
    except (InvalidInputError, pa.ArrowException, OSError):
        return None


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_bytes_are_accepted_exactly_if_the_same_file_is(compression: str | None) -> None:
    whole, dice = as_stream(compression), random.Random(7)
    assert rows_of(whole) == rows_of(io.BytesIO(whole)) == 5
    refused = 0
    for _ in range(300):
        broken = bytearray(whole)
        for _ in range(dice.choice([1, 1, 2, 4])):
            broken[dice.randrange(len(broken))] = dice.choice([0, 1, 127, 255, dice.randrange(256)])
        sent = bytes(broken[: dice.randrange(len(broken)) if dice.random() < 0.2 else None])
        found = rows_of(sent)
        assert found == rows_of(io.BytesIO(sent)), sent
        refused += found is None
    assert 50 < refused < 300


@pytest.mark.parametrize("make", [lambda: TABLE, lambda: as_stream(None)], ids=["table", "bytes"])
def test_small_data_can_be_read_repeatedly(make: Callable[[], Any]) -> None:
    rows = RowStream.of(make())
    assert [rows.reader().read_all() for _ in range(3)] == [TABLE] * 3
    assert (rows.are_few, rows.can_begin_again, rows.rows) == (True, True, 5)


def test_a_reader_can_be_read_once() -> None:
    rows = RowStream.of(TABLE.to_reader(max_chunksize=1))
    assert rows.reader().read_all() == TABLE
    assert (rows.are_few, rows.can_begin_again) == (False, False)


def test_an_error_of_the_producer_is_raised_unchanged() -> None:
    class Lost(LanceNamespaceError):
        """A failure of the producer of the rows."""

    def broken(error: Exception) -> Iterator[pa.RecordBatch]:
        yield TABLE.to_batches()[0]
        raise error

    lost = Lost("gone")
    rows = RowStream(TABLE.schema, broken(lost))
    with pytest.raises(LanceNamespaceError) as raised:
        to_reader(rows).read_all()
    assert raised.value is lost is rows.failure
    rows = RowStream(TABLE.schema, broken(ValueError("odd\nthing")))
    with pytest.raises(InvalidInputError, match="cannot be read: odd"), rows.guarded("table t"):
        pa.table(rows)
    assert RowStream.of(rows) is rows


def test_the_first_batch_can_be_read_again_and_is_prepared_each_time() -> None:
    rows = RowStream.of(TABLE.to_reader(max_chunksize=2))
    assert rows.reader().read_next_batch().num_rows == 2
    assert rows.can_begin_again

    def without_others(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch([batch["x"]], schema=rows.schema)

    rows.schema = pa.schema([("x", pa.int64())])
    assert rows.reader(without_others).read_all() == TABLE.select(["x"])
    assert (rows.rows, rows.can_begin_again) == (5, False)


class Exporter:
    """An unknown type that exports an Arrow C stream."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return TABLE.__arrow_c_stream__(requested_schema)


FORMS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(),
    "stream": lambda: pa.ipc.open_stream(as_stream(None)),
    "bytes": lambda: as_stream(None),
    "bytearray": lambda: bytearray(as_stream(None)),
    "memoryview": lambda: memoryview(as_stream(None)),
    "buffer": lambda: pa.py_buffer(as_stream(None)),
    "file": lambda: io.BytesIO(as_stream(None)),
    "rows": lambda: RowStream.of(TABLE),
    "exporter": Exporter,
    "dicts": lambda: TABLE.to_pylist(),
    "columns": lambda: TABLE.to_pydict(),
}
IN_MEMORY = {"table", "batch", "bytes", "bytearray", "memoryview", "buffer", "rows"}


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_accepted_in_every_form(form: str) -> None:
    assert to_reader(FORMS[form]()).read_all().to_pylist() == TABLE.to_pylist()
    rows = RowStream.of(FORMS[form]())
    assert rows.are_few == (form in IN_MEMORY)
    assert rows.reader().read_all().to_pylist() == TABLE.to_pylist()


@pytest.mark.parametrize("make", [lambda table: table, lambda table: table.to_batches()[0]])
def test_large_data_is_not_kept_in_memory(make: Callable[[pa.Table], Any]) -> None:
    large = pa.table({"x": pa.array(bytes(1 << 17), pa.uint8())})
    assert not RowStream.of(make(large)).are_few
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, large.schema) as writer:
        writer.write_table(large)
    for sent in (sink.getvalue(), pa.py_buffer(sink.getvalue())):
        rows = RowStream.of(sent)
        assert not rows.are_few
        assert rows.reader().read_all() == large


@pytest.mark.parametrize("bad", [5, None, "text", [1], object(), {1, 2}])
def test_a_value_without_rows_is_invalid_input(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"rows must be|cannot be read") as caught:
        RowStream.of(bad)
    assert caught.value.code == 13


def test_a_long_cause_is_truncated() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield from ()
        raise ValueError("x" * 400)

    rows = RowStream(TABLE.schema, broken())
    with pytest.raises(InvalidInputError) as caught, rows.guarded():
        rows.reader().read_all()
    assert caught.value.text == f"the Arrow data cannot be read: {'x' * 297}..."


@pytest.mark.parametrize("write", [stream_chunks, file_chunks])
def test_each_batch_is_a_separate_chunk(write: Callable[[Any], Iterator[bytes]]) -> None:
    read = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for batch in TABLE.to_batches(max_chunksize=2):
            read += 1
            yield batch

    found = []
    for chunk in write(pa.RecordBatchReader.from_batches(TABLE.schema, batches())):
        found.append(chunk)
        assert read == min(len(found) - 1, 3)
    assert len(found) == 5
    whole = b"".join(found)
    opened = pa.ipc.open_stream(whole) if write is stream_chunks else pa.ipc.open_file(whole)
    assert opened.read_all() == TABLE
