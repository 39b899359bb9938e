"""Runs SQL on a catalog of `sql_catalog` or on lance-spark's own, with a PySpark that it supports.

python -m tests.clients.spark_sql < {"impl": ..., "properties": ..., "statements": [...]}
prints one JSON list of [rows or null, failure or null].
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .packages import run_module

__all__ = ["OWN", "run_sql"]

PYSPARK = "pyspark==3.5.7"
OWN = "own"
"""Stands for lance-spark's own directory catalog, instead of an implementation."""


def run_sql(
    impl: str, properties: dict[str, str], statements: Sequence[str]
) -> list[tuple[list[list[Any]] | None, str | None]]:
    """Run statements in one session; return the rows or the failure of each."""
    given = {"impl": impl, "properties": properties, "statements": statements}
    found = run_module("spark_sql", (PYSPARK,), given=json.dumps(given))
    return [tuple(each) for each in found]


def _catalog(builder: Any, impl: str, properties: dict[str, str]) -> AbstractContextManager[Any]:
    from lance_namespace_impls.spark import sql_catalog
    from lance_namespace_impls.spark.jars import lance_spark_jars
    from lance_namespace_impls.spark.sql import CATALOG_CLASS, _configure

    if impl != OWN:
        return sql_catalog(builder, "lake", impl, properties)
    own = {f"spark.sql.catalog.lake.{key}": value for key, value in properties.items()}
    settings = {
        "spark.sql.catalog.lake": CATALOG_CLASS,
        "spark.sql.catalog.lake.impl": "dir",
        **own,
    }
    _configure(builder, list(map(str, lance_spark_jars())), settings)
    return nullcontext()


def _main() -> None:
    from pyspark.sql import SparkSession

    from lance_namespace_impls.spark.java import use_java

    given = json.load(sys.stdin)
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2]")
    for key in ("spark.driver.host", "spark.driver.bindAddress"):
        builder.config(key, "127.0.0.1")
    builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    with _catalog(builder, given["impl"], given["properties"]):
        session = builder.getOrCreate()
        found: list[tuple[Any, Any]] = []
        for statement in given["statements"]:
            try:
                rows = session.sql(statement).collect()
                found.append(([list(row) for row in rows], None))
            except Exception as error:  # noqa: BLE001 - an outcome to compare
                found.append((None, f"{type(error).__name__}: {error}"[:1500]))
        session.stop()
    sys.stdout.write("\n" + json.dumps(found, default=str) + "\n")


if __name__ == "__main__":
    _main()
