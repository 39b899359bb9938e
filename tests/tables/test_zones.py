"""Unknown time zones are rejected before a table contains them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.tables.zones import is_zone

UNKNOWN = ["Mars/Base", "tz=UTC", "utc", "+0530", "+25:00", "localtime", "Factory", "x" * 5000]


@pytest.fixture
def lake() -> Any:
    found = connect("memory", {})
    found.create_table({"id": ["t"]}, pa.table({"a": [1], "s": ["2020-01-01"]}))
    return found


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Etc/GMT+5", "+05:30", "-23:59"])
def test_known_zones(zone: str) -> None:
    assert is_zone(zone)


def nested(kind: pa.DataType) -> list[pa.DataType]:
    return [kind, pa.list_(kind), pa.struct([("x", pa.list_(kind, 1))]), pa.map_(pa.int8(), kind)]


@pytest.mark.parametrize(
    ("zone", "shape"),
    [(zone, 0) for zone in UNKNOWN] + [(UNKNOWN[0], shape) for shape in range(1, 4)],
    ids=lambda value: str(value)[:9],
)
def test_unknown_zones_of_rows(lake: Any, zone: str, shape: int) -> None:
    kind = nested(pa.timestamp("us", zone))[shape]
    with pytest.raises(LanceNamespaceError, match="unknown time zone") as caught:
        lake.create_table({"id": ["new"]}, pa.table({"c": pa.nulls(1, kind)}))
    assert caught.value.code == 20
    assert len(caught.value.message) < 500
    assert lake.list_tables({"id": []}).tables == ["t"]


@pytest.mark.parametrize("zone", UNKNOWN, ids=lambda zone: zone[:9])
def test_unknown_zones_in_types_as_json(lake: Any, zone: str) -> None:
    for kind in (
        {"type": "timestamp", "unit": "us", "timezone": zone},
        {"type": f"timestamp:us:{zone}"},
    ):
        with pytest.raises(LanceNamespaceError) as caught:
            lake.alter_table_alter_columns(
                {"id": ["t"], "alterations": [{"path": "a", "data_type": kind}]}
            )
        assert caught.value.code == 13
    assert str(lake.query_table({"id": ["t"], "k": 0}).schema.field("a").type) == "int64"
