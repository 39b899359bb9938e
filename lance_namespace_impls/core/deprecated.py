"""Deprecates public names: their use causes a warning for at least one minor release before they
are removed.

Source: PEP 702.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["deprecated"]

Named = TypeVar("Named", bound=Callable[..., Any])


def deprecated(*, since: str, removed_in: str, use: str) -> Callable[[Named], Named]:
    """Return a decorator that adds a deprecation warning to a function or class.

    The warning is a ``DeprecationWarning`` at the caller's line; ``__deprecated__`` contains the
    message for editors and type checkers.

    Args:
        since: release that deprecates the name, such as ``1.4``.
        removed_in: release that removes it, such as ``2.0``.
        use: the replacement.
    """
    # Imported only when a name is deprecated, because the import is slow.
    if sys.version_info >= (3, 13):
        from warnings import deprecated as mark
    else:
        from typing_extensions import deprecated as mark

    return mark(f"deprecated since {since}, will be removed in {removed_in}: use {use}")
