"""Values from other tools that are nested deeper than writes through the namespace allow.

The server runs in a separate process, because a value that is not rejected would crash it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from tests.server.test_workers import running
from tests.servers.http_client import http_client

DEPTHS = (1_000, 100_000)
# Deeper JSON texts crash the process in which pylance writes them.
TEXT_DEPTHS = (1_000,)


def binary_json(levels: int) -> bytes:
    """Return nested lists in Lance's binary JSON."""
    heads, length = [], 4
    for _ in range(levels):
        heads.append(struct.pack(">II", 0x80000001, 0x50000000 | length))
        length += 8
    return b"".join(reversed(heads)) + struct.pack(">I", 0x80000000)


def binary_objects(levels: int) -> bytes:
    """Return nested objects, each with the key `a`, in Lance's binary JSON."""
    heads, length = [], 4
    for _ in range(levels):
        heads.append(struct.pack(">III", 0x40000001, 0x10000001, 0x50000000 | length) + b"a")
        length += 13
    return b"".join(reversed(heads)) + struct.pack(">I", 0x80000000)


def columns(depth: int) -> dict[str, tuple[str, pa.DataType, Any]]:
    """Return, for each column, the extension's name, the type and the value."""
    wkt = "GEOMETRYCOLLECTION(" * depth + "POINT(1 2)" + ")" * depth
    wkb = struct.pack("<BII", 1, 7, 1) * depth + struct.pack("<BIdd", 1, 1, 1.0, 2.0)
    found = {
        "text": ("", pa.string(), "[" * depth + "]" * depth),
        "wkt": ("", pa.string(), wkt),
        "wkb": ("", pa.binary(), wkb),
        "gt": ("geoarrow.wkt", pa.string(), wkt),
        "gw": ("geoarrow.wkb", pa.binary(), wkb),
        "j": ("lance.json", pa.large_binary(), binary_json(depth)),
        "o": ("lance.json", pa.large_binary(), binary_objects(depth)),
    }
    if depth in TEXT_DEPTHS:
        found["json"] = ("arrow.json", pa.string(), "[" * depth + "]" * depth)
    return found


def write(path: Path, depth: int) -> None:
    fields, arrays = [pa.field("id", pa.int64())], [pa.array([1])]
    for name, (extension, kind, value) in columns(depth).items():
        metadata = {"ARROW:extension:name": extension} if extension else None
        fields.append(pa.field(name, kind, metadata=metadata))
        arrays.append(pa.array([value], kind))
    lance.write_dataset(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), str(path))


JSON = (
    "json_extract({}, '$')", "json_extract({}, '$.**')", "json_extract({}, '$[*]')",
    "json_exists({}, '$.**.b')", "json_array_contains({}, '$', 'x')", "json_array_length({}, '$')",
    "json_get_string({}, '0')", "json_get_int({}, 'a')", "json_extract(json_get({}, '0'), '$')",
    "cast({} as string)",
)  # fmt: skip
GEOMETRY = (
    "st_geomfromtext({})", "st_geomfromwkb({})", "st_area({})", "st_astext({})",
    "st_intersects({}, st_point(1.0, 2.0))", "st_area(coalesce({}, {}))", "length({})",
)  # fmt: skip


def calls(depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the operation and the body of each call."""
    yield "describe", {"load_detailed_metadata": True}
    yield "stats", {}
    yield "query", {"vector": {}, "k": 5}
    for name, (extension, _, _) in columns(depth).items():
        yield "query", {"vector": {}, "k": 5, "columns": {"column_names": [name]}}
        is_json = "json" in extension
        for template in JSON if is_json else GEOMETRY:
            expression = template.format(name, name)
            condition = f"({expression}) IS NOT NULL"
            aliases = {"column_aliases": {"z": expression}}
            yield "query", {"vector": {}, "k": 5, "columns": aliases}
            yield "query", {"vector": {}, "k": 5, "filter": condition}
            yield "count_rows", {"predicate": condition}
        for terms in ("x", "a.a,str,x"):
            text = {"string_query": {"query": terms, "columns": [name]}}
            yield "query", {"vector": {}, "k": 5, "full_text_query": text}
        yield "update", {"updates": [[name, name]]}
        yield "create_index", {"column": name, "index_type": "INVERTED"}
        text = {"string_query": {"query": "a.a,str,x", "columns": [name]}}
        yield "query", {"vector": {}, "k": 5, "full_text_query": text}
    yield "delete", {"predicate": "id = 2"}


@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_values_of_other_tools_do_not_crash_the_server(tmp_path: Path, depth: int) -> None:
    write(tmp_path / "t.lance", depth)
    with running(tmp_path, workers=1) as (process, uri), http_client(uri, timeout=300) as client:
        codes = set()
        for operation, body in calls(depth):
            answer = client.post(f"/v1/table/t/{operation}", json=body)
            code = None if answer.status_code == 200 else answer.json()["code"]
            assert code in (None, 13), (operation, body, answer.text[:300])
            codes.add(code)
        assert codes == {None, 13}
        rows = pa.BufferOutputStream()
        source = pa.table({"id": [1, 2]})
        with pa.ipc.new_stream(rows, source.schema) as writer:
            writer.write_table(source)
        answer = client.post(
            "/v1/table/t/merge_insert?on=id&when_not_matched_insert_all=true",
            content=rows.getvalue().to_pybytes(),
        )
        assert answer.status_code == 200, answer.text[:300]
        assert client.get("/ui/table?id=t").status_code == 200
        assert client.post("/v1/table/t/count_rows", json={}).json() == 2
        assert process.poll() is None
