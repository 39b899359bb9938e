"""Represents a table of a Spark catalog as an option of the Python data source.

The planner sets the option. It is encrypted, so it can contain credentials, and only this user's
processes can create it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import attrs
from attrs import evolve, field, frozen

from lance_namespace_client.errors import InvalidInputError

from ..distributed.options import option_name, read_options
from ..distributed.secrets import seal, unseal
from ..distributed.target import Target
from .read_plan import Pinned
from .table_options import TableOptions

__all__ = [
    "CHANGES",
    "OPTION",
    "CatalogTable",
    "TableWrite",
    "WriteKind",
    "option_of",
    "options_of_tables",
]

OPTION = "planned"
"""Option of the data source with a `CatalogTable`."""

# Options that have an equivalent in SQL statements on tables of a catalog.
_IN_SQL = {
    "table": "the name of the table in SQL",
    "delimiter": "the name of the table in SQL",
    "version": "VERSION AS OF",
    "tag": "VERSION AS OF 'tag'",
    "timestamp": "TIMESTAMP AS OF",
    "branch": "the data source, load() with the option 'branch'",
    "columns": "SELECT with the columns",
    "with_row_id": "the data source, load() with the option 'with_row_id'",
}


class WriteKind(Enum):
    """A statement that writes."""

    INSERT = "insert"
    """Add rows, or replace all of them."""
    CREATE = "create"
    """Create the table with the rows."""
    REPLACE = "replace"
    """Replace rows and columns; create a missing table."""
    DELETE = "delete"
    UPDATE = "update"
    MERGE = "merge"


CHANGES = (WriteKind.DELETE, WriteKind.UPDATE, WriteKind.MERGE)
"""Statements that change rows of one version."""


@frozen(kw_only=True)
class TableWrite:
    """A write of a table.

    Attributes:
        kind: the statement.
        base: version that a change of rows is based on.
        types: Arrow types of columns of a new table.
        properties: properties of a new table.
    """

    kind: WriteKind
    base: Pinned | None = None
    types: str | None = None
    properties: Mapping[str, str] = field(factory=dict)


@frozen(kw_only=True)
class CatalogTable:
    """A table of a catalog.

    Attributes:
        target: the table.
        options: options of its reader and writer that the catalog sets.
        write: the write, if there is one.
    """

    target: Target
    options: TableOptions
    write: TableWrite | None = None

    def to_option(self) -> str:
        """Return the value of the option.

        Raises:
            InvalidInputError: code 13, there is no encryption key.
        """
        return seal(self)

    def with_options(self, options: Mapping[str, str]) -> TableOptions:
        """Return the options with those of a query or write.

        Raises:
            InvalidInputError: code 13, an option is unknown, invalid or does not apply to tables of
                a catalog.
        """
        own = options_of_tables(options, f"{self.target.name}: ")
        return evolve(self.options, table=self.target.name, **own)


def option_of(text: str) -> CatalogTable:
    """Return the table that the value of the option contains.

    Raises:
        InvalidInputError: code 13, a process with another key created the value.
    """
    found: CatalogTable = unseal(text)
    return found


def options_of_tables(options: Mapping[str, str], where: str) -> dict[str, Any]:
    """Parse options for tables of a catalog; return the values by name.

    Raises:
        InvalidInputError: code 13, an option is unknown or invalid, or SQL has a clause for it.
    """
    for key in options:
        name = option_name(TableOptions, key)
        if name in _IN_SQL:
            raise InvalidInputError(f"{where}use {_IN_SQL[name]} instead of the option {key!r}")
        if name is None:
            raise InvalidInputError(
                f"{where}option {key!r} is not known; set a property of the namespace as "
                "spark.sql.catalog.<name>.<property>"
            )
    found = read_options(TableOptions, options, where.rstrip(": "))
    names = {option_name(TableOptions, key) for key in options}
    return {
        each.name: getattr(found, each.name)
        for each in attrs.fields(TableOptions)
        if each.name in names
    }
