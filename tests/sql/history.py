"""The calls and results of several processes, and a check that one order explains all results."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from attrs import frozen

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.sql import SqlNamespace

__all__ = ["GROUPS", "TABLES", "Call", "has_an_order", "read_log", "work"]

GROUPS, TABLES = 12, 4
NEVER = 2**63
# Codes of calls that had no effect and may be tried again.
NO_EFFECT = frozenset({14, 17, 21})
MISSING, LEFT, DECLARED, BEGUN, FILLED = range(5)
"""States of a name. `LEFT`: the table was removed, but data may remain that another drop deletes.
`BEGUN`: a create has declared the table and is still writing its rows."""
THERE = (DECLARED, BEGUN, FILLED)
State: TypeAlias = tuple[int, int]
KINDS = ("declare", "create", "deregister", "drop", "rename", "exists")


@frozen
class Call:
    """One call on the two names of a group; `answer` is 0, a code, or None if it was killed."""

    group: int
    kind: str
    name: int
    begin: int
    end: int
    answer: int | None

    def outcomes(self, state: State, *, has_begun: bool = False) -> list[State]:
        """Return the possible states after the call, or none if its answer is impossible here."""
        here, there = state[self.name], state[1 - self.name]
        is_here, is_taken = here in THERE, there in THERE
        right, after = {
            "declare": (5 if is_here else 0, (DECLARED, there)),
            "create": (5 if here == FILLED else 0, (FILLED, there)),
            "deregister": (0 if is_here else 4, (MISSING, there)),
            "drop": (4 if here == MISSING else 0, (LEFT if is_here else MISSING, there)),
            "rename": (4 if not is_here else 5 if is_taken else 0, (MISSING, here)),
            "exists": (0 if is_here else 4, (here, there)),
        }[self.kind]
        changed = self._ordered(*after)
        if self.answer is None:
            return [state] if right else [state, changed]
        if self.answer in NO_EFFECT:
            # A create that cannot write its rows withdraws the table that it has added.
            withdraws = has_begun and here == BEGUN
            return [state, self._ordered(MISSING, there)] if withdraws else [state]
        if self.kind == "rename" and self.answer == 5:
            return [state] if is_taken else []
        if self.kind == "drop" and self.answer == 4:
            return [] if is_here else [state]
        if self.answer != right:
            return []
        if has_begun and right == 0 and not is_here:
            return []  # the rows would be in no table
        return [state] if right else [changed]

    def begun(self, state: State) -> State | None:
        """Return the state after the call's first step, or None if there is no such step.

        A create adds a table and fills it later: in between, others may find it declared, fill it
        themselves, or remove it. If the create fails, it withdraws the table.
        """
        if self.kind != "create" or state[self.name] in THERE:
            return None
        return self._ordered(BEGUN, state[1 - self.name])

    def _ordered(self, here: int, there: int) -> State:
        return (here, there) if self.name == 0 else (there, here)


def has_an_order(calls: Iterable[Call]) -> bool:
    """Return whether the calls of a group could have happened one after the other.

    Each call takes effect at one point between its start and its end; a create may take effect at
    two.
    """
    ordered = sorted(calls, key=lambda call: call.begin)
    # All calls before `first` are done, and so are some after it; others have begun.
    Found: TypeAlias = tuple[int, frozenset[int], frozenset[int], State]
    stack: list[Found] = [(0, frozenset(), frozenset(), (MISSING, MISSING))]
    seen = set(stack)
    while stack:
        first, done, begun, state = stack.pop()
        while first in done:
            done, first = done - {first}, first + 1
        if first == len(ordered):
            return True
        least = NEVER
        for number in range(first, len(ordered)):
            if number in done:
                continue
            call = ordered[number]
            if call.begin > least:
                break
            least = min(least, call.end)
            reached: list[Found] = [
                (first, done | {number}, begun - {number}, after)
                for after in call.outcomes(state, has_begun=number in begun)
            ]
            if number not in begun and (after := call.begun(state)) is not None:
                reached.append((first, done, begun | {number}, after))
            for found in reached:
                if found not in seen:
                    seen.add(found)
                    stack.append(found)
    return False


def work(properties: Mapping[str, str], seed: int, log: str, seconds: float) -> None:
    """Make random calls for some time, and log each call before and after it."""
    chance = random.Random(seed)
    with SqlNamespace.from_properties(properties) as catalog, open(log, "w") as out:
        until = time.monotonic() + seconds
        number = 0
        while time.monotonic() < until:
            number += 1
            commits = chance.random() < 0.25
            kind = "commit" if commits else chance.choice(KINDS)
            call: dict[str, Any] = {"kind": kind, "name": chance.randrange(2)}
            call["group"] = chance.randrange(TABLES if commits else GROUPS)
            call["row"] = seed * 1_000_000 + number
            call["begin"] = time.monotonic_ns()
            out.write(json.dumps(call) + "\n")
            out.flush()
            answer, version = _called(catalog, call)
            out.write(
                json.dumps({"end": time.monotonic_ns(), "answer": answer, "version": version})
                + "\n"
            )
            out.flush()


def _called(catalog: SqlNamespace, call: Mapping[str, Any]) -> tuple[int, int | None]:
    names = [f"g{call['group']}a", f"g{call['group']}b"]
    name, other = names[call["name"]], names[1 - call["name"]]
    try:
        match call["kind"]:
            case "commit":
                rows = pa.table({"row": [call["row"]]})
                table = [f"managed{call['group']}"]
                return 0, catalog.insert_into_table({"id": table}, rows).version
            case "declare":
                catalog.declare_table({"id": [name]})
            case "create":
                catalog.create_table({"id": [name]}, pa.table({"row": [call["row"]]}))
            case "drop":
                catalog.drop_table({"id": [name]})
            case "deregister":
                catalog.deregister_table({"id": [name]})
            case "rename":
                catalog.rename_table({"id": [name], "new_table_name": other})
            case _:
                catalog.table_exists({"id": [name]})
    except LanceNamespaceError as error:
        return int(error.code), None
    return 0, None


def read_log(path: Path) -> tuple[list[Call], list[dict[str, Any]]]:
    """Return the calls on names and the commits in a log; a call that was killed has no answer."""
    calls: list[Call] = []
    commits: list[dict[str, Any]] = []
    lines = path.read_text().split("\n")[:-1]  # the last may be cut short
    for begun, ended in zip(lines[::2], [*lines[1::2], None], strict=False):
        asked = json.loads(begun)
        told = json.loads(ended) if ended else {"end": NEVER, "answer": None, "version": None}
        if asked["kind"] == "commit":
            commits.append({**asked, **told})
            continue
        where = (asked["group"], asked["kind"], asked["name"])
        calls.append(Call(*where, asked["begin"], told["end"], told["answer"]))
    return calls, commits
