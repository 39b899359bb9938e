# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterColumnsEntry`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define

from ..model import Model, Wire, anything, boolean, mapping, model, string, text

if TYPE_CHECKING:
    from .alter_virtual_column_entry import AlterVirtualColumnEntry

__all__ = ["AlterColumnsEntry"]


@define(kw_only=True)
class AlterColumnsEntry(Model):
    """Change to one column; what is omitted is unchanged, and an entry that
    changes nothing results in InvalidInput (13).
    """

    path: str
    """Path of the column, with dots between the levels of nested fields; a path
    that does not exist results in TableColumnNotFound (12).
    """

    data_type: dict[str, Any] | None = None
    """Arrow type to convert the column to, written as in JsonArrowDataType; a
    conversion that cannot be done results in TableSchemaValidationError (20).
    """

    rename: str | None = None
    """New name of the column, without its parents; a name that is already in use
    results in TableSchemaValidationError (20).
    """

    nullable: bool | None = None
    """Whether the column may contain nulls from now on; false on a column that
    holds some results in TableSchemaValidationError (20).
    """

    virtual_column: AlterVirtualColumnEntry | None = None
    """Changes to the function that fills the column. Servers that run no functions
    return Unsupported (0).
    """


AlterColumnsEntry._wire = (
    Wire("path", "path", text(min_length=1), required=True),
    Wire("data_type", "data_type", mapping(anything)),
    Wire("rename", "rename", string),
    Wire("nullable", "nullable", boolean),
    Wire("virtual_column", "virtual_column", model("AlterVirtualColumnEntry")),
)
