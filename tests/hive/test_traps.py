"""Unexpected behavior of metastores, and how a namespace handles it."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from pymetastore.hive_metastore.ttypes import (
    Database,
    Function,
    FunctionType,
    GetTableRequest,
    MetaException,
    NoSuchObjectException,
    PrincipalType,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from thrift.Thrift import TApplicationException

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.hive import records
from lance_namespace_impls.hive.client import Metastore as Client
from tests.behaviour import cut_off
from tests.servers.hive import shared

from .conftest import Form


def plain_table(form: Form, database: str, name: str, **more: object) -> Table:
    """Build a table as Hive itself creates them: managed, with columns."""
    values = {
        "catName": form.catalog,
        "dbName": database,
        "tableName": name,
        "tableType": "MANAGED_TABLE",
        "parameters": {},
        "partitionKeys": [],
        "sd": StorageDescriptor(
            cols=[],
            location=f"file:{form.root}/plain/{name}",
            serdeInfo=SerDeInfo(parameters={}),
            parameters={},
        ),
    }
    return Table(**{**values, **more})


# --- missing databases


def test_dropping_a_missing_database(form: Form) -> None:
    client = form.metastore.connect()
    with pytest.raises((MetaException, NoSuchObjectException)) as raised:
        client.drop_database(form.named("none"), False, False)
    if form.metastore.release.version < "4":
        assert "NullPointerException" in raised.value.message
    missing = {"id": [*form.above, "none"]}
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.drop_namespace(missing)
    form.namespace.drop_namespace({**missing, "mode": "SKIP"})


def test_a_database_deleted_during_its_drop_is_not_found(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = form.database()
    read = Client.database

    def read_then_lose(client: Client, catalog: str | None, name: str) -> Database:
        found = read(client, catalog, name)
        form.metastore.connect().drop_database(form.named(name), False, False)
        monkeypatch.undo()
        return found

    monkeypatch.setattr(Client, "database", read_then_lose)
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.drop_namespace({"id": database})


@pytest.mark.requirement("hive3.list-tables.exists")
def test_listing_the_tables_of_a_missing_database(form: Form) -> None:
    client = form.metastore.connect()
    assert client.get_all_tables(form.named("none")) == []
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.list_tables({"id": [*form.above, "none"]})


def test_looking_up_many_tables_of_a_missing_database(form: Form) -> None:
    client = form.metastore.connect()
    with pytest.raises(TApplicationException):
        client.get_table_objects_by_name(form.named("none"), ["t"])
    lookups = form.namespace.load_tables((*form.above, "none"), iter(["t"]))  # type: ignore[attr-defined]
    with pytest.raises(NamespaceNotFoundError):
        list(lookups)


@pytest.mark.requirement("general-095")
def test_a_missing_parent_differs_from_an_invalid_name(form: Form) -> None:
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.declare_table({"id": [*form.above, "none", "t"]})
    database = form.database()
    if form.metastore.release.version < "4":
        with pytest.raises(InvalidInputError, match="not a valid object name"):
            form.namespace.declare_table({"id": [*database, "a-b"]})
        form.namespace.declare_table({"id": [*database, "t"]})
        with pytest.raises(InvalidInputError, match="not a valid object name"):
            form.namespace.rename_table({"id": [*database, "t"], "new_table_name": "a-b"})
    else:
        form.namespace.declare_table({"id": [*database, "a-b"]})
        assert form.namespace.list_tables({"id": database}).tables == ["a-b"]


# --- names


@pytest.mark.parametrize("name", ["Table", " t", "t ", "@hive#t", "a#b"])
def test_names_that_would_not_round_trip_are_rejected(form: Form, name: str) -> None:
    database = form.database()
    for call, request in (
        (form.namespace.declare_table, {"id": [*database, name]}),
        (form.namespace.create_namespace, {"id": [*form.above, name]}),
        (form.namespace.describe_table, {"id": [*database, name]}),
        (form.namespace.list_tables, {"id": [*form.above, name]}),
    ):
        with pytest.raises(InvalidInputError) as raised:
            call(request)
        assert repr(name) in str(raised.value)
        assert name != "Table" or "use 'table' instead" in str(raised.value)


def test_a_name_without_a_valid_path_is_rejected(form: Form) -> None:
    """Hive builds a folder path from a database's name, which fails for some names."""
    identifier = [*form.above, "x:b"]
    with pytest.raises(InvalidInputError):
        form.namespace.create_namespace({"id": identifier})
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.namespace_exists({"id": identifier})


