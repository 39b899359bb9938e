"""Python packages of clients, in folders of their own under the cache, fetched once a machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path

from tests.servers.maven import cache_folder

__all__ = ["packages"]

TIMEOUT = 900


@cache
def packages(*wanted: str) -> Path:
    """Return a folder with packages of those versions, and what they need, for ``PYTHONPATH``."""
    folder = cache_folder() / "python" / "+".join(wanted)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        flock(lock, LOCK_EX)
        if not folder.exists():
            made = Path(f"{folder}.new")
            _install(made, wanted)
            made.rename(folder)
    return folder


def _install(folder: Path, wanted: Sequence[str]) -> None:
    """Install with uv, or with pip where there is none."""
    said = ""
    for command in (
        ["uv", "pip", "install", "--python", sys.executable],
        [sys.executable, "-m", "pip", "install"],
    ):
        try:
            done = subprocess.run(
                [*command, "--quiet", "--target", str(folder), *wanted],
                timeout=TIMEOUT,
                check=False,
                capture_output=True,
                text=True,
            )
        except FileNotFoundError:
            continue
        if done.returncode == 0:
            return
        said = done.stderr[-2000:]
    raise RuntimeError(f"{', '.join(wanted)} cannot be installed: {said}")
