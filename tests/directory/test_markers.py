"""Files and directories are created once: on local storage, exactly one of several callers wins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lance_namespace_impls.directory import filesystem
from lance_namespace_impls.directory.filesystem import Directory

from .test_filesystem import opened


@pytest.fixture
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Directory:
    """A directory in which every check for a path finds nothing, as if others were faster."""
    found = opened(tmp_path, "local")
    monkeypatch.setattr(found, "kinds", lambda *paths: ["missing"] * len(paths))
    return found


@pytest.fixture(params=["local", "store"])
def directory(request: pytest.FixtureRequest, tmp_path: Path, on_disk: Directory) -> Directory:
    """Such a directory, or an object store, on which a check is the only possibility."""
    return on_disk if request.param == "local" else opened(tmp_path, "store")


def test_a_marker_is_created_once(directory: Directory, tmp_path: Path) -> None:
    assert directory.create_marker("m") is True
    (tmp_path / "m").write_text("kept")
    assert directory.create_marker("m") is False
    assert (tmp_path / "m").read_text() == "kept"
    assert directory.remove_marker("m") is True
    assert directory.remove_marker("m") is False


@pytest.mark.parametrize("files", [{"a": b"1"}, {"a": b"1", "b": b""}])
def test_a_directory_is_added_once(
    directory: Directory, tmp_path: Path, files: dict[str, bytes]
) -> None:
    def there() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (tmp_path / "d").iterdir()}

    assert directory.add("d", files) is True
    assert there() == files
    assert directory.add("d", dict.fromkeys(files, b"others")) is False
    assert there() == files
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize("files", [{"a": b"1"}, {"a": b"1", "b": b"2"}])
def test_a_directory_does_not_exist_before_its_files(
    on_disk: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]
) -> None:
    """If it were dropped and added again in between, it would contain the files of both callers."""
    seen = []

    def watched(path: str, *given: Any, **named: Any) -> Any:
        seen.append((Path(path).name, (tmp_path / "d").exists()))
        return open(path, *given, **named)

    monkeypatch.setattr(filesystem, "open", watched, raising=False)
    assert on_disk.add("d", files) is True
    assert seen == [(name, False) for name in files]


def test_a_file_is_written_completely_or_not_at_all(
    on_disk: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk.write("f", b"old")
    on_disk.write("f", b"new")

    def full(self: Path, content: bytes) -> Any:
        with self.open("wb") as file:
            file.write(content[:1])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        on_disk.write("f", b"never whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("f", b"new")]
