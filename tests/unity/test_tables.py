from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    UnsupportedError,
)
from lance_namespace_impls.tables.schema import to_json_schema
from lance_namespace_impls.unity import UnityNamespace
from tests.behaviour.home import MakeTable, makes_tables
from tests.servers.unity import API
from tests.servers.web import Answer, FaultProxy

from .conftest import Connect, Unity, answered
from .test_columns import MAPPING

T = ["main", "s", "t"]
ROWS = pa.table(
    {
        "id": pa.array([1, 2], pa.uint16()),
        "vector": pa.array([[1.0, 2.0]] * 2, pa.list_(pa.float32(), 2)),
    }
)


@pytest.mark.requirement(
    "unity-config-root",
    "unity-table-external",
    "unity-table-text-format",
    "unity-declare-table",
    "unity-declare-table-answer",
)
def test_declare_sends_an_external_text_table(
    unity: Unity, main: UnityNamespace, tmp_path: Path
) -> None:
    declared = main.declare_table({"id": T, "properties": {"k": "v"}})
    assert declared.location == f"{tmp_path}/lake/main/s/t"
    assert declared.properties == {"k": "v", "table_type": "lance"}
    sent = unity.asked[-1]
    assert (sent.method, sent.path) == ("POST", f"{API}/tables")
    assert sent.json == {
        "name": "t",
        "catalog_name": "main",
        "schema_name": "s",
        "table_type": "EXTERNAL",
        "data_source_format": "TEXT",
        "columns": [],
        "storage_location": f"file://{tmp_path}/lake/main/s/t",
        "properties": {"k": "v", "table_type": "lance"},
    }


@pytest.mark.requirement("unity-table-location", "unity-declare-table-location")
def test_declare_at_a_location(main: UnityNamespace, tmp_path: Path) -> None:
    declared = main.declare_table({"id": T, "location": f"{tmp_path}/two words%20/"})
    assert declared.location == f"{tmp_path}/two words%20"
    assert main.describe_table({"id": T}).location == f"{tmp_path}/two words%20"


@pytest.mark.requirement("unity-declare-table-no-data")
def test_declare_writes_nothing(main: UnityNamespace, tmp_path: Path) -> None:
    main.declare_table({"id": T})
    assert not (tmp_path / "lake").exists()


@pytest.mark.requirement("unity-describe-table-schema")
def test_declare_over_data_fills_the_columns(main: UnityNamespace, tmp_path: Path) -> None:
    lance.write_dataset(ROWS, tmp_path / "data")
    main.declare_table({"id": T, "location": str(tmp_path / "data")})
    schema = main.describe_table({"id": T}).schema
    assert schema is not None
    assert [(f.name, f.type.type) for f in schema.fields] == [
        ("id", "uint16"),
        ("vector", "fixed_size_list"),
    ]


@pytest.mark.requirement("unity-table-columns")
def test_columns_are_sent_as_spark_types(
    unity: Unity, main: UnityNamespace, tmp_path: Path
) -> None:
    lance.write_dataset(ROWS, tmp_path / "data")
    main.register_table({"id": T, "location": str(tmp_path / "data")})
    columns = unity.asked[-1].json["columns"]
    assert [(c["name"], c["type_name"], c["type_text"], c["position"]) for c in columns] == [
        ("id", "INT", "int", 0),
        ("vector", "ARRAY", "array<float>", 1),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"properties": {"k": "w"}},
        {"properties": {"k": "v"}, "storage_options": {"region": "x"}},
    ],
)
def test_overwrite_with_other_properties_writes_nothing(
    unity: Unity, main: UnityNamespace, change: dict[str, Any]
) -> None:
    """The entry cannot be changed, so rows and properties would no longer match."""
    location = main.create_table({"id": T, "properties": {"k": "v"}}, ROWS).location
    before = unity.held()
    with pytest.raises(UnsupportedError, match=r"cannot change properties .* drop the table first"):
        main.create_table({"id": T, "mode": "Overwrite", **change}, pa.table({"z": ["a"]}))
    assert location is not None
    assert lance.dataset(location).version == 1
    assert unity.held() == before


