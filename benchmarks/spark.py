"""Compares Lance through Spark with Spark's own Parquet: ratios of rows per second, in one session.

Both read and write the same rows alternately; a first round, which starts workers and compiles,
does not count. Each ratio is Parquet's median time divided by Lance's: higher is better. The
measures that start with "load" are plain DataFrames, with the same code for both formats; Lance has
an index of `id`. Parquet gets the same filter and projection as `read_table`, so they are pushed
down, too. For information, without a bound: pylance alone, and in separate processes lance-ray and
lance-spark, with the PySpark release that it supports. `--kinds`, `--measures` and `--peers` select
parts.
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
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.functions import expr

from lance_namespace_impls import connect
from lance_namespace_impls.spark import (
    count_rows,
    import_files,
    local_session,
    read_table,
    write_table,
)

BOUNDS = {
    "load": (1.0, 0.8),
    "load, select": (1.0, 1.0),
    "load, where 1 %": (1.0, 1.0),
    "load, where 0.01 %": (1.5, 1.5),
    "load, count": (2.0, 2.0),
    "load, min and max": (1.0, 1.0),
    "load, join": (1.0, 1.0),
    "load, groupBy": (1.0, 1.0),
    "read": (1.0, 1.0),
    "df.count()": (0.5, 0.5),
    "count_rows": (1.0, 1.0),
    "sum of one column": (0.8, 0.8),
    "filter": (1.0, 1.0),
    "append": (0.75, 2.0),
    "import": (1.0, 2.0),
}
"""Minimum ratio of each measure, for narrow rows and for vectors."""
PEER_PYSPARK = "pyspark==3.5.7"
DIMENSIONS = 768
ROWS_A_FILE = 1_000_000
Work = Callable[[], object]


def narrow(start: int, rows: int) -> pa.Table:
    """Generate rows with an integer, a float and 20 characters."""
    random = np.random.default_rng(start)
    digits = pa.array(random.integers(10**18, 10**19, rows, dtype=np.uint64)).cast("string")
    names = pc.binary_join_element_wise("n", digits, "")
    return pa.table(
        {"id": np.arange(start, start + rows), "value": random.random(rows), "name": names}
    )


def vectors(start: int, rows: int) -> pa.Table:
    """Generate rows with an integer, a float and a vector."""
    random = np.random.default_rng(start)
    values = pa.array(random.random(rows * DIMENSIONS, dtype=np.float32))
    vector = pa.FixedSizeListArray.from_arrays(values, DIMENSIONS)
    return pa.table(
        {"id": np.arange(start, start + rows), "value": random.random(rows), "v": vector}
    )


class Bench:
    """The same rows in Lance and in Parquet.

    Args:
        spark: the session.
        folder: parent of both datasets.
        rows: number of rows.
        make: generates a range of rows.
    """

    def __init__(
        self, spark: Any, folder: Path, rows: int, make: Callable[[int, int], pa.Table]
    ) -> None:
        self._spark = spark
        self._rows = rows
        self._folder = folder
        self._parquet = folder / "t.parquet"
        self._lake = folder / "lake"
        self._options = {"impl": "dir", "root": str(self._lake)}
        self._namespace = connect("dir", {"path": str(self._lake)})
        for start in range(0, rows, ROWS_A_FILE):
            table = make(start, min(ROWS_A_FILE, rows - start))
            lance.write_dataset(table, self._lake / "t.lance", mode="append" if start else "create")
        lance.dataset(self.lance).create_scalar_index("id", "BTREE")
        self._few = spark.range(0, rows, max(1, rows // 100)).withColumnRenamed("id", "key").cache()
        assert self._few.count() >= 1
        self._types = "v:float32[768]" if make is vectors else None
        self._table().write.parquet(str(self._parquet))
        # With a condition; otherwise Spark would serve later reads of the same rows from the cache.
        self._cached = self._read().where("id >= 0").cache()
        assert self._cached.count() == rows

    def works(self) -> dict[str, tuple[Work, Work]]:
        """Return the measured functions: Lance's and Parquet's."""
        few = f"id < {self._rows // 100}"
        return {
            **{
                name: (partial(work, self._load), partial(work, self._read))
                for name, work in self._plain().items()
            },
            "read": (lambda: self.drain(self._table()), lambda: self.drain(self._read())),
            "df.count()": (
                lambda: self._same(self._table(columns=["id"]).count()),
                lambda: self._same(self._read().count()),
            ),
            "count_rows": (
                lambda: self._same(count_rows(self._namespace, "t")),
                lambda: self._same(self._read().count()),
            ),
            "sum of one column": (
                lambda: self._table(columns=["value"]).selectExpr("sum(value)").collect(),
                lambda: self._read().selectExpr("sum(value)").collect(),
            ),
            "filter": (
                lambda: self.drain(self._table(filter=few)),
                lambda: self.drain(self._read().where(few)),
            ),
            "append": (self._append, self._append_parquet),
            "import": (self._import, self._copy_parquet),
        }

    def _plain(self) -> dict[str, Callable[[Callable[[], Any]], object]]:
        """Return queries of a DataFrame, written as for any format."""
        few, fewest = self._rows // 100, self._rows // 10_000
        middle = self._rows // 2
        return {
            "load": lambda load: self.drain(load()),
            "load, select": lambda load: load().selectExpr("sum(value)").collect(),
            "load, where 1 %": lambda load: self.drain(load().where(f"id < {few}")),
            "load, where 0.01 %": lambda load: self.drain(
                load().where(f"id >= {middle} AND id < {middle + fewest}")
            ),
            "load, count": lambda load: self._same(load().count()),
            "load, min and max": lambda load: load().selectExpr("min(id)", "max(id)").collect(),
            "load, join": lambda load: self.drain(
                load().join(self._few, expr("id = key")).select("id", "value")
            ),
            "load, groupBy": lambda load: (
                load().groupBy(expr("id % 10")).agg({"value": "avg"}).collect()
            ),
        }

    def others(self) -> dict[str, Work]:
        """Return functions that are measured without a bound."""
        return {
            "append, data source": self._append_by_source,
            "read, pylance alone": lambda: sum(
                batch.num_rows for batch in lance.dataset(self.lance).to_batches()
            ),
        }

    @property
    def lance(self) -> str:
        """Path of the Lance dataset."""
        return str(self._lake / "t.lance")

    def _same(self, rows: int) -> None:
        assert rows == self._rows, rows

    def _table(self, **options: Any) -> Any:
        return read_table(self._spark, self._namespace, "t", **options)

    def _load(self) -> Any:
        return self._spark.read.format("lance_namespace").options(**self._options).load("t")

    def _read(self) -> Any:
        return self._spark.read.parquet(str(self._parquet))

    @staticmethod
    def drain(frame: Any) -> None:
        frame.write.format("noop").mode("overwrite").save()

    def _append(self) -> None:
        shutil.rmtree(self._lake / "new.lance", ignore_errors=True)
        write_table(self._cached, self._namespace, "new", types=self._types)
        self._same(count_rows(self._namespace, "new"))

    def _append_by_source(self) -> None:
        shutil.rmtree(self._lake / "new.lance", ignore_errors=True)
        options = {**self._options, **({"types": self._types} if self._types else {})}
        writer = self._cached.write.format("lance_namespace").options(**options)
        writer.mode("append").save("new")
        self._same(count_rows(self._namespace, "new"))

    def _append_parquet(self) -> None:
        shutil.rmtree(self._folder / "new.parquet", ignore_errors=True)
        self._cached.write.mode("append").parquet(str(self._folder / "new.parquet"))

    def _import(self) -> None:
        shutil.rmtree(self._lake / "imported.lance", ignore_errors=True)
        result = import_files(
            self._spark,
            impl="dir",
            properties={"path": str(self._lake)},
            table=["imported"],
            sources=[str(self._parquet)],
        )
        self._same(result.rows)

    def _copy_parquet(self) -> None:
        self._read().write.mode("overwrite").parquet(str(self._folder / "copy.parquet"))

    def end(self) -> None:
        """Release Spark's cache."""
        self._cached.unpersist()
        self._few.unpersist()


