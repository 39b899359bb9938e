# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CountTableRowsResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["CountTableRowsResponse"]


@define(kw_only=True)
class CountTableRowsResponse(Model):
    """The number of rows; over HTTP the body is the bare number."""

    count: int | None = None
    """Number of rows counted, not including deleted ones."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


CountTableRowsResponse._wire = (
    Wire("count", "count", integer(0)),
    Wire("context", "context", mapping(string)),
)
