"""Files beside a dataset."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.tables.files import missing_beside


# The last is read as an object store is, in one listing.
@pytest.mark.parametrize("scheme", ["", "file://", "file-object-store://"])
def test_missing_files_are_those_that_are_not_there(tmp_path: Path, scheme: str) -> None:
    storage = TableStorage(location=f"{scheme}{tmp_path}", options={})
    assert missing_beside(storage, "data", []) == []
    assert missing_beside(storage, "data", ["a.lance"]) == ["a.lance"]
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.lance").touch()
    (folder / "b.lance").touch()
    assert missing_beside(storage, "data", ["a.lance", "b.lance"]) == []
    assert missing_beside(storage, "data", ["a.lance", "c.lance", "b.lance"]) == ["c.lance"]
