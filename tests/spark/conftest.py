"""One Spark session for all tests here, and tables in a directory of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.spark import local_session, protocol_error_in


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    preloaded = str(Path(__file__).with_name("preloaded"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", preloaded, prepend=os.pathsep)
        session = local_session("tests", cores=2, settings={"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()


class Lake:
    """A directory namespace, and its tables through Spark and through pylance."""

    def __init__(self, root: Path, spark: Any = None) -> None:
        self.root = root
        self.properties = {"path": str(root)}
        self._spark = spark

    def path(self, table: str) -> str:
        return str(self.root / f"{table}.lance")

    def dataset(self, table: str) -> Any:
        return lance.dataset(self.path(table))

    def put(self, table: str, rows: pa.Table, **options: Any) -> Any:
        return lance.write_dataset(rows, self.path(table), **options)

    def data_files(self, table: str) -> set[str]:
        return {file.name for file in Path(self.path(table), "data").glob("*")}

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
    """The same, for tests that do without Spark."""
    return Lake(tmp_path / "lake")


def failure_of(act: Callable[[], object]) -> LanceNamespaceError:
    """Return the protocol error that Spark fails with."""
    with pytest.raises(Exception) as caught:
        act()
    found = protocol_error_in(caught.value)
    assert found is not None, f"no protocol error in: {caught.value}"
    assert f"(code {int(found.code)})" in str(caught.value)
    return found
