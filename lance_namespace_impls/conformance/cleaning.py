"""Removes what a run made."""

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
    """Remove what was made, and return what could not be.

    Args:
        lab: the bench.
        everything: whether objects go too that outlive the check that made them.
        deadline: when to stop, in monotonic time; None for no end.
    """
    left = []
    due = lab.ledger.to_remove(everything=everything)
    for _, group in groupby(due, key=lambda entry: (entry[0], len(entry[1]))):
        entries = list(group)
        for entry, gone in zip(entries, _removed(lab.target, entries, deadline), strict=True):
            # What others that went at the same time were in the way of goes alone.
            if gone or (not _late(deadline) and remove(lab.target, *entry)):
                lab.ledger.gone(*entry)
            else:
                left.append(entry)
                if not _late(deadline):
                    lab.ledger.keep(*entry)  # it is tried again when the run ends
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
    """Remove an object; return whether it is gone."""
    request = {"id": list(identifier)}
    word = "Table" if kind == "table" else "Namespace"
    names = ("DropTable", "DeregisterTable") if kind == "table" else ("DropNamespace",)
    for operation in names:
        reply = target.call(Step(operation, request))
        if reply.succeeded or reply.code in ((1, 4) if kind == "table" else (1,)):
            return True
    # A name that was refused when it should be made is not there to be removed.
    for look in (f"Describe{word}", f"{word}Exists"):
        code = target.call(Step(look, request)).code
        if code != 0:
            return code in (1, 4, 13)
    return False


def clean(target: Target, folder: Path) -> tuple[list[Entry], list[Entry]]:
    """Remove what earlier runs on a target left; return what was removed and what was not."""
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
    """Return what earlier runs on a target left."""
    found: Iterable[Ledger] = Ledger.unfinished(target, folder)
    return [entry for ledger in found for entry in ledger.entries]
