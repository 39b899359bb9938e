"""The jar that lets Spark push columns, filters, limits and aggregates to Lance.

A Python data source cannot receive columns, and shares pushed filters among queries (Spark 4.3).
The jar contains a JVM class for the format ``lance_namespace``, which has its own scan for each
query. Without it, the Python data source of the same name reads whole tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["has_pushdown", "pushdown_jar"]

_JAR = Path(__file__).parent / "jvm" / "lance-namespace-spark.jar"
_CLASS = "io.github.lancenamespacekit.spark.LanceSource"


def pushdown_jar() -> str:
    """Return the path of the jar, for the setting ``spark.jars`` of a session.

    Raises:
        InvalidInputError: code 13, the package was built without a JDK and has no jar.
    """
    if not _JAR.exists():
        raise InvalidInputError(
            "this installation has no jar for Spark: install a wheel, or build the package with a "
            "JDK; without it, Spark reads whole tables"
        )
    return str(_JAR)


def has_pushdown(spark: SparkSession) -> bool:
    """Return whether a session pushes columns and filters to Lance.

    Raises:
        InvalidInputError: code 13, the session uses Spark Connect, which does not show its JVM.
    """
    java: Any = getattr(spark, "_jvm", None)
    if java is None:
        raise InvalidInputError(
            "a Spark Connect session does not show its JVM: look for 'Lance columns' in explain()"
        )
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    return loader.getResource(_CLASS.replace(".", "/") + ".class") is not None
