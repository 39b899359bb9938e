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
    WIDE_OPERATIONS,
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
from .pools import COLUMNS, FAMILIES, KEYS, LIMITS, MANY, VALUES, WRONG_MODES, is_plain
from .rows import END, stream

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
_SET = frozenset(KEYS) | {f"k{number}" for number in range(MANY)}
"""Keys of properties that calls set; a catalog may add others."""
_NOT_DONE = frozenset({0, 13})
_OPTIONAL = (
    "branch", "from_branch", "version", "tag", "behavior", "new_namespace_id", "properties",
    "location", "vector", "when_matched_update_all_filt", "when_not_matched_by_source_delete_filt",
    "with_row_id", "ranges", "query",
)  # fmt: skip
"""Fields that a target may reject."""
ALL_TABLES = "number of all tables"
"""Key in `Lab.told` of the last number of tables of all namespaces."""
SHOWN = "fields that worked"
"""Key in `Lab.told` of the pairs of an operation and a field that the target accepted once, and of
the kinds of object with the numbers of levels that it holds."""
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
    "unmake": 2, "alter": 2, "look": 2, "children": 2, "page": 4, "page namespaces": 3,
    "list all": 2, "parts": 3, "root": 1, "as a table": 1, "as a namespace": 1,
}  # fmt: skip
DATA_MOVES = {
    **dict.fromkeys(DATA_OPERATIONS | WIDE_OPERATIONS, 2),
    "InsertIntoTable": 5, "QueryTable": 4, "CountTableRows": 3,
}  # fmt: skip
LISTINGS = ("list", "list filled", "children", "list all", "parts")
_PARTS = {
    "ListTableTags": "tags", "ListTableBranches": "branches", "ListTableIndices": "indexes",
    "ListTableVersions": "versions",
}  # fmt: skip
"""Listings of the parts of a table, with the field of their entries."""
FEW = 60
"""Largest number of tables for which ListAllTables is called with small pages."""
KINDS = [kind for kind, weight in {**TREE_MOVES, **DATA_MOVES}.items() for _ in range(weight)]


