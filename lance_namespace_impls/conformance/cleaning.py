"""Removes what a run made."""

from __future__ import annotations

import time

from .exchange import Step
from .lab import Lab, Target
from .ledger import Entry

__all__ = ["CLEANING_SECONDS", "clean_up", "remove"]

CLEANING_SECONDS = 60.0


def clean_up(lab: Lab, *, everything: bool, deadline: float | None) -> list[Entry]:
    """Remove what was made, and return what could not be.

    Args:
        lab: the bench.
        everything: whether objects go too that outlive the check that made them.
        deadline: when to stop, in monotonic time; None for no end.
    """
    left = []
    for kind, identifier in lab.ledger.to_remove(everything=everything):
        if deadline is not None and time.monotonic() > deadline:
            break
        if remove(lab.target, kind, identifier):
            lab.ledger.gone(kind, identifier)
        else:
            left.append((kind, identifier))
    return left


def remove(target: Target, kind: str, identifier: tuple[str, ...]) -> bool:
    """Remove an object; return whether it is gone."""
    request = {"id": list(identifier)}
    names = ("DropTable", "DeregisterTable") if kind == "table" else ("DropNamespace",)
    for operation in names:
        reply = target.call(Step(operation, request))
        if reply.succeeded or reply.code in ((1, 4) if kind == "table" else (1,)):
            return True
    # A name that was refused when it should be made is not there to be removed.
    look = "DescribeTable" if kind == "table" else "DescribeNamespace"
    return target.call(Step(look, request)).code in (1, 4, 13)
