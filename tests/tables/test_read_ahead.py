"""How much of a table a query reads before its rows are consumed."""

from __future__ import annotations

import lance
import numpy as np
import pyarrow as pa
import pytest

from lance_namespace_client.models import QueryTableRequest
from lance_namespace_impls.tables import query as module
from lance_namespace_impls.tables.context import ORDER_BY
from lance_namespace_impls.tables.query import (
    READ_AHEAD_BYTES,
    _Shape,
    few_rows,
    scan,
    scanner,
)

WIDTH, ROWS = 256, 60_000


def rows(first, count):
    vectors = pa.array(np.zeros(count * WIDTH, dtype=np.float32))
    vectors = pa.FixedSizeListArray.from_arrays(vectors, WIDTH)
    return pa.table({"id": pa.array(range(first, first + count)), "vector": vectors})


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table whose large fragment has one page and deleted rows, between small fragments."""
    path = str(tmp_path_factory.mktemp("tables") / "large.lance")
    lance.write_dataset(rows(0, 10), path)
    lance.write_dataset(rows(10, 10), path, mode="append")
    lance.write_dataset(rows(20, ROWS), path, mode="append")
    lance.write_dataset(rows(20 + ROWS, 10), path, mode="append")
    lance.dataset(path).delete("id % 7 = 3")
    return path


def failed(error):
    return error


def query(**more):
    return QueryTableRequest.coerce({"k": 0, "vector": {}, **more})


def test_no_more_than_the_read_ahead_limit_is_read(large):
    dataset = lance.dataset(large)
    dataset.io_stats_incremental()
    with scan(dataset, query(), failed) as reader:
        for _ in range(3):  # the small fragments come first
            reader.read_next_batch()
        assert dataset.io_stats_incremental().read_bytes <= 1.5 * READ_AHEAD_BYTES
        assert 3 * READ_AHEAD_BYTES < ROWS * WIDTH * 4


@pytest.mark.parametrize("limit", [0, 30, 100, 16_384, 40_000, 100_000])
@pytest.mark.parametrize("offset", [None, 5, 18, 16_000, 51_430, 51_445, 70_000])
def test_the_rows_and_their_order_are_those_of_one_scan(large, limit, offset, monkeypatch):
    monkeypatch.setattr(module, "READ_AHEAD_BYTES", 16_384 * 8)  # the size of 16,384 ids
    dataset = lance.dataset(large)
    asked = query(k=limit, offset=offset, columns={"column_names": ["id"]}, with_row_id=True)
    with scan(dataset, asked, failed) as reader:
        found = reader.read_all()
    expected = dataset.scanner(
        columns=["id"], offset=offset, limit=limit or None, with_row_id=True
    ).to_table()
    assert found == expected


def test_a_computed_column_is_returned_for_each_range(large):
    dataset = lance.dataset(large)
    asked = query(columns={"column_aliases": {"twice": "id * 2"}})
    with scan(dataset, asked, failed) as reader:
        found = reader.read_all()
    assert found == dataset.scanner(columns={"twice": "id * 2"}).to_table()


@pytest.mark.parametrize(("columns", "is_one_scan"), [(["id"], True), (["id", "vector"], False)])
def test_only_the_requested_columns_count_toward_the_limit(
    large, columns, is_one_scan, monkeypatch
):
    made = []
    monkeypatch.setattr(module, "scanner", lambda *given: made.append(given) or scanner(*given))
    asked = query(columns={"column_names": columns})
    with scan(lance.dataset(large), asked, failed) as reader:
        found = reader.read_all()
    assert found.num_rows == lance.dataset(large).count_rows()
    assert (len(made) == 1) is is_one_scan


def table_of(rows=2, **kinds):
    schema = pa.schema(list(kinds.items()))
    return pa.table([pa.nulls(rows, kind) for kind in schema.types], schema=schema)


def shape_of(data, **more):
    return _Shape.of(lance.write_dataset(data, "memory://", **more))


VECTOR = pa.list_(pa.float32(), 8)


@pytest.mark.parametrize(
    ("kind", "width", "is_fixed"),
    [
        (pa.int8(), 1, True),
        (pa.int64(), 8, True),
        (pa.timestamp("us"), 8, True),
        (pa.decimal128(10, 2), 16, True),
        (pa.binary(40), 40, True),
        (VECTOR, 32, True),
        (pa.list_(pa.float32(), 4096), 4 * 4096, True),
        (pa.list_(pa.float32(), 32_768), 4 * 32_768, True),
        (pa.list_(VECTOR, 3), 96, True),
        (pa.list_(pa.utf8(), 3), 3 * 32, False),
        (pa.utf8(), 32, False),
        (pa.list_(pa.int64()), 32, False),
        (pa.struct([("a", pa.int64())]), 32, False),
    ],
    ids=str,
)
def test_the_width_of_a_row(kind, width, is_fixed):
    shape = shape_of(table_of(x=kind, y=pa.int64()))
    assert shape.batch_rows == max(64, min(8192, (4 << 20) // (width + 8)))
    assert shape.wide == (["x"] if width > 32 else [])
    assert shape.fixed == ({"x": width, "y": 8} if is_fixed else {"y": 8})
    assert (shape.rows, shape.is_small, shape.is_legacy) == (2, True, False)
    assert shape.row_bytes >= width + 8


@pytest.mark.parametrize(("rows", "is_small"), [(16_384, True), (16_385, False)])
def test_a_table_with_few_rows_is_small(rows, is_small):
    shape = shape_of(table_of(rows, x=pa.int8()), max_rows_per_file=10_000)
    assert (shape.rows, shape.is_small) == (rows, is_small)


def test_a_table_with_many_bytes_is_not_small():
    texts = [f"{n:05}" * 2000 for n in range(1000)]
    shape = shape_of(pa.table({"s": texts}))
    assert not shape.is_small
    # The size is read from the files, because the width of these rows would be a guess.
    assert 1000 < shape.row_bytes < 20_000
    assert not shape.fixed


def given(**more):
    known = {"batch_rows": 8192, "wide": [], "is_small": False, "rows": 10**9, "row_bytes": 1 << 10}
    return _Shape(**{**known, "fixed": {"a": 4, "b": 12}, "is_legacy": False, **more})


@pytest.mark.parametrize(
    ("shape", "columns", "rows"),
    [
        (given(), None, 1 << 14),
        (given(), [], 1 << 14),
        (given(), ["a", "b"], 1 << 20),
        (given(), ["a"], 1 << 22),
        (given(), ["a", "text"], 1 << 14),
        (given(row_bytes=0), None, 1 << 24),
        (given(row_bytes=1 << 20), None, 64),
        (given(rows=None), None, 1 << 14),
        (given(rows=1 << 14), None, 0),
        (given(rows=(1 << 14) + 1), None, 1 << 14),
        (given(is_legacy=True), None, 0),
    ],
)
def test_the_number_of_rows_read_ahead(shape, columns, rows):
    assert shape.range_rows(columns) == rows


def test_a_table_of_wide_texts_is_read_in_ranges(tmp_path, monkeypatch):
    """An estimate from the column's width alone would read the whole table in one scan."""
    data = pa.table({"s": [f"{n:05}{'x' * n}" * 20 for n in range(500)]})
    dataset = lance.write_dataset(data, str(tmp_path / "t"), max_rows_per_file=100)
    monkeypatch.setattr(module, "READ_AHEAD_BYTES", 500 * 64)
    made = []
    monkeypatch.setattr(module, "scanner", lambda *given: made.append(given) or scanner(*given))
    with scan(dataset, query(), failed) as reader:
        assert reader.read_all() == data
    assert len(made) > 3


