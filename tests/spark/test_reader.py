"""What the data source does in Spark's Python workers, without Spark."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import datasource as ds

from lance_namespace_client.errors import ConcurrentModificationError, TableVersionNotFoundError
from lance_namespace_impls.spark.datasource import LanceNamespaceDataSource, LanceReader
from tests.spark.conftest import Lake


def reader_of(lake: Lake, table: str = "t", **options: str) -> LanceReader:
    """Do what Spark does: each step in a process of its own."""
    given = {"impl": "dir", "dir.path": str(lake.root), "path": table, **options}
    source = LanceNamespaceDataSource(given)
    schema = source.schema()
    reader = pickle.loads(pickle.dumps(source)).reader(schema)
    assert isinstance(reader, LanceReader)
    return reader


def batches(reader: LanceReader) -> Iterator[pa.RecordBatch]:
    """Read all partitions, with a reader that was sent off before they were planned."""
    sent = pickle.dumps(reader)
    for partition in reader.partitions():
        worker = pickle.loads(sent)
        yield from worker.read(pickle.loads(pickle.dumps(partition)))


def test_all_rows_in_spark_s_arrow_form(quiet_lake: Lake) -> None:
    quiet_lake.put("t", pa.table({"n": pa.array(range(100), pa.uint8())}), max_rows_per_file=7)
    found = pa.Table.from_batches(batches(reader_of(quiet_lake)))
    assert found == pa.table({"n": pa.array(range(100), pa.int16())})


def test_batches_are_small_where_rows_are_wide(quiet_lake: Lake) -> None:
    wide = pa.FixedSizeListArray.from_arrays(
        pa.array(np.random.default_rng(1).random(2_000_000)), 5000
    )
    quiet_lake.put("wide", pa.table({"v": wide}))
    sizes = [batch.num_rows for batch in batches(reader_of(quiet_lake, "wide"))]
    assert sum(sizes) == 400
    assert max(sizes) <= (8 << 20) // (5000 * 8)
    quiet_lake.put("narrow", pa.table({"n": range(20_000)}))
    assert max(batch.num_rows for batch in batches(reader_of(quiet_lake, "narrow"))) == 8192
    few = reader_of(quiet_lake, "narrow", batch_rows="100")
    assert max(batch.num_rows for batch in batches(few)) == 100


def test_tasks_are_as_many_as_the_machine_has_cores_or_as_is_said(quiet_lake: Lake) -> None:
    quiet_lake.put("t", pa.table({"n": range(1000)}), max_rows_per_file=10)
    assert len(reader_of(quiet_lake).partitions()) == min(100, os.cpu_count() or 1)
    assert len(reader_of(quiet_lake, splits="7").partitions()) == 7


@pytest.mark.parametrize("pushes", [False, True])
def test_no_filter_of_spark_s_is_taken(quiet_lake: Lake, pushes: bool) -> None:
    """Spark checks that `pushFilters` is its own, or calls it, as its setting is."""
    quiet_lake.put("t", pa.table({"n": range(10)}))
    reader = reader_of(quiet_lake, filter="n > 3")
    assert reader.pushFilters.__func__ is ds.DataSourceReader.pushFilters  # type: ignore[attr-defined]
    filters: list[ds.Filter] = [ds.LessThan(("n",), 8)] if pushes else []
    assert list(reader.pushFilters(filters)) == filters
    rows = pa.Table.from_batches(batches(reader))
    assert rows["n"].to_pylist() == [4, 5, 6, 7, 8, 9]


def test_the_version_is_fixed_when_the_table_is_loaded(quiet_lake: Lake) -> None:
    quiet_lake.put("t", pa.table({"n": [1]}))
    reader = reader_of(quiet_lake)
    quiet_lake.put("t", pa.table({"n": [2]}), mode="overwrite")
    assert [row for batch in batches(reader) for row in batch["n"].to_pylist()] == [1]
    latest = quiet_lake.dataset("t")
    latest.cleanup_old_versions(older_than=timedelta(0))
    with pytest.raises(TableVersionNotFoundError, match=r"\(code 11\)"):
        list(batches(reader))


def test_another_table_of_the_same_name_is_not_read(quiet_lake: Lake) -> None:
    quiet_lake.put("t", pa.table({"n": [1]}))
    reader = reader_of(quiet_lake)
    (quiet_lake.root / "t.lance").rename(quiet_lake.root / "t")
    with pytest.raises(ConcurrentModificationError, match=r"table t moved from .* \(code 14\)"):
        list(batches(reader))


def test_no_fragments_at_all(quiet_lake: Lake) -> None:
    quiet_lake.put("t", pa.table({"n": pa.array([], pa.int64())}))
    reader = reader_of(quiet_lake)
    assert reader.partitions() == []
    assert list(reader.read(ds.InputPartition(None))) == []
