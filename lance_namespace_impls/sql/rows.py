"""Looks up rows of the catalog by identifier, and lists them in order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, select

from ..catalog.entry import TableEntry
from ..catalog.errors import namespace_not_found, table_not_found
from ..core.identifiers import Identifier
from .database import Database
from .schema import NAMESPACE, ROOT_ID, TABLE, objects

__all__ = [
    "entry_of",
    "find",
    "other_entry",
    "properties_of",
    "require_namespace",
    "require_table",
    "text_of",
    "walk_names",
]

# Number of levels that one query looks up. Query planners try all join orders, so more levels would
# mean too many joins.
_LEVELS = 6
_FIRST_ROWS, _MOST_ROWS = 200, 5000


@cache
def _by_path(levels: int) -> Select[Any]:
    """Return the query for an object at a certain number of levels below a namespace."""
    steps = [objects.alias(f"o{level}") for level in range(levels)]
    query = select(steps[-1]).where(steps[0].c.parent_id == bindparam("start"))
    for level, step in enumerate(steps):
        query = query.where(step.c.name == bindparam(f"name{level}"))
        if level:
            query = query.where(step.c.parent_id == steps[level - 1].c.id)
            query = query.where(steps[level - 1].c.kind == NAMESPACE)
    return query


def find(connection: Connection, identifier: Identifier, *, lock: bool = False) -> Row[Any] | None:
    """Return the row of a namespace or table, or None if there is none.

    Args:
        connection: a transaction.
        identifier: the object; the root also has a row.
        lock: whether other transactions must wait for this one before they change the row.
    """
    if not identifier:
        query = select(objects).where(objects.c.id == ROOT_ID)
        return connection.execute(query.with_for_update() if lock else query).one()
    start, rest = ROOT_ID, identifier
    while True:
        part, rest = rest[:_LEVELS], rest[_LEVELS:]
        query = _by_path(len(part))
        values = {"start": start, **{f"name{level}": name for level, name in enumerate(part)}}
        found = connection.execute(query, values).one_or_none()
        if found is None or not rest:
            break
        if found.kind != NAMESPACE:
            return None
        start = found.id
    if found is None or not lock:
        return found
    again = select(objects).where(
        objects.c.id == found.id,
        objects.c.parent_id == found.parent_id,
        objects.c.name == found.name,
    )
    return connection.execute(again.with_for_update()).one_or_none()


def require_namespace(
    connection: Connection, identifier: Identifier, *, lock: bool = False
) -> Row[Any]:
    """Return a namespace's row.

    Raises:
        NamespaceNotFoundError: code 1.
    """
    found = find(connection, identifier, lock=lock)
    if found is None or found.kind != NAMESPACE:
        raise namespace_not_found(identifier)
    return found


def require_table(
    connection: Connection, table: TableEntry | Identifier, *, lock: bool = False
) -> Row[Any]:
    """Return a table's row.

    Args:
        connection: a transaction.
        table: the table's identifier or entry; an entry does not match a later table that has the
            same name but another location.
        lock: whether other transactions must wait for this one before they change the table.

    Raises:
        NamespaceNotFoundError: code 1, the parent of an identifier is missing.
        TableNotFoundError: code 4.
    """
    identifier = table.id if isinstance(table, TableEntry) else table
    found = find(connection, identifier, lock=lock)
    if found is None or found.kind != TABLE:
        if not isinstance(table, TableEntry):
            require_namespace(connection, identifier[:-1])
        raise table_not_found(identifier)
    if isinstance(table, TableEntry) and table.location != found.location:
        raise table_not_found(identifier)
    return found


def other_entry(connection: Connection, location: str, but: int | None) -> Row[Any] | None:
    """Return another table at a location, preferably one whose versions the catalog manages.

    Args:
        connection: a transaction.
        location: the location.
        but: the row of the table to exclude.
    """
    query = (
        select(objects)
        .where(objects.c.location == location, objects.c.id != but)
        .order_by(objects.c.managed.desc())
        .limit(1)
    )
    return connection.execute(query).one_or_none()


def entry_of(identifier: Identifier, row: Row[Any]) -> TableEntry:
    """Return the entry in a table's row."""
    return TableEntry(
        id=identifier, location=row.location, properties=properties_of(row), managed=row.managed
    )


def properties_of(row: Row[Any]) -> dict[str, str]:
    """Return the properties in a row."""
    found: dict[str, str] = json.loads(row.properties)
    return found


def text_of(properties: Mapping[str, str]) -> str:
    """Return properties in their stored form."""
    return json.dumps(dict(properties))


def walk_names(
    database: Database, parent: Identifier, kind: str, after: str | None, wanted: int | None
) -> Iterator[str]:
    """Yield the names of a namespace's children of one kind in order, starting after `after`.

    The names are read in batches by key, so the cost of a page does not depend on its position.

    Raises:
        NamespaceNotFoundError: code 1.
    """
    size = _FIRST_ROWS if wanted is None else min(max(wanted, 1), _MOST_ROWS)
    query = (
        select(objects.c.name)
        .where(objects.c.parent_id == bindparam("parent"), objects.c.kind == kind)
        .order_by(objects.c.name)
    )
    later = query.where(objects.c.name > bindparam("after"))
    while True:

        def page(connection: Connection, after: str | None = after, size: int = size) -> list[str]:
            row = require_namespace(connection, parent)
            values = {"parent": row.id}
            if after is None:
                return list(connection.execute(query.limit(size), values).scalars())
            return list(connection.execute(later.limit(size), {**values, "after": after}).scalars())

        names = database.read(page)
        yield from names
        if len(names) < size:
            return
        after, size = names[-1], min(size * 4, _MOST_ROWS)
