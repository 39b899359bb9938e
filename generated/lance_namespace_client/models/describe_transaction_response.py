# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DescribeTransactionResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["DescribeTransactionResponse"]


@define(kw_only=True)
class DescribeTransactionResponse(Model):
    """State of one transaction."""

    status: str
    """Where the transaction stands now."""

    properties: dict[str, str] | None = None
    """Properties held with the transaction; which ones there are depends on the
    server.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DescribeTransactionResponse._wire = (
    Wire("status", "status", string, required=True),
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
