"""Makes the calls of a client, one after another, in a separate interpreter."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Calls", "make_calls"]

T = TypeVar("T")


class Calls(dict[str, Callable[[T], None]]):
    """Calls by name; each is a function of the object that `make_calls` creates for it."""

    def __call__(self, function: Callable[[T], None]) -> Callable[[T], None]:
        """Add a function under its name; used as a decorator."""
        self[function.__name__] = function
        return function


def make_calls(calls: Calls[T], make: Callable[[str], T]) -> None:
    """Make all calls and print one JSON object: the failure of each call, or null.

    Args:
        calls: the calls.
        make: returns the argument of a call, for the name of a table that does not exist.
    """
    found: dict[str, str | None] = {}
    for name, function in calls.items():
        try:
            function(make(f"t_{name}"))
            found[name] = None
        except Exception as error:  # noqa: BLE001 - an outcome to compare
            found[name] = f"{type(error).__name__}: {error}"[:400]
    sys.stdout.write("\n" + json.dumps(found) + "\n")
