# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AddColumnsEntry`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, model, string

if TYPE_CHECKING:
    from .add_virtual_column_entry import AddVirtualColumnEntry

__all__ = ["AddColumnsEntry"]


@define(kw_only=True)
class AddColumnsEntry(Model):
    """One column to add, with exactly one of `expression`, `computed` and
    `virtual_column` as the source of its values; otherwise, the request results
    in InvalidInput (13).
    """

    name: str
    """Name of the new column."""

    expression: str | None = None
    """SQL expression over the table's columns, evaluated once for every existing
    row; an expression that does not match the schema results in
    TableSchemaValidationError (20), a column in it that does not exist
    TableColumnNotFound (12).
    """

    computed: str | None = None
    """SQL expression of a computed column, whose values the server derives itself,
    also for rows added later. Servers without computed columns return
    Unsupported (0).
    """

    virtual_column: AddVirtualColumnEntry | None = None
    """Definition of a column that a user-defined function fills. Servers that run
    no functions return Unsupported (0).
    """


AddColumnsEntry._wire = (
    Wire("name", "name", string, required=True),
    Wire("expression", "expression", string),
    Wire("computed", "computed", string),
    Wire("virtual_column", "virtual_column", model("AddVirtualColumnEntry")),
)
