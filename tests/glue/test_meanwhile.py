"""A request fails after earlier ones succeeded: the error is translated, nothing else is sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_client.errors import (
    ForbiddenError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lance_namespace_impls.glue import GlueNamespace

from ..servers.glue import GlueServer
from .conftest import LANCE

Call = Callable[[GlueNamespace], Any]

# The request to Glue, the call that sends it, and the error if Glue reports a missing object.
CALLS: dict[str, tuple[str, Call, type[LanceNamespaceError]]] = {
    "list namespaces": (
        "GetDatabases", lambda ns: ns.list_namespaces({"id": ["cat"]}), NamespaceNotFoundError),
    "list catalogs": (
        "GetCatalogs", lambda ns: ns.list_namespaces({"id": ["cat"]}), NamespaceNotFoundError),
    "list tables": (
        "GetTables", lambda ns: ns.list_tables({"id": ["db"]}), NamespaceNotFoundError),
    "create a catalog": (
        "CreateCatalog", lambda ns: ns.create_namespace({"id": ["new"]}), NamespaceNotFoundError),
    "create a database": (
        "CreateDatabase", lambda ns: ns.create_namespace({"id": ["cat", "new"]}),
        NamespaceNotFoundError),
    "alter a catalog": (
        "UpdateCatalog",
        lambda ns: ns.alter_namespace({"id": ["cat"], "set_properties": {"a": "1"}}),
        NamespaceNotFoundError),
    "alter a database": (
        "UpdateDatabase",
        lambda ns: ns.alter_namespace({"id": ["db"], "set_properties": {"a": "1"}}),
        NamespaceNotFoundError),
    "drop a catalog": (
        "DeleteCatalog", lambda ns: ns.drop_namespace({"id": ["cat"]}), NamespaceNotFoundError),
    "drop a database": (
        "DeleteDatabase", lambda ns: ns.drop_namespace({"id": ["empty"]}), NamespaceNotFoundError),
    "look for tables": (
        "GetTables", lambda ns: ns.drop_namespace({"id": ["empty"]}), NamespaceNotFoundError),
    "look for functions": (
        "GetUserDefinedFunctions", lambda ns: ns.drop_namespace({"id": ["empty"]}),
        NamespaceNotFoundError),
    "declare a table": (
        "CreateTable", lambda ns: ns.declare_table({"id": ["db", "new"]}), NamespaceNotFoundError),
    "describe a table": (
        "GetTable", lambda ns: ns.describe_table({"id": ["db", "t"]}), TableNotFoundError),
    "alter a table": (
        "UpdateTable", lambda ns: ns.alter_table({"id": ["db", "t"], "set_properties": {"a": "1"}}),
        TableNotFoundError),
    "deregister a table": (
        "DeleteTable", lambda ns: ns.deregister_table({"id": ["db", "t"]}), TableNotFoundError),
    "rename a table": (
        "CreateTable", lambda ns: ns.rename_table({"id": ["db", "t"], "new_table_name": "u"}),
        NamespaceNotFoundError),
}  # fmt: skip
TAKEN: dict[str, type[LanceNamespaceError]] = {
    "create a catalog": NamespaceAlreadyExistsError,
    "create a database": NamespaceAlreadyExistsError,
    "declare a table": TableAlreadyExistsError,
    "rename a table": TableAlreadyExistsError,
}


@pytest.fixture
def filled(
    namespace: GlueNamespace, glue: GlueServer, client: Any, tmp_path: Path
) -> GlueNamespace:
    """A connection to a Glue with an empty catalog, an empty database, and one with a table."""
    glue.add_catalog("cat")
    for name in ("db", "empty"):
        client.create_database(DatabaseInput={"Name": name})
    glue.add_tables("db", {"t": {**LANCE, "StorageDescriptor": {"Location": str(tmp_path / "t")}}})
    return namespace


def changes(glue: GlueServer) -> list[str]:
    return [each.operation for each in glue.calls if not each.operation.startswith("Get")]


@pytest.mark.parametrize("what", CALLS)
def test_a_denied_call_is_forbidden_and_stops(
    filled: GlueNamespace, glue: GlueServer, what: str
) -> None:
    operation, call, _ = CALLS[what]
    glue.fail(operation, "AccessDeniedException", message="the reason")
    glue.calls.clear()
    with pytest.raises(ForbiddenError, match="the reason"):
        call(filled)
    assert changes(glue) == ([] if operation.startswith("Get") else [operation])


@pytest.mark.parametrize("what", CALLS)
def test_a_concurrently_deleted_object_is_missing(
    filled: GlueNamespace, glue: GlueServer, what: str
) -> None:
    operation, call, error = CALLS[what]
    glue.fail(operation, "EntityNotFoundException")
    glue.calls.clear()
    with pytest.raises(error):
        call(filled)
    assert changes(glue) == ([] if operation.startswith("Get") else [operation])


@pytest.mark.parametrize("what", TAKEN)
def test_a_name_created_concurrently_already_exists(
    filled: GlueNamespace, glue: GlueServer, what: str
) -> None:
    operation, call, _ = CALLS[what]
    glue.fail(operation, "AlreadyExistsException")
    with pytest.raises(TAKEN[what]):
        call(filled)
