"""Generated wrong namespaces: every required field of an answer, every code, every status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve

from lance_namespace_client import models
from lance_namespace_client.operations import COMMON_CODES, OPERATIONS, Body
from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.observe import STATUSES

from .python import Act, WrongTarget, answer

__all__ = [
    "ANSWERED",
    "CODES",
    "FIELDS",
    "OF_OBJECTS",
    "STALE",
    "STATUS_CODES",
    "dropped",
    "of_another_object",
    "of_another_type",
    "stale",
]

FIELDS = [
    (operation.name, wire.key)
    for operation in OPERATIONS.values()
    if operation.answer is Body.JSON
    for wire in getattr(models, operation.response)._wire
    if wire.required
]
"""Every required field of an answer."""

FREE = ("context", "transaction_id", "storage_options", "page_token")
"""Fields in which a stale value or one of another object cannot be detected."""

ANSWERED = [
    (operation.name, wire.key)
    for operation in OPERATIONS.values()
    if operation.answer in (Body.JSON, Body.FIELD)
    for wire in getattr(models, operation.response)._wire
    if wire.key not in FREE
]
"""Every field of an answer that describes an object."""

STALE = [(name, key) for name, key in ANSWERED if OPERATIONS[name].repeatable]
"""The answered fields of operations that can be repeated with the same request."""

OF_OBJECTS = [(name, key) for name, key in ANSWERED if OPERATIONS[name].path_fields]

CODES = [
    (operation.name, code, (code + 1) % 24)
    for operation in OPERATIONS.values()
    for code in operation.codes
    if (code + 1) % 24 not in {*COMMON_CODES, *operation.codes}
]
"""Every code of an operation with a neighboring code that the operation may not return."""

STATUS_CODES = sorted(STATUSES)


def dropped(operation: str, key: str) -> Act:
    return answer(operation, lambda a: {k: v for k, v in a.items() if k != key})


def of_another_type(operation: str, key: str) -> Act:
    return answer(operation, lambda a: {**a, key: {"not": "this"} if a[key] != {} else 5})


def _answer_chosen(
    operation: str, key: str, choose: Callable[[dict[str, Any], Step, Any], Any]
) -> Act:
    """Return an act that answers a field with a value chosen from earlier answers."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        reply = target.correct.call(step)
        if reply.answer is None or reply.answer.get(key) is None:
            return reply
        found = choose(target.memory, step, reply.answer[key])
        target.memory["wrong"] = target.memory.get("wrong") or found != reply.answer[key]
        return evolve(reply, answer={**reply.answer, key: found})

    return act


def stale(operation: str, key: str) -> Act:
    """Return an act that answers repeated requests with the first value of a field."""

    def choose(memory: dict[str, Any], step: Step, value: Any) -> Any:
        return memory.setdefault(repr((step.request, step.data)), value)

    return _answer_chosen(operation, key, choose)


def of_another_object(operation: str, key: str) -> Act:
    """Return an act that answers a field with its value for the previously requested object."""

    def choose(memory: dict[str, Any], step: Step, value: Any) -> Any:
        last, before = memory.get("last"), memory.get("before")
        if last is None or last[0] != step.request.get("id"):
            memory["before"] = before = last
        memory["last"] = (step.request.get("id"), value)
        return value if before is None else before[1]

    return _answer_chosen(operation, key, choose)
