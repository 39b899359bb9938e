"""Helpers for calls that fail and for calls that start simultaneously."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lance_namespace_client.errors import LanceNamespaceError

__all__ = ["WAIT_SECONDS", "at_once", "code_of"]

WAIT_SECONDS = 300


def code_of(call: Callable[..., Any], *args: Any) -> int:
    """Return the code of the error that a call raises."""
    with pytest.raises(LanceNamespaceError) as caught:
        call(*args)
    return int(caught.value.code)


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run the calls in threads that start simultaneously; return results and protocol errors."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        start.wait(WAIT_SECONDS)
        try:
            return call()
        except LanceNamespaceError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
