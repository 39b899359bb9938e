# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTransactionAction`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, model

if TYPE_CHECKING:
    from .alter_transaction_set_property import AlterTransactionSetProperty
    from .alter_transaction_set_status import AlterTransactionSetStatus
    from .alter_transaction_unset_property import AlterTransactionUnsetProperty

__all__ = ["AlterTransactionAction"]


@define(kw_only=True)
class AlterTransactionAction(Model):
    """One step of AlterTransaction; exactly one of its fields must be set;
    otherwise, the request results in InvalidInput (13).
    """

    set_status_action: AlterTransactionSetStatus | None = None
    """Moves the transaction to another status."""

    set_property_action: AlterTransactionSetProperty | None = None
    """Sets a property."""

    unset_property_action: AlterTransactionUnsetProperty | None = None
    """Removes a property."""


AlterTransactionAction._wire = (
    Wire("set_status_action", "setStatusAction", model("AlterTransactionSetStatus")),
    Wire(
        "set_property_action", "setPropertyAction", model("AlterTransactionSetProperty")
    ),
    Wire(
        "unset_property_action",
        "unsetPropertyAction",
        model("AlterTransactionUnsetProperty"),
    ),
)
