"""Few rows in memory: read past Python, checked as a stream of any length is, and read again."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.arrow import RowStream, to_reader
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
    """Read all rows and count them; None where they are refused."""
    try:
        return int(to_reader(data).read_all().num_rows)
    except (InvalidInputError, pa.ArrowException, OSError):
        return None


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_bytes_are_refused_where_a_file_of_them_is(compression: str | None) -> None:
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
def test_they_are_read_as_often_as_wanted(make: Callable[[], Any]) -> None:
    rows = RowStream.of(make())
    assert [rows.reader().read_all() for _ in range(3)] == [TABLE] * 3
    assert (rows.are_few, rows.can_begin_again, rows.rows) == (True, True, 5)


def test_many_rows_are_read_once() -> None:
    rows = RowStream.of(TABLE.to_reader(max_chunksize=1))
    assert rows.reader().read_all() == TABLE
    assert (rows.are_few, rows.can_begin_again) == (False, False)


def test_why_rows_break_off_is_raised_as_it_was() -> None:
    class Lost(LanceNamespaceError):
        """A failure of whoever makes the rows."""

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
