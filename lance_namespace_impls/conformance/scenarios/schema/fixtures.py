"""Tables for the checks of columns and metadata."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ...indexed_tables import table_of
from ...lab import Lab

_SIDE = {"branch": "side"}


def on_side(lab: Lab, table: list[str]) -> dict[str, Any]:
    return _SIDE if lab.call("CreateTableBranch", id=table, name="side").succeeded else {}


def structs(lab: Lab) -> list[str]:
    inner = pa.struct([pa.field("u", pa.int64(), False, {"k": "1"}), pa.field("v", pa.string())])
    columns = [pa.field("id", pa.int64(), metadata={"a": "1"}), pa.field("name", pa.string())]
    schema = pa.schema([*columns, pa.field("s", inner, metadata={"m": "2"})], {"origin": "kit"})
    rows = [{"id": i, "name": f"n{i}", "s": {"u": i, "v": "x"}} for i in (1, 2)]
    return table_of(lab, pa.Table.from_pylist(rows, schema))
