# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTableAddColumnsResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["AlterTableAddColumnsResponse"]


@define(kw_only=True)
class AlterTableAddColumnsResponse(Model):
    """Confirms that the columns were added."""

    version: int
    """Version number of the table after the change."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


AlterTableAddColumnsResponse._wire = (
    Wire("version", "version", integer(0), required=True),
    Wire("context", "context", mapping(string)),
)
