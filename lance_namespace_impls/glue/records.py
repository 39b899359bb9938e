"""Converts between Glue's entries and table entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from attrs import frozen

from lance_namespace_client.errors import (
    InvalidTableStateError,
)

from ..catalog.entry import TableEntry, is_lance, storage_options, with_lance_type
from ..catalog.errors import (
    not_a_lance_table,
)
from ..core.identifiers import Identifier, format_identifier
from ..core.location import absolute, stored_form
from .places import Place, ResolvedNamespace

__all__ = [
    "DESCRIPTION",
    "EXTERNAL_TABLE",
    "LOCATION",
    "NAMESPACE_TYPE",
    "GlueTable",
    "as_entry",
    "as_listed",
    "changed_properties",
    "from_listed",
    "glue_table",
    "is_lance_table",
    "members",
    "new_table",
    "properties_of",
    "with_properties",
]

EXTERNAL_TABLE = "EXTERNAL_TABLE"
NAMESPACE_TYPE = "glue.namespace-type"
DESCRIPTION = "description"
LOCATION = "location"


Listed: TypeAlias = tuple[str | None, Mapping[str, str]]
"""The location and storage options of a table."""
NO_OPTIONS: Mapping[str, str] = {}


@frozen(kw_only=True)
class GlueTable(TableEntry):
    """A Lance table, with the Glue entry that was read."""

    place: Place
    entry: Mapping[str, Any]


def new_table(
    identifier: Identifier, location: str, properties: Mapping[str, str]
) -> dict[str, Any]:
    """Return the entry of a new table."""
    return new_entry(identifier, absolute(location), properties)


def new_entry(
    identifier: Identifier, location: str | None, properties: Mapping[str, str]
) -> dict[str, Any]:
    """Return an entry for a Lance table; the location is used unchanged."""
    return {
        "Name": identifier[-1],
        "TableType": EXTERNAL_TABLE,
        "Parameters": with_lance_type(properties),
        "StorageDescriptor": {"Location": location},
    }


def is_lance_table(table: Mapping[str, Any]) -> bool:
    """Return whether an entry describes a Lance table."""
    return table.get("TableType") == EXTERNAL_TABLE and is_lance(table.get("Parameters"))


def as_entry(identifier: Identifier, place: Place, table: Mapping[str, Any]) -> GlueTable:
    """Return the Lance table that a Glue entry describes.

    Raises:
        InvalidInputError: code 13, the entry is not a Lance table.
        InvalidTableStateError: code 19, the entry has no location.
    """
    if not is_lance_table(table):
        kind = ("TableType", table.get("TableType"), EXTERNAL_TABLE)
        raise not_a_lance_table(identifier, table.get("Parameters"), kind=kind)
    location = table.get("StorageDescriptor", {}).get("Location")
    if not location:
        raise InvalidTableStateError(
            f"table {format_identifier(identifier)} has no location in Glue; deregister it with "
            "the Glue API, or set the Location of its StorageDescriptor"
        )
    return GlueTable(
        id=identifier,
        location=stored_form(location),
        properties=table["Parameters"],
        place=place,
        entry=table,
    )


def as_listed(table: Mapping[str, Any]) -> Listed:
    """Reduce a possibly large entry to the location and storage options that a listing needs."""
    options = storage_options(table["Parameters"])
    return table.get("StorageDescriptor", {}).get("Location"), options or NO_OPTIONS


def from_listed(identifier: Identifier, place: Place, listed: Listed) -> GlueTable:
    """Build the table from the data that a listing caches.

    Raises:
        InvalidTableStateError: code 19, the entry has no location.
    """
    location, options = listed
    return as_entry(identifier, place, new_entry(identifier, location, options))


def glue_table(entry: TableEntry) -> GlueTable:
    """Narrow the type of a table's entry to `GlueTable`."""
    assert isinstance(entry, GlueTable)
    return entry


def properties_of(namespace: ResolvedNamespace) -> dict[str, str]:
    """Return a namespace's properties: parameters, description and, for a database, its location."""
    properties = dict(namespace.entry.get("Parameters") or {})
    if namespace.entry.get("Description") is not None:
        properties[DESCRIPTION] = namespace.entry["Description"]
    if namespace.place.database is not None and namespace.entry.get("LocationUri"):
        properties[LOCATION] = namespace.entry["LocationUri"]
    return properties


def with_properties(entry: Mapping[str, Any], properties: Mapping[str, str]) -> dict[str, Any]:
    """Return an entry with properties; the description and a database's location are separate fields."""
    is_database = "Name" in entry
    members = (DESCRIPTION, LOCATION) if is_database else (DESCRIPTION,)
    plain = {key: value for key, value in properties.items() if key not in members}
    updated = {**entry, "Parameters": plain}
    if DESCRIPTION in properties:
        updated["Description"] = properties[DESCRIPTION]
    if is_database and LOCATION in properties:
        updated["LocationUri"] = absolute(properties[LOCATION])
    return updated


def changed_properties(
    properties: Mapping[str, str], changed: Mapping[str, str], removed: Sequence[str]
) -> dict[str, str]:
    """Return the properties after a change."""
    return {key: v for key, v in {**properties, **changed}.items() if key not in removed}


def members(value: Any, shape: Any) -> Any:
    """Remove the fields of a response that do not exist in the shape of a request."""
    if shape.type_name == "structure":
        return {
            name: members(member, shape.members[name])
            for name, member in value.items()
            if name in shape.members
        }
    if shape.type_name == "list":
        return [members(member, shape.member) for member in value]
    return value
