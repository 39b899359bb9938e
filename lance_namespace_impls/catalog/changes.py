"""Computes the property changes that requests specify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lance_namespace_client.errors import (
    InvalidInputError,
)

from .entry import (
    TABLE_TYPE,
)

if TYPE_CHECKING:
    pass


__all__ = ["changes", "replacing"]


def changes(
    changed: Mapping[str, str] | None, removed: Sequence[str] | None
) -> tuple[dict[str, str], list[str]]:
    """Return the properties to set and the keys to unset.

    Raises:
        InvalidInputError: code 13, a key is in both.
    """
    both = sorted(set(changed or ()) & set(removed or ()))
    if both:
        raise InvalidInputError(f"properties {', '.join(both)} are both set and unset")
    return dict(changed or {}), list(removed or ())


def replacing(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the changes from the old to the new properties: those to set, and keys to unset."""
    changed = {k: v for k, v in new.items() if k != TABLE_TYPE and old.get(k) != v}
    return changed, [k for k in old if k != TABLE_TYPE and k not in new]
