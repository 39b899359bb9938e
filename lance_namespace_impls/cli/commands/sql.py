"""The command ``lance-ns sql``, which runs one SQL statement on the tables of a catalog with DuckDB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lance_namespace_client.errors import (
    ErrorCode,
    InvalidInputError,
    LanceNamespaceError,
)

from ..failures import needs
from ..session import Session
from ..versions import AsOf, only_one, version_at
from .read import Arrow, Csv, write_rows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from ...catalog.namespace import Namespace
    from ...core.identifiers import Identifier

__all__ = ["sql"]

# Settings that prevent statements from reading or writing anything outside of the catalog.
CLOSED = {
    "temp_directory": "",
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
MOST_LEVELS = 3
"""Maximum number of levels in a name in DuckDB: catalog, schema and table."""
# Errors that mean that the files cannot be accessed; the rows are then requested from the server.
ELSEWHERE = frozenset(
    {
        ErrorCode.INVALID_INPUT,
        ErrorCode.PERMISSION_DENIED,
        ErrorCode.UNAUTHENTICATED,
        ErrorCode.SERVICE_UNAVAILABLE,
        ErrorCode.INTERNAL,
        ErrorCode.TABLE_NOT_FOUND,
    }
)


def sql(
    session: Session,
    statement: Annotated[
        str,
        typer.Argument(
            metavar="STATEMENT",
            help="A SELECT in DuckDB's dialect. Refer to tables by their names in the "
            'catalog: db.events, "my table", or an ID as one name, "db$events".',
        ),
    ],
    as_csv: Csv = False,
    arrow: Arrow = None,
    as_of: AsOf = None,
) -> None:
    """Query the tables of the catalog with read-only SQL."""
    with needs("sql", "duckdb"):
        import duckdb
    only_one(None, None, as_of)
    with session.connect() as namespace, duckdb.connect(":memory:") as engine:
        try:
            for number, path in enumerate(_tables(engine, statement)):
                identifier = _identifier(session, path)
                _offer(engine, f"_rows_{number}", path, _rows(namespace, identifier, as_of))
            for name, value in CLOSED.items():
                engine.execute(f"SET {name} = '{value}'")
            write_rows(session, engine.sql(statement).to_arrow_reader(10_000), as_csv, arrow)
        except duckdb.Error as error:
            raise InvalidInputError(f"the statement failed: {_first_line(error)}") from error


def _tables(engine: DuckDBPyConnection, statement: str) -> list[list[str]]:
    """Return the names of the tables that a statement reads, without duplicates.

    Raises:
        InvalidInputError: code 13, the statement is not a single SELECT.
    """
    [(text,)] = engine.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()
    tree = json.loads(text)
    if tree.get("error"):
        if tree.get("error_type") == "not implemented":
            raise InvalidInputError("the statement is not a SELECT; lance-ns sql is read-only")
        raise InvalidInputError(f"the statement failed: {tree.get('error_message')}")
    if len(tree["statements"]) != 1:
        raise InvalidInputError("pass only one statement")
    parts = list(_parts(tree))
    inner = {key for part in parts for key in _names_within(part)}
    paths = [part["qualified_name"]["path"] for part in parts if part.get("type") == "BASE_TABLE"]
    return [
        list(path)
        for path in dict.fromkeys(map(tuple, paths))
        if not (len(path) == 1 and path[0].lower() in inner)
    ]


def _parts(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(part, dict | list):
            yield from _parts(part)


def _names_within(part: dict[str, Any]) -> Iterator[str]:
    """Iterate over the names that ``WITH`` defines."""
    for entry in (part.get("cte_map") or {}).get("map", ()):
        yield entry["key"].lower()


def _identifier(session: Session, path: list[str]) -> Identifier:
    if len(path) > MOST_LEVELS:
        raise InvalidInputError(
            f"table {'.'.join(path)}: duckdb supports {MOST_LEVELS} levels; write its ID "
            'as one name, such as "a$b$c$d"'
        )
    return session.identifier(path[0]) if len(path) == 1 else tuple(path)


def _rows(namespace: Namespace, identifier: Identifier, as_of: str | None) -> Any:
    """Return an object from which DuckDB reads only the columns and rows of a table that it needs.

    If only the server can access the table's files, all rows are requested.
    """
    table = namespace.table(identifier)
    if as_of is not None:
        table.checkout(version_at(table, as_of))
    try:
        return table.to_lance()
    except LanceNamespaceError as error:
        if namespace.config.impl != "rest" or error.code not in ELSEWHERE:
            raise
    return table.search().to_arrow()


def _offer(engine: DuckDBPyConnection, name: str, path: list[str], rows: Any) -> None:
    """Register a table with DuckDB under the name that the statement uses."""
    engine.register(name, rows)
    quoted = ['"' + part.replace('"', '""') + '"' for part in path]
    if len(path) == MOST_LEVELS:
        engine.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {quoted[0]}")
    if len(path) > 1:
        engine.execute(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(quoted[:-1])}")
    engine.execute(f"CREATE VIEW {'.'.join(quoted)} AS SELECT * FROM {name}")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
