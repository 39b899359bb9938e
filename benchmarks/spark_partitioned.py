"""Writes and reads a partitioned namespace with Spark, next to Parquet in the same session.

    python benchmarks/spark_partitioned.py

Both write the same rows to 100 partitions (Parquet with `partitionBy`), and read the rows of one of
them with the same `where`. Rounds alternate; the first round of each is not included. Fails if a
write is slower than 0.8 times Parquet's speed, or a read slower than Parquet's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from lance_namespace_impls import connect
from lance_namespace_impls.spark import local_session, write_table

PARTITIONS = 100
LEAST_WRITE = 0.8
LEAST_READ = 1.0


def compare(ours: Callable[[int], Any], theirs: Callable[[int], Any], rounds: int) -> list[float]:
    """Return the median seconds of both, measured alternately."""
    times: list[list[float]] = [[], []]
    for number in range(rounds + 1):
        for each, action in zip(times, (ours, theirs), strict=True):
            started = time.perf_counter()
            action(number)
            if number:
                each.append(time.perf_counter() - started)
    return [median(each) for each in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    spark = local_session("partitioned", settings={"spark.ui.showConsoleProgress": "false"})
    with tempfile.TemporaryDirectory(prefix="lance-ns-bench.") as folder:
        lake = connect("dir", {"path": f"{folder}/lake", "manifest": "true"})
        frame = spark.range(arguments.rows).selectExpr(
            "id",
            f"int(id div {max(1, arguments.rows // PARTITIONS)}) AS part",
            "id * 0.5D AS value",
            "concat('n', lpad(string(id), 19, '0')) AS name",
        )
        write = compare(
            lambda number: write_table(frame, lake, f"t{number}", partitioned_by=["part"]),
            lambda number: frame.write.partitionBy("part").parquet(f"{folder}/parquet/t{number}"),
            arguments.rounds,
        )
        reader = spark.read.format("lance_namespace").option("manifest", "true")
        expected = arguments.rows // PARTITIONS

        def read(table: Any) -> None:
            chosen = table.where("part = 7").selectExpr("count(value)", "sum(value)", "max(name)")
            assert chosen.collect()[0][0] == expected

        read_seconds = compare(
            lambda _: read(reader.options(impl="dir", root=f"{folder}/lake").load("t0")),
            lambda _: read(spark.read.parquet(f"{folder}/parquet/t0")),
            max(5, arguments.rounds),
        )
        sizes = {
            name: sum(
                file.stat().st_size for file in Path(folder, name).rglob("*") if file.is_file()
            )
            for name in ("lake", "parquet")
        }
    spark.stop()
    failed = False
    for what, (ours, theirs), least in (
        ("write", write, LEAST_WRITE),
        ("read of one partition", read_seconds, LEAST_READ),
    ):
        ratio = theirs / ours
        failed |= ratio < least
        print(
            f"{what}: Lance {ours:.2f} s, Parquet {theirs:.2f} s, ratio {ratio:.2f} (at least {least})"
        )
    print(f"{arguments.rows:,} rows; bytes: {sizes}")
    if failed:
        sys.exit("below the bound")


if __name__ == "__main__":
    main()
