"""Compiles the JVM classes of the Spark data source when a wheel is built, or as a script.

They need a JDK and PySpark's jars. Without them, the wheel lacks the jar, and Spark reads whole
tables through the Python data source. A release sets ``LANCE_NS_REQUIRE_JAR``, which makes that an
error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path("lance_namespace_impls/spark/jvm")
JAR = SOURCES / "lance-namespace-spark.jar"
REQUIRE = "LANCE_NS_REQUIRE_JAR"
# The classes are compiled with the newest release and call only what all supported ones have.
PYSPARK_LINE = "4.3."
JAVA_RELEASE = 17
_MOMENT = (1980, 1, 1, 0, 0, 0)


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the jar to wheels, and to a checkout that is installed as an editable."""

    def dependencies(self) -> list[str]:
        """Return what an isolated build has to install."""
        return [f"pyspark=={PYSPARK_LINE}*"] if _javac() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the jar and add it to the wheel."""
        missing = compile_jar(Path(self.root))
        if missing is None:
            build_data["artifacts"].append(str(JAR))
        elif os.environ.get(REQUIRE):
            raise RuntimeError(f"{JAR} cannot be compiled: {missing}")
        else:
            self.app.display_warning(f"no Spark pushdown in this wheel: {missing}")


def compile_jar(root: Path) -> str | None:
    """Compile the jar of a checkout unless it is current; return what is missing for it."""
    sources = sorted((root / SOURCES).glob("*.java"))
    services = sorted((root / SOURCES).glob("META-INF/services/*"))
    jar = root / JAR
    inputs = [*sources, *services, Path(__file__)]
    if jar.exists() and jar.stat().st_mtime >= max(each.stat().st_mtime for each in inputs):
        return None
    javac = _javac()
    if javac is None:
        return "there is no javac on the path or in JAVA_HOME"
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return "PySpark is not installed"
    if not metadata.version("pyspark").startswith(PYSPARK_LINE):
        return f"PySpark {metadata.version('pyspark')} is installed, and {PYSPARK_LINE} is needed"
    with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
        classes = Path(folder) / "classes"
        jars = Path(found.origin).parent / "jars" / "*"
        subprocess.run(
            [
                *(javac, "--release", str(JAVA_RELEASE), "-cp", str(jars)),
                *("-Xlint:all,-path,-classfile,-processing,-requires-automatic", "-Werror"),
                *("-d", str(classes), *map(str, sources)),
            ],
            check=True,
        )
        made = Path(folder) / jar.name
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(classes.rglob("*.class")):
                _add(archive, path, str(path.relative_to(classes)))
            for path in services:
                _add(archive, path, str(path.relative_to(root / SOURCES)))
        made.replace(jar)
    return None


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    """Add a file with a fixed time, so that the same sources make the same jar."""
    info = zipfile.ZipInfo(name, _MOMENT)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, path.read_bytes())


def _javac() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return (shutil.which("javac", path=f"{home}/bin") if home else None) or shutil.which("javac")


if __name__ == "__main__":
    if cause := compile_jar(Path(__file__).parent):
        raise SystemExit(f"{JAR} cannot be compiled: {cause}")
