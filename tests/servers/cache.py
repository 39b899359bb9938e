"""A cache for downloads outside the source tree, shared by all runs on a machine."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["cache_folder", "fetching"]


def cache_folder() -> Path:
    """Return the folder for downloads: ``$LANCE_NS_TEST_CACHE``, or one in the user's cache."""
    chosen = os.environ.get("LANCE_NS_TEST_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "lance-namespace-kit"


@contextmanager
def fetching(target: Path) -> Iterator[Path | None]:
    """Yield an empty folder, which is renamed to `target` at the end; None if `target` exists."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{target}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            yield None
            return
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            filled = Path(folder, target.name)
            filled.mkdir()
            yield filled
            filled.rename(target)
