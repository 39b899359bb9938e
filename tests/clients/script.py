"""A client's calls, made one after the other in an interpreter of their own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Calls", "make_calls"]

T = TypeVar("T")


class Calls(dict[str, Callable[[T], None]]):
    """Calls by name, each a function of what it is made on."""

    def __call__(self, function: Callable[[T], None]) -> Callable[[T], None]:
        """Add a function under its own name; a decorator."""
        self[function.__name__] = function
        return function


def make_calls(calls: Calls[T], make: Callable[[str], T]) -> None:
    """Make all calls and print one JSON object: each one's failure, or null.

    Args:
        calls: the calls.
        make: returns what a call is made on, from the name of a table that is free.
    """
    found: dict[str, str | None] = {}
    for name, function in calls.items():
        try:
            function(make(f"t_{name}"))
            found[name] = None
        except Exception as error:  # noqa: BLE001 - an outcome to compare
            found[name] = f"{type(error).__name__}: {error}"[:400]
    sys.stdout.write("\n" + json.dumps(found) + "\n")
