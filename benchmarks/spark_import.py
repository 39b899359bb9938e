"""Compares rows per second of an import into Lance with Spark's own Parquet to Parquet.

Both read the same Parquet files in the same session, alternately: `import_files` writes a Lance
table of a directory namespace, ``spark.read.parquet(...).write.parquet(...)`` writes Parquet. A
first round, which starts workers and compiles, does not count. The medians of the others are
compared.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from lance_namespace_impls.spark import import_files, local_session

ROWS_A_FILE = 1_000_000
ROWS_A_GROUP = 250_000


def write_source(folder: Path, rows: int) -> None:
    """Write files with an integer, a float, 20 characters and a timestamp in each row."""
    random = np.random.default_rng(7)
    folder.mkdir()
    for number, start in enumerate(range(0, rows, ROWS_A_FILE)):
        count = min(ROWS_A_FILE, rows - start)
        digits = random.integers(10**18, 10**19, count, dtype=np.uint64)
        table = pa.table(
            {
                "id": np.arange(start, start + count),
                "value": random.random(count),
                "name": pa.compute.binary_join_element_wise(
                    "n", pa.array(digits).cast("string"), ""
                ),
                "moment": pa.array(1_600_000_000_000_000 + np.arange(count), pa.timestamp("us")),
            }
        )
        parquet.write_table(table, folder / f"{number:03}.parquet", row_group_size=ROWS_A_GROUP)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def run(spark: Any, folder: Path, rows: int, rounds: int) -> None:
    """Measure both alternately, check their output and print the medians."""
    source, lake, out = folder / "source", folder / "lake", folder / "out"
    write_source(source, rows)

    def to_lance() -> None:
        shutil.rmtree(lake, ignore_errors=True)
        result = import_files(
            spark, impl="dir", properties={"path": str(lake)}, table=["t"], sources=[str(source)]
        )
        assert result.rows == rows

    def to_parquet() -> None:
        spark.read.parquet(str(source)).write.mode("overwrite").parquet(str(out))

    times: dict[str, list[float]] = {"lance": [], "parquet": []}
    for number in range(rounds + 1):
        for name, work in (("lance", to_lance), ("parquet", to_parquet)):
            elapsed = seconds(work)
            if number:
                times[name].append(elapsed)
                print(f"round {number} {name:8} {rows / elapsed / 1e6:6.2f} M rows/s")
    assert parquet.read_metadata(next(out.glob("*.parquet"))).num_columns == 4
    assert spark.read.parquet(str(out)).count() == rows
    lance, other = median(times["lance"]), median(times["parquet"])
    print(f"{rows:,} rows, medians of {rounds} rounds")
    print(f"import_files, Parquet to Lance     {lance:6.2f} s  {rows / lance / 1e6:6.2f} M rows/s")
    print(f"Spark,        Parquet to Parquet   {other:6.2f} s  {rows / other / 1e6:6.2f} M rows/s")
    print(f"ratio (import_files / Spark)       {other / lance:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=None)
    arguments = parser.parse_args()
    spark = local_session("benchmark", cores=arguments.cores)
    try:
        with tempfile.TemporaryDirectory(prefix="lance-ns-bench.") as folder:
            run(spark, Path(folder), arguments.rows, arguments.rounds)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
