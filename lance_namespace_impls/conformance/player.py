"""Plays moves on a target, and compares every answer with the oracle's.

A move uses short names instead of identifiers, so that any part of a sequence can be replayed with
fresh names. This is how a failure is shrunk to its shortest script.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import Factory, define, field, frozen

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.operations import OPERATIONS, Body

from .exchange import Reply, Step
from .lab import Failed, Lab, NotReached, Skipped
from .oracle import (
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
from .pools import COLUMNS, FAMILIES, VALUES, is_plain
from .rows import stream

__all__ = [
    "KINDS",
    "LISTINGS",
    "NAMES",
    "Move",
    "Player",
    "change_of",
    "known_of",
    "settle",
    "step_of",
]

NAMES = ("a", "b", "c")
KEYS = ("k0", "k1", "k2")
_NOT_DONE = frozenset({0, 13})
_OPTIONAL = ("branch", "version", "behavior", "new_namespace_id", "properties", "location")
"""Fields that a target may reject."""
_NAMES_OBJECTS = frozenset(
    {"CreateNamespace", "CreateTable", "DeclareTable", "RegisterTable", "RenameTable"}
)


@frozen
class Move:
    """One step of a sequence: the action on the table or namespace with a short name.

    The kind ``names`` selects the family of names for a whole sequence and, in `other`, the
    delimiter of identifiers in routes.
    """

    kind: str
    name: str
    other: str = ""
    number: int = 0


TREE_MOVES = {
    "create": 6, "create more": 2, "declare": 3, "declare at": 1, "drop": 3, "deregister": 2,
    "register": 2, "rename": 3, "describe": 3, "exists": 2, "list": 3, "list filled": 1, "alter table": 2,
    "make": 3, "make more": 2,
    "unmake": 2, "alter": 2, "look": 2, "children": 2,
}  # fmt: skip
DATA_MOVES = {
    **dict.fromkeys(DATA_OPERATIONS, 2), "InsertIntoTable": 5, "QueryTable": 4, "CountTableRows": 3,
}  # fmt: skip
LISTINGS = ("list", "list filled", "children")
KINDS = [kind for kind, weight in {**TREE_MOVES, **DATA_MOVES}.items() for _ in range(weight)]


def known_of(lab: Lab) -> Known:
    """Return the assumptions of the model: only what the target has shown is known of it."""

    def may_refuse(operation: str, request: Mapping[str, Any]) -> frozenset[int]:
        unproven = operation not in lab.worked and operation not in (lab.claimed or ())
        optional = any(request.get(key) for key in _OPTIONAL)
        if operation in _NAMES_OBJECTS:
            names = [*(request.get("id") or ()), request.get("new_table_name") or "a"]
            optional = optional or not all(map(is_plain, names))
        changes = operation in ("AlterNamespace", "AlterTable", "RegisterTable")
        # Lance does not support branches and tags in some local folders.
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
    """Return the step that sends a call of the model."""
    data = None if call.rows is None else stream(call.rows.arrow())
    return Step(call.operation, call.request, data)


def settle(outcome: Outcome, reply: Reply) -> None:
    """Compare a reply with the model, and apply the change to the model.

    Raises:
        Failed: it differs from the model.
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
class Player:
    """Plays moves and compares every answer with the oracle's."""

    lab: Lab
    ids: dict[str, str] = field(factory=dict)
    tree: Tree = Factory(lambda self: _start(self.lab), takes_self=True)
    changed: dict[Identifier, str] = field(factory=dict)
    """The last change of each object: its operation, with the mode and whether it names a branch."""
    family: str = "plain"
    """Family of the names, of `pools.FAMILIES`."""
    delimiter: str = "$"
    """Delimiter of identifiers in the routes of an HTTP target."""
    _stem: str = ""

    # --- identifiers

    def _fresh(self, key: str) -> str:
        if key not in self.ids:
            if self._stem:
                ending = FAMILIES[self.family][NAMES.index(key[-1])]
                self.ids[key] = f"{self._stem}{'n' * (key not in NAMES)}{ending}"
            else:
                self.ids[key] = self.lab.ledger.fresh()
        return self.ids[key]

    def table(self, name: str) -> list[str]:
        """Return the identifier of a table."""
        return [*(self.lab.shape.table_parent or ()), self._fresh(name)]

    def short_name(self, identifier: Identifier) -> str:
        """Return the short name of an object; empty if no move names it."""
        return next((key for key, name in self.ids.items() if name == identifier[-1]), "")

    def namespace(self, name: str) -> list[str]:
        """Return the identifier of a namespace."""
        return [*(self.lab.shape.namespace_parent or ()), self._fresh(f"ns {name}")]

    # --- playing

    def play(self, moves: Sequence[Move]) -> None:
        """Play moves, then compare the entire state.

        Raises:
            Failed: an answer differs from the oracle's.
        """
        for move in moves:
            self.make(move)
        self.sweep()

    def sweep(self) -> None:
        """Read the entire state back and compare it.

        Raises:
            Failed: an answer differs from the oracle's.
        """
        for identifier in list(self.tree.tables):
            full = {"load_detailed_metadata": True, "check_declared": True}
            self.try_call(Call("DescribeTable", {"id": list(identifier), **full}))
            for call in list(self.tree.data_of(identifier)):
                self.try_call(call)
            for call in list(self.tree.history_of(identifier)):
                self.try_call(call)
        for identifier in list(self.tree.namespaces):
            if identifier[-1] in self.ids.values():
                self.try_call(Call("DescribeNamespace", {"id": list(identifier)}))
        for name in NAMES:
            if name in self.ids and tuple(self.table(name)) not in self.tree.tables:
                self.try_call(Call("TableExists", {"id": self.table(name)}))
        for kind in ("list", "list filled", "children"):
            self._listing(Move(kind, "a", number=1))

    def make(self, move: Move) -> None:
        """Play one move if a suitable object exists."""
        if move.kind == "names":
            self.family, self._stem = move.name, self.lab.ledger.fresh()
            self.delimiter = move.other
        elif move.kind in LISTINGS:
            self._listing(move)
        elif (call := self.draw(move)) is not None:
            self.try_call(call)

    def try_call(self, call: Call) -> None:
        """Call an operation if the target supports it."""
        claimed = self.lab.claimed
        if claimed is not None and call.operation not in claimed:
            return
        outcome = self.tree.expect(call)
        step = step_of(call)
        request = dict(step.request)
        if call.operation == "QueryTable":  # with the missing vector in the target's form
            request["vector"] = self.lab.no_vector()
        if self.delimiter != "$" and self.lab.target.kind == "http":
            request["context"] = {"delimiter": self.delimiter}
        reply = self.lab.call(step.operation, step.data, **request)
        if reply.code == 0 and not (claimed or call.operation in self.lab.worked):
            return
        settle(outcome, reply)
        if reply.succeeded and not OPERATIONS[call.operation].repeatable:
            self.changed[tuple(call.request["id"])] = change_of(call)
        elif reply.code == 13 and call.operation in _NAMES_OBJECTS and not _has_options(call):
            names = [*call.request["id"], call.request.get("new_table_name") or "a"]
            odd = frozenset(name for name in names if not is_plain(name))
            self.tree.refused_names |= odd - frozenset(self._held())

    def _held(self) -> list[str]:
        return [
            name for identifier in (*self.tree.tables, *self.tree.namespaces) for name in identifier
        ]

    def draw(self, move: Move) -> Call | None:
        """Return the call of a move; None if no suitable object exists."""
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
                if chance.randrange(3) == 0:
                    request["properties"] = {"k0": chance.choice(VALUES)}
                return Call("CreateNamespace", request)
            case "make more":
                mode = chance.choice(("ExistOk", "exist_ok", "Overwrite", "CREATE"))
                return Call("CreateNamespace", {**request, "mode": mode})
            case "unmake":
                # In mode Fail, catalogs differ in the result for a missing namespace.
                return Call("DropNamespace", request if there else {**request, "mode": "Skip"})
            case "alter":
                return Call("AlterNamespace", request | _changes(chance)) if there else None
        return Call(chance.choice(("DescribeNamespace", "NamespaceExists")), request)

    def _of_table(self, move: Move, identifier: Identifier, chance: random.Random) -> Call | None:
        request: dict[str, Any] = {"id": list(identifier)}
        table = self.tree.tables.get(identifier)
        match move.kind:
            case "create":
                if chance.randrange(3) == 0:
                    request["properties"] = {"k0": chance.choice(VALUES)}
                return Call("CreateTable", request, _rows(chance))
            case "create more":
                mode = chance.choice(("ExistOk", "exist_ok", "Overwrite", "overwrite"))
                return Call("CreateTable", {**request, "mode": mode}, _rows(chance))
            case "declare":
                return Call("DeclareTable", request)
            case "declare at":
                near = next(iter(self.tree.places), None)
                if near is None:
                    return None
                folder, _, last = near.rpartition("/")
                ending = ".lance" if last.endswith(".lance") else ""
                location = f"{folder}/{self.lab.ledger.fresh()}{ending}"
                return Call("DeclareTable", {**request, "location": location})
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
        """List tables or namespaces, page by page; the result may include objects of others."""
        tables = move.kind != "children"
        shape = self.lab.shape
        parent = shape.table_parent if tables else shape.namespace_parent
        if parent is None or (not tables and parent != shape.home):
            return  # it may contain many objects of others
        operation, key = ("ListTables", "tables") if tables else ("ListNamespaces", "namespaces")
        ours = set(self.ids.values())
        more = {"include_declared": False} if move.kind == "list filled" else {}
        try:
            found = self.lab.walk(
                operation, key, id=list(parent), limit=1 + move.number % 3, **more
            )
        except Skipped:
            return
        there = self.tree.lance_tables(parent) if tables else self.tree.children(parent)
        if more:
            there = [name for name in there if self.tree.has_data((*parent, name))]
        names = [name for name in there if name in ours]
        self.lab.same([name for name in found if name in ours], names, f"the {key} in order")


