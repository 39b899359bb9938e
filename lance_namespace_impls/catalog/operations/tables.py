"""Operations on the catalog entries of tables: describe, declare, register, rename, alter, drop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lance_namespace_client import models
from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedError,
)

from ...core.errors import about
from ...core.identifiers import Identifier, format_identifier, parse_identifier, subject_of
from ...core.location import plain_path
from ...core.modes import RegisterMode, parse_mode
from ..backend import CatalogBase
from ..changes import changes
from ..entry import MANAGED, TableEntry, plain_properties
from ..identifiers import parent_after
from ..operation import operation
from ..services.bounds import Bounds
from ..services.folders import Folders
from ..services.managed import ManagedVersions
from ..services.placement import Placement

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        AlterTableRequest,
        AlterTableResponse,
        DeclareTableRequest,
        DeclareTableResponse,
        DeregisterTableRequest,
        DeregisterTableResponse,
        DescribeTableRequest,
        DescribeTableResponse,
        DropTableRequest,
        DropTableResponse,
        RegisterTableRequest,
        RegisterTableResponse,
        RenameTableRequest,
        RenameTableResponse,
        TableExistsRequest,
        TableExistsResponse,
    )

__all__ = ["TableOperations"]


class TableOperations(CatalogBase, abstract=True):
    """Operations on the catalog entries of tables."""

    @operation
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """Return a table's location and, if requested, details of its contents."""
        identifier = parse_identifier(request.id)
        chosen = [n for n in ("version", "tag", "branch") if getattr(request, n) is not None]
        if len(chosen) > 1:
            raise InvalidInputError(
                f"specify only one of {', '.join(chosen)}",
                subject=subject_of("DescribeTable", identifier),
            )
        entry = self.find_table(identifier)
        storage = self.storage_of(entry)
        answer = models.DescribeTableResponse(
            table=identifier[-1],
            namespace=list(identifier[:-1]),
            location=entry.location,
            storage_options=dict(storage.options) or None,
            properties=plain_properties(entry.properties),
            managed_versioning=entry.managed,
        )
        if request.with_table_uri:
            from ...tables.dataset import table_uri

            answer.table_uri = table_uri(entry.location)
        if request.check_declared:
            answer.is_only_declared = not self.has_data(entry)
        if not chosen:
            answer.schema = self.known_schema(entry)
        if request.load_detailed_metadata or chosen:
            from ...tables.describe import fill_details

            with about(subject_of("DescribeTable", identifier)):
                fill_details(answer, storage, request)
        return answer

    @operation
    def table_exists(self, request: TableExistsRequest) -> TableExistsResponse:
        """Succeed if the table exists; otherwise raise code 4."""
        identifier = parse_identifier(request.id)
        if request.version is None:
            self.require_existing(identifier)
            return models.TableExistsResponse()
        from ...tables.dataset import has_version

        if not has_version(self.storage_of(self.find_table(identifier)), request.version):
            raise TableNotFoundError(
                f"table {format_identifier(identifier)} has no version {request.version}"
            )
        return models.TableExistsResponse()

    @operation
    def declare_table(self, request: DeclareTableRequest) -> DeclareTableResponse:
        """Add a table without data to the catalog."""
        identifier = Bounds(self).check_declaration(request, "DeclareTable")
        properties = request.properties or {}
        if request.location is None:
            entry = Placement(self).add_at_new_location(identifier, properties, None)
        else:
            location = self._resolved("DeclareTable", identifier, request.location)
            entry = self.add_table(identifier, location, properties)
        return models.DeclareTableResponse(
            location=entry.location,
            storage_options=dict(self.storage_of(entry).options) or None,
            properties=plain_properties(entry.properties),
            managed_versioning=entry.managed,
        )

    @operation
    def register_table(self, request: RegisterTableRequest) -> RegisterTableResponse:
        """Add a table whose data already exists to the catalog."""
        identifier = parse_identifier(request.id)
        mode = parse_mode(request.mode, RegisterMode.CREATE)
        if not request.location:
            raise InvalidInputError(
                f"RegisterTable {format_identifier(identifier)}: the location is empty; specify "
                f"the table's path or URI"
            )
        properties = request.properties or {}
        Bounds(self).refuse_outside("RegisterTable", identifier, request.location)
        Bounds(self).refuse_properties("RegisterTable", identifier, properties)
        location = self._resolved("RegisterTable", identifier, request.location)
        for is_last in (False, False, True):
            try:
                entry = self._adopt(identifier, location, properties)
                break
            except TableAlreadyExistsError as error:
                if mode is RegisterMode.CREATE:
                    raise
                taken = error
            try:
                with self.sole_change(identifier):
                    entry = self.replace_table(identifier, location, properties)
                break
            except TableNotFoundError:
                # Either a namespace has this name, or the table was dropped concurrently.
                if is_last:
                    raise taken from None
        if self._could_be_default(entry):
            # The data is in use again, and must be kept even if another tool removes the entry.
            Folders(self).remove_drop_marker(entry)
        return models.RegisterTableResponse(
            location=entry.location, properties=plain_properties(entry.properties)
        )

    def _could_be_default(self, entry: TableEntry) -> bool:
        """Return whether a table is stored at a default location of its namespace.

        Drop markers are looked up only in such locations.
        """
        if self.capabilities.storage_only:
            return False
        try:
            usual = self.default_location(entry.id)
        except (NamespaceNotFoundError, InvalidInputError):
            return False
        if usual is None:
            return False
        folders = {plain_path(path).rpartition("/")[0] for path in (usual, entry.location)}
        return len(folders) == 1

    def _resolved(self, operation: str, identifier: Identifier, location: str) -> str:
        with about(subject_of(operation, identifier)):
            return self.resolved_location(location)

    def _adopt(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        entry = self.adopt_table(identifier, location, properties)
        try:
            ManagedVersions(self).adopt_versions(entry)
        except Exception:
            self.remove_table(entry)
            raise
        return entry

    def replace_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        """Replace a table's entry; if adding the new entry fails, the old one is restored."""
        old = self.load_table(identifier)
        self.remove_table(old)
        try:
            return self._adopt(identifier, location, properties)
        except Exception:
            self._adopt(identifier, old.location, old.properties)
            raise

    @operation
    def deregister_table(self, request: DeregisterTableRequest) -> DeregisterTableResponse:
        """Remove a table from the catalog; its data is not deleted."""
        identifier = parse_identifier(request.id)
        with self.sole_change(identifier):
            entry = self.find_table(identifier)
            Folders(self).remove_drop_marker(entry)
            self.remove_table(entry)
        return models.DeregisterTableResponse(
            id=list(identifier),
            location=entry.location,
            properties=plain_properties(entry.properties),
        )

    @operation
    def rename_table(self, request: RenameTableRequest) -> RenameTableResponse:
        """Rename a table, and move it to another namespace if the catalog supports it."""
        identifier = parse_identifier(request.id)
        subject = subject_of("RenameTable", identifier)
        parent = parent_after(self.capabilities, request)
        new = parse_identifier([*parent, request.new_table_name])
        if not self.capabilities.holds_tables(len(parent)):
            raise InvalidInputError(
                f"namespace {format_identifier(parent)!r} cannot hold tables in this catalog",
                subject=subject,
            )
        if parent != identifier[:-1] and not self.capabilities.rename_across:
            raise UnsupportedError(
                "this catalog cannot move tables across namespaces", subject=subject
            )
        within = self.capabilities.rename_within
        if parent[:within] != identifier[:within]:
            raise UnsupportedError(
                "this catalog cannot move a table out of "
                f"{format_identifier(identifier[:within])}; register it in "
                f"{format_identifier(parent)}, then deregister it",
                subject=subject,
            )
        with self.sole_change(identifier):
            entry = self.find_table(identifier)
            if new == identifier:
                raise TableAlreadyExistsError(
                    f"the table is already named {format_identifier(new)}"
                )
            Folders(self).remove_drop_marker(entry)
            Placement(self).reserve_location(entry)
            self.move_table(entry, new)
        return models.RenameTableResponse()

    @operation
    def alter_table(self, request: AlterTableRequest) -> AlterTableResponse:
        """Set and unset properties of a table."""
        changed, removed = changes(request.set_properties, request.unset_properties)
        identifier = parse_identifier(request.id)
        if MANAGED in removed:
            Bounds(self).refuse_managed(
                "AlterTable", f"AlterTable {format_identifier(identifier)}", ""
            )
        entry = self.find_table(identifier)
        left = {key: value for key, value in entry.properties.items() if key not in removed}
        locations = self.capabilities.location_properties
        kept = {key: value for key, value in left.items() if key not in locations}
        Bounds(self).refuse_properties("AlterTable", identifier, {**kept, **changed})
        properties = self.change_table(entry, changed, removed)
        return models.AlterTableResponse(properties=plain_properties(properties))

    @operation
    def drop_table(self, request: DropTableRequest) -> DropTableResponse:
        """Remove a table from the catalog, then delete its data.

        If an earlier drop was interrupted after it had removed the entry, it is resumed, provided
        that the table was at its default location and its data has not been used since. Only one of
        several concurrent calls succeeds.
        """
        identifier = parse_identifier(request.id)
        # Without the lock, a drop in progress would look like an interrupted one.
        with self.sole_change(identifier):
            entry = self._drop(identifier)
        return models.DropTableResponse(
            id=list(identifier),
            location=entry.location,
            properties=plain_properties(entry.properties),
        )

    def remove_table_and_data(self, entry: TableEntry) -> None:
        """Remove a table from the catalog, then delete its data.

        A marker file next to the data remains if the process is killed, and is found by the next
        DropTable or CreateTable with the same name. If the marker cannot be written, nothing is
        changed. The marker does not authorize deletion until this drop has removed the entry; if
        another tool removes the entry, the data is kept.
        """
        folder = Folders(self).folder_of(entry)
        has_marker = folder.write_drop_marker(entry.id)
        try:
            self.remove_table(entry)
        except Exception as error:
            if has_marker:
                folders = Folders(self)
                # If another tool removed the entry, that tool may still need the data.
                if isinstance(error, TableNotFoundError) or folders.is_still_listed(entry):
                    folders.remove_drop_marker(entry, only_unauthorized=True)
                else:  # only the catalog's response was lost
                    folder.mark_removed()
            raise
        if has_marker:
            folder.mark_removed()
            folder.delete()

    def _drop(self, identifier: Identifier) -> TableEntry:
        try:
            entry = self.find_table(identifier)
        except TableNotFoundError:
            interrupted = Folders(self).interrupted_drop(identifier)
            if interrupted is None or not Folders(self).folder_of(interrupted).delete():
                raise
            return interrupted
        self.remove_table_and_data(entry)
        return entry
