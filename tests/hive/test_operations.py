"""Each operation as specified, on every form and release."""

from __future__ import annotations

import socket
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    LanceNamespaceError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect

from .conftest import Form

ROWS = pa.table({"x": [1, 2]})


@pytest.mark.requirement("hive3.mapping.root", "hive2.root", "hive2.children")
def test_the_root_is_the_metastore(form: Form) -> None:
    form.namespace.namespace_exists({})
    assert form.namespace.describe_namespace({"id": []}).properties == {}
    children = form.namespace.list_namespaces({}).namespaces
    assert ("hive" if form.above else "default") in children
    assert children == sorted(children)
    assert form.namespace.list_tables({}).tables == []


@pytest.mark.requirement(
    "hive3.create-namespace.exists",
    "hive3.drop-namespace.missing",
    "hive3.drop-namespace.not-empty",
    "hive3.declare-table.identifier",
    "hive3.declare-table.parent",
    "hive3.declare-table.no-parent",
    "hive3.declare-table.exists",
    "hive3.describe-table.missing",
    "hive3.deregister-table.missing",
)
def test_rejected_calls_have_a_code_and_change_nothing(form: Form) -> None:
    database, missing = form.database({"k": "v"}), [*form.above, "none"]
    before = form.namespace.describe_namespace({"id": database}).properties
    t, x = [*database, "t"], [*database, "x"]
    for name in ("t", "u"):
        form.namespace.declare_table({"id": [*database, name]})
    looked_up = ("describe_table", "table_exists", "deregister_table", "drop_table")
    for operation, identifier, more, code in (
        ("create_namespace", database, {}, 2),
        ("create_namespace", database, {"mode": "OVERWRITE"}, 3),
        ("create_namespace", [*database, "deeper"], {}, 13),
        ("drop_namespace", missing, {"mode": "FAIL"}, 1),
        ("drop_namespace", database, {"behavior": "RESTRICT"}, 3),
        ("declare_table", t, {}, 5),
        ("declare_table", [*missing, "t"], {}, 1),
        ("declare_table", [*t, "deeper"], {}, 13),
        ("declare_table", ["t"], {}, 13),
        *((operation, x, {}, 4) for operation in looked_up),
        ("rename_table", x, {"new_table_name": "y"}, 4),
        ("rename_table", t, {"new_table_name": "u"}, 5),
        ("rename_table", t, {"new_table_name": "y", "new_namespace_id": missing}, 1),
    ):
        with pytest.raises(LanceNamespaceError) as refused:
            getattr(form.namespace, operation)({"id": identifier, **more})
        assert refused.value.code == code, (operation, identifier)
    assert form.namespace.describe_namespace({"id": database}).properties == before
    assert form.namespace.list_tables({"id": database}).tables == ["t", "u"]


@pytest.mark.requirement("hive3.create-namespace.modes", "hive3.drop-namespace.skip")
def test_modes(form: Form) -> None:
    database = form.database({"k": "v"})
    kept = form.namespace.create_namespace({"id": database, "mode": "EXIST_OK"}).properties or {}
    assert kept["k"] == "v"
    again = {"id": database, "mode": "OVERWRITE", "properties": {"n": "1"}}
    made = form.namespace.create_namespace(again).properties or {}
    assert made["n"] == "1"
    assert "k" not in made
    form.namespace.declare_table({"id": [*database, "t"]})
    form.namespace.drop_namespace({"id": database, "behavior": "CASCADE"})
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.namespace_exists({"id": database})
    form.namespace.drop_namespace({"id": database, "mode": "SKIP"})


@pytest.mark.requirement(
    "hive3.config.root", "hive3.create-namespace.database", "hive3.declare-table.location"
)
def test_default_and_requested_locations(form: Form) -> None:
    database = form.database()
    properties = form.namespace.describe_namespace({"id": database}).properties or {}
    home = properties["database.location-uri"]
    assert home == str(form.root.joinpath(*database))
    declared = form.namespace.declare_table({"id": [*database, "t"]})
    assert declared.location == f"{home}/t"
    elsewhere = form.database({"database.location-uri": str(form.root / "elsewhere")})
    declared = form.namespace.declare_table({"id": [*elsewhere, "t"]})
    assert declared.location == str(form.root / "elsewhere" / "t")
    declared = form.namespace.declare_table(
        {"id": [*database, "u"], "location": str(form.root / "u")}
    )
    assert declared.location == str(form.root / "u")
    assert form.namespace.describe_table({"id": [*database, "u"]}).location == declared.location


