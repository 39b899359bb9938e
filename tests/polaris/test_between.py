"""The requests to Polaris for one call, on a fake server with scripted responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lance_namespace_impls.polaris import PolarisConfig, PolarisNamespace
from tests.servers.web import Answer, Asked, WebServer

DB, T = ["lake", "db"], ["lake", "db", "t"]
TABLES = "/polaris/v1/lake/namespaces/db/generic-tables"
DELEGATION = "polaris-generic-table-access-delegation"


def error(status: int, kind: str) -> Answer:
    return Answer(status=status, body={"error": {"type": kind, "message": "the reason"}})


class Scripted:
    """A fake server with the namespace ``db`` and the table ``t``."""

    def __init__(self, folder: Path) -> None:
        self.kept: dict[str, Any] = {}
        """Fields of a new table that the server stores with other values than requested."""
        self.table = {"name": "t", "format": "lance", "base-location": f"file://{folder}/t"}
        self.vends: dict[str, list[dict[str, Any]]] = {"POST": [], "GET": []}
        self.fails = ""
        self.failure = error(404, "NoSuchTableException")
        self.asked: list[str] = []

    def respond(self, asked: Asked) -> Answer:
        method, path = asked.method, asked.path
        if path == "/v1/config":
            return Answer(body={"overrides": {"prefix": "lake"}})
        if path == "/v1/lake/namespaces/db":
            return Answer(body={"properties": {}})
        if not path.startswith(TABLES):
            return error(404, "NoSuchNamespaceException")
        self.asked.append(f"{method} {path.removeprefix(TABLES)}".strip())
        if self.fails == method:
            return self.failure
        if method == "POST":
            self.table = {**asked.json, **self.kept}
        vended = {"storage-access-configs": self.vends.get(method, [])}
        return Answer(body={"table": self.table, **vended} if method != "DELETE" else {})


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[tuple[Scripted, WebServer, PolarisNamespace]]:
    script = Scripted(tmp_path)
    with WebServer(script.respond) as server:
        properties = {"endpoint": server.uri, "max_retries": "0", "root": str(tmp_path / "root")}
        with PolarisNamespace.from_properties(properties) as namespace:
            yield script, server, namespace


Given = tuple[Scripted, WebServer, PolarisNamespace]
CALLS: dict[str, tuple[str, Callable[[Any], Any], type[LanceNamespaceError]]] = {
    "listing": ("GET", lambda n: n.list_tables({"id": DB}), NamespaceNotFoundError),
    "describing": ("GET", lambda n: n.describe_table({"id": T}), TableNotFoundError),
    "declaring": ("POST", lambda n: n.declare_table({"id": [*DB, "new"]}), NamespaceNotFoundError),
    "deregistering": ("DELETE", lambda n: n.deregister_table({"id": T}), TableNotFoundError),
}


@pytest.mark.parametrize("what", CALLS)
def test_an_object_deleted_between_two_requests_is_missing(scripted: Given, what: str) -> None:
    script, _, namespace = scripted
    script.fails, call, kind = CALLS[what]
    with pytest.raises(kind):
        call(namespace)


@pytest.mark.parametrize("what", CALLS)
def test_a_failed_request_reports_its_error(scripted: Given, what: str) -> None:
    script, _, namespace = scripted
    script.fails, call, _ = CALLS[what]
    script.failure = error(500, "ServiceFailureException")
    with pytest.raises(InternalError, match="the reason"):
        call(namespace)


def test_a_name_created_between_two_requests_already_exists(scripted: Given) -> None:
    script, _, namespace = scripted
    script.fails, script.failure = "POST", error(409, "AlreadyExistsException")
    with pytest.raises(TableAlreadyExistsError):
        namespace.declare_table({"id": [*DB, "new"]})


def test_a_table_at_another_location_is_deleted_again(scripted: Given, tmp_path: Path) -> None:
    script, _, namespace = scripted
    script.kept = {"base-location": f"file://{tmp_path}/theirs"}
    for request in ({"id": [*DB, "new"]}, {"id": [*DB, "new"], "location": f"{tmp_path}/mine"}):
        script.asked.clear()
        with pytest.raises(
            InvalidInputError, match=f"would store the location {tmp_path}/theirs; specify"
        ):
            namespace.declare_table(request)
        assert script.asked == ["POST", "DELETE /new"]


@pytest.mark.parametrize("kept", [{"format": "delta"}, {"format": None}])
def test_a_response_with_another_table(scripted: Given, kept: dict[str, Any]) -> None:
    script, _, namespace = scripted
    script.kept = kept
    with pytest.raises(InternalError, match="response has no generic table"):
        namespace.declare_table({"id": [*DB, "new"]})


@pytest.mark.parametrize("format", ["delta", None])
def test_a_table_of_another_format_is_kept(scripted: Given, format: str | None) -> None:
    script, _, namespace = scripted
    script.table["format"] = format  # type: ignore[assignment]
    said = f"its format is {format or ''!r}, not 'lance'"
    for call in (namespace.describe_table, namespace.deregister_table, namespace.drop_table):
        with pytest.raises(InvalidInputError, match=said):
            call({"id": T})
    assert script.asked == ["GET /t"] * 3


@pytest.mark.parametrize(("said", "is_asked"), [(None, True), ("true", True), ("false", False)])
def test_credentials_are_requested_unless_disabled(
    scripted: Given, said: str | None, is_asked: bool
) -> None:
    _, server, _ = scripted
    more = {} if said is None else {"vended_credentials": said}
    with PolarisNamespace.from_properties({"endpoint": server.uri, **more}) as namespace:
        namespace.describe_table({"id": T})
    wanted = "vended-credentials" if is_asked else None
    probe, *calls = server.asked
    assert probe.path == "/api/catalog/v1/config"
    assert {asked.headers.get(DELEGATION) for asked in calls} == {wanted}


VENDED = [{"prefix": "", "config": {"client.region": "eu"}}]
KEYS = {"storage.aws_access_key_id": "a", "storage.aws_secret_access_key": "b"}


@pytest.mark.filterwarnings("ignore:.*cannot be (read|looked at|written to)")
@pytest.mark.parametrize(
    ("more", "location", "at_once", "asked"),
    [
        # Some servers return credentials only when a table is loaded.
        ({}, "s3://b/t", [], ["POST", "GET /new"]),
        ({}, "s3://b/t", VENDED, ["POST"]),
        ({"vended_credentials": "false"}, "s3://b/t", [], ["POST"]),
        (KEYS, "s3://b/t", [], ["POST"]),
        ({"storage.region": "eu"}, "s3://b/t", [], ["POST", "GET /new"]),
        ({}, "file:///b/t", [], ["POST"]),
    ],
)
def test_missing_credentials_are_requested_again(
    scripted: Given,
    more: dict[str, str],
    location: str,
    at_once: list[dict[str, Any]],
    asked: list[str],
) -> None:
    script, server, _ = scripted
    script.vends = {"POST": at_once, "GET": VENDED}
    with PolarisNamespace.from_properties({"endpoint": server.uri, **more}) as namespace:
        entry = namespace.add_table(("lake", "db", "new"), location, {})
    assert script.asked == asked
    is_vended = bool(at_once) or len(asked) > 1
    assert namespace.vended_options(entry) == ({"aws_region": "eu"} if is_vended else {})


@pytest.mark.parametrize(
    ("more", "root", "found"),
    [
        ({}, "/lake", "/lake/lake/db/t"),
        ({}, "s3://b", None),
        ({"vended_credentials": "false"}, "s3://b", "s3://b/lake/db/t"),
        (KEYS, "s3://b", "s3://b/lake/db/t"),
    ],
)
def test_no_default_location_that_cannot_be_checked_yet(
    scripted: Given, more: dict[str, str], root: str, found: str | None
) -> None:
    _, server, _ = scripted
    properties = {"endpoint": server.uri, "root": root, **more}
    with PolarisNamespace.from_properties(properties) as namespace:
        assert namespace.default_location(("lake", "db", "t")) == found


def test_the_version_is_not_part_of_the_endpoint() -> None:
    config = PolarisConfig.from_properties({"endpoint": "http://h/api/catalog/v1/"})
    assert config.endpoint == "http://h/api/catalog"
