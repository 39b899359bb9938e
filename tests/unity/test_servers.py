"""What holds on the double and on the server written by others."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.tables.schema import to_json_schema
from lance_namespace_impls.unity import UnityNamespace
from tests.servers.unity import API, UnityServer
from tests.servers.web import FaultProxy

from .conftest import REAL
from .test_columns import MAPPING
from .test_names import AWKWARD

S, T = ["main", "s"], ["main", "s", "t"]
ROWS = pa.table({"id": pa.array([1, 2], pa.uint16())})


def code_of(method: object, request: dict[str, object], *more: object) -> int:
    """Give the code that a call is refused with."""
    assert callable(method)
    with pytest.raises(LanceNamespaceError) as caught:
        method(request, *more)
    return int(caught.value.code)


@pytest.mark.parametrize("name", [*AWKWARD, "plain", "a-b", "a@b", "null", "e\u0301", "&=;:\\'"])
def test_a_name_is_found_again_or_refused(catalog: UnityNamespace, name: str) -> None:
    for part in ("a", "50"):
        catalog.create_namespace({"id": ["main", part]})
        catalog.declare_table({"id": ["main", "s", part]})
    try:
        catalog.create_namespace({"id": ["main", name], "properties": {"is": name}})
    except LanceNamespaceError as error:
        assert error.code == 13
        assert code_of(catalog.declare_table, {"id": ["main", "s", name]}) == 13
        assert code_of(catalog.describe_namespace, {"id": ["main", name]}) == 1
        assert code_of(catalog.describe_table, {"id": ["main", "s", name]}) == 4
    else:
        identifier = ["main", name, name]
        declared = catalog.declare_table({"id": identifier, "properties": {"is": name}})
        found = catalog.describe_table({"id": identifier})
        assert found.location == declared.location
        assert found.properties == {"is": name, "table_type": "lance"}
        assert catalog.describe_namespace({"id": ["main", name]}).properties == {"is": name}
        assert catalog.list_tables({"id": ["main", name]}).tables == [name]
        assert name in catalog.list_namespaces({"id": ["main"]}).namespaces
        catalog.deregister_table({"id": identifier})
        assert code_of(catalog.describe_table, {"id": identifier}) == 4
        catalog.drop_namespace({"id": ["main", name]})
    assert catalog.list_namespaces({"id": ["main"]}).namespaces == ["50", "a", "s"]
    assert catalog.list_tables({"id": S}).tables == ["50", "a"]


@pytest.mark.parametrize("catalog", [REAL], indirect=True)
@pytest.mark.parametrize("name", [name for name in AWKWARD if "." not in name])
def test_a_server_that_takes_every_name(catalog: UnityNamespace, name: str) -> None:
    catalog.create_namespace({"id": ["main", name]})
    catalog.declare_table({"id": ["main", name, name]})
    assert catalog.list_all_tables({"context": {"delimiter": "|"}}).tables == [
        f"main|{name}|{name}"
    ]


@pytest.mark.parametrize("catalog", [REAL], indirect=True)
def test_a_thousand_tables_in_the_fewest_pages(catalog: UnityNamespace, real: UnityServer) -> None:
    """That server gives 50 a page, and knows a last page when it comes."""
    names = [f"t{n:04}" for n in range(1000)]
    for name in names:
        catalog._add_table_for(("main", "s", name), {}, ROWS.schema)
    with FaultProxy(real.uri) as proxy:
        properties = {**catalog.properties, "endpoint": proxy.uri}
        with UnityNamespace.from_properties(properties) as counted:
            assert counted.list_tables({"id": S}).tables == names
    assert [asked.path for asked in proxy.asked] == [f"{API}/tables"] * (1000 // 50)


def test_columns_of_every_type_come_back(catalog: UnityNamespace) -> None:
    schema = pa.schema([(f"c{n}", kind) for n, (kind, *_) in enumerate(MAPPING)])
    plain = pa.schema([field for field in schema if _in_json(field)])
    catalog._add_table_for(("main", "s", "t"), {}, plain)
    assert len(plain) > 30
    assert catalog.describe_table({"id": T}).schema == to_json_schema(plain)


def _in_json(field: pa.Field) -> bool:
    """Say whether the protocol's JSON has the type."""
    try:
        to_json_schema(pa.schema([field]))
    except (ValueError, NotImplementedError, OSError):
        return False
    return True


def test_what_is_taken_and_what_is_missing(catalog: UnityNamespace) -> None:
    catalog.declare_table({"id": T})
    assert code_of(catalog.create_namespace, {"id": S}) == 2
    assert code_of(catalog.declare_table, {"id": T}) == 5
    assert code_of(catalog.drop_namespace, {"id": S}) == 3
    for method in (catalog.describe_namespace, catalog.list_tables, catalog.drop_namespace):
        assert code_of(method, {"id": ["main", "no"]}) == 1
    for parent in ("s", "no"):
        for look_up in (catalog.describe_table, catalog.deregister_table, catalog.drop_table):
            assert code_of(look_up, {"id": ["main", parent, "no"]}) == 4
    assert code_of(catalog.declare_table, {"id": ["main", "no", "t"]}) == 1
    assert code_of(catalog.create_table, {"id": ["main", "no", "t"]}, ROWS) == 1


@pytest.mark.parametrize("catalog", [REAL], indirect=True)
def test_a_configured_catalog_that_is_missing(catalog: UnityNamespace) -> None:
    """That server would make schemas in no catalog, and tables in no schema."""
    with UnityNamespace.from_properties({**catalog.properties, "catalog": "no"}) as missing:
        assert code_of(missing.describe_namespace, {"id": ["no"]}) == 1
        assert code_of(missing.create_namespace, {"id": ["no", "s"]}) == 1
        assert code_of(missing.declare_table, {"id": ["no", "s", "t"]}) == 1


def test_properties_of_a_schema(catalog: UnityNamespace) -> None:
    change = {"set_properties": {"a": "1"}, "unset_properties": ["owner"]}
    assert catalog.alter_namespace({"id": S, **change}).properties == {"a": "1"}
    catalog.alter_namespace({"id": S, "unset_properties": ["a"]})
    assert catalog.describe_namespace({"id": S}).properties == {}


def test_a_table_written_by_pylance(catalog: UnityNamespace) -> None:
    location = catalog.declare_table({"id": T}).location
    assert location is not None
    lance.write_dataset(ROWS, location)
    assert catalog.count_table_rows({"id": T}).count == 2
    catalog.deregister_table({"id": T})
    assert lance.dataset(location).count_rows() == 2
    catalog.register_table({"id": T, "location": location})
    assert catalog.describe_table({"id": T}).schema == to_json_schema(ROWS.schema)


def test_overwriting(catalog: UnityNamespace) -> None:
    catalog.create_table({"id": T, "properties": {"k": "v"}}, ROWS)
    over = {"id": T, "mode": "Overwrite", "properties": {"k": "v"}}
    assert catalog.create_table(over, ROWS).version == 2
    assert code_of(catalog.create_table, {**over, "properties": {}}, ROWS) == 0
    catalog.drop_table({"id": T})
    assert catalog.list_tables({"id": S}).tables == []
