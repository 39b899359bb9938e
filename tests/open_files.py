"""List the open files of this process, on Linux."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["open_files"]


def open_files(folder: Path) -> list[Path]:
    """Return this process's open files that are the folder itself or inside it."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed concurrently
            found.append(handle.readlink())
    return [path for path in found if path.is_relative_to(folder.resolve())]