def lance_ray(path: str, out: str) -> dict[str, Work]:
    """Return lance-ray's functions."""
    import lance_ray
    import ray

    ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False

    def rows(**options: Any) -> int:
        read = lance_ray.read_lance(path, **options)
        batches = read.iter_batches(batch_size=None, batch_format="pyarrow")
        return sum(batch.num_rows for batch in batches)

    few = f"id < {rows() // 100}"
    cached = lance_ray.read_lance(path).materialize()
    return {
        "read": rows,
        "count": lambda: lance_ray.read_lance(path).count(),
        "sum of one column": lambda: lance_ray.read_lance(path, columns=["value"]).sum("value"),
        "filter": lambda: rows(filter=few),
        "append": lambda: lance_ray.write_lance(cached, out, mode="overwrite"),
    }


def lance_spark(path: str, out: str) -> dict[str, Work]:
    """Return lance-spark's functions; it is published for Spark 3.5."""
    from pyspark.sql import SparkSession

    from lance_namespace_impls.spark.jars import lance_spark_jars
    from lance_namespace_impls.spark.java import use_java

    use_java()
    builder = SparkSession.builder.master(f"local[{len(os.sched_getaffinity(0))}]")
    settings = {
        "spark.jars": ",".join(map(str, lance_spark_jars())),
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()

    def read() -> Any:
        return spark.read.format("lance").load(path)

    cached = read().cache()
    few = f"id < {cached.count() // 100}"

    def append() -> None:
        shutil.rmtree(out, ignore_errors=True)
        cached.write.format("lance").save(out)

    return {
        "read": lambda: Bench.drain(read()),
        "count": lambda: read().count(),
        "sum of one column": lambda: read().selectExpr("sum(value)").collect(),
        "filter": lambda: Bench.drain(read().where(few)),
        "append": append,
    }


PEERS = {"lance-ray": lance_ray, "lance-spark": lance_spark}


def peer(name: str, path: str, out: str, rounds: int) -> dict[str, float | str]:
    """Return a peer's seconds for each measure, or the reason for a missing one."""
    found: dict[str, float | str] = {}
    for measure, work in PEERS[name](path, out).items():
        try:
            found.update(timed({measure: work}, rounds))
        except Exception as error:  # noqa: BLE001 the report shows what a peer cannot do
            found[measure] = str(error).splitlines()[0][:100]
    return found


def compare_formats(name: str, path: str, rounds: int) -> dict[str, float | str]:
    """Run a peer in a separate process, lance-spark with the PySpark release that it supports."""
    from tests.clients.packages import packages

    project = Path(__file__).parents[1]
    paths = [str(project), str(project / "generated")]
    if name == "lance-spark":
        paths.insert(0, str(packages(PEER_PYSPARK)))
    with tempfile.TemporaryDirectory(prefix="lance-ns-bench.") as folder:
        done = subprocess.run(
            [
                *(sys.executable, __file__, f"--peer={name}", f"--rounds={rounds}"),
                *(f"--path={path}", f"--out={folder}/out.lance"),
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
    return found


def timed(works: dict[str, Work], rounds: int) -> dict[str, float]:
    """Run each alternately and return the median seconds; the first round is not counted."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            started = time.perf_counter()
            work()
            if number:
                times[name].append(time.perf_counter() - started)
    return {name: median(timings) for name, timings in times.items()}


def run(
    bench: Bench, kind: str, bound: int, rounds: int, measures: Sequence[str], peers: Sequence[str]
) -> list[str]:
    """Time all measures and print them; return those below their bound."""
    below = []
    works = bench.works()
    for name in measures:
        ours, theirs = works[name]
        timings = timed({"lance": ours, "parquet": theirs}, rounds)
        ratio, least = timings["parquet"] / timings["lance"], BOUNDS[name][bound]
        print(
            f"{kind:8} {name:20} Lance {timings['lance']:7.3f} s  Parquet {timings['parquet']:7.3f} s  "
            f"ratio {ratio:6.2f}  (at least {least})",
            flush=True,
        )
        if ratio < least:
            below.append(f"{kind} {name}: {ratio:.2f} < {least}")
    for name, seconds in timed(bench.others(), rounds).items():
        print(f"{kind:8} {name:20} {seconds:7.3f} s", flush=True)
    for each in peers:
        for name, found in compare_formats(each, bench.lance, rounds).items():
            text = f"{found:7.3f} s" if isinstance(found, float) else f"fails: {found}"
            print(f"{kind:8} {name:20} {each} {text}", flush=True)
    bench.end()
    return below


MAKERS = {"narrow": narrow, "vectors": vectors}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--narrow", type=int, default=10_000_000, help="narrow rows")
    parser.add_argument("--vectors", type=int, default=200_000, help="rows with a vector")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=None)
    parser.add_argument("--kinds", nargs="+", choices=MAKERS, default=list(MAKERS))
    parser.add_argument("--measures", nargs="*", choices=BOUNDS, default=list(BOUNDS))
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        found = peer(arguments.peer, arguments.path, arguments.out, arguments.rounds)
        print("\n" + json.dumps(found), flush=True)
        return
    sys.path.insert(0, str(Path(__file__).parents[1]))
    spark = local_session("benchmark", arguments.cores, {"spark.driver.memory": "4g"})
    below = []
    try:
        for bound, (kind, make) in enumerate(MAKERS.items()):
            if kind not in arguments.kinds:
                continue
            with tempfile.TemporaryDirectory(prefix="lance-ns-bench.") as folder:
                bench = Bench(spark, Path(folder), getattr(arguments, kind), make)
                below += run(
                    bench, kind, bound, arguments.rounds, arguments.measures, arguments.peers
                )
    finally:
        spark.stop()
    if below:
        sys.exit("below the bound: " + "; ".join(below))


if __name__ == "__main__":
    main()
