"""The user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path | None:
    """Return a folder of this user that outlives the process, or None if there is no such
    folder.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(base) if base else Path.home() / ".cache") / "lance-namespace-kit"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None  # there is no home directory, or it is read-only
    return folder if os.access(folder, os.W_OK | os.X_OK) else None
