"""How much of a table a query reads before its rows are taken."""

from __future__ import annotations

import lance
import numpy as np
import pyarrow as pa
import pytest

from lance_namespace_client.models import QueryTableRequest
from lance_namespace_impls.tables import query as module
from lance_namespace_impls.tables.query import READ_AHEAD_BYTES, scan, scanner

WIDTH, ROWS = 256, 60_000


def rows(first, count):
    vectors = pa.array(np.zeros(count * WIDTH, dtype=np.float32))
    vectors = pa.FixedSizeListArray.from_arrays(vectors, WIDTH)
    return pa.table({"id": pa.array(range(first, first + count)), "vector": vectors})


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A fragment that is one page and lacks some rows, with small ones before and after it."""
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


def test_no_more_is_read_than_may_be_read_ahead(large):
    dataset = lance.dataset(large)
    dataset.io_stats_incremental()
    with scan(dataset, query(), failed) as reader:
        for _ in range(3):  # the small fragments come first
            reader.read_next_batch()
        assert dataset.io_stats_incremental().read_bytes <= 1.5 * READ_AHEAD_BYTES
        assert 3 * READ_AHEAD_BYTES < ROWS * WIDTH * 4


@pytest.mark.parametrize("limit", [0, 30, 100, 16_384, 40_000, 100_000])
@pytest.mark.parametrize("offset", [None, 5, 18, 16_000, 51_430, 51_445, 70_000])
def test_the_rows_are_those_of_one_scan_in_its_order(large, limit, offset, monkeypatch):
    monkeypatch.setattr(module, "READ_AHEAD_BYTES", 16_384 * 8)  # of the ids alone
    dataset = lance.dataset(large)
    asked = query(k=limit, offset=offset, columns={"column_names": ["id"]}, with_row_id=True)
    with scan(dataset, asked, failed) as reader:
        found = reader.read_all()
    expected = dataset.scanner(
        columns=["id"], offset=offset, limit=limit or None, with_row_id=True
    ).to_table()
    assert found == expected


def test_a_column_that_is_worked_out_is_there_in_each_part(large):
    dataset = lance.dataset(large)
    asked = query(columns={"column_aliases": {"twice": "id * 2"}})
    with scan(dataset, asked, failed) as reader:
        found = reader.read_all()
    assert found == dataset.scanner(columns={"twice": "id * 2"}).to_table()


@pytest.mark.parametrize(("columns", "is_one_scan"), [(["id"], True), (["id", "vector"], False)])
def test_only_the_columns_that_are_read_count(large, columns, is_one_scan, monkeypatch):
    made = []
    monkeypatch.setattr(module, "scanner", lambda *given: made.append(given) or scanner(*given))
    asked = query(columns={"column_names": columns})
    with scan(lance.dataset(large), asked, failed) as reader:
        found = reader.read_all()
    assert found.num_rows == lance.dataset(large).count_rows()
    assert (len(made) == 1) is is_one_scan
