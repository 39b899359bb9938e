"""What a namespace ought to answer: the protocol's rules over a tree in plain Python.

Each method named like an operation's method says what one call must give: `Refused` with the codes
that are right, or `Granted`, which compares the answer and takes the change over. Where a request is
wrong in more than one way, the code of any of its faults is right; an identifier that cannot be is
named first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from attrs import Factory, define, evolve, field, frozen

from lance_namespace_client.errors import ErrorCode
from lance_namespace_client.operations import COMMON_CODES, OPERATIONS

from .subject import Identifier, Subject

__all__ = ["Call", "Dataset", "Granted", "Refused", "Rows", "Table", "Tree"]

UNSUPPORTED = int(ErrorCode.UNSUPPORTED)
NO_NAMESPACE = int(ErrorCode.NAMESPACE_NOT_FOUND)
NAMESPACE_EXISTS = int(ErrorCode.NAMESPACE_ALREADY_EXISTS)
NOT_EMPTY = int(ErrorCode.NAMESPACE_NOT_EMPTY)
NO_TABLE = int(ErrorCode.TABLE_NOT_FOUND)
TABLE_EXISTS = int(ErrorCode.TABLE_ALREADY_EXISTS)
NO_VERSION = int(ErrorCode.TABLE_VERSION_NOT_FOUND)
BAD_INPUT = int(ErrorCode.INVALID_INPUT)
BAD_STATE = int(ErrorCode.INVALID_TABLE_STATE)
DENIED = int(ErrorCode.PERMISSION_DENIED)
BAD_SCHEMA = int(ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR)

STORAGE = "storage."
CHANGES_NAMESPACE = ("CreateNamespace", "DropNamespace", "AlterNamespace")
MAKES_TABLE = ("DeclareTable", "RegisterTable", "CreateTable")


@frozen
class Rows:
    """The data of a call."""

    values: tuple[int, ...]
    column: str = "x"
    fault: str | None = None
    """``not arrow``, ``truncated``, or None for a whole stream."""


@frozen
class Call:
    """One call of an operation."""

    operation: str
    request: dict[str, Any]
    rows: Rows | None = None
    malformed: bool = False
    """Whether a field of the request has the wrong JSON type."""
    refused_properties: bool = False
    """Whether the properties are such as the catalog does not take."""


@frozen
class Refused:
    """The call must fail with one of these codes, and nothing may change."""

    codes: frozenset[int]


@frozen
class Granted:
    """The call must succeed, unless it may also be refused."""

    settle: Callable[[Any], None]
    """Compares the answer and takes the change over; raises AssertionError."""
    or_codes: frozenset[int] = frozenset()
    """Codes that are as good, with nothing changed."""


Outcome: TypeAlias = Refused | Granted


@define
class Dataset:
    """What is in storage at one location."""

    values: tuple[int, ...]
    column: str
    versions: list[int]


@define
class Table:
    """A table as the catalog knows it."""

    location: str
    properties: dict[str, str]
    is_lance: bool = True


@frozen
class Token:
    """A page token and what it stands for."""

    text: str
    listing: tuple[Any, ...]
    last: str | Identifier


@define
class Tree:
    """The catalog and its storage as they should be."""

    subject: Subject
    namespaces: dict[Identifier, dict[str, str]]
    refused_names: frozenset[str] = frozenset()
    tables: dict[Identifier, Table] = Factory(dict)
    deregistered: dict[str, Identifier] = Factory(dict)
    """Where storage is all there is: locations of tables that are out of the catalog, and whose."""
    reserved: set[str] = Factory(set)
    """Locations of tables without data that were renamed."""
    datasets: dict[str, Dataset] = Factory(dict)
    deleted: set[str] = Factory(set)
    """Locations whose data was dropped."""
    tokens: list[Token] = Factory(list)
    _given: frozenset[Identifier] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._given = frozenset(self.namespaces)

    # --- what callers of the model see

    def expect(self, call: Call) -> Outcome:
        """Say what a call must give."""
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
        return outcome

    def may_answer(self, operation: str, code: int) -> bool:
        """Say whether the protocol lets an operation answer a code at all."""
        row = OPERATIONS[operation]
        more = self.subject.refusal_codes.get(operation, frozenset())
        return code in COMMON_CODES or code in row.codes or code in more

    def children(self, parent: Identifier) -> list[str]:
        """Give the names of the child namespaces in order."""
        return sorted(ns[-1] for ns in self.namespaces if ns[:-1] == parent)

    def lance_tables(self, parent: Identifier) -> list[str]:
        """Give the names of the Lance tables of a namespace in order."""
        tables = self.tables.items()
        return sorted(t[-1] for t, table in tables if t[:-1] == parent and table.is_lance)

    def has_data(self, identifier: Identifier) -> bool:
        """Say whether storage holds a dataset for a table."""
        return self.tables[identifier].location in self.datasets

    def exists(self, namespace: Identifier) -> bool:
        """Say whether a namespace is there; the root always is."""
        return not namespace or namespace in self.namespaces

    def is_taken(self, identifier: Identifier) -> bool:
        """Say whether nothing new can have that identifier."""
        held = (self.tables, self.namespaces)
        return any(identifier in objects for objects in held)

    def appears(self, identifier: Identifier, location: str, *, is_lance: bool = True) -> None:
        """Take over a table without data that was made past the namespace."""
        self.tables[identifier] = Table(location, {}, is_lance)

    # --- faults of a request

    def _faults(self, call: Call) -> set[int]:
        """Give the codes of what is wrong with a call before anything is looked up."""
        faults: set[int] = set()
        if call.malformed:
            return {BAD_INPUT, UNSUPPORTED} if self._unsupported(call.operation) else {BAD_INPUT}
        path = OPERATIONS[call.operation].path
        identifier = _names(call.request.get("id"))
        if self._unsupported(call.operation):
            names = (*identifier, call.request.get("new_table_name", "none"))
            faults |= {UNSUPPORTED} | self._refused_names(*names)
        if path.startswith("/v1/table/{id}"):
            impossible = not identifier or not self._holds_tables(len(identifier) - 1)
        elif path.startswith("/v1/namespace/{id}"):
            impossible = not self.subject.capabilities.has_namespaces(len(identifier)) or (
                call.operation in CHANGES_NAMESPACE
                and len(identifier) <= self.subject.capabilities.configured_depth
            )
        else:
            impossible = False
        if impossible or "" in identifier:
            faults.add(BAD_INPUT)
        return faults

    def _unsupported(self, operation: str) -> bool:
        return operation in self.subject.capabilities.unsupported

    def _holds_tables(self, depth: int) -> bool:
        return self.subject.capabilities.holds_tables(depth)

    def _refused_names(self, *names: str) -> set[int]:
        return {BAD_INPUT} if any(n in self.refused_names or not n for n in names) else set()

    def _mode(
        self, request: Mapping[str, Any], key: str, modes: tuple[str, ...], faults: set[int]
    ) -> str:
        """Give the mode that a request names, the first one where it names none."""
        text = request.get(key)
        if text is None:
            return modes[0]
        for mode in modes:
            if text.replace("_", "").lower() == mode.lower():
                return mode
        faults.add(BAD_INPUT)
        return modes[0]

    def _without_parent(self, parent: Identifier, *, making: bool) -> set[int]:
        """Give the codes of an operation below a namespace that is missing."""
        if self.exists(parent):
            return set()
        given = self.subject.capabilities.configured_depth
        if making and self.subject.capabilities.closed and parent[:given] not in self._given:
            return {BAD_INPUT}
        return {NO_NAMESPACE if making else NO_TABLE}

    def _without_table(self, identifier: Identifier) -> set[int]:
        """Give the codes of an operation on a table that is missing or not a Lance table."""
        table = self.tables.get(identifier)
        if table is None:
            return {NO_TABLE}
        return set() if table.is_lance else {BAD_INPUT}

    def _both(self, request: Mapping[str, Any]) -> set[int]:
        both = set(request.get("set_properties") or ()) & set(request.get("unset_properties") or ())
        return {BAD_INPUT} if both else set()

    # --- namespaces

    def list_operations(self, request: Mapping[str, Any]) -> Outcome:
        """ListOperations: what `test_operations` checks one by one stays as it is."""

        def settle(answer: Any) -> None:
            unsupported = set(self.subject.capabilities.unsupported)
            assert set(answer.operations) <= set(OPERATIONS) - unsupported
            assert {"ListTables", "DescribeTable", "DeclareTable"} <= set(answer.operations)

        return Granted(settle)

    def list_namespaces(self, request: Mapping[str, Any]) -> Outcome:
        """ListNamespaces."""
        parent = _names(request.get("id"))
        faults = self._refused_names(*parent) if not self.exists(parent) else set()
        faults |= set() if self.exists(parent) else {NO_NAMESPACE}
        return self._page(
            ("ListNamespaces", parent), self.children(parent), request, "namespaces", faults
        )

    def describe_namespace(self, request: Mapping[str, Any]) -> Outcome:
        """DescribeNamespace."""
        identifier = _names(request.get("id"))
        if not self.exists(identifier):
            return Refused(frozenset({NO_NAMESPACE} | self._refused_names(*identifier)))

        def settle(answer: Any) -> None:
            self._same_namespace(identifier, answer, self.namespaces.get(identifier, {}))

        return Granted(settle)

    def namespace_exists(self, request: Mapping[str, Any]) -> Outcome:
        """NamespaceExists."""
        identifier = _names(request.get("id"))
        if not self.exists(identifier):
            return Refused(frozenset({NO_NAMESPACE} | self._refused_names(*identifier)))
        return Granted(lambda answer: None)

    def create_namespace(self, request: Mapping[str, Any]) -> Outcome:
        """CreateNamespace."""
        identifier = _names(request["id"])
        properties = request.get("properties") or {}
        faults = self._refused_names(*identifier)
        mode = self._mode(request, "mode", ("Create", "ExistOk", "Overwrite"), faults)
        faults |= self._without_parent(identifier[:-1], making=True)
        is_there = identifier in self.namespaces
        if identifier in self.tables or (is_there and mode == "Create"):
            faults.add(NAMESPACE_EXISTS)
        if is_there and mode == "Overwrite":
            faults |= self._kept(identifier)
            if not self.is_empty(identifier):
                faults.add(NOT_EMPTY)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            if not (is_there and mode == "ExistOk"):
                self._forget(identifier)
                self.namespaces[identifier] = dict(properties)
                for name in self.subject.born_with(identifier):
                    self.namespaces[(*identifier, name)] = {}
            self._same_namespace(identifier, answer, self.namespaces[identifier])

        return Granted(settle)

    def _kept(self, identifier: Identifier) -> set[int]:
        """Give the code of dropping a namespace that the catalog needs."""
        return {BAD_INPUT} if identifier in self.subject.capabilities.permanent else set()

    def is_empty(self, namespace: Identifier) -> bool:
        """Say whether a namespace holds nothing but what it was born with."""
        if any(table[:-1] == namespace for table in self.tables):
            return False
        born = self.subject.born_with(namespace)
        return all(
            child in born and self.is_empty((*namespace, child))
            for child in self.children(namespace)
        )

    def _forget(self, namespace: Identifier) -> None:
        if namespace not in self.namespaces:
            return
        depth = len(namespace)
        for held in (self.namespaces, self.tables):
            for identifier in [i for i in held if i[:depth] == namespace]:
                del held[identifier]

    def drop_namespace(self, request: Mapping[str, Any]) -> Outcome:
        """DropNamespace."""
        identifier = _names(request["id"])
        can = self.subject.capabilities
        faults: set[int] = set()
        mode = self._mode(request, "mode", ("Fail", "Skip"), faults)
        behavior = self._mode(request, "behavior", ("Restrict", "Cascade"), faults)
        if behavior == "Cascade" and not can.cascade:
            faults.add(UNSUPPORTED)
        is_there = identifier in self.namespaces
        if not is_there and mode == "Fail" and not can.idempotent_drop:
            faults |= {NO_NAMESPACE} | self._refused_names(*identifier)
        faults |= self._kept(identifier)
        if is_there and behavior == "Restrict" and not self.is_empty(identifier):
            faults.add(NOT_EMPTY)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            self._same_namespace(identifier, answer, self.namespaces.get(identifier, {}))
            self._forget(identifier)

        # A name that cannot be there need not be looked for.
        refused = set() if is_there else self._refused_names(*identifier)
        return Granted(settle, frozenset(refused))

    def alter_namespace(self, request: Mapping[str, Any]) -> Outcome:
        """AlterNamespace."""
        identifier = _names(request["id"])
        faults = self._both(request)
        if identifier not in self.namespaces:
            faults |= {NO_NAMESPACE} | self._refused_names(*identifier)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            _alter(self.namespaces[identifier], request)
            self._same_namespace(identifier, answer, self.namespaces[identifier])

        return Granted(settle)

    def _same_namespace(
        self, identifier: Identifier, answer: Any, expected: Mapping[str, str]
    ) -> None:
        shown = self.subject.shown_namespace_properties(identifier, answer.properties or {})
        _same(dict(shown), dict(expected), f"properties of namespace {identifier}")

    # --- listing tables

    def list_tables(self, request: Mapping[str, Any]) -> Outcome:
        """ListTables."""
        parent = _names(request.get("id"))
        with_declared = request.get("include_declared", True)
        names = self.lance_tables(parent)
        if not with_declared:
            names = [name for name in names if self.has_data((*parent, name))]
        faults = set() if self.exists(parent) else {NO_NAMESPACE} | self._refused_names(*parent)
        return self._page(("ListTables", parent, with_declared), names, request, "tables", faults)

    def list_all_tables(self, request: Mapping[str, Any]) -> Outcome:
        """ListAllTables."""
        with_declared = request.get("include_declared", True)
        found = sorted(
            identifier
            for identifier, table in self.tables.items()
            if table.is_lance and (with_declared or self.has_data(identifier))
        )
        delimiter = (request.get("context") or {}).get("delimiter", self.subject.delimiters[0])
        return self._page(
            ("ListAllTables", with_declared),
            found,
            request,
            "tables",
            set(),
            write=lambda identifier: _join(identifier, delimiter),
        )

    def _page(
        self,
        listing: tuple[Any, ...],
        entries: list[Any],
        request: Mapping[str, Any],
        field_name: str,
        faults: set[int],
        write: Callable[[Any], str | None] = lambda name: str(name),
    ) -> Outcome:
        """Predict one page of a listing: the entries after the token's, at most `limit`."""
        limit, text = request.get("limit"), request.get("page_token")
        if limit is not None and limit < 1:
            faults.add(BAD_INPUT)
        if text is not None:
            given = [t for t in self.tokens if t.text == text]
            token = next((t for t in given if t.listing == listing), None)
            if token is not None:
                entries = [entry for entry in entries if entry > token.last]
            elif given:
                faults.add(BAD_INPUT)
            else:  # a name to start after
                name = (text,) if listing[0] == "ListAllTables" else text
                entries = [entry for entry in entries if entry > name]
        page = entries[: limit if limit is not None and limit > 0 else None]
        written = [write(entry) for entry in page]
        if None in written:  # a name holds the delimiter
            faults.add(BAD_INPUT)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            _same(getattr(answer, field_name), written, f"page of {listing}")
            assert (answer.page_token is not None) == (len(page) < len(entries)), (
                f"page of {listing}: token {answer.page_token!r} with "
                f"{len(entries) - len(page)} entries to come"
            )
            if answer.page_token is not None:
                assert answer.page_token != ""
                self.tokens.append(Token(answer.page_token, listing, page[-1]))

        return Granted(settle)

    # --- tables

    def describe_table(self, request: Mapping[str, Any]) -> Outcome:
        """DescribeTable."""
        identifier = _names(request["id"])
        faults = self._without_table(identifier)
        if NO_TABLE in faults:
            faults |= self._refused_names(*identifier)
        version, detailed = request.get("version"), request.get("load_detailed_metadata", False)
        if version is not None and request.get("tag") is not None:
            faults.add(BAD_INPUT)
        dataset = self._dataset(identifier)
        if not faults and (detailed or version is not None):
            if dataset is None:
                faults.add(BAD_STATE)
                faults |= set() if version is None else {NO_VERSION}
            elif version is not None and version not in dataset.versions:
                faults.add(NO_VERSION)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            table = self.tables[identifier]
            _same(answer.table, identifier[-1], "table")
            _same(answer.namespace, list(identifier[:-1]), "namespace")
            _same(answer.location, table.location, f"location of {identifier}")
            _same(answer.managed_versioning, self.subject.managed, "managed_versioning")
            self._same_table(identifier, answer, table)
            assert bool(answer.table_uri) == bool(request.get("with_table_uri"))
            assert answer.table_uri is None or "://" in answer.table_uri
            declared: bool | None = None
            if request.get("check_declared") or detailed:
                declared = dataset is None
            _same(answer.is_only_declared, declared, f"is_only_declared of {identifier}")
            if dataset is not None and detailed:
                _same(answer.version, version or dataset.versions[-1], f"version of {identifier}")
                assert answer.schema is not None
                assert answer.stats is not None
                if version is None:
                    columns = [column.name for column in answer.schema.fields]
                    _same(columns, [dataset.column], f"columns of {identifier}")

        return Granted(settle)

    def _dataset(self, identifier: Identifier) -> Dataset | None:
        table = self.tables.get(identifier)
        return self.datasets.get(table.location) if table is not None else None

    def _same_table(self, identifier: Identifier, answer: Any, table: Table) -> None:
        """Compare properties, and storage options where the answer has them."""
        plain = {k: v for k, v in table.properties.items() if not k.startswith(STORAGE)}
        own = {
            k.removeprefix(STORAGE): v for k, v in table.properties.items() if k.startswith(STORAGE)
        }
        shown = self.subject.shown_table_properties(identifier, answer.properties or {})
        _same(dict(shown), plain, f"properties of table {identifier}")
        if hasattr(answer, "storage_options"):
            options = {**self.subject.storage_options, **own}
            _same(answer.storage_options or {}, options, f"storage options of {identifier}")

    def table_exists(self, request: Mapping[str, Any]) -> Outcome:
        """TableExists."""
        identifier = _names(request["id"])
        faults = self._without_table(identifier)
        if NO_TABLE in faults:
            faults |= self._refused_names(*identifier)
        version = request.get("version")
        if not faults and version is not None:
            dataset = self._dataset(identifier)
            if dataset is None or version not in dataset.versions:
                faults.add(NO_TABLE)
        return Refused(frozenset(faults)) if faults else Granted(lambda answer: None)

    def _cannot_make(self, identifier: Identifier) -> set[int]:
        faults = self._refused_names(*identifier)
        faults |= self._without_parent(identifier[:-1], making=True)
        return faults

    def _location(self, identifier: Identifier) -> str | None:
        return self.subject.location(identifier, self.namespaces.get(identifier[:-1], {}))

    def _is_occupied(self, location: str | None) -> bool:
        """Say whether something is there that is no table's of the catalog by its usual name."""
        if self.subject.capabilities.storage_only:
            return location in self.deregistered
        return location in self.datasets or location in self.reserved

    def _new_place(self, identifier: Identifier, answered: str) -> str:
        """Give where a new table must be: at its usual location, or beside that if it is occupied."""
        usual = self._location(identifier)
        if usual is None:
            return answered
        usual = usual.rstrip("/")
        if not self._is_occupied(usual):
            return usual
        stem = usual.removesuffix(".lance")
        fresh = re.fullmatch(rf"{re.escape(usual)}-[0-9a-f]{{8}}", answered) or re.fullmatch(
            rf"{re.escape(stem)}-[0-9a-f]{{8}}\.lance", answered
        )
        assert fresh, f"new place of {identifier}: answered {answered!r}, {usual!r} is occupied"
        held = {table.location for table in self.tables.values()} | self.datasets.keys()
        assert answered not in held | self.deregistered.keys()
        return answered

    def _cannot_be_at(self, identifier: Identifier, location: str | None) -> set[int]:
        """Return the codes of a location that the catalog does not let the table have."""
        if not location:
            return set()
        others = {table.location for i, table in self.tables.items() if i != identifier}
        taken = location.rstrip("/") in others and not self.subject.shared_locations
        faults = {BAD_INPUT} if taken else set()
        table = self.tables.get(identifier)
        current = table.location if table is not None else None
        if not self.subject.takes_location(identifier, location, current):
            faults.add(DENIED)
        return faults

    def declare_table(self, request: Mapping[str, Any]) -> Outcome:
        """DeclareTable."""
        identifier = _names(request["id"])
        faults = self._cannot_make(identifier)
        if request.get("location") or not self._is_occupied(self._location(identifier)):
            faults |= self._cannot_be_at(
                identifier, request.get("location") or self._location(identifier)
            )
        if self.is_taken(identifier):
            faults.add(TABLE_EXISTS)
        location = request.get("location")
        if location == "":
            faults.add(BAD_INPUT)
        if location is not None and self._location(identifier) is None:
            faults.add(BAD_INPUT if self.subject.registers else UNSUPPORTED)
        if self.subject.capabilities.storage_only and location is not None:
            faults |= set() if location.rstrip("/") == self._location(identifier) else {BAD_INPUT}
            if self._is_occupied(location.rstrip("/")):
                faults.add(TABLE_EXISTS)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            properties = dict(request.get("properties") or {})
            expected = (location or self._new_place(identifier, answer.location)).rstrip("/")
            table = self.tables[identifier] = Table(expected, properties)
            _same(answer.location, expected, f"location of {identifier}")
            self._same_table(identifier, answer, table)

        return Granted(settle)

    def register_table(self, request: Mapping[str, Any]) -> Outcome:
        """RegisterTable."""
        identifier = _names(request["id"])
        faults = self._cannot_make(identifier)
        mode = self._mode(request, "mode", ("Create", "Overwrite"), faults)
        location = request["location"].rstrip("/")
        faults |= self._cannot_be_at(identifier, location)
        table = self.tables.get(identifier)
        if identifier in self.namespaces or (table is not None and mode == "Create"):
            faults.add(TABLE_EXISTS)
        if table is not None and not table.is_lance:
            faults |= {BAD_INPUT, TABLE_EXISTS}
        if not location:
            faults.add(BAD_INPUT)
        stays = mode == "Overwrite" and table is not None and location == table.location
        if self._location(identifier) is None and not (stays or self.subject.registers):
            faults.add(UNSUPPORTED)
        if self.subject.capabilities.storage_only:
            own = {where for where, whose in self.deregistered.items() if whose == identifier}
            if location not in own | ({table.location} if table is not None else set()):
                faults.add(BAD_INPUT)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            if self.subject.capabilities.storage_only and table is not None:
                self.deregistered[table.location] = identifier
            self.deregistered.pop(location, None)
            made = Table(location, dict(request.get("properties") or {}))
            self.tables[identifier] = made
            _same(answer.location, location, f"location of {identifier}")
            self._same_table(identifier, answer, made)

        return Granted(settle)

    def create_table(self, request: Mapping[str, Any], rows: Rows) -> Outcome:
        """CreateTable."""
        identifier = _names(request["id"])
        faults = self._cannot_make(identifier)
        mode = self._mode(request, "mode", ("Create", "ExistOk", "Overwrite"), faults)
        table = self.tables.get(identifier)
        location: str | None
        if table is None:
            location = self._location(identifier)
            if self.is_taken(identifier):
                faults.add(TABLE_EXISTS)
            if not self._is_occupied(location):  # else there is a place beside it
                faults |= self._cannot_be_at(identifier, location)
        else:
            location = table.location
            if not table.is_lance or (mode == "Create" and location in self.datasets):
                faults.add(TABLE_EXISTS)
        kept = table is not None and location in self.datasets and mode == "ExistOk"
        if rows.fault == "not arrow" or (rows.fault == "truncated" and not kept):
            faults.add(BAD_INPUT)
        properties = dict(request.get("properties") or {})
        for key, value in (request.get("storage_options") or {}).items():
            properties[STORAGE + key] = value
        if table is not None and (kept or (mode != "Overwrite" and not properties)):
            properties = table.properties
        if table is not None and properties != table.properties and self._unsupported("AlterTable"):
            faults.add(UNSUPPORTED)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            where = location if table is not None else self._new_place(identifier, answer.location)
            assert where is not None
            if not kept:
                self._write(where, rows, answer.version, replace=True)
                self.tables[identifier] = Table(where, properties)
            _same(answer.version, self.datasets[where].versions[-1], "version")
            _same(answer.location, where, f"location of {identifier}")
            self._same_table(identifier, answer, self.tables[identifier])

        return Granted(settle)

    def _write(self, location: str, rows: Rows, version: Any, *, replace: bool) -> None:
        """Take over a commit; versions go up."""
        assert isinstance(version, int)
        old = self.datasets.get(location)
        versions = old.versions if old is not None else []
        assert not versions or version > versions[-1], f"{location}: version {version} again"
        values = rows.values if old is None or replace else (*old.values, *rows.values)
        self.datasets[location] = Dataset(values, rows.column, [*versions, version])
        self.deleted.discard(location)

    def deregister_table(self, request: Mapping[str, Any]) -> Outcome:
        """DeregisterTable: the data stays."""
        identifier = _names(request["id"])
        faults = self._without_table(identifier)
        if faults:
            return Refused(frozenset(faults | self._refused_names(*identifier)))

        def settle(answer: Any) -> None:
            table = self.tables.pop(identifier)
            if self.subject.capabilities.storage_only:
                self.deregistered[table.location] = identifier
            self._same_gone(identifier, answer, table)

        return Granted(settle)

    def drop_table(self, request: Mapping[str, Any]) -> Outcome:
        """DropTable: the data goes."""
        identifier = _names(request["id"])
        faults = self._without_table(identifier)
        if faults:
            return Refused(frozenset(faults | self._refused_names(*identifier)))

        def settle(answer: Any) -> None:
            table = self.tables.pop(identifier)
            if self.datasets.pop(table.location, None) is not None:
                self.reserved.discard(table.location)
            self.deleted.add(table.location)
            self._same_gone(identifier, answer, table)

        return Granted(settle)

    def _same_gone(self, identifier: Identifier, answer: Any, table: Table) -> None:
        _same(answer.id, list(identifier), "id")
        _same(answer.location, table.location, f"location of {identifier}")
        self._same_table(identifier, answer, table)

    def rename_table(self, request: Mapping[str, Any]) -> Outcome:
        """RenameTable."""
        identifier = _names(request["id"])
        parent = identifier[:-1]
        if request.get("new_namespace_id") is not None:
            parent = _names(request["new_namespace_id"])
        new = (*parent, request["new_table_name"])
        faults = self._without_table(identifier)
        if NO_TABLE in faults:
            faults |= self._refused_names(*identifier)
        faults |= self._refused_names(*new)
        if not self._holds_tables(len(parent)):
            faults.add(BAD_INPUT)
        else:
            faults |= self._without_parent(parent, making=True)
            can = self.subject.capabilities
            if parent != identifier[:-1] and not can.rename_across:
                faults.add(UNSUPPORTED)
            if parent[: can.rename_within] != identifier[: can.rename_within]:
                faults.add(UNSUPPORTED)
        if self.is_taken(new):
            faults.add(TABLE_EXISTS)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            table = self.tables.pop(identifier)
            location = self.subject.moved(table.location, new)
            if location != table.location and table.location in self.datasets:
                self.datasets[location] = self.datasets.pop(table.location)
                self.deleted.add(table.location)
            elif location == table.location and location not in self.datasets:
                self.reserved.add(location)
            self.deleted.discard(location)
            self.tables[new] = evolve(table, location=location)

        return Granted(settle)

    def alter_table(self, request: Mapping[str, Any]) -> Outcome:
        """AlterTable."""
        identifier = _names(request["id"])
        faults = self._both(request) | self._without_table(identifier)
        if NO_TABLE in faults:
            faults |= self._refused_names(*identifier)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            table = self.tables[identifier]
            _alter(table.properties, request)
            self._same_table(identifier, answer, table)

        return Granted(settle)

    # --- rows

    def insert_into_table(self, request: Mapping[str, Any], rows: Rows) -> Outcome:
        """InsertIntoTable: a declared table is made with the rows."""
        identifier = _names(request["id"])
        faults: set[int] = set()
        mode = self._mode(request, "mode", ("append", "overwrite"), faults)
        missing = self._without_table(identifier)
        dataset = self._dataset(identifier)
        if missing:
            faults |= missing | self._refused_names(*identifier)
        elif dataset is not None and mode == "append" and rows.column != dataset.column:
            faults.add(BAD_SCHEMA)
        if rows.fault is not None:
            faults.add(BAD_INPUT)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            location = self.tables[identifier].location
            self._write(location, rows, answer.version, replace=mode == "overwrite")
            _same(answer.num_inserted_rows, len(rows.values), "num_inserted_rows")

        return Granted(settle)

    def count_table_rows(self, request: Mapping[str, Any]) -> Outcome:
        """CountTableRows."""
        identifier = _names(request["id"])
        faults = self._without_table(identifier)
        if NO_TABLE in faults:
            faults |= self._refused_names(*identifier)
        dataset = self._dataset(identifier)
        if not faults and dataset is None:
            faults.add(BAD_STATE)
        version = request.get("version")
        if dataset is not None and version is not None and version not in dataset.versions:
            faults.add(NO_VERSION)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            assert dataset is not None
            if version is None or version == dataset.versions[-1]:
                _same(answer.count, len(dataset.values), f"rows of {identifier}")

        return Granted(settle)

    # --- the tree as calls

    def everything(self) -> Iterator[Call]:
        """Give the calls that read all there is."""
        for namespace in [(), *self.namespaces]:
            yield Call("ListNamespaces", {"id": list(namespace)})
            yield Call("DescribeNamespace", {"id": list(namespace)})
            for with_declared in (True, False):
                request = {"id": list(namespace), "include_declared": with_declared}
                yield Call("ListTables", request)
        for identifier in {**self.tables, **dict.fromkeys(self.deregistered.values())}:
            yield Call("DescribeTable", {"id": list(identifier), "check_declared": True})
            yield Call("CountTableRows", {"id": list(identifier)})


def _names(identifier: Any) -> Identifier:
    return tuple(identifier or ())


def _alter(properties: dict[str, str], request: Mapping[str, Any]) -> None:
    properties |= request.get("set_properties") or {}
    for key in request.get("unset_properties") or ():
        properties.pop(key, None)


def _join(identifier: Identifier, delimiter: str) -> str | None:
    return None if any(delimiter in name for name in identifier) else delimiter.join(identifier)


def _same(found: Any, expected: Any, what: str) -> None:
    assert found == expected, f"{what}: answered {found!r}, expected {expected!r}"