def test_overwrite_with_the_same_properties(unity: Unity, main: UnityNamespace) -> None:
    main.create_table({"id": T, "properties": {"k": "v"}}, ROWS)
    unity.asked.clear()
    same = {"id": T, "mode": "Overwrite", "properties": {"k": "v"}}
    assert main.create_table(same, pa.table({"z": ["a"]})).version == 2
    # The schema is read, the creation conflicts, and the table is read before and after the write.
    assert [asked.method for asked in unity.asked] == ["GET", "POST", "GET", "GET"]
    assert main.count_table_rows({"id": T}).count == 1


def test_filling_a_declared_table_keeps_its_properties(main: UnityNamespace) -> None:
    declared = main.declare_table({"id": T, "properties": {"k": "v"}})
    with pytest.raises(UnsupportedError, match="cannot change properties"):
        main.create_table({"id": T, "properties": {"k": "w"}}, ROWS)
    assert main.describe_table({"id": T, "check_declared": True}).is_only_declared
    assert main.create_table({"id": T}, ROWS).location == declared.location
    assert main.describe_table({"id": T}).properties == declared.properties


def test_unreadable_storage_warns_and_leaves_columns_empty(
    main: UnityNamespace, tmp_path: Path
) -> None:
    lance.write_dataset(ROWS, tmp_path / "data")
    (manifest,) = (tmp_path / "data" / "_versions").glob("*.manifest")
    manifest.write_bytes(b"no manifest at all")
    with pytest.warns(UserWarning, match="the table has no columns in Unity Catalog"):
        main.declare_table({"id": T, "location": str(tmp_path / "data")})
    assert main.describe_table({"id": T}).schema is None


def add_others(unity: Unity) -> None:
    """Add tables that are not Lance tables, each for another reason."""
    unity.add_table(("main", "s", "managed"), "MANAGED", properties={"table_type": "lance"})
    unity.add_table(("main", "s", "delta"), properties={"table_type": "delta"})
    unity.add_table(("main", "s", "plain"), properties={})


@pytest.mark.requirement("unity-table-lance", "unity-list-tables")
def test_list_returns_the_lance_tables_in_order(unity: Unity, main: UnityNamespace) -> None:
    add_others(unity)
    for name in ("b", "a", "C"):
        main.declare_table({"id": ["main", "s", name]})
    unity.add_table(("main", "s", "loud"), properties={"table_type": "LANCE"})
    unity.asked.clear()
    assert main.list_tables({"id": ["main", "s"]}).tables == ["C", "a", "b", "loud"]
    query = unity.asked[0].query
    assert (query["catalog_name"], query["schema_name"]) == ("main", "s")


@pytest.mark.requirement("unity-table-properties", "unity-describe-table")
def test_describe(unity: Unity, main: UnityNamespace, tmp_path: Path) -> None:
    main.declare_table({"id": T, "properties": {"k": "v", "storage.region": "x"}})
    found = main.describe_table({"id": T})
    assert unity.asked[-1].path == f"{API}/tables/main.s.t"
    assert found.location == f"{tmp_path}/lake/main/s/t"
    assert found.properties == {"k": "v", "table_type": "lance"}
    assert found.storage_options == {"region": "x"}
    assert (found.version, found.stats, found.metadata) == (None, None, None)


@pytest.mark.requirement(
    "unity-table-lance-not", "unity-describe-table-other", "unity-deregister-table-other"
)
@pytest.mark.parametrize("name", ["managed", "delta", "plain"])
def test_other_tables_are_not_lance_tables(unity: Unity, main: UnityNamespace, name: str) -> None:
    add_others(unity)
    for method in (main.describe_table, main.deregister_table, main.drop_table, main.table_exists):
        with pytest.raises(InvalidInputError, match="not a Lance table"):
            method({"id": ["main", "s", name]})
    assert ("main", "s", name) in unity.held()


@pytest.mark.requirement("unity-deregister-table-data")
def test_deregister_keeps_the_data(main: UnityNamespace) -> None:
    made = main.create_table({"id": T}, ROWS)
    schema = main.describe_table({"id": T}).schema
    assert schema is not None
    assert [field.name for field in schema.fields] == ["id", "vector"]
    assert main.deregister_table({"id": T}).location == made.location
    assert lance.dataset(made.location).count_rows() == 2


