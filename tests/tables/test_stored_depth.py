"""Ways around the depth check: updates of JSON and geometries, indices that parse geometries."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect

T = {"id": ["t"]}


def collections(levels: int) -> bytes:
    return struct.pack("<BII", 1, 7, 1) * levels + struct.pack("<BIdd", 1, 1, 1.0, 2.0)


@pytest.fixture
def lake() -> Iterator[Any]:
    geometry = {"ARROW:extension:name": "geoarrow.wkb"}
    schema = pa.schema(
        [
            ("j", pa.json_()),
            pa.field("g", pa.binary(), metadata=geometry),
            ("plain", pa.binary()),
        ]
    )
    rows = [pa.array(["[1]"], pa.json_()), pa.array([collections(2)]), pa.array([collections(500)])]
    with connect("memory") as namespace:
        namespace.create_table(T, pa.Table.from_arrays(rows, schema=schema))
        yield namespace


@pytest.mark.parametrize(
    ("column", "expression", "is_accepted"),
    [
        ("j", "j", True),
        ("j", "NULL", True),
        ("j", "jsonb '{\"a\": 3}'", True),
        ("j", "plain", False),
        ("j", "x'8000000150000004'", False),
        ("j", "'[1]'", False),
        ("g", "g", True),
        ("g", f"x'{collections(3).hex()}'", True),
        ("g", f"x'{collections(500).hex()}'", False),
        ("g", "plain", False),
    ],
)
def test_an_update_cannot_store_values_of_unknown_depth(
    lake: Any, column: str, expression: str, is_accepted: bool
) -> None:
    request = {**T, "updates": [[column, expression]]}
    if is_accepted:
        assert lake.update_table(request).updated_rows == 1
        return
    with pytest.raises(InvalidInputError, match="depth of its values cannot be bounded"):
        lake.update_table(request)
    assert lake.describe_table({**T, "load_detailed_metadata": True}).version == 1


def test_a_geometry_index_needs_a_geometry_type(lake: Any) -> None:
    request = {**T, "index_type": "RTREE"}
    lake.create_table_scalar_index({**request, "column": "g"})
    with pytest.raises(InvalidInputError, match="without a geometry type"):
        lake.create_table_scalar_index({**request, "column": "plain"})
