from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from lance_namespace_impls.unity import UnityNamespace
from tests.servers.unity import API
from tests.servers.web import Answer, Asked, WebServer

from .conftest import Connect, Unity


@pytest.mark.requirement("unity-namespace-root", "unity-list-namespaces-root")
def test_the_root_lists_the_configured_catalog(unity: Unity, main: UnityNamespace) -> None:
    unity.add_catalog("other")
    unity.asked.clear()
    assert main.list_namespaces({}).namespaces == ["main"]
    assert unity.asked == []


@pytest.mark.requirement("unity-list-namespaces-catalog")
def test_a_catalog_lists_its_schemas_in_order(unity: Unity, main: UnityNamespace) -> None:
    for name in ("z", "A", "b"):
        main.create_namespace({"id": ["main", name]})
    unity.asked.clear()
    assert main.list_namespaces({"id": ["main"]}).namespaces == ["A", "b", "s", "z"]
    assert unity.asked[0].path == f"{API}/schemas"
    assert unity.asked[0].query["catalog_name"] == "main"


@pytest.mark.requirement("unity-list-namespaces-other")
def test_another_catalog_is_not_found_in_a_listing(main: UnityNamespace) -> None:
    with pytest.raises(NamespaceNotFoundError):
        main.list_namespaces({"id": ["other"]})


@pytest.mark.requirement("unity-namespace-schema")
def test_a_schema_has_no_child_namespaces(main: UnityNamespace) -> None:
    assert main.list_namespaces({"id": ["main", "s"]}).namespaces == []
    with pytest.raises(NamespaceNotFoundError):
        main.list_namespaces({"id": ["main", "missing"]})


@pytest.mark.requirement("unity-create-namespace")
def test_create_sends_name_catalog_and_properties(unity: Unity, connected: Connect) -> None:
    namespace = connected()
    made = namespace.create_namespace({"id": ["main", "s"], "properties": {"owner": "me"}})
    assert made.properties == {"owner": "me"}
    sent = unity.asked[-1]
    assert (sent.method, sent.path) == ("POST", f"{API}/schemas")
    assert sent.json == {"name": "s", "catalog_name": "main", "properties": {"owner": "me"}}


@pytest.mark.requirement("unity-create-namespace-levels")
@pytest.mark.parametrize("identifier", [["main"], ["main", "s", "t"]])
def test_create_takes_a_catalog_and_a_schema(main: UnityNamespace, identifier: list[str]) -> None:
    with pytest.raises(InvalidInputError):
        main.create_namespace({"id": identifier})


@pytest.mark.requirement("unity-namespace-fixed-catalog", "unity-create-namespace-catalog")
def test_create_in_another_catalog_is_invalid(main: UnityNamespace) -> None:
    with pytest.raises(InvalidInputError, match="'main'"):
        main.create_namespace({"id": ["other", "s"]})


@pytest.mark.requirement("unity-create-namespace-exists")
def test_create_of_an_existing_schema(main: UnityNamespace) -> None:
    with pytest.raises(NamespaceAlreadyExistsError):
        main.create_namespace({"id": ["main", "s"]})


@pytest.mark.requirement("unity-create-namespace-exists-forms")
@pytest.mark.parametrize(
    ("status", "error_code"),
    [(409, ""), (409, "{}_ALREADY_EXISTS"), (400, "{}_ALREADY_EXISTS"), (400, "ALREADY_EXISTS"),
     (400, "RESOURCE_ALREADY_EXISTS")],
)  # fmt: skip
def test_existing_objects_arrive_in_several_ways(status: int, error_code: str) -> None:
    def respond(asked: Asked) -> Answer:
        if asked.method == "GET":
            return Answer(body={"name": "the parent"})
        kind = "SCHEMA" if asked.path.endswith("/schemas") else "TABLE"
        body = {"error_code": error_code.format(kind), "message": "there"} if error_code else {}
        return Answer(status=status, body=body)

    with WebServer(respond) as server:
        namespace = UnityNamespace.from_properties({"endpoint": server.uri, "catalog": "main"})
        with namespace:
            with pytest.raises(NamespaceAlreadyExistsError):
                namespace.create_namespace({"id": ["main", "s"]})
            with pytest.raises(TableAlreadyExistsError):
                namespace.declare_table({"id": ["main", "s", "t"]})


