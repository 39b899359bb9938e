from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lance_namespace_client.errors import (
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from lance_namespace_impls.unity import UnityNamespace
from tests.servers.unity import API
from tests.servers.web import Answer, Asked

from .conftest import Connect, Unity, answered


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


@pytest.mark.requirement("unity-create-namespace-exists-forms")
@pytest.mark.parametrize(
    ("status", "error_code"),
    [(409, ""), (409, "{}_ALREADY_EXISTS"), (400, "{}_ALREADY_EXISTS"), (400, "ALREADY_EXISTS"),
     (400, "RESOURCE_ALREADY_EXISTS")],
)  # fmt: skip
def test_servers_report_existing_objects_in_several_ways(status: int, error_code: str) -> None:
    def respond(asked: Asked) -> Answer:
        if asked.method == "GET":
            return Answer(body={"name": "the parent"})
        kind = "SCHEMA" if asked.path.endswith("/schemas") else "TABLE"
        body = {"error_code": error_code.format(kind), "message": "there"} if error_code else {}
        return Answer(status=status, body=body)

    with answered(respond) as (_, namespace):
        with pytest.raises(NamespaceAlreadyExistsError):
            namespace.create_namespace({"id": ["main", "s"]})
        with pytest.raises(TableAlreadyExistsError):
            namespace.declare_table({"id": ["main", "s", "t"]})


S, T = ["main", "s"], ["main", "s", "t"]
MISSING, ELSEWHERE = ["main", "missing"], ["other", "s"]
CHANGED = {"set_properties": {"a": "1"}}
REJECTED: tuple[tuple[str, list[list[str]], dict[str, Any], int, str], ...] = (
    ("create_namespace", [["main"], T], {}, 13, ""),
    ("create_namespace", [ELSEWHERE], {}, 13, "'main'"),
    ("create_namespace", [S], {}, 2, "main"),
    ("describe_namespace", [MISSING, ELSEWHERE, ["other"]], {}, 1, ""),
    ("list_namespaces", [MISSING, ["other"]], {}, 1, ""),
    ("list_tables", [MISSING, ELSEWHERE], {}, 1, ""),
    ("drop_namespace", [MISSING, ELSEWHERE], {}, 1, ""),
    ("declare_table", [["t"], ["main", "t"], [*T, "u"]], {}, 13, "3 levels"),
    ("declare_table", [[*ELSEWHERE, "t"]], {}, 13, ""),
    ("declare_table", [[*MISSING, "t"]], {}, 1, ""),
    ("declare_table", [T], {}, 5, ""),
    ("declare_table", [[*S, "u"]], {"location": "nonsense://b/t"}, 13, "support nonsense://"),
    ("describe_table", [[*S, "x"], [*MISSING, "x"], [*ELSEWHERE, "t"]], {}, 4, ""),
    ("table_exists", [[*S, "x"], [*MISSING, "x"], [*ELSEWHERE, "t"]], {}, 4, ""),
    ("deregister_table", [[*S, "x"], [*MISSING, "x"], [*ELSEWHERE, "t"]], {}, 4, ""),
    ("drop_table", [[*S, "x"], [*MISSING, "x"], [*ELSEWHERE, "t"]], {}, 4, ""),
    ("alter_table", [T], CHANGED, 0, "cannot change a table"),
    ("rename_table", [T], {"new_table_name": "u"}, 0, "cannot change a table"),
)


@pytest.mark.requirement(
    "unity-create-namespace-levels",
    "unity-create-namespace-exists",
    "unity-create-namespace-catalog",
    "unity-namespace-fixed-catalog",
    "unity-namespace-three-levels",
    "unity-list-namespaces-other",
    "unity-describe-namespace-missing",
    "unity-drop-namespace-missing",
    "unity-list-tables-missing",
    "unity-declare-table-catalog",
    "unity-declare-table-exists",
    "unity-declare-table-levels",
    "unity-declare-table-parent",
    "unity-describe-table-missing",
    "unity-deregister-table-missing",
)
def test_rejected_calls_have_a_code_and_change_nothing(unity: Unity, main: UnityNamespace) -> None:
    unity.add_catalog("other")
    unity.add_schema(("other", "s"))
    main.declare_table({"id": T})
    before = unity.held()
    for operation, ids, more, code, said in REJECTED:
        for identifier in ids:
            with pytest.raises(LanceNamespaceError, match=said or None) as refused:
                getattr(main, operation)({"id": identifier, **more})
            assert refused.value.code == code, (operation, identifier)
        assert unity.held() == before, (operation, ids)


def test_a_configured_catalog_that_is_missing(connected: Connect) -> None:
    missing = connected(catalog="no")
    for call, identifier in (
        (missing.describe_namespace, ["no"]),
        (missing.create_namespace, ["no", "s"]),
        (missing.declare_table, ["no", "s", "t"]),
    ):
        with pytest.raises(NamespaceNotFoundError):
            call({"id": identifier})


@pytest.mark.requirement("unity-namespace-properties", "unity-describe-namespace")
def test_describe_returns_the_properties(unity: Unity, main: UnityNamespace) -> None:
    assert main.describe_namespace({"id": ["main", "s"]}).properties == {"owner": "me"}
    assert (unity.asked[-1].method, unity.asked[-1].path) == ("GET", f"{API}/schemas/main.s")
    assert main.describe_namespace({"id": ["main"]}).properties == {"kind": "demo"}
    assert main.describe_namespace({}).properties == {}


@pytest.mark.parametrize("limit", [None, 1])
def test_tables_of_another_catalog_are_not_listed(
    unity: Unity, main: UnityNamespace, connected: Connect, limit: int | None
) -> None:
    unity.add_catalog("other")
    unity.add_schema(("other", "s"))
    connected(catalog="other").declare_table({"id": ["other", "s", "t"]})
    with pytest.raises(NamespaceNotFoundError, match=r"other\$s"):
        main.list_tables({"id": ["other", "s"], "limit": limit})


@pytest.mark.requirement("unity-namespace-identifier")
def test_identifiers_start_with_the_catalog_and_are_joined_by_dollars(main: UnityNamespace) -> None:
    main.declare_table({"id": ["main", "s", "t"]})
    assert main.list_all_tables({}).tables == ["main$s$t"]
    with pytest.raises(NamespaceNotFoundError, match=r"main\$missing"):
        main.describe_namespace({"id": ["main", "missing"]})


@pytest.mark.requirement("unity-drop-namespace", "unity-drop-namespace-restrict")
def test_drop_returns_the_properties_and_is_final(unity: Unity, main: UnityNamespace) -> None:
    assert main.drop_namespace({"id": ["main", "s"]}).properties == {"owner": "me"}
    sent = unity.asked[-1]
    assert (sent.method, sent.path, sent.query) == ("DELETE", f"{API}/schemas/main.s", {})
    with pytest.raises(NamespaceNotFoundError):
        main.namespace_exists({"id": ["main", "s"]})
    with pytest.raises(NamespaceNotFoundError):
        main.drop_namespace({"id": ["main", "s"]})
    main.drop_namespace({"id": ["main", "s"], "mode": "Skip"})


@pytest.mark.requirement("unity-drop-namespace-cascade")
def test_cascade_sends_force(unity: Unity, main: UnityNamespace) -> None:
    main.declare_table({"id": ["main", "s", "t"]})
    main.drop_namespace({"id": ["main", "s"], "behavior": "Cascade"})
    assert unity.asked[-1].query == {"force": "true"}
    assert main.list_namespaces({"id": ["main"]}).namespaces == []


def test_alter_sets_and_unsets(main: UnityNamespace) -> None:
    altered = main.alter_namespace(
        {"id": ["main", "s"], "set_properties": {"a": "1"}, "unset_properties": ["owner"]}
    )
    assert altered.properties == {"a": "1"}
    main.alter_namespace({"id": ["main", "s"], "unset_properties": ["a"]})
    assert main.describe_namespace({"id": ["main", "s"]}).properties == {}


def test_alter_on_a_server_that_ignores_properties() -> None:
    schema = {"name": "s", "properties": {"owner": "me"}}
    refused = pytest.raises(UnsupportedError, match="does not change the schema's properties")
    with answered(lambda asked: Answer(body=schema)) as (_, namespace), refused:
        namespace.alter_namespace({"id": ["main", "s"], "set_properties": {"a": "1"}})


def test_null_properties_and_unknown_fields_are_accepted() -> None:
    schema = {"name": "s", "properties": {"a": None, "b": "1"}, "mask": {"x": []}}
    bodies: list[dict[str, Any]] = [schema, {"name": "s", "properties": None}, {"name": "s"}]
    with answered(lambda asked: Answer(body=bodies.pop(0))) as (_, namespace):
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
def test_every_operation_reports_a_failure(operation: str) -> None:
    """The code of every status is tested in tests/core/test_failure_tables.py."""
    answers: list[Answer] = []
    with answered(lambda asked: answers[-1], max_retries="0") as (_, namespace):
        for status, error_code, code in (
            (500, "INTERNAL", 18),
            (404, "", 18),  # from a proxy, or a wrong api_path
            (302, "", 18),
            (403, "PERMISSION_DENIED", 15),
        ):
            body = {"error_code": error_code, "message": "it is so"} if error_code else b"<html>"
            answers.append(Answer(status=status, body=body))
            with pytest.raises(LanceNamespaceError, match=operation) as caught:
                CALLS[operation](namespace)
            assert caught.value.code == code
            assert error_code in str(caught.value)
