"""Tables with indices, and searches on them."""

from __future__ import annotations

from time import monotonic, sleep
from typing import Any

import pyarrow as pa

from .lab import Lab, Skipped
from .rows import stream

__all__ = [
    "built",
    "ids_in_order",
    "index_names",
    "indexed_table",
    "rows_of_query",
    "search",
    "search_rows",
    "table_of",
    "text",
    "text_table",
    "words",
]

_BUILDING = 5.0
"""Seconds that an index build may take after the response to its creation."""


def built(lab: Lab, table: list[str], **of: Any) -> None:
    """Wait until each index of a table covers all rows, if statistics show that one does not.

    A server may respond before it has built an index. Indices without statistics are not waited
    for. If no index is listed in time, the check continues and reports that itself.

    Args:
        of: the branch; empty for the main branch.

    Raises:
        Skipped: an index does not cover all rows in time.
    """
    until = monotonic() + _BUILDING
    while not (covered := _covers(lab, table, of)):
        if monotonic() > until:
            if covered is None:
                return
            raise Skipped("an index was not built in time")
        sleep(0.2)


def _covers(lab: Lab, table: list[str], of: dict[str, Any]) -> bool | None:
    """Return whether the statistics show that indices cover all rows; None if none is listed."""
    listed = lab.call("ListTableIndices", id=table, **of)
    if not listed.succeeded:
        return True
    entries = (listed.answer or {}).get("indexes") or ()
    for entry in entries:
        told = entry
        if entry.get("num_unindexed_rows") is None and entry.get("num_indexed_rows") is None:
            name = entry.get("index_name")
            told = lab.call("DescribeTableIndexStats", id=table, index_name=name, **of).answer or {}
        if told.get("num_unindexed_rows") or told.get("num_indexed_rows") == 0:
            return False
    return True if entries else None


def search(lab: Lab, table: list[str], *, at: float = 7.2, **more: Any) -> list[int]:
    """Return the ids found by a search near a point, in result order."""
    return list(search_rows(lab, table, at=at, **more).column("id").to_pylist())


def search_rows(lab: Lab, table: list[str], *, at: float = 7.2, **more: Any) -> Any:
    """Return the rows found by a search near a point."""
    request = {"vector": {"single_vector": [at, 0.0]}, "k": 3, "vector_column": "vec", **more}
    reply = lab.call("QueryTable", id=table, **request)
    if reply.code == 0:
        raise Skipped(f"QueryTable: {reply.outcome()}")
    lab.must_succeed(reply)
    return reply.rows


def words(lab: Lab, table: list[str], query: dict[str, Any], **more: Any) -> list[int]:
    """Return the sorted ids found by a full-text search."""
    request: dict[str, Any] = {"vector": lab.no_vector(), "k": 10, "full_text_query": query, **more}
    reply = lab.call("QueryTable", id=table, **request)
    if reply.code == 0:
        raise Skipped(f"QueryTable: {reply.outcome()}")
    lab.must_succeed(reply)
    return sorted(reply.rows.column("id").to_pylist())


def text(query: str, **more: Any) -> dict[str, Any]:
    """Return a full-text query of plain words."""
    return {"string_query": {"query": query, **more}}


def indexed_table(lab: Lab, name: str = "by_id") -> list[str]:
    """Return a table with a scalar index on its ids."""
    table = lab.new_table()
    lab.ok("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name=name)
    return table


def index_names(lab: Lab, table: list[str]) -> list[str]:
    """Return the names of the indices of a table."""
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    return sorted(entry["index_name"] for entry in found)


def text_table(lab: Lab, texts: list[str], **settings: Any) -> list[str]:
    """Return a table of texts, with ids from 1 and a full-text index.

    Raises:
        Skipped: the target does not support such an index.
    """
    table = lab.table_id()
    rows = pa.table({"id": pa.array(range(1, len(texts) + 1), pa.int64()), "text": texts})
    lab.given("CreateTable", stream(rows), id=table)
    reply = lab.call(
        "CreateTableScalarIndex", id=table, column="text", index_type="FTS", **settings
    )
    if reply.code in (0, 13):
        raise Skipped(f"CreateTableScalarIndex: {reply.outcome()}")
    lab.must_succeed(reply)
    built(lab, table)
    return table


def table_of(lab: Lab, rows: pa.Table | dict[str, Any]) -> list[str]:
    """Return a table of these rows."""
    table = lab.table_id()
    lab.given("CreateTable", stream(pa.table(rows)), id=table)
    return table


def rows_of_query(lab: Lab, table: list[str], **request: Any) -> pa.Table:
    """Return the rows of a query whose settings the target may reject."""
    reply = lab.call("QueryTable", id=table, **{"vector": lab.no_vector(), "k": 10, **request})
    lab.may_refuse(reply)
    return reply.rows


def ids_in_order(lab: Lab, table: list[str], **request: Any) -> list[int]:
    """Return the ids of the rows of a query, in their order."""
    return list(rows_of_query(lab, table, **request).column("id").to_pylist())
