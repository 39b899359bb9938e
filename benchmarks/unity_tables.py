"""Measures Unity Catalog: pages of a listing of 1,000 tables, and describe_table over bare HTTP.

Runs on the tests' double in a separate process. With --real, it also runs on the server that
tests/servers/real.py starts or knows the URL of. With --endpoint, it runs only on that server,
which must have an empty catalog ``main``.
Calls of both sides alternate on persistent connections; the medians of each round are compared, and
the result is the median of the rounds. The exit status is 1 if describe_table exceeds its bound.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import httpx
import pyarrow as pa

from lance_namespace_impls.unity import UnityNamespace
from tests.servers import real

BOUND = 1.15
API = "/api/2.1/unity-catalog"
TABLES = 1000
COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("taken", pa.timestamp("us", "UTC")),
        ("vector", pa.list_(pa.float32(), 768)),
    ]
)

DOUBLE = """
import sys, threading
from tests.servers.unity import UnityDouble
with UnityDouble() as server:
    server.add_catalog("main")
    print(server.uri, flush=True)
    threading.Event().wait()
"""


@contextmanager
def double() -> Iterator[str]:
    """Run the double in a separate process; yield its URL."""
    with subprocess.Popen(
        [sys.executable, "-c", DOUBLE], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def p50(calls: int, *sides: Callable[[], object]) -> list[float]:
    """Time functions alternately; return the median of each in microseconds."""
    timings: list[list[int]] = [[] for _ in sides]
    for _ in range(calls):
        for side, times in zip(sides, timings, strict=True):
            started = time.perf_counter_ns()
            side()
            times.append(time.perf_counter_ns() - started)
    return [median(times) / 1000 for times in timings]


def count_pages(namespace: UnityNamespace) -> tuple[int, int, float]:
    """List the tables; return their number, the number of pages, and the seconds."""
    pages = 0

    def count(request: httpx.Request) -> None:
        nonlocal pages
        pages += request.url.path.endswith("/tables")

    namespace._api._client.event_hooks["request"].append(count)
    started = time.perf_counter()
    tables = namespace.list_tables({"id": ["main", "bench"]}).tables
    return len(tables), pages, time.perf_counter() - started


def main() -> int:
    """Print the results; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoint", help="a server with a catalog 'main'; else the double")
    parser.add_argument("--real", action="store_true", help="the tests' real server too")
    parser.add_argument("--root", help="where that server lets tables be")
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if options.endpoint:
        return run(options.endpoint, options)
    with double() as endpoint:
        print("the double: ", end="")
        failed = run(endpoint, options)
    if options.real:
        endpoint = real.running("unity").uri
        httpx.post(f"{endpoint}{API}/catalogs", json={"name": "main"}).raise_for_status()
        print("the real server: ", end="")
        failed |= run(endpoint, options)
    return failed


def run(endpoint: str, options: argparse.Namespace) -> int:
    """Measure one server."""
    with tempfile.TemporaryDirectory() as folder:
        properties = {"endpoint": endpoint, "catalog": "main", "root": options.root or folder}
        with UnityNamespace.from_properties(properties) as namespace, httpx.Client() as bare:
            namespace.create_namespace({"id": ["main", "bench"]})
            for n in range(TABLES):
                identifier = ("main", "bench", f"t{n:04}")
                namespace.add_table_for(identifier, None, {}, COLUMNS)
            found, pages, seconds = count_pages(namespace)
            print(f"{found} of {TABLES} tables listed in {pages} pages, {seconds:.3f} s")
            worst = describe(namespace, bare, f"{endpoint}{API}/tables/main.bench.t0500", options)
            namespace.drop_namespace({"id": ["main", "bench"], "behavior": "Cascade"})
    return int(worst > BOUND or found != TABLES)


def describe(
    namespace: UnityNamespace, bare: httpx.Client, url: str, options: argparse.Namespace
) -> float:
    """Compare describe_table with one bare GET."""
    request = {"id": ["main", "bench", "t0500"]}
    sides = (lambda: namespace.describe_table(request), lambda: bare.get(url).json())
    p50(50, *sides)
    rounds = [p50(options.calls, *sides) for _ in range(options.rounds)]
    ours, theirs = (median(side) for side in zip(*rounds, strict=True))
    ratio = median(ours / theirs for ours, theirs in rounds)
    print(f"describe_table p50 {ours:.0f} us, bare httpx {theirs:.0f} us, ratio {ratio:.2f}")
    return ratio


if __name__ == "__main__":
    sys.exit(main())
