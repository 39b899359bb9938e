from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from lance_namespace_client.errors import (
    TableNotFoundError,
    UnsupportedError,
)
from lance_namespace_impls.iceberg import IcebergNamespace
from tests.behaviour.home import MakeTable, makes_tables
from tests.servers.iceberg import IcebergFixture, Nessie
from tests.servers.s3 import GuardedS3
from tests.servers.web import FaultProxy

from .conftest import Connect
from .subject import BareApi

pytestmark = pytest.mark.xdist_group("iceberg")

T = ["wh", "db", "t"]
ROWS = pa.table({"x": [1, 2, 3]})


@pytest.mark.requirement(
    "iceberg-config-root",
    "iceberg-table-dummy",
    "iceberg-declare-table",
    "iceberg-declare-table-location",
)
def test_declare_sends_a_table_of_one_unused_column(
    proxy: FaultProxy, connected: Connect, tmp_path: Path
) -> None:
    namespace = connected(endpoint=proxy.uri)
    declared = namespace.declare_table({"id": T, "properties": {"k": "v"}})
    assert declared.location == f"{tmp_path}/lake/wh/db/t"
    sent = proxy.asked[-1]
    assert (sent.method, sent.path) == ("POST", "/v1/namespaces/db/tables")
    assert sent.json == {
        "name": "t",
        "location": f"{tmp_path}/lake/wh/db/t",
        "schema": {
            "type": "struct",
            "schema-id": 0,
            "fields": [{"id": 1, "name": "dummy", "required": False, "type": "string"}],
        },
        "stage-create": False,
        "properties": {"k": "v", "table_type": "lance"},
    }


@pytest.mark.requirement("iceberg-table-location")
def test_declare_at_a_location(iceberg: IcebergNamespace, tmp_path: Path) -> None:
    where = f"{tmp_path}/two words%20"
    assert iceberg.declare_table({"id": T, "location": f"{where}/"}).location == where
    assert iceberg.describe_table({"id": T}).location == where


@pytest.mark.requirement(
    "iceberg-table-properties", "iceberg-describe-table", "iceberg-describe-table-nulls"
)
def test_describe(iceberg: IcebergNamespace, tmp_path: Path) -> None:
    iceberg.declare_table({"id": T, "properties": {"k": "v", "storage.region": "x"}})
    found = iceberg.describe_table({"id": T})
    assert found.location == f"{tmp_path}/lake/wh/db/t"
    assert found.storage_options == {"region": "x"}
    assert found.properties is not None
    assert found.properties.items() >= {"k": "v", "table_type": "lance"}.items()
    nothing = (found.version, found.table_uri, found.schema, found.stats, found.metadata)
    assert nothing == (None,) * 5


@pytest.mark.requirement("iceberg-describe-table")
def test_a_table_is_read_by_its_encoded_path(
    proxy: FaultProxy, connected: Connect, bare: BareApi
) -> None:
    bare.add_namespace(["db", "a b"])
    namespace = connected(endpoint=proxy.uri)
    namespace.declare_table({"id": ["wh", "db", "a b", "t+1"]})
    namespace.describe_table({"id": ["wh", "db", "a b", "t+1"]})
    sent = proxy.asked[-1]
    assert (sent.method, sent.path) == ("GET", "/v1/namespaces/db%2Ea%20b/tables/t%2B1")


@pytest.mark.requirement("iceberg-table-lance")
@pytest.mark.parametrize("kind", ["LANCE", "Lance", "lance"])
def test_the_table_type_is_read_in_any_case(
    iceberg: IcebergNamespace, bare: BareApi, kind: str
) -> None:
    bare.add_table(["db"], "t", "/tmp/t", {"table_type": kind})
    assert iceberg.describe_table({"id": T}).location == "/tmp/t"
    assert iceberg.list_tables({"id": ["wh", "db"]}).tables == ["t"]


@pytest.mark.requirement("iceberg-deregister-table")
def test_deregister_does_not_purge_and_keeps_every_file(
    proxy: FaultProxy, connected: Connect, tmp_path: Path
) -> None:
    namespace = connected(endpoint=proxy.uri)
    location = namespace.create_table({"id": T}, ROWS).location
    before = sorted(tmp_path.rglob("*"))
    assert namespace.deregister_table({"id": T}).location == location
    assert [(a.method, dict(a.query)) for a in proxy.asked[-2:]] == [
        ("GET", {}),
        ("DELETE", {"purgeRequested": "false"}),
    ]
    assert sorted(tmp_path.rglob("*")) == before
    assert lance.dataset(location).count_rows() == 3
    with pytest.raises(TableNotFoundError):
        namespace.deregister_table({"id": T})


def test_rename_within_and_across_namespaces(iceberg: IcebergNamespace, bare: BareApi) -> None:
    bare.add_namespace(["db", "deep"])
    location = iceberg.create_table({"id": T}, ROWS).location
    iceberg.rename_table({"id": T, "new_table_name": "u"})
    iceberg.rename_table(
        {"id": ["wh", "db", "u"], "new_namespace_id": ["wh", "db", "deep"], "new_table_name": "v"}
    )
    assert iceberg.describe_table({"id": ["wh", "db", "deep", "v"]}).location == location
    assert iceberg.list_tables({"id": ["wh", "db"]}).tables == []
    assert iceberg.count_table_rows({"id": ["wh", "db", "deep", "v"]}).count == 3


