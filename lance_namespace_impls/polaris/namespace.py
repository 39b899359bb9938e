"""The Apache Polaris backend."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from lance_namespace_client.errors import LanceNamespaceError

from ..extend import Capabilities, Identifier, TableEntry
from ..extend.http import HttpFailure, fresh_location, is_local, is_secret_option
from ..extend.iceberg_rest import (
    IcebergRestCatalog,
    Warehouse,
    as_opened,
    location_of,
    properties_of,
)
from .config import PolarisConfig
from .errors import moved_by_server, no_table, not_lance
from .vending import vended_options

__all__ = ["PolarisNamespace"]

FORMAT = "lance"
DELEGATION = "Polaris-Generic-Table-Access-Delegation"


@frozen(kw_only=True)
class PolarisTable(TableEntry):
    """A generic table in the Lance format."""

    vended: Mapping[str, str] = field(factory=dict, repr=False)
    """Object store options that the server returned with the table."""


class PolarisNamespace(IcebergRestCatalog):
    """The Lance tables on an Apache Polaris server.

    An identifier consists of the catalog, the levels of a namespace, and a table. The namespaces
    are those of the Iceberg REST API. A Lance table is a generic table with the format ``lance``,
    in upper or lower case.

    Source: Apache Polaris' Generic Table API.
    """

    config_type = PolarisConfig
    config: PolarisConfig
    capabilities = Capabilities(
        location_properties=("location", "default-base-location"),
        namespace_depth=None,
        table_depth=2,
        configured_depth=1,
        shown_delimiter=".",
        unsupported=dict.fromkeys(
            ("AlterTable", "RenameTable"),
            "the Generic Table API of Apache Polaris cannot change a table; deregister it and "
            "register it again",
        ),
    )

    def __init__(self, config: PolarisConfig) -> None:
        vends = config.vended_credentials
        super().__init__(config, {DELEGATION: "vended-credentials"} if vends else None)

    def tables_path(self, warehouse: Warehouse, levels: Sequence[str]) -> str:
        return f"/polaris{warehouse.namespace(levels)}/generic-tables"

    def read_table(self, identifier: Identifier, answer: Mapping[str, Any]) -> PolarisTable | None:
        table = _table(identifier, answer)
        if str(table.get("format") or "").lower() != FORMAT:
            return None
        location = location_of(identifier, table.get("base-location"))
        return PolarisTable(
            id=identifier,
            location=location,
            properties=properties_of(table),
            vended=vended_options(str(table["base-location"]), answer),
        )

    def load_table(self, identifier: Identifier) -> TableEntry:
        response = self.table_response(identifier)
        entry = self.read_table(identifier, response)
        if entry is None:
            raise not_lance(identifier, str(_table(identifier, response).get("format") or ""))
        return entry

    def default_location(self, identifier: Identifier) -> str | None:
        location = super().default_location(identifier)
        # Until the table exists, the server vends no credentials with which the location could be
        # checked.
        return None if location is None or self._depends_on_vending(location) else location

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        address = self.address_of_new(identifier, location)
        entry = self._add(identifier, address, properties)
        if location is None and self._depends_on_vending(address) and self._is_occupied(entry):
            self.remove_table(entry)
            entry = self._add(identifier, fresh_location(address), properties)
        return entry

    def _add(
        self, identifier: Identifier, address: str, properties: Mapping[str, str]
    ) -> TableEntry:
        body = {
            "name": identifier[-1],
            "format": FORMAT,
            "base-location": address,
            "properties": dict(properties),
        }
        response = self.post_table(identifier, body, address)
        entry = self.read_table(identifier, response)
        if entry is None:
            raise no_table(identifier)
        if entry.location != as_opened(address):
            # The entry would not refer to the table's data, so remove it.
            self.remove_table(entry)
            raise moved_by_server(identifier, address, entry.location)
        if not entry.vended and self._depends_on_vending(address):
            return self.load_table(
                identifier
            )  # some servers vend credentials only in this response
        return entry

    def vended_options(self, entry: TableEntry) -> Mapping[str, str]:
        return entry.vended if isinstance(entry, PolarisTable) else {}

    def _depends_on_vending(self, location: str) -> bool:
        """Return whether a location is accessible only with credentials that the server vends."""
        return (
            self.config.vended_credentials
            and not is_local(location)
            and not any(map(is_secret_option, self.config.storage))
        )

    def _is_occupied(self, entry: TableEntry) -> bool:
        """Return whether the location of a new table contains another table's data."""
        try:
            return self.has_data(entry)
        except (HttpFailure, LanceNamespaceError, OSError, RuntimeError, ValueError) as error:
            reason = self.translate(error, "storage").message
            warnings.warn(
                f"{entry.location} cannot be checked; rows that it already contains will become "
                f"rows of {self.capabilities.shown_delimiter.join(entry.id)}: {reason}",
                stacklevel=2,
            )
            return False


def _table(identifier: Identifier, response: Mapping[str, Any]) -> Mapping[str, Any]:
    table = response.get("table")
    if not isinstance(table, dict):
        raise no_table(identifier)
    return table
