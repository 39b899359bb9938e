"""CreateTable in mode ExistOk, of a table that is there."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from lance_namespace_impls import connect

SCHEMA = pa.schema([("x", pa.int64())])


def never_read() -> Iterator[pa.RecordBatch]:
    raise AssertionError("rows that are not wanted are not read")
    yield


def test_the_rows_are_not_read_and_the_table_stays() -> None:
    with connect("memory") as namespace:
        namespace.create_namespace({"id": ["n"]})
        request = {"id": ["n", "t"], "properties": {"k": "v"}}
        made = namespace.create_table(request, pa.table({"x": [1]}))
        again = {**request, "mode": "ExistOk", "properties": {"k": "other"}}
        rows = pa.RecordBatchReader.from_batches(SCHEMA, never_read())
        found = namespace.create_table(again, rows)
        assert (found.location, found.properties) == (made.location, {"k": "v"})
        assert namespace.open_table(["n", "t"]).version == 1
