"""Programs that Go builds once per machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .cache import cache_folder, fetching

__all__ = ["built", "program"]

BUILD_SECONDS = 3600


def program(package: str, version: str) -> Path:
    """Return the path of a package's program, which may not have been built."""
    name = package.rpartition("/")[2]
    return cache_folder() / name / version / name


def built(package: str, version: str) -> Path:
    """Return the program; Go first downloads and compiles it if necessary, for several minutes."""
    path = program(package, version)
    with fetching(path.parent) as folder:
        if folder is not None:
            done = subprocess.run(
                ["go", "install", f"{package}@{version}"],
                env={**os.environ, "GOBIN": str(folder)},
                capture_output=True,
                text=True,
                timeout=BUILD_SECONDS,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"Go does not build {package}:\n{done.stderr[-2000:]}")
    return path