# --- releases


@pytest.mark.requirement("general-120", "hive2.direct", "hive2.impl")
def test_hive_detects_the_release_of_the_metastore(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Client] = []
    close = Client.close

    def noted(client: Client) -> None:
        closed.append(client)
        close(client)

    monkeypatch.setattr(Client, "close", noted)
    properties = form.metastore.properties(form.root)
    with connect("hive", {**properties, "hive.uri": properties.pop("uri")}) as namespace:
        assert len(closed) == 1, "the connection that asked is closed"
        expected = "hive3" if form.metastore.release.has_catalogs else "hive2"
        assert namespace.config.impl == expected
        assert namespace.properties["uri"] == form.metastore.uri


@pytest.mark.xdist_group("hive 2.3")
def test_get_table_req_does_not_distinguish_releases() -> None:
    client = shared("2.3").connect()
    with pytest.raises(NoSuchObjectException):
        client.get_table_req(GetTableRequest("default", "none"))
    with pytest.raises(TApplicationException) as raised:
        client.get_catalogs()
    assert raised.value.type == TApplicationException.UNKNOWN_METHOD


@pytest.mark.requirement("general-094")
@pytest.mark.xdist_group("hive 2.3")
def test_hive_2_silently_ignores_catalogs() -> None:
    client = shared("2.3").connect()
    database = Database(name="ignored", catalogName="c", locationUri="file:/tmp/ignored")
    client.create_database(database)
    try:
        assert "ignored" in client.get_all_databases()
        with (
            connect("hive3", {"uri": shared("2.3").uri}) as namespace,
            pytest.raises(UnsupportedError, match="use impl hive2"),
        ):
            namespace.create_namespace({"id": ["c", "other"]})
        assert "other" not in client.get_all_databases()
    finally:
        client.drop_database("ignored", False, False)


