"""A backend that lacks a primitive fails when its class is created."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from lance_namespace_client.errors import UnsupportedError
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_impls import extend
from lance_namespace_impls.memory import MemoryConfig, MemoryNamespace

METHODS = inspect.getmembers(extend.CatalogNamespace, inspect.isfunction)
REQUIRED = sorted(name for name, method in METHODS if hasattr(method, "__isabstractmethod__"))
OPTIONAL = sorted(
    (name, method.__optional_for__)
    for name, method in METHODS
    if hasattr(method, "__optional_for__")
)
WHOLE = {name: vars(MemoryNamespace)[name] for name in [*REQUIRED, *dict(OPTIONAL)]}
CAPABILITIES = extend.Capabilities(namespace_depth=None, cascade=True, rename_across=True)


def create_class(body: dict[str, Any]) -> type[extend.CatalogNamespace]:
    """Create a backend class with the primitives in `body`."""
    return type("Partial", (extend.CatalogNamespace,), body)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in WHOLE.items() if key != name}


def test_required_and_optional_primitives() -> None:
    assert REQUIRED == [
        "add_table",
        "child_namespaces",
        "default_location",
        "load_table",
        "namespace_properties",
        "remove_table",
        "table_names",
    ]
    assert OPTIONAL == [
        ("add_namespace", "CreateNamespace"),
        ("change_namespace", "AlterNamespace"),
        ("change_table", "AlterTable"),
        ("move_table", "RenameTable"),
        ("remove_namespace", "DropNamespace"),
    ]


def test_a_complete_class_is_created() -> None:
    assert create_class({**WHOLE, "capabilities": CAPABILITIES}).__name__ == "Partial"


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_primitive_must_be_implemented(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^Partial must implement the primitive {name}\(\)$"):
        create_class({**without(name), "capabilities": CAPABILITIES})


@pytest.mark.parametrize(("name", "operation"), OPTIONAL)
def test_an_optional_primitive_must_be_implemented_or_declared(name: str, operation: str) -> None:
    with pytest.raises(TypeError) as caught:
        create_class({**without(name), "capabilities": CAPABILITIES})
    assert str(caught.value) == (
        f"Partial must implement the primitive {name}(), or declare {operation} unsupported: "
        f"Capabilities(unsupported={{{operation!r}: 'why'}})"
    )


CALLS: dict[str, Callable[[Any], Any]] = {
    "CreateNamespace": lambda found: found.create_namespace({"id": ["a"]}),
    "DropNamespace": lambda found: found.drop_namespace({"id": ["a"]}),
    "AlterNamespace": lambda found: found.alter_namespace(
        {"id": ["a"], "set_properties": {"k": "v"}}
    ),
    "RenameTable": lambda found: found.rename_table({"id": ["t"], "new_table_name": "u"}),
    "AlterTable": lambda found: found.alter_table({"id": ["t"], "set_properties": {"k": "v"}}),
}


@pytest.mark.requirement("general-057")
@pytest.mark.parametrize(("name", "operation"), OPTIONAL)
def test_an_operation_declared_unsupported_is_rejected_and_not_listed(
    name: str, operation: str
) -> None:
    capabilities = evolve(CAPABILITIES, unsupported={operation: "there is a reason"})
    left_out = vars(extend.CatalogBase)[name]
    partial = type("Partial", (MemoryNamespace,), {name: left_out, "capabilities": capabilities})
    with partial(MemoryConfig()) as namespace:
        namespace.declare_table({"id": ["t"]})
        with pytest.raises(UnsupportedError, match=f"{operation} .*: there is a reason$"):
            CALLS[operation](namespace)
        assert operation not in namespace.list_operations({}).operations
    with MemoryNamespace(MemoryConfig()) as namespace:
        assert operation in namespace.list_operations({}).operations


def test_a_namespace_is_not_overwritten_if_drops_are_unsupported() -> None:
    capabilities = evolve(CAPABILITIES, unsupported={"DropNamespace": "schemas stay"})
    left_out = {"remove_namespace": vars(extend.CatalogBase)["remove_namespace"]}
    partial = type("Partial", (MemoryNamespace,), {**left_out, "capabilities": capabilities})
    with partial(MemoryConfig()) as namespace:
        namespace.create_namespace({"id": ["a"], "properties": {"k": "old"}})
        with pytest.raises(UnsupportedError, match=r"DropNamespace is not supported: schemas stay"):
            namespace.create_namespace(
                {"id": ["a"], "mode": "Overwrite", "properties": {"k": "new"}}
            )
        assert namespace.describe_namespace({"id": ["a"]}).properties == {"k": "old"}


def test_an_unknown_operation_cannot_be_declared_unsupported() -> None:
    capabilities = evolve(CAPABILITIES, unsupported={"RenameTables": "why"})
    with pytest.raises(
        TypeError, match="unknown operation unsupported: 'RenameTables'; did you mean 'RenameTable'"
    ):
        create_class({**WHOLE, "capabilities": capabilities})


def test_capabilities_must_be_declared() -> None:
    with pytest.raises(
        TypeError, match=r"^Partial declares no capabilities: set the class attribute"
    ):
        create_class(dict(WHOLE))


def test_an_operation_that_is_not_implemented_is_not_listed() -> None:
    def listed(cls: Any) -> set[str]:
        return set(cls(MemoryConfig()).list_operations({}).operations)

    whole: Any = create_class({**WHOLE, "capabilities": CAPABILITIES})
    less: Any = type("Less", (whole,), {"query_table": LanceNamespace.query_table})
    assert listed(whole) - listed(less) == {"QueryTable"}
    with pytest.raises(UnsupportedError, match="QueryTable is not supported by Less: it does not"):
        less(MemoryConfig()).query_table({"id": ["n", "t"]})
    again = type("Again", (less,), {"query_table": whole.query_table})
    assert listed(again) == listed(whole)
