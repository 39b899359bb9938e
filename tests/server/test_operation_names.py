"""Every operation of the general specification, by its name there, over HTTP."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import lance
import pyarrow as pa
import pytest

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from tests.servers.http_client import http_client

CATALOG = "tests.behaviour.memory:Mixed"

"""A catalog with namespaces and tables on every level."""


ROWS = pa.table({"a": pa.array([1, 2, 3], pa.int64())})


# Operation in the general specification -> its name today.
OPERATION_NAMES = {
    "ListOperations": "ListOperations",
    "ListNamespaces": "ListNamespaces",
    "NamespaceExists": "NamespaceExists",
    "GetNamespace": "DescribeNamespace",
    "CreateNamespace": "CreateNamespace",
    "AlterNamespace": "AlterNamespace",
    "DropNamespace": "DropNamespace",
    "ListTables": "ListTables",
    "TableExists": "TableExists",
    "GetTable": "DescribeTable",
    "CreateTable": "CreateTable",
    "RegisterTable": "RegisterTable",
    "AlterTable": "AlterTable",
    "DropTable": "DropTable",
}


class Caller:
    """Calls operations by name over HTTP, in a namespace of its own."""

    def __init__(self, http: httpx.Client, root: Path) -> None:
        self.http = http
        self.root = root
        self.ns = f"ns{uuid4().hex[:8]}"
        assert self("CreateNamespace", id=[self.ns], properties={"team": "x"}).is_success

    def __call__(self, operation: str, **body: Any) -> httpx.Response:
        return self.http.post(f"/{operation}", json=body)

    def create_table(self, name: str, **query: str) -> httpx.Response:
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, ROWS.schema) as writer:
            writer.write_table(ROWS)
        params = {"id": f"{self.ns}${name}", **query}
        return self.http.post("/CreateTable", params=params, content=sink.getvalue())

    def code(self, operation: str, **body: Any) -> int:
        answer = self(operation, **body)
        assert not answer.is_success
        return int(answer.json()["code"])


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, Path]]:
    root = tmp_path_factory.mktemp("served")
    with (
        connect(CATALOG, {"root": str(root)}) as served,
        serving(served) as uri,
        http_client(uri, timeout=300) as client,
    ):
        yield client, root


@pytest.fixture
def call(http: tuple[httpx.Client, Path]) -> Caller:
    return Caller(*http)


@pytest.mark.requirement("general-036")
def test_all_operations_of_the_general_specification_have_their_names() -> None:
    today = {name: row.name for row in OPERATIONS.values() for name in row.names}
    assert {name: today.get(name) for name in OPERATION_NAMES} == OPERATION_NAMES


@pytest.mark.requirement("general-037")
def test_list_operations(call: Caller) -> None:
    listed = call("ListOperations").json()["operations"]
    assert set(OPERATION_NAMES.values()) <= set(listed)
    assert len(set(listed)) == len(listed)
    assert set(listed) <= set(OPERATIONS)


@pytest.mark.requirement("general-038", "general-100")
def test_list_namespaces(call: Caller) -> None:
    for name in ("b", "a"):
        call("CreateNamespace", id=[call.ns, name])
    call("CreateNamespace", id=[call.ns, "a", "below"])
    assert call("ListNamespaces", id=[call.ns]).json()["namespaces"] == ["a", "b"]
    assert call.ns in call("ListNamespaces").json()["namespaces"]  # no parent: the root
    assert call.code("ListNamespaces", id=[call.ns, "none"]) == 1


@pytest.mark.requirement("general-039")
def test_namespace_exists(call: Caller) -> None:
    assert call("NamespaceExists", id=[call.ns]).is_success
    assert call.code("NamespaceExists", id=[call.ns, "none"]) == 1


@pytest.mark.requirement("general-040")
def test_get_namespace(call: Caller) -> None:
    assert call("GetNamespace", id=[call.ns]).json()["properties"] == {"team": "x"}
    assert call.code("GetNamespace", id=[call.ns, "none"]) == 1


@pytest.mark.requirement("general-041")
def test_create_namespace(call: Caller) -> None:
    made = call("CreateNamespace", id=[call.ns, "new"], properties={"a": "b"})
    assert made.json()["properties"] == {"a": "b"}
    assert call("ListNamespaces", id=[call.ns]).json()["namespaces"] == ["new"]
    assert call.code("CreateNamespace", id=[call.ns, "new"]) == 2
    assert call.code("CreateNamespace", id=[call.ns, "none", "new"]) == 1
    top = f"top{uuid4().hex[:8]}"
    assert call("CreateNamespace", id=[top]).is_success
    assert top in call("ListNamespaces").json()["namespaces"]


@pytest.mark.requirement("general-042")
def test_alter_namespace(call: Caller) -> None:
    changed = call(
        "AlterNamespace", id=[call.ns], set_properties={"a": "b"}, unset_properties=["team"]
    )
    assert changed.json()["properties"] == {"a": "b"}
    assert call("GetNamespace", id=[call.ns]).json()["properties"] == {"a": "b"}
    assert call.code("AlterNamespace", id=["none"], set_properties={"a": "b"}) == 1


@pytest.mark.requirement("general-043")
def test_drop_namespace(call: Caller) -> None:
    call("CreateNamespace", id=[call.ns, "below"])
    assert call.code("DropNamespace", id=[call.ns]) == 3
    assert call("DropNamespace", id=[call.ns, "below"]).is_success
    assert call("ListNamespaces", id=[call.ns]).json()["namespaces"] == []
    assert call("DropNamespace", id=[call.ns]).is_success  # its parent is the root
    assert call.code("NamespaceExists", id=[call.ns]) == 1


@pytest.mark.requirement("general-044", "general-109")
def test_list_tables(call: Caller) -> None:
    for name in ("b", "a"):
        call("DeclareTable", id=[call.ns, name])
    call("CreateNamespace", id=[call.ns, "c"])
    assert call("ListTables", id=[call.ns]).json()["tables"] == ["a", "b"]
    assert call.code("ListTables", id=[call.ns, "none"]) == 1


@pytest.mark.requirement("general-045")
def test_table_exists(call: Caller) -> None:
    call("DeclareTable", id=[call.ns, "t"])
    assert call("TableExists", id=[call.ns, "t"]).is_success
    assert call.code("TableExists", id=[call.ns, "none"]) == 4
    assert call.code("TableExists", id=[call.ns, "none", "t"]) == 4


@pytest.mark.requirement("general-046", "general-100")
def test_get_table(call: Caller) -> None:
    location = call.create_table("t").json()["location"]
    found = call("GetTable", id=[call.ns, "t"], load_detailed_metadata=True).json()
    assert (found["namespace"], found["table"]) == ([call.ns], "t")
    assert (found["location"], found["version"]) == (location, 1)
    assert [field["name"] for field in found["schema"]["fields"]] == ["a"]
    assert call.code("GetTable", id=[call.ns, "none"]) == 4


@pytest.mark.requirement("general-047")
def test_create_table(call: Caller) -> None:
    made = call.create_table("t", properties='{"a": "b"}').json()
    assert (made["version"], made["properties"]) == (1, {"a": "b"})
    assert lance.dataset(made["location"]).to_table() == ROWS
    assert call("ListTables", id=[call.ns]).json()["tables"] == ["t"]
    assert call.create_table("t").json()["code"] == 5


@pytest.mark.requirement("general-048")
def test_register_table(call: Caller) -> None:
    place = str(call.root / "elsewhere" / call.ns)
    lance.write_dataset(ROWS, place)
    made = call("RegisterTable", id=[call.ns, "t"], location=place)
    assert made.json()["location"] == place
    assert call("CountTableRows", id=[call.ns, "t"]).json() == 3
    assert call.code("RegisterTable", id=[call.ns, "t"], location=place) == 5
    assert call.code("RegisterTable", id=[call.ns, "none", "t"], location=place) == 1


@pytest.mark.requirement("general-049")
def test_alter_table(call: Caller) -> None:
    call("DeclareTable", id=[call.ns, "t"], properties={"a": "1", "b": "2"})
    changed = call(
        "AlterTable", id=[call.ns, "t"], set_properties={"a": "3"}, unset_properties=["b"]
    )
    assert changed.json()["properties"] == {"a": "3"}
    assert call("GetTable", id=[call.ns, "t"]).json()["properties"] == {"a": "3"}
    assert call.code("AlterTable", id=[call.ns, "none"], set_properties={"a": "3"}) == 4


@pytest.mark.requirement("general-050")
def test_drop_table(call: Caller) -> None:
    location = call.create_table("t").json()["location"]
    assert call("DropTable", id=[call.ns, "t"]).is_success
    assert call("ListTables", id=[call.ns]).json()["tables"] == []
    assert not Path(location).exists()
    assert call.code("DropTable", id=[call.ns, "t"]) == 4
