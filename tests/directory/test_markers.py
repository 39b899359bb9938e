"""Files and directories that exactly one of several callers makes, on local storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lance_namespace_impls.directory import filesystem
from lance_namespace_impls.directory.filesystem import Directory


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Directory:
    """A directory in which others are always quicker: whoever looks first finds nothing."""
    found = Directory(str(tmp_path), {})
    monkeypatch.setattr(found, "kinds", lambda *paths: ["missing"] * len(paths))
    return found


def test_a_marker_is_made_once(directory: Directory, tmp_path: Path) -> None:
    assert directory.create_marker("m") is True
    (tmp_path / "m").write_text("kept")
    assert directory.create_marker("m") is False
    assert (tmp_path / "m").read_text() == "kept"
    assert directory.remove_marker("m") is True
    assert directory.remove_marker("m") is False


@pytest.mark.parametrize("files", [{"a": b"1"}, {"a": b"1", "b": b"2"}])
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
def test_a_directory_is_not_there_before_its_files(
    directory: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]
) -> None:
    """Dropped and added anew in between, it would get the files of both, and one be refused."""
    seen = []

    def opened(path: str, *given: Any, **named: Any) -> Any:
        seen.append((Path(path).name, (tmp_path / "d").exists()))
        return open(path, *given, **named)

    monkeypatch.setattr(filesystem, "open", opened, raising=False)
    assert directory.add("d", files) is True
    assert seen == [(name, False) for name in files]


def test_a_file_is_written_whole_or_not_at_all(
    directory: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.write("f", b"old")
    directory.write("f", b"new")

    def full(self: Path, content: bytes) -> Any:
        with self.open("wb") as file:
            file.write(content[:1])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        directory.write("f", b"never whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("f", b"new")]
