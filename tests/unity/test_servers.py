"""What holds of names, schemas and tables as a whole."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.tables.schema import to_json_schema
from lance_namespace_impls.unity import UnityNamespace

from .test_columns import MAPPING
from .test_names import AWKWARD

S, T = ["main", "s"], ["main", "s", "t"]
ROWS = pa.table({"id": pa.array([1, 2], pa.uint16())})


def code_of(method: object, request: dict[str, object], *more: object) -> int:
    """Return the code that a call is refused with."""
    assert callable(method)
    with pytest.raises(LanceNamespaceError) as caught:
        method(request, *more)
    return int(caught.value.code)


@pytest.mark.parametrize("name", [*AWKWARD, "plain", "a-b", "a@b", "null", "e\u0301", "&=;:\\'"])
def test_a_name_is_found_again_or_refused(main: UnityNamespace, name: str) -> None:
    for part in ("a", "50"):
        main.create_namespace({"id": ["main", part]})
        main.declare_table({"id": ["main", "s", part]})
    try:
        main.create_namespace({"id": ["main", name], "properties": {"is": name}})
    except LanceNamespaceError as error:
        assert error.code == 13
        assert code_of(main.declare_table, {"id": ["main", "s", name]}) == 13
        assert code_of(main.describe_namespace, {"id": ["main", name]}) == 1
        assert code_of(main.describe_table, {"id": ["main", "s", name]}) == 4
    else:
        identifier = ["main", name, name]
        declared = main.declare_table({"id": identifier, "properties": {"is": name}})
        found = main.describe_table({"id": identifier})
        assert found.location == declared.location
        assert found.properties == {"is": name, "table_type": "lance"}
        assert main.describe_namespace({"id": ["main", name]}).properties == {"is": name}
        assert main.list_tables({"id": ["main", name]}).tables == [name]
        assert name in main.list_namespaces({"id": ["main"]}).namespaces
        main.deregister_table({"id": identifier})
        assert code_of(main.describe_table, {"id": identifier}) == 4
        main.drop_namespace({"id": ["main", name]})
    assert main.list_namespaces({"id": ["main"]}).namespaces == ["50", "a", "s"]
    assert main.list_tables({"id": S}).tables == ["50", "a"]


@pytest.mark.requirement("unity-table-columns-types")
def test_columns_of_every_type_come_back(main: UnityNamespace) -> None:
    schema = pa.schema([(f"c{n}", kind) for n, (kind, *_) in enumerate(MAPPING)])
    assert len(schema) > 30
    main.add_table_for(("main", "s", "t"), None, {}, schema)
    assert main.describe_table({"id": T}).schema == to_json_schema(schema)


@pytest.mark.requirement(
    "unity-create-namespace-exists",
    "unity-drop-namespace-not-empty",
    "unity-declare-table-parent",
    "unity-declare-table-exists",
)
def test_what_is_taken_and_what_is_missing(main: UnityNamespace) -> None:
    main.declare_table({"id": T})
    assert code_of(main.create_namespace, {"id": S}) == 2
    assert code_of(main.declare_table, {"id": T}) == 5
    assert code_of(main.drop_namespace, {"id": S}) == 3
    for method in (main.describe_namespace, main.list_tables, main.drop_namespace):
        assert code_of(method, {"id": ["main", "no"]}) == 1
    for parent in ("s", "no"):
        for look_up in (main.describe_table, main.deregister_table, main.drop_table):
            assert code_of(look_up, {"id": ["main", parent, "no"]}) == 4
    assert code_of(main.declare_table, {"id": ["main", "no", "t"]}) == 1
    assert code_of(main.create_table, {"id": ["main", "no", "t"]}, ROWS) == 1


def test_a_configured_catalog_that_is_missing(main: UnityNamespace) -> None:
    with UnityNamespace.from_properties({**main.properties, "catalog": "no"}) as missing:
        assert code_of(missing.describe_namespace, {"id": ["no"]}) == 1
        assert code_of(missing.create_namespace, {"id": ["no", "s"]}) == 1
        assert code_of(missing.declare_table, {"id": ["no", "s", "t"]}) == 1


def test_properties_of_a_schema(main: UnityNamespace) -> None:
    change = {"set_properties": {"a": "1"}, "unset_properties": ["owner"]}
    assert main.alter_namespace({"id": S, **change}).properties == {"a": "1"}
    main.alter_namespace({"id": S, "unset_properties": ["a"]})
    assert main.describe_namespace({"id": S}).properties == {}


@pytest.mark.requirement("unity-table-lance-location", "unity-deregister-table-data")
def test_a_table_written_by_pylance(main: UnityNamespace) -> None:
    location = main.declare_table({"id": T}).location
    assert location is not None
    lance.write_dataset(ROWS, location)
    assert main.count_table_rows({"id": T}).count == 2
    main.deregister_table({"id": T})
    assert lance.dataset(location).count_rows() == 2
    main.register_table({"id": T, "location": location})
    assert main.describe_table({"id": T}).schema == to_json_schema(ROWS.schema)


def test_overwriting(main: UnityNamespace) -> None:
    main.create_table({"id": T, "properties": {"k": "v"}}, ROWS)
    over = {"id": T, "mode": "Overwrite", "properties": {"k": "v"}}
    assert main.create_table(over, ROWS).version == 2
    assert code_of(main.create_table, {**over, "properties": {}}, ROWS) == 0
    main.drop_table({"id": T})
    assert main.list_tables({"id": S}).tables == []
