"""Converts between Unity Catalog's tables and table entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
)

from ..catalog.entry import LANCE, TABLE_TYPE, TableEntry, storage_options
from ..core.identifiers import Identifier, format_identifier
from ..core.json_api import Paging
from ..core.location import as_address, stored_form

__all__ = [
    "EXTERNAL",
    "NO_PROPERTIES",
    "PAGES",
    "UnityTable",
    "entry_of",
    "from_uri",
    "is_lance_table",
    "is_sorted_by_name",
    "listed_tables",
    "properties_of",
    "to_uri",
    "too_long",
]

EXTERNAL = "EXTERNAL"
# The open-source server ignores an empty map, so this map is sent in its place.
NO_PROPERTIES = {"lance.no_properties": "true"}
# The open-source server's maximum length for the names and values of properties and for the names
# of columns.
MAX_TEXT_LENGTH = 255
# Servers reduce the page size to their maximum, so a very large size results in the fewest pages.
PAGES = Paging(token="page_token", next_token="next_page_token", size=("max_results", 1000))


@attrs.frozen(kw_only=True)
class UnityTable(TableEntry):
    """A Lance table with its columns in Unity Catalog."""

    columns: Sequence[Mapping[str, Any]]


def properties_of(body: Mapping[str, Any]) -> dict[str, str]:
    """Return an object's properties."""
    properties = body.get("properties") or {}
    return {
        str(key): str(value)
        for key, value in properties.items()
        if value is not None and key not in NO_PROPERTIES
    }


def listed_tables(page: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Return the Lance tables on a page, each with its location and storage options."""
    for table in page.get("tables") or ():
        if is_lance_table(table):
            data = {"storage_location": table.get("storage_location")}
            properties = table["properties"]
            # Most tables have no storage options, but only the property that marks a Lance table.
            if len(properties) > 1 and (options := storage_options(properties)):
                data["properties"] = options
            yield str(table["name"]), data


def is_sorted_by_name(page: Mapping[str, Any]) -> bool:
    """Return whether a server sorts tables by name; if so, the page token is the last name."""
    names = [str(table["name"]) for table in page.get("tables") or ()]
    return names == sorted(names) and names[-1:] == [page.get(PAGES.next_token)]


def is_lance_table(table: Mapping[str, Any]) -> bool:
    """Return whether a table is a Lance table."""
    if table.get("table_type") != EXTERNAL:
        return False
    kind = (table.get("properties") or {}).get(TABLE_TYPE)
    return str(kind).lower() == LANCE


def entry_of(identifier: Identifier, table: Mapping[str, Any]) -> UnityTable:
    """Return the entry of a table.

    Raises:
        InvalidTableStateError: code 19, the table has no location.
    """
    location = from_uri(str(table.get("storage_location") or ""))
    if not location:
        raise InvalidTableStateError(
            f"table {format_identifier(identifier)} has no storage_location in Unity Catalog; "
            "delete the entry with Unity Catalog's tools, and register the table again"
        )
    return UnityTable(
        id=identifier,
        location=location,
        properties=properties_of(table),
        columns=table.get("columns") or (),
    )


def to_uri(location: str) -> str:
    """Convert a path to a URI, because servers convert paths in different ways."""
    return as_address(location) if "://" in location else Path(location).as_uri()


def from_uri(location: str) -> str:
    """Convert a location from the server to the form that pylance uses."""
    return stored_form(location)


def too_long(body: Mapping[str, Any]) -> Callable[[Identifier], LanceNamespaceError]:
    """Return a function that builds the error (code 13) for a string that is too long for the server."""

    def build(identifier: Identifier) -> LanceNamespaceError:
        texts = [(f"the name of property {key[:40]!r}", key) for key in body["properties"]]
        texts += [(f"property {key!r}", value) for key, value in body["properties"].items()]
        columns = [column["name"] for column in body.get("columns") or ()]
        texts += [(f"the name of column {name[:40]!r}", name) for name in columns]
        exceeding = [what for what, text in texts if _is_too_long(text)]
        what = exceeding[0] if exceeding else "a name or property"
        return InvalidInputError(
            f"{format_identifier(identifier)}: {what} is longer than this server's maximum of "
            f"{MAX_TEXT_LENGTH} characters; shorten it"
        )

    return build


def _is_too_long(text: str) -> bool:
    # Count characters above U+FFFF as two, as Java does.
    return len(text.encode("utf-16-le")) // 2 > MAX_TEXT_LENGTH
