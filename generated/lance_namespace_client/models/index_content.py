# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `IndexContent`."""

from __future__ import annotations

from datetime import datetime

from attrs import define

from ..model import Model, Wire, array, integer, string, text, timestamp

__all__ = ["IndexContent"]


@define(kw_only=True)
class IndexContent(Model):
    """One index of a table and how far it covers the rows."""

    index_name: str
    """Name of the index, unique in its table."""

    index_uuid: str
    """UUID of the index; an index of several segments may show that of one of
    them.
    """

    columns: list[str]
    """Names of the columns the index is on."""

    status: str
    """State of the index as the server reports it, such as `pending` or `ready`;
    not a closed list.
    """

    index_type: str | None = None
    """Kind of index, such as `BTREE` or `IVF_PQ`; absent if unknown."""

    type_url: str | None = None
    """Protobuf type URL of the index details, which names the exact kind of index
    in the table format.
    """

    num_indexed_rows: int | None = None
    """Number of rows the index covers."""

    num_unindexed_rows: int | None = None
    """Number of rows added since, which the index does not cover; searches scan
    these unless `fast_search` is set.
    """

    size_bytes: int | None = None
    """Size of the index files in bytes; null or absent if unknown."""

    num_segments: int | None = None
    """Number of segments the index is stored in."""

    created_at: datetime | None = None
    """When the index was created, as an RFC 3339 date and time; null or absent if
    unknown.
    """

    index_version: int | None = None
    """Version of the on-disk format of the index."""

    index_details: str | None = None
    """Further details of the index as JSON text, such as its parameters; null or
    absent if there are none.
    """


IndexContent._wire = (
    Wire("index_name", "index_name", string, required=True),
    Wire("index_uuid", "index_uuid", string, required=True),
    Wire("columns", "columns", array(text(min_length=1)), required=True),
    Wire("status", "status", string, required=True),
    Wire("index_type", "index_type", string),
    Wire("type_url", "type_url", string),
    Wire("num_indexed_rows", "num_indexed_rows", integer(0)),
    Wire("num_unindexed_rows", "num_unindexed_rows", integer(0)),
    Wire("size_bytes", "size_bytes", integer(0)),
    Wire("num_segments", "num_segments", integer(0)),
    Wire("created_at", "created_at", timestamp),
    Wire("index_version", "index_version", integer(0)),
    Wire("index_details", "index_details", string),
)
