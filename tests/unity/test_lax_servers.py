"""Servers that see to less than the open-source one: nothing is lost where they answer yes to all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.unity import UnityNamespace
from tests.servers.web import Answer, Asked, WebServer

S, T = ["main", "s"], ["main", "s", "t"]
LANCE = {"table_type": "EXTERNAL", "properties": {"table_type": "lance"}}


class Lax:
    """A server of one schema and its tables, that does whatever it is told."""

    def __init__(self, folder: Path) -> None:
        self.tables = [
            {**LANCE, "name": name, "storage_location": f"{folder}/{name}"} for name in ("t", "u")
        ]
        self.changes: list[str] = []

    def respond(self, asked: Asked) -> Answer:
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
        connect("unity", {"endpoint": web.uri, "catalog": "main"}) as namespace,
    ):
        assert isinstance(namespace, UnityNamespace)
        yield server, namespace


def test_a_schema_that_holds_tables_stays(lax: tuple[Lax, Any]) -> None:
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
    "dropping a schema that is not there": (
        lambda n: n.drop_namespace({"id": ["main", "none"]}), NamespaceNotFoundError),
    "dropping the catalog": (lambda n: n.drop_namespace({"id": ["main"]}), InvalidInputError),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_not_even_asked_for(lax: tuple[Lax, Any], what: str) -> None:
    server, namespace = lax
    call, kind = REFUSED[what]
    with pytest.raises(kind):
        call(namespace)
    assert server.changes == []


def test_a_table_of_another_kind_stays(lax: tuple[Lax, Any]) -> None:
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
