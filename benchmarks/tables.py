"""Reads a table of a million rows: our namespace relative to pylance, our server to pylance's.

In process, the namespace is compared with the same call on pylance directly (bound 1.1). Over REST,
our server is compared with pylance's `RestAdapter` (bound 1.25), for responses of 10 and of 100,000
rows; one httpx client calls both. All results are medians, measured alternately.
"""

from __future__ import annotations

import argparse
import io
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa

from lance_namespace_impls import connect

DIMENSION = 128
WORDS = ("red", "green", "blue", "round", "square", "small", "large", "old", "new", "quick")
IN_PROCESS_BOUND = 1.1
OVER_REST_BOUND = 1.25
SERVE = "from lance_namespace_impls.cli import main; main()"
PYLANCE_SERVER = """
import sys, time
from lance.namespace import RestAdapter
with RestAdapter("dir", {"root": sys.argv[1]}, host="127.0.0.1", port=0) as server:
    print(server.port, flush=True)
    sys.stdin.read()
"""


def make_table(path: str, rows: int) -> Any:
    """Write the table and its index."""
    rng = np.random.default_rng(7)

    def batches() -> Any:
        for start in range(0, rows, 50_000):
            count = min(50_000, rows - start)
            vectors = pa.array(rng.random(count * DIMENSION, dtype=np.float32))
            words = rng.choice(WORDS, (count, 3))
            yield pa.record_batch(
                {
                    "id": pa.array(range(start, start + count)),
                    "text": pa.array([" ".join(line) for line in words]),
                    "vector": pa.FixedSizeListArray.from_arrays(vectors, DIMENSION),
                }
            )

    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("text", pa.string()),
            ("vector", pa.list_(pa.float32(), DIMENSION)),
        ]
    )
    namespace = connect("dir", {"path": path})
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    namespace.create_table({"id": ["t"]}, reader)
    namespace.create_table_index(
        {"id": ["t"], "column": "vector", "index_type": "IVF_SQ", "num_partitions": 64}
    )
    namespace.create_table_scalar_index({"id": ["t"], "column": "text", "index_type": "FTS"})
    return namespace


def median_pair(
    ours: Callable[[], Any], theirs: Callable[[], Any], calls: int
) -> tuple[float, float]:
    """Time two calls alternately; return the medians in milliseconds."""
    for _ in range(3):
        ours(), theirs()
    times: tuple[list[float], list[float]] = ([], [])
    for index in range(calls):
        pair = [(0, ours), (1, theirs)]
        for which, call in pair if index % 2 else reversed(pair):
            start = time.perf_counter()
            call()
            times[which].append((time.perf_counter() - start) * 1000)
    return statistics.median(times[0]), statistics.median(times[1])


def in_process(namespace: Any, calls: int) -> list[tuple[str, float, float]]:
    """Compare with pylance, which opens the table for each call, as a direct caller does."""
    import lance

    location = namespace.describe_table({"id": ["t"]}).location
    session = lance.Session()
    rng = np.random.default_rng(1)
    vector = rng.random(DIMENSION, dtype=np.float32)
    listed = vector.tolist()
    query = {"id": ["t"], "k": 10, "vector": {"single_vector": listed}, "nprobes": 8}
    nearest = {"column": "vector", "q": vector, "k": 10, "nprobes": 8}

    def dataset() -> Any:
        return lance.dataset(location, session=session)

    text = {"string_query": {"query": "red round", "columns": ["text"]}}
    cases: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "query": (
            lambda: namespace.query_table(query).read_all(),
            lambda: dataset().scanner(nearest=nearest).to_table(),
        ),
        "filtered query": (
            lambda: namespace.query_table(
                {**query, "filter": "id > 500", "prefilter": True}
            ).read_all(),
            lambda: (
                dataset().scanner(nearest=nearest, filter="id > 500", prefilter=True).to_table()
            ),
        ),
        "count": (
            lambda: namespace.count_table_rows({"id": ["t"], "predicate": "id > 1000"}).count,
            lambda: dataset().count_rows("id > 1000"),
        ),
        "full-text query": (
            lambda: namespace.query_table(
                {"id": ["t"], "k": 10, "vector": None, "full_text_query": text}
            ).read_all(),
            lambda: (
                dataset()
                .scanner(full_text_query={"query": "red round", "columns": ["text"]}, limit=10)
                .to_table()
            ),
        ),
    }
    return [(name, *median_pair(*pair, calls)) for name, pair in cases.items()]


def over_rest(path: str, calls: int) -> list[tuple[str, float, float]]:
    """Send the same queries to our server and pylance's."""
    ours = subprocess.Popen(
        [
            *(sys.executable, "-c", SERVE, "serve", "--impl", "dir"),
            *("-p", f"path={path}", "--port", "0"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    theirs = subprocess.Popen(
        [sys.executable, "-c", PYLANCE_SERVER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert ours.stdout is not None
        assert theirs.stdout is not None
        addresses = (
            "http" + ours.stdout.readline().split("http", 1)[1].split()[0].rstrip("/,."),
            f"http://127.0.0.1:{theirs.stdout.readline().strip()}",
        )
        results = []
        with httpx.Client(timeout=60) as client:

            def query(address: str, body: dict[str, Any]) -> pa.Table:
                url = f"{address}/v1/table/t/query?delimiter=%24"
                answer = client.post(url, json=body)
                answer.raise_for_status()
                return pa.ipc.open_file(io.BytesIO(answer.content)).read_all()

            listed = np.random.default_rng(1).random(DIMENSION, dtype=np.float32).tolist()
            near = {
                "id": ["t"],
                "k": 10,
                "vector": {"single_vector": listed},
                "vector_column": "vector",
                "nprobes": 8,
            }
            many = {
                "id": ["t"],
                "k": 100_000,
                "vector": {"single_vector": []},
                "filter": "id >= 0",
                "columns": {"column_names": ["id", "text"]},
            }
            for name, body, times in (("10 rows", near, calls), ("100,000 rows", many, calls // 4)):
                rows = [query(address, body).num_rows for address in addresses]
                assert rows[0] == rows[1] == body["k"], rows
                pair = median_pair(
                    lambda body=body: query(addresses[0], body),
                    lambda body=body: query(addresses[1], body),
                    times,
                )
                results.append((name, *pair))
        return results
    finally:
        for process in (ours, theirs):
            process.terminate()
            process.wait(20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    over = False
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "tables")
        namespace = make_table(path, options.rows)
        for title, bound, rows in (
            ("in process, against pylance", IN_PROCESS_BOUND, in_process(namespace, options.calls)),
            ("over REST, against RestAdapter", OVER_REST_BOUND, over_rest(path, options.calls)),
        ):
            print(f"{title} (bound {bound})")
            for name, ours, theirs in rows:
                ratio = ours / theirs
                over |= ratio > bound
                print(f"  {name:16} {ours:9.2f} ms {theirs:9.2f} ms  {ratio:5.2f}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
