"""Requirements of the general specification for namespaces, tables and identifiers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    TableAlreadyExistsError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.core.identifiers import join_identifier, split_identifier
from lance_namespace_impls.server import serving

LAYOUT = (
    (["ns1"], ["ns4"], []),
    (["ns2"], [], ["t2"]),
    (["cat2"], ["cat5"], []),
    (["cat2", "cat5"], [], ["t1"]),
    (["cat3"], [], []),
    (["cat4"], [], ["t3", "t4"]),
)

"""Namespaces, each with its child namespaces and tables."""


@pytest.fixture
def layout(namespace: Namespace) -> Namespace:
    """The namespaces and tables of the specification's examples."""
    for identifier, children, tables in LAYOUT:
        namespace.create_namespace({"id": identifier, "mode": "ExistOk"})
        for name in children:
            namespace.create_namespace({"id": [*identifier, name]})
        for name in tables:
            namespace.declare_table({"id": [*identifier, name]})
    return namespace


@pytest.mark.requirement("general-005", "general-006", "general-007", "general-023")
def test_namespaces_hold_tables_or_namespaces_at_any_depth(layout: Namespace) -> None:
    for identifier, children, tables in LAYOUT:
        assert list(layout.iter_namespaces(identifier)) == children
        assert list(layout.iter_tables(identifier)) == tables
    deepest = ["a", "b", "c", "d", "e"]
    for depth in range(1, len(deepest) + 1):
        layout.create_namespace({"id": deepest[:depth]})
    layout.declare_table({"id": [*deepest, "t"]})
    assert list(layout.iter_tables(deepest)) == ["t"]


@pytest.mark.requirement(
    "general-008", "general-009", "general-010", "general-016", "general-021", "general-024"
)
def test_a_parent_has_direct_children_only(layout: Namespace) -> None:
    assert list(layout.iter_namespaces()) == ["cat2", "cat3", "cat4", "ns1", "ns2"]
    assert list(layout.iter_tables()) == []
    assert list(layout.iter_namespaces(["ns1"])) == ["ns4"]
    assert list(layout.iter_tables(["ns2"])) == ["t2"]
    assert list(layout.iter_tables(["cat2"])) == []  # t1 is a child of cat5
    described = layout.describe_table({"id": ["cat2", "cat5", "t1"]})
    assert (described.namespace, described.table) == (["cat2", "cat5"], "t1")


@pytest.mark.requirement("general-014", "general-015", "general-017")
def test_a_name_is_unique_among_all_objects_of_its_parent(layout: Namespace) -> None:
    with pytest.raises(NamespaceAlreadyExistsError):
        layout.create_namespace({"id": ["cat4"]})
    with pytest.raises(TableAlreadyExistsError):
        layout.declare_table({"id": ["cat4", "t3"]})
    with pytest.raises(TableAlreadyExistsError):
        layout.rename_table({"id": ["cat4", "t3"], "new_table_name": "t4"})
    # a namespace and a table cannot have the same name
    with pytest.raises(TableAlreadyExistsError):
        layout.declare_table({"id": ["cat2", "cat5"]})
    with pytest.raises(NamespaceAlreadyExistsError):
        layout.create_namespace({"id": ["cat4", "t3"]})
    assert list(layout.iter_tables(["cat4"])) == ["t3", "t4"]
    assert list(layout.iter_namespaces(["cat4"])) == []


@pytest.mark.requirement("general-018", "general-020")
def test_a_name_can_exist_in_several_parents(layout: Namespace) -> None:
    for parent in ([], ["cat3"], ["cat2", "cat5"], ["ns1", "ns4"]):
        layout.declare_table({"id": [*parent, "t3"]})
    locations = {
        layout.describe_table({"id": [*parent, "t3"]}).location
        for parent in ([], ["cat3"], ["cat4"], ["cat2", "cat5"], ["ns1", "ns4"])
    }
    assert len(locations) == 5
    layout.drop_table({"id": ["cat4", "t3"]})
    layout.table_exists({"id": ["cat3", "t3"]})


@pytest.mark.requirement("general-019", "general-020", "general-021")
def test_an_identifier_is_unique_below_the_root(layout: Namespace) -> None:
    for parent in ([], ["cat3"], ["ns1", "ns4"]):
        layout.declare_table({"id": [*parent, "t3"]})
    listed = layout.list_all_tables({}).tables
    assert listed == ["cat2$cat5$t1", "cat3$t3", "cat4$t3", "cat4$t4", "ns1$ns4$t3", "ns2$t2", "t3"]
    for text in listed:
        identifier = list(split_identifier(text))
        described = layout.describe_table({"id": identifier})
        assert [*described.namespace, described.table] == identifier


