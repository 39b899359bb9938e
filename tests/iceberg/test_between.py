"""Changes by other clients between two requests, on a fake server with scripted responses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_plus

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lance_namespace_impls import connect
from tests.servers.web import Answer, Asked, WebServer

pytestmark = pytest.mark.xdist_group("iceberg")

DB, T = ["wh", "db"], ["wh", "db", "t"]
ROWS = pa.table({"x": [1]})
DB_PATH = "/v1/wh/namespaces/db"


def error(status: int, kind: str) -> Answer:
    return Answer(status=status, body={"error": {"type": kind, "message": "the reason"}})


MISSING = error(404, "NoSuchObjectException")
BROKEN = error(500, "ServiceFailureException")


class Scripted:
    """A fake server with the namespaces ``db`` and ``other`` and the table ``t``."""

    def __init__(self, folder: Path) -> None:
        self.metadata = {"location": f"{folder}/t", "properties": {"table_type": "lance"}}
        self.changes: list[str] = []
        self.sent: list[Any] = []
        self.fails = ("", "")
        """The method and the end of the path of the requests that fail with `failure`."""
        self.failure = MISSING
        self.later: list[Answer | None] = []
        """The responses to the next changes; None is the usual response."""

    def respond(self, asked: Asked) -> Answer:
        method, path = asked.method, asked.path
        if method != "GET":
            self.changes.append(f"{method} {path}")
            self.sent.append(asked.json if asked.content else None)
            if self.later and (answer := self.later.pop(0)) is not None:
                return answer
        if method == self.fails[0] and path.endswith(self.fails[1]):
            return self.failure
        if path == "/v1/config":
            return Answer(body={})
        if path.endswith("/tables/t") or (method == "POST" and path.endswith("/tables")):
            return Answer(body={"metadata": self.metadata})
        if path in (DB_PATH, "/v1/wh/namespaces/other"):
            return Answer(body={"properties": {"old": "1"}})
        if method == "GET" and not path.endswith(("/tables", "/namespaces")):
            return MISSING
        return Answer(body={})


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[tuple[Scripted, Any]]:
    script = Scripted(tmp_path)
    with WebServer(script.respond) as server:
        properties = {"endpoint": server.uri, "max_retries": "0", "root": str(tmp_path)}
        with connect("iceberg", properties) as namespace:
            yield script, namespace


# The request that fails, the call that sends it, and its error if an object is missing.
Call = Callable[[Any], Any]
BETWEEN: dict[str, tuple[tuple[str, str], Call, type[LanceNamespaceError]]] = {
    "listing namespaces": (
        ("GET", "/namespaces"), lambda n: n.list_namespaces({"id": DB}), NamespaceNotFoundError),
    "creating a namespace": (
        ("POST", "/namespaces"), lambda n: n.create_namespace({"id": [*DB, "new"]}),
        NamespaceNotFoundError),
    "changing a namespace": (
        ("POST", "/db/properties"),
        lambda n: n.alter_namespace({"id": DB, "set_properties": {"a": "1"}}),
        NamespaceNotFoundError),
    "listing tables": (
        ("GET", "/db/tables"), lambda n: n.list_tables({"id": DB}), NamespaceNotFoundError),
    "declaring a table": (
        ("POST", "/db/tables"), lambda n: n.declare_table({"id": [*DB, "new"]}),
        NamespaceNotFoundError),
    "creating a table": (
        ("POST", "/db/tables"), lambda n: n.create_table({"id": [*DB, "new"]}, ROWS),
        NamespaceNotFoundError),
    "describing a table": (
        ("GET", "/tables/t"), lambda n: n.describe_table({"id": T}), TableNotFoundError),
    "deregistering a table": (
        ("DELETE", "/tables/t"), lambda n: n.deregister_table({"id": T}), TableNotFoundError),
    "changing a table": (
        ("POST", "/tables/t"), lambda n: n.alter_table({"id": T, "set_properties": {"a": "1"}}),
        TableNotFoundError),
    "renaming a table": (
        ("POST", "/tables/rename"), lambda n: n.rename_table({"id": T, "new_table_name": "u"}),
        TableNotFoundError),
}  # fmt: skip


def tried(script: Scripted) -> list[str]:
    method, end = script.fails
    assert all(change.endswith(end) for change in script.changes)
    return [change.partition(" ")[0] for change in script.changes if method != "GET"]


@pytest.mark.parametrize("what", BETWEEN)
def test_an_object_deleted_between_two_requests_is_missing(
    scripted: tuple[Scripted, Any], what: str
) -> None:
    script, namespace = scripted
    script.fails, call, kind = BETWEEN[what]
    with pytest.raises(kind):
        call(namespace)
    assert tried(script) == ([] if script.fails[0] == "GET" else [script.fails[0]])


@pytest.mark.parametrize("what", [*BETWEEN, "dropping a namespace"])
def test_a_failed_request_reports_its_error(scripted: tuple[Scripted, Any], what: str) -> None:
    script, namespace = scripted
    dropping = (("DELETE", "/db"), lambda n: n.drop_namespace({"id": DB}), InternalError)
    script.fails, call, _ = BETWEEN.get(what, dropping)
    script.failure = BROKEN
    with pytest.raises(InternalError, match="the reason"):
        call(namespace)
    assert tried(script) == ([] if script.fails[0] == "GET" else [script.fails[0]])


CONFLICTS: dict[str, tuple[Answer, type[LanceNamespaceError]]] = {
    "creating a namespace": (error(409, "AlreadyExistsException"), NamespaceAlreadyExistsError),
    "declaring a table": (error(409, "AlreadyExistsException"), TableAlreadyExistsError),
    "creating a table": (error(409, "AlreadyExistsException"), TableAlreadyExistsError),
    "renaming a table": (error(409, "AlreadyExistsException"), TableAlreadyExistsError),
    "changing a table": (error(409, "CommitFailedException"), ConcurrentModificationError),
}


@pytest.mark.parametrize("what", CONFLICTS)
def test_conflicts_with_other_clients_are_reported(
    scripted: tuple[Scripted, Any], what: str
) -> None:
    script, namespace = scripted
    script.fails, call, _ = BETWEEN[what]
    script.failure, kind = CONFLICTS[what]
    with pytest.raises(kind):
        call(namespace)


def test_a_namespace_filled_before_its_drop_is_not_empty(
    scripted: tuple[Scripted, Any],
) -> None:
    script, namespace = scripted
    script.fails, script.failure = ("DELETE", "/db"), error(409, "NamespaceNotEmptyException")
    with pytest.raises(NamespaceNotEmptyError, match=r"objects \(the reason\)"):
        namespace.drop_namespace({"id": DB})
    script.failure = MISSING  # another client has already deleted it
    assert namespace.drop_namespace({"id": DB}).properties == {}


# --- requests that are not sent, although a server would accept them

REFUSED: dict[str, tuple[Call, type[LanceNamespaceError]]] = {
    "a namespace in one that is not there": (
        lambda n: n.create_namespace({"id": ["wh", "no", "new"]}), NamespaceNotFoundError),
    "a namespace with the name of a table": (
        lambda n: n.create_namespace({"id": T}), NamespaceAlreadyExistsError),
    "a table in a namespace that is not there": (
        lambda n: n.declare_table({"id": ["wh", "no", "new"]}), NamespaceNotFoundError),
    "a rename into a namespace that is not there": (
        lambda n: n.rename_table(
            {"id": T, "new_namespace_id": ["wh", "no"], "new_table_name": "u"}),
        NamespaceNotFoundError),
    "a table that is no Lance table any more": (
        lambda n: n.alter_table({"id": T, "unset_properties": ["table_type"]}), InvalidInputError),
    "a table of another kind": (
        lambda n: n.alter_table({"id": T, "set_properties": {"table_type": "x"}}),
        InvalidInputError),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_invalid_changes_are_not_sent(scripted: tuple[Scripted, Any], what: str) -> None:
    script, namespace = scripted
    call, kind = REFUSED[what]
    with pytest.raises(kind):
        call(namespace)
    assert script.changes == []


# --- requests


def test_request_of_a_table_change(scripted: tuple[Scripted, Any]) -> None:
    script, namespace = scripted
    namespace.alter_table({"id": T, "set_properties": {"a": "1"}, "unset_properties": ["b"]})
    assert script.sent == [
        {
            "identifier": {"namespace": ["db"], "name": "t"},
            "requirements": [],
            "updates": [
                {"action": "set-properties", "updates": {"a": "1"}},
                {"action": "remove-properties", "removals": ["b"]},
            ],
        }
    ]


def test_request_of_a_rename(scripted: tuple[Scripted, Any]) -> None:
    script, namespace = scripted
    new = {"new_namespace_id": ["wh", "other"], "new_table_name": "u"}
    namespace.rename_table({"id": T, **new})
    assert script.changes == ["POST /v1/wh/tables/rename"]
    assert script.sent == [
        {
            "source": {"namespace": ["db"], "name": "t"},
            "destination": {"namespace": ["other"], "name": "u"},
        }
    ]


def test_a_table_at_another_location_is_deleted_again(
    scripted: tuple[Scripted, Any], tmp_path: Path
) -> None:
    script, namespace = scripted
    with pytest.raises(
        LanceNamespaceError, match="this server chooses the locations of tables"
    ) as got:
        namespace.declare_table({"id": [*DB, "new"], "location": f"{tmp_path}/mine"})
    assert got.value.code == 0
    script.metadata["location"] = f"{tmp_path}/50%25"
    with pytest.raises(InvalidInputError, match=r"use a name without %, \? and #"):
        namespace.declare_table({"id": [*DB, "new"]})
    assert script.changes == [f"POST {DB_PATH}/tables", f"DELETE {DB_PATH}/tables/new"] * 2


def test_the_server_may_choose_a_location_if_none_is_requested(
    scripted: tuple[Scripted, Any], tmp_path: Path
) -> None:
    script, namespace = scripted
    script.metadata["location"] = f"{tmp_path}/theirs"
    assert namespace.declare_table({"id": [*DB, "new"]}).location == f"{tmp_path}/theirs"
    assert script.changes == [f"POST {DB_PATH}/tables"]


# --- namespace changes that take two requests


FORBIDDEN = error(403, "ForbiddenException")


@pytest.mark.parametrize(
    ("later", "kind", "said"),
    [
        ([FORBIDDEN], PermissionDeniedError, "the reason"),
        ([FORBIDDEN, FORBIDDEN], InternalError, "only partially"),
        ([FORBIDDEN, None, FORBIDDEN], InternalError, "only partially"),
    ],
)
def test_a_partly_failed_change_is_rolled_back(
    scripted: tuple[Scripted, Any],
    later: list[Answer | None],
    kind: type[LanceNamespaceError],
    said: str,
) -> None:
    script, namespace = scripted
    script.later = [None, *later]
    request = {"id": DB, "set_properties": {"new": "2"}, "unset_properties": ["old", "no"]}
    with pytest.raises(kind, match=said) as raised:
        namespace.alter_namespace(request)
    assert ("properties new, old" in raised.value.message) is (kind is InternalError)
    asked = [
        {"removals": [], "updates": {"new": "2"}},
        {"removals": ["old"], "updates": {}},
        {"removals": [], "updates": {"old": "1"}},
        {"removals": ["new"], "updates": {}},
    ]
    assert script.sent == (asked[:3] if len(later) == 2 else asked)


# --- names that a path cannot contain unchanged


@pytest.mark.parametrize("decodes", [1, 2])
def test_the_number_of_decodings_is_probed_once(decodes: int) -> None:
    """Apache Polaris decodes a table's name a second time, like a form value."""
    asked: list[str] = []

    def respond(request: Asked) -> Answer:
        if request.path == "/v1/config":
            return Answer(body={})
        name = request.path.rpartition("/")[2]
        asked.append(name)
        once = unquote(name)
        if decodes == 2 and re.search("%(?![0-9A-F]{2})", once):
            return error(400, "BadRequestException")
        found = unquote_plus(once) if decodes == 2 else once
        if found == "50%+":
            metadata = {"location": "s3://b/t", "properties": {"table_type": "lance"}}
            return Answer(body={"metadata": metadata})
        return error(404, "NoSuchTableException")

    encoded = "50%2525%252B" if decodes == 2 else "50%25%2B"
    probes = ["%25zz", "%2525zz"][:decodes]
    with (
        WebServer(respond) as server,
        connect("iceberg", {"endpoint": server.uri, "max_retries": "0"}) as namespace,
    ):
        with pytest.raises(TableNotFoundError):
            namespace.describe_table({"id": ["wh", "db", "plain ü"]})
        assert asked == ["plain%20%C3%BC"]
        for _ in range(2):
            assert namespace.describe_table({"id": ["wh", "db", "50%+"]}).location == "s3://b/t"
    assert asked[1:] == [*probes, encoded, encoded]


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["other", "a b"], TableNotFoundError),
        (["a b", "ab"], TableNotFoundError),
        (["other", "ab"], InvalidInputError),
    ],
)
def test_a_name_that_the_server_rejects_does_not_exist(
    scripted: tuple[Scripted, Any], names: list[str], kind: type[LanceNamespaceError]
) -> None:
    script, namespace = scripted
    script.fails, script.failure = ("GET", "b"), error(400, "BadRequestException")
    with pytest.raises(kind):
        namespace.describe_table({"id": ["wh", *names]})
    missing = NamespaceNotFoundError if kind is TableNotFoundError else kind
    with pytest.raises(missing):
        namespace.describe_namespace({"id": ["wh", *names]})


