from __future__ import annotations

from collections.abc import Callable

import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.iceberg import IcebergNamespace
from tests.servers.web import Answer, Asked, FaultProxy, WebServer

from .conftest import Connect
from .subject import BareApi

pytestmark = pytest.mark.xdist_group("iceberg")


def without_location(properties: dict[str, str] | None) -> dict[str, str]:
    """Take away what the server adds by itself."""
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


@pytest.mark.requirement("iceberg-namespace-depth")
def test_any_depth(iceberg: IcebergNamespace) -> None:
    levels = ["db", *"abcdefgh"]
    for depth in range(2, len(levels) + 1):
        iceberg.create_namespace({"id": ["wh", *levels[:depth]]})
    iceberg.declare_table({"id": ["wh", *levels, "t"]})
    assert iceberg.list_namespaces({"id": ["wh", *levels[:-1]]}).namespaces == ["h"]
    assert iceberg.list_tables({"id": ["wh", *levels]}).tables == ["t"]
    assert iceberg.list_all_tables({}).tables == ["$".join(["wh", *levels, "t"])]


@pytest.mark.requirement("iceberg-create-namespace-exists")
def test_create_of_an_existing_namespace(iceberg: IcebergNamespace) -> None:
    with pytest.raises(NamespaceAlreadyExistsError):
        iceberg.create_namespace({"id": ["wh", "db"]})


@pytest.mark.requirement("iceberg-create-namespace-parent")
def test_create_below_a_missing_parent(iceberg: IcebergNamespace) -> None:
    """The server itself would make it."""
    with pytest.raises(NamespaceNotFoundError):
        iceberg.create_namespace({"id": ["wh", "missing", "a"]})
    assert iceberg.list_namespaces({"id": ["wh"]}).namespaces == ["db"]


def test_create_under_the_name_of_a_table(iceberg: IcebergNamespace) -> None:
    iceberg.declare_table({"id": ["wh", "db", "t"]})
    with pytest.raises(NamespaceAlreadyExistsError):
        iceberg.create_namespace({"id": ["wh", "db", "t"]})


@pytest.mark.parametrize("operation", ["create_namespace", "drop_namespace", "alter_namespace"])
def test_a_warehouse_is_neither_made_nor_dropped(iceberg: IcebergNamespace, operation: str) -> None:
    with pytest.raises(InvalidInputError):
        getattr(iceberg, operation)({"id": ["wh"]})


@pytest.mark.requirement("iceberg-namespace-warehouse-children", "iceberg-list-namespaces")
def test_list_gives_the_childrens_own_names(iceberg: IcebergNamespace) -> None:
    for identifier in (["db", "b"], ["db", "a"], ["db", "b", "c"], ["Z"]):
        iceberg.create_namespace({"id": ["wh", *identifier]})
    assert iceberg.list_namespaces({"id": ["wh"]}).namespaces == ["Z", "db"]
    assert iceberg.list_namespaces({"id": ["wh", "db"]}).namespaces == ["a", "b"]
    assert iceberg.list_namespaces({"id": ["wh", "db", "b"]}).namespaces == ["c"]


@pytest.mark.requirement("iceberg-list-namespaces-parent", "iceberg-list-tables-missing")
def test_list_below_what_is_missing(iceberg: IcebergNamespace) -> None:
    for identifier in (["wh", "missing"], ["other"], ["other", "db"]):
        for method in (iceberg.list_namespaces, iceberg.list_tables):
            with pytest.raises(NamespaceNotFoundError):
                method({"id": identifier})


@pytest.mark.requirement("iceberg-list-tables-missing")
def test_a_server_that_lists_nothing_below_what_is_missing() -> None:
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


@pytest.mark.requirement("iceberg-describe-namespace-missing")
def test_describe_and_exists(iceberg: IcebergNamespace) -> None:
    assert iceberg.describe_namespace({}).properties == {}
    assert iceberg.describe_namespace({"id": ["wh"]}).properties == {}
    iceberg.namespace_exists({"id": ["wh", "db"]})
    for identifier in (["wh", "missing"], ["wh", "db", "missing"], ["other"]):
        with pytest.raises(NamespaceNotFoundError):
            iceberg.describe_namespace({"id": identifier})
        with pytest.raises(NamespaceNotFoundError):
            iceberg.namespace_exists({"id": identifier})


