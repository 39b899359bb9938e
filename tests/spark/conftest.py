"""The shared Spark session, and a directory namespace for each test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import hatch_build
from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.distributed import write_plan
from lance_namespace_impls.distributed.target import Target
from lance_namespace_impls.spark import has_pushdown, local_session, protocol_error_in


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    hatch_build.compile_jar(Path(hatch_build.__file__).parent)
    preloaded = str(Path(__file__).with_name("preloaded"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", preloaded, prepend=os.pathsep)
        session = local_session("tests", cores=2, settings={"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()


@pytest.fixture
def pushing(spark: Any) -> None:
    """Skip a test that needs the jar, if there is no JDK to compile it."""
    if not has_pushdown(spark):
        assert "LANCE_NS_REQUIRE_SERVERS" not in os.environ, "there is no JDK"
        pytest.skip("there is no JDK")


class Lake:
    """A directory namespace, and its tables through Spark and through pylance."""

    def __init__(self, root: Path, spark: Any = None) -> None:
        self.root = root
        self.properties = {"path": str(root)}
        self._spark = spark

    @cached_property
    def namespace(self) -> Namespace:
        """The connection shared within one test."""
        return connect("dir", self.properties)

    def target(self, table: str = "t") -> Target:
        """Return the table as a write target with its own connection."""
        return Target(namespace=connect("dir", self.properties), table=(table,))

    def path(self, table: str) -> str:
        return str(self.root / f"{table}.lance")

    def dataset(self, table: str) -> Any:
        return lance.dataset(self.path(table))

    def put(self, table: str, rows: pa.Table, **options: Any) -> Any:
        return lance.write_dataset(rows, self.path(table), **options)

    def data_files(self, table: str) -> set[str]:
        return {file.name for file in Path(self.path(table), "data").glob("*")}

    def used_files(self, table: str = "t") -> set[str]:
        """Return the data files of the latest version."""
        fragments = self.dataset(table).get_fragments()
        return {file.path for fragment in fragments for file in fragment.data_files()}

    def notes(self, table: str = "t") -> list[Path]:
        """Return the folders in which unfinished writes record their files."""
        return list(Path(self.path(table), "_transactions").glob("*/"))

    def values(self, column: str = "id", table: str = "t") -> list[Any]:
        return sorted(self.dataset(table).to_table()[column].to_pylist())

    def load(self, table: str, **options: str) -> Any:
        reader = self._spark.read.format("lance_namespace")
        return reader.options(impl="dir", root=str(self.root), **options).load(table)

    def save(self, frame: Any, table: str, mode: str = "append", **options: str) -> None:
        writer = frame.write.format("lance_namespace").mode(mode)
        writer.options(impl="dir", root=str(self.root), **options).save(table)


@pytest.fixture
def lake(tmp_path: Path, spark: Any) -> Lake:
    return Lake(tmp_path / "lake", spark)


@pytest.fixture
def quiet_lake(tmp_path: Path) -> Lake:
    """Return a lake without a Spark session."""
    return Lake(tmp_path / "lake")


@pytest.fixture
def before_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that runs an action immediately before each commit of a write plan."""
    functions = {name: getattr(write_plan, name) for name in ("commit", "_commit_on_top")}

    def let(act: Callable[[], object], name: str = "commit") -> None:
        def late(*args: Any, **more: Any) -> Any:
            act()
            return functions[name](*args, **more)

        monkeypatch.setattr(write_plan, name, late)

    return let


def failure_of(act: Callable[[], object]) -> LanceNamespaceError:
    """Return the protocol error that Spark fails with."""
    with pytest.raises(Exception) as caught:
        act()
    found = protocol_error_in(caught.value)
    assert found is not None, f"no protocol error in: {caught.value}"
    assert f"(code {int(found.code)})" in str(caught.value)
    return found
