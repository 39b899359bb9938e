"""What the general specification asks of any namespace, and no other test shows."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import lance
import pyarrow as pa
import pytest
from attrs import evolve
from typer.testing import CliRunner

from codegen.check import problems
from codegen.document import Document
from codegen.published import breaking_changes
from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from lance_namespace_client.models import DescribeTableResponse
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import OPERATIONS, Body
from lance_namespace_impls import connect, connect_config, register, registry
from lance_namespace_impls.catalog.capabilities import Capabilities
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.core.identifiers import join_identifier, split_identifier
from lance_namespace_impls.registry import implementations, load
from lance_namespace_impls.server import serving
from tests.behaviour.memory import LEVELS, catalog
from tests.servers.http_client import http_client
from tests.servers.s3 import GuardedS3

CATALOG = "tests.behaviour.memory:Mixed"
"""A catalog with namespaces and tables on every level."""

HERE = Path(__file__).resolve().parent
SMALL = HERE.parent / "codegen" / "small.yaml"
SPEC = json.loads((files("lance_namespace_client") / "openapi.json").read_text("utf-8"))
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


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[Namespace]:
    """A catalog with namespaces and tables on every level, and nothing in it."""
    with connect(CATALOG, {"root": str(tmp_path / "catalog")}) as found:
        yield found


@pytest.fixture(params=["dir", "catalog"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    """A directory and a catalog, each with nothing in it."""
    impl = {"dir": "dir", "catalog": CATALOG}[request.param]
    with connect(impl, {"root": str(tmp_path / "tables")}) as found:
        yield found


# --- concepts

LAYOUT = (
    (["ns1"], ["ns4"], []),
    (["ns2"], [], ["t2"]),
    (["cat2"], ["cat5"], []),
    (["cat2", "cat5"], [], ["t1"]),
    (["cat3"], [], []),
    (["cat4"], [], ["t3", "t4"]),
)
"""Namespaces, each with the namespaces and the tables in it."""


@pytest.fixture
def layout(namespace: Namespace) -> Namespace:
    """The namespaces and tables that the specification takes its examples from."""
    for identifier, children, tables in LAYOUT:
        namespace.create_namespace({"id": identifier, "mode": "ExistOk"})
        for name in children:
            namespace.create_namespace({"id": [*identifier, name]})
        for name in tables:
            namespace.declare_table({"id": [*identifier, name]})
    return namespace


def test_namespaces_hold_tables_or_namespaces_at_any_depth(layout: Namespace) -> None:
    for identifier, children, tables in LAYOUT:
        assert list(layout.iter_namespaces(identifier)) == children
        assert list(layout.iter_tables(identifier)) == tables
    deepest = ["a", "b", "c", "d", "e"]
    for depth in range(1, len(deepest) + 1):
        layout.create_namespace({"id": deepest[:depth]})
    layout.declare_table({"id": [*deepest, "t"]})
    assert list(layout.iter_tables(deepest)) == ["t"]


def test_a_parent_has_direct_children_only(layout: Namespace) -> None:
    assert list(layout.iter_namespaces()) == ["cat2", "cat3", "cat4", "ns1", "ns2"]
    assert list(layout.iter_tables()) == []
    assert list(layout.iter_namespaces(["ns1"])) == ["ns4"]
    assert list(layout.iter_tables(["ns2"])) == ["t2"]
    assert list(layout.iter_tables(["cat2"])) == []  # t1 is a child of cat5
    described = layout.describe_table({"id": ["cat2", "cat5", "t1"]})
    assert (described.namespace, described.table) == (["cat2", "cat5"], "t1")


def test_a_name_is_unique_among_all_objects_of_its_parent(layout: Namespace) -> None:
    with pytest.raises(NamespaceAlreadyExistsError):
        layout.create_namespace({"id": ["cat4"]})
    with pytest.raises(TableAlreadyExistsError):
        layout.declare_table({"id": ["cat4", "t3"]})
    with pytest.raises(TableAlreadyExistsError):
        layout.rename_table({"id": ["cat4", "t3"], "new_table_name": "t4"})
    # a namespace and a table share their names
    with pytest.raises(TableAlreadyExistsError):
        layout.declare_table({"id": ["cat2", "cat5"]})
    with pytest.raises(NamespaceAlreadyExistsError):
        layout.create_namespace({"id": ["cat4", "t3"]})
    assert list(layout.iter_tables(["cat4"])) == ["t3", "t4"]
    assert list(layout.iter_namespaces(["cat4"])) == []


def test_parents_do_not_share_their_names(layout: Namespace) -> None:
    for parent in ([], ["cat3"], ["cat2", "cat5"], ["ns1", "ns4"]):
        layout.declare_table({"id": [*parent, "t3"]})
    locations = {
        layout.describe_table({"id": [*parent, "t3"]}).location
        for parent in ([], ["cat3"], ["cat4"], ["cat2", "cat5"], ["ns1", "ns4"])
    }
    assert len(locations) == 5
    layout.drop_table({"id": ["cat4", "t3"]})
    layout.table_exists({"id": ["cat3", "t3"]})


def test_an_identifier_is_unique_below_the_root(layout: Namespace) -> None:
    for parent in ([], ["cat3"], ["ns1", "ns4"]):
        layout.declare_table({"id": [*parent, "t3"]})
    listed = layout.list_all_tables({}).tables
    assert listed == ["cat2$cat5$t1", "cat3$t3", "cat4$t3", "cat4$t4", "ns1$ns4$t3", "ns2$t2", "t3"]
    for text in listed:
        identifier = list(split_identifier(text))
        described = layout.describe_table({"id": identifier})
        assert [*described.namespace, described.table] == identifier


@pytest.mark.parametrize(
    ("names", "delimiter", "text"),
    [
        (["cat2", "cat5"], ".", "cat2.cat5"),
        (["cat2", "cat5", "t1"], ".", "cat2.cat5.t1"),
        (["cat4", "t3"], "$", "cat4$t3"),
        (["v1.2", "t"], "::", "v1.2::t"),
    ],
)
def test_a_string_identifier_is_the_names_and_a_delimiter(
    names: list[str], delimiter: str, text: str
) -> None:
    assert join_identifier(names, delimiter) == text
    assert list(split_identifier(text, delimiter)) == names


def test_another_delimiter_serves_names_with_dots(tmp_path: Path) -> None:
    with connect("dir", {"path": tmp_path}) as directory, serving(directory) as uri:
        directory.declare_table({"id": ["v1.2"]})
        for delimiter in ("$", "/", "::"):
            with connect("rest", {"uri": uri, "delimiter": delimiter}) as client:
                client.table_exists({"id": ["v1.2"]})
        dotted = connect("rest", {"uri": uri, "delimiter": "."})
        with dotted, pytest.raises(InvalidInputError, match="another 'delimiter'"):
            dotted.table_exists({"id": ["v1.2"]})


ROOTS: list[Any] = [None, "", []]


@pytest.mark.parametrize("root", ROOTS, ids=repr)
def test_the_root_is_there_before_anything_is(either: Namespace, root: Any) -> None:
    either.namespace_exists({"id": root})
    assert either.describe_namespace({"id": root}).properties == {}
    assert either.list_namespaces({"id": root}).namespaces == []
    assert either.list_tables({"id": root}).tables == []


@pytest.mark.parametrize("root", [*ROOTS, "absent"], ids=repr)
def test_the_root_on_the_wire(namespace: Namespace, root: Any) -> None:
    namespace.declare_table({"id": ["t"]})
    body = {} if root == "absent" else {"id": root}
    with serving(namespace) as uri:
        assert httpx.post(f"{uri}/NamespaceExists", json=body).status_code == 200
        assert httpx.post(f"{uri}/ListTables", json=body).json()["tables"] == ["t"]


@pytest.mark.parametrize("text", ["", "$"])
def test_the_root_as_a_string(text: str) -> None:
    assert split_identifier(text) == ()


def test_the_root_has_no_parent_and_no_end(either: Namespace) -> None:
    for call, request in (
        (either.create_namespace, {"id": []}),
        (either.create_namespace, {"id": [], "mode": "ExistOk"}),
        (either.create_namespace, {"id": [], "mode": "Overwrite"}),
        (either.drop_namespace, {"id": []}),
        (either.drop_namespace, {"id": [], "mode": "Skip", "behavior": "Cascade"}),
        (either.alter_namespace, {"id": [], "set_properties": {"a": "b"}}),
    ):
        with pytest.raises(LanceNamespaceError) as refused:
            call(request)
        assert refused.value.code in (0, 13)
    either.namespace_exists({"id": []})


def test_each_tool_names_the_root_as_it_likes(tmp_path: Path) -> None:
    config = tmp_path / "ns.toml"
    place = f'impl = "dir"\npath = "{tmp_path}/lake"\n'
    config.write_text(f"[cat1]\n{place}\n[cat2]\n{place}\n")

    def run(profile: str, *arguments: str) -> str:
        ran = CliRunner().invoke(
            app, [*arguments, "--config", str(config), "--profile", profile, "--json"]
        )
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    run("cat1", "declare", "t")
    assert json.loads(run("cat2", "ls"))["tables"] == ["t"]
    assert run("cat1", "describe", "t") == run("cat2", "describe", "t")
    assert "cat" not in run("cat2", "describe", "$").replace(str(tmp_path), "")


# --- operations, each by the name of the general specification


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
        http_client(uri, timeout=60) as client,
    ):
        yield client, root


@pytest.fixture
def call(http: tuple[httpx.Client, Path]) -> Caller:
    return Caller(*http)


def test_all_operations_of_the_general_specification_have_their_names() -> None:
    today = {name: row.name for row in OPERATIONS.values() for name in row.names}
    assert {name: today.get(name) for name in OPERATION_NAMES} == OPERATION_NAMES


def test_list_operations(call: Caller) -> None:
    listed = call("ListOperations").json()["operations"]
    assert set(OPERATION_NAMES.values()) <= set(listed)
    assert len(set(listed)) == len(listed)
    assert set(listed) <= set(OPERATIONS)


def test_list_namespaces(call: Caller) -> None:
    for name in ("b", "a"):
        call("CreateNamespace", id=[call.ns, name])
    call("CreateNamespace", id=[call.ns, "a", "below"])
    assert call("ListNamespaces", id=[call.ns]).json()["namespaces"] == ["a", "b"]
    assert call.ns in call("ListNamespaces").json()["namespaces"]  # no parent: the root
    assert call.code("ListNamespaces", id=[call.ns, "none"]) == 1


def test_namespace_exists(call: Caller) -> None:
    assert call("NamespaceExists", id=[call.ns]).is_success
    assert call.code("NamespaceExists", id=[call.ns, "none"]) == 1


def test_get_namespace(call: Caller) -> None:
    assert call("GetNamespace", id=[call.ns]).json()["properties"] == {"team": "x"}
    assert call.code("GetNamespace", id=[call.ns, "none"]) == 1


def test_create_namespace(call: Caller) -> None:
    made = call("CreateNamespace", id=[call.ns, "new"], properties={"a": "b"})
    assert made.json()["properties"] == {"a": "b"}
    assert call("ListNamespaces", id=[call.ns]).json()["namespaces"] == ["new"]
    assert call.code("CreateNamespace", id=[call.ns, "new"]) == 2
    assert call.code("CreateNamespace", id=[call.ns, "none", "new"]) == 1
    top = f"top{uuid4().hex[:8]}"
    assert call("CreateNamespace", id=[top]).is_success
    assert top in call("ListNamespaces").json()["namespaces"]


def test_alter_namespace(call: Caller) -> None:
    changed = call(
        "AlterNamespace", id=[call.ns], set_properties={"a": "b"}, unset_properties=["team"]
    )
    assert changed.json()["properties"] == {"a": "b"}
    assert call("GetNamespace", id=[call.ns]).json()["properties"] == {"a": "b"}
    assert call.code("AlterNamespace", id=["none"], set_properties={"a": "b"}) == 1


def test_drop_namespace(call: Caller) -> None:
    call("CreateNamespace", id=[call.ns, "below"])
    assert call.code("DropNamespace", id=[call.ns]) == 3
    assert call("DropNamespace", id=[call.ns, "below"]).is_success
    assert call("ListNamespaces", id=[call.ns]).json()["namespaces"] == []
    assert call("DropNamespace", id=[call.ns]).is_success  # its parent is the root
    assert call.code("NamespaceExists", id=[call.ns]) == 1


def test_list_tables(call: Caller) -> None:
    for name in ("b", "a"):
        call("DeclareTable", id=[call.ns, name])
    call("CreateNamespace", id=[call.ns, "c"])
    assert call("ListTables", id=[call.ns]).json()["tables"] == ["a", "b"]
    assert call.code("ListTables", id=[call.ns, "none"]) == 1


def test_table_exists(call: Caller) -> None:
    call("DeclareTable", id=[call.ns, "t"])
    assert call("TableExists", id=[call.ns, "t"]).is_success
    assert call.code("TableExists", id=[call.ns, "none"]) == 4
    assert call.code("TableExists", id=[call.ns, "none", "t"]) == 4


def test_get_table(call: Caller) -> None:
    location = call.create_table("t").json()["location"]
    found = call("GetTable", id=[call.ns, "t"], load_detailed_metadata=True).json()
    assert (found["namespace"], found["table"]) == ([call.ns], "t")
    assert (found["location"], found["version"]) == (location, 1)
    assert [field["name"] for field in found["schema"]["fields"]] == ["a"]
    assert call.code("GetTable", id=[call.ns, "none"]) == 4


def test_create_table(call: Caller) -> None:
    made = call.create_table("t", properties='{"a": "b"}').json()
    assert (made["version"], made["properties"]) == (1, {"a": "b"})
    assert lance.dataset(made["location"]).to_table() == ROWS
    assert call("ListTables", id=[call.ns]).json()["tables"] == ["t"]
    assert call.create_table("t").json()["code"] == 5


def test_register_table(call: Caller) -> None:
    place = str(call.root / "elsewhere" / call.ns)
    lance.write_dataset(ROWS, place)
    made = call("RegisterTable", id=[call.ns, "t"], location=place)
    assert made.json()["location"] == place
    assert call("CountTableRows", id=[call.ns, "t"]).json() == 3
    assert call.code("RegisterTable", id=[call.ns, "t"], location=place) == 5
    assert call.code("RegisterTable", id=[call.ns, "none", "t"], location=place) == 1


def test_alter_table(call: Caller) -> None:
    call("DeclareTable", id=[call.ns, "t"], properties={"a": "1", "b": "2"})
    changed = call(
        "AlterTable", id=[call.ns, "t"], set_properties={"a": "3"}, unset_properties=["b"]
    )
    assert changed.json()["properties"] == {"a": "3"}
    assert call("GetTable", id=[call.ns, "t"]).json()["properties"] == {"a": "3"}
    assert call.code("AlterTable", id=[call.ns, "none"], set_properties={"a": "3"}) == 4


def test_drop_table(call: Caller) -> None:
    location = call.create_table("t").json()["location"]
    assert call("DropTable", id=[call.ns, "t"]).is_success
    assert call("ListTables", id=[call.ns]).json()["tables"] == []
    assert not Path(location).exists()
    assert call.code("DropTable", id=[call.ns, "t"]) == 4


@pytest.mark.parametrize("version", ["V2", "V3"])
def test_a_change_that_breaks_is_a_new_operation_beside_the_old(
    tmp_path: Path, version: str
) -> None:
    published = Document(SMALL).data
    text = SMALL.read_text("utf-8")
    block = text[text.index("  /v1/colors:") : text.index("  /v1/table/{id}/pour:")]
    newer = re.sub(r"ListColors(?!Re)", f"ListColors{version}", block)
    newer = newer.replace("/v1/colors", f"/{version.lower()}/colors")
    newer = newer.replace("x-codes: []", "x-codes: [4]")
    changed = tmp_path / "spec.yaml"
    changed.write_text(text.replace(block, block + newer), "utf-8")
    document = Document(changed)
    assert list(problems(document)) == []
    assert breaking_changes(document, published) == []
    assert {"/ListColors", f"/ListColors{version}"} <= set(document.data["paths"])

    changed.write_text(text.replace(block, newer), "utf-8")
    assert [problem.cause for problem in breaking_changes(Document(changed), published)] == [
        "the route GET /v1/colors is gone",
        "the route POST /ListColors is gone",
    ]


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_request_and_response_are_schemas_of_the_document(row: Any) -> None:
    schemas = SPEC["components"]["schemas"]
    for model in (row.request, row.response):
        assert schemas[model]["type"] == "object"
        assert schemas[model]["properties"]
    route = SPEC["paths"][row.path][row.http_method.lower()]
    for holder, model, kind in (
        (route.get("requestBody"), row.request, row.body),
        (route["responses"][str(row.status)], row.response, row.answer),
    ):
        if kind is Body.JSON:
            (content,) = holder["content"].values()
            assert content["schema"] == {"$ref": f"#/components/schemas/{model}"}


def test_the_document_is_one_of_json_schemas() -> None:
    assert SPEC["openapi"].startswith("3.1.")  # whose schemas are JSON Schema


# --- implementations


@pytest.mark.parametrize(
    "impl", [name for name in implementations() if name not in ("rest", "hive")]
)
def test_an_implementation_declares_what_it_can_do(impl: str) -> None:
    declared = load(impl).capabilities
    assert isinstance(declared, Capabilities)
    assert set(declared.unsupported) <= set(OPERATIONS)
    assert all(declared.unsupported.values()), "an operation is refused without a reason"


def test_what_is_declared_unsupported_is_not_listed_and_refused(tmp_path: Path) -> None:
    with LEVELS["one-catalog"].from_properties({"root": str(tmp_path)}) as namespace:
        listed = namespace.list_operations({}).operations
        assert "DeclareTable" in listed
        assert not {"RenameTable", "AlterTable"} & set(listed)
        with pytest.raises(UnsupportedError, match="the catalog cannot rename"):
            namespace.rename_table({"id": ["main", "s", "t"], "new_table_name": "u"})
        with pytest.raises(UnsupportedError, match="no table update"):
            namespace.alter_table({"id": ["main", "s", "t"], "set_properties": {"a": "b"}})


def test_a_table_is_in_the_catalog_and_in_storage(namespace: Namespace, tmp_path: Path) -> None:
    held = catalog(str(tmp_path / "catalog")).tables
    location = namespace.create_table({"id": ["t"]}, ROWS).location
    assert [identifier for identifier in held if held[identifier]] == [("t",)]
    assert lance.dataset(location).count_rows() == 3
    namespace.deregister_table({"id": ["t"]})
    assert held == {}
    assert lance.dataset(location).count_rows() == 3


def test_the_catalog_holds_the_location_and_no_version(
    namespace: Namespace, tmp_path: Path
) -> None:
    held = catalog(str(tmp_path / "catalog")).tables
    location = namespace.create_table({"id": ["t"], "properties": {"a": "b"}}, ROWS).location
    before = held[("t",)]
    namespace.insert_into_table({"id": ["t"]}, ROWS)
    assert held[("t",)] == before
    assert (before.location, before.properties) == (location, {"a": "b"})


def test_a_change_made_straight_on_storage_is_seen(either: Namespace) -> None:
    location = either.create_table({"id": ["t"]}, ROWS).location
    assert either.count_table_rows({"id": ["t"]}).count == 3
    lance.write_dataset(ROWS, location, mode="append")
    assert either.count_table_rows({"id": ["t"]}).count == 6
    assert either.describe_table({"id": ["t"], "load_detailed_metadata": True}).version == 2
    lance.dataset(location).delete("a > 1")
    with serving(either) as uri, connect("rest", {"uri": uri}) as client:
        assert client.count_table_rows({"id": ["t"]}).count == 2
        assert client.open_table(["t"]).version == 3


def test_a_change_by_request_is_made_on_storage(either: Namespace) -> None:
    location = either.create_table({"id": ["t"]}, ROWS).location
    either.insert_into_table({"id": ["t"]}, ROWS)
    either.delete_from_table({"id": ["t"], "predicate": "a > 1"})
    stored = lance.dataset(location)
    assert (stored.version, stored.to_table()["a"].to_pylist()) == (3, [1, 1])


def test_tables_are_managed_by_storage_and_say_so(either: Namespace) -> None:
    assert either.declare_table({"id": ["d"]}).managed_versioning is False
    either.create_table({"id": ["t"]}, ROWS)
    assert either.describe_table({"id": ["t"]}).managed_versioning is False
    assert "CreateTableVersion" not in either.list_operations({}).operations
    version = {"id": ["t"], "version": 2, "manifest_path": "staged"}
    with pytest.raises(UnsupportedError):
        either.create_table_version(version)
    assert either.open_table(["t"]).version == 1


def test_the_native_implementations_are_in_this_package() -> None:
    assert {"dir", "hive", "rest"} <= set(implementations())
    for impl in implementations():
        assert load(impl).__module__.startswith("lance_namespace_impls.")


def test_implementations_of_third_parties_are_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    register("mine", CATALOG)
    with connect_config({"impl": "mine", "root": str(tmp_path)}) as namespace:
        assert isinstance(namespace, LEVELS["mixed"])
        namespace.declare_table({"id": ["t"]})
    with pytest.raises(InvalidInputError, match="built in"):
        register("dir", CATALOG)


# --- a directory


def test_a_directory_has_one_level_of_tables(tmp_path: Path) -> None:
    with connect("dir", {"path": tmp_path}) as directory:
        directory.declare_table({"id": ["t"]})
        assert directory.list_namespaces({}).namespaces == []
        for call, request in (
            (directory.create_namespace, {"id": ["ns"]}),
            (directory.list_tables, {"id": ["t"]}),
            (directory.namespace_exists, {"id": ["t"]}),
            (directory.declare_table, {"id": ["ns", "t"]}),
        ):
            with pytest.raises(InvalidInputError) as refused:
                call(request)
            assert refused.value.code == 13
        assert list(directory.iter_tables()) == ["t"]


def test_a_directory_needs_nothing_but_its_path(tmp_path: Path) -> None:
    place = tmp_path / "not" / "made" / "yet"
    with connect("dir", {"path": place}) as directory:
        directory.create_table({"id": ["t"]}, ROWS)
        assert directory.open_table(["t"]).to_table() == ROWS
    assert [child.name for child in place.iterdir()] == ["t.lance"]


def test_the_example_of_a_directory(tmp_path: Path) -> None:
    root = tmp_path / "my" / "dir1"
    lance.write_dataset(ROWS, root / "table1")
    stored = lance.dataset(root / "table1")
    stored.create_scalar_index("a", "BTREE")
    stored.delete("a = 2")
    (root / "table2").mkdir()
    (root / "table3").mkdir()
    inside = {child.name for child in (root / "table1").iterdir()}
    assert {"data", "_versions", "_indices", "_deletions"} <= inside

    with connect("dir", {"path": root}) as directory:
        assert directory.list_tables({}).tables == ["table1", "table2", "table3"]
        for name in ("table1", "table2", "table3"):
            assert directory.describe_table({"id": [name]}).location == str(root / name)
        assert directory.open_table(["table1"]).to_table()["a"].to_pylist() == [1, 3]


def test_files_and_hidden_directories_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / ".hidden").mkdir()
    with connect("dir", {"path": tmp_path}) as directory:
        assert list(directory.iter_tables()) == ["t"]


@pytest.mark.parametrize("text", ["file://{}", "file://localhost{}", "file:{}"])
def test_a_directory_by_uri(tmp_path: Path, text: str) -> None:
    place = tmp_path / "with space"
    (place / "t").mkdir(parents=True)
    encoded = str(place).replace(" ", "%20")
    with connect("dir", {"path": text.format(encoded)}) as directory:
        assert list(directory.iter_tables()) == ["t"]


def test_a_directory_in_an_object_store() -> None:
    with GuardedS3() as store:
        properties = {"path": f"s3://{store.bucket}/prefix"}
        properties |= {f"storage.{key}": value for key, value in store.options().items()}
        with connect("dir", properties) as directory:
            created = directory.create_table({"id": ["t"]}, ROWS)
            assert created.location == f"s3://{store.bucket}/prefix/t.lance"
            assert list(directory.iter_tables()) == ["t"]
            assert directory.open_table(["t"]).to_table() == ROWS
        assert store.objects()
        assert all(key.startswith("prefix/t.lance/") for key in store.objects())


def test_a_directory_by_absolute_path(tmp_path: Path) -> None:
    with connect("dir", {"path": f"{tmp_path}/my/dir"}) as directory:
        assert directory.declare_table({"id": ["t"]}).location == f"{tmp_path}/my/dir/t.lance"


@pytest.mark.parametrize(("path", "place"), [("my/dir2", "my/dir2"), ("./my/dir3", "my/dir3")])
def test_a_directory_by_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with connect("dir", {"path": path}) as directory:
        monkeypatch.chdir("/")  # only where the process was when it connected counts
        assert directory.declare_table({"id": ["t"]}).location == f"{tmp_path}/{place}/t.lance"
    assert (tmp_path / place / "t.lance").is_dir()


def _nothing(place: Path) -> None:
    place.mkdir()


def _foreign(place: Path) -> None:
    place.mkdir()
    (place / "part-0.csv").write_text("a,b\n1,2\n")


def _uncommitted(place: Path) -> None:
    (place / "data").mkdir(parents=True)
    (place / "data" / "x.lance").write_bytes(b"rows that no version has")


def _no_versions(place: Path) -> None:
    (place / "_versions").mkdir(parents=True)


def _no_manifest(place: Path) -> None:
    (place / "_versions").mkdir(parents=True)
    (place / "_versions" / "1.manifest").write_text("nothing that Lance wrote" * 100)


def _empty_manifest(place: Path) -> None:
    (place / "_versions").mkdir(parents=True)
    (place / "_versions" / "1.manifest").touch()


def _cut_manifest(place: Path) -> None:
    lance.write_dataset(ROWS, place)
    (manifest,) = (place / "_versions").glob("*.manifest")
    manifest.write_bytes(manifest.read_bytes()[:-40])


CONTENTS = [
    _nothing, _foreign, _uncommitted, _no_versions, _no_manifest, _empty_manifest, _cut_manifest
]  # fmt: skip


@pytest.mark.parametrize("name", ["t", "t.lance"])
@pytest.mark.parametrize("fill", CONTENTS, ids=lambda fill: fill.__name__.strip("_"))
def test_a_directory_is_a_table_whatever_is_in_it(tmp_path: Path, fill: Any, name: str) -> None:
    fill(tmp_path / name)
    with connect("dir", {"path": tmp_path}) as directory:
        assert directory.list_tables({}).tables == ["t"]
        assert directory.list_all_tables({}).tables == ["t"]
        directory.table_exists({"id": ["t"]})
        assert directory.describe_table({"id": ["t"]}).location == str(tmp_path / name)


@pytest.mark.parametrize("fill", CONTENTS, ids=lambda fill: fill.__name__.strip("_"))
def test_what_is_no_dataset_cannot_be_loaded_and_the_error_says_why(
    tmp_path: Path, fill: Any
) -> None:
    fill(tmp_path / "t")
    with connect("dir", {"path": tmp_path}) as directory:
        for load_it in (
            lambda: directory.describe_table({"id": ["t"], "load_detailed_metadata": True}),
            lambda: directory.open_table(["t"]),
            lambda: directory.count_table_rows({"id": ["t"]}),
        ):
            with pytest.raises(
                InvalidTableStateError, match="not follow the Lance format"
            ) as failed:
                load_it()
            assert failed.value.code == 19


# --- servers


class OneTable(LanceNamespace):
    """The least that can be served: a namespace of someone else with one operation."""

    def describe_table(self, request: Any) -> DescribeTableResponse:
        return DescribeTableResponse(table="t", namespace=[], location="/there")


def test_any_implementation_can_stand_behind_a_server(either: Namespace) -> None:
    either.create_table({"id": ["t"]}, ROWS)
    with serving(either) as uri, connect("rest", {"uri": uri}) as client:
        assert client.list_tables({}).tables == either.list_tables({}).tables == ["t"]
        assert client.list_operations({}).operations == either.list_operations({}).operations
        described = client.describe_table({"id": ["t"]})
        assert evolve(described, context=None) == either.describe_table({"id": ["t"]})
    with serving(OneTable()) as uri, connect("rest", {"uri": uri}) as client:
        assert client.describe_table({"id": ["x"]}).location == "/there"
        with pytest.raises(UnsupportedError):
            client.list_tables({})


def test_a_server_is_an_implementation_too(either: Namespace) -> None:
    """A client of a server is a namespace like any other, so that it can be served again."""
    either.create_table({"id": ["t"]}, ROWS)
    with (
        serving(either) as uri,
        connect("rest", {"uri": uri}) as proxy,
        serving(proxy) as outer,
        connect("rest", {"uri": outer}) as client,
    ):
        assert client.list_tables({}).tables == ["t"]
        client.insert_into_table({"id": ["t"]}, ROWS)
        assert client.count_table_rows({"id": ["t"]}).count == 6
        with pytest.raises(LanceNamespaceError) as missing:
            client.describe_table({"id": ["none"]})
        assert missing.value.code == 4


def test_an_implementation_needs_no_server_in_between(tmp_path: Path) -> None:
    code = (
        "import sys; from lance_namespace_impls import connect\n"
        f"namespace = connect('dir', {{'path': {str(tmp_path)!r}}})\n"
        "namespace.declare_table({'id': ['t']})\n"
        "assert list(namespace.iter_tables()) == ['t']\n"
        "print([name for name in ('httpx', 'starlette', 'uvicorn') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


# --- tools


@pytest.mark.parametrize(
    ("impl", "module"),
    [
        ("dir", "lance_namespace_impls.directory"),
        ("hive", "lance_namespace_impls.hive"),
        ("rest", "lance_namespace_impls.rest"),
    ],
)
def test_the_key_impl_chooses_the_implementation(impl: str, module: str) -> None:
    assert load(impl).__module__.startswith(f"{module}.")
    assert load(impl).config_type.impl == impl


def test_the_key_impl_is_needed_and_must_be_known(tmp_path: Path) -> None:
    with connect_config({"impl": "dir", "dir.path": str(tmp_path)}) as directory:
        assert directory.config.impl == "dir"
    with pytest.raises(InvalidInputError, match="no 'impl'"):
        connect_config({"dir.path": str(tmp_path)})
    with pytest.raises(InvalidInputError, match="'director' is not known"):
        connect_config({"impl": "director", "dir.path": str(tmp_path)})


PROPERTIES = {
    "dir": {"path": "/my/dir"},
    "memory": {"name": "mine"},
    "rest": {"uri": "http://host", "delimiter": "."},
    "hive": {"uri": "host:9083", "client.pool-size": "2"},
    "hive2": {"uri": "host:9083", "client.pool-size": "2"},
    "hive3": {"uri": "host:9083", "client.pool-size": "2"},
    "glue": {"region": "eu-west-1"},
    "unity": {"endpoint": "http://host", "catalog": "main"},
    "iceberg": {"endpoint": "http://host"},
}
"""Implementation -> properties as they are written without it."""


@pytest.mark.parametrize("impl", implementations())
def test_a_key_can_have_the_impl_as_its_prefix(impl: str) -> None:
    kind = load(impl).config_type
    bare = {**PROPERTIES[impl], "cache_mib": "7", "storage.region": "x"}
    prefixed = {f"{impl}.{key}": value for key, value in bare.items()}
    assert kind.from_properties(prefixed) == kind.from_properties(bare)
    assert kind.from_properties(prefixed).cache_mib == 7
    with pytest.raises(InvalidInputError, match="is not known"):
        kind.from_properties({**prefixed, f"{impl}.nothing": "x"})


def test_keys_of_another_implementation_are_left_alone(tmp_path: Path) -> None:
    config = {"impl": "dir", "dir.path": str(tmp_path), "rest.uri": "http://host", "hive.x": "y"}
    with connect_config(config) as directory:
        assert directory.properties["path"] == str(tmp_path)
    with pytest.raises(InvalidInputError, match=r"'dir\.pth' is not known; did you mean 'path'"):
        connect_config({"impl": "dir", "dir.path": str(tmp_path), "dir.pth": "x"})