def known_of(lab: Lab) -> Known:
    """Return the assumptions of the model: only what the target has shown is known of it."""

    shown = lab.told.setdefault(SHOWN, set())

    def may_refuse(operation: str, request: Mapping[str, Any]) -> frozenset[int]:
        unproven = operation not in lab.worked and operation not in (lab.claimed or ())
        given = [key for key in _OPTIONAL if request.get(key)]
        optional = any((operation, key) not in shown for key in given)
        if request.get("id") == []:
            return _NOT_DONE | {15, 16}
        odd = any(key in _FREE for key in given) or not _plain_values(request)
        if operation in _NAMES_OBJECTS:
            names = [*(request.get("id") or ()), request.get("new_table_name") or "a"]
            odd = odd or not all(map(is_plain, names))
        changes = operation in ("AlterNamespace", "AlterTable", "RegisterTable")
        # Lance does not support branches and tags in some local folders.
        if operation in ("CreateTableBranch", "CreateTableTag") or odd or optional:
            return _NOT_DONE | {15, 19}
        if changes or given:
            proven = operation in lab.worked and not unproven
            return frozenset({15, 19}) if proven else _NOT_DONE | {15, 19}
        return frozenset({0} if unproven else ())

    def may_lack(operation: str, identifier: Identifier) -> bool:
        kind = "table" if "Table" in operation and operation != "ListTables" else "namespace"
        held = (
            ("table", len(identifier) + 1) if operation == "ListTables" else (kind, len(identifier))
        )
        parent = lab.shape.table_parent if held[0] == "table" else lab.shape.namespace_parent
        return held[1] != len(parent or ()) + 1 and held not in shown

    def ours(identifier: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        return {key: value for key, value in properties.items() if key in _SET}

    return Known(
        in_full=False,
        may_refuse=may_refuse,
        may_lack=may_lack,
        shown_namespace_properties=ours,
        shown_table_properties=ours,
    )


_FREE = ("branch", "from_branch", "location", "new_namespace_id")
"""Fields that a target may reject for some objects although it accepts them for others."""


def _plain_values(request: Mapping[str, Any]) -> bool:
    """Return whether every catalog that stores properties can store these."""
    given = {**(request.get("properties") or {}), **(request.get("set_properties") or {})}
    keys = [*given, *(request.get("unset_properties") or ())]
    plain = all(map(is_plain, keys)) and all(text in VALUES[:2] for text in given.values())
    return plain and len(given) < MANY


def step_of(call: Call) -> Step:
    """Return the step that sends a call of the model."""
    if call.rows is None:
        return Step(call.operation, call.request)
    if call.rows.fault == "not arrow":
        return Step(call.operation, call.request, b"x,y\n1,2\n")
    data = stream(call.rows.arrow(), batch_rows=call.rows.batch_rows)
    if call.rows.fault == "truncated":
        # Within the last message: readers accept a stream that ends between two messages.
        data = data[: -2 * len(END)]
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
        """Return the identifier of a table; ``a/b`` is the table ``b`` in the namespace ``a``."""
        parent, _, last = name.rpartition("/")
        place = self.namespace(parent) if parent else self.lab.shape.table_parent or ()
        return [*place, self._fresh(last)]

    def short_name(self, identifier: Identifier) -> str:
        """Return the short name of an object; empty if no move names it."""
        return next((key for key, name in self.ids.items() if name == identifier[-1]), "")

    def namespace(self, name: str) -> list[str]:
        """Return the identifier of a namespace; ``a/b`` is one below the namespace ``a``."""
        names = [self._fresh(f"ns {each}") for each in name.split("/")]
        return [*(self.lab.shape.namespace_parent or ()), *names]

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
                self.try_call(Call("ListTables", {"id": list(identifier)}))
                self.try_call(Call("ListNamespaces", {"id": list(identifier)}))
        for gone in self.changed:
            if gone not in self.tree.tables and gone not in self.tree.namespaces:
                kind = "Table" if self.changed[gone].find("Namespace") < 0 else "Namespace"
                self.try_call(Call(f"{kind}Exists", {"id": list(gone)}))
        for kind in ("list", "list filled", "children"):
            self._listing(Move(kind, "a", number=1))

    def make(self, move: Move) -> None:
        """Play one move if a suitable object exists."""
        if move.kind == "names":
            self.family, self._stem = move.name, self.lab.ledger.fresh()
            self.delimiter = move.other
        elif move.kind == "list all":
            self._list_all(move)
        elif move.kind == "parts":
            self._list_parts(move)
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
        # A missing vector has the target's form.
        if "vector" in request and request["vector"] is None:
            request["vector"] = self.lab.no_vector()
        elif "query" in request and request["query"].get("vector") is None:
            request["query"] = {**request["query"], "vector": self.lab.no_vector()}
        if self.delimiter != "$" and self.lab.target.kind == "http":
            request["context"] = {"delimiter": self.delimiter}
        reply = self.lab.call(step.operation, step.data, **request)
        if reply.code == 0 and not (claimed or call.operation in self.lab.worked):
            return
        settle(outcome, reply)
        if reply.succeeded:
            self._remember_fields(call)
        if not OPERATIONS[call.operation].repeatable:
            change = change_of(call) if reply.succeeded else f"{call.operation} refused"
            self.changed[tuple(call.request["id"])] = change
        if reply.succeeded and call.operation == "RenameTable":
            parent = call.request.get("new_namespace_id") or call.request["id"][:-1]
            self.changed[*parent, call.request["new_table_name"]] = change_of(call)
        granted = isinstance(outcome, Granted)
        if (
            reply.code == 13
            and granted
            and call.operation in _NAMES_OBJECTS
            and not _has_options(call)
        ):
            names = [*call.request["id"], call.request.get("new_table_name") or "a"]
            odd = frozenset(name for name in names if not is_plain(name))
            self.tree.refused_names |= odd - frozenset(self._held())

    def _remember_fields(self, call: Call) -> None:
        """Record the optional fields and the levels of identifiers that the target accepts."""
        shown = self.lab.told[SHOWN]
        shown |= {(call.operation, key) for key in _OPTIONAL if call.request.get(key)}
        if call.operation in ("CreateNamespace", "CreateTable", "DeclareTable"):
            kind = "namespace" if call.operation == "CreateNamespace" else "table"
            shown.add((kind, len(call.request["id"])))

    def _held(self) -> list[str]:
        return [
            name for identifier in (*self.tree.tables, *self.tree.namespaces) for name in identifier
        ]

    def draw(self, move: Move) -> Call | None:
        """Return the call of a move; None if no suitable object exists."""
        chance = random.Random(move.number)
        identifier = tuple(self.table(move.name))
        if move.kind in DATA_OPERATIONS or move.kind in WIDE_OPERATIONS:
            return data_call(move.kind, self.tree, identifier, chance, wide=True)
        if "make" in move.kind or move.kind in ("alter", "look"):
            return self._of_namespace(move, chance) if self.lab.shape.namespace_parent else None
        if move.kind == "root":
            operation = chance.choice(("DescribeNamespace", "NamespaceExists", "ListOperations"))
            return Call(operation, {} if operation == "ListOperations" else {"id": []})
        if move.kind in ("as a table", "as a namespace"):
            return self._mixed_up(move, chance) if self.lab.shape.namespace_parent else None
        if "page" in move.kind:
            return self._page(move, chance) if self.lab.shape.namespace_parent else None
        return self._of_table(move, identifier, chance)

    def _mixed_up(self, move: Move, chance: random.Random) -> Call | None:
        """Return a call on a namespace as a table, or on a table as a namespace."""
        if move.kind == "as a table":
            identifier = self.namespace(move.name)
            operations: tuple[str, ...] = ("TableExists", "DescribeTable", "DropTable")
        else:
            identifier = self.table(move.name)
            operations = ("NamespaceExists", "DescribeNamespace", "ListTables", "ListNamespaces")
            if tuple(identifier) in self.tree.namespaces:
                return None
        return Call(chance.choice(operations), {"id": identifier})

    def _page(self, move: Move, chance: random.Random) -> Call:
        """Return a listing of a namespace of this sequence, from its start or after a page."""
        operation = "ListNamespaces" if move.kind == "page namespaces" else "ListTables"
        request: dict[str, Any] = {"id": self.namespace(move.name)}
        if operation == "ListTables" and chance.randrange(3) == 0:
            request["include_declared"] = bool(chance.randrange(2))
        limit = 0 if chance.randrange(20) == 0 else chance.choice(LIMITS)
        if limit is not None:
            request["limit"] = limit
        listing: tuple[Any, ...] = (operation, tuple(request["id"]))
        if operation == "ListTables":
            listing = (*listing, request.get("include_declared", True))
        own = [token for token in self.tree.tokens if token.listing == listing]
        if own and chance.randrange(3):
            request["page_token"] = chance.choice(own[-2:]).text
        return Call(operation, request)

    def _of_namespace(self, move: Move, chance: random.Random) -> Call | None:
        request: dict[str, Any] = {"id": self.namespace(move.name)}
        there = tuple(request["id"]) in self.tree.namespaces
        match move.kind:
            case "make":
                if chance.randrange(3) == 0:
                    request["properties"] = _properties(chance)
                return Call("CreateNamespace", request)
            case "make more":
                if chance.randrange(2) == 0:
                    request["properties"] = _properties(chance)
                modes = ("ExistOk", "exist_ok", "Overwrite", "CREATE", *WRONG_MODES[:1])
                return Call("CreateNamespace", {**request, "mode": chance.choice(modes)})
            case "unmake":
                if chance.randrange(12) == 0:
                    key = chance.choice(("mode", "behavior"))
                    return Call("DropNamespace", {**request, key: "sometimes"}) if there else None
                if chance.randrange(3) == 0:
                    request["behavior"] = chance.choice(("Cascade", "cascade", "Restrict"))
                # In mode Fail, catalogs differ in the result for a missing namespace.
                if not there or chance.randrange(4) == 0:
                    request["mode"] = chance.choice(("Skip", "SKIP"))
                return Call("DropNamespace", request)
            case "alter":
                return Call("AlterNamespace", request | _changes(chance)) if there else None
        return Call(chance.choice(("DescribeNamespace", "NamespaceExists")), request)

    def _of_table(self, move: Move, identifier: Identifier, chance: random.Random) -> Call | None:
        request: dict[str, Any] = {"id": list(identifier)}
        table = self.tree.tables.get(identifier)
        match move.kind:
            case "create":
                if chance.randrange(3) == 0:
                    request["properties"] = _properties(chance)
                return Call("CreateTable", request, _rows(chance))
            case "create more":
                mode = chance.choice(("ExistOk", "exist_ok", "Overwrite", "overwrite"))
                if chance.randrange(15) == 0:
                    mode = chance.choice(WRONG_MODES)
                return Call("CreateTable", {**request, "mode": mode}, _rows(chance))
            case "declare":
                if chance.randrange(3) == 0:
                    request["properties"] = _properties(chance)
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
                return self._register(request, table is not None, chance)
            case "rename":
                return self._rename(request, move, chance)
            case "alter table":
                return Call("AlterTable", request | _changes(chance)) if table else None
            case "exists":
                dataset = self.tree.dataset_of(identifier)
                if dataset is not None and not dataset.remnants and not dataset.main.pending:
                    versions = (None, 999, *dataset.main.versions)
                    version = chance.choice(versions)
                    request |= {} if version is None else {"version": version}
                return Call("TableExists", request)
        if chance.randrange(2):
            request["check_declared"] = True
        return Call("DescribeTable", request)

    def _register(self, request: dict[str, Any], there: bool, chance: random.Random) -> Call | None:
        held = {table.location for table in self.tree.tables.values()}
        places = self.tree.places.items()
        gone = [t for t, p in places if p not in held and p in self.tree.datasets]
        if not gone:
            return None
        request["location"] = chance.choice(gone)
        if chance.randrange(3) == 0:
            request["properties"] = _properties(chance)
        if there:
            modes = (None, "Create", "Overwrite", "overwrite")
            mode = chance.choice(modes)
            request |= {} if mode is None else {"mode": mode}
        return Call("RegisterTable", request)

    def _rename(self, request: dict[str, Any], move: Move, chance: random.Random) -> Call:
        parent, _, last = move.other.rpartition("/")
        request["new_table_name"] = self._fresh(last)
        shape = self.lab.shape
        if parent and shape.namespace_parent is not None and shape.tables_in_new:
            request["new_namespace_id"] = self.namespace(parent)
        elif "/" in move.name and shape.table_parent and chance.randrange(2):
            request["new_namespace_id"] = list(shape.table_parent)
        return Call("RenameTable", request)

    def _list_all(self, move: Move) -> None:
        """List all tables, page by page if there are few; those of others are left out."""
        if "ListAllTables" not in self.lab.worked and self.lab.claimed is None:
            return
        ours = set(self.ids.values())
        limits = LIMITS if self.lab.told.get(ALL_TABLES, FEW) < FEW else (None,)
        more = {"include_declared": False} if move.number % 3 == 0 else {}
        try:
            limit = limits[move.number % len(limits)]
            found = self.lab.walk("ListAllTables", "tables", limit=limit, **more)
        except Skipped:
            return
        self.lab.told[ALL_TABLES] = len(found)
        tables = [t for t in self.tree.tables if not more or self.tree.has_data(t)]
        due = sorted("$".join(identifier) for identifier in tables if identifier[-1] in ours)
        shown = sorted(each for each in found if ours & set(each.split("$")))
        self.lab.same(shown, due, "the tables of all namespaces")

    def _list_parts(self, move: Move) -> None:
        """List the versions, tags, branches and indices of a table, page by page."""
        identifier = tuple(self.table(move.name))
        dataset = self.tree.dataset_of(identifier)
        if dataset is None or dataset.remnants:
            return
        line, newest_first = dataset.main, bool(move.number % 2)
        all_known = line.tells_all and not line.pending
        parts: dict[str, list[Any]] = {
            "ListTableTags": sorted(dataset.tags),
            "ListTableBranches": sorted(dataset.branches),
            "ListTableIndices": sorted(line.head.indices or ()),
            "ListTableVersions": sorted(line.versions) if all_known else [],
        }
        for operation, due in parts.items():
            if not due or operation not in self.lab.worked:
                continue
            in_order = operation == "ListTableVersions" and newest_first
            more = {"descending": True} if in_order else {}
            shown: list[Any] = []
            limit = 1 + move.number % 2
            for answer in self.lab.pages(operation, id=list(identifier), limit=limit, **more):
                shown += map(_part, answer.get(_PARTS[operation]) or ())
            shown = [each for each in shown if each != "main"]
            # Only `descending` specifies an order.
            expected, found = (due[::-1], shown) if in_order else (due, sorted(shown))
            self.lab.same(found, expected, f"the entries of {operation}, page by page")

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
                operation, key, id=list(parent), limit=LIMITS[move.number % len(LIMITS)], **more
            )
        except Skipped:
            return
        there = self.tree.lance_tables(parent) if tables else self.tree.children(parent)
        if more:
            there = [name for name in there if self.tree.has_data((*parent, name))]
        names = [name for name in there if name in ours]
        self.lab.same([name for name in found if name in ours], names, f"the {key} in order")


