# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterVirtualColumnEntry`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, boolean, mapping, string, text

__all__ = ["AlterVirtualColumnEntry"]


@define(kw_only=True)
class AlterVirtualColumnEntry(Model):
    """Changes to the function that fills a column; what is omitted is unchanged."""

    input_columns: list[str] | None = None
    """Columns passed to the function, in the order of its arguments."""

    image: str | None = None
    """Container image in which the function runs."""

    udf: str | None = None
    """The function itself, pickled and encoded as base64."""

    udf_name: str | None = None
    """Name of the function."""

    udf_version: str | None = None
    """Version of the function; a changed one indicates that values are out of
    date.
    """

    udf_backend: str | None = None
    """Engine that runs the function."""

    auto_backfill: bool | None = None
    """True to fill the column automatically when rows are added or inputs change,
    false to leave that to AlterTableBackfillColumns.
    """

    manifest: str | None = None
    """Description of the environment the function needs, such as its packages."""

    manifest_checksum: str | None = None
    """Checksum of `manifest`, with which a changed environment can be detected."""

    field_metadata: dict[str, str] | None = None
    """Key-value metadata to set on the column."""


AlterVirtualColumnEntry._wire = (
    Wire("input_columns", "input_columns", array(text(min_length=1))),
    Wire("image", "image", string),
    Wire("udf", "udf", string),
    Wire("udf_name", "udf_name", string),
    Wire("udf_version", "udf_version", string),
    Wire("udf_backend", "udf_backend", string),
    Wire("auto_backfill", "auto_backfill", boolean),
    Wire("manifest", "manifest", string),
    Wire("manifest_checksum", "manifest_checksum", string),
    Wire("field_metadata", "field_metadata", mapping(string)),
)
