"""A table's entry in the catalog: declare, register, deregister, rename, alter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lance_namespace_client import models
from lance_namespace_client.errors import (
    InvalidInputError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedError,
)

from ..core.errors import about
from ..core.identifiers import (
    Identifier,
    format_identifier,
    parse_identifier,
    subject_of,
)
from ..core.modes import RegisterMode, parse_mode
from .changes import changes
from .entry import (
    MANAGED,
    TableEntry,
    plain_properties,
)
from .identifiers import parent_after
from .managed import ManagedTables
from .operation import operation
from .places import TablePlaces

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        AlterTableRequest,
        AlterTableResponse,
        DeclareTableRequest,
        DeclareTableResponse,
        DeregisterTableRequest,
        DeregisterTableResponse,
        RegisterTableRequest,
        RegisterTableResponse,
        RenameTableRequest,
        RenameTableResponse,
    )


__all__ = ["TableLifecycle"]


class TableLifecycle(TablePlaces, ManagedTables, abstract=True):
    """A table's entry in the catalog: declare, register, deregister, rename, alter."""

    @operation
    def declare_table(self, request: DeclareTableRequest) -> DeclareTableResponse:
        """Add a table without data to the catalog."""
        identifier = self.check_declaration(request, "DeclareTable")
        properties = request.properties or {}
        if request.location is None:
            entry = self.add_at_place(identifier, properties, None)
        else:
            location = self._resolved("DeclareTable", identifier, request.location)
            entry = self.add_table(identifier, location, properties)
        return models.DeclareTableResponse(
            location=entry.location,
            storage_options=dict(self.storage_of(entry).options) or None,
            properties=plain_properties(entry.properties),
            managed_versioning=entry.managed,
        )

    def check_declaration(self, request: DeclareTableRequest, operation: str) -> Identifier:
        """Return the table that is to be declared, if the caller may.

        Raises:
            InvalidInputError: code 13.
        """
        identifier = parse_identifier(request.id)
        what = f"{operation} {format_identifier(identifier)}"
        if request.location == "":
            raise InvalidInputError(f"{what}: the location is empty; leave it out")
        self._refuse_outside("DeclareTable", identifier, request.location)
        self._refuse_properties("DeclareTable", identifier, request.properties or {})
        return identifier

    @operation
    def register_table(self, request: RegisterTableRequest) -> RegisterTableResponse:
        """Add a table whose data is there already to the catalog."""
        identifier = parse_identifier(request.id)
        mode = parse_mode(request.mode, RegisterMode.CREATE)
        if not request.location:
            raise InvalidInputError(
                f"RegisterTable {format_identifier(identifier)}: the location is empty"
            )
        properties = request.properties or {}
        self._refuse_outside("RegisterTable", identifier, request.location)
        self._refuse_properties("RegisterTable", identifier, properties)
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
                # A namespace has the name, or the table went meanwhile.
                if is_last:
                    raise taken from None
        return models.RegisterTableResponse(
            location=entry.location, properties=plain_properties(entry.properties)
        )

    def _resolved(self, operation: str, identifier: Identifier, location: str) -> str:
        with about(subject_of(operation, identifier)):
            return self.resolved_location(location)

    def _adopt(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        entry = self.adopt_table(identifier, location, properties)
        try:
            self.adopt_versions(entry)
        except Exception:
            self.remove_table(entry)
            raise
        return entry

    def replace_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        """Replace a table's entry by another; the old one comes back where the new one fails."""
        old = self.load_table(identifier)
        self.remove_table(old)
        try:
            return self._adopt(identifier, location, properties)
        except Exception:
            self._adopt(identifier, old.location, old.properties)
            raise

    @operation
    def deregister_table(self, request: DeregisterTableRequest) -> DeregisterTableResponse:
        """Take a table out of the catalog; its data stays."""
        identifier = parse_identifier(request.id)
        with self.sole_change(identifier):
            entry = self.find_table(identifier)
            self._remove_drop_marker(entry)
            self.remove_table(entry)
        return models.DeregisterTableResponse(
            id=list(identifier),
            location=entry.location,
            properties=plain_properties(entry.properties),
        )

    @operation
    def rename_table(self, request: RenameTableRequest) -> RenameTableResponse:
        """Rename a table, and move it to another namespace where the catalog can."""
        identifier = parse_identifier(request.id)
        subject = subject_of("RenameTable", identifier)
        parent = parent_after(self.capabilities, request)
        new = parse_identifier([*parent, request.new_table_name])
        if not self.capabilities.holds_tables(len(parent)):
            raise InvalidInputError(
                f"{format_identifier(parent)!r} cannot hold tables in this catalog", subject=subject
            )
        if parent != identifier[:-1] and not self.capabilities.rename_across:
            raise UnsupportedError(
                "this catalog cannot move tables across namespaces", subject=subject
            )
        within = self.capabilities.rename_within
        if parent[:within] != identifier[:within]:
            raise UnsupportedError(
                f"this catalog cannot move a table out of {format_identifier(identifier[:within])}; "
                f"register it in {format_identifier(parent)}, then deregister it",
                subject=subject,
            )
        with self.sole_change(identifier):
            entry = self.find_table(identifier)
            if new == identifier:
                raise TableAlreadyExistsError(
                    f"table {format_identifier(new)} has that name already"
                )
            self._remove_drop_marker(entry)
            self.keep_place(entry)
            self.move_table(entry, new)
        return models.RenameTableResponse()

    @operation
    def alter_table(self, request: AlterTableRequest) -> AlterTableResponse:
        """Set and unset properties of a table."""
        changed, removed = changes(request.set_properties, request.unset_properties)
        identifier = parse_identifier(request.id)
        if MANAGED in removed:
            self._refuse_managed("AlterTable", f"AlterTable {format_identifier(identifier)}", "")
        entry = self.find_table(identifier)
        left = {key: value for key, value in entry.properties.items() if key not in removed}
        locations = self.capabilities.location_properties
        kept = {key: value for key, value in left.items() if key not in locations}
        self._refuse_properties("AlterTable", identifier, {**kept, **changed})
        properties = self.change_table(entry, changed, removed)
        return models.AlterTableResponse(properties=plain_properties(properties))