@pytest.mark.requirement("unity-namespace-properties", "unity-describe-namespace")
def test_describe_gives_the_properties(unity: Unity, main: UnityNamespace) -> None:
    assert main.describe_namespace({"id": ["main", "s"]}).properties == {"owner": "me"}
    assert (unity.asked[-1].method, unity.asked[-1].path) == ("GET", f"{API}/schemas/main.s")
    assert main.describe_namespace({"id": ["main"]}).properties == {"kind": "demo"}
    assert main.describe_namespace({}).properties == {}


@pytest.mark.requirement("unity-describe-namespace-missing")
@pytest.mark.parametrize("identifier", [["main", "missing"], ["other", "s"], ["other"]])
def test_describe_of_what_is_missing(main: UnityNamespace, identifier: list[str]) -> None:
    with pytest.raises(NamespaceNotFoundError):
        main.describe_namespace({"id": identifier})


@pytest.mark.parametrize("limit", [None, 1])
def test_tables_of_another_catalog_are_not_listed(
    unity: Unity, main: UnityNamespace, connected: Connect, limit: int | None
) -> None:
    unity.add_catalog("other")
    unity.add_schema(("other", "s"))
    connected(catalog="other").declare_table({"id": ["other", "s", "t"]})
    with pytest.raises(NamespaceNotFoundError, match=r"other\$s"):
        main.list_tables({"id": ["other", "s"], "limit": limit})


@pytest.mark.requirement("unity-drop-namespace-missing")
@pytest.mark.parametrize("identifier", [["main", "missing"], ["other", "s"]])
def test_drop_of_what_is_missing(unity: Unity, main: UnityNamespace, identifier: list[str]) -> None:
    unity.add_catalog("other")
    unity.add_schema(("other", "s"))
    with pytest.raises(NamespaceNotFoundError):
        main.drop_namespace({"id": identifier})
    assert ("other", "s") in unity.held()


@pytest.mark.requirement("unity-namespace-identifier")
def test_identifiers_start_with_the_catalog_and_are_joined_by_dollars(main: UnityNamespace) -> None:
    main.declare_table({"id": ["main", "s", "t"]})
    assert main.list_all_tables({}).tables == ["main$s$t"]
    with pytest.raises(NamespaceNotFoundError, match=r"main\$missing"):
        main.describe_namespace({"id": ["main", "missing"]})


@pytest.mark.requirement("unity-drop-namespace")
def test_drop_gives_the_properties_and_is_final(main: UnityNamespace) -> None:
    assert main.drop_namespace({"id": ["main", "s"]}).properties == {"owner": "me"}
    with pytest.raises(NamespaceNotFoundError):
        main.namespace_exists({"id": ["main", "s"]})
    with pytest.raises(NamespaceNotFoundError):
        main.drop_namespace({"id": ["main", "s"]})
    main.drop_namespace({"id": ["main", "s"], "mode": "Skip"})


@pytest.mark.requirement("unity-drop-namespace-not-empty")
def test_drop_of_a_schema_that_holds_anything(unity: Unity, main: UnityNamespace) -> None:
    unity.add_table(("main", "s", "theirs"), "MANAGED")
    with pytest.raises(NamespaceNotEmptyError):
        main.drop_namespace({"id": ["main", "s"]})
    assert main.list_namespaces({"id": ["main"]}).namespaces == ["s"]


@pytest.mark.requirement("unity-drop-namespace-cascade")
def test_cascade_sends_force(unity: Unity, main: UnityNamespace) -> None:
    main.declare_table({"id": ["main", "s", "t"]})
    main.drop_namespace({"id": ["main", "s"], "behavior": "Cascade"})
    assert unity.asked[-1].query == {"force": "true"}
    assert main.list_namespaces({"id": ["main"]}).namespaces == []


@pytest.mark.requirement("unity-drop-namespace", "unity-drop-namespace-restrict")
def test_restrict_does_not_send_force(unity: Unity, main: UnityNamespace) -> None:
    main.drop_namespace({"id": ["main", "s"]})
    sent = unity.asked[-1]
    assert (sent.method, sent.path, sent.query) == ("DELETE", f"{API}/schemas/main.s", {})


