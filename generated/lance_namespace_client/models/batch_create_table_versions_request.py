# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `BatchCreateTableVersionsRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .create_table_version_entry import CreateTableVersionEntry
    from .identity import Identity

__all__ = ["BatchCreateTableVersionsRequest"]


@define(kw_only=True)
class BatchCreateTableVersionsRequest(Model):
    """Records new versions of several tables in one request, atomically.

    Namespaces that leave versions to storage return Unsupported (0).
    """

    entries: list[CreateTableVersionEntry]
    """The versions to record; each table and branch appears at most once;
    otherwise, the request results in InvalidInput (13).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


BatchCreateTableVersionsRequest._wire = (
    Wire("entries", "entries", array(model("CreateTableVersionEntry")), required=True),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
