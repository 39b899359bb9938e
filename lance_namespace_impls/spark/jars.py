"""Downloads lance-spark by its Maven coordinates, with the copy of Ivy in PySpark."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from filelock import FileLock

from lance_namespace_client.errors import InvalidInputError, ServiceUnavailableError

from ..core.errors import first_line
from .java import use_java

__all__ = ["LANCE_SPARK", "lance_spark_jars"]

# Available coordinates, by release line of Spark.
LANCE_SPARK = {"3.5": "org.lance:lance-spark-3.5_2.12:0.4.0"}
# Spark already contains these.
_NEVER = ("org.apache.spark", "org.scala-lang")
_FETCH_SECONDS = 900


def lance_spark_jars(coordinates: str | None = None) -> list[Path]:
    """Return the jars of lance-spark and its dependencies, downloaded once per machine.

    They are stored in the folder ``lance-namespace-kit/lance-spark`` of the user's cache.

    Args:
        coordinates: ``group:artifact:version``; defaults to those for the installed PySpark.

    Returns:
        the jars, sorted by name.

    Raises:
        InvalidInputError: code 13, there is no lance-spark for this PySpark, or the coordinates do
            not have that form.
        ServiceUnavailableError: code 17, the jars cannot be downloaded.
    """
    chosen = coordinates or _default_coordinates()
    parts = chosen.split(":")
    if len(parts) != 3 or not all(parts):
        raise InvalidInputError(
            f"{chosen!r} is not of the form group:artifact:version, which Maven coordinates must "
            "have"
        )
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    target = Path(base) / "lance-namespace-kit" / "lance-spark" / "-".join(parts[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=target.parent) as folder:
                _fetch(parts, Path(folder))
                (Path(folder) / "jars").rename(target)
    return sorted(target.glob("*.jar"))


def _default_coordinates() -> str:
    import pyspark

    line = ".".join(pyspark.__version__.split(".")[:2])
    if line not in LANCE_SPARK:
        raise InvalidInputError(
            f"there is no lance-spark artifact for PySpark {pyspark.__version__}, only for "
            f"{', '.join(LANCE_SPARK)}: install one of these versions, or pass jars"
        )
    return LANCE_SPARK[line]


def _fetch(parts: Sequence[str], folder: Path) -> None:
    import pyspark

    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"), None)
    if ivy is None:
        raise InvalidInputError(
            "this PySpark does not include Ivy, which downloads lance-spark; pass jars"
        )
    organisation, name, revision = map(quoteattr, parts)
    left_out = "".join(f'<exclude org="{each}"/>' for each in _NEVER)
    description = folder / "ivy.xml"
    description.write_text(
        '<ivy-module version="2.0"><info organisation="session" module="jars"/><dependencies>'
        f'<dependency org={organisation} name={name} rev={revision} conf="*->default"/>'
        f"{left_out}</dependencies></ivy-module>"
    )
    command = [
        *(str(use_java() / "bin" / "java"), "-jar", str(ivy), "-ivy", str(description)),
        *("-cache", str(folder / "cache"), "-types", "jar", "bundle"),
        *("-retrieve", f"{folder}/jars/[artifact]-[revision](-[classifier]).[ext]"),
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_FETCH_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ServiceUnavailableError(
            f"{':'.join(parts)} was not downloaded in time; try again, or pass jars"
        ) from error
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "::" in line]
        raise ServiceUnavailableError(
            f"{':'.join(parts)} cannot be fetched: {first_line(RuntimeError(' '.join(lines)[:300]))}"
        )
