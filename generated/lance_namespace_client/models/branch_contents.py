# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `BranchContents`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["BranchContents"]


@define(kw_only=True)
class BranchContents(Model):
    """Where a branch started and what is kept about it."""

    parent_branch: str | None = None
    """Branch it was created from; absent for the main branch."""

    parent_version: int
    """Version number of the parent at which the branch starts."""

    create_at: int
    """Time the branch was created, in seconds since 1970-01-01 UTC."""

    manifest_size: int
    """Size in bytes of the manifest file of the version the branch starts at."""

    metadata: dict[str, str] | None = None
    """Key-value pairs stored with the branch; empty or absent when there are none."""


BranchContents._wire = (
    Wire("parent_branch", "parentBranch", string),
    Wire("parent_version", "parentVersion", integer(0), required=True),
    Wire("create_at", "createAt", integer(0), required=True),
    Wire("manifest_size", "manifestSize", integer(0), required=True),
    Wire("metadata", "metadata", mapping(string)),
)
