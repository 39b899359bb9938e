"""A dataset on a local disk or in an S3 stand-in, and helpers that interrupt a drop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest

from tests.behaviour.memory import MemoryConfig, MemoryNamespace, Mixed
from tests.servers.s3 import GuardedS3

ROWS = pa.table({"x": list(range(10))})
UNFINISHED = f"{'01' * 12}{'0a' * 13}.lance"
"""A data file with a name in Lance's format."""
T = {"id": ["ns", "t"]}


class Killed(BaseException):
    """Ends a call as if its process had been killed at this point."""


@attrs.frozen
class Lake:
    """A storage root, on a local disk or in the bucket, and a way to list its files."""

    root: str
    storage: dict[str, str]
    names: Callable[[], set[str]]
    """Returns the paths of all files below the root."""

    def connect(self, cls: type[MemoryNamespace] = Mixed) -> MemoryNamespace:
        return cls(MemoryConfig(root=self.root, storage=self.storage))


@pytest.fixture(params=["local", "s3"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    if request.param == "local":
        local = tmp_path / "lake"
        return Lake(str(local), {}, lambda: files_below(local))
    s3: GuardedS3 = request.getfixturevalue("s3")
    root = f"s3://{s3.bucket}/some lake/{tmp_path.name}"
    return Lake(root, s3.options(), lambda: {key.split("/", 2)[2] for key in s3.objects()})


def files_below(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def ns(lake: Lake) -> Iterator[MemoryNamespace]:
    with lake.connect() as found:
        found.create_namespace({"id": ["ns"]})
        found.create_table(T, ROWS)
        yield found


def put_file(lake: Lake, folder: str, name: str, content: str) -> None:
    from tempfile import TemporaryDirectory

    from lance.file import LanceFileSession

    with TemporaryDirectory() as temporary:
        Path(temporary, name).write_text(content)
        session = LanceFileSession(folder, storage_options=lake.storage)
        session.upload_file(Path(temporary, name), name)


def killed(
    monkeypatch: pytest.MonkeyPatch, namespace: MemoryNamespace, owner: type, name: str
) -> None:
    """Start to drop the table, and raise `Killed` when a method is called."""

    def die(*args: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, die)
        with pytest.raises(Killed):
            namespace.drop_table(T)
