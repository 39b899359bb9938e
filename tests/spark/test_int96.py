"""Timestamps of Parquet's deprecated type INT96, which Spark writes by default."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from lance_namespace_client.errors import TableSchemaValidationError
from tests.spark.conftest import Lake
from tests.spark.test_formats import format_of, read_whole
from tests.spark.test_import import Importer

pytestmark = pytest.mark.xdist_group("spark two")

FAR = [dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(1500, 1, 1), dt.datetime(1, 1, 1)]
NEAR = [dt.datetime(2020, 1, 1, 1, 2, 3, 456789), None, dt.datetime(1969, 12, 31, 23, 59, 59)]
EDGES = [-(2**63) + 1, -(2**63) + 2, -1000, -1, 0, 1, 2**63 - 1]


def written(path: Path, table: pa.Table) -> Any:
    from lance_namespace_impls.ingest.readers import find_files

    parquet.write_table(table, path, use_deprecated_int96_timestamps=True, row_group_size=2)
    return find_files([str(path)], None)[1][0]


@pytest.mark.parametrize("shape", ["plain", "list", "struct", "map"])
def test_timestamps_outside_the_range_of_nanoseconds(tmp_path: Path, shape: str) -> None:
    values, kind = [*FAR, *NEAR], pa.timestamp("us")
    if shape == "list":
        values, kind = [[value, None] for value in values], pa.list_(kind)
    elif shape == "struct":
        values, kind = [{"x": value} for value in values], pa.struct([("x", kind)])
    elif shape == "map":
        values, kind = [[("k", value)] for value in values], pa.map_(pa.string(), kind)
    table = pa.table({"n": range(6), "t": pa.array(values, kind)})
    found = read_whole(format_of("parquet"), written(tmp_path / "a.parquet", table), 3)
    assert found["t"].to_pylist() == values
    assert "timestamp[us]" in str(found.schema.field("t").type)


def test_nanoseconds_are_kept(tmp_path: Path) -> None:
    moments = pa.array(EDGES, pa.timestamp("ns"))
    file = written(tmp_path / "a.parquet", pa.table({"t": moments}))
    found = read_whole(format_of("parquet"), file, 3)
    assert found["t"].combine_chunks() == moments


def test_nanoseconds_next_to_timestamps_outside_their_range(tmp_path: Path) -> None:
    table = pa.table({"fine": pa.array([1], pa.timestamp("ns")), "far": pa.array(FAR[:1])})
    with pytest.raises(
        TableSchemaValidationError, match=r"a\.parquet: column fine has nanoseconds, and column far"
    ):
        format_of("parquet").inspect(written(tmp_path / "a.parquet", table))


def test_files_of_both_kinds_are_not_rounded(tmp_path: Path) -> None:
    from lance_namespace_impls.ingest.schema import agree

    reader = format_of("parquet")
    fine = reader.inspect(
        written(tmp_path / "a.parquet", pa.table({"t": pa.array([1], pa.timestamp("ns"))}))
    )
    far = reader.inspect(written(tmp_path / "b.parquet", pa.table({"t": FAR})))
    schema = agree([fine, far], reader, None, "table t")
    assert [list(reader.read(piece, schema)) for piece in fine.pieces(1 << 20)]
    with pytest.raises(TableSchemaValidationError, match=r"b\.parquet: column t: "):
        list(reader.read(far.pieces(1 << 20)[0], schema))


@pytest.mark.parametrize("kind", ["timestamp_ntz", "timestamp"])
def test_timestamps_that_spark_writes(lake: Lake, spark: Any, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "in"
    texts = ["9999-12-31 00:00:00", "1500-01-01 00:00:00", "2020-01-01 01:02:03.456789"]
    rows = " union all ".join(f"select cast('{text}' as {kind}) t" for text in texts)
    spark.sql(rows).write.option("compression", "none").parquet(str(folder))
    Importer(lake, spark, folder)("t", "")
    found = lake.dataset("t").to_table()["t"].cast(pa.timestamp("us")).to_pylist()
    assert sorted(found) == sorted(dt.datetime.fromisoformat(text) for text in texts)
