# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateTableVersionRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["CreateTableVersionRequest"]


@define(kw_only=True)
class CreateTableVersionRequest(Model):
    """Records a new version of a table whose manifest has already been written. An
    existing version results in ConcurrentModification (14); namespaces that
    leave versions to storage return Unsupported (0).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    version: int
    """Number of the new version, one more than the latest."""

    branch: str | None = None
    """Branch of the table to work on; the main branch if omitted. A branch that
    does not exist results in TableNotFound (4).
    """

    manifest_path: str
    """Path of the manifest as written by the client; the namespace may move the
    file to its final name.
    """

    manifest_size: int | None = None
    """Size of the manifest file in bytes."""

    e_tag: str | None = None
    """Entity tag the object store gave the manifest file, with which a later
    change to it can be detected.
    """

    metadata: dict[str, str] | None = None
    """Key-value pairs to store with the version."""

    naming_scheme: str | None = None
    """How the final manifest file is to be named."""

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


CreateTableVersionRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("version", "version", integer(0), required=True),
    Wire("branch", "branch", string),
    Wire("manifest_path", "manifest_path", string, required=True),
    Wire("manifest_size", "manifest_size", integer(0)),
    Wire("e_tag", "e_tag", string),
    Wire("metadata", "metadata", mapping(string)),
    Wire("naming_scheme", "naming_scheme", string),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
