# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `TableVersion`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["TableVersion"]


@define(kw_only=True)
class TableVersion(Model):
    """A version of a table, and the path of its manifest."""

    version: int
    """Version number, starting at 1."""

    manifest_path: str
    """Path of the version's manifest file."""

    manifest_size: int | None = None
    """Size of the manifest file in bytes."""

    e_tag: str | None = None
    """Entity tag the object store gave the manifest file."""

    timestamp_millis: int | None = None
    """Time the version was created, in milliseconds since 1970-01-01 UTC."""

    metadata: dict[str, str] | None = None
    """Key-value pairs stored with the version; absent when there are none."""


TableVersion._wire = (
    Wire("version", "version", integer(0), required=True),
    Wire("manifest_path", "manifest_path", string, required=True),
    Wire("manifest_size", "manifest_size", integer(0)),
    Wire("e_tag", "e_tag", string),
    Wire("timestamp_millis", "timestamp_millis", integer()),
    Wire("metadata", "metadata", mapping(string)),
)
