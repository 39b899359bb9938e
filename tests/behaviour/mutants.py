"""Namespaces with one fault each; the suite must find every fault."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar
from unittest.mock import patch

from attrs import evolve

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lance_namespace_client.models import (
    AlterTableResponse,
    CreateNamespaceResponse,
    CreateTableResponse,
    DeregisterTableResponse,
    DescribeTableResponse,
    DropNamespaceResponse,
    DropTableResponse,
    ListNamespacesResponse,
    ListOperationsResponse,
    ListTablesResponse,
    RegisterTableResponse,
)
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.catalog.services.placement import NewLocation, Placement
from lance_namespace_impls.core.identifiers import Identifier
from lance_namespace_impls.directory import DirectoryNamespace

from .memory import MemoryNamespace

__all__ = ["DIRECTORY_MUTANTS", "MEMORY_MUTANTS"]

N = TypeVar("N", bound=type[DirectoryNamespace] | type[MemoryNamespace])

DIRECTORY_MUTANTS: dict[str, type[DirectoryNamespace]] = {}
MEMORY_MUTANTS: dict[str, type[MemoryNamespace]] = {}


def mutant(description: str) -> Callable[[N], N]:
    """Return a decorator that adds a class to the mutants of its backend."""

    def add(cls: N) -> N:
        if issubclass(cls, DirectoryNamespace):
            DIRECTORY_MUTANTS[description] = cls
        else:
            MEMORY_MUTANTS[description] = cls
        return cls

    return add


def _without(request: Any, *keys: str, **changes: Any) -> dict[str, Any]:
    """Return a request as a dict with some fields left out or set."""
    if hasattr(request, "model_dump"):
        given = dict(request.model_dump())
    else:
        given = dict(request) if isinstance(request, Mapping) else request.to_dict()
    return {key: value for key, value in given.items() if key not in keys} | changes


# --- listings


@mutant("lists in no order")
class Unsorted(DirectoryNamespace):
    def list_tables(self, request: Any) -> ListTablesResponse:
        answer = super().list_tables(request)
        return evolve(answer, tables=answer.tables[::-1])


@mutant("drops a name between pages")
class SkipsBetweenPages(DirectoryNamespace):
    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        names = super().table_names(parent, after)
        return islice(names, 1 if after is not None else 0, None)


@mutant("gives a name twice at a page's edge")
class RepeatsBetweenPages(DirectoryNamespace):
    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        names = sorted(super().table_names(parent, None))
        return iter([name for name in names if after is None or name >= after])


@mutant("ends a listing after its first page")
class FirstPageOnly(DirectoryNamespace):
    def list_tables(self, request: Any) -> ListTablesResponse:
        return evolve(super().list_tables(request), page_token=None)


@mutant("gives an empty page token at the end")
class EmptyToken(DirectoryNamespace):
    def list_tables(self, request: Any) -> ListTablesResponse:
        answer = super().list_tables(request)
        return evolve(answer, page_token=answer.page_token or "")


@mutant("takes any page token")
class AnyToken(DirectoryNamespace):
    def list_tables(self, request: Any) -> ListTablesResponse:
        try:
            return super().list_tables(request)
        except InvalidInputError as error:
            if "token" not in str(error):
                raise
            return super().list_tables(_without(request, "page_token"))


@mutant("ignores the limit")
class NoLimit(DirectoryNamespace):
    def list_tables(self, request: Any) -> ListTablesResponse:
        return super().list_tables(_without(request, "limit"))


@mutant("lists deregistered tables")
class ListsDeregistered(DirectoryNamespace):
    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        folders = self._directory.folders()
        names = {name.removesuffix(".lance") for name in folders if name[0] not in "._"}
        return iter(sorted(name for name in names if after is None or name > after))


@mutant("lists declared tables when asked not to")
class IncludesDeclared(DirectoryNamespace):
    def list_tables(self, request: Any) -> ListTablesResponse:
        return super().list_tables(_without(request, "include_declared"))


@mutant("leaves declared tables out of ListAllTables")
class ExcludesDeclared(DirectoryNamespace):
    def list_all_tables(self, request: Any) -> ListTablesResponse:
        return super().list_all_tables(_without(request, include_declared=False))


@mutant("takes a child of the root for the root")
class IgnoresDepth(DirectoryNamespace):
    def check_identifier(self, operation: str, request: Any) -> None:
        if operation == "ListTables" and request.id and len(request.id) == 1:
            request.id = []
        super().check_identifier(operation, request)


# --- modes


@mutant("overwrites whatever the mode")
class AlwaysOverwrites(DirectoryNamespace):
    def create_table(self, request: Any, data: Any) -> CreateTableResponse:
        try:
            return super().create_table(request, data)
        except TableAlreadyExistsError:
            return super().create_table(_without(request, mode="Overwrite"), data)


@mutant("takes an unknown mode for the default")
class UnknownModes(DirectoryNamespace):
    def register_table(self, request: Any) -> RegisterTableResponse:
        try:
            return super().register_table(request)
        except InvalidInputError as error:
            if "mode" not in str(error):
                raise
            return super().register_table(_without(request, "mode"))


@mutant("knows modes in one spelling only")
class OneSpelling(DirectoryNamespace):
    def create_table(self, request: Any, data: Any) -> CreateTableResponse:
        mode = _without(request).get("mode")
        if mode not in (None, "Create", "ExistOk", "Overwrite"):
            raise InvalidInputError(f"mode {mode!r} is not known")
        return super().create_table(request, data)


@mutant("appends where it should overwrite")
class AlwaysAppends(DirectoryNamespace):
    def insert_into_table(self, request: Any, data: Any) -> Any:
        if str(_without(request).get("mode")).lower() == "overwrite":
            request = _without(request, mode="append")
        return super().insert_into_table(request, data)


# --- codes


@mutant("answers a missing table as a missing namespace")
class WrongCode(DirectoryNamespace):
    def describe_table(self, request: Any) -> DescribeTableResponse:
        try:
            return super().describe_table(request)
        except TableNotFoundError as error:
            raise NamespaceNotFoundError(error.message) from error


@mutant("answers Internal for an identifier that cannot be")
class InternalForBadInput(DirectoryNamespace):
    def drop_table(self, request: Any) -> DropTableResponse:
        try:
            return super().drop_table(request)
        except InvalidInputError as error:
            raise LanceNamespaceError(error.message) from error


@mutant("claims an operation that it does not have")
class ClaimsTooMuch(DirectoryNamespace):
    def list_operations(self, request: Any) -> ListOperationsResponse:
        answer = super().list_operations(request)
        return evolve(answer, operations=[*answer.operations, "CreateNamespace"])


# --- changes


@mutant("deletes data on deregister")
class DeregisterDeletes(DirectoryNamespace):
    def deregister_table(self, request: Any) -> DeregisterTableResponse:
        answer = super().deregister_table(request)
        assert answer.location is not None
        shutil.rmtree(f"{answer.location}/_versions", ignore_errors=True)
        return answer


@mutant("keeps data on drop")
class DropKeeps(DirectoryNamespace):
    def remove_table_and_data(self, entry: TableEntry) -> None:
        self.remove_table(entry)


@mutant("declares a table that is there")
class DeclaresTwice(DirectoryNamespace):
    def declare_table(self, request: Any) -> Any:
        try:
            return super().declare_table(request)
        except TableAlreadyExistsError:
            return super().describe_table(_without(request, "location"))


@mutant("keeps properties that should be unset")
class KeepsProperties(DirectoryNamespace):
    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        return super().change_table(entry, changed, ())


@mutant("sets and unsets one property at once")
class SetsAndUnsets(DirectoryNamespace):
    def alter_table(self, request: Any) -> AlterTableResponse:
        given = _without(request)
        changed = given.get("set_properties")
        if isinstance(changed, Mapping):
            given["unset_properties"] = [
                key for key in given.get("unset_properties") or () if key not in changed
            ]
        return super().alter_table(given)


@mutant("shows storage options among the properties")
class LeaksStorage(DirectoryNamespace):
    def describe_table(self, request: Any) -> DescribeTableResponse:
        answer = super().describe_table(request)
        entry = self.load_table(tuple(_without(request)["id"]))
        return evolve(answer, properties=dict(entry.properties))


@mutant("loses properties on rename")
class RenameForgets(DirectoryNamespace):
    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        super().move_table(entry, new)
        folder = self._flat._live_folder(new[-1])
        self._directory.remove_marker(f"{folder}/.lance-properties")


@mutant("says that every table has data")
class NeverDeclared(DirectoryNamespace):
    def describe_table(self, request: Any) -> DescribeTableResponse:
        answer = super().describe_table(request)
        declared = None if answer.is_only_declared is None else False
        return evolve(answer, is_only_declared=declared)


@mutant("leaves a table behind when the rows are interrupted")
class HalfCreated(DirectoryNamespace):
    def withdraw_table(self, entry: TableEntry) -> None:
        pass


@mutant("counts rows of tables that have none")
class CountsNothing(DirectoryNamespace):
    def count_table_rows(self, request: Any) -> Any:
        from lance_namespace_client.models import CountTableRowsResponse

        try:
            return super().count_table_rows(request)
        except LanceNamespaceError as error:
            if int(error.code) != 19:
                raise
            return CountTableRowsResponse(count=0)


# --- locations of new tables, and their first rows


@mutant("makes a new table of a deregistered one")
class ReusesDeregistered(DirectoryNamespace):
    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        try:
            return self.adopt_table(identifier, self.default_location(identifier), properties)
        except LanceNamespaceError:
            return super().add_table(identifier, location, properties)


@mutant("puts a new table onto the rows of another")
class ReusesOldRows(MemoryNamespace):
    def create_table(self, request: Any, data: Any) -> CreateTableResponse:
        with patch.object(Placement, "new_location", _anywhere):
            return super().create_table(request, data)

    def declare_table(self, request: Any) -> Any:
        with patch.object(Placement, "new_location", _anywhere):
            return super().declare_table(request)


def _anywhere(*_: Any, **__: Any) -> NewLocation:
    return NewLocation()


@mutant("gives away the place of a table that was renamed before it had rows")
class ReleasesLocation(MemoryNamespace):
    def rename_table(self, request: Any) -> Any:
        with patch.object(Placement, "reserve_location"):
            return super().rename_table(request)


@mutant("takes no rows for a declared table")
class RejectsFirstRows(MemoryNamespace):
    def insert_into_table(self, request: Any, data: Any) -> Any:
        with patch.object(Placement, "fill_declared", _refuse_rows):
            return super().insert_into_table(request, data)

    def merge_insert_into_table(self, request: Any, data: Any) -> Any:
        with patch.object(Placement, "fill_declared", _refuse_rows):
            return super().merge_insert_into_table(request, data)


def _refuse_rows(self: Placement, operation: str, identifier: Identifier, rows: Any) -> int:
    raise InvalidTableStateError(f"table {identifier} has no data")


@mutant("does not fill a declared table in mode Create")
class NeverFills(MemoryNamespace):
    def create_table(self, request: Any, data: Any) -> CreateTableResponse:
        given = _without(request)
        names = given.get("id")
        created = given.get("mode") in (None, "Create")
        if created and isinstance(names, list) and tuple(names) in self._catalog.tables:
            raise TableAlreadyExistsError(f"table {names} exists")
        return super().create_table(request, data)


@mutant("loses the properties of a declared table that rows are inserted into")
class FillingForgets(MemoryNamespace):
    def insert_into_table(self, request: Any, data: Any) -> Any:
        with patch.object(Placement, "fill_declared", _fill_and_forget):
            return super().insert_into_table(request, data)

    def merge_insert_into_table(self, request: Any, data: Any) -> Any:
        with patch.object(Placement, "fill_declared", _fill_and_forget):
            return super().merge_insert_into_table(request, data)


_fill = Placement.fill_declared


def _fill_and_forget(self: Placement, operation: str, identifier: Identifier, rows: Any) -> int:
    version = _fill(self, operation, identifier, rows)
    entry = self.catalog.load_table(identifier)
    self.catalog.change_table(entry, {}, list(entry.properties))
    return version


# --- namespaces


@mutant("drops a namespace that is not empty")
class IgnoresRestrict(MemoryNamespace):
    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        return super().remove_namespace(identifier, True)


@mutant("counts only Lance tables before it drops a namespace")
class IgnoresOtherTables(MemoryNamespace):
    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        held = self._catalog.holds(identifier)
        others = [t for t in held if self._catalog.tables.get(t, t) is None]
        return super().remove_namespace(identifier, cascade or len(others) == len(held))


@mutant("deletes data on cascade")
class CascadeDeletes(MemoryNamespace):
    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        tables = self._catalog.tables
        doomed = [entry for t, entry in tables.items() if entry and t[:-1] == identifier]
        properties = super().remove_namespace(identifier, cascade)
        for entry in doomed:
            shutil.rmtree(entry.location, ignore_errors=True)
        return properties


@mutant("fails on a missing namespace in mode Skip")
class NeverSkips(MemoryNamespace):
    def drop_namespace(self, request: Any) -> DropNamespaceResponse:
        given = _without(request)
        if str(given.get("mode")).lower() == "skip":
            del given["mode"]
        return super().drop_namespace(given)


@mutant("changes what ExistOk should keep")
class ExistOkChanges(MemoryNamespace):
    def create_namespace(self, request: Any) -> CreateNamespaceResponse:
        answer = super().create_namespace(request)
        given = _without(request).get("properties")
        if given:
            self.change_namespace(tuple(_without(request)["id"]), given, ())
            answer = evolve(answer, properties={**(answer.properties or {}), **given})
        return answer


@mutant("keeps the properties of an overwritten namespace")
class OverwriteKeeps(MemoryNamespace):
    def create_namespace(self, request: Any) -> CreateNamespaceResponse:
        identifier = tuple(_without(request).get("id") or ())
        before = dict(self._catalog.namespaces.get(identifier, {}))
        answer = super().create_namespace(request)
        self._catalog.namespaces[identifier] |= before
        return answer


@mutant("declares in a namespace that is not there")
class NoParentNeeded(MemoryNamespace):
    def _require_parent(self, identifier: Identifier) -> None:
        pass


@mutant("answers a missing parent as a missing table")
class WrongCodeForParent(MemoryNamespace):
    def declare_table(self, request: Any) -> Any:
        try:
            return super().declare_table(request)
        except NamespaceNotFoundError as error:
            raise TableNotFoundError(error.message) from error


@mutant("lists tables of a namespace that is not there as none")
class EmptyForMissing(MemoryNamespace):
    def list_tables(self, request: Any) -> ListTablesResponse:
        try:
            return super().list_tables(request)
        except NamespaceNotFoundError:
            return ListTablesResponse(tables=[])


@mutant("lists grandchildren")
class ListsGrandchildren(MemoryNamespace):
    def list_namespaces(self, request: Any) -> ListNamespacesResponse:
        answer = super().list_namespaces(request)
        if not _without(request).get("id") and not _without(request).get("limit"):
            names = sorted(t[-1] for t in self._catalog.tables)
            return evolve(answer, namespaces=[*answer.namespaces, *names])
        return answer


@mutant("lists tables that are not Lance tables")
class ListsOthers(MemoryNamespace):
    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        self._require(parent)
        names = sorted(t[-1] for t in self._catalog.tables if t[:-1] == parent)
        return iter([name for name in names if after is None or name > after])


@mutant("moves a table to the wrong namespace")
class RenamesInPlace(MemoryNamespace):
    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        super().move_table(entry, (*entry.id[:-1], new[-1]))
