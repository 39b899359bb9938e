"""How a metastore stores Lance tables, and how they are recognized."""

from __future__ import annotations

from typing import Any

import lance
import pyarrow as pa
import pytest
from pymetastore.hive_metastore.ttypes import (
    GetTableRequest,
)

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
)
from lance_namespace_impls.hive.client import Metastore
from tests.behaviour.home import MakeTable, makes_tables

from .conftest import Form
from .test_traps import plain_table

# --- recognizing Lance tables


@pytest.mark.requirement(
    "general-002",
    "hive3.identification",
    "hive3.list-tables.filter",
    "hive3.describe-table.kind",
    "hive3.deregister-table.kind",
)
def test_only_external_tables_of_type_lance_are_lance_tables(form: Form) -> None:
    database = form.database()
    client = form.metastore.connect()
    for name, kind, parameters in (
        ("plain", "MANAGED_TABLE", {}),
        ("iceberg", "EXTERNAL_TABLE", {"EXTERNAL": "TRUE", "table_type": "ICEBERG"}),
        # Without EXTERNAL=TRUE the table is managed.
        ("managed", "EXTERNAL_TABLE", {"table_type": "lance"}),
        ("managed_upper", "EXTERNAL_TABLE", {"table_type": "LANCE"}),
        ("lancelot", "EXTERNAL_TABLE", {"EXTERNAL": "TRUE", "table_type": "lancelot"}),
        ("upper", "EXTERNAL_TABLE", {"EXTERNAL": "TRUE", "table_type": "LANCE"}),
        ("lower", "EXTERNAL_TABLE", {"EXTERNAL": "true", "table_type": "lance"}),
        ("view", "VIRTUAL_VIEW", {}),
    ):
        text = {"viewOriginalText": "select 1", "viewExpandedText": "select 1"}
        more = text if kind == "VIRTUAL_VIEW" else {}
        table = plain_table(form, database[-1], name, tableType=kind, parameters=parameters, **more)
        client.create_table(table)
    form.namespace.declare_table({"id": [*database, "ours"]})
    others = ["plain", "iceberg", "managed", "managed_upper", "lancelot", "view"]
    lances = ["lower", "ours", "upper"]
    if form.release == "2.3":  # accepts only TRUE, in capitals
        others.append(lances.pop(0))
    assert form.namespace.list_tables({"id": database}).tables == lances
    for name in lances:
        assert form.namespace.describe_table({"id": [*database, name]}).table == name
    for name in others:
        for call in (
            form.namespace.describe_table,
            form.namespace.deregister_table,
            form.namespace.drop_table,
        ):
            with pytest.raises(InvalidInputError, match="is not a Lance table"):
                call({"id": [*database, name]})
    with pytest.raises(NamespaceNotEmptyError):
        form.namespace.drop_namespace({"id": database})


