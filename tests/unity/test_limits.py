"""What Unity Catalog's own server stores, rejects, changes and loses."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.unity import UnityConfig, UnityNamespace
from tests.servers.web import Answer, Asked

from .conftest import Connect, Unity, answered

API = "/api/2.1/unity-catalog"
S = ["main", "s"]
T = ["main", "s", "t"]
LONG = [
    pytest.param({"k" * 256: "v"}, "the name of property 'kkk", id="key"),
    pytest.param({"k": "v" * 256}, "property 'k'", id="value"),
    pytest.param({"k": "😀" * 128}, "property 'k'", id="pairs"),
]


@pytest.mark.parametrize(("properties", "named"), LONG)
def test_a_property_that_is_too_long_is_rejected(
    main: UnityNamespace, unity: Unity, properties: dict[str, str], named: str
) -> None:
    before = unity.held()
    for call in (
        lambda: main.create_namespace({"id": ["main", "new"], "properties": properties}),
        lambda: main.alter_namespace({"id": S, "set_properties": properties}),
        lambda: main.declare_table({"id": T, "properties": properties}),
        lambda: main.create_table({"id": T, "properties": properties}, pa.table({"x": [1]})),
    ):
        with pytest.raises(InvalidInputError, match="255 characters") as refused:
            call()
        assert named in str(refused.value)
        assert "v" * 41 not in str(refused.value)
    assert unity.held() == before


def test_the_longest_property_is_stored(main: UnityNamespace) -> None:
    properties = {"k" * 255: "ü" * 255, "pairs": "😀" * 127}
    assert main.create_namespace({"id": ["main", "new"], "properties": properties}).properties == (
        properties
    )


def test_a_column_name_that_is_too_long_is_rejected(
    main: UnityNamespace, unity: Unity, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match="the name of column 'ccc"):
        main.create_table({"id": T}, pa.table({"c" * 256: [1]}))
    assert tuple(T) not in unity.held()
    assert not list((tmp_path / "lake").rglob("*.lance"))
    main.create_table({"id": T}, pa.table({"c" * 255: [1]}))


@pytest.mark.parametrize("location", ["s3://bucket/a//b", "s3://bucket/a/../b"])
def test_a_location_that_the_server_would_rewrite(
    main: UnityNamespace, unity: Unity, location: str
) -> None:
    before = unity.held()
    with pytest.raises(InvalidInputError, match=r"contains a double slash|in a URI are ambiguous"):
        main.declare_table({"id": T, "location": location})
    assert unity.held() == before


@pytest.mark.parametrize("last", ["two words", "a{1}", "ü$", "a%20b"])
def test_a_location_that_is_a_uri(main: UnityNamespace, tmp_path: Path, last: str) -> None:
    declared = main.declare_table({"id": T, "location": f"file://{tmp_path}/{last}"})
    assert declared.location == f"{tmp_path}/{'a b' if last == 'a%20b' else last}"
    assert main.describe_table({"id": T}).location == declared.location


@pytest.mark.parametrize("scheme", ["az", "oss"])
def test_an_unknown_scheme_of_a_location(main: UnityNamespace, unity: Unity, scheme: str) -> None:
    before = unity.held()
    with (
        pytest.warns(UserWarning, match="cannot be read"),
        pytest.raises(LanceNamespaceError, match=f"scheme.*{scheme}") as refused,
    ):
        main.register_table({"id": T, "location": f"{scheme}://place/t"})
    assert refused.value.code == 13
    assert unity.held() == before


@pytest.mark.requirement("unity-drop-namespace-not-empty")
def test_a_view_is_not_a_lance_table(main: UnityNamespace, unity: Unity) -> None:
    unity.add_table(tuple(T), "VIEW", {"table_type": "lance"})
    assert main.list_tables({"id": S}).tables == []
    for call in (
        lambda: main.describe_table({"id": T}),
        lambda: main.drop_table({"id": T}),
        lambda: main.deregister_table({"id": T}),
        lambda: main.table_exists({"id": T}),
    ):
        with pytest.raises(InvalidInputError, match="its table_type is VIEW, not EXTERNAL"):
            call()
    with pytest.raises(TableAlreadyExistsError):
        main.declare_table({"id": T})
    with pytest.raises(NamespaceNotEmptyError):
        main.drop_namespace({"id": S})
    main.drop_namespace({"id": S, "behavior": "Cascade"})
    assert tuple(S) not in unity.held()


@pytest.mark.parametrize("name", ["a\x1fb", "s\x1ft"])
def test_a_name_that_the_server_splits(main: UnityNamespace, name: str) -> None:
    main.declare_table({"id": T})
    with pytest.raises(NamespaceNotFoundError):
        main.describe_namespace({"id": ["main", name]})
    with pytest.raises((NamespaceNotFoundError, TableNotFoundError)):
        main.describe_table({"id": ["main", "s", name]})
    with pytest.raises(InvalidInputError):
        UnityConfig.from_properties({"endpoint": "http://localhost:1", "catalog": name})


@pytest.mark.parametrize("end", ["", "/", API, f"{API}/"])
def test_an_endpoint_with_the_path_of_the_api(connected: Connect, unity: Unity, end: str) -> None:
    namespace = connected(endpoint=unity.uri + end)
    assert namespace.describe_namespace({"id": ["main"]}).properties == {"kind": "demo"}
    assert connect("unity", namespace.config.to_properties()).list_namespaces({}).namespaces == [
        "main"
    ]


def test_an_endpoint_without_the_api(connected: Connect, unity: Unity) -> None:
    with pytest.raises(LanceNamespaceError, match="check 'endpoint' and 'api_path'"):
        connected(endpoint=f"{unity.uri}/elsewhere").describe_namespace({"id": S})


def test_one_of_several_concurrent_creations_succeeds(connected: Connect, unity: Unity) -> None:
    """Each thread has its own connection; the server itself would let several creations succeed."""
    connections = [connected() for _ in range(4)]
    for round_ in range(5):
        schema, start = ["main", f"s{round_}"], threading.Barrier(4)

        def make(
            namespace: UnityNamespace,
            schema: list[str] = schema,
            start: threading.Barrier = start,
        ) -> list[int]:
            codes = []
            for call in (
                lambda: namespace.create_namespace({"id": schema}),
                lambda: namespace.declare_table({"id": [*schema, "t"]}),
            ):
                start.wait(300)
                try:
                    call()
                    codes.append(-1)
                except LanceNamespaceError as error:
                    codes.append(error.code)
            return codes

        with ThreadPoolExecutor(4) as pool:
            outcomes = list(pool.map(make, connections))
        assert sorted(each[0] for each in outcomes) == [-1, 2, 2, 2]
        assert sorted(each[1] for each in outcomes) == [-1, 5, 5, 5]
        connections[0].describe_table({"id": [*schema, "t"]})


def test_no_change_of_concurrent_writers_is_lost(connected: Connect) -> None:
    connections = [connected() for _ in range(4)]
    connections[0].create_namespace({"id": S})

    def change(writer: int) -> None:
        for i in range(10):
            connections[writer].alter_namespace(
                {"id": S, "set_properties": {f"w{writer}-{i}": "1"}}
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(4)))
    properties = connections[0].describe_namespace({"id": S}).properties
    assert properties == {f"w{writer}-{i}": "1" for writer in range(4) for i in range(10)}


# --- responses of the server in races, as recorded

ENTRY = {"name": "t", "table_type": "EXTERNAL", "properties": {"table_type": "lance"}}


def internal(message: str) -> Answer:
    return Answer(status=500, body={"error_code": "INTERNAL", "message": message})


def test_a_name_with_several_entries() -> None:
    said = "Failed to get table: Query did not return a unique result: 2 results were returned"
    with answered(lambda asked: internal(said)) as (_, namespace):
        for call in (namespace.describe_table, namespace.deregister_table, namespace.drop_table):
            with pytest.raises(InvalidTableStateError, match="several entries with this name"):
                call({"id": T})


@pytest.mark.parametrize(("failures", "succeeds"), [(1, True), (9, True), (100, False)])
def test_a_conflicting_change_is_retried(failures: int, succeeds: bool) -> None:
    said = "Failed to update schema: Row was updated or deleted by another transaction (or so)"
    left = [internal(said)] * failures
    held: dict[str, dict[str, str]] = {"properties": {}}

    def respond(asked: Asked) -> Answer:
        if asked.method == "PATCH":
            if left:
                return left.pop()
            held["properties"] = asked.json["properties"]
        return Answer(body=dict(held))

    with answered(respond) as (_, namespace):
        request = {"id": S, "set_properties": {"a": "b"}}
        if succeeds:
            assert namespace.alter_namespace(request).properties == {"a": "b"}
        else:
            with pytest.raises(ConcurrentModificationError, match="try again"):
                namespace.alter_namespace(request)
            assert failures - len(left) == 10


@pytest.mark.parametrize("location", [None, ""])
def test_a_response_without_a_location(location: str | None, tmp_path: Path) -> None:
    entry = Answer(body={**ENTRY, "storage_location": location})
    with answered(lambda asked: entry, root=str(tmp_path)) as (_, namespace):
        with pytest.raises(InvalidTableStateError, match="no storage_location"):
            namespace.describe_table({"id": T})
        if location is None:  # the requested location is known
            assert namespace.declare_table({"id": T}).location == f"{tmp_path}/main/s/t"
