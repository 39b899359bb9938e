"""Unity Catalog subjects for the behavior suite."""

from __future__ import annotations

import shutil
import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

from lance_namespace_impls.core.location import default_location
from lance_namespace_impls.unity import UnityNamespace
from tests.behaviour.subject import Identifier, Subject
from tests.servers.unity import UnityDouble
from tests.servers.unity_real import UnityServer

__all__ = ["NAMES", "REFUSED_NAMES", "unity_server_subject", "unity_subject"]

NAMES = st.sampled_from(("a", "b", "flights", "Planes", "0", "-", "a@b", "null", "list")) | st.text(
    string.ascii_letters + string.digits + "_-@", min_size=1, max_size=6
)
REFUSED_NAMES = st.sampled_from(
    ("a b", "a.b", "a/b", "50%", "a+b", "a$b", "ünï", "a\x1fb", "%2F", "n" * 256)
)


@contextmanager
def unity_subject(folder: Path) -> Iterator[Subject]:
    """Yield a subject on the double, with one catalog, ``main``."""
    with UnityDouble() as server:
        yield _subject(server, "unity", folder)


@contextmanager
def unity_server_subject(folder: Path) -> Iterator[Subject]:
    """Yield a subject on the real server, whose responses the double must match."""
    with UnityServer() as server:
        yield _subject(server, "unity-server", folder)
        assert not server.differences, "\n".join(server.differences[:5])


def _shown(identifier: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
    return {key: value for key, value in properties.items() if key != "table_type"}


def _subject(server: UnityDouble | UnityServer, name: str, folder: Path) -> Subject:
    root = folder / "lake"

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        shutil.rmtree(root, ignore_errors=True)
        server.clear()
        server.add_catalog("main", {"kind": "demo"})
        return {("main",): {"kind": "demo"}}

    def add_table(identifier: Identifier) -> str:
        location = f"{root}/past/{'/'.join(identifier)}"
        server.add_table(
            identifier, properties={"table_type": "LANCE"}, storage_location=Path(location).as_uri()
        )
        return location

    properties = {"endpoint": server.uri, "catalog": "main", "root": str(root)}
    return Subject(
        name=name,
        connect=lambda: UnityNamespace.from_properties(properties),
        reset=reset,
        capabilities=UnityNamespace.capabilities,
        location=lambda identifier, properties: default_location(str(root), identifier),
        elsewhere=lambda name: str(root / "elsewhere" / name),
        names=NAMES,
        refused_names=REFUSED_NAMES,
        shown_table_properties=_shown,
        add_table=add_table,
        add_other_table=lambda identifier: server.add_table(
            identifier, "MANAGED", properties={"table_type": "lance"}
        ),
    )