def _part(entry: Any) -> Any:
    """Return the name or number of an entry of a listing."""
    if isinstance(entry, Mapping):
        return entry["version"] if "version" in entry else entry["index_name"]
    return entry


def _start(lab: Lab) -> Tree:
    """Return the model of the namespaces that moves work in."""
    there: dict[Identifier, dict[str, str]] = {}
    for parent in (lab.shape.table_parent, lab.shape.namespace_parent):
        there |= {parent[:depth]: {} for depth in range(1, len(parent or ()) + 1)} if parent else {}
    return Tree(known_of(lab), there)


def _rows(chance: random.Random) -> Rows:
    """Return rows of a new table: of few columns or of unusual types, in one batch or several."""
    count = chance.choice((0, 13, 1_300)) if chance.randrange(14) == 0 else chance.randrange(1, 6)
    numbers = [chance.randrange(12) for _ in range(count)]
    columns = COLUMNS[0] if chance.randrange(2) else chance.choice(COLUMNS)
    fault = chance.choice(("not arrow", "truncated")) if chance.randrange(30) == 0 else None
    return Rows(
        {name: tuple(value_of(name, n) for n in numbers) for name in columns},
        fault,
        batch_rows=chance.choice((None, 1, 2, 500)),
        metadata={"kit.a": "made"} if chance.randrange(5) == 0 else {},
    )


