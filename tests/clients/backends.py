"""The catalogs that clients are tested with, each with an empty namespace for tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias
from uuid import uuid4

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from tests.glue.conftest import KEYS
from tests.servers.glue import REGION, glue_server
from tests.servers.hive import shared
from tests.servers.iceberg import IcebergFixture
from tests.servers.polaris_tables import PolarisTables
from tests.servers.s3 import GuardedS3
from tests.servers.unity import UnityDouble

__all__ = ["BACKENDS", "Backend", "Home", "on_backends"]


class Home(NamedTuple):
    """A namespace for tables in a catalog."""

    namespace: Namespace
    name: str
    """The catalog's name in the documentation."""
    impl: str
    properties: dict[str, str]
    """The properties of the connection."""
    identifier: tuple[str, ...]
    """The identifier of the namespace for tables; empty for the root."""
    nests: bool
    """Whether the namespace can contain namespaces."""


Backend: TypeAlias = Callable[[Path], AbstractContextManager[Home]]


@contextmanager
def _home(
    impl: str,
    properties: dict[str, str],
    identifier: tuple[str, ...],
    given: int = 0,
    name: str | None = None,
) -> Iterator[Home]:
    with connect(impl, properties) as namespace:
        for depth in range(given, len(identifier)):
            namespace.create_namespace({"id": list(identifier[: depth + 1])})
        nests = namespace.capabilities.namespace_depth
        # In Glue, a namespace with tables is a database, which cannot contain namespaces.
        deeper = impl != "glue" and (nests is None or nests > len(identifier))
        yield Home(namespace, name or impl, impl, properties, identifier, deeper)


@contextmanager
def _directory(folder: Path) -> Iterator[Home]:
    with _home("dir", {"path": str(folder)}, ()) as home:
        yield home


@contextmanager
def _manifest(folder: Path) -> Iterator[Home]:
    properties = {"path": str(folder), "manifest": "true"}
    with _home("dir", properties, ("db",), name="dir, manifest") as home:
        yield home


@contextmanager
def _hive(folder: Path) -> Iterator[Home]:
    properties = {"uri": shared("4.2").uri, "root": str(folder)}
    with _home("hive2", properties, (f"db{uuid4().hex[:8]}",)) as home:
        yield home


@contextmanager
def _glue(folder: Path) -> Iterator[Home]:
    with glue_server() as server:
        server.reset()
        with GuardedS3() as store:
            properties = {
                "endpoint": server.endpoint,
                "region": REGION,
                "root": f"s3://{store.bucket}/lake",
                "default_namespace_type": "database",
                **KEYS,
            }
            properties |= {f"storage.{key}": value for key, value in store.options().items()}
            with _home("glue", properties, ("db",)) as home:
                yield home


@contextmanager
def _unity(folder: Path) -> Iterator[Home]:
    with UnityDouble() as server:
        server.add_catalog("main", {})
        properties = {"endpoint": server.uri, "catalog": "main", "root": str(folder)}
        with _home("unity", properties, ("main", "db"), given=1) as home:
            yield home


@contextmanager
def _iceberg(folder: Path) -> Iterator[Home]:
    with IcebergFixture(folder=folder) as server:
        properties = {
            "endpoint": server.endpoint,
            "prefix": "",
            "warehouses": "wh",
            "root": str(folder / "lake"),
        }
        with _home("iceberg", properties, ("wh", "db"), given=1) as home:
            yield home


@contextmanager
def _polaris(folder: Path) -> Iterator[Home]:
    with PolarisTables((folder / "lake").as_uri()) as server:
        properties = {"endpoint": server.uri, "warehouse": "lake"}
        with _home("polaris", properties, ("lake", "db"), given=1) as home:
            yield home


BACKENDS: dict[str, Backend] = {
    "dir": _directory,
    "manifest": _manifest,
    "hive": _hive,
    "glue": _glue,
    "unity": _unity,
    "iceberg": _iceberg,
    "polaris": _polaris,
}


def on_backends(*fast: str) -> pytest.MarkDecorator:
    """Run a test with the fixture ``home`` on every backend; all except the named ones are slow."""
    return pytest.mark.parametrize(
        "home",
        [
            pytest.param(name, marks=[] if name in fast else pytest.mark.slow)
            for name in sorted(BACKENDS)
        ],
        indirect=True,
    )