@pytest.mark.requirement("hive3.list-tables.fallback")
def test_tables_are_read_in_batches_without_filter_support(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lance_namespace_impls.hive import base, client

    database = form.database()
    for number in range(7):
        form.namespace.declare_table({"id": [*database, f"t{number}"]})
    form.metastore.connect().create_table(plain_table(form, database[-1], "plain"))
    expected = [f"t{number}" for number in range(7)]
    monkeypatch.setattr(client, "LANCE_FILTER", "this.is no (filter")
    monkeypatch.setattr(base, "LATER_BATCH", 3)
    assert form.namespace.list_tables({"id": database}).tables == expected
    with pytest.raises(NamespaceNotFoundError):
        form.namespace.list_tables({"id": [*form.above, "none"]})


def test_tables_without_data_are_found_with_few_calls(form: Form) -> None:
    database = form.database()
    for number in range(60):
        form.namespace.declare_table({"id": [*database, f"t{number:02}"]})
    for number in (3, 55):
        place = f"{form.namespace.describe_table({'id': [*database, f't{number:02}']}).location}"
        lance.write_dataset(pa.table({"x": [1]}), place)
    pool = form.namespace._metastore._pool  # type: ignore[attr-defined]
    calls, use = 0, pool._use

    def counted(*args: object) -> object:
        nonlocal calls
        calls += 1
        return use(*args)

    pool._use = counted
    request = {"id": database, "include_declared": False}
    assert form.namespace.list_tables(request).tables == ["t03", "t55"]
    assert calls <= 3
    calls = 0
    assert len(form.namespace.list_tables({"id": database}).tables) == 60
    assert calls == 1


@pytest.mark.requirement(
    "general-002",
    "hive3.mapping.table",
    "hive3.mapping.table-location",
    "hive3.mapping.table-properties",
    "hive3.declare-table.external",
    "hive3.declare-table.type",
)
def test_tables_are_stored_as_external(form: Form) -> None:
    database = form.database()
    form.namespace.declare_table({"id": [*database, "t"], "properties": {"k": "v"}})
    request = GetTableRequest(database[-1], "t", catName=form.catalog)
    table = form.metastore.connect().get_table_req(request).table
    assert table.tableType == "EXTERNAL_TABLE"
    assert table.parameters["EXTERNAL"] == "TRUE"
    assert table.parameters["table_type"] == "lance"
    assert table.parameters["k"] == "v"
    home = form.namespace.describe_namespace({"id": database}).properties or {}
    assert table.sd.location == f"file:{home['database.location-uri']}/t"


@pytest.mark.requirement("hive3.describe-table.answer")
def test_the_metastore_stores_no_statistics(form: Form) -> None:
    database = form.database()
    place = str(form.root / "there.lance")
    lance.write_dataset(pa.table({"x": [1]}), place)
    form.namespace.register_table({"id": [*database, "t"], "location": place})
    answer = form.namespace.alter_table({"id": [*database, "t"], "set_properties": {"k": "v"}})
    assert answer.properties == {"k": "v", "table_type": "lance"}
    found = form.namespace.describe_table({"id": [*database, "t"]})
    assert found.properties == {"k": "v", "table_type": "lance"}


@pytest.mark.parametrize(
    "properties", [{"table_type": "iceberg"}, {"EXTERNAL": "FALSE"}, {"transient_lastDdlTime": "1"}]
)
def test_properties_of_a_lance_table_cannot_be_changed(
    form: Form, properties: dict[str, str]
) -> None:
    database = form.database()
    table = {"id": [*database, "t"]}
    with pytest.raises(InvalidInputError):
        form.namespace.declare_table({**table, "properties": properties})
    form.namespace.declare_table(table)
    with pytest.raises(InvalidInputError):
        form.namespace.alter_table({**table, "set_properties": properties})
    for key in ("table_type", "EXTERNAL"):
        with pytest.raises(InvalidInputError):
            form.namespace.alter_table({**table, "unset_properties": [key]})


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("relative/place", "is neither a URI nor an absolute path"),
        ("nothing", "is neither a URI nor an absolute path"),
        ("s3:bucket", "write it as s3://"),
    ],
)
def test_a_location_is_a_uri_or_an_absolute_path(form: Form, location: str, message: str) -> None:
    database = form.database()
    with pytest.raises(InvalidInputError, match=message):
        form.namespace.declare_table({"id": [*database, "t"], "location": location})


@makes_tables
def test_the_database_is_looked_up_once(
    form: Form, monkeypatch: pytest.MonkeyPatch, make_table: MakeTable
) -> None:
    database = form.database()
    asked: list[tuple[Any, ...]] = []
    look_up = Metastore.database

    def counted(self: Metastore, *name: Any) -> Any:
        asked.append(name)
        return look_up(self, *name)

    monkeypatch.setattr(Metastore, "database", counted)
    make_table(form.namespace, [*database, "t"])
    assert len(asked) == 1, asked
