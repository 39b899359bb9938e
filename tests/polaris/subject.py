"""Subjects of the behavior suite for generic tables of Apache Polaris."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from hypothesis import strategies as st

from lance_namespace_impls.polaris import PolarisNamespace
from tests.behaviour.subject import NAMES, Identifier, Subject
from tests.servers.polaris_tables import CATALOG, PolarisServer, PolarisTables

__all__ = ["Polaris", "polaris_server_subject", "polaris_tables_subject", "properties_for"]

Polaris: TypeAlias = PolarisTables | PolarisServer


def properties_for(server: Polaris, **more: str) -> dict[str, str]:
    """Return the properties of a connection to a server."""
    given = server.credentials if isinstance(server, PolarisServer) else {}
    return {"endpoint": server.uri, "warehouse": CATALOG, **given, **more}


@contextmanager
def polaris_tables_subject(folder: Path) -> Iterator[Subject]:
    """Yield a subject on the double."""
    with PolarisTables((folder / CATALOG).as_uri()) as server:
        yield _subject(server, "polaris-tables", folder)


@contextmanager
def polaris_server_subject(folder: Path) -> Iterator[Subject]:
    """Yield a subject on the real server, whose responses the double must match."""
    with PolarisServer() as server:
        yield _subject(server, "polaris-tables-server", folder)
        assert not server.differences, "\n".join(server.differences[:5])


def _shown(identifier: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
    return {key: value for key, value in properties.items() if key != "location"}


def _subject(server: Polaris, name: str, folder: Path) -> Subject:
    properties = properties_for(server, root=str(folder / "unused"))
    lake = server.location.removeprefix("file://")
    elsewhere = folder / "elsewhere"

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        server.clear()
        for each in (lake, elsewhere):
            shutil.rmtree(each, ignore_errors=True)
        return {(CATALOG,): {}}

    def add(identifier: Identifier, format: str) -> str:
        location = f"{lake}/past/{quote(identifier[-1], safe='')}"
        with PolarisNamespace.from_properties(properties) as catalog:
            path = catalog.tables_path(*catalog.warehouse(identifier[:-1]))
            body = {"name": identifier[-1], "format": format, "base-location": location}
            catalog.api.post(path, body)
        return location

    return Subject(
        name=name,
        connect=lambda: PolarisNamespace.from_properties(properties),
        reset=reset,
        capabilities=PolarisNamespace.capabilities,
        # Below the namespace's own location, a URI that contains the names unchanged.
        location=lambda identifier, properties: "/".join((lake, *identifier[1:])),
        elsewhere=lambda name: str(elsewhere / name),
        # The server copies the names of namespaces into locations, which must be URIs.
        names=NAMES.filter(
            lambda name: (
                not set(name) & set('"#%+<>?[\\]^`{|}') and not any(each.isspace() for each in name)
            )
        ),
        refused_names=st.sampled_from((".", "..")),
        shown_namespace_properties=_shown,
        add_table=lambda identifier: add(identifier, "LANCE"),
        add_other_table=lambda identifier: add(identifier, "csv") and None,
    )
