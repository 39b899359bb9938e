"""The backends that the suite runs on.

To add a backend, write a context manager that starts the backend and yields its `Subject`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest
from attrs import evolve
from hypothesis import strategies as st

from lance_namespace_impls import connect
from lance_namespace_impls.core.location import default_location
from lance_namespace_impls.directory import DirectoryNamespace

from ..iceberg.subject import iceberg_subject, nessie_subject, polaris_subject
from ..polaris.subject import polaris_server_subject, polaris_tables_subject
from ..schedule import on_server
from ..sql.subject import postgresql, postgresql_managed, sqlite, sqlite_managed
from ..unity.subject import unity_server_subject, unity_subject
from .memory import LEVELS, MemoryConfig, MemoryNamespace, catalog
from .subject import NAMES, STORAGE_OPTIONS, Identifier, Subject

__all__ = ["SUBJECTS", "Backend", "Entry", "parameters"]

Backend: TypeAlias = Callable[[Path], AbstractContextManager[Subject]]


class Entry(NamedTuple):
    """A backend that the suite runs on."""

    start: Backend
    """Starts the backend in an empty folder."""
    runs: int
    """The number of random runs; fewer for slow backends."""
    needs: str | None
    """The server that the backend needs and that no package registry provides, or None."""


SUBJECTS: dict[str, Entry] = {}


def backend(name: str, runs: int, *, needs: str | None = None) -> Callable[[Backend], Backend]:
    """Return a decorator that adds a backend to the suite."""

    def add(start: Backend) -> Backend:
        SUBJECTS[name] = Entry(start, runs, needs)
        return start

    return add


def parameters(names: Iterable[str] | None = None) -> list[Any]:
    """Return test parameters for the named backends, by default for all of `SUBJECTS`."""
    return [
        on_server(name, pytest.mark.real(SUBJECTS[name].needs))
        if name in SUBJECTS and SUBJECTS[name].needs
        else on_server(name)
        for name in (SUBJECTS if names is None else names)
    ]


# --- a directory

NO_DIRECTORY_NAMES = (
    ".", "..", "../up", "a/b", "/etc", "nul\0", ".hidden", "_hidden", "t.lance", "n" * 256, "a\nb",
)  # fmt: skip
"""Names that escape the directory, are hidden, or cannot name a table."""


def directory_subject(
    root: Path, namespace: type[DirectoryNamespace] = DirectoryNamespace
) -> Subject:
    """Return the test subject for a directory; mutants pass another namespace class."""

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        shutil.rmtree(root, ignore_errors=True)
        return {}

    def moved(location: str, identifier: Identifier) -> str:
        suffix = ".lance" if location.endswith(".lance") else ""
        own = root / f"{identifier[-1]}{suffix}"
        if not (own / ".lance-deregistered").exists():
            return str(own)
        (beside,) = [
            folder
            for folder in root.iterdir()
            if re.fullmatch(rf"{re.escape(identifier[-1])}-[0-9a-f]{{8}}\.lance", folder.name)
            and not (folder / ".lance-deregistered").exists()
        ]
        return str(beside)

    def add_table(identifier: Identifier) -> str:
        (root / identifier[-1]).mkdir(parents=True)
        return f"{root}/{identifier[-1]}"

    return Subject(
        name="dir",
        connect=lambda: namespace.from_properties({"path": str(root)}),
        reset=reset,
        capabilities=namespace.capabilities,
        location=lambda identifier, properties: f"{root}/{identifier[-1]}.lance",
        moved=moved,
        refused_names=st.sampled_from(NO_DIRECTORY_NAMES),
        add_table=add_table,
    )


@backend("dir", runs=150)
@contextmanager
def directory(folder: Path) -> Iterator[Subject]:
    """A local directory."""
    yield directory_subject(folder / "tables")


def manifest_subject(root: Path) -> Subject:
    """Return the test subject for a directory whose manifest alone defines its contents."""

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        shutil.rmtree(root, ignore_errors=True)
        return {}

    return Subject(
        name="dir with a manifest",
        connect=lambda: DirectoryNamespace.from_properties(
            {"root": str(root), "manifest": "true", "dir_listing_enabled": "false"}
        ),
        reset=reset,
        # The locations of tables do not follow from their names.
        capabilities=evolve(DirectoryNamespace.with_manifest, storage_only=False),
        location=lambda identifier, properties: None,
        registers=True,
        elsewhere=lambda name: f"{root}/elsewhere/{name}",
        deepest=3,
        names=NAMES.filter(lambda name: "$" not in name),
        refused_names=st.sampled_from((*NO_DIRECTORY_NAMES, "a$b")),
    )


@backend("dir-manifest", runs=30)
@contextmanager
def directory_with_manifest(folder: Path) -> Iterator[Subject]:
    """A local directory whose manifest alone defines its contents."""
    yield manifest_subject(folder / "tables")


# --- catalogs with levels, in memory


def memory_subject(root: Path, namespace: type[MemoryNamespace]) -> Subject:
    """Return the test subject for an in-memory catalog."""
    given: dict[Identifier, dict[str, str]] = {}
    if namespace.capabilities.configured_depth:
        given = {("main",): {"kind": "given"}}

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        shutil.rmtree(root, ignore_errors=True)
        held = catalog(str(root))
        held.namespaces.clear()
        held.tables.clear()
        held.namespaces |= {
            identifier: dict(properties) for identifier, properties in given.items()
        }
        return given

    def add_other_table(identifier: Identifier) -> None:
        catalog(str(root)).tables[identifier] = None

    return Subject(
        name=namespace.__name__,
        connect=lambda: namespace(MemoryConfig(root=str(root))),
        reset=reset,
        capabilities=namespace.capabilities,
        location=lambda identifier, properties: default_location(str(root), identifier),
        elsewhere=lambda name: str(root / "elsewhere" / name),
        deepest=3
        if namespace.capabilities.namespace_depth is None
        else namespace.capabilities.namespace_depth,
        add_other_table=add_other_table,
    )


def _add_memory(name: str, namespace: type[MemoryNamespace]) -> None:
    @contextmanager
    def start(folder: Path) -> Iterator[Subject]:
        yield memory_subject(folder / "tables", namespace)

    backend(name, runs=60)(start)


for _name, _namespace in LEVELS.items():
    _add_memory(f"memory-{_name}", _namespace)


# --- a server of this project in front of a catalog


@contextmanager
def served(behind: Subject) -> Iterator[Subject]:
    """Run this project's server in front of a backend, and yield its subject through the client.

    The server lets callers set the suite's storage options, and returns them.
    """
    from lance_namespace_impls.server import Reach, ServerOptions, serving

    options = ServerOptions(vend_storage_options=True, reach=Reach(storage_options=STORAGE_OPTIONS))
    with behind.connect() as namespace, serving(namespace, options) as address:
        yield evolve(
            behind,
            name=f"rest to {behind.name}",
            connect=lambda: connect("rest", {"uri": address}),
            names=behind.names.filter(lambda name: "$" not in name),
            cuts_streams=False,
        )


@backend("rest", runs=60)
@contextmanager
def rest_before_directory(folder: Path) -> Iterator[Subject]:
    """A server in front of a local directory."""
    with served(directory_subject(folder / "tables")) as subject:
        yield subject


@backend("rest-levels", runs=40)
@contextmanager
def rest_before_levels(folder: Path) -> Iterator[Subject]:
    """A server in front of a catalog with namespaces."""
    with served(memory_subject(folder / "tables", LEVELS["mixed"])) as subject:
        yield subject


# --- catalogs in a database, and behind HTTP

backend("sql-sqlite", runs=40)(sqlite)
backend("sql-sqlite-managed", runs=40)(sqlite_managed)
backend("sql-postgresql", runs=30)(postgresql)
backend("sql-postgresql-managed", runs=20)(postgresql_managed)
backend("unity", runs=60)(unity_subject)
backend("unity-server", runs=40, needs="unity")(unity_server_subject)
backend("iceberg", runs=30)(iceberg_subject)
backend("nessie", runs=8)(nessie_subject)
backend("polaris", runs=6, needs="polaris")(polaris_subject)
backend("polaris-tables", runs=20)(polaris_tables_subject)
backend("polaris-tables-server", runs=10, needs="polaris")(polaris_server_subject)
