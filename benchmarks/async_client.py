"""Compares the asynchronous client with the synchronous one: DescribeTable calls per second, with
200 concurrent callers.

Both call one ``lance-ns serve`` with its default options. 200 tasks of one event loop and 200
threads run alternately, each with the same number of connections; the medians of the rounds are
compared. Exit status 1 if the ratio is below the bound.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from server import ours, running

from lance_namespace_impls import AsyncRestNamespace, connect

BOUND = 1.5
REQUEST = {"id": ["t"]}


def with_threads(uri: str, callers: int, calls: int) -> float:
    """Return the number of describe_table calls per second with a number of threads."""
    with (
        connect("rest", {"uri": uri}) as namespace,
        ThreadPoolExecutor(callers) as pool,
    ):

        def work(_: int) -> None:
            for _ in range(calls):
                namespace.describe_table(REQUEST)

        list(pool.map(work, range(callers)))  # opens connections and starts threads
        begin = time.perf_counter()
        list(pool.map(work, range(callers)))
        return callers * calls / (time.perf_counter() - begin)


async def with_tasks(uri: str, callers: int, calls: int) -> float:
    """Return the number of describe_table calls per second with a number of tasks."""
    async with AsyncRestNamespace.from_properties({"uri": uri}) as namespace:

        async def work() -> None:
            for _ in range(calls):
                await namespace.describe_table(REQUEST)

        await asyncio.gather(*(work() for _ in range(callers)))
        begin = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(callers)))
        return callers * calls / (time.perf_counter() - begin)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--callers", type=int, default=200)
    parser.add_argument("--calls", type=int, default=20, help="describe_table calls per caller")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with connect("dir", {"path": folder}) as namespace:
            namespace.create_table({"id": ["t"]}, pa.table({"id": [1]}))
        with running(ours(folder, 1)) as uri:
            rates: dict[str, list[float]] = {"threads": [], "tasks": []}
            for _ in range(arguments.rounds):
                rates["threads"].append(with_threads(uri, arguments.callers, arguments.calls))
                rates["tasks"].append(
                    asyncio.run(with_tasks(uri, arguments.callers, arguments.calls))
                )
    threads, tasks = (statistics.median(rates[kind]) for kind in ("threads", "tasks"))
    print(
        f"{arguments.callers} threads: {threads:,.0f} describes/s, {arguments.callers} tasks: {tasks:,.0f}"
    )
    print(f"ratio {tasks / threads:.2f} (bound {BOUND})")
    return int(tasks / threads < BOUND)


if __name__ == "__main__":
    sys.exit(main())
