"""Compares an index built by Spark's workers with one that Lance builds in one process.

    python benchmarks/spark_index.py --rows 10000000 --master 'local-cluster[2,1,4096]'

The vectors are in clusters, and the queries are not in the table. Both indices have the same options;
recall@10 is the share of the ten nearest rows that a search finds, and must not differ by more than
0.01 in the mean of the rounds, since k-means starts with random vectors. Then the queries are joined
with the table by `nearest`, next to a loop of single searches in this process. Prints one JSON
document.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pyarrow as pa

BOUND = 0.01
CLUSTERS = 2000
WRITTEN_ROWS = 100_000
MEASURED_QUERIES = 1000


def session(master: str) -> Any:
    """Start Spark with this process's PySpark."""
    from pyspark.sql import SparkSession

    from lance_namespace_impls.distributed.secrets import make_key
    from lance_namespace_impls.spark.java import use_java

    use_java()
    make_key()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    builder = SparkSession.builder.appName("index").master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def vectors(rows: int, dimension: int, seed: int) -> Any:
    """Return vectors around centers that do not depend on the seed."""
    centers = np.random.default_rng(0).normal(size=(CLUSTERS, dimension)).astype("float32")
    random = np.random.default_rng(seed)
    noise = random.normal(size=(rows, dimension)).astype("float32")
    return centers[random.integers(0, CLUSTERS, rows)] + noise * 0.7


def batches(rows: int, dimension: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table."""
    for start in range(0, rows, WRITTEN_ROWS):
        count = min(WRITTEN_ROWS, rows - start)
        flat = pa.array(vectors(count, dimension, start + 1).reshape(-1))
        yield pa.record_batch(
            {
                "id": pa.array(range(start, start + count), pa.int64()),
                "v": pa.FixedSizeListArray.from_arrays(flat, dimension),
            }
        )


def found(dataset: Any, queries: Any, **options: Any) -> list[set[int]]:
    """Return the ten nearest rows of each query."""
    nearest = {"column": "v", "q": queries, "k": 10, **options}
    rows = dataset.scanner(columns=["id", "_distance"], nearest=nearest).to_table()
    sets: list[set[int]] = [set() for _ in queries]
    for query, row in zip(rows["query_index"].to_pylist(), rows["id"].to_pylist(), strict=True):
        sets[query].add(row)
    return sets


def recall(dataset: Any, queries: Any, exact: list[set[int]], **options: Any) -> float:
    """Return the share of the nearest rows that a search with the index finds."""
    hits = [len(a & b) for a, b in zip(exact, found(dataset, queries, **options), strict=True)]
    return sum(hits) / (10 * len(exact))


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--dimension", type=int, default=96)
    parser.add_argument("--fragments", type=int, default=20)
    parser.add_argument("--queries", type=int, default=10_000, help="queries of the join")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--index-type", default="IVF_PQ")
    parser.add_argument("--master", default="local-cluster[2,1,2048]")
    arguments = parser.parse_args()

    import lance

    from lance_namespace_impls import connect
    from lance_namespace_impls.spark import create_index, nearest

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "t.lance"))
        kinds = pa.schema(
            {"id": pa.int64(), "v": pa.list_(pa.float32(), arguments.dimension)}.items()
        )
        lance.write_dataset(
            pa.RecordBatchReader.from_batches(kinds, batches(arguments.rows, arguments.dimension)),
            path,
            max_rows_per_file=-(-arguments.rows // arguments.fragments),
        )
        lake = connect("dir", {"path": folder})
        queries = vectors(max(arguments.queries, MEASURED_QUERIES), arguments.dimension, 10**9)
        held_out = queries[:MEASURED_QUERIES]
        exact = found(lance.dataset(path), held_out, use_index=False)
        spark = session(arguments.master)
        spark.range(4).repartition(4).mapInArrow(lambda rows: rows, "id bigint").count()
        options: dict[str, Any] = {"num_partitions": max(1, arguments.rows // 4096)}
        if arguments.index_type.endswith("_PQ"):
            options["num_sub_vectors"] = arguments.dimension // 6
        probes = {"nprobes": 20, "refine_factor": 5}
        results: dict[str, list[dict[str, float]]] = {"lance": [], "spark": []}
        for _ in range(arguments.rounds):
            for kind, rounds in results.items():
                started = time.perf_counter()
                if kind == "lance":
                    lance.dataset(path).create_index(
                        "v", arguments.index_type, name="v_idx", **options
                    )
                else:
                    create_index(spark, lake, "t", "v", index_type=arguments.index_type, **options)
                seconds = time.perf_counter() - started
                dataset = lance.dataset(path)
                rounds.append(
                    {
                        "seconds": round(seconds, 2),
                        "recall": recall(dataset, held_out, exact, **probes),
                        "recall_unrefined": recall(dataset, held_out, exact, nprobes=20),
                    }
                )
                print(kind, rounds[-1], file=sys.stderr)
                dataset.drop_index("v_idx")
        create_index(spark, lake, "t", "v", index_type=arguments.index_type, **options)
        table = lake.table("t")
        started = time.perf_counter()
        singles = []
        for query in held_out:
            search = table.search(query).limit(10).nprobes(20).refine_factor(5).select(["id"])
            singles.append([row["id"] for row in search.to_list()])
        loop = (time.perf_counter() - started) / len(held_out) * arguments.queries
        frame = spark.createDataFrame(
            [(n, row.tolist()) for n, row in enumerate(queries[: arguments.queries])],
            "q long, query array<float>",
        ).repartition(4)
        frame = frame.cache()
        frame.count()
        started = time.perf_counter()
        rows = nearest(spark, lake, "t", frame, columns=["id"], **probes).collect()
        join = time.perf_counter() - started
        by_query: dict[int, list[int]] = {}
        for row in sorted(rows, key=lambda row: (row.q, row["_rank"])):
            by_query.setdefault(row.q, []).append(row.id)
        compared = min(len(singles), arguments.queries)
        same = sum(by_query[n] == singles[n] for n in range(compared))
        spark.stop()
    difference = abs(
        mean(each["recall"] for each in results["lance"])
        - mean(each["recall"] for each in results["spark"])
    )
    answer = {
        **vars(arguments),
        **results,
        "join_seconds": round(join, 2),
        "loop_seconds": round(loop, 2),
        "join_queries_with_the_same_rows": f"{same} of {compared}",
        "recall_difference": round(difference, 4),
    }
    print(json.dumps(answer, indent=2))
    if difference > BOUND:
        sys.exit(f"recall@10 differs by {difference:.4f}, more than {BOUND}")


if __name__ == "__main__":
    main()