class RecordingDataset:
    """A dataset that records the arguments of its scans."""

    def __init__(self, dataset):
        self._dataset, self.seen = dataset, []

    def __getattr__(self, name):
        return getattr(self._dataset, name)

    def scanner(self, **more):
        self.seen.append(more)
        return self._dataset.scanner(**more)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {"batch_size": 8192}),
        ({"k": 5}, {"batch_size": 8192, "limit": 5}),
        ({"filter": "x > 0"}, {"batch_size": 8192, "filter": "x > 0"}),
        (
            {"filter": "x > 0", "k": 5},
            {"batch_size": 2048, "filter": "x > 0", "limit": 5, "late_materialization": False},
        ),
    ],
)
def test_the_options_of_a_plain_scan(more, expected):
    dataset = RecordingDataset(lance.write_dataset(pa.table({"x": [1, 2]}), "memory://"))
    scanner(dataset, query(**more))
    (seen,) = dataset.seen
    always = {"io_buffer_size": 16 << 20, "batch_readahead": 2, "fragment_readahead": 1}
    assert {key: value for key, value in seen.items() if key != "with_row_id"} == {
        **always,
        **expected,
    }


def test_wide_columns_are_read_only_for_the_rows_found():
    data = table_of(x=pa.int64(), v=pa.list_(pa.float32(), 16))
    dataset = RecordingDataset(lance.write_dataset(data, "memory://"))
    scanner(dataset, query(filter="x > 0", k=5))
    assert dataset.seen[0]["late_materialization"] == ["v"]


