"""The data source as Spark's Python workers call it, without Spark."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import datasource as ds

from lance_namespace_client.errors import ConcurrentModificationError, TableVersionNotFoundError
from lance_namespace_impls.spark import read_plan
from lance_namespace_impls.spark.datasource import LanceNamespaceDataSource, LanceReader
from tests.spark.conftest import Lake


def reader_of(lake: Lake, table: str = "t", **options: str) -> LanceReader:
    """Create a reader in the same steps as Spark, which pickles the source between processes."""
    given = {"impl": "dir", "dir.path": str(lake.root), "path": table, **options}
    source = LanceNamespaceDataSource(given)
    schema = source.schema()
    reader = pickle.loads(pickle.dumps(source)).reader(schema)
    assert isinstance(reader, LanceReader)
    return reader


def batches(reader: LanceReader) -> Iterator[pa.RecordBatch]:
    """Read all partitions, with a reader that was pickled before they were planned."""
    sent = pickle.dumps(reader)
    for partition in reader.partitions():
        worker = pickle.loads(sent)
        yield from worker.read(pickle.loads(pickle.dumps(partition)))


def test_wide_rows_are_read_in_small_batches(quiet_lake: Lake) -> None:
    wide = pa.FixedSizeListArray.from_arrays(
        pa.array(np.random.default_rng(1).random(2_000_000)), 5000
    )
    quiet_lake.put("wide", pa.table({"v": wide}))
    sizes = [batch.num_rows for batch in batches(reader_of(quiet_lake, "wide"))]
    assert sum(sizes) == 400
    assert max(sizes) <= (8 << 20) // (5000 * 8)
    quiet_lake.put("narrow", pa.table({"n": range(100_000)}))
    assert max(batch.num_rows for batch in batches(reader_of(quiet_lake, "narrow"))) == 65_536
    few = reader_of(quiet_lake, "narrow", batch_rows="100")
    assert max(batch.num_rows for batch in batches(few)) == 100


def test_the_size_or_the_option_splits_sets_the_number_of_tasks(
    quiet_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of cores of the driver is ignored, because the cluster has other machines."""
    quiet_lake.put("t", pa.table({"n": range(1000)}), max_rows_per_file=10)
    size = sum(file.stat().st_size for file in Path(quiet_lake.path("t"), "data").iterdir())
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert len(reader_of(quiet_lake).partitions()) == 1
    monkeypatch.setattr(read_plan, "TASK_BYTES", size // 5 + 1)
    assert len(reader_of(quiet_lake).partitions()) == 5
    assert len(reader_of(quiet_lake, splits="7").partitions()) == 7


@pytest.mark.parametrize("splits", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("filter_", ["", "n % 3 = 0"])
def test_each_row_is_read_once_for_any_division_of_fragments(
    quiet_lake: Lake, splits: int, filter_: str
) -> None:
    rows = pa.table({"n": range(1000)})
    quiet_lake.put("t", rows, max_rows_per_file=317).delete("n % 10 = 4 OR n > 950")
    options = {"splits": str(splits), **({"filter": filter_} if filter_ else {})}
    reader = reader_of(quiet_lake, **options)
    parts = [sum(batch.num_rows for batch in reader.read(each)) for each in reader.partitions()]
    found = [n for batch in batches(reader) for n in batch["n"].to_pylist()]
    assert found == [n for n in range(951) if n % 10 != 4 and not (filter_ and n % 3)]
    if not filter_:
        assert len(parts) == splits
        assert max(parts) - min(parts) <= 2 + 0.2 * len(found) / splits


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 50)), max_size=12), st.integers(1, 20)
)
def test_cut_evenly_loses_no_row(runs: list[tuple[int, int]], groups: int) -> None:
    sizes, counts = [run[0] for run in runs], [run[1] for run in runs]
    parts = read_plan.cut_evenly(sizes, counts, groups)
    assert len(parts) <= groups
    flat = [part for group in parts for part in group]
    assert [(index, row) for index, start, rows in flat for row in range(start, start + rows)] == [
        (index, row) for index, rows in enumerate(counts) for row in range(rows)
    ]


@pytest.mark.parametrize("pushes", [False, True])
def test_no_filter_of_spark_is_accepted(quiet_lake: Lake, pushes: bool) -> None:
    """Depending on a setting, Spark calls `pushFilters` or requires that it not be overridden."""
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
    with pytest.raises(
        ConcurrentModificationError, match=r"table t moved concurrently from .* \(code 14\)"
    ):
        list(batches(reader))


def test_no_fragments_at_all(quiet_lake: Lake) -> None:
    quiet_lake.put("t", pa.table({"n": pa.array([], pa.int64())}))
    reader = reader_of(quiet_lake)
    assert reader.partitions() == []
    assert list(reader.read(ds.InputPartition(None))) == []