def test_alter_sets_and_unsets(main: UnityNamespace) -> None:
    altered = main.alter_namespace(
        {"id": ["main", "s"], "set_properties": {"a": "1"}, "unset_properties": ["owner"]}
    )
    assert altered.properties == {"a": "1"}
    main.alter_namespace({"id": ["main", "s"], "unset_properties": ["a"]})
    assert main.describe_namespace({"id": ["main", "s"]}).properties == {}


def test_alter_where_the_server_ignores_properties() -> None:
    schema = {"name": "s", "properties": {"owner": "me"}}
    with WebServer(lambda asked: Answer(body=schema)) as old:
        namespace = UnityNamespace.from_properties({"endpoint": old.uri, "catalog": "main"})
        with (
            namespace,
            pytest.raises(UnsupportedError, match="does not change the schema's properties"),
        ):
            namespace.alter_namespace({"id": ["main", "s"], "set_properties": {"a": "1"}})


def test_null_properties_and_unknown_fields_are_fine() -> None:
    schema = {"name": "s", "properties": {"a": None, "b": "1"}, "mask": {"x": []}}
    bodies: list[dict[str, Any]] = [schema, {"name": "s", "properties": None}, {"name": "s"}]
    with WebServer(lambda asked: Answer(body=bodies.pop(0))) as server:
        namespace = UnityNamespace.from_properties({"endpoint": server.uri, "catalog": "main"})
        with namespace:
            found = [namespace.describe_namespace({"id": ["main", "s"]}).properties for _ in "abc"]
    assert found == [{"b": "1"}, {}, {}]


Call = Callable[[UnityNamespace], object]
CALLS: dict[str, Call] = {
    "CreateNamespace": lambda ns: ns.create_namespace({"id": ["main", "s"]}),
    "ListNamespaces": lambda ns: ns.list_namespaces({"id": ["main"]}),
    "DescribeNamespace": lambda ns: ns.describe_namespace({"id": ["main", "s"]}),
    "DropNamespace": lambda ns: ns.drop_namespace({"id": ["main", "s"]}),
    "DeclareTable": lambda ns: ns.declare_table({"id": ["main", "s", "t"]}),
    "ListTables": lambda ns: ns.list_tables({"id": ["main", "s"]}),
    "DescribeTable": lambda ns: ns.describe_table({"id": ["main", "s", "t"]}),
    "DeregisterTable": lambda ns: ns.deregister_table({"id": ["main", "s", "t"]}),
}


@pytest.mark.requirement(
    "unity-create-namespace-failure",
    "unity-list-namespaces-failure",
    "unity-describe-namespace-failure",
    "unity-drop-namespace-failure",
    "unity-declare-table-failure",
    "unity-list-tables-failure",
    "unity-describe-table-failure",
    "unity-deregister-table-failure",
)
@pytest.mark.parametrize("operation", CALLS)
@pytest.mark.parametrize(
    ("status", "error_code", "code"),
    [
        (500, "INTERNAL", 18),
        (500, "", 18),
        (404, "", 18),  # from a proxy, or a wrong api_path
        (302, "", 18),
        (400, "INVALID_ARGUMENT", 13),
        (401, "UNAUTHENTICATED", 16),
        (403, "PERMISSION_DENIED", 15),
        (409, "ABORTED", 14),
        (429, "RESOURCE_EXHAUSTED", 21),
        (501, "UNIMPLEMENTED", 0),
        (503, "UNAVAILABLE", 17),
    ],
)
def test_every_failure_has_its_code(
    operation: str, status: int, error_code: str, code: int
) -> None:
    body = {"error_code": error_code, "message": "it is so"} if error_code else b"<html>"
    with WebServer(lambda asked: Answer(status=status, body=body)) as failing:
        properties = {"endpoint": failing.uri, "catalog": "main", "max_retries": "0"}
        namespace = UnityNamespace.from_properties(properties)
        with namespace, pytest.raises(LanceNamespaceError) as caught:
            CALLS[operation](namespace)
    assert caught.value.code == code
    assert operation in str(caught.value)
    assert error_code in str(caught.value)
