"""Helpers for wrong namespaces that have one wrong habit."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .fresh import adding
from .python import Act, WrongTarget

__all__ = ["asked", "habits", "key_of"]


def habits(to: dict[str, Act]) -> Callable[..., Callable[[Act], Act]]:
    """Return a decorator factory that registers acts.

    Its arguments are the description of the fault and the operations; no operations means all.
    """
    add = adding(to)

    def habit(name: str, *operations: str) -> Callable[[Act], Act]:
        def put(act: Act) -> Act:
            def habitual(target: WrongTarget, step: Step) -> Reply | None:
                return act(target, step) if not operations or step.operation in operations else None

            return add(name, habitual)

        return put

    return habit


def asked(target: WrongTarget, step: Step, **change: Any) -> Reply:
    """Return the correct namespace's reply to a call with changed fields."""
    return evolve(target.correct.call(evolve(step, request={**step.request, **change})), step=step)


def key_of(step: Step) -> str:
    return json.dumps(step.request.get("id"))
