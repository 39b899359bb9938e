"""Compares Iceberg REST with httpx: listing 1,000 tables with 5 ms of latency, and describe_table.

The server is the Iceberg project's own. The listing is compared with the same requests, 16 of them
concurrently, from a bare `httpx.Client`; both alternate in one run. describe_table is compared with
one bare GET. The results are medians. Exit status 1 if either exceeds its bound.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from lance_namespace_impls.iceberg import IcebergNamespace
from tests.servers.iceberg import IcebergFixture

LIST_BOUND, DESCRIBE_BOUND = 1.2, 1.15
AT_ONCE = 16
TABLES = 1000

# Delays every request. It is a separate process, so that it does not compete for the interpreter.
LATENCY = """
import asyncio, sys

async def pump(reader, writer, seconds):
    try:
        while chunk := await reader.read(65536):
            await asyncio.sleep(seconds)
            writer.write(chunk)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()

async def serve(reader, writer):
    upstream = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    await asyncio.gather(
        pump(reader, upstream[1], float(sys.argv[2])), pump(upstream[0], writer, 0)
    )

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


@contextmanager
def latency(port: int, milliseconds: float) -> Iterator[str]:
    """Run a proxy that delays every request; yield its URL."""
    with subprocess.Popen(
        [sys.executable, "-c", LATENCY, str(port), str(milliseconds / 1000)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def connect(endpoint: str, root: str) -> IcebergNamespace:
    """Connect to the server, whose paths have no prefix."""
    return IcebergNamespace.from_properties(
        {"endpoint": endpoint, "prefix": "", "root": root, "max_concurrency": AT_ONCE}
    )


def fill(endpoint: str, root: str) -> None:
    """Create the tables."""
    with connect(endpoint, root) as namespace, ThreadPoolExecutor(4) as pool:
        namespace.create_namespace({"id": ["wh", "bench"]})
        declare: Callable[[int], Any] = lambda n: namespace.declare_table(  # noqa: E731
            {"id": ["wh", "bench", f"t{n:04}"]}
        )
        list(pool.map(declare, range(TABLES)))


def list_ours(endpoint: str, root: str) -> int:
    """List the tables through the namespace."""
    with connect(endpoint, root) as namespace:
        return len(namespace.list_tables({"id": ["wh", "bench"]}).tables)


def list_bare(endpoint: str, threads: int) -> int:
    """Make the requests of a listing with bare httpx."""
    with httpx.Client(base_url=endpoint) as client, ThreadPoolExecutor(threads) as pool:
        client.get("/v1/config", params={"warehouse": "wh"}).json()
        path = "/v1/namespaces/bench/tables"
        names = [each["name"] for each in client.get(path).json()["identifiers"]]
        load = lambda name: client.get(f"{path}/{name}").json()["metadata"]["properties"]  # noqa: E731
        return sum(found["table_type"] == "lance" for found in pool.map(load, names))


def seconds(call: Callable[[], int]) -> float:
    """Time a listing."""
    started = time.perf_counter()
    found = call()
    elapsed = time.perf_counter() - started
    assert found == TABLES, f"{found} of {TABLES} tables"
    return elapsed


def compare_listings(endpoint: str, root: str, rounds: int) -> float:
    """Compare the listing with bare httpx, alternately."""
    ours, bare = (lambda: list_ours(endpoint, root)), (lambda: list_bare(endpoint, AT_ONCE))
    seconds(ours), seconds(bare)
    timings = [(seconds(ours), seconds(bare)) for _ in range(rounds)]
    ratio = median(a / b for a, b in timings)
    print(
        f"{TABLES} tables: list_tables {median(a for a, _ in timings):.2f} s, bare httpx "
        f"{AT_ONCE} at a time {median(b for _, b in timings):.2f} s, ratio {ratio:.2f}; "
        f"bare httpx one at a time {seconds(lambda: list_bare(endpoint, 1)):.2f} s"
    )
    return ratio


def compare_describe(endpoint: str, root: str, calls: int, rounds: int) -> float:
    """Compare describe_table with one bare GET, alternately."""
    url = f"{endpoint}/v1/namespaces/bench/tables/t0500"
    request = {"id": ["wh", "bench", "t0500"]}
    with connect(endpoint, root) as namespace, httpx.Client() as client:
        sides: tuple[Callable[[], object], ...] = (
            lambda: namespace.describe_table(request),
            lambda: client.get(url).json(),
        )
        medians = []
        for _ in range(rounds + 1):
            timings: list[list[int]] = [[], []]
            for _ in range(calls):
                for side, times in zip(sides, timings, strict=True):
                    started = time.perf_counter_ns()
                    side()
                    times.append(time.perf_counter_ns() - started)
            medians.append([median(times) / 1000 for times in timings])
    ratio = median(ours / bare for ours, bare in medians[1:])
    ours, bare = (median(side) for side in zip(*medians[1:], strict=True))
    print(f"describe_table p50 {ours:.0f} us, bare httpx {bare:.0f} us, ratio {ratio:.2f}")
    return ratio


def main() -> int:
    """Print the results; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--milliseconds", type=float, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = f"{folder}/lake"
        with IcebergFixture(folder=Path(folder)) as server:
            fill(server.endpoint, root)
            with latency(server.port, options.milliseconds) as endpoint:
                listing = compare_listings(endpoint, root, options.rounds)
            describe = compare_describe(server.endpoint, root, options.calls, options.rounds)
    return int(listing > LIST_BOUND or describe > DESCRIBE_BOUND)


if __name__ == "__main__":
    sys.exit(main())
