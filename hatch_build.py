"""Compiles the JVM classes of the Spark data source, as a build hook for wheels or as a script.

Compilation needs a JDK and PySpark's jars. Without them, the wheel contains no jar, and Spark reads
entire tables through the Python data source. Release builds set ``LANCE_NS_REQUIRE_JAR``, which
makes that an error.
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
# The classes are compiled against this release and use only APIs that all supported releases have.
PYSPARK_LINE = "4.3."
JAVA_RELEASE = 17
_MOMENT = (1980, 1, 1, 0, 0, 0)


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the jar to wheels and to editable installs of a checkout."""

    def dependencies(self) -> list[str]:
        """Return the requirements that an isolated build installs."""
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
    """Compile the jar unless it is current; return None, or the reason why it cannot be compiled."""
    sources = sorted((root / SOURCES).glob("*.java"))
    services = sorted((root / SOURCES).glob("META-INF/services/*"))
    jar = root / JAR
    inputs = [*sources, *services, Path(__file__)]
    if jar.exists() and jar.stat().st_mtime >= max(each.stat().st_mtime for each in inputs):
        return None
    javac = _javac()
    if javac is None:
        return "javac was found neither on PATH nor in JAVA_HOME"
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return "PySpark is not installed"
    if not metadata.version("pyspark").startswith(PYSPARK_LINE):
        return f"PySpark {metadata.version('pyspark')} is installed, but {PYSPARK_LINE} is required"
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
    """Add a file with a fixed timestamp, for reproducible jars."""
    info = zipfile.ZipInfo(name, _MOMENT)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, path.read_bytes())


def _javac() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return (shutil.which("javac", path=f"{home}/bin") if home else None) or shutil.which("javac")


if __name__ == "__main__":
    if cause := compile_jar(Path(__file__).parent):
        raise SystemExit(f"{JAR} cannot be compiled: {cause}")
