# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListTablesResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, mapping, string

__all__ = ["ListTablesResponse"]


@define(kw_only=True)
class ListTablesResponse(Model):
    """One page of tables, sorted by name."""

    tables: list[str]
    """Names of the tables: plain names from ListTables, full string identifiers
    from ListAllTables. Empty if there are none or if this level of the catalog
    cannot contain tables.
    """

    page_token: str | None = None
    """Token of the next page; absent at the end."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


ListTablesResponse._wire = (
    Wire("tables", "tables", array(string, unique=True), required=True),
    Wire("page_token", "page_token", string),
    Wire("context", "context", mapping(string)),
)