def _start(lab: Lab) -> Tree:
    """Return the model of the namespaces that moves work in."""
    there: dict[Identifier, dict[str, str]] = {}
    for parent in (lab.shape.table_parent, lab.shape.namespace_parent):
        there |= {parent[:depth]: {} for depth in range(1, len(parent or ()) + 1)} if parent else {}
    return Tree(known_of(lab), there)


def _rows(chance: random.Random) -> Rows:
    numbers = [chance.randrange(12) for _ in range(chance.randrange(1, 4))]
    columns = COLUMNS[0] if chance.randrange(2) else chance.choice(COLUMNS)
    return Rows({name: tuple(value_of(name, n) for n in numbers) for name in columns})


def _changes(chance: random.Random) -> dict[str, Any]:
    """Return changes of properties that do not contradict themselves."""
    first, second = chance.sample(KEYS, 2)
    changes: dict[str, Any] = {"set_properties": {first: chance.choice(VALUES)}}
    if chance.randrange(2):
        changes["unset_properties"] = [second]
    return changes


def _has_options(call: Call) -> bool:
    return any(call.request.get(key) for key in _OPTIONAL)


def change_of(call: Call) -> str:
    """Return the class of a change: its operation, mode and whether it names a branch."""
    mode = str(call.request.get("mode") or "").replace("_", "").lower()
    return " ".join(filter(None, (call.operation, mode, "branch" * ("branch" in call.request))))
