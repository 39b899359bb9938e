# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `TableExistsResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["TableExistsResponse"]


@define(kw_only=True)
class TableExistsResponse(Model):
    """The positive answer of TableExists; it says nothing beyond its status, and
    over HTTP there is no body.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


TableExistsResponse._wire = (Wire("context", "context", mapping(string)),)
