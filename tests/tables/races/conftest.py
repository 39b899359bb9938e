"""Namespaces in which several writers create the same table concurrently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from tests.behaviour.home import make_home
from tests.behaviour.memory import MemoryConfig, Mixed
from tests.behaviour.subject import Subject
from tests.iceberg.subject import iceberg_subject
from tests.schedule import on_server
from tests.servers.s3 import GuardedS3
from tests.tables.calls import at_once

WRITERS = 6
ROUNDS = 3
SCHEMA = pa.schema([("writer", pa.int64())])


def rows_of(writer: int) -> pa.Table:
    return pa.table({"writer": [writer]})


def stream_of(rows: pa.Table) -> RowStream:
    return RowStream(rows.schema, rows.to_batches())


@attrs.frozen
class Place:
    """A namespace to create tables in, and a way to connect to it again."""

    parent: list[str]
    connect: Callable[[], Any]
    storage: Mapping[str, str] = attrs.Factory(dict)
    folder: str | None = None
    """The folder in which requests place their tables, if they specify it."""

    def request(self, name: str, **more: Any) -> dict[str, Any]:
        if self.folder is not None:
            more["context"] = {"header.x-lance-table-location": f"{self.folder}/{name}.lance"}
        return {"id": [*self.parent, name], **more}


def _in_memory(root: str, storage: Mapping[str, str]) -> Place:
    def connected() -> Mixed:
        return Mixed(MemoryConfig(root=root, storage=dict(storage)))

    with connected() as namespace:
        namespace.create_namespace({"id": ["ns"]})
    return Place(["ns"], connected, storage)


def _directory(path: str, storage: Mapping[str, str]) -> Place:
    properties = {f"storage.{key}": value for key, value in storage.items()}
    return Place([], lambda: connect("dir", {"path": path, **properties}), storage)


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    with iceberg_subject(tmp_path_factory.mktemp("iceberg")) as running:
        yield running


LISTED_FIRST = [on_server(name) for name in ("dir on S3", "memory", "memory on S3", "iceberg")]
"""Namespaces that list a table before its rows are written."""


@pytest.fixture(params=["dir", *LISTED_FIRST])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "iceberg":
        subject: Subject = request.getfixturevalue("iceberg")
        with subject.connect() as namespace:
            return Place(list(make_home(subject, namespace)), subject.connect)
    make = _in_memory if request.param.startswith("memory") else _directory
    if not request.param.endswith("S3"):
        return make(str(tmp_path / "lake"), {})
    s3: GuardedS3 = request.getfixturevalue("s3")
    return make(f"s3://{s3.bucket}/{tmp_path.name}", s3.options())


@pytest.fixture(params=["dir", "memory"])
def local(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A namespace on local storage that lists a table before its rows are written."""
    root = str(tmp_path / "lake")
    if request.param == "memory":
        return _in_memory(root, {})
    return attrs.evolve(_directory(root, {}), folder=root)


def create_concurrently(namespace: Any, request: dict[str, Any]) -> list[Any]:
    """Let all writers create the table concurrently, each with its own rows."""
    return at_once(
        [partial(namespace.create_table, request, rows_of(writer)) for writer in range(WRITERS)]
    )


def winner_of(outcomes: list[Any]) -> int:
    """Return the number of the only writer that succeeded."""
    winners = [n for n, each in enumerate(outcomes) if not isinstance(each, Exception)]
    assert len(winners) == 1, outcomes
    return winners[0]


def failures_of(outcomes: list[Any]) -> list[LanceNamespaceError]:
    return [each for each in outcomes if isinstance(each, LanceNamespaceError)]
