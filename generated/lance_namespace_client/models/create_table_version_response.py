# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateTableVersionResponse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, mapping, model, string

if TYPE_CHECKING:
    from .table_version import TableVersion

__all__ = ["CreateTableVersionResponse"]


@define(kw_only=True)
class CreateTableVersionResponse(Model):
    """Confirms that the version was recorded."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    version: TableVersion | None = None
    """The new version, with the final path of its manifest."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


CreateTableVersionResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("version", "version", model("TableVersion")),
    Wire("context", "context", mapping(string)),
)
