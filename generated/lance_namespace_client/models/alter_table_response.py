# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Answer to AlterTable."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from .._model import Model, Wire, mapping, string

__all__ = ["AlterTableResponse"]


@define(kw_only=True)
class AlterTableResponse(Model):
    """Answer to AlterTable."""

    properties: dict[str, str] | None = None
    """All properties of the table after the change, not only those that changed."""
    context: dict[str, str] | None = None
    """Free key-value pairs about the answer; every HTTP response header comes back as
    `header.<name>`.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("properties", "properties", mapping(string)),
        Wire("context", "context", mapping(string)),
    )