@pytest.mark.parametrize("kind", ["BadRequestException", "NoSuchTableException"])
def test_a_name_that_could_not_be_found_again_is_rejected(
    scripted: tuple[Scripted, Any], kind: str
) -> None:
    script, namespace = scripted
    status = 400 if kind == "BadRequestException" else 404
    script.fails, script.failure = ("GET", "a%20b"), error(status, kind)
    if status == 404:
        namespace.declare_table({"id": [*DB, "a b"]})
        assert script.changes == [f"POST {DB_PATH}/tables"]
        return
    for make in (namespace.declare_table, namespace.create_namespace):
        with pytest.raises(InvalidInputError, match="the reason"):
            make({"id": [*DB, "a b"]})
    assert script.changes == []


@pytest.mark.parametrize("name", [".", ".."])
def test_relative_path_segments_are_not_names(scripted: tuple[Scripted, Any], name: str) -> None:
    _, namespace = scripted
    with pytest.raises(TableNotFoundError):
        namespace.describe_table({"id": [*DB, name]})
    with pytest.raises(NamespaceNotFoundError):
        namespace.describe_namespace({"id": ["wh", name]})
    with pytest.raises(InvalidInputError, match="is not a valid name in an Iceberg REST catalog"):
        namespace.declare_table({"id": [*DB, name]})


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), OSError("x")])
def test_other_errors_are_not_recognized(scripted: tuple[Scripted, Any], error: Exception) -> None:
    assert scripted[1].recognize_failure(error, "x") is None
