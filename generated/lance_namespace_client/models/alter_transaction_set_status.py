# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTransactionSetStatus`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, string

__all__ = ["AlterTransactionSetStatus"]


@define(kw_only=True)
class AlterTransactionSetStatus(Model):
    """Step of AlterTransaction that moves the transaction to another status."""

    status: str | None = None
    """The status to move to. A change the current status does not allow results in
    ConcurrentModification (14).
    """


AlterTransactionSetStatus._wire = (Wire("status", "status", string),)
