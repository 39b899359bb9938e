"""A cache of catalog responses for the duration of one operation."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["ANSWERS", "answered", "asked_once"]

Answer = TypeVar("Answer")

ANSWERS: ContextVar[dict[Hashable, Any] | None] = ContextVar("ANSWERS", default=None)
"""Responses of the catalog in the current operation; None outside of operations."""


def asked_once(key: Hashable, ask: Callable[[], Answer]) -> Answer:
    """Return the result of `ask`, called once per operation; a failure is not cached.

    Args:
        key: the object and the namespace that the response is about.
        ask: calls the catalog.
    """
    answers = ANSWERS.get()
    if answers is None:
        return ask()
    if key not in answers:
        answers[key] = ask()
    answer: Answer = answers[key]
    return answer


def answered(key: Hashable, answer: object) -> None:
    """Cache a response that arrived with another one, for the current operation."""
    answers = ANSWERS.get()
    if answers is not None:
        answers[key] = answer
