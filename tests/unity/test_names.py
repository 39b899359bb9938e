from __future__ import annotations

import pytest

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError
from lance_namespace_impls.unity import UnityNamespace
from tests.servers.unity import API
from tests.servers.web import Answer, Asked

from .conftest import Unity, answered

AWKWARD = (
    "a.b", "a/b", "a b", "50%", "a%20b", "a$b", "a+b", "ünï", "日本", "e\u0301", "a\x1fb", "?", "#",
    "..", "&=;:\\'",
)  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_names_that_the_server_rejects(unity: Unity, main: UnityNamespace, name: str) -> None:
    """Unity Catalog's own server accepts letters, digits and a few other characters."""
    before = unity.held()
    with pytest.raises(InvalidInputError):
        main.create_namespace({"id": ["main", name]})
    with pytest.raises(InvalidInputError):
        main.declare_table({"id": ["main", "s", name]})
    assert unity.held() == before


@pytest.mark.parametrize("name", AWKWARD)
def test_names_do_not_resolve_to_others(unity: Unity, main: UnityNamespace, name: str) -> None:
    """The server splits ``main.a.b`` and would read the schema ``a``."""
    for part in ("a", "50"):
        unity.add_schema(("main", part), {"wrong": "one"})
        unity.add_table(("main", "s", part), properties={"table_type": "lance"})
    for method in (main.describe_namespace, main.drop_namespace, main.list_tables):
        with pytest.raises(LanceNamespaceError) as caught:
            method({"id": ["main", name]})
        assert caught.value.code == 1
    for method in (main.describe_table, main.deregister_table, main.drop_table):
        with pytest.raises(LanceNamespaceError) as caught:
            method({"id": ["main", "s", name]})
        assert caught.value.code == 4
    assert len(unity.held()) == 6


@pytest.mark.parametrize("name", [name for name in AWKWARD if not {".", "\x1f"} & set(name)])
def test_names_are_encoded_once_for_servers_that_accept_them(name: str) -> None:
    """Databricks accepts most names; decoding a path must return the original name."""
    from urllib.parse import unquote

    def respond(asked: Asked) -> Answer:
        assert "/" not in asked.path.removeprefix(f"{API}/tables/")
        catalog, schema, table = map(unquote, asked.path.removeprefix(f"{API}/tables/").split("."))
        assert (catalog, schema, table) == ("main", name, name)
        lance = {"table_type": "EXTERNAL", "properties": {"table_type": "lance"}}
        return Answer(body={"name": name, "storage_location": "s3://b/t", **lance})

    with answered(respond) as (_, namespace):
        assert namespace.describe_table({"id": ["main", name, name]}).location == "s3://b/t"


@pytest.mark.parametrize("name", ["a", "A", "a-b", "a_b", "a@b", "0", "null", "n" * 255])
def test_names_that_the_server_accepts(main: UnityNamespace, name: str) -> None:
    main.create_namespace({"id": ["main", name], "properties": {"is": name}})
    assert main.describe_namespace({"id": ["main", name]}).properties == {"is": name}
    declared = main.declare_table({"id": ["main", name, name]})
    assert main.list_tables({"id": ["main", name]}).tables == [name]
    assert main.describe_table({"id": ["main", name, name]}).location == declared.location
    main.deregister_table({"id": ["main", name, name]})
    main.drop_namespace({"id": ["main", name]})
    assert main.list_namespaces({"id": ["main"]}).namespaces == ["s"]
