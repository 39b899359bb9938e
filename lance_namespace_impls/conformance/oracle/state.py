"""The state of the model, and the faults of a call that need no lookup."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from typing import Any, Self

from attrs import Factory, define, evolve, field, frozen

from lance_namespace_client.operations import COMMON_CODES, OPERATIONS

from .calls import Call, Granted, Outcome, Refused, local_path, same
from .codes import BAD_INPUT, DENIED, NO_NAMESPACE, NO_TABLE, NO_VERSION, UNSUPPORTED
from .dataset import Dataset
from .known import Identifier, Known
from .predicates import BROKEN

__all__ = ["State", "Table", "Token", "names_of"]

CHANGES_NAMESPACE = ("CreateNamespace", "DropNamespace", "AlterNamespace")


@define
class Table:
    """A table as the catalog knows it."""

    location: str
    properties: dict[str, str]
    is_lance: bool = True


@frozen
class Token:
    """A page token and its meaning."""

    text: str
    listing: tuple[Any, ...]
    last: str | Identifier


@define
class State:
    """The expected state of the catalog and its storage."""

    known: Known
    namespaces: dict[Identifier, dict[str, str]]
    refused_names: frozenset[str] = frozenset()
    tables: dict[Identifier, Table] = Factory(dict)
    deregistered: dict[str, Identifier] = Factory(dict)
    """In a storage-only catalog: locations of deregistered tables, with their identifiers."""
    reserved: set[str] = Factory(set)
    """Locations of tables without data that were renamed."""
    doubtful: set[str] = Factory(set)
    """Locations of tables without data whose renaming failed: they may be reserved, too."""
    datasets: dict[str, Dataset] = Factory(dict)
    deleted: set[str] = Factory(set)
    """Locations whose data was dropped."""
    tokens: list[Token] = Factory(list)
    _given: frozenset[Identifier] = field(init=False)
    places: dict[str, str] = Factory(dict)
    """Placeholder for each location that the target returned, unless `Known.in_full`."""
    _made: int = 0
    started_millis: float = Factory(lambda: time.time() * 1000)
    """Time when this state started; all its versions are newer."""

    def __attrs_post_init__(self) -> None:
        self._given = frozenset(self.namespaces)

    # --- interface for callers of the model

    def expect(self, call: Call) -> Outcome:
        """Return the expected outcome of a call."""
        more: frozenset[int]
        faults = self._faults(call)
        if faults:
            return Refused(frozenset(faults))
        method = OPERATIONS[call.operation].method_name
        outcome: Outcome
        if call.rows is not None:
            outcome = getattr(self, method)(call.request, call.rows)
        else:
            outcome = getattr(self, method)(call.request)
        if call.refused_properties:
            more = outcome.codes if isinstance(outcome, Refused) else frozenset()
            return Refused(more | {BAD_INPUT})
        if isinstance(outcome, Refused) and _is_invalid(call):
            outcome = Refused(outcome.codes | {BAD_INPUT})
        more = self.known.may_refuse(call.operation, call.request)
        places = [names_of(call.request.get("id"))]
        if call.request.get("new_namespace_id"):
            places.append((*call.request["new_namespace_id"], call.request["new_table_name"]))
        if any(self.known.may_lack(call.operation, place) for place in places):
            lacking = frozenset({UNSUPPORTED, BAD_INPUT, NO_TABLE, NO_NAMESPACE})
            if isinstance(outcome, Refused):
                return Refused(outcome.codes | lacking)
            more |= lacking
        if isinstance(outcome, Granted) and more:
            return evolve(outcome, or_codes=outcome.or_codes | more)
        if isinstance(outcome, Refused):  # may fail without a lookup
            first = (
                {UNSUPPORTED, BAD_INPUT, DENIED} if call.request.get("location") else {UNSUPPORTED}
            )
            return Refused(outcome.codes | (more & first))
        return outcome

    def copy(self) -> Self:
        """Return an independent copy."""
        return copy.deepcopy(self, {id(self.known): self.known})

    def may_answer(self, operation: str, code: int) -> bool:
        """Return whether the protocol permits an operation to return a code."""
        row = OPERATIONS[operation]
        more = self.known.refusal_codes.get(operation, frozenset())
        return code in COMMON_CODES or code in row.codes or code in more

    def children(self, parent: Identifier) -> list[str]:
        """Return the names of the child namespaces in order."""
        return sorted(ns[-1] for ns in self.namespaces if ns[:-1] == parent)

    def lance_tables(self, parent: Identifier) -> list[str]:
        """Return the names of the Lance tables of a namespace in order."""
        tables = self.tables.items()
        return sorted(t[-1] for t, table in tables if t[:-1] == parent and table.is_lance)

    def has_data(self, identifier: Identifier) -> bool:
        """Return whether a table has a dataset in storage."""
        return self.tables[identifier].location in self.datasets

    def exists(self, namespace: Identifier) -> bool:
        """Return whether a namespace exists; the root always does."""
        return not namespace or namespace in self.namespaces

    def is_taken(self, identifier: Identifier) -> bool:
        """Return whether an identifier is not available for a new object."""
        held = (self.tables, self.namespaces)
        return any(identifier in objects for objects in held)

    def appears(self, identifier: Identifier, location: str, *, is_lance: bool = True) -> None:
        """Add a table without data that was not created through the namespace."""
        self.tables[identifier] = Table(location, {}, is_lance)

    # --- faults of a request

    def _faults(self, call: Call) -> set[int]:
        """Return the codes of the faults of a call that need no lookup."""
        faults: set[int] = set()
        if call.malformed:
            return {BAD_INPUT, UNSUPPORTED} if self._unsupported(call.operation) else {BAD_INPUT}
        path = OPERATIONS[call.operation].path
        identifier = names_of(call.request.get("id"))
        if self._unsupported(call.operation):
            names = (*identifier, call.request.get("new_table_name", "none"))
            faults |= {UNSUPPORTED} | self._refused_names(*names)
        if path.startswith("/v1/table/{id}"):
            impossible = not identifier or not self._holds_tables(len(identifier) - 1)
        elif path.startswith("/v1/namespace/{id}"):
            impossible = not self.known.capabilities.has_namespaces(len(identifier)) or (
                call.operation in CHANGES_NAMESPACE
                and len(identifier) <= self.known.capabilities.configured_depth
            )
        else:
            impossible = False
        if impossible or "" in identifier:
            faults.add(BAD_INPUT)
        return faults

    # --- values compared in full only if the target is known in full

    def same(self, found: Any, expected: Any, what: str) -> None:
        """Compare an optional value of an answer."""
        if found is not None or self.known.in_full:
            same(found, expected, what)

    def same_location(self, found: Any, expected: str, identifier: Identifier) -> None:
        """Compare the location of a table."""
        if self.known.in_full:
            same(found, expected, f"location of {identifier}")
        elif found:
            real = local_path(found)
            known = next((real for real, place in self.places.items() if place == expected), real)
            same(real, known, f"the unchanged location of {identifier}")
            self.places[real] = expected

    def may_move(self, place: str) -> None:
        """Accept another location for a table from now on."""
        self.places = {real: held for real, held in self.places.items() if held != place}

    def _unsupported(self, operation: str) -> bool:
        return operation in self.known.capabilities.unsupported

    def _holds_tables(self, depth: int) -> bool:
        return self.known.capabilities.holds_tables(depth)

    def _refused_names(self, *names: str) -> set[int]:
        return {BAD_INPUT} if any(n in self.refused_names or not n for n in names) else set()

    def _mode(
        self, request: Mapping[str, Any], key: str, modes: tuple[str, ...], faults: set[int]
    ) -> str:
        """Return the mode in a request; the first one by default."""
        text = request.get(key)
        if text is None:
            return modes[0]
        for mode in modes:
            if text.replace("_", "").lower() == mode.lower():
                return mode
        faults.add(BAD_INPUT)
        return modes[0]

    def _without_parent(self, parent: Identifier, *, making: bool) -> set[int]:
        """Return the codes of an operation below a missing namespace."""
        if self.exists(parent):
            return set()
        given = self.known.capabilities.configured_depth
        if making and self.known.capabilities.closed and parent[:given] not in self._given:
            return {BAD_INPUT}
        return {NO_NAMESPACE if making else NO_TABLE}

    def _without_table(self, identifier: Identifier) -> set[int]:
        """Return the codes of an operation on a table that is missing or not a Lance table."""
        table = self.tables.get(identifier)
        if table is None:
            # Below a missing namespace, the protocol permits the code of either.
            lost = not self.known.in_full and not self.exists(identifier[:-1])
            codes = {NO_TABLE, NO_NAMESPACE} if lost else {NO_TABLE}
            # A name that contains the delimiter may not be valid in the catalog.
            split = any(each in name for name in identifier for each in self.known.delimiters)
            return codes | {BAD_INPUT} if split else codes
        return set() if table.is_lance else {BAD_INPUT}

    def no_version(self, version: int) -> set[int]:
        """Return the codes for a missing version; versions start at 1, others may be invalid."""
        return {NO_VERSION} if version > 0 else {NO_VERSION, BAD_INPUT}

    def _both(self, request: Mapping[str, Any]) -> set[int]:
        both = set(request.get("set_properties") or ()) & set(request.get("unset_properties") or ())
        return {BAD_INPUT} if both else set()


def _is_invalid(call: Call) -> bool:
    """Return whether a call is invalid (13) whatever it refers to, so that nothing is looked up."""
    query = {**call.request, **(call.request.get("query") or {})}
    texts = [query[key] for key in ("predicate", "filter") if query.get(key) is not None]
    broken = any(text in BROKEN or not text for text in texts)
    versions = [query[key] for key in ("version", "from_version") if query.get(key) is not None]
    broken = broken or any(version < 1 for version in versions)  # versions start at 1
    return broken or (call.operation == "MergeInsertIntoTable" and not query.get("on"))


def names_of(identifier: Any) -> Identifier:
    """Return an identifier of a request; the root has several forms."""
    return tuple(identifier or ())
