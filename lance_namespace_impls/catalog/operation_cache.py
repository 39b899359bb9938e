"""A cache of catalog responses for the duration of one operation."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["RESPONSES", "record_response", "cached_response"]

Response = TypeVar("Response")

RESPONSES: ContextVar[dict[Hashable, Any] | None] = ContextVar("RESPONSES", default=None)
"""Catalog responses that were received during the current operation; None outside of operations."""


def cached_response(key: Hashable, call: Callable[[], Response]) -> Response:
    """Return the result of `call`, which is called once per operation; failures are not cached.

    Args:
        key: identifies the object that the response describes, and its namespace.
        call: calls the catalog.
    """
    responses = RESPONSES.get()
    if responses is None:
        return call()
    if key not in responses:
        responses[key] = call()
    response: Response = responses[key]
    return response


def record_response(key: Hashable, response: object) -> None:
    """Cache a response that was part of another response, for the rest of the current operation."""
    responses = RESPONSES.get()
    if responses is not None:
        responses[key] = response
