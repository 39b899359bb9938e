"""Lance tables as generic tables of Apache Polaris, on the double and on a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import ErrorCode, LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.polaris import PolarisNamespace

from .conftest import Connect
from .subject import Polaris, properties_for

ROWS = pa.table({"x": [1, 2]})
DB, T = ["lake", "db"], ["lake", "db", "t"]
PATH = "/polaris/v1/lake/namespaces/db/generic-tables"


def code_of(method: Any, *arguments: Any) -> int:
    with pytest.raises(LanceNamespaceError) as refused:
        method(*arguments)
    return int(refused.value.code)


def test_a_table_is_a_generic_table_of_the_format_lance(
    lake: PolarisNamespace, polaris: Polaris
) -> None:
    created = lake.create_table({"id": T, "properties": {"owner": "me"}}, ROWS)
    stored = lake.api.get(f"{PATH}/t")["table"]
    assert stored == {
        "name": "t",
        "format": "lance",
        "base-location": f"{polaris.location}/db/t",
        "doc": None,
        "properties": {"owner": "me"},
    }
    assert created.location == f"{polaris.location}/db/t".removeprefix("file://")
    assert lance.dataset(created.location).count_rows() == 2
    found = lake.describe_table({"id": T})
    assert (found.location, found.properties) == (created.location, {"owner": "me"})
    lake.drop_table({"id": T})
    assert lake.list_tables({"id": DB}).tables == []
    assert not Path(created.location).exists()


@pytest.mark.parametrize("format", ["lance", "LANCE", "Lance"])
def test_the_format_is_read_in_any_case(
    lake: PolarisNamespace, polaris: Polaris, format: str
) -> None:
    where = f"{polaris.location}/db/made"
    lake.api.post(PATH, {"name": "made", "format": format, "base-location": where})
    assert lake.list_tables({"id": DB}).tables == ["made"]
    found = lake.describe_table({"id": [*DB, "made"]})
    assert found.location == where.removeprefix("file://")


def test_other_formats_are_not_listed_and_named(lake: PolarisNamespace, polaris: Polaris) -> None:
    where = f"{polaris.location}/db/delta"
    lake.api.post(PATH, {"name": "delta", "format": "delta", "base-location": where})
    lake.declare_table({"id": T})
    assert lake.list_tables({"id": DB}).tables == ["t"]
    with pytest.raises(LanceNamespaceError, match="its format is 'delta', not 'lance'") as refused:
        lake.describe_table({"id": [*DB, "delta"]})
    assert refused.value.code == ErrorCode.INVALID_INPUT
    assert code_of(lake.drop_table, {"id": [*DB, "delta"]}) == ErrorCode.INVALID_INPUT
    declare = {"id": [*DB, "delta"]}
    assert code_of(lake.declare_table, declare) == ErrorCode.TABLE_ALREADY_EXISTS
    assert code_of(lake.drop_namespace, {"id": DB}) == ErrorCode.NAMESPACE_NOT_EMPTY


def test_a_table_without_a_location_fails_its_listing(lake: PolarisNamespace) -> None:
    lake.api.post(PATH, {"name": "t", "format": "lance"})
    assert code_of(lake.describe_table, {"id": T}) == ErrorCode.INVALID_TABLE_STATE
    assert code_of(lake.list_tables, {"id": DB}) == ErrorCode.INVALID_TABLE_STATE


def test_rejected_calls_have_a_code(lake: PolarisNamespace) -> None:
    nowhere, gone = ["lake", "nowhere"], ["lake", "db", "gone"]
    lake.declare_table({"id": T})
    for method, request, code in (
        (lake.describe_namespace, {"id": nowhere}, 1),
        (lake.list_tables, {"id": nowhere}, 1),
        (lake.list_namespaces, {"id": nowhere}, 1),
        (lake.create_namespace, {"id": [*nowhere, "x"]}, 1),
        (lake.create_namespace, {"id": DB}, 2),
        (lake.create_namespace, {"id": T}, 2),
        (lake.create_namespace, {"id": ["other", "x"]}, 1),
        (lake.create_namespace, {"id": ["lake", "a b"]}, 13),
        (lake.drop_namespace, {"id": nowhere}, 1),
        (lake.drop_namespace, {"id": DB}, 3),
        (lake.declare_table, {"id": [*nowhere, "t"]}, 1),
        (lake.declare_table, {"id": T}, 5),
        (lake.declare_table, {"id": [*DB, ".."]}, 13),
        (lake.describe_table, {"id": gone}, 4),
        (lake.describe_table, {"id": [*nowhere, "t"]}, 4),
        (lake.deregister_table, {"id": gone}, 4),
        (lake.drop_table, {"id": [*nowhere, "t"]}, 4),
        (lake.alter_table, {"id": T, "set_properties": {"a": "b"}}, 0),
        (lake.rename_table, {"id": T, "new_table_name": "new"}, 0),
    ):
        assert code_of(method, request) == code, (method, request)
    assert lake.list_tables({"id": DB}).tables == ["t"]
    assert lake.list_namespaces({"id": ["lake"]}).namespaces == ["db"]


def test_a_namespace_at_the_location_of_a_table(lake: PolarisNamespace, polaris: Polaris) -> None:
    where = f"{polaris.location}/db/inner"
    lake.declare_table({"id": T, "location": where})
    with pytest.raises(LanceNamespaceError, match="choose another location") as refused:
        lake.create_namespace({"id": [*DB, "inner"]})
    assert refused.value.code == ErrorCode.INVALID_INPUT


@pytest.mark.parametrize(
    "name", ["a b", "a+b", "50%", "a%20b", "a/b", "ü", "a#b", "a.b", ";", "%zz"]
)
def test_a_table_is_found_by_its_name(lake: PolarisNamespace, name: str) -> None:
    created = lake.create_table({"id": [*DB, name]}, ROWS)
    assert lake.list_tables({"id": DB}).tables == [name]
    assert lance.dataset(created.location).count_rows() == 2
    assert lake.count_table_rows({"id": [*DB, name]}).count == 2
    lake.drop_table({"id": [*DB, name]})
    assert lake.list_tables({"id": DB}).tables == []


def test_register_over_a_table(lake: PolarisNamespace, tmp_path: Path) -> None:
    place = tmp_path / "else where"
    lance.write_dataset(ROWS, place)
    old = lake.create_table({"id": T, "properties": {"a": "1"}}, pa.table({"x": [9]}))
    lake.register_table({"id": T, "location": str(place), "mode": "Overwrite"})
    assert lake.count_table_rows({"id": T}).count == 2
    assert lance.dataset(old.location).count_rows() == 1
    lake.register_table({"id": [*DB, "same"], "location": f"{tmp_path.as_uri()}/else%20where"})
    assert lake.describe_table({"id": [*DB, "same"]}).location == str(place)


def test_changes_of_a_namespace(lake: PolarisNamespace, polaris: Polaris) -> None:
    lake.alter_namespace({"id": DB, "set_properties": {"new": "1"}, "unset_properties": ["owner"]})
    found = lake.describe_namespace({"id": DB}).properties
    assert found == {"new": "1", "location": f"{polaris.location}/db/"}


def test_the_root_lists_the_configured_catalogs(connected: Connect) -> None:
    assert connected().list_namespaces({}).namespaces == ["lake"]
    assert code_of(connected().describe_namespace, {"id": ["other"]}) == 1


def test_a_connection_can_be_pickled(lake: PolarisNamespace, polaris: Polaris) -> None:
    import pickle

    lake.create_table({"id": T}, ROWS)
    with pickle.loads(pickle.dumps(lake)) as again:
        assert again.count_table_rows({"id": T}).count == 2
    with connect("polaris", properties_for(polaris)) as other:
        assert other.list_tables({"id": DB}).tables == ["t"]


@pytest.mark.real("polaris")
def test_iceberg_and_generic_tables_share_their_names(real_server: Any) -> None:
    from lance_namespace_impls.iceberg import IcebergNamespace

    real_server.clear()
    scope = {"scope": "PRINCIPAL_ROLE:ALL"}
    with (
        PolarisNamespace.from_properties(properties_for(real_server)) as generic,
        IcebergNamespace.from_properties({**properties_for(real_server), **scope}) as iceberg,
    ):
        generic.create_namespace({"id": DB})
        iceberg.declare_table({"id": T})
        generic.declare_table({"id": [*DB, "generic"]})
        assert code_of(generic.declare_table, {"id": T}) == ErrorCode.TABLE_ALREADY_EXISTS
        assert code_of(iceberg.declare_table, {"id": [*DB, "generic"]}) in (5, 13)
        assert generic.list_tables({"id": DB}).tables == ["generic"]
        assert iceberg.list_tables({"id": DB}).tables == ["t"]
        assert code_of(generic.describe_table, {"id": T}) == ErrorCode.TABLE_NOT_FOUND


@pytest.mark.real("polaris")
def test_a_wrong_credential_is_code_16(real_server: Any) -> None:
    properties = {**properties_for(real_server), "credential": "root:wrong"}
    with PolarisNamespace.from_properties(properties) as catalog:
        assert code_of(catalog.list_namespaces, {"id": ["lake"]}) == ErrorCode.UNAUTHENTICATED
    given = {**properties_for(real_server), "auth_token": "wrong"}
    del given["credential"]
    with PolarisNamespace.from_properties(given) as catalog:
        assert code_of(catalog.list_tables, {"id": DB}) == ErrorCode.UNAUTHENTICATED


def test_a_server_without_generic_tables() -> None:
    from tests.servers.web import Answer, WebServer

    answers = {"/v1/config": {"overrides": {}}, "/v1/lake/namespaces/db": {"properties": {}}}
    with (
        WebServer(lambda asked: Answer(body=answers.get(asked.path, {}))) as server,
        PolarisNamespace.from_properties({"endpoint": server.uri}) as catalog,
    ):
        with pytest.raises(LanceNamespaceError, match="has no generic table") as refused:
            catalog.describe_table({"id": T})
        assert refused.value.code == ErrorCode.INTERNAL
