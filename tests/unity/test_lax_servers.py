"""Servers that check less than the open-source one: no data is lost if they accept everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.unity import UnityNamespace
from tests.servers.web import Answer, Asked, WebServer

ROWS = pa.table({"x": [1]})
S, T = ["main", "s"], ["main", "s", "t"]
LANCE = {"table_type": "EXTERNAL", "properties": {"table_type": "lance"}}


class Lax:
    """A server of one schema and its tables that accepts every change."""

    def __init__(self, folder: Path) -> None:
        self.tables = [
            {**LANCE, "name": name, "storage_location": f"{folder}/{name}"} for name in ("t", "u")
        ]
        self.changes: list[str] = []
        self.fails = ("", "")
        """The method and the end of the path of the requests that fail with `failure`."""
        self.failure = Answer()

    def respond(self, asked: Asked) -> Answer:
        method, end = self.fails
        if asked.method == method and asked.path.endswith(end):
            self.changes += [method] if method != "GET" else []
            return self.failure
        if asked.method != "GET":
            self.changes.append(f"{asked.method} {asked.path.rpartition('/')[2]}")
            return Answer(body={})
        if asked.path.endswith("/tables"):
            return Answer(body={"tables": self.tables})
        if "/tables/" in asked.path:
            name = asked.path.rpartition(".")[2]
            found = [table for table in self.tables if table["name"] == name]
            missing = Answer(status=404, body={"error_code": "TABLE_NOT_FOUND", "message": "none"})
            return Answer(body=found[0]) if found else missing
        if asked.path.endswith(("/schemas/main.s", "/catalogs/main")):
            return Answer(body={"name": "x", "properties": {}})
        return Answer(status=404, body={"error_code": "SCHEMA_NOT_FOUND", "message": "none"})


@pytest.fixture
def lax(tmp_path: Path) -> Iterator[tuple[Lax, Any]]:
    server = Lax(tmp_path)
    with (
        WebServer(server.respond) as web,
        connect(
            "unity", {"endpoint": web.uri, "catalog": "main", "root": str(tmp_path / "lake")}
        ) as namespace,
    ):
        assert isinstance(namespace, UnityNamespace)
        yield server, namespace


def test_a_schema_with_tables_is_kept(lax: tuple[Lax, Any]) -> None:
    server, namespace = lax
    with pytest.raises(NamespaceNotEmptyError, match="tables"):
        namespace.drop_namespace({"id": S})
    assert server.changes == []
    server.tables.clear()
    namespace.drop_namespace({"id": S})
    assert server.changes == ["DELETE main.s"]


REFUSED: dict[str, tuple[Callable[[Any], Any], type[LanceNamespaceError]]] = {
    "a schema of another catalog": (
        lambda n: n.create_namespace({"id": ["other", "s2"]}), InvalidInputError),
    "a table of another catalog": (
        lambda n: n.declare_table({"id": ["other", "s", "new"], "location": "s3://b/new"}),
        InvalidInputError),
    "a table of a schema that is not there": (
        lambda n: n.declare_table({"id": ["main", "none", "new"], "location": "s3://b/new"}),
        NamespaceNotFoundError),
    "a table with rows, of another catalog": (
        lambda n: n.create_table({"id": ["other", "s", "new"]}, ROWS),
        InvalidInputError),
    "a table with rows, of a schema that is not there": (
        lambda n: n.create_table({"id": ["main", "none", "new"]}, ROWS),
        NamespaceNotFoundError),
    "a table with rows and a dot in its name": (
        lambda n: n.create_table({"id": ["main", "s", "a.b"]}, ROWS), InvalidInputError),
    "a schema with a dot in its name": (
        lambda n: n.create_namespace({"id": ["main", "a.b"]}), InvalidInputError),
    "changing a schema that is not there": (
        lambda n: n.alter_namespace({"id": ["main", "none"], "set_properties": {"a": "1"}}),
        NamespaceNotFoundError),
    "dropping a schema that is not there": (
        lambda n: n.drop_namespace({"id": ["main", "none"]}), NamespaceNotFoundError),
    "dropping the catalog": (lambda n: n.drop_namespace({"id": ["main"]}), InvalidInputError),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_invalid_changes_are_not_sent(lax: tuple[Lax, Any], what: str) -> None:
    server, namespace = lax
    call, kind = REFUSED[what]
    with pytest.raises(kind):
        call(namespace)
    assert server.changes == []


def test_a_table_of_another_kind_is_kept(lax: tuple[Lax, Any]) -> None:
    server, namespace = lax
    server.tables[0] = {**server.tables[0], "properties": {"table_type": "delta"}}
    for call in (namespace.drop_table, namespace.deregister_table):
        with pytest.raises(InvalidInputError, match="not a Lance table"):
            call({"id": T})
    server.tables[0] = {**server.tables[0], **LANCE, "table_type": "MANAGED"}
    for call in (namespace.drop_table, namespace.deregister_table):
        with pytest.raises(InvalidInputError, match="not a Lance table"):
            call({"id": T})
    assert server.changes == []


# --- changes between two requests: the failing request, the call, the error for a missing object

Call = Callable[[Any], Any]
BETWEEN: dict[str, tuple[tuple[str, str], Call, type[LanceNamespaceError]]] = {
    "listing schemas": (
        ("GET", "/schemas"), lambda n: n.list_namespaces({"id": ["main"]}), NamespaceNotFoundError),
    "describing the catalog": (
        ("GET", "/catalogs/main"), lambda n: n.describe_namespace({"id": ["main"]}),
        NamespaceNotFoundError),
    "creating a schema": (
        ("POST", "/schemas"), lambda n: n.create_namespace({"id": ["main", "s2"]}),
        NamespaceNotFoundError),
    "changing a schema": (
        ("PATCH", "/schemas/main.s"),
        lambda n: n.alter_namespace({"id": S, "set_properties": {"a": "1"}}),
        NamespaceNotFoundError),
    "dropping a schema": (
        ("DELETE", "/schemas/main.s"), lambda n: n.drop_namespace({"id": S, "behavior": "Cascade"}),
        NamespaceNotFoundError),
    "listing tables": (
        ("GET", "/tables"), lambda n: n.list_tables({"id": S}), NamespaceNotFoundError),
    "declaring a table": (
        ("POST", "/tables"), lambda n: n.declare_table({"id": ["main", "s", "new"]}),
        NamespaceNotFoundError),
    "creating a table": (
        ("POST", "/tables"), lambda n: n.create_table({"id": ["main", "s", "new"]}, ROWS),
        NamespaceNotFoundError),
    "describing a table": (
        ("GET", "/tables/main.s.t"), lambda n: n.describe_table({"id": T}), TableNotFoundError),
    "deregistering a table": (
        ("DELETE", "/tables/main.s.t"), lambda n: n.deregister_table({"id": T}), TableNotFoundError),
}  # fmt: skip
MISSING = Answer(status=404, body={"error_code": "NOT_FOUND", "message": "the reason"})
BROKEN = Answer(status=500, body={"error_code": "INTERNAL", "message": "the reason"})


@pytest.mark.parametrize("what", BETWEEN)
def test_an_object_deleted_between_two_requests_is_missing(lax: tuple[Lax, Any], what: str) -> None:
    server, namespace = lax
    server.fails, call, kind = BETWEEN[what]
    server.failure = MISSING
    with pytest.raises(kind):
        call(namespace)
    assert server.changes == ([] if server.fails[0] == "GET" else [server.fails[0]])


def test_no_schema_is_created_in_a_missing_catalog(lax: tuple[Lax, Any]) -> None:
    server, namespace = lax
    server.fails, server.failure = ("GET", "/catalogs/main"), MISSING
    with pytest.raises(NamespaceNotFoundError):
        namespace.create_namespace({"id": ["main", "s2"]})
    assert server.changes == []


@pytest.mark.parametrize("what", BETWEEN)
def test_a_failed_request_reports_its_error(lax: tuple[Lax, Any], what: str) -> None:
    server, namespace = lax
    server.fails, call, _ = BETWEEN[what]
    server.failure = BROKEN
    with pytest.raises(InternalError, match="the reason"):
        call(namespace)
    assert server.changes == ([] if server.fails[0] == "GET" else [server.fails[0]])


def test_only_the_server_error_not_empty_means_not_empty(
    lax: tuple[Lax, Any],
) -> None:
    server, namespace = lax
    server.tables.clear()
    server.fails = ("DELETE", "/schemas/main.s")
    server.failure = BROKEN
    with pytest.raises(InternalError, match="the reason"):
        namespace.drop_namespace({"id": S})
    said = {"error_code": "SCHEMA_NOT_EMPTY", "message": "a volume is in it"}
    server.failure = Answer(status=400, body=said)
    with pytest.raises(NamespaceNotEmptyError, match=r"\(server message: a volume is in it\)"):
        namespace.drop_namespace({"id": S})
    with pytest.raises(LanceNamespaceError, match="a volume is in it") as refused:
        namespace.drop_namespace({"id": S, "behavior": "Cascade"})
    assert refused.value.code != NamespaceNotEmptyError.code


@pytest.mark.parametrize("name", ["t", "new"])
def test_a_location_conflict_with_the_same_table_means_it_exists(
    lax: tuple[Lax, Any], name: str
) -> None:
    """Some servers check the location first."""
    server, namespace = lax
    server.fails = ("POST", "/tables")
    said = {"error_code": "INVALID_PARAMETER_VALUE", "message": "it overlaps another"}
    server.failure = Answer(status=400, body=said)
    kind = TableAlreadyExistsError if name == "t" else InvalidInputError
    with pytest.raises(kind):
        namespace.declare_table({"id": [*S, name]})
    server.failure = BROKEN
    with pytest.raises(InternalError):
        namespace.declare_table({"id": [*S, name]})


def test_a_name_created_between_two_requests_already_exists(lax: tuple[Lax, Any]) -> None:
    server, namespace = lax
    server.failure = Answer(status=409, body={"error_code": "ALREADY_EXISTS", "message": "there"})
    server.fails = ("POST", "/schemas")
    with pytest.raises(NamespaceAlreadyExistsError):
        namespace.create_namespace({"id": ["main", "s2"]})
    server.fails = ("POST", "/tables")
    with pytest.raises(TableAlreadyExistsError):
        namespace.declare_table({"id": ["main", "s", "new"]})
