"""The Iceberg REST backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from attrs import evolve

from lance_namespace_client.errors import InternalError, InvalidInputError

from ..catalog.capabilities import Capabilities
from ..catalog.entry import LANCE, TABLE_TYPE, TableEntry, is_lance, with_lance_type
from ..catalog.errors import table_exists, table_not_found
from ..core.identifiers import Identifier, format_identifier
from ..core.json_api import raising
from ..core.location import absolute_as_written, as_address
from ..iceberg_rest.base import IcebergRestCatalog
from ..iceberg_rest.entries import location_of, properties_of
from ..iceberg_rest.errors import is_conflict, is_missing
from ..iceberg_rest.locations import as_opened
from ..iceberg_rest.warehouse import Warehouse
from .config import IcebergConfig
from .entries import changed_meanwhile, chosen_by_server

__all__ = ["IcebergNamespace"]

DUMMY_SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "dummy", "required": False, "type": "string"}],
}


class IcebergNamespace(IcebergRestCatalog):
    """The Lance tables in an Iceberg REST catalog.

    An identifier consists of the warehouse, the levels of a namespace, and a table. A Lance table
    is an Iceberg table with the property ``table_type=lance`` and one unused column, at the
    location of the dataset.

    Source: the Iceberg REST catalog implementation specification.
    """

    config_type = IcebergConfig
    config: IcebergConfig
    drop_query: ClassVar[Mapping[str, str]] = {"purgeRequested": "false"}
    capabilities = Capabilities(
        # Properties that specify where the server and other engines write data and metadata.
        location_properties=(
            "location",
            "default-base-location",
            "write.data.path",
            "write.metadata.path",
            "write.object-storage.path",
            "write.folder-storage.path",
        ),
        namespace_depth=None,
        table_depth=2,
        configured_depth=1,
        idempotent_drop=True,
        rename_across=True,
        rename_within=1,
        shown_delimiter=".",
    )

    def tables_path(self, warehouse: Warehouse, levels: Sequence[str]) -> str:
        return warehouse.tables(levels)

    def table_path(self, identifier: Identifier) -> str:
        warehouse, levels = self.warehouse(identifier[:-1])
        return self.warehouses.table(warehouse, levels, identifier[-1])

    def read_table(self, identifier: Identifier, answer: Mapping[str, Any]) -> TableEntry | None:
        metadata = answer.get("metadata")
        if not isinstance(metadata, dict):
            raise InternalError(
                f"table {format_identifier(identifier)}: the server's response has no table "
                f"metadata; check that the server implements the Iceberg REST protocol"
            )
        return _entry(identifier, metadata) if is_lance(properties_of(metadata)) else None

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        address = self.address_of_new(identifier, location)
        body = {
            "name": identifier[-1],
            "location": address,
            "schema": DUMMY_SCHEMA,
            "stage-create": False,
            "properties": with_lance_type(properties),
        }
        response = self.post_table(identifier, body, address)
        entry = _entry(identifier, {**body, **(response.get("metadata") or {})})
        if location is not None and entry.location != as_opened(address):
            # The entry would not refer to the table's data, so remove it.
            self.remove_table(entry)
            raise chosen_by_server(entry, location)
        if entry.location != as_opened(address) and set(entry.location) & set("%?#"):
            # The server chose a plain path, which Lance would parse as a URL and thereby change.
            self.remove_table(entry)
            raise InvalidInputError(
                f"table {format_identifier(identifier)} cannot be created: this server would store "
                f"the location {entry.location}, which Lance interprets differently; use a name "
                "without %, ? and #"
            )
        return entry

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        warehouse, levels = self.warehouse(new[:-1])
        self.namespace_properties(new[:-1])
        self.reject_existing(new)
        body = {
            "source": {"namespace": list(entry.id[1:-1]), "name": entry.id[-1]},
            "destination": {"namespace": list(levels), "name": new[-1]},
        }
        with (
            raising(table_exists, new, when=is_conflict),
            raising(table_not_found, entry.id, when=is_missing),
        ):
            self.api.submit(warehouse.rename(), body)

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        if TABLE_TYPE in removed or not is_lance({TABLE_TYPE: LANCE, **changed}):
            raise InvalidInputError(
                f"property {TABLE_TYPE!r} marks {format_identifier(entry.id)} as a Lance table and "
                "cannot be changed"
            )
        updates: list[dict[str, Any]] = []
        if changed:
            updates.append({"action": "set-properties", "updates": dict(changed)})
        if removed:
            # The list also includes properties that the entry lacks, because another client may
            # have set them since.
            updates.append({"action": "remove-properties", "removals": list(removed)})
        return self._commit(entry, updates).properties if updates else entry.properties

    def replace_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        """Change a table's location without removing the table in between."""
        entry, requested = self.load_table(identifier), as_address(absolute_as_written(location))
        if as_opened(requested) != entry.location:
            entry = self._commit(entry, [{"action": "set-location", "location": requested}])
        if as_opened(requested) != entry.location:
            raise chosen_by_server(entry, requested)
        removed = [key for key in entry.properties if key not in properties and key != TABLE_TYPE]
        changed = {key: value for key, value in properties.items() if key != TABLE_TYPE}
        return evolve(entry, properties=self.change_table(entry, changed, removed))

    def _commit(self, entry: TableEntry, updates: Sequence[Mapping[str, Any]]) -> TableEntry:
        body = {
            "identifier": {"namespace": list(entry.id[1:-1]), "name": entry.id[-1]},
            "requirements": [],
            "updates": list(updates),
        }
        with (
            raising(table_not_found, entry.id, when=is_missing),
            raising(changed_meanwhile, entry.id, when=lambda failure: failure.status == 409),
        ):
            response = self.api.post(self.table_path(entry.id), body)
        return _entry(entry.id, response.get("metadata") or {})


def _entry(identifier: Identifier, metadata: Mapping[str, Any]) -> TableEntry:
    return TableEntry(
        id=identifier,
        location=location_of(identifier, metadata.get("location")),
        properties=properties_of(metadata),
    )