@pytest.mark.requirement("general-025", "general-028", "general-029", "general-030")
@pytest.mark.parametrize(
    ("names", "delimiter", "text"),
    [
        (["cat2", "cat5"], ".", "cat2.cat5"),
        (["cat2", "cat5", "t1"], ".", "cat2.cat5.t1"),
        (["cat4", "t3"], "$", "cat4$t3"),
        (["v1.2", "t"], "::", "v1.2::t"),
    ],
)
def test_a_string_identifier_joins_names_with_a_delimiter(
    names: list[str], delimiter: str, text: str
) -> None:
    assert join_identifier(names, delimiter) == text
    assert list(split_identifier(text, delimiter)) == names


@pytest.mark.requirement("general-026")
def test_names_with_dots_require_another_delimiter(tmp_path: Path) -> None:
    with connect("dir", {"path": tmp_path}) as directory, serving(directory) as uri:
        directory.declare_table({"id": ["v1.2"]})
        for delimiter in ("$", "/", "::"):
            with connect("rest", {"uri": uri, "delimiter": delimiter}) as client:
                client.table_exists({"id": ["v1.2"]})
        dotted = connect("rest", {"uri": uri, "delimiter": "."})
        with dotted, pytest.raises(InvalidInputError, match="another 'delimiter'"):
            dotted.table_exists({"id": ["v1.2"]})


ROOTS: list[Any] = [None, "", []]


@pytest.mark.requirement("general-012", "general-031", "general-033", "general-056")
@pytest.mark.parametrize("root", ROOTS, ids=repr)
def test_the_root_exists_in_an_empty_catalog(either: Namespace, root: Any) -> None:
    either.namespace_exists({"id": root})
    assert either.describe_namespace({"id": root}).properties == {}
    assert either.list_namespaces({"id": root}).namespaces == []
    assert either.list_tables({"id": root}).tables == []


@pytest.mark.requirement("general-032", "general-033")
@pytest.mark.parametrize("root", [*ROOTS, "absent"], ids=repr)
def test_the_root_on_the_wire(namespace: Namespace, root: Any) -> None:
    namespace.declare_table({"id": ["t"]})
    body = {} if root == "absent" else {"id": root}
    with serving(namespace) as uri:
        assert httpx.post(f"{uri}/NamespaceExists", json=body).status_code == 200
        assert httpx.post(f"{uri}/ListTables", json=body).json()["tables"] == ["t"]


@pytest.mark.requirement("general-032")
@pytest.mark.parametrize("text", ["", "$"])
def test_the_root_as_a_string(text: str) -> None:
    assert split_identifier(text) == ()


@pytest.mark.requirement("general-011", "general-013")
def test_the_root_cannot_be_created_dropped_or_altered(either: Namespace) -> None:
    for call, request in (
        (either.create_namespace, {"id": []}),
        (either.create_namespace, {"id": [], "mode": "ExistOk"}),
        (either.create_namespace, {"id": [], "mode": "Overwrite"}),
        (either.drop_namespace, {"id": []}),
        (either.drop_namespace, {"id": [], "mode": "Skip", "behavior": "Cascade"}),
        (either.alter_namespace, {"id": [], "set_properties": {"a": "b"}}),
    ):
        with pytest.raises(LanceNamespaceError) as refused:
            call(request)
        assert refused.value.code in (0, 13)
    either.namespace_exists({"id": []})


@pytest.mark.requirement("general-034", "general-035")
def test_each_tool_can_choose_a_name_for_the_root(tmp_path: Path) -> None:
    config = tmp_path / "ns.toml"
    place = f'impl = "dir"\npath = "{tmp_path}/lake"\n'
    config.write_text(f"[cat1]\n{place}\n[cat2]\n{place}\n")

    def run(profile: str, *arguments: str) -> str:
        ran = CliRunner().invoke(
            app, [*arguments, "--config", str(config), "--profile", profile, "--json"]
        )
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    run("cat1", "declare", "t")
    assert json.loads(run("cat2", "ls"))["tables"] == ["t"]
    assert run("cat1", "describe", "t") == run("cat2", "describe", "t")
    assert "cat" not in run("cat2", "describe", "$").replace(str(tmp_path), "")