def _properties(chance: random.Random) -> dict[str, str]:
    """Return properties of a new object: one, several or many."""
    size = chance.choice((1, 1, 2, 3, 0))
    if chance.randrange(12) == 0:
        return {f"k{number}": f"v{number}" for number in range(MANY)}
    return {key: chance.choice(VALUES) for key in chance.sample(KEYS, size)}


def _changes(chance: random.Random) -> dict[str, Any]:
    """Return changes of properties; they seldom contradict themselves."""
    first, second, third = chance.sample(KEYS, 3)
    changes: dict[str, Any] = {"set_properties": {first: chance.choice(VALUES)}}
    if chance.randrange(3) == 0:
        changes["set_properties"][third] = chance.choice(VALUES)
    if chance.randrange(2):
        changes["unset_properties"] = [second]
    kind = chance.randrange(12)
    if kind == 0:
        changes["unset_properties"] = [first]
    elif kind == 1:
        changes = {"unset_properties": [first, second]}
    return changes


def _has_options(call: Call) -> bool:
    return any(call.request.get(key) for key in _OPTIONAL)


def change_of(call: Call) -> str:
    """Return the class of a change: its operation, mode and whether it names a branch."""
    mode = str(call.request.get("mode") or "").replace("_", "").lower()
    return " ".join(filter(None, (call.operation, mode, "branch" * ("branch" in call.request))))
