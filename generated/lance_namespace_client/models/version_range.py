# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `VersionRange`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer

__all__ = ["VersionRange"]


@define(kw_only=True)
class VersionRange(Model):
    """A range of version numbers, including its start but not its end.

    A server may reject an empty range, or a range that contains the latest
    version, with InvalidInput (13).
    """

    start_version: int
    """First version number of the range; 0 begins at the oldest version."""

    end_version: int
    """Version number at which the range stops, itself not included; -1 takes in
    every version from the start on that the server may delete, of which the
    latest may be one or not.
    """


VersionRange._wire = (
    Wire("start_version", "start_version", integer(), required=True),
    Wire("end_version", "end_version", integer(), required=True),
)
