"""Random sequences of calls against a model of the tree, the tables and what they hold.

Each sequence is a list of moves with names in place of identifiers, so that any part of it can be
made again below fresh names: that is how a failure is cut down to its shortest script.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from attrs import Factory, define, field, frozen

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.operations import OPERATIONS, Body

from .cleaning import CLEANING_SECONDS, clean_up
from .exchange import Reply, Step
from .lab import Failed, Lab, NotReached, Skipped
from .model import (
    DATA_OPERATIONS,
    Call,
    Granted,
    Identifier,
    Known,
    Mismatch,
    Outcome,
    Refused,
    Rows,
    Tree,
    data_call,
    value_of,
)
from .rows import stream

__all__ = ["Machine", "Move", "explore", "known_of", "settle", "shrink", "step_of"]

MOVES = 30
KINDS_AT_ONCE = 10
NAMES = ("a", "b", "c")
COLUMNS = ("id", "name", "score", "vec")
KEYS = ("k0", "k1", "k2")
_NOT_DONE = frozenset({0, 13})
_MIGHT_NOT_TAKE = ("branch", "version", "behavior", "new_namespace_id", "properties")


@frozen
class Move:
    """One step of a sequence: what to do with the table or namespace of a short name."""

    kind: str
    name: str
    other: str = ""
    number: int = 0


TREE_MOVES = {
    "create": 6, "create more": 2, "declare": 3, "drop": 3, "deregister": 2, "register": 2,
    "rename": 3, "describe": 3, "exists": 2, "list": 3, "alter table": 2, "make": 3, "make more": 2,
    "unmake": 2, "alter": 2, "look": 2, "children": 2,
}  # fmt: skip
DATA_MOVES = {
    **dict.fromkeys(DATA_OPERATIONS, 2), "InsertIntoTable": 5, "QueryTable": 4, "CountTableRows": 3,
}  # fmt: skip
KINDS = [kind for kind, weight in {**TREE_MOVES, **DATA_MOVES}.items() for _ in range(weight)]


def known_of(lab: Lab) -> Known:
    """Return what the model goes by: nothing is known of the target but what it has shown."""

    def may_refuse(operation: str, request: Mapping[str, Any]) -> frozenset[int]:
        unproven = operation not in lab.worked and operation not in (lab.claimed or ())
        optional = any(request.get(key) for key in _MIGHT_NOT_TAKE)
        changes = operation in ("AlterNamespace", "AlterTable", "RegisterTable")
        # Lance keeps no branches and tags in some local folders.
        if operation in ("CreateTableBranch", "CreateTableTag") or optional or changes:
            return _NOT_DONE | {15, 19}
        return frozenset({0} if unproven else ())

    def ours(identifier: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        return {key: value for key, value in properties.items() if key in KEYS}

    return Known(
        in_full=False,
        may_refuse=may_refuse,
        shown_namespace_properties=ours,
        shown_table_properties=ours,
    )


def step_of(call: Call) -> Step:
    """Return a call of the model as it is sent."""
    data = None if call.rows is None else stream(call.rows.arrow())
    return Step(call.operation, call.request, data)


def settle(outcome: Outcome, reply: Reply) -> None:
    """Compare a reply with what the model says, and take the change over.

    Raises:
        Failed: it is something else.
    """
    operation = OPERATIONS[reply.step.operation]
    if isinstance(outcome, Refused) or not reply.succeeded:
        if reply.broken is not None and isinstance(outcome, Refused):
            raise NotReached(f"{operation.name} fails without a code: {reply.broken}")
        due = sorted(outcome.codes if isinstance(outcome, Refused) else outcome.or_codes)
        if reply.succeeded or reply.broken is not None or reply.code not in due:
            codes = " or ".join(map(str, due))
            if isinstance(outcome, Granted):
                wanted = f"{operation.name} to succeed"
            else:
                wanted = f"{operation.name} to fail with code {codes}"
            raise Failed(wanted, reply.outcome(), reply)
        return
    try:
        answer = reply.rows
        if operation.answer is not Body.ARROW:
            answer = operation.response_type.from_dict(dict(reply.answer or {}))
        outcome.settle(answer)
    except Mismatch as error:
        raise Failed(error.expected, error.found, reply) from error
    except LanceNamespaceError as error:
        raise Failed(f"a {operation.response}", error.message, reply) from error


@define
class Machine:
    """Plays moves and compares every answer with the model."""

    lab: Lab
    ids: dict[str, str] = field(factory=dict)
    tree: Tree = Factory(lambda self: _start(self.lab), takes_self=True)

    # --- identifiers

    def _fresh(self, key: str) -> str:
        if key not in self.ids:
            self.ids[key] = self.lab.ledger.fresh()
        return self.ids[key]

    def table(self, name: str) -> list[str]:
        """Return the identifier of a table."""
        return [*(self.lab.shape.table_parent or ()), self._fresh(name)]

    def namespace(self, name: str) -> list[str]:
        """Return the identifier of a namespace."""
        return [*(self.lab.shape.namespace_parent or ()), self._fresh(f"ns {name}")]

    # --- playing

    def play(self, moves: Sequence[Move]) -> None:
        """Play moves, then compare everything.

        Raises:
            Failed: an answer is not what the model expects.
        """
        for move in moves:
            self.make(move)
        for identifier in list(self.tree.tables):
            self.try_call(Call("DescribeTable", {"id": list(identifier)}))
            for call in list(self.tree.data_of(identifier)):
                self.try_call(call)
        self._listing(Move("list", "a", number=1))
        self._listing(Move("children", "a", number=1))

    def make(self, move: Move) -> None:
        """Play one move, where there is something that it fits."""
        if move.kind in ("list", "children"):
            self._listing(move)
            return
        call = self._draw(move)
        if call is not None:
            self.try_call(call)

    def try_call(self, call: Call) -> None:
        """Call an operation, unless the target does not support its operation."""
        claimed = self.lab.claimed
        if claimed is not None and call.operation not in claimed:
            return
        outcome = self.tree.expect(call)
        step = step_of(call)
        reply = self._query(call) if call.operation == "QueryTable" else None
        if reply is None:
            reply = self.lab.call(step.operation, step.data, **step.request)
        if reply.code == 0 and not (claimed or call.operation in self.lab.worked):
            return
        settle(outcome, reply)

    def _query(self, call: Call) -> Reply | None:
        """Return the reply to a query, with the missing vector as the target takes it."""
        request = {**call.request, "vector": self.lab.no_vector()}
        return self.lab.call("QueryTable", **request)

    def _draw(self, move: Move) -> Call | None:
        chance = random.Random(move.number)
        identifier = tuple(self.table(move.name))
        if move.kind in DATA_OPERATIONS:
            return data_call(move.kind, self.tree, identifier, chance)
        if "make" in move.kind or move.kind in ("alter", "look"):
            return self._of_namespace(move, chance) if self.lab.shape.namespace_parent else None
        return self._of_table(move, identifier, chance)

    def _of_namespace(self, move: Move, chance: random.Random) -> Call | None:
        request: dict[str, Any] = {"id": self.namespace(move.name)}
        there = tuple(request["id"]) in self.tree.namespaces
        match move.kind:
            case "make":
                return Call("CreateNamespace", request)
            case "make more":
                mode = chance.choice(("ExistOk", "exist_ok", "Overwrite", "CREATE"))
                return Call("CreateNamespace", {**request, "mode": mode})
            case "unmake":
                # What a missing one gives in mode Fail differs between catalogs.
                return Call("DropNamespace", request if there else {**request, "mode": "Skip"})
            case "alter":
                return Call("AlterNamespace", request | _changes(chance)) if there else None
        return Call(chance.choice(("DescribeNamespace", "NamespaceExists")), request)

    def _of_table(self, move: Move, identifier: Identifier, chance: random.Random) -> Call | None:
        request: dict[str, Any] = {"id": list(identifier)}
        table = self.tree.tables.get(identifier)
        match move.kind:
            case "create":
                return Call("CreateTable", request, _rows(chance))
            case "create more":
                mode = chance.choice(("ExistOk", "exist_ok", "Overwrite", "overwrite"))
                return Call("CreateTable", {**request, "mode": mode}, _rows(chance))
            case "declare":
                return Call("DeclareTable", request)
            case "drop":
                return Call("DropTable", request)
            case "deregister":
                return Call("DeregisterTable", request)
            case "register":
                held = {table.location for table in self.tree.tables.values()}
                places = self.tree.places.items()
                gone = [t for t, p in places if p not in held and p in self.tree.datasets]
                if not gone or table is not None:
                    return None
                return Call("RegisterTable", {**request, "location": chance.choice(gone)})
            case "rename":
                return Call("RenameTable", {**request, "new_table_name": self._fresh(move.other)})
            case "alter table":
                return Call("AlterTable", request | _changes(chance)) if table else None
            case "exists":
                return Call("TableExists", request)
        return Call("DescribeTable", request)

    def _listing(self, move: Move) -> None:
        """List tables or namespaces, page by page; objects of others may stand among them."""
        tables = move.kind == "list"
        shape = self.lab.shape
        parent = shape.table_parent if tables else shape.namespace_parent
        if parent is None or (not tables and parent != shape.home):
            return  # what others have there is not ours to walk
        operation, key = ("ListTables", "tables") if tables else ("ListNamespaces", "namespaces")
        ours = set(self.ids.values())
        try:
            found = self.lab.walk(operation, key, id=list(parent), limit=1 + move.number % 3)
        except Skipped:
            return
        there = self.tree.lance_tables(parent) if tables else self.tree.children(parent)
        names = [name for name in there if name in ours]
        self.lab.same([name for name in found if name in ours], names, f"the {key}, in order")


def _start(lab: Lab) -> Tree:
    """Return the model of the namespaces that moves work in."""
    there: dict[Identifier, dict[str, str]] = {}
    for parent in (lab.shape.table_parent, lab.shape.namespace_parent):
        there |= {parent[:depth]: {} for depth in range(1, len(parent or ()) + 1)} if parent else {}
    return Tree(known_of(lab), there)


def _rows(chance: random.Random) -> Rows:
    numbers = [chance.randrange(12) for _ in range(chance.randrange(1, 4))]
    return Rows({name: tuple(value_of(name, n) for n in numbers) for name in COLUMNS})


def _changes(chance: random.Random) -> dict[str, Any]:
    """Return changes of properties that do not contradict themselves."""
    first, second = chance.sample(KEYS, 2)
    changes: dict[str, Any] = {"set_properties": {first: f"v{chance.randrange(3)}"}}
    if chance.randrange(2):
        changes["unset_properties"] = [second]
    return changes


def sequence(chance: random.Random) -> list[Move]:
    """Return a random sequence of a few kinds of moves, so that what they do to one another shows."""
    few = chance.sample(sorted(set(KINDS)), KINDS_AT_ONCE)
    kinds = [kind for kind in KINDS if kind in few] + ["create", "create", "InsertIntoTable"]
    names = chance.choice((NAMES, NAMES[:1], NAMES[:2]))
    return [
        Move(
            chance.choice(kinds), chance.choice(names), chance.choice(NAMES), chance.randrange(999)
        )
        for _ in range(MOVES)
    ]


def explore(lab: Lab, seed: int, sequences: int) -> None:
    """Play random sequences.

    Raises:
        Failed: an answer is not what the model expects; it can be cut down to its shortest script.
    """
    chance = random.Random(seed)
    for _ in range(sequences):
        moves = sequence(chance)
        failure = _failure(lab, moves)
        if failure is not None:
            error, lab.steps = failure
            error.shorter = partial(shrink, lab, moves, failure)
            raise error


def _failure(lab: Lab, moves: Sequence[Move]) -> tuple[Failed, list[Step]] | None:
    lab.steps = []
    try:
        Machine(lab).play(moves)
    except Failed as error:
        return error, list(lab.steps)
    except (Skipped, NotReached):
        return None
    finally:
        clean_up(lab, everything=False, deadline=time.monotonic() + CLEANING_SECONDS)
    return None


def shrink(
    lab: Lab, moves: list[Move], failure: tuple[Failed, list[Step]], deadline: float
) -> Failed:
    """Return the failure of the shortest part of a sequence that still fails, found in time."""
    size = max(1, len(moves) // 2)
    while size and time.monotonic() < deadline:
        start = 0
        while start < len(moves) and time.monotonic() < deadline:
            shorter = moves[:start] + moves[start + size :]
            found = _failure(lab, shorter)
            if found is None:
                start += size
            else:
                moves, failure = shorter, found
        size //= 2
    error, lab.steps = failure
    return error