def test_alter_sets_and_unsets(iceberg: IcebergNamespace) -> None:
    iceberg.declare_table({"id": T, "properties": {"old": "1", "kept": "2"}})
    altered = iceberg.alter_table(
        {"id": T, "set_properties": {"new": "3"}, "unset_properties": ["old", "never"]}
    )
    assert altered.properties == iceberg.describe_table({"id": T}).properties
    assert altered.properties is not None
    assert {"old", "never"}.isdisjoint(altered.properties)
    assert altered.properties.items() >= {"kept": "2", "new": "3"}.items()


def test_overwrite_replaces_rows_and_properties(iceberg: IcebergNamespace) -> None:
    """The marker of a Lance table is kept, whatever properties are set."""
    iceberg.create_table({"id": T, "properties": {"old": "1", "kept": "2"}}, ROWS)
    new = {"kept": "2", "new": "3", "table_type": "other"}
    iceberg.create_table({"id": T, "mode": "Overwrite", "properties": new}, ROWS.slice(0, 1))
    found = iceberg.describe_table({"id": T}).properties
    assert found is not None
    assert found.items() >= {"kept": "2", "new": "3", "table_type": "lance"}.items()
    assert "old" not in found
    assert iceberg.count_table_rows({"id": T}).count == 1


def test_register_overwrite_never_leaves_the_table_missing(
    proxy: FaultProxy, connected: Connect, tmp_path: Path
) -> None:
    namespace = connected(endpoint=proxy.uri)
    namespace.declare_table({"id": T, "properties": {"old": "1"}})
    proxy.asked.clear()
    where = str(tmp_path / "elsewhere")
    namespace.register_table(
        {"id": T, "location": where, "mode": "Overwrite", "properties": {"new": "2"}}
    )
    found = namespace.describe_table({"id": T})
    assert found.location == where
    assert found.properties is not None
    assert found.properties["new"] == "2"
    assert "old" not in found.properties
    assert {asked.method for asked in proxy.asked} == {"GET", "POST"}


def peer(endpoint: str, prefix: str | None = None, **more: str) -> object:
    """Connect pyiceberg to the same server."""
    settings = {"type": "rest", "uri": endpoint, "warehouse": "wh", **more}
    return load_catalog("peer", **({**settings, "prefix": prefix} if prefix else settings))


@pytest.mark.requirement("iceberg-table-beside", "iceberg-table-lance-location")
def test_pyiceberg_loads_the_dummy_table(iceberg: IcebergNamespace, server: IcebergFixture) -> None:
    location = iceberg.declare_table({"id": T}).location
    assert location is not None
    lance.write_dataset(ROWS, location)
    assert iceberg.count_table_rows({"id": T}).count == 3
    table = peer(server.endpoint).load_table(("db", "t"))  # type: ignore[attr-defined]
    assert table.location() == location
    assert [field.name for field in table.schema().fields] == ["dummy"]
    assert table.properties["table_type"] == "lance"
    assert table.scan().to_arrow().num_rows == 0


@pytest.mark.requirement("iceberg-table-beside")
def test_pyiceberg_loads_the_dummy_table_on_nessie(
    nessie: IcebergNamespace, nessie_server: Nessie, s3: GuardedS3
) -> None:
    declared = nessie.declare_table({"id": T})
    assert declared.location is not None
    lance.write_dataset(ROWS, declared.location, storage_options=s3.options())
    assert nessie.count_table_rows({"id": T}).count == 3
    storage = {
        "s3.endpoint": s3.uri,
        "s3.access-key-id": "testing",
        "s3.secret-access-key": "testing",
        "s3.region": "us-east-1",
    }
    catalog = peer(nessie_server.endpoint, **storage)
    table = catalog.load_table(("db", "t"))  # type: ignore[attr-defined]
    assert table.location() == declared.location
    assert [field.name for field in table.schema().fields] == ["dummy"]
    assert table.properties["table_type"] == "lance"


def test_a_server_that_chooses_locations_rejects_others(
    nessie: IcebergNamespace, s3: GuardedS3
) -> None:
    """Nessie chooses the locations of tables, and an entry must not point away from the data."""
    for method in (nessie.declare_table, nessie.register_table):
        with pytest.raises(UnsupportedError, match="chooses the locations of tables"):
            method({"id": T, "location": f"s3://{s3.bucket}/mine"})
    assert nessie.list_tables({"id": ["wh", "db"]}).tables == []
    nessie.declare_table({"id": T, "properties": {"k": "v"}})
    before = nessie.describe_table({"id": T}).location
    with pytest.raises(UnsupportedError, match="chooses the locations of tables"):
        nessie.register_table({"id": T, "location": f"s3://{s3.bucket}/mine", "mode": "Overwrite"})
    found = nessie.describe_table({"id": T})
    assert found.location == before
    assert found.properties is not None
    assert found.properties["k"] == "v"


def test_deregister_keeps_every_file_on_nessie(nessie: IcebergNamespace, s3: GuardedS3) -> None:
    location = nessie.create_table({"id": T}, ROWS).location
    assert location is not None
    prefix = location.removeprefix(f"s3://{s3.bucket}/")
    before = {key for key in s3.objects() if key.startswith(prefix)}
    nessie.deregister_table({"id": T})
    assert before <= s3.objects()
    assert len(before) > 2


@makes_tables
def test_the_namespace_is_looked_up_once(
    proxy: FaultProxy, connected: Connect, make_table: MakeTable
) -> None:
    namespace = connected(endpoint=proxy.uri)
    make_table(namespace, T)
    asked = [(asked.method, asked.path) for asked in proxy.asked]
    assert asked.count(("GET", "/v1/namespaces/db")) == 1, asked
