"""Catalogs are created, described, listed, altered and dropped in the metastore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from pymetastore.hive_metastore.ttypes import (
    AlterCatalogRequest,
    Catalog,
    CreateCatalogRequest,
    Database,
    DropCatalogRequest,
    GetCatalogRequest,
    InvalidOperationException,
    MetaException,
)

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    UnsupportedError,
)
from lance_namespace_impls.hive.client import Metastore as Client

from .conftest import FORMS, Form, parameters

pytestmark = pytest.mark.parametrize(
    "form", parameters([form for form in FORMS if form[1] == "hive3"]), indirect=True
)


@pytest.fixture
def catalog(form: Form) -> Iterator[str]:
    yield form.above[0]
    form.namespace.drop_namespace({"id": form.above, "behavior": "CASCADE", "mode": "SKIP"})


@pytest.mark.requirement(
    "hive3.mapping.catalog", "hive3.create-namespace.level", "hive3.list-namespaces.root"
)
def test_other_clients_see_a_created_catalog(form: Form, catalog: str) -> None:
    found = form.metastore.connect().get_catalog(GetCatalogRequest(catalog)).catalog
    assert found.locationUri == f"file://{form.root}/{catalog}"
    assert catalog in form.namespace.list_namespaces({}).namespaces
    assert form.namespace.list_namespaces({"id": [catalog]}).namespaces == ["default"]
    with pytest.raises(NamespaceAlreadyExistsError):
        form.namespace.create_namespace({"id": [catalog]})


@pytest.mark.requirement(
    "hive3.mapping.catalog-properties",
    "hive3.create-namespace.catalog",
    "hive3.describe-namespace.catalog",
)
def test_properties_of_a_catalog(form: Form, catalog: str) -> None:
    given = {"catalog.description": "all", "catalog.location-uri": str(form.root / "there")}
    other = {"id": [f"{catalog}_p"]}
    assert form.namespace.create_namespace({**other, "properties": given}).properties == given
    assert form.namespace.describe_namespace(other).properties == given
    changed = {**given, "catalog.description": "none"}
    request = {**other, "set_properties": {"catalog.description": "none"}}
    assert form.namespace.alter_namespace(request).properties == changed
    request = {**other, "unset_properties": ["catalog.description"]}
    with pytest.raises(UnsupportedError, match="cannot remove a description"):
        form.namespace.alter_namespace(request)
    assert form.namespace.describe_namespace(other).properties == changed
    with pytest.raises(InvalidInputError):
        form.namespace.alter_namespace({**other, "unset_properties": ["catalog.location-uri"]})
    form.namespace.drop_namespace(other)


@pytest.mark.requirement("hive3.mapping.catalog-properties.others")
def test_other_catalog_properties_are_rejected(form: Form, catalog: str) -> None:
    with pytest.raises(InvalidInputError, match="not owner"):
        form.namespace.create_namespace({"id": ["other"], "properties": {"owner": "ann"}})
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.describe_namespace({"id": ["other"]})
    with pytest.raises(InvalidInputError, match="not owner"):
        form.namespace.alter_namespace({"id": [catalog], "set_properties": {"owner": "ann"}})


@pytest.mark.requirement(
    "hive3.create-namespace.database.parent",
    "hive3.create-namespace.no-parent",
    "hive3.list-namespaces.missing",
)
def test_a_database_needs_its_catalog(form: Form, catalog: str) -> None:
    with pytest.raises(NamespaceNotFoundError, match="namespace none does not exist"):
        form.namespace.create_namespace({"id": ["none", "d"]})
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.list_namespaces({"id": ["none"]})


@pytest.mark.requirement("hive3.background.levels", "hive3.mapping.database")
def test_catalogs_have_separate_databases(form: Form, catalog: str) -> None:
    for above in (catalog, "hive"):
        form.namespace.create_namespace({"id": [above, "twin"]})
        form.namespace.declare_table({"id": [above, "twin", f"in_{above}"]})
    assert form.namespace.list_tables({"id": [catalog, "twin"]}).tables == [f"in_{catalog}"]
    assert form.namespace.list_tables({"id": ["hive", "twin"]}).tables == ["in_hive"]
    with pytest.raises(UnsupportedError, match=f"cannot move a table out of {catalog}"):
        form.namespace.rename_table(
            {
                "id": [catalog, "twin", f"in_{catalog}"],
                "new_table_name": "t",
                "new_namespace_id": ["hive", "twin"],
            }
        )
    form.namespace.drop_namespace({"id": ["hive", "twin"], "behavior": "CASCADE"})


def test_the_metastore_deletes_the_folder_of_a_dropped_catalog(form: Form, catalog: str) -> None:
    """The bare call deletes data; this package must not, so it changes the location first."""
    client = form.metastore.connect()
    place = Path(form.root, "bare")
    client.create_catalog(CreateCatalogRequest(Catalog("bare", None, f"file:{place}")))
    place.joinpath("precious").write_text("data")
    client.drop_catalog(DropCatalogRequest("bare"))
    assert not place.joinpath("precious").exists()


@pytest.mark.requirement("hive3.drop-namespace.drop")
@pytest.mark.parametrize("behavior", ["RESTRICT", "CASCADE"])
def test_dropping_a_catalog_keeps_files_at_its_location(
    form: Form, catalog: str, behavior: str
) -> None:
    place = Path(form.root, catalog)
    place.joinpath("precious").write_text("data")
    lance.write_dataset(pa.table({"x": [1]}), place / "loose.lance")
    form.namespace.drop_namespace({"id": [catalog], "behavior": behavior})
    assert catalog not in form.metastore.connect().get_catalogs().names
    assert place.joinpath("precious").read_text() == "data"
    assert lance.dataset(place / "loose.lance").count_rows() == 1
    assert [each.name for each in place.iterdir() if each.name.startswith(".dropped")] == []


@pytest.mark.requirement(
    "hive3.list-namespaces.catalog", "hive3.drop-namespace.cascade", "hive3.drop-namespace.data"
)
def test_a_catalog_cascade_keeps_the_data(form: Form, catalog: str) -> None:
    places = []
    for database in ("d1", "d2", "default"):
        request = {"id": [catalog, database], "mode": "EXIST_OK"}
        form.namespace.create_namespace(request)
        table = {"id": [catalog, database, "t"]}
        form.namespace.create_table(table, pa.table({"x": [1, 2]}))
        places.append(form.namespace.describe_table(table).location)
    with pytest.raises(NamespaceNotEmptyError, match="database d1"):
        form.namespace.drop_namespace({"id": [catalog]})
    assert form.namespace.list_namespaces({"id": [catalog]}).namespaces == ["d1", "d2", "default"]
    answer = form.namespace.drop_namespace({"id": [catalog], "behavior": "CASCADE"})
    assert answer.properties == {"catalog.location-uri": str(form.root / catalog)}
    assert [lance.dataset(place).count_rows() for place in places] == [2, 2, 2]
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.describe_namespace({"id": [catalog]})


@pytest.mark.requirement("hive3.drop-namespace.restrict.catalog")
def test_a_table_in_the_default_database_makes_a_catalog_nonempty(form: Form, catalog: str) -> None:
    form.namespace.declare_table({"id": [catalog, "default", "t"]})
    for call, request in (
        (form.namespace.drop_namespace, {"id": [catalog]}),
        (form.namespace.create_namespace, {"id": [catalog], "mode": "OVERWRITE"}),
    ):
        with pytest.raises(NamespaceNotEmptyError):
            call(request)
    assert form.namespace.list_tables({"id": [catalog, "default"]}).tables == ["t"]
    found = form.metastore.connect().get_catalog(GetCatalogRequest(catalog)).catalog
    assert found.locationUri == f"file://{form.root}/{catalog}"


@pytest.mark.requirement("hive3.create-namespace.modes.catalog")
def test_an_empty_catalog_is_overwritten(form: Form, catalog: str) -> None:
    request = {
        "id": [catalog],
        "mode": "OVERWRITE",
        "properties": {"catalog.description": "again"},
    }
    properties = form.namespace.create_namespace(request).properties or {}
    assert properties["catalog.description"] == "again"
    assert form.namespace.list_namespaces({"id": [catalog]}).namespaces == ["default"]


def test_a_failed_catalog_drop_is_undone(
    form: Form, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = form.metastore.connect()
    drop = Client.drop_catalog

    def lose_the_race(self: Client, name: str) -> None:
        place = f"file:{form.root}/late"
        client.create_database(Database(name="late", catalogName=name, locationUri=place))
        drop(self, name)

    monkeypatch.setattr(Client, "drop_catalog", lose_the_race)
    with pytest.raises(NamespaceNotEmptyError):
        form.namespace.drop_namespace({"id": [catalog]})
    assert form.namespace.list_namespaces({"id": [catalog]}).namespaces == ["default", "late"]
    found = client.get_catalog(GetCatalogRequest(catalog)).catalog
    assert found.locationUri == f"file://{form.root}/{catalog}"


def test_the_catalog_of_hive_cannot_be_dropped(form: Form, catalog: str) -> None:
    with pytest.raises(MetaException, match="Can not drop hive catalog"):
        form.metastore.connect().drop_catalog(DropCatalogRequest("hive"))
    for request in ({"id": ["hive"]}, {"id": ["hive"], "behavior": "CASCADE"}):
        with pytest.raises(InvalidInputError, match="cannot be dropped"):
            form.namespace.drop_namespace(request)
    assert "default" in form.namespace.list_namespaces({"id": ["hive"]}).namespaces


def test_invalid_catalog_names(form: Form, catalog: str) -> None:
    with pytest.raises(LanceNamespaceError, match="is not a valid catalog name") as raised:
        form.namespace.create_namespace({"id": ["a-b"]})
    assert raised.value.code == 13


def test_responses_of_the_bare_client(form: Form, catalog: str) -> None:
    """The implementation relies on these responses of the metastore."""
    client = form.metastore.connect()
    assert client.get_databases("@none#*") == []
    client.create_database(
        Database(name="d", catalogName=catalog, locationUri=f"file:{form.root}/d")
    )
    with pytest.raises(InvalidOperationException):
        client.drop_catalog(DropCatalogRequest(catalog))
    moved = Catalog(catalog, "moved", f"file:{form.root}/nowhere")
    client.alter_catalog(AlterCatalogRequest(catalog, moved))
    assert not Path(form.root, "nowhere").exists()
