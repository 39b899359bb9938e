"""Compares `merge_into` with Delta Lake's MERGE: a million rows into ten million, on one machine.

    python benchmarks/spark_merge.py

Half of the source's keys are in the table, spread over all of it, and half are new. Each round
merges into a fresh copy; the first round of each is not included. Delta Lake is loaded by its Maven
coordinates. Its newest release supports Spark 4.1 and its MERGE fails on 4.3 (NoSuchMethodError),
so it runs on PySpark 3.5 in a separate process, with the same settings. Fails below 1.0 times
Delta's speed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

DELTA = "io.delta:delta-spark_2.12:3.3.2"
DELTA_PYSPARK = "pyspark==3.5.7"
LEAST = 1.0
COLUMNS = ("id", "id * 0.5D AS value", "concat('n', lpad(string(id), 19, '0')) AS name")
SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
}


def session(**more: str) -> Any:
    """Start Spark with this process's PySpark."""
    from pyspark.sql import SparkSession

    from lance_namespace_impls.spark.java import use_java

    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("merge").master("local[*]")
    for key, value in {**SETTINGS, **more}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def source(spark: Any, rows: int, changes: int) -> Any:
    """Return the rows to merge: those with even numbers have keys of existing rows."""
    key = f"if(id % 2 = 0, id * {rows // changes}, {rows} + id)"
    keyed = spark.range(changes).selectExpr(f"{key} AS id").selectExpr(*COLUMNS)
    frame = keyed.selectExpr("id", "value + 1 AS value", "name").cache()
    assert frame.count() == changes
    return frame


def timed(
    folder: Path, kind: str, rounds: int, merge: Callable[[], None], count: Callable[[], int]
) -> list[float]:
    """Return the seconds of each round after the first."""
    times = []
    counts = set()
    for number in range(rounds + 1):
        shutil.rmtree(folder / f"t.{kind}", ignore_errors=True)
        shutil.copytree(folder / f"base.{kind}", folder / f"t.{kind}")
        started = time.perf_counter()
        merge()
        if number:
            times.append(time.perf_counter() - started)
        counts.add(count())
    print(f"{kind}: {counts} rows after it, {times}", file=sys.stderr)
    return times


def lance(folder: Path, rows: int, changes: int, rounds: int) -> list[float]:
    """Merge into a Lance table."""
    from lance_namespace_impls import connect
    from lance_namespace_impls.spark import count_rows, merge_into, write_table

    spark = session(**{"spark.sql.execution.arrow.pyspark.enabled": "true"})
    lake = connect("dir", {"path": str(folder)})
    write_table(spark.range(rows).selectExpr(*COLUMNS), lake, "base")
    changed = source(spark, rows, changes)
    times = timed(
        folder,
        "lance",
        rounds,
        lambda: print(merge_into(changed, lake, "t", "id"), file=sys.stderr),
        lambda: count_rows(lake, "t"),
    )
    spark.stop()
    return times


def delta(folder: Path, rows: int, changes: int, rounds: int) -> list[float]:
    """Merge into a Delta table."""
    spark = session(
        **{
            "spark.jars.packages": DELTA,
            # The minimum for one machine; the default is 50.
            "spark.databricks.delta.snapshotPartitions": "4",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }
    )
    path = folder / "t.delta"
    spark.range(rows).selectExpr(*COLUMNS).write.format("delta").save(str(folder / "base.delta"))
    source(spark, rows, changes).createOrReplaceTempView("source")
    statement = (
        f"MERGE INTO delta.`{path}` AS t USING source AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    times = timed(
        folder,
        "delta",
        rounds,
        lambda: print(spark.sql(statement).collect(), file=sys.stderr),
        lambda: spark.read.format("delta").load(str(path)).count(),
    )
    spark.stop()
    return times


ENGINES = {"lance": lance, "delta": delta}


def run(engine: str, arguments: argparse.Namespace) -> float:
    """Run an engine in a separate process; return the median of its seconds."""
    from tests.clients.packages import packages

    project = Path(__file__).parents[1]
    paths = [str(project), str(project / "generated")]
    if engine == "delta":
        paths.insert(0, str(packages(DELTA_PYSPARK)))
    sizes = [str(each) for each in (arguments.rows, arguments.changes, arguments.rounds)]
    with tempfile.TemporaryDirectory(prefix="lance-ns-bench.") as folder:
        done = subprocess.run(
            [sys.executable, __file__, "--engine", engine, "--folder", folder]
            + [f"--{name}={size}" for name, size in zip(("rows", "changes", "rounds"), sizes, strict=True)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )  # fmt: skip
    return median(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        sizes = (arguments.rows, arguments.changes, arguments.rounds)
        print(json.dumps(ENGINES[arguments.engine](arguments.folder, *sizes)))
        return
    sys.path.insert(0, str(Path(__file__).parents[1]))
    ours, theirs = (run(engine, arguments) for engine in ("lance", "delta"))
    print(
        f"merge of {arguments.changes:,} into {arguments.rows:,}: Lance {ours:.2f} s, "
        f"Delta {theirs:.2f} s, ratio {theirs / ours:.2f} (at least {LEAST})"
    )
    if theirs / ours < LEAST:
        sys.exit("below the bound")


if __name__ == "__main__":
    main()
