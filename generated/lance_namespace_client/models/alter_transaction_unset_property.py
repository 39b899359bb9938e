# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTransactionUnsetProperty`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, string

__all__ = ["AlterTransactionUnsetProperty"]


@define(kw_only=True)
class AlterTransactionUnsetProperty(Model):
    """Step of AlterTransaction that removes one property."""

    key: str | None = None
    """Name of the property to remove."""

    mode: str | None = None
    """What to do when the property is not set; `Skip` if omitted."""


AlterTransactionUnsetProperty._wire = (
    Wire("key", "key", string),
    Wire("mode", "mode", string),
)
