"""Checks, when a backend's class is created, that it implements its declared capabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attrs import evolve

from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import OPERATIONS

if TYPE_CHECKING:
    from .capabilities import Capabilities

__all__ = ["optional", "require_complete", "without_defaults"]

NOT_IMPLEMENTED = "it does not implement the operation"

Method = TypeVar("Method", bound=Callable[..., Any])


class HasCapabilities(Protocol):
    """A class that declares its capabilities."""

    capabilities: Capabilities


def optional(operation: str) -> Callable[[Method], Method]:
    """Mark a primitive that a catalog may omit if it declares `operation` unsupported."""

    def mark(method: Method) -> Method:
        method.__optional_for__ = operation  # type: ignore[attr-defined]
        return method

    return mark


def without_defaults(cls: type[HasCapabilities]) -> Capabilities:
    """Return a class's capabilities, without operations that have only the generated default.

    All operations of the standard protocol are implemented; a custom specification may add others.
    """
    declared = {
        name: why
        for name, why in cls.capabilities.unsupported.items()
        if why is not NOT_IMPLEMENTED
    }
    capabilities = evolve(cls.capabilities, unsupported=declared)
    missing = {
        row.name: NOT_IMPLEMENTED
        for row in OPERATIONS.values()
        if getattr(cls, row.method_name) is getattr(LanceNamespace, row.method_name)
        and capabilities.reason(row.name) is None
    }
    return evolve(capabilities, unsupported={**declared, **missing}) if missing else capabilities


def require_complete(cls: type[HasCapabilities]) -> None:
    """Raise TypeError if a backend declares an operation as supported but lacks its primitive."""
    capabilities = getattr(cls, "capabilities", None)
    if capabilities is None:
        raise TypeError(
            f"{cls.__name__} declares no capabilities: set the class attribute 'capabilities' to a "
            "Capabilities(...)"
        )
    for operation in capabilities.unsupported:
        if operation not in OPERATIONS:
            from difflib import get_close_matches  # slow to import and rarely needed

            close = get_close_matches(operation, OPERATIONS, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(
                f"{cls.__name__} declares an unknown operation unsupported: {operation!r}{hint}"
            )
    for name in dir(cls):
        method = getattr(cls, name, None)
        if getattr(method, "__isabstractmethod__", False):
            raise TypeError(f"{cls.__name__} must implement the primitive {name}()")
        operation = getattr(method, "__optional_for__", None)
        if operation is not None and capabilities.reason(operation) is None:
            raise TypeError(
                f"{cls.__name__} must implement the primitive {name}(), or declare {operation} "
                f"unsupported: Capabilities(unsupported={{{operation!r}: 'why'}})"
            )
