"""Requirements of the general specification for every implementation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from attrs import evolve

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    UnsupportedError,
)
from lance_namespace_client.models import DescribeTableResponse
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect, connect_config, register, registry
from lance_namespace_impls.catalog.capabilities import Capabilities
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.registry import implementations, load
from lance_namespace_impls.server import serving
from tests.behaviour.memory import LEVELS, catalog

CATALOG = "tests.behaviour.memory:Mixed"

"""A catalog that allows namespaces and tables on every level."""


ROWS = pa.table({"a": pa.array([1, 2, 3], pa.int64())})


@pytest.mark.requirement("general-057")
@pytest.mark.parametrize(
    "impl", [name for name in implementations() if name not in ("rest", "hive")]
)
def test_an_implementation_declares_its_capabilities(impl: str) -> None:
    declared = load(impl).capabilities
    assert isinstance(declared, Capabilities)
    assert set(declared.unsupported) <= set(OPERATIONS)
    assert all(declared.unsupported.values()), "an operation is refused without a reason"


@pytest.mark.requirement("general-058", "general-067")
def test_a_table_is_in_the_catalog_and_in_storage(namespace: Namespace, tmp_path: Path) -> None:
    held = catalog(str(tmp_path / "catalog")).tables
    location = namespace.create_table({"id": ["t"]}, ROWS).location
    assert [identifier for identifier in held if held[identifier]] == [("t",)]
    assert lance.dataset(location).count_rows() == 3
    namespace.deregister_table({"id": ["t"]})
    assert held == {}
    assert lance.dataset(location).count_rows() == 3


@pytest.mark.requirement("general-063", "general-068")
def test_the_catalog_holds_the_location_and_no_version(
    namespace: Namespace, tmp_path: Path
) -> None:
    held = catalog(str(tmp_path / "catalog")).tables
    location = namespace.create_table({"id": ["t"], "properties": {"a": "b"}}, ROWS).location
    before = held[("t",)]
    namespace.insert_into_table({"id": ["t"]}, ROWS)
    assert held[("t",)] == before
    assert (before.location, before.properties) == (location, {"a": "b"})


@pytest.mark.requirement("general-069", "general-070", "general-072")
def test_a_direct_change_on_storage_is_visible(either: Namespace) -> None:
    location = either.create_table({"id": ["t"]}, ROWS).location
    assert either.count_table_rows({"id": ["t"]}).count == 3
    lance.write_dataset(ROWS, location, mode="append")
    assert either.count_table_rows({"id": ["t"]}).count == 6
    assert either.describe_table({"id": ["t"], "load_detailed_metadata": True}).version == 2
    lance.dataset(location).delete("a > 1")
    with serving(either) as uri, connect("rest", {"uri": uri}) as client:
        assert client.count_table_rows({"id": ["t"]}).count == 2
        assert client.open_table(["t"]).version == 3


@pytest.mark.requirement("general-071")
def test_a_change_by_request_is_made_on_storage(either: Namespace) -> None:
    location = either.create_table({"id": ["t"]}, ROWS).location
    either.insert_into_table({"id": ["t"]}, ROWS)
    either.delete_from_table({"id": ["t"], "predicate": "a > 1"})
    stored = lance.dataset(location)
    assert (stored.version, stored.to_table()["a"].to_pylist()) == (3, [1, 1])


@pytest.mark.requirement("general-060", "general-061", "general-063", "general-067")
def test_tables_report_that_storage_manages_them(either: Namespace) -> None:
    assert either.declare_table({"id": ["d"]}).managed_versioning is False
    either.create_table({"id": ["t"]}, ROWS)
    assert either.describe_table({"id": ["t"]}).managed_versioning is False
    version = {"id": ["t"], "version": 2, "manifest_path": "staged"}
    with pytest.raises((UnsupportedError, InvalidTableStateError), match="managed by storage"):
        either.create_table_version(version)
    assert either.open_table(["t"]).version == 1


@pytest.mark.requirement("general-073", "general-075", "general-110", "general-112")
def test_the_native_implementations_are_in_this_package() -> None:
    assert {"dir", "hive", "rest"} <= set(implementations())
    for impl in implementations():
        assert load(impl).__module__.startswith("lance_namespace_impls.")


@pytest.mark.requirement("general-074")
def test_third_party_implementations_can_be_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    register("mine", CATALOG)
    with connect_config({"impl": "mine", "root": str(tmp_path)}) as namespace:
        assert isinstance(namespace, LEVELS["mixed"])
        namespace.declare_table({"id": ["t"]})
    with pytest.raises(InvalidInputError, match="built in"):
        register("dir", CATALOG)


class OneTable(LanceNamespace):
    """A minimal third-party namespace, with a single operation."""

    def describe_table(self, request: Any) -> DescribeTableResponse:
        return DescribeTableResponse(table="t", namespace=[], location="/there")


@pytest.mark.requirement(
    "general-001", "general-103", "general-104", "general-105", "general-106", "general-107"
)
def test_any_implementation_can_be_served(either: Namespace) -> None:
    either.create_table({"id": ["t"]}, ROWS)
    with serving(either) as uri, connect("rest", {"uri": uri}) as client:
        assert client.list_tables({}).tables == either.list_tables({}).tables == ["t"]
        assert client.list_operations({}).operations == either.list_operations({}).operations
        described = client.describe_table({"id": ["t"]})
        assert evolve(described, context=None) == either.describe_table({"id": ["t"]})
    with serving(OneTable()) as uri, connect("rest", {"uri": uri}) as client:
        assert client.describe_table({"id": ["x"]}).location == "/there"
        with pytest.raises(UnsupportedError):
            client.list_tables({})


@pytest.mark.requirement("general-104")
def test_a_server_is_an_implementation_too(either: Namespace) -> None:
    """A client of a server is itself a namespace, so it can be served again."""
    either.create_table({"id": ["t"]}, ROWS)
    with (
        serving(either) as uri,
        connect("rest", {"uri": uri}) as proxy,
        serving(proxy) as outer,
        connect("rest", {"uri": outer}) as client,
    ):
        assert client.list_tables({}).tables == ["t"]
        client.insert_into_table({"id": ["t"]}, ROWS)
        assert client.count_table_rows({"id": ["t"]}).count == 6
        with pytest.raises(LanceNamespaceError) as missing:
            client.describe_table({"id": ["none"]})
        assert missing.value.code == 4


@pytest.mark.requirement("general-107", "general-113", "general-114")
def test_an_implementation_needs_no_server(tmp_path: Path) -> None:
    code = (
        "import sys; from lance_namespace_impls import connect\n"
        f"namespace = connect('dir', {{'path': {str(tmp_path)!r}}})\n"
        "namespace.declare_table({'id': ['t']})\n"
        "assert list(namespace.iter_tables()) == ['t']\n"
        "print([name for name in ('httpx', 'starlette', 'uvicorn') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
