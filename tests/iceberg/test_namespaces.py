from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lance_namespace_client.errors import (
    LanceNamespaceError,
    NamespaceNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.iceberg import IcebergNamespace
from tests.servers.web import Answer, Asked, FaultProxy, WebServer

from .conftest import Connect
from .subject import BareApi

pytestmark = pytest.mark.xdist_group("iceberg")


def without_location(properties: dict[str, str] | None) -> dict[str, str]:
    """Remove the property that the server adds itself."""
    return {key: value for key, value in (properties or {}).items() if key != "location"}


@pytest.mark.requirement("iceberg-namespace-properties", "iceberg-describe-namespace")
def test_create_and_describe(iceberg: IcebergNamespace) -> None:
    made = iceberg.create_namespace({"id": ["wh", "a"], "properties": {"k": "v"}})
    assert without_location(made.properties) == {"k": "v"}
    assert iceberg.describe_namespace({"id": ["wh", "a"]}).properties == made.properties


@pytest.mark.requirement("iceberg-create-namespace")
def test_create_sends_the_levels_without_the_warehouse(
    proxy: FaultProxy, connected: Connect
) -> None:
    namespace = connected(endpoint=proxy.uri)
    namespace.create_namespace({"id": ["wh", "db", "a"], "properties": {"k": "v"}})
    sent = proxy.asked[-1]
    assert (sent.method, sent.path) == ("POST", "/v1/namespaces")
    assert sent.json == {"namespace": ["db", "a"], "properties": {"k": "v"}}


DB, T = ["wh", "db"], ["wh", "db", "t"]
NOWHERE = [["wh", "missing"], ["wh", "db", "missing"], ["other"]]
NO_TABLES = [[*DB, "x"], ["wh", "no", "x"], ["other", "db", "x"]]
NOT_LANCE = [[*DB, "plain"], [*DB, "other"]]
SET = {"set_properties": {"a": "b"}}
RENAME = {"new_table_name": "u"}
REJECTED: tuple[tuple[str, list[list[str]], dict[str, Any], int, str], ...] = (
    ("create_namespace", [DB], {}, 2, ""),
    ("create_namespace", [T], {}, 2, ""),  # a table has the name
    ("create_namespace", [["wh", "missing", "a"]], {}, 1, ""),  # the server would create it
    ("create_namespace", [["wh"]], {}, 13, ""),
    ("alter_namespace", [["wh"]], SET, 13, ""),
    ("alter_namespace", [["wh", "missing"]], SET, 1, ""),
    ("drop_namespace", [["wh"]], {}, 13, ""),
    ("drop_namespace", [DB, [*DB, "a"]], {}, 3, ""),
    ("drop_namespace", [DB], {"behavior": "Cascade"}, 0, ""),
    ("describe_namespace", NOWHERE, {}, 1, r"(wh\.(db\.)?missing|other)"),
    ("namespace_exists", NOWHERE, {}, 1, ""),
    ("list_namespaces", NOWHERE, {}, 1, ""),
    ("list_tables", NOWHERE, {}, 1, ""),
    ("declare_table", [["t"], ["wh", "t"]], {}, 13, "3 or more levels"),
    ("declare_table", [["wh", "missing", "t"]], {}, 1, ""),  # the server would accept it
    ("declare_table", [T, *NOT_LANCE], {}, 5, ""),
    ("declare_table", [[*DB, "a"]], {}, 5, ""),  # a namespace has the name
    ("describe_table", NO_TABLES, {}, 4, r"\w+\.\w+\.x"),
    ("table_exists", NO_TABLES, {}, 4, ""),
    ("deregister_table", NO_TABLES, {}, 4, ""),
    ("describe_table", NOT_LANCE, {}, 13, "not a Lance table"),
    ("deregister_table", NOT_LANCE, {}, 13, "not a Lance table"),
    ("drop_table", NOT_LANCE, {}, 13, "not a Lance table"),
    ("rename_table", [T], {"new_table_name": "plain"}, 5, ""),
    ("rename_table", [T], {**RENAME, "new_namespace_id": ["wh", "missing"]}, 1, ""),
    (
        "rename_table",
        [T],
        {**RENAME, "new_namespace_id": ["wh2", "db"]},
        0,
        "a table out of wh;",
    ),
)


@pytest.mark.requirement(
    "iceberg-create-namespace-exists",
    "iceberg-create-namespace-parent",
    "iceberg-describe-namespace-missing",
    "iceberg-drop-namespace-cascade",
    "iceberg-drop-namespace-not-empty",
    "iceberg-list-namespaces-parent",
    "iceberg-list-tables-missing",
    "iceberg-namespace-shown",
    "iceberg-declare-table-parent",
    "iceberg-declare-table-exists",
    "iceberg-table-identifier",
    "iceberg-describe-table-missing",
    "iceberg-deregister-table-missing",
    "iceberg-describe-table-other",
    "iceberg-deregister-table-other",
)
def test_rejected_calls_have_a_code_and_change_nothing(connected: Connect, bare: BareApi) -> None:
    bare.add_namespace(["db", "a"])
    bare.add_table(["db", "a"], "theirs", "/tmp/theirs", {})
    bare.add_table(["db"], "plain", "/tmp/plain", {})
    bare.add_table(["db"], "other", "/tmp/other", {"table_type": "iceberg"})
    bare.add_table(["db"], "t", "/tmp/t", {"table_type": "lance"})
    namespace = connected(warehouses="wh,wh2")
    for operation, ids, more, code, said in REJECTED:
        for identifier in ids:
            with pytest.raises(LanceNamespaceError, match=said or None) as refused:
                getattr(namespace, operation)({"id": identifier, **more})
            assert refused.value.code == code, (operation, identifier)
        held = (bare.namespaces(), bare.namespaces(["db"]))
        assert held == ([("db",)], [("db", "a")]), (operation, ids)
        held_tables = (bare.tables(["db"]), bare.tables(["db", "a"]))
        assert held_tables == (["other", "plain", "t"], ["theirs"]), (operation, ids)


def test_the_root_and_the_warehouses_exist(iceberg: IcebergNamespace) -> None:
    for identifier in ([], ["wh"]):
        assert iceberg.describe_namespace({"id": identifier}).properties == {}
        iceberg.namespace_exists({"id": identifier})
    iceberg.namespace_exists({"id": ["wh", "db"]})


@pytest.mark.requirement("iceberg-namespace-depth")
def test_any_depth(iceberg: IcebergNamespace) -> None:
    levels = ["db", *"abcdefgh"]
    for depth in range(2, len(levels) + 1):
        iceberg.create_namespace({"id": ["wh", *levels[:depth]]})
    iceberg.declare_table({"id": ["wh", *levels, "t"]})
    assert iceberg.list_namespaces({"id": ["wh", *levels[:-1]]}).namespaces == ["h"]
    assert iceberg.list_tables({"id": ["wh", *levels]}).tables == ["t"]
    assert iceberg.list_all_tables({}).tables == ["$".join(["wh", *levels, "t"])]


@pytest.mark.requirement("iceberg-namespace-warehouse-children", "iceberg-list-namespaces")
def test_listing_returns_the_names_of_the_children(iceberg: IcebergNamespace) -> None:
    for identifier in (["db", "b"], ["db", "a"], ["db", "b", "c"], ["Z"]):
        iceberg.create_namespace({"id": ["wh", *identifier]})
    assert iceberg.list_namespaces({"id": ["wh"]}).namespaces == ["Z", "db"]
    assert iceberg.list_namespaces({"id": ["wh", "db"]}).namespaces == ["a", "b"]
    assert iceberg.list_namespaces({"id": ["wh", "db", "b"]}).namespaces == ["c"]


@pytest.mark.requirement("iceberg-list-tables-missing")
def test_an_empty_listing_of_a_missing_namespace() -> None:
    def respond(asked: Asked) -> Answer:
        if asked.path == "/v1/config":
            return Answer(body={})
        if asked.path in ("/v1/wh/namespaces", "/v1/wh/namespaces/x/tables"):
            return Answer(body={"namespaces": [], "identifiers": []})
        missing = {"type": "NoSuchNamespaceException", "message": "no x", "code": 404}
        return Answer(status=404, body={"error": missing})

    with WebServer(respond) as server, connect("iceberg", {"endpoint": server.uri}) as namespace:
        for method in (namespace.list_namespaces, namespace.list_tables):
            with pytest.raises(NamespaceNotFoundError):
                method({"id": ["wh", "x"]})


@pytest.mark.requirement("iceberg-describe-namespace", "iceberg-drop-namespace")
def test_namespaces_are_read_and_dropped_by_their_encoded_path(
    proxy: FaultProxy, connected: Connect
) -> None:
    namespace = connected(endpoint=proxy.uri)
    namespace.create_namespace({"id": ["wh", "db", "a b"]})
    for method in (namespace.describe_namespace, namespace.drop_namespace):
        method({"id": ["wh", "db", "a b"]})
    path = "/v1/namespaces/db%2Ea%20b"  # this server requires a dot between levels
    assert [(a.method, a.path) for a in proxy.asked[-2:]] == [("GET", path), ("DELETE", path)]
    assert namespace.list_namespaces({"id": ["wh", "db"]}).namespaces == []


@pytest.mark.requirement("iceberg-drop-namespace-missing")
def test_dropping_a_missing_namespace_succeeds(iceberg: IcebergNamespace) -> None:
    assert iceberg.drop_namespace({"id": ["wh", "missing"]}).properties == {}
    assert iceberg.drop_namespace({"id": ["wh", "db", "missing"], "mode": "Fail"}).properties == {}


def test_alter_sets_and_unsets(iceberg: IcebergNamespace) -> None:
    iceberg.create_namespace({"id": ["wh", "a"], "properties": {"old": "1", "kept": "2"}})
    altered = iceberg.alter_namespace(
        {"id": ["wh", "a"], "set_properties": {"new": "3"}, "unset_properties": ["old", "never"]}
    )
    assert without_location(altered.properties) == {"kept": "2", "new": "3"}


Call = Callable[[Namespace], object]
CALLS: dict[str, Call] = {
    "CreateNamespace": lambda ns: ns.create_namespace({"id": ["wh", "s"]}),
    "ListNamespaces": lambda ns: ns.list_namespaces({"id": ["wh", "s"]}),
    "DescribeNamespace": lambda ns: ns.describe_namespace({"id": ["wh", "s"]}),
    "DropNamespace": lambda ns: ns.drop_namespace({"id": ["wh", "s"]}),
    "DeclareTable": lambda ns: ns.declare_table({"id": ["wh", "s", "t"]}),
    "ListTables": lambda ns: ns.list_tables({"id": ["wh", "s"]}),
    "DescribeTable": lambda ns: ns.describe_table({"id": ["wh", "s", "t"]}),
    "DeregisterTable": lambda ns: ns.deregister_table({"id": ["wh", "s", "t"]}),
}


@pytest.mark.requirement(
    "iceberg-create-namespace-failure",
    "iceberg-list-namespaces-failure",
    "iceberg-describe-namespace-failure",
    "iceberg-drop-namespace-failure",
    "iceberg-declare-table-failure",
    "iceberg-list-tables-failure",
    "iceberg-describe-table-failure",
    "iceberg-deregister-table-failure",
)
@pytest.mark.parametrize("operation", CALLS)
def test_every_operation_reports_a_failure(operation: str) -> None:
    """The code of every status is tested in tests/core/test_failure_tables.py."""
    answers: list[Answer] = []

    def respond(asked: Asked) -> Answer:
        return Answer(body={}) if asked.path == "/v1/config" else answers[-1]

    with (
        WebServer(respond) as server,
        connect("iceberg", {"endpoint": server.uri, "max_retries": "0"}) as namespace,
    ):
        for status, kind, code in (
            (500, "ServiceFailureException", 18),
            (404, "", 18),  # from a proxy, or a wrong endpoint
            (302, "", 18),
            (403, "ForbiddenException", 15),
            (503, "SlowDownException", 21),
        ):
            error = {"type": kind, "message": "it is so", "code": status}
            answers.append(Answer(status=status, body={"error": error} if kind else b"<html>"))
            with pytest.raises(LanceNamespaceError, match=operation) as caught:
                CALLS[operation](namespace)
            assert caught.value.code == code
            assert kind in str(caught.value)