@pytest.mark.requirement("unity-deregister-table")
def test_deregister_reads_a_table_before_it_deletes(unity: Unity, main: UnityNamespace) -> None:
    main.declare_table({"id": T})
    unity.asked.clear()
    main.deregister_table({"id": T})
    assert [(asked.method, asked.path) for asked in unity.asked] == [
        ("GET", f"{API}/tables/main.s.t"),
        ("DELETE", f"{API}/tables/main.s.t"),
    ]


def test_a_failed_register_overwrite_restores_the_old_entry(
    proxy: FaultProxy, connected: Connect, tmp_path: Path
) -> None:
    namespace = connected(endpoint=proxy.uri)
    namespace.create_namespace({"id": ["main", "s"]})
    namespace.declare_table({"id": T, "properties": {"k": "v"}})
    before = namespace.describe_table({"id": T})
    request = {"id": T, "location": str(tmp_path / "new"), "mode": "Overwrite"}
    # The first request conflicts with the old entry, the second creates the new one.
    proxy.fail(lambda asked: asked.method == "POST", None, Answer(status=500, body={}))
    with pytest.raises(InternalError):
        namespace.register_table(request)
    assert namespace.describe_table({"id": T}) == before
    namespace.register_table(request)
    found = namespace.describe_table({"id": T})
    assert (found.location, found.properties) == (request["location"], {"table_type": "lance"})


@pytest.mark.requirement("unity-table-lance-location")
def test_a_table_written_by_pylance_opens(main: UnityNamespace) -> None:
    location = main.declare_table({"id": T}).location
    assert location is not None
    lance.write_dataset(ROWS, location)
    assert main.count_table_rows({"id": T}).count == 2
    assert main.describe_table({"id": T, "check_declared": True}).is_only_declared is False
    detailed = main.describe_table({"id": T, "load_detailed_metadata": True})
    assert detailed.version == 1
    assert detailed.schema is not None


def test_tables_of_other_writers_with_fields_missing() -> None:
    """Other tools leave out columns and properties, and add their own fields."""
    bodies: list[dict[str, Any]] = [
        {"name": "t", "table_type": "EXTERNAL", "storage_location": "s3://b/t/", "mask": 1,
         "properties": {"table_type": "Lance", "x": None}},
        {"name": "t", "table_type": "EXTERNAL", "storage_location": "file:/data/t",
         "properties": {"table_type": "lance"}, "columns": None},
        {"name": "t", "table_type": "EXTERNAL", "storage_location": "/data/t",
         "properties": {"table_type": "lance"},
         "columns": [{"name": "v", "type_name": "VARIANT", "type_text": "variant"}]},
    ]  # fmt: skip
    locations = ["s3://b/t", "/data/t", "/data/t"]
    with (
        answered(lambda asked: Answer(body=bodies.pop(0))) as (_, namespace),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        for location in locations:
            found = namespace.describe_table({"id": T})
            assert (found.location, found.schema) == (location, None)


@pytest.mark.requirement("unity-table-columns-types")
def test_columns_of_every_type_round_trip(main: UnityNamespace) -> None:
    schema = pa.schema([(f"c{n}", kind) for n, (kind, *_) in enumerate(MAPPING)])
    main.add_table_for(("main", "s", "t"), None, {}, schema)
    assert main.describe_table({"id": T}).schema == to_json_schema(schema)


@makes_tables
@pytest.mark.parametrize("confined", [False, True], ids=["free", "confined"])
def test_the_schema_is_looked_up_once(
    unity: Unity, main: UnityNamespace, connected: Connect, make_table: MakeTable, confined: bool
) -> None:
    namespace = connected(confine_locations=str(confined).lower())
    unity.asked.clear()
    make_table(namespace, T)
    paths = [asked.path for asked in unity.asked if asked.method == "GET"]
    assert paths.count(f"{API}/schemas/main.s") == 1, paths
