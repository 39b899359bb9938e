# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `BatchCreateTableVersionsResponse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .table_version import TableVersion

__all__ = ["BatchCreateTableVersionsResponse"]


@define(kw_only=True)
class BatchCreateTableVersionsResponse(Model):
    """Confirms that all versions of the batch were recorded."""

    transaction_id: str | None = None
    """Identifier of the one transaction that covers the whole batch, if the server
    stores transactions.
    """

    versions: list[TableVersion]
    """The new versions, in the order of the request's entries."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


BatchCreateTableVersionsResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("versions", "versions", array(model("TableVersion")), required=True),
    Wire("context", "context", mapping(string)),
)
