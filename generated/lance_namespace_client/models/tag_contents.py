# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `TagContents`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, string

__all__ = ["TagContents"]


@define(kw_only=True)
class TagContents(Model):
    """The target of a tag."""

    branch: str | None = None
    """Branch the version belongs to; absent for the main branch."""

    version: int
    """Version number on that branch."""

    manifest_size: int
    """Size in bytes of the version's manifest file."""


TagContents._wire = (
    Wire("branch", "branch", string),
    Wire("version", "version", integer(0), required=True),
    Wire("manifest_size", "manifestSize", integer(0), required=True),
)
