# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""A range of version numbers that holds its start and not its end; it is empty when the end..."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from .._model import Model, Wire, integer

__all__ = ["VersionRange"]


@define(kw_only=True)
class VersionRange(Model):
    """A range of version numbers that holds its start and not its end; it is empty when the
    end is not above the start.
    """

    start_version: int
    """First version number of the range; 0 begins at the oldest version."""
    end_version: int
    """Version number at which the range stops, itself not included; -1 takes in everything up
    to and including the latest version.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("start_version", "start_version", integer(), required=True),
        Wire("end_version", "end_version", integer(), required=True),
    )
