"""What an operation has asked its catalog, so that it asks only once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["ANSWERS", "answered", "asked_once"]

Answer = TypeVar("Answer")

ANSWERS: ContextVar[dict[Hashable, Any] | None] = ContextVar("ANSWERS", default=None)
"""Answers of the catalog in the operation under way; None outside of operations."""


def asked_once(key: Hashable, ask: Callable[[], Answer]) -> Answer:
    """Return what `ask` returns, which is called once an operation; a failure is not remembered.

    Args:
        key: what is asked, and of which namespace.
        ask: asks the catalog.
    """
    answers = ANSWERS.get()
    if answers is None:
        return ask()
    if key not in answers:
        answers[key] = ask()
    answer: Answer = answers[key]
    return answer


def answered(key: Hashable, answer: object) -> None:
    """Note an answer that came with another one, for the operation under way."""
    answers = ANSWERS.get()
    if answers is not None:
        answers[key] = answer
