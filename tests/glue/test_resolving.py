"""Names resolve to a catalog or a database, with or without permission to read catalogs."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from lance_namespace_client.errors import (
    ForbiddenError,
    InvalidInputError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedError,
)
from lance_namespace_impls.glue import GlueNamespace, places

from ..servers.glue import ACCOUNT, GlueServer
from .conftest import Connect
from .test_namespaces import DATABASE, make

# --- resolving


def test_a_catalog_and_a_database_of_one_name_are_ambiguous(
    namespace: GlueNamespace, glue: GlueServer, client: Any
) -> None:
    glue.add_catalog("both")
    client.create_database(DatabaseInput={"Name": "both"})
    for call in (
        lambda: namespace.describe_namespace({"id": ["both"]}),
        lambda: namespace.drop_namespace({"id": ["both"]}),
        lambda: namespace.list_tables({"id": ["both"]}),
        lambda: namespace.describe_table({"id": ["both", "t"]}),
        lambda: namespace.declare_table({"id": ["both", "t"]}),
        lambda: namespace.list_namespaces({"id": []}),
    ):
        with pytest.raises(InvalidTableStateError, match="a catalog 'both' and a database 'both'"):
            call()


@pytest.mark.requirement("glue.describe-table.get-table")
def test_resolved_namespaces_are_cached(
    namespace: GlueNamespace, glue: GlueServer, client: Any
) -> None:
    glue.add_catalog("a")
    glue.add_catalog("a/b")
    client.create_database(DatabaseInput={"Name": "db"}, CatalogId="a/b")
    namespace.declare_table({"id": ["a", "b", "db", "t"]})
    glue.calls.clear()
    namespace.describe_table({"id": ["a", "b", "db", "t"]})
    namespace.table_exists({"id": ["a", "b", "db", "t"]})
    assert [call.operation for call in glue.calls] == ["GetTable", "GetTable"]


def test_the_cache_is_bounded_and_expires(
    namespace: GlueNamespace, glue: GlueServer, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MAX_LOCATIONS", 2)
    for name in ("a", "b", "c"):
        client.create_database(DatabaseInput={"Name": name})
        namespace.declare_table({"id": [name, "t"]})
    glue.calls.clear()
    for name in ("c", "b", "a"):
        namespace.table_exists({"id": [name, "t"]})
    ordered_map = [c.parameters["Name"] for c in glue.calls if c.operation == "GetDatabase"]
    assert ordered_map == ["a"]
    glue.calls.clear()
    now = time.monotonic()
    later = now + places.SECONDS_REMEMBERED + 1
    monkeypatch.setattr(places, "time", SimpleNamespace(monotonic=lambda: later))
    namespace.table_exists({"id": ["a", "t"]})
    assert glue.count("GetDatabase") == 1


def test_own_changes_invalidate_the_cache(
    namespace: GlueNamespace, glue: GlueServer, client: Any
) -> None:
    glue.add_catalog("cat")
    make(namespace, "cat", "x")
    namespace.declare_table({"id": ["cat", "x", "t"]})
    namespace.deregister_table({"id": ["cat", "x", "t"]})
    namespace.drop_namespace({"id": ["cat", "x"]})
    with pytest.raises(TableNotFoundError):
        namespace.describe_table({"id": ["cat", "x", "t"]})
    # Another client creates a catalog with that name.
    glue.add_catalog("cat/x")
    client.create_database(DatabaseInput={"Name": "db"}, CatalogId="cat/x")
    namespace.declare_table({"id": ["cat", "x", "db", "t"]})
    assert namespace.list_namespaces({"id": ["cat", "x"]}).namespaces == ["db"]


def test_changes_of_other_clients_are_noticed(
    namespace: GlueNamespace, glue: GlueServer, client: Any
) -> None:
    client.create_database(DatabaseInput={"Name": "x"})
    namespace.declare_table({"id": ["x", "t"]})
    client.delete_database(Name="x")
    glue.add_catalog("x")
    with pytest.raises(TableNotFoundError):
        namespace.describe_table({"id": ["x", "t"]})
    client.create_database(DatabaseInput={"Name": "db"}, CatalogId="x")
    assert namespace.declare_table({"id": ["x", "db", "t"]}).location


def test_a_database_replaced_by_a_catalog_is_noticed_immediately(
    namespace: GlueNamespace, glue: GlueServer, client: Any
) -> None:
    client.create_database(DatabaseInput={"Name": "x"})
    namespace.namespace_exists({"id": ["x"]})
    client.delete_database(Name="x")
    glue.add_catalog("x")
    client.create_database(DatabaseInput={"Name": "db"}, CatalogId="x")
    namespace.namespace_exists({"id": ["x", "db"]})


def test_an_account_number_is_not_a_name(namespace: GlueNamespace) -> None:
    with pytest.raises(NamespaceNotFoundError):
        namespace.describe_namespace({"id": [ACCOUNT]})


def test_invalid_catalog_names_are_looked_up_as_databases(
    namespace: GlueNamespace, glue: GlueServer
) -> None:
    for name in ("a.b", "a:b", "a/b", "x" * 65):
        make(namespace, name, properties=DATABASE)
        namespace.namespace_exists({"id": [name]})
    assert glue.count("GetCatalog") == 0


@pytest.mark.parametrize("name", ["a.b", "a:b", "x" * 65, "111122223333"])
def test_invalid_catalog_names_are_rejected(
    namespace: GlueNamespace, glue: GlueServer, name: str
) -> None:
    with pytest.raises(InvalidInputError, match="cannot be a catalog"):
        make(namespace, name)
    assert glue.count("CreateCatalog") == 0


def test_upper_case_names_are_rejected(namespace: GlueNamespace) -> None:
    with pytest.raises(InvalidInputError, match="use 'sales' instead"):
        make(namespace, "Sales")
    with pytest.raises(InvalidInputError, match="use 'orders' instead"):
        namespace.describe_table({"id": ["db", "Orders"]})


@pytest.mark.requirement("glue.config.catalog-id")
@pytest.mark.parametrize("root", ["cat", f"{ACCOUNT}:cat"])
def test_another_catalog_can_be_the_root(
    connected: Connect, glue: GlueServer, client: Any, root: str
) -> None:
    glue.add_catalog("cat")
    glue.add_catalog("cat/child")
    client.create_database(DatabaseInput={"Name": "outside"})
    namespace = connected(catalog_id=root)
    make(namespace, "db", properties=DATABASE)
    make(namespace, "child", "inner")
    assert namespace.list_namespaces({"id": []}).namespaces == ["child", "db"]
    namespace.declare_table({"id": ["db", "t"]})
    assert client.get_table(DatabaseName="db", Name="t", CatalogId="cat")
    with pytest.raises(UnsupportedError, match="only in the caller's default catalog"):
        make(namespace, "new")


@pytest.mark.requirement("glue.mapping.other-account")
def test_an_account_can_be_the_root(connected: Connect, glue: GlueServer, client: Any) -> None:
    own = connected(catalog_id=ACCOUNT)
    make(own, "cat")
    make(own, "cat", "db")
    assert own.list_namespaces({"id": []}).namespaces == ["cat"]
    assert client.get_database(Name="db", CatalogId="cat")
    other = connected(catalog_id="999999999999")
    make(other, "theirs", properties=DATABASE)
    assert other.list_namespaces({"id": []}).namespaces == ["theirs"]
    assert client.get_database(Name="theirs", CatalogId="999999999999")
    with pytest.raises(UnsupportedError):
        make(other, "cat")


@pytest.mark.requirement("glue.list-tables.get-tables", "glue.deregister-table.delete")
def test_every_request_has_the_catalog_id(connected: Connect, glue: GlueServer) -> None:
    namespace = connected(catalog_id="999999999999")
    make(namespace, "db", properties=DATABASE)
    namespace.declare_table({"id": ["db", "t"]})
    namespace.list_tables({"id": ["db"]})
    namespace.alter_table({"id": ["db", "t"], "set_properties": {"a": "1"}})
    namespace.rename_table({"id": ["db", "t"], "new_table_name": "u"})
    namespace.deregister_table({"id": ["db", "u"]})
    namespace.drop_namespace({"id": ["db"]})
    scoped = [c for c in glue.calls if c.operation not in ("GetCatalog", "GetCatalogs")]
    assert {call.parameters.get("CatalogId") for call in scoped} == {"999999999999"}


# --- without permission for GetCatalog


def test_databases_resolve_without_permission_to_get_catalogs(
    namespace: GlueNamespace, glue: GlueServer
) -> None:
    glue.fail("GetCatalog", "AccessDeniedException")
    make(namespace, "db", properties=DATABASE)
    namespace.declare_table({"id": ["db", "t"]})
    assert namespace.list_tables({"id": ["db"]}).tables == ["t"]
    with pytest.raises(ForbiddenError, match="GetCatalog"):
        namespace.describe_namespace({"id": ["none"]})


def test_listing_without_permission_to_list_catalogs_fails(
    namespace: GlueNamespace, glue: GlueServer, database: str
) -> None:
    glue.fail("GetCatalogs", "AccessDeniedException")
    with pytest.raises(ForbiddenError, match="GetCatalogs"):
        namespace.list_namespaces({"id": []})


def test_metastores_without_catalogs_resolve_databases(
    namespace: GlueNamespace, glue: GlueServer
) -> None:
    for operation in ("GetCatalog", "GetCatalogs"):
        glue.fail(operation, "UnknownOperationException", status=404)
    make(namespace, "db", properties=DATABASE)
    assert namespace.list_namespaces({"id": []}).namespaces == ["db"]
    with pytest.raises(NamespaceNotFoundError):
        namespace.describe_namespace({"id": ["none"]})
