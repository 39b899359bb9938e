# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateTableBranchRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["CreateTableBranchRequest"]


@define(kw_only=True)
class CreateTableBranchRequest(Model):
    """Starts a new branch of a table at one of its versions."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    name: str
    """Name of the new branch; a name that exists results in
    TableBranchAlreadyExists (23).
    """

    from_branch: str | None = None
    """Branch to start from; the main branch if omitted. A branch that does not
    exist results in TableNotFound (4).
    """

    from_version: int | None = None
    """Version number on that branch to start from; its latest if omitted. A
    version that does not exist results in TableNotFound (4).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


CreateTableBranchRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("name", "name", string, required=True),
    Wire("from_branch", "from_branch", string),
    Wire("from_version", "from_version", integer(0)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