def test_unsupported_calls_are_tried_once_per_connection(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lance_namespace_impls.hive.pool import Connection

    database = form.database()
    form.namespace.declare_table({"id": [*database, "t"]})
    asked: list[str] = []

    class Old:
        """A metastore that predates the calls with request objects."""

        def __init__(self, client: object) -> None:
            self._client = client

        def __getattr__(self, name: str) -> object:
            asked.append(name)
            if name.endswith("_req") or name == "get_table_names_by_filter":
                raise TApplicationException(TApplicationException.UNKNOWN_METHOD, name)
            return getattr(self._client, name)

    opened = Connection.__init__

    def open_old(connection: Connection, *args: object) -> None:
        opened(connection, *args)  # type: ignore[arg-type]
        connection.client = Old(connection.client)

    monkeypatch.setattr(Connection, "__init__", open_old)
    with form.connect() as namespace:
        if form.metastore.release.version >= "4":  # has only the calls with request objects
            with pytest.raises(UnsupportedError, match="does not support the call"):
                namespace.describe_table({"id": [*database, "t"]})
            return
        for _ in range(3):
            assert namespace.describe_table({"id": [*database, "t"]}).table == "t"
            assert namespace.list_tables({"id": database}).tables == ["t"]
    assert asked.count("get_table_req") == 1
    assert asked.count("get_table") == 3
    assert asked.count("get_table_names_by_filter") == 1
    assert asked.count("get_table_objects_by_name_req") == 1
    assert asked.count("get_table_objects_by_name") == 3


# --- changes


@pytest.mark.requirement(
    "hive3.mapping.namespace-properties",
    "hive3.mapping.database-fields",
    "hive3.describe-namespace.database",
)
def test_altering_a_database_keeps_its_owner(form: Form) -> None:
    given = {
        "database.description": "all flights",
        "database.owner": "ann",
        "database.owner-type": "ROLE",
        "database.location-uri": str(form.root / "flights"),
        "x": "1",
    }
    database = form.database(given)
    assert form.namespace.describe_namespace({"id": database}).properties == given
    changes = {"id": database, "set_properties": {"y": "2"}, "unset_properties": ["x"]}
    expected = {key: value for key, value in given.items() if key != "x"} | {"y": "2"}
    assert form.namespace.alter_namespace(changes).properties == expected
    assert form.namespace.describe_namespace({"id": database}).properties == expected


def test_hive_2_cannot_change_a_description(form: Form) -> None:
    database = form.database({"database.description": "old", "x": "1"})
    changes = {"id": database, "set_properties": {"database.description": "new", "x": "2"}}
    if form.metastore.release.has_catalogs:
        properties = form.namespace.alter_namespace(changes).properties or {}
        assert (properties["database.description"], properties["x"]) == ("new", "2")
    else:
        with pytest.raises(UnsupportedError, match="Hive 2 cannot change"):
            form.namespace.alter_namespace(changes)
        properties = form.namespace.describe_namespace({"id": database}).properties or {}
        assert (properties["database.description"], properties["x"]) == ("old", "1")


def test_a_description_cannot_be_removed(form: Form) -> None:
    database = form.database({"database.description": "old"})
    for change in (
        {"unset_properties": ["database.description"]},
        {"set_properties": {"database.description": " "}},
    ):
        with pytest.raises(UnsupportedError, match="cannot remove a description"):
            form.namespace.alter_namespace({"id": database, **change})
    record = form.metastore.connect().get_database(form.named(database[-1]))
    record.description = None
    form.metastore.connect().alter_database(form.named(database[-1]), record)
    properties = form.namespace.describe_namespace({"id": database}).properties or {}
    assert properties["database.description"] == "old"  # the bare client cannot remove it either
    plain = form.database()
    form.namespace.alter_namespace({"id": plain, "unset_properties": ["database.description"]})


@pytest.mark.requirement("hive3.mapping.owner-types")
@pytest.mark.parametrize("owner_type", ["user", "ROLE", "Group"])
def test_owner_types(form: Form, owner_type: str) -> None:
    given = {"database.owner": "ann", "database.owner-type": owner_type}
    properties = form.namespace.describe_namespace({"id": form.database(given)}).properties or {}
    assert properties["database.owner-type"] == owner_type.upper()
    with pytest.raises(InvalidInputError, match="is not one of GROUP, ROLE, USER"):
        form.database({"database.owner-type": "team"})


def test_renaming_across_databases_moves_no_data(form: Form) -> None:
    here, there = form.database(), form.database()
    table = {"id": [*here, "t"]}
    form.namespace.create_table({**table, "properties": {"k": "v"}}, pa.table({"x": [1, 2]}))
    before = form.namespace.describe_table(table)
    form.namespace.rename_table({**table, "new_table_name": "u", "new_namespace_id": there})
    after = form.namespace.describe_table({"id": [*there, "u"]})
    assert (after.location, after.properties) == (before.location, before.properties)
    assert form.namespace.count_table_rows({"id": [*there, "u"]}).count == 2
    with pytest.raises(TableNotFoundError):
        form.namespace.describe_table(table)


# --- nothing is lost


@pytest.mark.requirement("hive3.drop-namespace.restrict.database")
def test_dropping_a_database_keeps_all_data(form: Form) -> None:
    database = form.database()
    client = form.metastore.connect()
    form.namespace.create_table({"id": [*database, "ours"]}, pa.table({"x": [1]}))
    ours = form.namespace.describe_table({"id": [*database, "ours"]}).location
    home = records.plain_location(client.get_database(form.named(database[-1])).locationUri)
    managed = Path(home, "managed")
    table = plain_table(form, database[-1], "managed")
    table.sd.location = f"file:{managed}"
    client.create_table(table)
    managed.joinpath("part-0").write_text("rows")
    client.create_function(
        Function(
            catName=form.catalog,
            functionName="f",
            dbName=database[-1],
            className="x.Y",
            ownerName="ann",
            ownerType=PrincipalType.USER,
            createTime=1,
            functionType=FunctionType.JAVA,
            resourceUris=[],
        )
    )
    with pytest.raises(NamespaceNotEmptyError):
        form.namespace.drop_namespace({"id": database})
    assert form.namespace.list_tables({"id": database}).tables == ["ours"]
    form.namespace.drop_namespace({"id": database, "behavior": "CASCADE"})
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.describe_namespace({"id": database})
    assert managed.joinpath("part-0").read_text() == "rows"
    assert lance.dataset(ours).count_rows() == 1


def test_a_function_makes_a_database_nonempty(form: Form) -> None:
    database = form.database()
    form.metastore.connect().create_function(
        Function(
            catName=form.catalog,
            functionName="f",
            dbName=database[-1],
            className="x.Y",
            ownerName="ann",
            ownerType=PrincipalType.USER,
            createTime=1,
            functionType=FunctionType.JAVA,
            resourceUris=[],
        )
    )
    for request in (
        {"id": database, "behavior": "RESTRICT"},
        {"id": database, "mode": "OVERWRITE"},
    ):
        call = (
            form.namespace.create_namespace if "mode" in request else form.namespace.drop_namespace
        )
        with pytest.raises(NamespaceNotEmptyError):
            call(request)
    form.namespace.drop_namespace({"id": database, "behavior": "CASCADE"})


@pytest.mark.requirement("general-059", "hive3.deregister-table.data", "hive2.both-sides")
def test_deregistering_keeps_the_data_and_dropping_does_not(form: Form) -> None:
    database = form.database()
    table = {"id": [*database, "t"]}
    form.namespace.create_table(table, pa.table({"x": [1]}))
    place = form.namespace.deregister_table(table).location
    assert lance.dataset(place).count_rows() == 1
    form.namespace.register_table({**table, "location": place})
    form.namespace.drop_table(table)
    with pytest.raises(ValueError, match="was not found"):
        lance.dataset(place)


def test_the_default_database_cannot_be_dropped(form: Form) -> None:
    default = [*(["hive"] if form.above else []), "default"]
    for request in ({"id": default}, {"id": default, "behavior": "CASCADE"}):
        with pytest.raises(InvalidInputError, match="cannot be dropped"):
            form.namespace.drop_namespace(request)
    with pytest.raises(InvalidInputError, match="cannot be dropped"):
        form.namespace.create_namespace({"id": default, "mode": "OVERWRITE"})


@pytest.mark.parametrize("cut", cut_off.CUTS)
def test_data_is_kept_if_hive_drops_a_table_after_a_killed_drop(form: Form, cut: str) -> None:
    database = form.database()
    cut_off.check_data_is_kept(
        form.namespace,
        [*database, "t"],
        cut,
        # Like DROP TABLE of an external table: the metastore keeps its data.
        lambda: form.metastore.connect().drop_table(form.named(database[-1]), "t", True),
    )


def test_a_killed_deletion_is_resumed(form: Form) -> None:
    database = form.database()
    cut_off.check_drop_is_resumed(
        form.namespace,
        [*database, "t"],
        lambda: form.metastore.connect().drop_table(form.named(database[-1]), "t", True),
    )
