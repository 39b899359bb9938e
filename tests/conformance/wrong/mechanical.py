"""Wrong namespaces generated from the operation table: each field, and each code.

A fault specifies which calls it affects, so that only checks with such a call must run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve, frozen

from lance_namespace_client.operations import COMMON_CODES, OPERATIONS
from lance_namespace_impls.conformance.exchange import Reply, Step

from .fields import ABSENT, ANSWER_FIELDS, REQUEST_FIELDS, Field, changed
from .python import Act, WrongTarget

__all__ = ["ANSWERS", "CODES", "REQUESTS", "Fault"]

Change = Callable[[Any], Any]


@frozen
class Fault:
    """A wrong namespace, with the calls that it answers differently from the correct one."""

    name: str
    """The operation, the field and the kind of fault."""
    act: Act
    touches: Callable[[Step, Reply], bool]
    tells: bool = False
    """Whether it records each change under ``wrong`` in the memory of the target."""

    @property
    def operation(self) -> str:
        """The operation that it affects; not the name of an operation if it affects several."""
        return self.name.partition(" ")[0]


def _no_more(value: Any) -> Any:
    return value[:0] if isinstance(value, str | list) else {}


def _without_one_key(value: dict[str, Any]) -> Any:
    return dict(list(value.items())[1:])


def _other_case(value: str) -> str:
    return value.lower() if value != value.lower() else value.upper()


_TAKEN: dict[str, dict[str, Change]] = {
    "integer": {"one more": lambda v: v + 1, "one less": lambda v: max(v - 1, 0)},
    "boolean": {"the other way": lambda v: not v},
    "number": {"twice": lambda v: v * 2, "whole": int},
    "string": {"in the other case": _other_case, "without its last character": lambda v: v[:-1]},
    "array": {
        "first only": lambda v: v[:1],
        "without its last": lambda v: v[:-1],
        "reversed": lambda v: v[::-1],
        "empty": _no_more,
    },
    "map": {"without one key": _without_one_key, "empty": _no_more},
    "object": {},
}
"""Wrong interpretations of a request value, by JSON type."""

_GIVEN: dict[str, dict[str, Change]] = {
    "integer": {
        "one more": lambda v: v + 1,
        "one less": lambda v: max(v - 1, 0),
        "zero": lambda v: 0,
        "as text": str,
    },
    "boolean": {"the other way": lambda v: not v, "as text": lambda v: str(v).lower()},
    "number": {"twice": lambda v: v * 2},
    "string": {"empty": _no_more, "another": lambda v: v + "x", "in the other case": _other_case},
    "array": {
        "empty": _no_more,
        "without its last": lambda v: v[:-1],
        "without its first": lambda v: v[1:],
        "first doubled": lambda v: v[:1] + v,
        "reversed": lambda v: v[::-1],
    },
    "map": {
        "empty": _no_more,
        "without one key": _without_one_key,
        "with a key more": lambda v: {**v, "more": next(iter(v.values()), "1")},
        "with other values": lambda v: {k: f"{x}x" if isinstance(x, str) else x for k, x in v.items()},
    },
    "object": {"empty": _no_more},
}  # fmt: skip
"""Wrong values of an answer, by JSON type."""


_HELD: dict[str, Any] = {
    "integer": int, "boolean": bool, "number": (int, float), "string": str, "array": (list, tuple),
    "map": dict, "object": dict,
}  # fmt: skip


def _of_its_type(type: str, change: Change) -> Change:
    """Return a change that skips values of other types, since checks send such values too."""
    return lambda v: change(v) if isinstance(v, _HELD[type]) else v


def _request_fault(field: Field, kind: str, change: Change) -> Fault:
    def of(step: Step) -> Step:
        return evolve(step, request=changed(dict(step.request), field.path, change))

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != field.operation:
            return None
        return evolve(target.correct.call(of(step)), step=step)

    def touches(step: Step, reply: Reply) -> bool:
        return step.operation == field.operation and of(step).request != step.request

    return Fault(f"{field.operation} request {field.name}: {kind}", act, touches)


def _answer_fault(field: Field, kind: str, change: Change) -> Fault:
    def of(reply: Reply) -> Reply:
        if not reply.succeeded or reply.answer is None:
            return reply
        return evolve(reply, answer=changed(dict(reply.answer), field.path, change))

    def act(target: WrongTarget, step: Step) -> Reply | None:
        return of(target.correct.call(step)) if step.operation == field.operation else None

    def touches(step: Step, reply: Reply) -> bool:
        return step.operation == field.operation and of(reply).answer != reply.answer

    return Fault(f"{field.operation} answer {field.name}: {kind}", act, touches)


def _previous_value_fault(field: Field, kind: str, key: Callable[[Step], Any]) -> Fault:
    """Return a fault that answers a field with its previous value for the same key."""

    def of(memory: dict[Any, Any], step: Step, reply: Reply) -> Reply:
        if step.operation != field.operation or not reply.succeeded or reply.answer is None:
            return reply
        top = field.path[0]
        before = memory.get((field, key(step)), ABSENT)
        memory[field, key(step)] = reply.answer.get(top)
        if before is ABSENT or before is None or before == reply.answer.get(top):
            return reply
        return evolve(reply, answer={**reply.answer, top: before})

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != field.operation:
            return None
        return of(target.memory, step, target.correct.call(step))

    seen: dict[Any, Any] = {}

    def touches(step: Step, reply: Reply) -> bool:
        return of(seen, step, reply) is not reply

    return Fault(f"{field.operation} answer {field.name}: {kind}", act, touches)


def _requests() -> Iterator[Fault]:
    for field in REQUEST_FIELDS:
        yield _request_fault(field, "ignored", lambda v: ABSENT)
        for kind, change in _TAKEN[field.type].items():
            if field.path != ("id",) or kind in ("empty", "without its last"):
                yield _request_fault(field, kind, _of_its_type(field.type, change))


def _answers() -> Iterator[Fault]:
    for field in ANSWER_FIELDS:
        yield _answer_fault(field, "left out", lambda v: ABSENT)
        for kind, change in _GIVEN[field.type].items():
            yield _answer_fault(field, kind, change)
        if len(field.path) == 1:
            yield _previous_value_fault(field, "of the call before", lambda step: None)
            yield _previous_value_fault(
                field, "of the same call before", lambda step: repr((step.request, step.data))
            )


REQUESTS = {fault.name: fault for fault in _requests()}
ANSWERS = {fault.name: fault for fault in _answers()}

NEIGHBOURS: dict[int, tuple[int, ...]] = {
    0: (13, 18), 1: (4, 13, 18), 2: (5, 13, 18), 3: (2, 13, 18), 4: (1, 6, 18), 5: (2, 14, 18),
    6: (4, 13, 18), 7: (5, 6, 18), 8: (4, 11, 18), 9: (5, 8, 18), 10: (0, 4, 18), 11: (4, 8, 18),
    12: (4, 13, 18), 13: (0, 18, 19), 14: (5, 13, 18), 19: (4, 13, 18), 20: (12, 13, 18),
    22: (4, 11, 18), 23: (5, 22, 18),
}  # fmt: skip
"""Codes that servers confuse with each code."""


def _code_fault(operation: str, before: int, after: int | None) -> Fault:
    def of(reply: Reply) -> Reply:
        if reply.code != before:
            return reply
        if after is None:
            return Reply(step=reply.step, answer={})
        return evolve(reply, code=after)

    def act(target: WrongTarget, step: Step) -> Reply | None:
        return of(target.correct.call(step)) if step.operation == operation else None

    def touches(step: Step, reply: Reply) -> bool:
        return step.operation == operation and reply.code == before

    name = "success" if after is None else f"code {after}"
    return Fault(f"{operation} code {before}: {name}", act, touches)


CODES = {
    fault.name: fault
    for row in OPERATIONS.values()
    for before in sorted({*row.codes, *COMMON_CODES} & set(NEIGHBOURS))
    for fault in (
        _code_fault(row.name, before, None),
        *(_code_fault(row.name, before, after) for after in NEIGHBOURS[before]),
    )
}
"""Faults that replace a code of an operation with success or a neighboring code."""