@pytest.mark.requirement("iceberg-drop-namespace")
def test_drop(iceberg: IcebergNamespace) -> None:
    iceberg.drop_namespace({"id": ["wh", "db"]})
    assert iceberg.list_namespaces({"id": ["wh"]}).namespaces == []


@pytest.mark.requirement("iceberg-describe-namespace", "iceberg-drop-namespace")
def test_namespaces_are_read_and_dropped_by_their_encoded_path(
    proxy: FaultProxy, connected: Connect
) -> None:
    namespace = connected(endpoint=proxy.uri)
    namespace.create_namespace({"id": ["wh", "db", "a b"]})
    for method in (namespace.describe_namespace, namespace.drop_namespace):
        method({"id": ["wh", "db", "a b"]})
    path = "/v1/namespaces/db%2Ea%20b"  # this server wants a dot between levels
    assert [(a.method, a.path) for a in proxy.asked[-2:]] == [("GET", path), ("DELETE", path)]


@pytest.mark.requirement("iceberg-drop-namespace-missing")
def test_drop_of_what_is_missing_succeeds(iceberg: IcebergNamespace) -> None:
    assert iceberg.drop_namespace({"id": ["wh", "missing"]}).properties == {}
    assert iceberg.drop_namespace({"id": ["wh", "db", "missing"], "mode": "Fail"}).properties == {}


@pytest.mark.requirement("iceberg-drop-namespace-not-empty")
def test_drop_of_what_is_not_empty(iceberg: IcebergNamespace, bare: BareApi) -> None:
    bare.add_namespace(["db", "a"])
    bare.add_table(["db", "a"], "theirs", "/tmp/theirs", {})
    for identifier in (["wh", "db"], ["wh", "db", "a"]):
        with pytest.raises(NamespaceNotEmptyError):
            iceberg.drop_namespace({"id": identifier})
    assert bare.tables(["db", "a"]) == ["theirs"]


@pytest.mark.requirement("iceberg-drop-namespace-cascade")
def test_cascade_is_refused(iceberg: IcebergNamespace) -> None:
    with pytest.raises(UnsupportedError):
        iceberg.drop_namespace({"id": ["wh", "db"], "behavior": "Cascade"})
    iceberg.namespace_exists({"id": ["wh", "db"]})


def test_alter_sets_and_unsets(iceberg: IcebergNamespace) -> None:
    iceberg.create_namespace({"id": ["wh", "a"], "properties": {"old": "1", "kept": "2"}})
    altered = iceberg.alter_namespace(
        {"id": ["wh", "a"], "set_properties": {"new": "3"}, "unset_properties": ["old", "never"]}
    )
    assert without_location(altered.properties) == {"kept": "2", "new": "3"}
    with pytest.raises(NamespaceNotFoundError):
        iceberg.alter_namespace({"id": ["wh", "missing"], "set_properties": {"a": "b"}})


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
@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (500, "ServiceFailureException", 18),
        (500, "", 18),
        (404, "", 18),  # from a proxy, or a wrong endpoint
        (302, "", 18),
        (400, "BadRequestException", 13),
        (401, "NotAuthorizedException", 16),
        (403, "ForbiddenException", 15),
        (406, "UnsupportedOperationException", 0),
        (419, "AuthenticationTimeoutException", 16),
        (429, "TooManyRequestsException", 21),
        (503, "SlowDownException", 21),
        (503, "", 17),
    ],
)
def test_every_failure_has_its_code(operation: str, status: int, kind: str, code: int) -> None:
    body = {"error": {"type": kind, "message": "it is so", "code": status}} if kind else b"<html>"

    def respond(asked: Asked) -> Answer:
        return Answer(body={}) if asked.path == "/v1/config" else Answer(status=status, body=body)

    with WebServer(respond) as failing:
        namespace = connect("iceberg", {"endpoint": failing.uri, "max_retries": "0"})
        with namespace, pytest.raises(LanceNamespaceError) as caught:
            CALLS[operation](namespace)
    assert caught.value.code == code
    assert operation in str(caught.value)
    assert kind in str(caught.value)
