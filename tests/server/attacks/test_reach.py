"""Remote callers cannot set storage options or access locations outside the namespace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import lance
import pyarrow as pa
import pytest

from lance_namespace_client.models import ListOperationsResponse, RegisterTableResponse
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.server import Reach, ServerOptions, serving
from tests.behaviour.memory import MemoryConfig, MemoryNamespace, Mixed, catalog
from tests.servers.echo import EchoNamespace
from tests.servers.http_client import http_client

ROWS = pa.table({"x": [1, 2, 3]})
ARROW = "application/vnd.apache.arrow.stream"
THEFT = {"aws_endpoint": "http://203.0.113.9", "allow_http": "true"}
STOLEN = {f"storage.{key}": value for key, value in THEFT.items()}
SECRET = "the-operators-session-token"


def arrow_bytes() -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ROWS.schema) as writer:
        writer.write_table(ROWS)
    return bytes(sink.getvalue())


@contextmanager
def with_a_table(root: Path) -> Iterator[MemoryNamespace]:
    root.mkdir()
    storage = {
        "aws_access_key_id": "id",
        "aws_secret_access_key": "key",
        "aws_session_token": SECRET,
    }
    with Mixed(MemoryConfig(root=str(root), storage=storage)) as found:
        found.create_namespace({"id": ["ns"]})
        found.create_table({"id": ["ns", "t"]}, ROWS)
        yield found


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[MemoryNamespace]:
    with with_a_table(tmp_path / "lake") as found:
        yield found


def contents(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def state(namespace: MemoryNamespace) -> Any:
    tables = catalog(namespace.config.root).tables
    return {key: repr(value) for key, value in tables.items()}


class Caller:
    """A client that sends requests to the server."""

    def __init__(self, address: str) -> None:
        self._client = http_client(address, timeout=300)

    def json(self, path: str, body: dict[str, Any], **more: Any) -> httpx.Response:
        return self._client.post(path, json=body, **more)

    def rows(self, path: str, **more: Any) -> httpx.Response:
        headers = {"content-type": ARROW, **more.pop("headers", {})}
        return self._client.post(path, content=arrow_bytes(), headers=headers, **more)


def said(answer: httpx.Response, code: int = 13) -> str:
    assert answer.json().get("code") == code, answer.text
    return str(answer.json()["error"])


# --- storage options

WITH_OPTIONS = {
    "declare": lambda c: c.json("/v1/table/ns$new/declare", {"properties": STOLEN}),
    "declare by name": lambda c: c.json(
        "/DeclareTable", {"id": ["ns", "new"], "properties": STOLEN}
    ),
    "declare, in capitals": lambda c: c.json(
        "/v1/table/ns$new/declare", {"properties": {" Storage.aws_endpoint": "http://203.0.113.9"}}
    ),
    "register": lambda c: c.json(
        "/v1/table/ns$new/register", {"location": "x", "properties": STOLEN}
    ),
    "alter": lambda c: c.json("/v1/table/ns$t/alter", {"set_properties": STOLEN}),
    "unset": lambda c: c.json(
        "/v1/table/ns$t/alter", {"unset_properties": ["storage.aws_endpoint"]}
    ),
    "alter by name": lambda c: c.json(
        "/AlterTable", {"id": ["ns", "t"], "set_properties": STOLEN}
    ),
    "create namespace": lambda c: c.json("/v1/namespace/new/create", {"properties": STOLEN}),
    "alter namespace": lambda c: c.json("/v1/namespace/ns/alter", {"set_properties": STOLEN}),
    "create, options in the query": lambda c: c.rows(
        "/v1/table/ns$new/create", params={"storage_options": json.dumps(THEFT)}
    ),
    "create, properties in the query": lambda c: c.rows(
        "/v1/table/ns$new/create", params={"properties": json.dumps(STOLEN)}
    ),
    "create, properties in the header": lambda c: c.rows(
        "/v1/table/ns$new/create", headers={"x-lance-table-properties": json.dumps(STOLEN)}
    ),
    "create by name": lambda c: c.rows(
        "/CreateTable", params={"id": "ns$new", "storage_options": json.dumps(THEFT)}
    ),
    "overwrite": lambda c: c.rows(
        "/v1/table/ns$t/create", params={"mode": "Overwrite", "properties": json.dumps(STOLEN)}
    ),
    "a whole other identity": lambda c: c.json(
        "/v1/table/ns$new/declare",
        {"properties": {"storage.aws_endpoint": "http://203.0.113.9", "storage.aws_region": "x"}},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MemoryNamespace, Caller]]:
    """Yield a namespace and a client connected to its server, for requests that must be rejected."""
    root = tmp_path_factory.mktemp("unchanged") / "lake"
    with with_a_table(root) as namespace, serving(namespace) as address:
        yield namespace, Caller(address)


@pytest.mark.parametrize("way", WITH_OPTIONS)
def test_callers_cannot_set_storage_options(
    unchanged: tuple[MemoryNamespace, Caller], way: str
) -> None:
    namespace, caller = unchanged
    before = state(namespace)
    message = said(WITH_OPTIONS[way](caller))
    assert "storage options" in message and "--allow-storage-option" in message
    assert state(namespace) == before


def test_callers_can_set_allowed_storage_options(namespace: MemoryNamespace) -> None:
    with serving(namespace, ServerOptions(reach=Reach(storage_options=["aws_region"]))) as address:
        caller = Caller(address)
        body = {"properties": {"storage.aws_region": "eu-west-1"}}
        assert caller.json("/v1/table/ns$a/declare", body).status_code == 200
        body["properties"]["storage.aws_endpoint"] = "http://203.0.113.9"
        assert "aws_region" not in said(caller.json("/v1/table/ns$b/declare", body))


def test_an_allowed_endpoint_does_not_receive_the_credentials(namespace: MemoryNamespace) -> None:
    with serving(
        namespace, ServerOptions(reach=Reach(storage_options=THEFT), vend_storage_options=True)
    ) as address:
        caller = Caller(address)
        said(caller.json("/v1/table/ns$a/declare", {"properties": STOLEN}))
        body = {"properties": {**STOLEN, "storage.skip_signature": "true"}}
        said(caller.json("/v1/table/ns$a/declare", body))  # that key is not allowed


# --- locations

OUTSIDE = (
    "{outside}/victim",
    "file://{outside}/victim",
    "file:{outside}/victim",
    "FILE://{outside}/victim",
    "file-object-store://{outside}/victim",
    "file://localhost{outside}/victim",
    "{root}/../outside/victim",
    "file://{root}/../outside/victim",
    "file://{root}/%2e%2e/outside/victim",
    "file://{root}/%252e%252e/outside/victim",
    "{root}/link/victim",
    "file://{root}/link/victim",
    "file://{root}/li%6ek/victim",
    "{root}beside",
    "/",
    "s3://other-bucket/table",
    "S3A://other-bucket/table",
    "memory://table",
    "../outside/victim",
    "~/victim",
)


def put_outside(folder: Path) -> Path:
    """Create a dataset outside the namespace, and a link to its folder inside the namespace."""
    found = folder / "outside"
    lance.write_dataset(ROWS, str(found / "victim"))
    (folder / "lake").mkdir(exist_ok=True)
    (folder / "lake" / "link").symlink_to(found)
    (folder / "lakebeside").mkdir()
    return found


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    return put_outside(tmp_path)


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Namespace, Caller]]:
    """Yield a folder with a namespace and an outside dataset, the namespace, and a client."""
    folder = tmp_path_factory.mktemp("beside")
    put_outside(folder)
    config = MemoryConfig(root=str(folder / "lake"))
    with Mixed(config) as namespace, serving(namespace) as address:
        namespace.create_namespace({"id": ["ns"]})
        yield folder, namespace, Caller(address)


@pytest.mark.parametrize("location", OUTSIDE)
@pytest.mark.parametrize("operation", ["declare", "register"])
def test_callers_cannot_choose_locations_outside(
    beside: tuple[Path, Namespace, Caller], operation: str, location: str
) -> None:
    folder, namespace, caller = beside
    before = contents(folder)
    where = location.format(outside=folder / "outside", root=folder / "lake")
    for body in ({"location": where}, {"location": where, "mode": "Overwrite"}):
        if operation == "declare" and "mode" in body:
            continue
        message = said(caller.json(f"/v1/table/ns$new/{operation}", body))
        assert "--allow-location" in message
    assert contents(folder) == before
    assert list(namespace.iter_tables(["ns"])) == []


def test_callers_can_use_locations_inside_the_namespace(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    lance.write_dataset(ROWS, str(root / "some" / "data"))
    with Mixed(MemoryConfig(root=str(root))) as namespace, serving(namespace) as address:
        namespace.create_namespace({"id": ["ns"]})
        caller = Caller(address)
        for number, where in enumerate((f"{root}/some/data", f"file://{root}/some/data")):
            answer = caller.json(f"/v1/table/ns$t{number}/register", {"location": where})
            assert answer.status_code == 200, answer.text
            assert caller.json(f"/v1/table/ns$t{number}/count_rows", {}).json() == 3


def test_callers_can_use_allowed_locations(outside: Path, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    with (
        Mixed(MemoryConfig(root=str(root))) as namespace,
        serving(
            namespace, ServerOptions(reach=Reach(locations=[str(outside), "s3://shared/tables/"]))
        ) as address,
    ):
        namespace.create_namespace({"id": ["ns"]})
        caller = Caller(address)
        for number, where in enumerate((f"{outside}/victim", "s3a://shared/tables/x")):
            body = {"location": where}
            assert caller.json(f"/v1/table/ns$t{number}/declare", body).status_code == 200
        said(caller.json("/v1/table/ns$u/declare", {"location": "s3://shared/tablesx"}))


def test_a_registered_path_on_the_servers_disk_is_denied(outside: Path, tmp_path: Path) -> None:
    """A different tool has registered a path on the server's machine in the catalog."""
    root = tmp_path / "lake"
    with Mixed(MemoryConfig(root=str(root))) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        namespace.register_table({"id": ["ns", "t"], "location": f"{outside}/victim"})
        assert namespace.count_table_rows({"id": ["ns", "t"]}).count == 3
        before = contents(outside)
        with serving(namespace) as address:
            caller = Caller(address)
            for operation in ("describe", "count_rows", "drop", "tags/list"):
                message = said(caller.json(f"/v1/table/ns$t/{operation}", {}), 15)
                assert "--allow-location" in message and str(outside) not in message
            said(caller.rows("/v1/table/ns$t/insert"), 15)
            said(caller.rows("/v1/table/ns$t/create", params={"mode": "Overwrite"}), 15)
        assert contents(outside) == before
        with serving(namespace, ServerOptions(reach=Reach(locations=[str(outside)]))) as address:
            assert Caller(address).json("/v1/table/ns$t/count_rows", {}).json() == 3


