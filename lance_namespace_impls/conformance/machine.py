"""Random sequences of calls against a model of the tree and of the tables' rows.

Each sequence is a list of steps with names in place of identifiers, so that any part of it can be
made again below fresh names: that is how a failure is cut down to its shortest script.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

from attrs import define, field, frozen

from .exchange import Step
from .lab import Failed, Lab, NotReached, Skipped
from .rows import people, stream

__all__ = ["Move", "explore", "shrink"]

MOVES = 25
SHRINK_SECONDS = 15.0
NAMES = ("a", "b", "c")


@frozen
class Move:
    """One step of a sequence: what to do with the table or namespace of a short name."""

    kind: str
    name: str
    other: str = ""
    number: int = 0


@define
class Model:
    """What should be there: for each table its rows by version, None for one without data."""

    tables: dict[str, list[frozenset[int]] | None] = field(factory=dict)
    tags: dict[tuple[str, str], int] = field(factory=dict)
    namespaces: dict[str, set[str]] = field(factory=dict)
    """Child namespaces of the home and the keys of their properties."""


KINDS = (
    "create", "create", "declare", "insert", "insert", "overwrite", "delete", "drop", "rename",
    "count", "query", "list", "restore", "tag", "tagged", "make", "unmake", "alter",
)  # fmt: skip


@define
class Machine:
    """Plays moves and compares every answer with the model."""

    lab: Lab
    ids: dict[str, str] = field(factory=dict)
    model: Model = field(factory=Model)

    def table(self, name: str) -> list[str]:
        """Return the identifier of a table."""
        if name not in self.ids:
            self.ids[name] = self.lab.ledger.fresh()
        return [*(self.lab.shape.table_parent or ()), self.ids[name]]

    def namespace(self, name: str) -> list[str]:
        """Return the identifier of a namespace."""
        key = f"ns {name}"
        if key not in self.ids:
            self.ids[key] = self.lab.ledger.fresh()
        return [*(self.lab.shape.namespace_parent or ()), self.ids[key]]

    def play(self, moves: Sequence[Move]) -> None:
        """Run moves.

        Raises:
            Failed: an answer is not what the model expects.
        """
        for move in moves:
            try:
                getattr(self, f"do_{move.kind}")(move)
            except Skipped:
                continue
        self.compare()

    def _call(
        self, codes: Sequence[int], operation: str, data: bytes | None, **request: Any
    ) -> bool:
        """Call an operation, which must fail with one of some codes, or succeed where there are none."""
        if codes:
            self.lab.refused(operation, codes, data, **request)
            return False
        self.lab.ok(operation, data, **request)
        return True

    def _missing(self, name: str) -> list[int]:
        return [] if name in self.model.tables else [4]

    def _data(self, name: str) -> list[frozenset[int]] | None:
        return self.model.tables.get(name)

    def do_create(self, move: Move) -> None:
        """Create a table of some rows."""
        known = name_taken = move.name in self.model.tables
        if known and self._data(move.name) is None:
            return  # whether Create fills a declared table is left open
        ids = range(move.number, move.number + 3)
        data = stream(people(*ids))
        if self._call([5] if name_taken else [], "CreateTable", data, id=self.table(move.name)):
            self.model.tables[move.name] = [frozenset(ids)]

    def do_declare(self, move: Move) -> None:
        """Declare a table."""
        taken = move.name in self.model.tables
        if self._call([5] if taken else [], "DeclareTable", None, id=self.table(move.name)):
            self.model.tables[move.name] = None

    def _write(self, move: Move, mode: str) -> None:
        versions = self._data(move.name)
        if move.name in self.model.tables and versions is None:
            return
        ids = frozenset({move.number + 100, move.number + 101})
        if versions is not None and mode == "append" and versions[-1] & ids:
            return
        data = stream(people(*sorted(ids)))
        codes = self._missing(move.name)
        request = {"id": self.table(move.name), "mode": mode}
        if self._call(codes, "InsertIntoTable", data, **request) and versions is not None:
            versions.append(ids | (versions[-1] if mode == "append" else frozenset()))

    def do_insert(self, move: Move) -> None:
        """Append rows."""
        self._write(move, "append")

    def do_overwrite(self, move: Move) -> None:
        """Replace rows."""
        self._write(move, "overwrite")

    def do_delete(self, move: Move) -> None:
        """Delete rows above an id."""
        versions = self._data(move.name)
        if move.name in self.model.tables and versions is None:
            return
        kept = frozenset(i for i in versions[-1] if i <= move.number) if versions else frozenset()
        if versions is not None and kept == versions[-1]:
            return  # whether that makes a version is left open
        request = {"id": self.table(move.name), "predicate": f"id > {move.number}"}
        if self._call(self._missing(move.name), "DeleteFromTable", None, **request) and versions:
            versions.append(kept)

    def do_drop(self, move: Move) -> None:
        """Drop a table."""
        if self._call(self._missing(move.name), "DropTable", None, id=self.table(move.name)):
            self._forget(move.name)

    def _forget(self, name: str) -> None:
        self.model.tables.pop(name, None)
        for key in [key for key in self.model.tags if key[0] == name]:
            del self.model.tags[key]

    def do_rename(self, move: Move) -> None:
        """Rename a table."""
        codes = self._missing(move.name)
        if move.other in self.model.tables:
            codes = [*codes, 5]
        new = self.table(move.other)[-1]
        request = {"id": self.table(move.name), "new_table_name": new}
        if self._call(codes, "RenameTable", None, **request):
            tags = {k: v for k, v in self.model.tags.items() if k[0] == move.name}
            self.model.tables[move.other] = self.model.tables[move.name]
            self._forget(move.name)
            self.model.tags |= {(move.other, tag): version for (_, tag), version in tags.items()}

    def do_count(self, move: Move) -> None:
        """Count the rows of a table, now or at an earlier version."""
        versions = self._data(move.name)
        if versions is None:
            if move.name not in self.model.tables:
                self._call([4], "CountTableRows", None, id=self.table(move.name))
            return
        number = move.number % len(versions)
        self.lab.same(self.lab.count(self.table(move.name)), len(versions[-1]), "the rows")
        found = self.lab.count(self.table(move.name), version=number + 1)
        self.lab.same(found, len(versions[number]), f"the rows of version {number + 1}")

    def do_query(self, move: Move) -> None:
        """Read the ids of a table."""
        versions = self._data(move.name)
        if versions is not None:
            self.lab.same(self.lab.ids(self.table(move.name)), sorted(versions[-1]), "the ids")

    def do_list(self, move: Move) -> None:
        """List the tables, in pages."""
        parent = list(self.lab.shape.table_parent or ())
        ours = {self.ids[name]: name for name in NAMES if name in self.ids}
        found = self.lab.walk("ListTables", "tables", id=parent, limit=1 + move.number % 3)
        shown = sorted(ours[name] for name in found if name in ours)
        self.lab.same(shown, sorted(self.model.tables), "the tables")

    def do_restore(self, move: Move) -> None:
        """Restore an earlier version, or one that is missing."""
        versions = self._data(move.name)
        if versions is None:
            return
        number = 1 + move.number % (len(versions) + 1)
        codes = [] if number <= len(versions) else [11]
        request = {"id": self.table(move.name), "version": number}
        if number != len(versions) and self._call(codes, "RestoreTable", None, **request):
            versions.append(versions[number - 1])

    def do_tag(self, move: Move) -> None:
        """Tag a version."""
        versions = self._data(move.name)
        if versions is None:
            return
        key, number = (move.name, move.other), 1 + move.number % len(versions)
        codes = [9] if key in self.model.tags else []
        request = {"id": self.table(move.name), "tag": move.other, "version": number}
        if self._call(codes, "CreateTableTag", None, **request):
            self.model.tags[key] = number

    def do_tagged(self, move: Move) -> None:
        """Ask which version a tag names."""
        if self._data(move.name) is None:
            return
        key = (move.name, move.other)
        request = {"id": self.table(move.name), "tag": move.other}
        if key not in self.model.tags:
            self._call([8], "GetTableTagVersion", None, **request)
            return
        found = self.lab.ok("GetTableTagVersion", **request)
        self.lab.same(found.get("version"), self.model.tags[key], f"the version of {move.other}")

    def do_make(self, move: Move) -> None:
        """Create a namespace."""
        if self.lab.shape.namespace_parent is None:
            return
        codes = [2] if move.name in self.model.namespaces else []
        if self._call(codes, "CreateNamespace", None, id=self.namespace(move.name)):
            self.model.namespaces[move.name] = set()

    def do_unmake(self, move: Move) -> None:
        """Drop a namespace that is there; what a missing one gives is left open."""
        if move.name in self.model.namespaces:
            self._call([], "DropNamespace", None, id=self.namespace(move.name))
            del self.model.namespaces[move.name]

    def do_alter(self, move: Move) -> None:
        """Set a property of a namespace."""
        if move.name not in self.model.namespaces:
            return
        key = f"k{move.number % 3}"
        self.lab.maybe(
            "AlterNamespace", id=self.namespace(move.name), set_properties={key: move.other}
        )
        self.model.namespaces[move.name].add(key)

    def compare(self) -> None:
        """Compare everything with the model."""
        for name in self.model.tables:
            self.do_query(Move("query", name))
        self.do_list(Move("list", "a", number=1))
        for name, keys in self.model.namespaces.items():
            answer = self.lab.ok("DescribeNamespace", id=self.namespace(name))
            missing = keys - set(answer.get("properties") or ())
            self.lab.same(missing, set(), "properties that are missing")
        for name in NAMES:
            if f"ns {name}" in self.ids and name not in self.model.namespaces:
                there = self.lab.exists("NamespaceExists", self.namespace(name))
                self.lab.that(not there, f"namespace {name} not to be there", "it is")


def sequence(chance: random.Random) -> list[Move]:
    """Return a random sequence."""
    return [
        Move(chance.choice(KINDS), chance.choice(NAMES), chance.choice(NAMES), chance.randrange(9))
        for _ in range(MOVES)
    ]


def explore(lab: Lab, seed: int, sequences: int) -> None:
    """Play random sequences.

    Raises:
        Failed: an answer is not what the model expects; the calls of the bench are the shortest
            sequence that was found in time.
    """
    chance = random.Random(seed)
    for _ in range(sequences):
        moves = sequence(chance)
        failure = _failure(lab, moves)
        if failure is not None:
            raise shrink(lab, moves, failure, time.monotonic() + SHRINK_SECONDS)


def _failure(lab: Lab, moves: Sequence[Move]) -> tuple[Failed, list[Step]] | None:
    lab.steps = []
    try:
        Machine(lab).play(moves)
    except Failed as error:
        return error, list(lab.steps)
    except (Skipped, NotReached):
        return None
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
