# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Step of AlterTransaction that moves the transaction to another status."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from .._model import Model, Wire, string

__all__ = ["AlterTransactionSetStatus"]


@define(kw_only=True)
class AlterTransactionSetStatus(Model):
    """Step of AlterTransaction that moves the transaction to another status."""

    status: str | None = None
    """The status to move to. A change the current status does not allow is
    ConcurrentModification (14).
    """

    _wire: ClassVar[tuple[Wire, ...]] = (Wire("status", "status", string),)