@pytest.mark.requirement("hive3.config.storage")
def test_storage_options(form: Form) -> None:
    database = form.database()
    with form.connect(**{"storage.region": "us-west-2", "storage.a": "1"}) as namespace:
        table = {"id": [*database, "t"]}
        namespace.declare_table({**table, "properties": {"storage.a": "2", "k": "v"}})
        found = namespace.describe_table(table)
        assert found.storage_options == {"region": "us-west-2", "a": "2"}
        assert found.properties == {"k": "v", "table_type": "lance"}


@pytest.mark.requirement("hive3.list-tables.order")
def test_listings_are_sorted_and_paged(form: Form) -> None:
    database = form.database()
    names = ["c", "a", "e", "b", "d"]
    for name in names:
        form.namespace.declare_table({"id": [*database, name]})
    assert form.namespace.list_tables({"id": database}).tables == sorted(names)
    assert list(form.namespace.iter_tables(database, page_size=2)) == sorted(names)
    page = form.namespace.list_tables({"id": database, "limit": 2})
    assert page.tables == ["a", "b"]
    assert page.page_token


@pytest.mark.requirement("hive3.identification.location", "hive3.declare-table.no-data")
def test_declared_tables_have_no_data_until_rows_are_written(form: Form) -> None:
    table = {"id": [*form.database(), "t"]}
    declared = form.namespace.declare_table(table)
    found = form.namespace.describe_table({**table, "check_declared": True})
    assert found.is_only_declared
    assert found.version is None
    created = form.namespace.create_table(table, ROWS)
    assert created.location == declared.location
    found = form.namespace.describe_table({**table, "load_detailed_metadata": True})
    assert (found.version, found.is_only_declared) == (1, False)
    assert found.schema is not None
    assert form.namespace.count_table_rows(table).count == 2


def test_registering_and_its_modes(form: Form) -> None:
    table = {"id": [*form.database(), "t"]}
    form.namespace.create_table(table, ROWS)
    place = form.namespace.deregister_table(table).location
    with pytest.raises(TableNotFoundError):
        form.namespace.describe_table(table)
    assert Path(str(place)).is_dir()
    form.namespace.register_table({**table, "location": place, "properties": {"k": "v"}})
    assert form.namespace.count_table_rows(table).count == 2
    with pytest.raises(TableAlreadyExistsError):
        form.namespace.register_table({**table, "location": place})
    form.namespace.register_table({**table, "location": place, "mode": "OVERWRITE"})
    assert form.namespace.describe_table(table).properties == {"table_type": "lance"}


@pytest.mark.requirement(
    "hive3.create-namespace.unreachable",
    "hive3.list-namespaces.unreachable",
    "hive3.describe-namespace.unreachable",
    "hive3.drop-namespace.unreachable",
    "hive3.declare-table.unreachable",
    "hive3.list-tables.unreachable",
    "hive3.describe-table.unreachable",
    "hive3.deregister-table.unreachable",
)
def test_an_unreachable_metastore_is_code_17(form: Form) -> None:
    """Every operation that uses the catalog reports it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        uri = f"thrift://127.0.0.1:{probe.getsockname()[1]}"
        database = [*form.above, "d"]
        table = [*database, "t"]
        requests = {
            "CreateNamespace": {"id": database},
            "ListNamespaces": {"id": form.above},
            "DescribeNamespace": {"id": database},
            "NamespaceExists": {"id": database},
            "DropNamespace": {"id": database},
            "AlterNamespace": {"id": database, "set_properties": {"k": "v"}},
            "ListTables": {"id": database},
            "ListAllTables": {},
            "DeclareTable": {"id": table},
            "RegisterTable": {"id": table, "location": "/t"},
            "DescribeTable": {"id": table},
            "TableExists": {"id": table},
            "DeregisterTable": {"id": table},
            "DropTable": {"id": table},
            "RenameTable": {"id": table, "new_table_name": "u"},
            "AlterTable": {"id": table, "set_properties": {"k": "v"}},
            "CountTableRows": {"id": table},
        }
        with connect(form.impl, {"uri": uri}) as namespace:
            for operation, request in requests.items():
                with pytest.raises(ServiceUnavailableError, match="can be reached") as raised:
                    getattr(namespace, OPERATIONS[operation].method_name)(request)
                assert raised.value.code == 17
                assert uri in str(raised.value)
        with pytest.raises(ServiceUnavailableError):
            connect("hive", {"uri": uri})
