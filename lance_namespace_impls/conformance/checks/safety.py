"""No call may affect objects that it does not name."""

from __future__ import annotations

from ..requirement import observed

observed(
    "LN-SAFE-001",
    "No call changes or removes an object that it does not name.",
    "general specification, Object Identifier",
)
