"""Time zones of columns, including those that Spark and Lance do not know."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.distributed.columns import cast_batch, spark_arrow_schema
from lance_namespace_impls.spark.read_plan import pin, plan_tasks, read_pieces, readable_schema
from tests.spark.conftest import Lake

MOMENT = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)
KNOWN = ["UTC", "Europe/Berlin", "+05:30", "EST5EDT"]
UNKNOWN = ["Mars/Base", "tz=UTC", "utc"]


def read(lake: Lake, **more: Any) -> list[dict[str, Any]]:
    pinned = pin(lake.target(), **more)
    schema = spark_arrow_schema(readable_schema(pinned))
    tasks = plan_tasks(pinned)
    return [
        row
        for task in tasks
        for batch in read_pieces(pinned, task, schema, None)
        for row in batch.to_pylist()
    ]


def put(quiet_lake: Lake, zone: str) -> pa.DataType:
    kind = pa.timestamp("us", zone)
    moments = pa.array([-1, None], pa.int64()).cast(kind)
    nested = pa.ListArray.from_arrays([0, 1, 2], moments)
    quiet_lake.put("t", pa.table({"id": [1, 2], "at": moments, "l": nested}))
    return kind


@pytest.mark.parametrize("zone", [*KNOWN, *UNKNOWN])
def test_timestamps_are_equal_in_every_time_zone(quiet_lake: Lake, zone: str) -> None:
    kind = put(quiet_lake, zone)
    expected = [{"id": 1, "at": MOMENT, "l": [MOMENT]}, {"id": 2, "at": None, "l": [None]}]
    assert read(quiet_lake) == expected
    assert read(quiet_lake, filter="at IS NOT NULL") == expected[:1]
    back = cast_batch(pa.record_batch({"at": pa.array([MOMENT])}), pa.schema([("at", kind)]))
    assert back.column(0).cast(pa.timestamp("us", "UTC")).to_pylist() == [MOMENT]


@pytest.mark.parametrize("zone", KNOWN)
def test_a_filter_compares_with_a_timestamp(quiet_lake: Lake, zone: str) -> None:
    put(quiet_lake, zone)
    assert len(read(quiet_lake, filter="at < timestamp '2000-01-01 00:00:00'")) == 1


@pytest.mark.parametrize("zone", UNKNOWN)
def test_a_filter_on_an_unknown_time_zone_names_it(quiet_lake: Lake, zone: str) -> None:
    put(quiet_lake, zone)
    with pytest.raises(InvalidInputError, match=f'Invalid timezone "{zone}"'):
        read(quiet_lake, filter="at < timestamp '2000-01-01 00:00:00'")
