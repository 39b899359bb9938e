# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateTableVersionEntry`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, integer, mapping, string

__all__ = ["CreateTableVersionEntry"]


@define(kw_only=True)
class CreateTableVersionEntry(Model):
    """One version to record in BatchCreateTableVersions.

    A version that exists fails the whole batch with ConcurrentModification
    (14).
    """

    id: list[str]
    """Identifier of the table, one entry per level; a table that does not exist
    results in TableNotFound (4).
    """

    version: int
    """Number of the new version, one more than the latest of that table and
    branch.
    """

    branch: str | None = None
    """Branch of this table to which the version is added; the main branch if
    omitted. A branch that does not exist results in TableNotFound (4). A branch
    that does not exist results in TableNotFound (4).
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


CreateTableVersionEntry._wire = (
    Wire("id", "id", array(string), required=True),
    Wire("version", "version", integer(0), required=True),
    Wire("branch", "branch", string),
    Wire("manifest_path", "manifest_path", string, required=True),
    Wire("manifest_size", "manifest_size", integer(0)),
    Wire("e_tag", "e_tag", string),
    Wire("metadata", "metadata", mapping(string)),
    Wire("naming_scheme", "naming_scheme", string),
)
