# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AddVirtualColumnEntry`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, boolean, mapping, model, string, text

if TYPE_CHECKING:
    from .add_virtual_column_output_entry import AddVirtualColumnOutputEntry

__all__ = ["AddVirtualColumnEntry"]


@define(kw_only=True)
class AddVirtualColumnEntry(Model):
    """Definition of one or more columns that a user-defined function fills from
    other columns, when a backfill runs.
    """

    input_columns: list[str]
    """Columns passed to the function, in the order of its arguments; one the table
    lacks results in TableSchemaValidationError (20).
    """

    outputs: list[AddVirtualColumnOutputEntry]
    """The columns the function fills."""

    image: str
    """Container image in which the function runs."""

    udf: str
    """The function itself, pickled and encoded as base64."""

    udf_name: str
    """Name of the function."""

    udf_version: str
    """Version of the function; a changed one indicates that values are out of
    date.
    """

    udf_backend: str | None = None
    """Engine that runs the function; the server's own choice if omitted."""

    auto_backfill: bool | None = None
    """True to fill the columns automatically when rows are added or inputs change;
    if omitted, only AlterTableBackfillColumns fills them.
    """

    manifest: str | None = None
    """Description of the environment the function needs, such as its packages; if
    omitted, that of the image alone.
    """

    manifest_checksum: str | None = None
    """Checksum of `manifest`, with which a changed environment can be detected."""

    field_metadata: dict[str, str] | None = None
    """Key-value metadata to set on every column the function fills."""


AddVirtualColumnEntry._wire = (
    Wire("input_columns", "input_columns", array(text(min_length=1)), required=True),
    Wire(
        "outputs", "outputs", array(model("AddVirtualColumnOutputEntry")), required=True
    ),
    Wire("image", "image", string, required=True),
    Wire("udf", "udf", string, required=True),
    Wire("udf_name", "udf_name", string, required=True),
    Wire("udf_version", "udf_version", string, required=True),
    Wire("udf_backend", "udf_backend", string),
    Wire("auto_backfill", "auto_backfill", boolean),
    Wire("manifest", "manifest", string),
    Wire("manifest_checksum", "manifest_checksum", string),
    Wire("field_metadata", "field_metadata", mapping(string)),
)
