# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DescribeTransactionRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["DescribeTransactionRequest"]


@define(kw_only=True)
class DescribeTransactionRequest(Model):
    """Request for the state of one transaction; an unknown name results in
    TransactionNotFound (10).
    """

    id: list[str] | None = None
    """Identifier of the transaction as a list of strings; over HTTP it is the
    route's `{id}`, and both must match, or the request results in InvalidInput
    (13).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


DescribeTransactionRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
