"""CreateTable: adds a catalog entry and the first rows, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from attrs import evolve

from lance_namespace_client import models
from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedError,
)

from ...core.errors import about
from ...core.identifiers import Identifier, format_identifier, parse_identifier, subject_of
from ...core.location import plain_path
from ...core.modes import CreateMode, parse_mode
from ..backend import CatalogBase
from ..changes import replacing
from ..entry import STORAGE_PREFIX, TableEntry, managed_choice, plain_properties
from ..operation import operation
from ..services.bounds import Bounds
from ..services.placement import Placement

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_namespace_client.arrow import ArrowData
    from lance_namespace_client.models import CreateTableRequest, CreateTableResponse

__all__ = ["CreateOperations", "creation_response"]


_NO_CHANGES: tuple[Mapping[str, str], Sequence[str]] = ({}, ())
"""No properties to set or remove."""


class CreateOperations(CatalogBase, abstract=True):
    """CreateTable: adds a catalog entry and the first rows, or neither."""

    @operation
    def create_table(self, request: CreateTableRequest, data: ArrowData) -> CreateTableResponse:
        """Create a table with rows.

        If the table is declared without data, the rows become its data. Mode Overwrite replaces the
        rows and the schema in one commit, so that the table is always available to readers, and
        then the properties. Older versions of the dataset are retained until they are cleaned up.

        A context entry ``header.x-lance-table-location`` must match the table's location.
        """
        from ...tables.schema import check_columns

        identifier = parse_identifier(request.id)
        mode = parse_mode(request.mode, CreateMode.CREATE)
        properties = _requested_properties(request)
        Bounds(self).refuse_properties("CreateTable", identifier, properties)
        if mode is CreateMode.EXIST_OK:
            existing = self._existing_table_response(identifier, request)
            if existing is not None:
                return existing
        subject = subject_of("CreateTable", identifier)
        with about(subject):
            rows = RowStream.of(data, infer_vectors=True)
            check_columns(rows.schema)
            if not _requested_location(request):
                made = self._created_at_once(identifier, properties, rows)
                if made is not None:
                    return creation_response(self, *made)
        entry, taken = self._created_or_existing(identifier, properties, rows.schema)
        has_data, changes = False, _NO_CHANGES
        if taken is not None:
            placement = Placement(self)
            with placement.conflict_if_removed(entry):
                has_data = self.has_data(entry)
            if has_data and mode is CreateMode.CREATE:
                placement.require_listed(entry)
                raise taken
            if has_data and mode is CreateMode.EXIST_OK:
                _refuse_other_location(entry, request)
                return creation_response(self, entry, None)
            changes = self._property_changes(entry, mode, properties)
        version = self._write(entry, request, rows, is_new=taken is None, has_data=has_data)
        if version is None:
            return creation_response(self, entry, None)
        self.data_written(entry)
        if any(changes):
            entry = evolve(entry, properties=self.change_table(entry, *changes))
        return creation_response(self, entry, version)

    def _property_changes(
        self, entry: TableEntry, mode: CreateMode, properties: Mapping[str, str]
    ) -> tuple[Mapping[str, str], Sequence[str]]:
        """Return the properties to set and to remove when rows are written to an existing table."""
        if not properties and mode is not CreateMode.OVERWRITE:
            return _NO_CHANGES
        if self.capabilities.managed_versioning:
            properties, managed = managed_choice(properties, entry.managed)
            if managed != entry.managed:
                Bounds(self).refuse_managed(
                    "AlterTable", f"CreateTable {format_identifier(entry.id)}", ""
                )
        changed, removed = replacing(entry.properties, properties)
        self._require_alterable(entry, [*changed, *removed])
        return changed, removed

    def _write(
        self,
        entry: TableEntry,
        request: CreateTableRequest,
        rows: RowStream,
        *,
        is_new: bool,
        has_data: bool,
    ) -> int | None:
        """Write the rows and return their version; None if ExistOk found another writer's rows.

        Args:
            entry: the table.
            request: the request.
            rows: the rows.
            is_new: whether this call added the table; if so, it is removed if the rows cannot be
                written.
            has_data: whether the table already has rows, which are then replaced.
        """
        from ...tables.write import create

        placement = Placement(self)
        mode = parse_mode(request.mode, CreateMode.CREATE)
        subject = subject_of("CreateTable", entry.id)
        may_wait = mode is CreateMode.EXIST_OK
        with (
            placement.first_rows(entry) as committing,
            nullcontext() if has_data else self.initial_write_lock(entry, wait=may_wait),
            placement.rolled_back_on_failure(entry)
            if is_new
            else placement.conflict_if_removed(entry),
        ):
            _refuse_other_location(entry, request)
            storage, overwrite = self.storage_of(entry), mode is CreateMode.OVERWRITE
            if not rows.can_begin_again:
                raise ConcurrentModificationError(
                    "another writer created the table concurrently; send the rows again",
                    subject=subject,
                )
            try:
                with about(subject), rows.guarded():
                    return create(storage, rows, overwrite=overwrite, committing=committing)
            except TableAlreadyExistsError:
                placement.require_listed(entry)
                if mode is CreateMode.EXIST_OK:
                    return None
                raise

    def _existing_table_response(
        self, identifier: Identifier, request: CreateTableRequest
    ) -> CreateTableResponse | None:
        """Return the ExistOk response for a table that already has data, without reading the stream."""
        try:
            entry = self.load_table(identifier)
        except (TableNotFoundError, NamespaceNotFoundError, InvalidInputError):
            return None
        if not self.has_data(entry):
            return None
        _refuse_other_location(entry, request)
        return creation_response(self, entry, None)

    def _created_at_once(
        self, identifier: Identifier, properties: Mapping[str, str], rows: RowStream
    ) -> tuple[TableEntry, int] | None:
        """Create the entry and the rows in one step.

        Return None if the catalog does not support this, or another writer created the table first.
        """
        from ...tables.write import create, create_unshared

        def write(entry: TableEntry) -> int:
            storage = self.storage_of(entry)
            if rows.are_few and "://" not in entry.location:
                return create_unshared(storage, rows)
            return create(storage, rows, overwrite=False)

        try:
            with rows.guarded():
                return self.create_table_at_once(identifier, properties, write)
        except TableAlreadyExistsError:
            return None  # the existing table may be declared without data

    def _require_alterable(self, entry: TableEntry, keys: Sequence[str]) -> None:
        """Reject changed properties if the catalog cannot alter a table (code 0)."""
        if keys and self.capabilities.reason("AlterTable") is not None:
            raise UnsupportedError(
                f"this catalog cannot change properties of the table ({', '.join(sorted(keys))}); "
                "pass its current values, or drop the table first",
                subject=subject_of("CreateTable", entry.id),
            )

    def _created_or_existing(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        schema: pa.Schema,
    ) -> tuple[TableEntry, TableAlreadyExistsError | None]:
        """Add a table, or return the existing one with the error for the duplicate name.

        If the name is in use but no table is found, the table may have been dropped in between, so
        adding it is retried.
        """
        for is_last in (False, False, True):
            try:
                return Placement(self).add_at_new_location(identifier, properties, schema), None
            except TableAlreadyExistsError as error:
                taken = error
            try:
                return self.load_table(identifier), taken
            except TableNotFoundError:
                if is_last:  # the name belongs to an object that is not a table
                    raise taken from None
            except InvalidInputError as error:
                raise TableAlreadyExistsError(
                    f"table {format_identifier(identifier)} cannot be created: {error.message}"
                ) from error
        raise AssertionError("the last attempt returns or raises")


def creation_response(
    catalog: CatalogBase, entry: TableEntry, version: int | None
) -> CreateTableResponse:
    """Return the response to a CreateTable request; `version` defaults to the latest version."""
    storage = catalog.storage_of(entry)
    if version is None:
        from ...tables.dataset import latest_version

        version = latest_version(storage)
    return models.CreateTableResponse(
        location=entry.location,
        version=version,
        storage_options=dict(storage.options) or None,
        properties=plain_properties(entry.properties),
    )


def _requested_properties(request: CreateTableRequest) -> dict[str, str]:
    """Return the properties of the table to create, including its storage options."""
    options = request.storage_options or {}
    stored = {STORAGE_PREFIX + key: value for key, value in options.items()}
    return {**(request.properties or {}), **stored}


def _refuse_other_location(entry: TableEntry, request: CreateTableRequest) -> None:
    """Reject a requested location that differs from the table's location (code 13)."""
    wanted = _requested_location(request)
    if wanted and plain_path(wanted) != plain_path(entry.location):
        raise InvalidInputError(
            f"the table's location is {entry.location}, not {wanted}; omit "
            "x-lance-table-location, or register the table at that location",
            subject=subject_of("CreateTable", entry.id),
        )


def _requested_location(request: CreateTableRequest) -> str | None:
    return (request.context or {}).get("header.x-lance-table-location")
