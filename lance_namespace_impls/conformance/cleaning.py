"""Removes the objects that a run created."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from .exchange import Step
from .lab import AT_ONCE, Lab, Target
from .ledger import Entry, Ledger

__all__ = ["CLEANING_SECONDS", "clean", "clean_up", "leftovers", "remove"]

CLEANING_SECONDS = 60.0


def clean_up(lab: Lab, *, everything: bool, deadline: float | None) -> list[Entry]:
    """Remove the created objects, and return those that could not be removed.

    Args:
        lab: bench of the run.
        everything: whether to remove also objects that outlive the check that created them.
        deadline: when to stop, in monotonic time; None for no limit.
    """
    left = []
    due = lab.ledger.to_remove(everything=everything)
    for _, group in groupby(due, key=lambda entry: (entry[0], len(entry[1]))):
        entries = list(group)
        for entry, gone in zip(entries, _removed(lab.target, entries, deadline), strict=True):
            # Concurrent removals may conflict, so a failed one is retried alone.
            if gone or (not _late(deadline) and remove(lab.target, *entry)):
                lab.ledger.gone(*entry)
            else:
                left.append(entry)
                if not _late(deadline):
                    lab.ledger.keep(*entry)  # retried when the run ends
    return left


def _removed(target: Target, entries: list[Entry], deadline: float | None) -> list[bool]:
    def one(entry: Entry) -> bool:
        return not _late(deadline) and remove(target, *entry)

    if len(entries) == 1 or target.kind == "process":
        return [one(entry) for entry in entries]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, entries))


def _late(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() > deadline


def remove(target: Target, kind: str, identifier: tuple[str, ...]) -> bool:
    """Remove an object; return whether it no longer exists."""
    request = {"id": list(identifier)}
    word = "Table" if kind == "table" else "Namespace"
    names = ("DropTable", "DeregisterTable") if kind == "table" else ("DropNamespace",)
    for operation in names:
        reply = target.call(Step(operation, request))
        if reply.succeeded or reply.code in ((1, 4) if kind == "table" else (1,)):
            return True
    # The object may not exist at all, for example because its creation was rejected.
    for look in (f"Describe{word}", f"{word}Exists"):
        code = target.call(Step(look, request)).code
        if code != 0:
            return code in (1, 4, 13)
    return False


def clean(target: Target, folder: Path) -> tuple[list[Entry], list[Entry]]:
    """Remove leftovers of earlier runs on a target; return those removed and those not removed."""
    removed: list[Entry] = []
    left: list[Entry] = []
    for ledger in Ledger.unfinished(target.name, folder):
        for kind, identifier in ledger.to_remove(everything=True):
            if ledger.is_ours(identifier) and remove(target, kind, identifier):
                ledger.gone(kind, identifier)
                removed.append((kind, identifier))
            else:
                left.append((kind, identifier))
        ledger.close()
    return removed, left


def leftovers(target: str, folder: Path) -> list[Entry]:
    """Return the objects that earlier runs left on a target."""
    found: Iterable[Ledger] = Ledger.unfinished(target, folder)
    return [entry for ledger in found for entry in ledger.entries]
