"""The files that this process has open, on Linux."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["open_files"]


def open_files(folder: Path) -> list[Path]:
    """Return those of this process's open files that are a folder or below it."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.append(handle.readlink())
    return [path for path in found if path.is_relative_to(folder.resolve())]
