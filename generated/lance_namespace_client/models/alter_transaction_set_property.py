# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTransactionSetProperty`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, string

__all__ = ["AlterTransactionSetProperty"]


@define(kw_only=True)
class AlterTransactionSetProperty(Model):
    """Step of AlterTransaction that sets one property."""

    key: str | None = None
    """Name of the property."""

    value: str | None = None
    """Value to store under the name."""

    mode: str | None = None
    """What to do when the property is already set; `Overwrite` if omitted."""


AlterTransactionSetProperty._wire = (
    Wire("key", "key", string),
    Wire("value", "value", string),
    Wire("mode", "mode", string),
)
