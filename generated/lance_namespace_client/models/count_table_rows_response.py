# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Answer to CountTableRows."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from .._model import Model, Wire, integer, mapping, string

__all__ = ["CountTableRowsResponse"]


@define(kw_only=True)
class CountTableRowsResponse(Model):
    """Answer to CountTableRows. On the wire the body is the bare number, not an object."""

    count: int | None = None
    """Number of rows counted, not including deleted ones."""
    context: dict[str, str] | None = None
    """Free key-value pairs about the answer; every HTTP response header comes back as
    `header.<name>`.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("count", "count", integer(0)),
        Wire("context", "context", mapping(string)),
    )
