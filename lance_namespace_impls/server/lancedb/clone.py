"""LanceDB's request to clone a table, which is not a protocol operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from lance_namespace_client import models
from lance_namespace_client.errors import InvalidInputError, UnsupportedError
from lance_namespace_client.model import (
    Model,
    Wire,
    array,
    boolean,
    integer,
    mapping,
    model,
    string,
)
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import Action, Body, Operation

from ...catalog.operations.clones import CloneOperations
from ...core.identifiers import ROOT, Identifier

__all__ = ["CLONE_TABLE", "clone"]


@define(kw_only=True)
class CloneTableRequest(Model):
    """A request to create a table with the rows of another table."""

    id: list[str] | None = None
    source_location: str
    source_version: int | None = None
    source_tag: str | None = None
    is_shallow: bool = True
    identity: models.Identity | None = None
    context: dict[str, str] | None = None
    near: Identifier = field(default=ROOT, init=False)
    """Namespace of the caller's database; set by the server, not by the caller."""


CloneTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("source_location", "source_location", string, required=True),
    Wire("source_version", "source_version", integer(1)),
    Wire("source_tag", "source_tag", string),
    Wire("is_shallow", "is_shallow", boolean, default=True),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)


@frozen(kw_only=True)
class _Clone(Operation[CloneTableRequest, models.CreateTableResponse]):
    @property
    def request_type(self) -> type[CloneTableRequest]:
        return CloneTableRequest


CLONE_TABLE: Operation[CloneTableRequest, models.CreateTableResponse] = _Clone(
    name="CloneTable",
    method_name="clone_table",
    summary="Create a table with the rows of another table",
    tag="Table",
    http_method="POST",
    path="/v1/table/{id}/clone",
    request="CloneTableRequest",
    response="CreateTableResponse",
    path_fields=("id",),
    body=Body.JSON,
    codes=(1, 4, 5, 8, 11, 14),
    action=Action.MANAGE,
)


def clone(
    namespace: LanceNamespace,
    request: Any,
    may_read: Callable[[Identifier], bool],
    *,
    may_name: bool,
) -> models.CreateTableResponse:
    """Clone a table that the caller may read.

    Args:
        namespace: the served namespace.
        request: the request.
        may_read: returns whether the caller may read a table.
        may_name: whether the caller may specify a location that is allowed but belongs to no table.

    Raises:
        UnsupportedError: code 0, the namespace is not one of this package's catalogs.
        PermissionDeniedError: code 15, the caller cannot read the source.
    """
    if not isinstance(namespace, CloneOperations):
        raise UnsupportedError(
            "CloneTable: this namespace cannot clone tables; copy the rows instead"
        )
    if request.source_tag is not None and request.source_version is not None:
        raise InvalidInputError(
            "CloneTable: specify either the version of the source or its tag, not both"
        )
    return namespace.clone_table(
        request,
        request.source_location,
        version=request.source_tag if request.source_tag is not None else request.source_version,
        is_shallow=request.is_shallow,
        near=request.near,
        may_read=may_read,
        may_name=may_name,
    )