@pytest.mark.parametrize(
    ("more", "is_one_table"),
    [
        ({"k": 64}, True),
        ({"k": 65}, False),
        ({"k": 0}, False),
        ({"k": 1, "full_text_query": {"string_query": {"query": "a"}}}, False),
    ],
)
def test_a_few_rows_are_read_as_one_table(more, is_one_table):
    dataset = lance.write_dataset(pa.table({"x": range(100), "s": ["a"] * 100}), "memory://")
    run = few_rows(dataset, query(**more))
    assert (run is not None) is is_one_table
    if run is not None:
        assert run().num_rows == 64


def test_a_failure_while_rows_are_read_is_translated(tmp_path):
    dataset = lance.write_dataset(
        pa.table({"x": range(1000)}), str(tmp_path / "t"), max_rows_per_file=500
    )
    later = sorted((tmp_path / "t" / "data").iterdir())
    for file in later:
        file.write_bytes(b"x")
    reader = scan(lance.dataset(dataset.uri), query(), lambda error: LookupError("told"))
    with reader, pytest.raises(Exception, match="told"):
        reader.read_all()


@pytest.mark.parametrize(
    ("fragments", "ranges"),
    [
        ([], []),
        ([20], [("0", 0, 20)]),
        ([10, 10], [("01", 0, 20)]),
        ([10, 11], [("0", 0, 10), ("1", 0, 11)]),
        ([5, 5, 5, 6, 20], [("012", 0, 15), ("3", 0, 6), ("4", 0, 20)]),
        ([3, 45, 7, 1], [("0", 0, 3), ("1", 0, 20), ("1", 20, 20), ("1", 40, 5), ("23", 0, 8)]),
        ([21], [("0", 0, 20), ("0", 20, 1)]),
    ],
)
def test_fragments_are_grouped_up_to_a_number_of_rows(fragments, ranges):
    class Fragment:
        def __init__(self, number, rows):
            self.number, self.count_rows = number, lambda: rows

    class Dataset:
        def get_fragments(self):
            return [Fragment(number, rows) for number, rows in enumerate(fragments)]

    found = module._ranges(Dataset(), 20)
    assert [("".join(str(f.number) for f in each), *rest) for each, *rest in found] == ranges


ORDER = {ORDER_BY: '[{"column_name": "x", "ascending": false}]'}


@pytest.mark.parametrize(
    ("more", "is_one_scan"),
    [
        ({}, False),
        ({"k": 100}, False),
        ({"offset": 100}, False),
        ({"filter": "x >= 0"}, True),
        ({"context": ORDER}, True),
        ({"vector": {"single_vector": [0.0, 0.0]}, "k": 300}, True),
        ({"full_text_query": {"string_query": {"query": "a"}}, "k": 300}, True),
    ],
)
def test_only_a_plain_scan_is_split_into_ranges(more, is_one_scan, tmp_path, monkeypatch):
    """A search in each range would find too many rows, in another order."""
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(range(600), pa.float32()), 2)
    data = pa.table({"x": range(300), "s": ["a"] * 300, "v": vectors})
    dataset = lance.write_dataset(data, str(tmp_path / "t"), max_rows_per_file=100)
    monkeypatch.setattr(module, "READ_AHEAD_BYTES", 1)
    made = []
    monkeypatch.setattr(module, "scanner", lambda *given: made.append(given) or scanner(*given))
    with scan(dataset, query(**more), failed) as reader:
        found = reader.read_all()
    assert found.num_rows == {"k": 100, "offset": 200}.get(next(iter(more), ""), 300)
    assert (len(made) == 1) is is_one_scan
    if "context" in more:
        assert found["x"].to_pylist() == list(range(299, -1, -1))
