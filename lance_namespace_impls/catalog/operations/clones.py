"""Cloning of tables, for LanceDB's clients; the protocol has no such operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

from lance_namespace_client.errors import (
    LanceNamespaceError,
    PermissionDeniedError,
    TableNotFoundError,
    UnsupportedError,
)
from lance_namespace_client.models import CreateTableResponse

from ...core.confinement import is_within
from ...core.errors import about
from ...core.identifiers import ROOT, Identifier, parse_identifier, subject_of
from ...core.storage import TableStorage
from ..backend import CatalogBase
from ..entry import TableEntry
from ..services.managed import ManagedVersions
from ..services.placement import Placement
from ..services.walker import TableWalker
from .create import creation_response

__all__ = ["CloneOperations"]


class CloneOperations(CatalogBase, abstract=True):
    """Cloning of tables."""

    def clone_table(
        self,
        request: Any,
        source: str,
        *,
        version: int | str | None = None,
        is_shallow: bool = True,
        near: Identifier = ROOT,
        may_read: Callable[[Identifier], bool] = lambda identifier: True,
        may_name: bool = True,
    ) -> CreateTableResponse:
        """Create a table with the rows of another table.

        Args:
            request: provides the new table's `id`.
            source: location of the other table: a table of this catalog, or a path below an allowed
                location.
            version: number or tag of its version; defaults to the latest.
            is_shallow: whether the new table references the other table's files instead of copying
                them.
            near: namespace to search first; there, tables are found even if their name is not part
                of `source`.
            may_read: returns whether the caller may read a table of this catalog.
            may_name: whether the caller may specify locations that are allowed but belong to no
                table.

        Raises:
            TableAlreadyExistsError: code 5, a table with the new name exists.
            PermissionDeniedError: code 15, the caller may not read the source.
        """
        identifier = parse_identifier(request.id)
        subject = subject_of("CloneTable", identifier)
        self.check_identifier("CreateTable", request)
        if (reason := self.capabilities.reason("CreateTable")) is not None:
            raise UnsupportedError(reason, subject=subject)
        try:
            with about(subject):
                found = self._source(source, near, may_read, may_name=may_name)
                return self._clone(identifier, found, version, is_shallow=is_shallow)
        except LanceNamespaceError:
            raise
        except Exception as error:
            raise self.translate(error, subject) from error

    def _clone(
        self,
        identifier: Identifier,
        source: TableStorage,
        version: int | str | None,
        *,
        is_shallow: bool,
    ) -> CreateTableResponse:
        from ...tables.clone import clone
        from ...tables.dataset import open_dataset

        def write(entry: TableEntry) -> int:
            return clone(source, self.storage_of(entry), version=version, is_shallow=is_shallow)

        schema = open_dataset(source, version=version).schema
        if (at_once := self.create_table_at_once(identifier, {}, write)) is not None:
            return creation_response(self, *at_once)
        entry = Placement(self).add_at_new_location(identifier, {}, schema)
        with (
            Placement(self).first_rows(entry),
            self.initial_write_lock(entry, wait=False),
            Placement(self).rolled_back_on_failure(entry),
        ):
            made = write(entry)
            ManagedVersions(self).adopt_versions(entry)
        self.data_written(entry)
        return creation_response(self, entry, made)

    def _source(
        self,
        location: str,
        near: Identifier,
        may_read: Callable[[Identifier], bool],
        *,
        may_name: bool,
    ) -> TableStorage:
        for entry in self._tables_at(location, near):
            if may_read(entry.id):
                return self.storage_of(entry)
        bounds = self.bounds()
        allowed = bounds is None or any(is_within(location, p) for p in bounds.allowed_locations)
        if may_name and allowed:
            return TableStorage(location=location, options=self.config.storage)
        raise PermissionDeniedError(
            f"there is no table at {location[:200]!r} that you are allowed to read; specify the "
            "location of a table in this catalog, or ask the operator to allow this location "
            "(--allow-location)"
        )

    def _tables_at(self, location: str, near: Identifier) -> Iterator[TableEntry]:
        """Yield the tables whose data is stored at a location.

        Outside of `near`, a table is examined only if its name is part of the location.
        """
        last = _last_level(location)
        found = TableWalker(self).all_below(near)
        yield from self._at(location, found)
        if near == ROOT:
            return
        try:
            found = TableWalker(self).all_below(ROOT)
            yield from self._at(location, (each for each in found if each[-1] in last))
        except UnsupportedError:
            return  # a catalog whose root cannot be listed

    def _at(self, location: str, identifiers: Iterator[Identifier]) -> Iterator[TableEntry]:
        for identifier in identifiers:
            try:
                entry = self.find_table(identifier)
            except TableNotFoundError:
                continue  # dropped between listing and loading
            if _is_same(entry.location, location):
                yield entry


def _last_level(location: str) -> str:
    return unquote(location.rstrip("/").rpartition("/")[2])


def _is_same(location: str, other: str) -> bool:
    if _last_level(location) != _last_level(other):
        return False
    return is_within(location, other) and is_within(other, location)
