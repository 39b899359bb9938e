"""Catalogs and databases as namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    UnsupportedError,
)
from lance_namespace_impls.glue import GlueNamespace

from ..servers.glue import GlueServer
from ..writers import Work, change_from_everywhere, processes
from .conftest import Connect

DATABASE = {"glue.namespace-type": "database"}
CATALOG = {"glue.namespace-type": "catalog"}


def make(namespace: GlueNamespace, *names: str, **more: Any) -> dict[str, str]:
    return namespace.create_namespace({"id": list(names), **more}).properties or {}


# --- creating


@pytest.mark.requirement(
    "glue.config.endpoint",
    "glue.mapping.catalog-properties",
    "glue.create-namespace.catalog",
    "glue.describe-namespace.catalog",
)
def test_one_name_is_a_catalog(namespace: GlueNamespace, client: Any) -> None:
    assert make(namespace, "sales", properties={"owner": "me"}) == {"owner": "me"}
    assert client.get_catalog(CatalogId="sales")["Catalog"]["Parameters"] == {"owner": "me"}
    assert namespace.describe_namespace({"id": ["sales"]}).properties == {"owner": "me"}


@pytest.mark.requirement(
    "glue.mapping.database", "glue.mapping.database-properties", "glue.create-namespace.database"
)
def test_two_names_are_a_database_in_a_catalog(
    namespace: GlueNamespace, client: Any, glue: GlueServer
) -> None:
    glue.add_catalog("sales")
    make(namespace, "sales", "eu", properties={"owner": "me"})
    database = client.get_database(Name="eu", CatalogId="sales")["Database"]
    assert database["Parameters"] == {"owner": "me"}
    assert namespace.list_namespaces({"id": []}).namespaces == ["sales"]
    assert namespace.list_namespaces({"id": ["sales"]}).namespaces == ["eu"]


@pytest.mark.requirement("glue.mapping.recursive", "glue.mapping.identifier")
def test_three_names_are_a_database_in_a_nested_catalog(
    namespace: GlueNamespace, client: Any, glue: GlueServer
) -> None:
    glue.add_catalog("sales")
    nested = glue.add_catalog("sales/eu")
    make(namespace, "sales", "eu", "orders")
    assert client.get_database(Name="orders", CatalogId=nested)["Database"]["Name"] == "orders"
    assert namespace.list_namespaces({"id": ["sales"]}).namespaces == ["eu"]
    namespace.namespace_exists({"id": ["sales", "eu", "orders"]})


@pytest.mark.requirement("glue.create-namespace.level")
def test_the_type_property_creates_a_database_and_is_not_stored(
    namespace: GlueNamespace, client: Any
) -> None:
    made = make(namespace, "sales", properties={"owner": "me", **DATABASE})
    assert "glue.namespace-type" not in made
    stored = client.get_database(Name="sales")["Database"]["Parameters"]
    assert stored == {"owner": "me"}


def test_the_default_namespace_type_is_configurable(connected: Connect, client: Any) -> None:
    namespace = connected(default_namespace_type="database")
    make(namespace, "sales")
    make(namespace, "cat", properties=CATALOG)
    assert client.get_database(Name="sales")["Database"]["Name"] == "sales"
    assert client.get_catalog(CatalogId="cat")["Catalog"]["Name"] == "cat"


def test_an_unknown_namespace_type_is_rejected(namespace: GlueNamespace) -> None:
    with pytest.raises(
        InvalidInputError, match=r"'glue\.namespace-type' must be catalog or database"
    ):
        make(namespace, "a", properties={"glue.namespace-type": "schema"})


def test_a_catalog_below_the_first_level_is_unsupported(
    namespace: GlueNamespace, glue: GlueServer
) -> None:
    glue.add_catalog("cat")
    with pytest.raises(UnsupportedError, match="CreateCatalog accepts no parent"):
        make(namespace, "cat", "child", properties=CATALOG)


@pytest.mark.requirement("glue.create-namespace.parent", "glue.create-namespace.no-parent")
def test_a_missing_parent_is_code_1(namespace: GlueNamespace) -> None:
    with pytest.raises(NamespaceNotFoundError, match="namespace none does not exist"):
        make(namespace, "none", "db")


def test_a_database_contains_no_namespaces(namespace: GlueNamespace, database: str) -> None:
    with pytest.raises(InvalidInputError, match="db is a database, which can contain only tables"):
        make(namespace, database, "deeper")
    with pytest.raises(NamespaceNotFoundError):
        namespace.describe_namespace({"id": [database, "deeper"]})
    assert namespace.list_namespaces({"id": [database]}).namespaces == []


@pytest.mark.requirement("glue.create-namespace.exists")
@pytest.mark.parametrize("kind", [CATALOG, DATABASE])
def test_catalogs_and_databases_share_their_names(
    namespace: GlueNamespace, glue: GlueServer, client: Any, kind: dict[str, str]
) -> None:
    glue.add_catalog("cat")
    client.create_database(DatabaseInput={"Name": "db"})
    for name in ("cat", "db"):
        with pytest.raises(NamespaceAlreadyExistsError, match=f"namespace {name} already exists"):
            make(namespace, name, properties=kind)


@pytest.mark.requirement("glue.create-namespace.modes", "glue.describe-namespace.database")
@pytest.mark.parametrize(
    ("names", "kind"), [(["db"], DATABASE), (["cat"], CATALOG), (["c", "d"], {})]
)
def test_modes(
    namespace: GlueNamespace, glue: GlueServer, names: list[str], kind: dict[str, str]
) -> None:
    glue.add_catalog("c")
    make(namespace, *names, properties={"a": "1", **kind})
    kept = make(namespace, *names, properties={"b": "2", **kind}, mode="exist_ok")
    assert kept["a"] == "1"
    assert "b" not in kept
    new = make(namespace, *names, properties={"b": "2", **kind}, mode="Overwrite")
    assert new["b"] == "2"
    assert "a" not in new
    found = namespace.describe_namespace({"id": names}).properties or {}
    assert found["b"] == "2"
    with pytest.raises(InvalidInputError, match="mode 'Sometimes' is unknown"):
        make(namespace, *names, mode="Sometimes")


def test_overwriting_a_nonempty_namespace_changes_nothing(
    namespace: GlueNamespace, database: str, client: Any
) -> None:
    client.create_table(DatabaseName=database, TableInput={"Name": "t"})
    with pytest.raises(NamespaceNotEmptyError):
        make(namespace, database, properties={"a": "1", **DATABASE}, mode="Overwrite")
    assert client.get_table(DatabaseName=database, Name="t")
    assert "Parameters" not in client.get_database(Name=database)["Database"]


# --- locations of databases


def test_a_new_database_gets_a_location_below_root(
    connected: Connect, client: Any, glue: GlueServer
) -> None:
    glue.add_catalog("cat")
    namespace = connected(root="s3://bucket/lake/")
    made = make(namespace, "cat", "a b")
    assert made == {"location": "s3://bucket/lake/cat/a%20b"}
    database = client.get_database(Name="a b", CatalogId="cat")["Database"]
    assert database["LocationUri"] == "s3://bucket/lake/cat/a%20b"


def test_a_new_database_gets_the_requested_location(namespace: GlueNamespace, client: Any) -> None:
    made = make(namespace, "db", properties={"location": "s3://other/place/", **DATABASE})
    assert made["location"] == "s3://other/place"
    database = client.get_database(Name="db")["Database"]
    assert database["LocationUri"] == "s3://other/place"
    assert database["Parameters"] == {}


def test_without_root_a_database_has_no_location(connected: Connect, client: Any) -> None:
    make(connected(root=None), "db", properties=DATABASE)
    assert "LocationUri" not in client.get_database(Name="db")["Database"]


# --- listing


@pytest.mark.requirement(
    "glue.config.catalog-id.default", "glue.mapping.root", "glue.list-namespaces.root"
)
def test_the_root_lists_its_catalogs_and_databases(
    namespace: GlueNamespace, glue: GlueServer, client: Any
) -> None:
    for path in ("zoo", "ant", "ant/nested"):
        glue.add_catalog(path)
    client.create_database(DatabaseInput={"Name": "middle"})
    assert namespace.list_namespaces({"id": []}).namespaces == ["ant", "middle", "zoo"]
    asked = [call.parameters for call in glue.calls if call.operation == "GetCatalogs"]
    assert asked == [{"IncludeRoot": True}]
    assert namespace.list_namespaces({"id": ["ant"]}).namespaces == ["nested"]


@pytest.mark.requirement(
    "glue.mapping.child-catalog", "glue.list-namespaces.children", "glue.list-namespaces.catalog"
)
def test_a_catalog_lists_databases_and_child_catalogs(
    namespace: GlueNamespace, glue: GlueServer, client: Any
) -> None:
    for path in ("c", "c/two", "c/two/deep"):
        glue.add_catalog(path)
    client.create_database(DatabaseInput={"Name": "one"}, CatalogId="c")
    assert namespace.list_namespaces({"id": ["c"]}).namespaces == ["one", "two"]
    assert namespace.list_tables({"id": ["c"]}).tables == []
    assert namespace.list_tables({"id": []}).tables == []


@pytest.mark.requirement("glue.list-namespaces.paging")
def test_listing_reads_all_pages_of_glue(namespace: GlueNamespace, glue: GlueServer) -> None:
    for number in range(1050):
        glue.add_catalog(f"c{number:04}")
        glue.backend().create_database(f"d{number:04}", {"Name": f"d{number:04}"})
    found = list(namespace.iter_namespaces())
    assert found == sorted(found)
    assert len(found) == 2100
    assert glue.count("GetCatalogs") == 2
    assert glue.count("GetDatabases") == 11
    first = namespace.list_namespaces({"id": [], "limit": 3})
    assert first.namespaces == ["c0000", "c0001", "c0002"]
    again = namespace.list_namespaces({"id": [], "limit": 3, "page_token": first.page_token})
    assert again.namespaces == ["c0003", "c0004", "c0005"]


@pytest.mark.requirement(
    "glue.list-namespaces.missing", "glue.describe-namespace.missing", "glue.list-tables.parent"
)
def test_a_missing_namespace_is_code_1(namespace: GlueNamespace) -> None:
    for operation in ("list_namespaces", "list_tables", "describe_namespace", "namespace_exists"):
        for names in (["none"], ["none", "db"], ["a", "b", "c"]):
            with pytest.raises(NamespaceNotFoundError):
                getattr(namespace, operation)({"id": names})


def test_a_missing_name_is_looked_up_once(namespace: GlueNamespace, glue: GlueServer) -> None:
    with pytest.raises(NamespaceNotFoundError):
        namespace.describe_namespace({"id": ["none"]})
    assert [call.operation for call in glue.calls] == ["GetCatalog", "GetDatabase"]


def test_the_root_always_exists_and_cannot_change(namespace: GlueNamespace) -> None:
    assert namespace.describe_namespace({}).properties == {}
    namespace.namespace_exists({"id": []})
    for operation in ("create_namespace", "drop_namespace", "alter_namespace"):
        with pytest.raises(InvalidInputError):
            getattr(namespace, operation)({"id": []})


# --- dropping


@pytest.mark.requirement("glue.drop-namespace.skip", "glue.drop-namespace.missing")
def test_dropping(namespace: GlueNamespace, glue: GlueServer) -> None:
    make(namespace, "cat", properties={"a": "1"})
    make(namespace, "cat", "db", properties={"b": "2"})
    with pytest.raises(NamespaceNotEmptyError, match="it contains database db"):
        namespace.drop_namespace({"id": ["cat"]})
    dropped = namespace.drop_namespace({"id": ["cat", "db"]}).properties or {}
    assert dropped["b"] == "2"
    assert namespace.drop_namespace({"id": ["cat"]}).properties == {"a": "1"}
    with pytest.raises(NamespaceNotFoundError):
        namespace.drop_namespace({"id": ["cat"]})
    assert namespace.drop_namespace({"id": ["cat"], "mode": "skip"}).properties == {}


@pytest.mark.requirement("glue.drop-namespace.restrict-only")
def test_cascade_is_unsupported(namespace: GlueNamespace, database: str) -> None:
    with pytest.raises(UnsupportedError, match="does not support Cascade"):
        namespace.drop_namespace({"id": [database], "behavior": "Cascade"})
    namespace.namespace_exists({"id": [database]})


@pytest.mark.requirement("glue.drop-namespace.not-empty", "glue.drop-namespace.catalog")
def test_any_object_makes_a_namespace_nonempty(
    namespace: GlueNamespace, database: str, client: Any, glue: GlueServer
) -> None:
    glue.add_catalog("cat")
    glue.add_catalog("cat/child")
    client.create_database(DatabaseInput={"Name": "functions"})
    client.create_user_defined_function(
        DatabaseName="functions", FunctionInput={"FunctionName": "f", "ClassName": "C"}
    )
    client.create_table(DatabaseName=database, TableInput={"Name": "parquet"})
    for name, held in (
        (database, "table parquet"),  # not a Lance table
        ("functions", "function f"),
        ("cat", "catalog child"),
    ):
        with pytest.raises(NamespaceNotEmptyError, match=f"it contains {held}"):
            namespace.drop_namespace({"id": [name]})
    assert glue.count("DeleteDatabase") == glue.count("DeleteCatalog") == 0


@pytest.mark.requirement("glue.drop-namespace.database")
def test_an_empty_first_page_is_not_the_end(
    namespace: GlueNamespace, database: str, client: Any, glue: GlueServer
) -> None:
    client.create_table(DatabaseName=database, TableInput={"Name": "t"})
    glue.add_catalog("cat")
    client.create_database(DatabaseInput={"Name": "inner"}, CatalogId="cat")
    glue.add_catalog("top")
    glue.add_catalog("top/child")
    glue.empty_first_page = True
    for names in ([database], ["cat"], ["top"]):
        with pytest.raises(NamespaceNotEmptyError) as caught:
            namespace.drop_namespace({"id": names})
        assert caught.value.code == 3
    assert glue.count("DeleteDatabase") == glue.count("DeleteCatalog") == 0


# --- altering


def test_altering_a_database_keeps_its_other_fields(namespace: GlueNamespace, client: Any) -> None:
    client.create_database(
        DatabaseInput={
            "Name": "db",
            "Description": "kept",
            "LocationUri": "s3://bucket/db",
            "Parameters": {"a": "1", "b": "2"},
            "CreateTableDefaultPermissions": [
                {"Principal": {"DataLakePrincipalIdentifier": "x"}, "Permissions": ["ALL"]}
            ],
        }
    )
    before = client.get_database(Name="db")["Database"]
    answer = namespace.alter_namespace(
        {"id": ["db"], "set_properties": {"c": "3"}, "unset_properties": ["a", "unknown"]}
    )
    assert answer.properties == {
        "b": "2",
        "c": "3",
        "description": "kept",
        "location": "s3://bucket/db",
    }
    after = client.get_database(Name="db")["Database"]
    assert after == {**before, "Parameters": {"b": "2", "c": "3"}}


def test_altering_the_location_of_a_database(namespace: GlueNamespace, client: Any) -> None:
    make(namespace, "db", properties=DATABASE)
    namespace.alter_namespace({"id": ["db"], "set_properties": {"location": "s3://new/place"}})
    assert client.get_database(Name="db")["Database"]["LocationUri"] == "s3://new/place"
    namespace.alter_namespace({"id": ["db"], "unset_properties": ["location"]})
    assert "LocationUri" not in client.get_database(Name="db")["Database"]


@pytest.mark.parametrize("kind", [DATABASE, CATALOG])
def test_the_description_of_a_namespace(
    namespace: GlueNamespace, client: Any, kind: dict[str, str]
) -> None:
    def stored() -> dict[str, Any]:
        if kind is DATABASE:
            found: dict[str, Any] = client.get_database(Name="x")["Database"]
        else:
            found = client.get_catalog(CatalogId="x")["Catalog"]
        return found

    made = make(namespace, "x", properties={"description": "first words", "a": "1", **kind})
    assert made["description"] == "first words"
    assert (stored()["Description"], stored()["Parameters"]) == ("first words", {"a": "1"})
    namespace.alter_namespace({"id": ["x"], "set_properties": {"description": "others"}})
    assert stored()["Description"] == "others"
    found = namespace.describe_namespace({"id": ["x"]}).properties
    assert found is not None
    assert (found["description"], found["a"]) == ("others", "1")
    namespace.alter_namespace({"id": ["x"], "unset_properties": ["description"]})
    assert "Description" not in stored()
    assert stored()["Parameters"] == {"a": "1"}


def test_altering_a_catalog_keeps_its_other_fields(namespace: GlueNamespace, client: Any) -> None:
    client.create_catalog(
        Name="cat",
        CatalogInput={
            "Description": "kept",
            "Parameters": {"a": "1"},
            "CatalogProperties": {
                "DataLakeAccessProperties": {"DataLakeAccess": True},
                "CustomProperties": {"x": "y"},
            },
        },
    )
    before = client.get_catalog(CatalogId="cat")["Catalog"]
    namespace.alter_namespace({"id": ["cat"], "set_properties": {"b": "2"}})
    after = client.get_catalog(CatalogId="cat")["Catalog"]
    assert after == {**before, "Parameters": {"a": "1", "b": "2"}}


def test_invalid_namespace_changes(namespace: GlueNamespace, database: str) -> None:
    with pytest.raises(NamespaceNotFoundError):
        namespace.alter_namespace({"id": ["none"], "set_properties": {"a": "1"}})
    with pytest.raises(InvalidInputError, match="cannot be changed"):
        namespace.alter_namespace({"id": [database], "set_properties": CATALOG})
    with pytest.raises(InvalidInputError):
        namespace.alter_namespace(
            {"id": [database], "set_properties": {"a": "1"}, "unset_properties": ["a"]}
        )


def test_no_concurrent_namespace_change_is_lost(
    namespace: GlueNamespace, properties: dict[str, Any]
) -> None:
    make(namespace, "db", properties=DATABASE)
    work = Work("glue", properties, "alter_namespace", ["db"])
    with processes() as pool:
        changed = change_from_everywhere(pool, work)
    assert changed <= set(namespace.describe_namespace({"id": ["db"]}).properties or {})
