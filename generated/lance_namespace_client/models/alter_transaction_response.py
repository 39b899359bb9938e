# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTransactionResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["AlterTransactionResponse"]


@define(kw_only=True)
class AlterTransactionResponse(Model):
    """The transaction after all steps were applied."""

    status: str
    """Status of the transaction after the change."""

    properties: dict[str, str] | None = None
    """All properties of the transaction after the change."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


AlterTransactionResponse._wire = (
    Wire("status", "status", string, required=True),
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
