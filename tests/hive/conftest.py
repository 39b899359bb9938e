"""Metastores and namespaces on them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from tests.servers.hive import RELEASES, Metastore, shared
from tests.servers.proxy import Proxy

__all__ = ["FORMS", "Form", "parameters", "unused"]

FORMS = [
    (release, impl)
    for release, each in RELEASES.items()
    for impl in (["hive2", "hive3"] if each.has_catalogs else ["hive2"])
]
# The newest release of a line stands for it unless slow tests are asked for.
SLOW = ("4.0",)
_numbers = itertools.count()


def parameters(forms: list[tuple[str, str]]) -> list[Any]:
    """Return forms as parameters of tests; those on older releases of a line are slow tests.

    The tests on one release share a process, and with it the metastore.
    """
    slow = [pytest.mark.slow]
    return [
        pytest.param(
            form,
            marks=[pytest.mark.xdist_group(f"hive {form[0]}"), *slow * (form[0] in SLOW)],
            id=f"{form[1]}-on-{form[0]}",
        )
        for form in forms
    ]


def unused(name: str) -> str:
    """Return the name of a database that no test and no run of one has had, in this process or another."""
    return f"{name}_{os.getpid()}_{next(_numbers)}"


@frozen
class Form:
    """A namespace of one form on one release, with a catalog of its own where there are any."""

    release: str
    impl: str
    metastore: Metastore
    root: Path
    namespace: Namespace
    above: list[str]
    """The catalog, or nothing: what an identifier of a database starts with."""

    def connect(self, **more: Any) -> Namespace:
        """Connect once more, with other properties."""
        return connect(self.impl, {"uri": self.metastore.uri, "root": str(self.root), **more})

    def database(self, properties: Mapping[str, str] | None = None) -> list[str]:
        """Make a database and give its identifier."""
        identifier = [*self.above, f"d{next(_numbers)}"]
        self.namespace.create_namespace({"id": identifier, "properties": dict(properties or {})})
        return identifier

    @property
    def catalog(self) -> str | None:
        """The catalog in the records of the bare client; None where it has no field for it."""
        return (self.above or ["hive" if self.metastore.release.has_catalogs else None])[0]

    def named(self, database: str) -> str:
        """Write a database's name as the bare client takes it."""
        return f"@{self.catalog}#{database}" if self.catalog else database


@pytest.fixture(params=parameters(FORMS))
def form(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Form]:
    release, impl = request.param
    metastore = shared(release)
    root = tmp_path / "lake"
    above = [f"c{next(_numbers)}"] if impl == "hive3" else []
    with connect(impl, {"uri": metastore.uri, "root": str(root)}) as namespace:
        if above:
            namespace.create_namespace({"id": above})
        yield Form(release, impl, metastore, root, namespace, above)


@pytest.fixture
def way() -> Iterator[Proxy]:
    """A way to the oldest metastore that can be cut."""
    with Proxy(shared("2.3").port) as proxy:
        yield proxy
