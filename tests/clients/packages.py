"""Python packages of clients, each in its own cache directory, downloaded once per machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.servers.cache import cache_folder, fetching

__all__ = ["packages", "run_module"]

TIMEOUT = 3600
PROJECT = Path(__file__).parents[2]


@cache
def packages(*wanted: str) -> Path:
    """Return a directory for ``PYTHONPATH`` with the packages and their dependencies."""
    target = cache_folder() / "python" / "+".join(wanted)
    with fetching(target) as folder:
        if folder is not None:
            _install(folder, wanted)
    return target


def run_module(module: str, wanted: Sequence[str], *arguments: str, given: str = "") -> Any:
    """Run a module of this package, and return the JSON in its last line of output.

    Args:
        module: its name.
        wanted: packages, with versions, that take precedence over the installed ones.
        arguments: its arguments.
        given: its standard input.
    """
    paths = [*([packages(*wanted)] if wanted else []), PROJECT, PROJECT / "generated"]
    done = subprocess.run(
        [sys.executable, "-m", f"{__package__}.{module}", *arguments],
        input=given,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def _install(folder: Path, wanted: Sequence[str]) -> None:
    """Install packages with uv, or with pip if uv is missing or fails."""
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