def test_tables_behind_links_that_lead_outside_are_denied(outside: Path, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    (root / "linked").symlink_to(outside / "victim")
    with connect("dir", {"path": str(root)}) as namespace, serving(namespace) as address:
        caller = Caller(address)
        assert namespace.count_table_rows({"id": ["linked"]}).count == 3
        said(caller.json("/v1/table/linked/count_rows", {}), 15)
        said(caller.rows("/v1/table/linked/insert"), 15)
        location = quote(str(outside / "victim"))
        said(caller.json("/v1/table/new/register", {"location": location}))


class Other(MemoryNamespace):
    """A namespace whose namespaces have a property with their location."""

    capabilities = Mixed.capabilities.__class__(
        **{
            **{key: getattr(Mixed.capabilities, key) for key in ("namespace_depth", "cascade")},
            "table_depth": 1,
            "location_properties": ("location",),
        }
    )


def test_callers_cannot_place_namespaces_outside(outside: Path, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    with Other(MemoryConfig(root=str(root))) as namespace, serving(namespace) as address:
        caller = Caller(address)
        for where in (str(outside), "s3://other/place"):
            body = {"properties": {"location": where}}
            said(caller.json("/v1/namespace/a/create", body))
            namespace.create_namespace({"id": ["b"]})
            said(caller.json("/v1/namespace/b/alter", {"set_properties": {"location": where}}))
            namespace.drop_namespace({"id": ["b"]})
        inside = {"properties": {"location": f"{root}/a"}}
        assert caller.json("/v1/namespace/a/create", inside).status_code == 200


def test_a_third_party_namespace_has_no_own_locations(outside: Path) -> None:
    class Foreign:
        asked: list[str]

        def __init__(self) -> None:
            self.asked = []

        def declare_table(self, request: Any) -> Any:
            self.asked.append(request.location)
            return {"location": request.location}

    foreign: Any = Foreign()
    with serving(foreign, ServerOptions(reach=Reach(locations=["s3://shared/x"]))) as address:
        caller = Caller(address)
        said(caller.json("/v1/table/t/declare", {"location": f"{outside}/victim"}))
        assert (
            caller.json("/v1/table/t/declare", {"location": "s3://shared/x/t"}).status_code == 200
        )
    assert foreign.asked == ["s3://shared/x/t"]


def test_the_restrictions_apply_only_to_remote_callers(outside: Path, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    with Mixed(MemoryConfig(root=str(root))) as namespace, serving(namespace) as address:
        namespace.create_namespace({"id": ["ns"]})
        body = {"location": f"{outside}/victim"}
        said(Caller(address).json("/v1/table/ns$t/register", body))
        namespace.register_table({"id": ["ns", "t"], **body})
        entry = namespace.load_table(("ns", "t"))
        assert isinstance(entry, TableEntry) and entry.location == f"{outside}/victim"


def test_a_blob_uri_cannot_read_a_file_of_the_server(tmp_path: Path) -> None:
    """A row can refer to its blob by a URI; pylance accepts only URIs in registered locations."""
    from lance import blob_array, blob_field

    secret = tmp_path / "secret.txt"
    secret.write_text("keep me")
    blobs = pa.schema([blob_field("b")])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, blobs) as writer:
        writer.write_table(pa.table([blob_array([secret.as_uri()])], schema=blobs))
    root = tmp_path / "lake"
    first = pa.table([blob_array([b"mine"])], schema=blobs)
    lance.write_dataset(first, str(root / "t.lance"), data_storage_version="2.2")
    with connect("dir", {"path": str(root)}) as namespace, serving(namespace) as address:
        for path in ("/v1/table/t/insert", "/v1/table/u/create"):
            answer = httpx.post(
                address + path, content=bytes(sink.getvalue()), headers={"content-type": ARROW}
            )
            assert "URI" in said(answer)
        assert namespace.count_table_rows({"id": ["t"]}).count == 1
        assert list(namespace.iter_tables()) == ["t"]


def test_responses_contain_only_harmless_options(tmp_path: Path) -> None:
    storage = {
        "aws_region": "eu-west-1",
        "metadata_endpoint": f"https://me:{SECRET}@store.example",
        "azure_storage_master_key": SECRET,
        "proxy_url": f"http://me:{SECRET}@proxy.example",
        "an_option_of_tomorrow": SECRET,
    }
    with Mixed(MemoryConfig(root=str(tmp_path), storage=storage)) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        namespace.declare_table({"id": ["ns", "t"]})
        with serving(namespace) as address:
            answer = Caller(address).json("/v1/table/ns$t/describe", {})
            assert SECRET not in answer.text
            assert answer.json()["storage_options"] == {"aws_region": "eu-west-1"}
        with serving(namespace, ServerOptions(vend_storage_options=True)) as address:
            answer = Caller(address).json("/v1/table/ns$t/describe", {})
            found = answer.json()["storage_options"]
            assert found.pop("expires_at_millis")
            assert found == storage


class Foreign(EchoNamespace):
    """A third-party namespace, of which only the operations are known."""

    def list_operations(self, request: Any) -> ListOperationsResponse:
        return ListOperationsResponse(operations=["RegisterTable", "DescribeTable"])

    def register_table(self, request: Any) -> RegisterTableResponse:
        return RegisterTableResponse(location=request.location)


def test_register_is_unsupported_if_the_own_locations_are_unknown() -> None:
    with serving(Foreign()) as address:
        caller = Caller(address)
        assert caller.json("/ListOperations", {}).json()["operations"] == ["DescribeTable"]
        message = said(caller.json("/v1/table/t/register", {"location": "/a/t"}), 0)
        assert "--allow-location" in message
    with serving(Foreign(), ServerOptions(reach=Reach(locations=["/a"]))) as address:
        caller = Caller(address)
        answered = caller.json("/ListOperations", {}).json()["operations"]
        assert answered == ["RegisterTable", "DescribeTable"]
        assert caller.json("/v1/table/t/register", {"location": "/a/t"}).status_code == 200
        said(caller.json("/v1/table/t/register", {"location": "/b/t"}))
