# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `TableBasicStats`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer

__all__ = ["TableBasicStats"]


@define(kw_only=True)
class TableBasicStats(Model):
    """Basic statistics about one version of a table, cheap to read from its
    manifest.
    """

    num_deleted_rows: int
    """Number of rows marked as deleted that still take up space in the data files."""

    num_fragments: int
    """Number of fragments in the version."""


TableBasicStats._wire = (
    Wire("num_deleted_rows", "num_deleted_rows", integer(0), required=True),
    Wire("num_fragments", "num_fragments", integer(0), required=True),
)
