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
from tests.servers.hive import KERBERIZED, RELEASES, Metastore, shared
from tests.servers.kerberos import PROGRAMS
from tests.servers.proxy import Proxy

__all__ = ["FORMS", "SECURE_FORMS", "Form", "parameters", "unused"]

FORMS = [
    (release, impl)
    for release, each in RELEASES.items()
    for impl in (["hive2", "hive3"] if each.has_catalogs else ["hive2"])
]
# Servers that require Kerberos; one form is enough for CI.
SECURE_FORMS = [(f"2.3{KERBERIZED}", "hive2"), (f"3.1{KERBERIZED}", "hive3")]
FORMS += SECURE_FORMS
# By default only the newest release of a line is tested; tests on older ones are slow tests.
SLOW = ("4.0", SECURE_FORMS[0][0])
_numbers = itertools.count()


def parameters(forms: list[tuple[str, str]]) -> list[Any]:
    """Return forms as test parameters; those on older releases of a line and those with
    Kerberos are slow tests.

    The tests on one release run in one process and share its metastore.
    """
    slow = [pytest.mark.slow]
    return [
        pytest.param(
            form,
            marks=[
                pytest.mark.xdist_group(f"hive {form[0]}"),
                *slow * (form[0] in SLOW or form in SECURE_FORMS),
                *[pytest.mark.needs(program) for program in PROGRAMS * (form in SECURE_FORMS)],
            ],
            id=f"{form[1]}-on-{form[0].replace(' ', '-')}",
        )
        for form in forms
    ]


def unused(name: str) -> str:
    """Return a database name that no other test or process uses."""
    return f"{name}_{os.getpid()}_{next(_numbers)}"


@frozen
class Form:
    """A namespace of one form on one release, with its own catalog if the form has catalogs."""

    release: str
    impl: str
    metastore: Metastore
    root: Path
    namespace: Namespace
    above: list[str]
    """The first part of a database's identifier: the catalog, or nothing."""

    def connect(self, **more: Any) -> Namespace:
        """Open another connection, with other properties."""
        return connect(self.impl, {**self.metastore.properties(self.root), **more})

    def database(self, properties: Mapping[str, str] | None = None) -> list[str]:
        """Create a database and return its identifier."""
        identifier = [*self.above, f"d{next(_numbers)}"]
        self.namespace.create_namespace({"id": identifier, "properties": dict(properties or {})})
        return identifier

    @property
    def catalog(self) -> str | None:
        """The catalog in the bare client's records; None if they have no field for it."""
        return (self.above or ["hive" if self.metastore.release.has_catalogs else None])[0]

    def named(self, database: str) -> str:
        """Return a database's name in the bare client's format."""
        return f"@{self.catalog}#{database}" if self.catalog else database


@pytest.fixture(params=parameters(FORMS))
def form(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Form]:
    release, impl = request.param
    metastore = shared(release)
    root = tmp_path / "lake"
    above = [f"c{next(_numbers)}"] if impl == "hive3" else []
    with connect(impl, metastore.properties(root)) as namespace:
        if above:
            namespace.create_namespace({"id": above})
        yield Form(release, impl, metastore, root, namespace, above)


@pytest.fixture
def way() -> Iterator[Proxy]:
    """A proxy to the oldest metastore whose connections a test can cut."""
    with Proxy(shared("2.3").port) as proxy:
        yield proxy
