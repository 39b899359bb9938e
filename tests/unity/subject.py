"""Unity Catalog as the behaviour suite sees it."""

from __future__ import annotations

import shutil
import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve
from hypothesis import strategies as st

from lance_namespace_impls.core.location import default_location
from lance_namespace_impls.unity import UnityNamespace
from tests.behaviour.subject import NAMES as ANY_NAMES
from tests.behaviour.subject import Identifier, Subject
from tests.servers.unity import UnityDouble, UnityServer

__all__ = ["NAMES", "REFUSED_NAMES", "unity_server_subject", "unity_subject"]

NAMES = st.sampled_from(("a", "b", "flights", "Planes", "0", "-", "a@b", "null", "list")) | st.text(
    string.ascii_letters + string.digits + "_-@", min_size=1, max_size=6
)
REFUSED_NAMES = st.sampled_from(
    ("a b", "a.b", "a/b", "50%", "a+b", "a$b", "ünï", "a\x1fb", "%2F", "n" * 256)
)


@contextmanager
def unity_subject(folder: Path) -> Iterator[Subject]:
    """One catalog, ``main``."""
    with UnityDouble() as server:
        yield _subject(server, folder)


class WithoutCascade(UnityNamespace):
    """For the server that takes no notice of ``force`` and leaves the tables behind."""

    capabilities = evolve(UnityNamespace.capabilities, cascade=False)


@contextmanager
def unity_server_subject(folder: Path) -> Iterator[Subject]:
    """The server written by others, which takes every name and looks at storage locations."""
    with UnityServer(folder=folder) as server:
        root = server.root

        def reset() -> Mapping[Identifier, Mapping[str, str]]:
            shutil.rmtree(root, ignore_errors=True)
            server.clear()
            return {("main",): {"kind": "demo"}}

        def add_table(identifier: Identifier) -> str:
            location = default_location(str(root), ("past", *identifier))
            _post_table(server, identifier, location, {"table_type": "LANCE"})
            return location

        def add_other_table(identifier: Identifier) -> None:
            _post_table(server, identifier, default_location(str(root), ("past", *identifier)), {})

        properties = {"endpoint": server.uri, "catalog": "main", "root": str(root)}
        yield Subject(
            name="unity-server",
            connect=lambda: WithoutCascade.from_properties(properties),
            reset=reset,
            capabilities=WithoutCascade.capabilities,
            location=lambda identifier, properties: default_location(str(root), identifier),
            elsewhere=lambda name: str(root / "elsewhere" / name),
            shared_locations=False,
            # Names that differ in case alone are one.
            names=ANY_NAMES.filter(lambda name: "." not in name).map(str.lower),
            refused_names=st.sampled_from(("a.b", "x.y.z", ".a")),
            shown_table_properties=_shown,
            add_table=add_table,
            add_other_table=add_other_table,
        )


def _post_table(
    server: UnityServer, identifier: Identifier, location: str, properties: Mapping[str, str]
) -> None:
    server.post(
        "tables",
        **dict(zip(("catalog_name", "schema_name", "name"), identifier, strict=True)),
        table_type="EXTERNAL",
        data_source_format="TEXT",
        storage_location=Path(location).as_uri(),
        properties=dict(properties),
    )


def _shown(identifier: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
    return {key: value for key, value in properties.items() if key != "table_type"}


def _subject(server: UnityDouble, folder: Path) -> Subject:
    root = folder / "lake"

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        shutil.rmtree(root, ignore_errors=True)
        server.clear()
        server.objects[("main",)] = {"properties": {"kind": "demo"}}
        return {("main",): {"kind": "demo"}}

    def add_table(identifier: Identifier) -> str:
        location = f"{root}/past/{'/'.join(identifier)}"
        server.add_table(identifier, storage_location=location, properties={"table_type": "LANCE"})
        return location

    properties = {"endpoint": server.uri, "catalog": "main", "root": str(root)}
    return Subject(
        name="unity",
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
