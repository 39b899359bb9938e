# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `MergeInsertIntoTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["MergeInsertIntoTableResponse"]


@define(kw_only=True)
class MergeInsertIntoTableResponse(Model):
    """What a merge did."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    num_updated_rows: int | None = None
    """Number of table rows that were updated."""

    num_inserted_rows: int | None = None
    """Number of source rows that were inserted."""

    num_deleted_rows: int | None = None
    """Number of table rows deleted because they have no match in the source; rows
    rewritten by an update do not count.
    """

    version: int | None = None
    """Version of the table after the merge."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


MergeInsertIntoTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("num_updated_rows", "num_updated_rows", integer(0)),
    Wire("num_inserted_rows", "num_inserted_rows", integer(0)),
    Wire("num_deleted_rows", "num_deleted_rows", integer(0)),
    Wire("version", "version", integer(0)),
    Wire("context", "context", mapping(string)),
)
