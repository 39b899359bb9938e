"""Measures the resources of a server: CPU time per call, latency, and memory by number of open tables.

The requests are those of ``server.py``. The CPU time of all processes of the server is divided by
the number of calls, so the load generator and other programs on the machine influence it little.
Its inverse is the throughput of one core. Latency is that of one client, without concurrency; the
throughput with many clients includes the time for which the load generator uses the same cores.
The results are medians of the rounds.

Memory is the proportional set size (PSS), in which pages that processes share count once. The exit
status is 1 if a worker needs more memory than the bound.

wrk is the Debian package with that name; ``--wrk PATH`` selects another.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psutil
from server import FASTEST, RECORDED, TABLES, Requests, check, load, make_tables
from server_load import processes, running

CALLS = ("describe", "count", "query", "vector", "list", "mix")
CLIENTS = 64
OPENED = (1, 100, TABLES)
IDLE = 500
MOST_WORKER_BYTES = 512 << 20
"""Maximum memory of a worker that has read all tables."""


class Usage:
    """The resources of a server's processes.

    Args:
        pid: the process that was started.
    """

    def __init__(self, pid: int) -> None:
        self._processes = [psutil.Process(each) for each in processes(pid)]

    def seconds(self) -> float:
        """Return the CPU time so far, of all processes, in seconds."""
        times = [each.cpu_times() for each in self._processes]
        return sum(each.user + each.system for each in times)

    def workers(self) -> list[int]:
        """Return the memory of each worker, in bytes."""
        own = self._processes[1:] or self._processes  # a single worker has no parent process
        return [each.memory_full_info().pss for each in own]

    def parent(self) -> int:
        """Return the memory of the parent process, in bytes; 0 if there is none."""
        first, *others = self._processes
        return int(first.memory_full_info().pss) if others else 0

    def files(self) -> int:
        """Return the number of open file descriptors of all processes."""
        return sum(each.num_fds() for each in self._processes)


def calls(options: argparse.Namespace, path: str, folder: Path, workers: int) -> None:
    """Print throughput, latency and CPU time of each kind of call."""
    requests = Requests(json.loads(RECORDED.read_text()))
    wrk = [options.wrk]
    with running(path, "--workers", str(workers), *MORE) as (process, uri):
        for call in options.calls:
            for request in requests.generate(call, 200):
                check(uri, request)
            usage = Usage(process.pid)
            alone, crowd, costs = [], [], []
            for _ in range(options.rounds):
                sent = requests.generate(call, round(FASTEST / 4 * options.seconds))
                alone.append(load(wrk, folder, uri, sent, 1, options.seconds))
                sent = requests.generate(call, round(FASTEST / 2 * options.seconds))
                before = usage.seconds()
                speed, p99 = load(wrk, folder, uri, sent, CLIENTS, options.seconds)
                costs.append((usage.seconds() - before) / (speed * options.seconds))
                crowd.append((speed, p99))
            cost = statistics.median(costs)
            print(
                f"{call:10}{workers:8}"
                f"{1e3 / statistics.median(speed for speed, _ in alone):14.2f}"
                f"{statistics.median(p99 for _, p99 in alone):10.2f}"
                f"{statistics.median(speed for speed, _ in crowd):12.0f}"
                f"{statistics.median(p99 for _, p99 in crowd):10.1f}"
                f"{cost * 1e3:12.3f}{1 / cost:14.0f}",
                flush=True,
            )
        print(f"memory of the largest worker: {max(Usage(process.pid).workers()) / 2**20:.0f} MiB")


def memory(path: str, workers: int) -> bool:
    """Print memory by number of tables read and of idle connections; return if in bounds."""
    worst = done = 0
    with (
        running(path, "--workers", str(workers), *MORE) as (process, uri),
        contextlib.ExitStack() as idle,
    ):
        for tables, connections in ((0, 0), *((each, 0) for each in OPENED), (TABLES, IDLE)):
            # New connections, so that each worker opens each table.
            for _ in range(2 * workers):
                with httpx.Client(base_url=uri, timeout=60) as client:
                    for number in range(done, tables):
                        read(client, f"t{number:03}")
            done = tables
            for _ in range(connections):
                client = idle.enter_context(httpx.Client(base_url=uri, timeout=60, verify=False))
                read(client, "t000")
            time.sleep(0.5)
            usage = Usage(process.pid)
            worst = max(worst, *usage.workers())
            print(
                f"{workers:8}{tables:8}{connections:13}{usage.parent() / 2**20:8.0f}"
                f"{statistics.mean(usage.workers()) / 2**20:12.0f}{usage.files():13}",
                flush=True,
            )
    return worst <= MOST_WORKER_BYTES


def read(client: httpx.Client, table: str) -> None:
    """Describe a table and read ten rows."""
    for path, body in (("describe", {}), ("query", {"k": 10, "vector": {}})):
        client.post(f"/v1/table/{table}/{path}", json=body).raise_for_status()


# The queue is as long as the number of clients, so no calls are rejected.
MORE = ("--request-log", "--limit", "waiting=2000")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--wrk", default="wrk", help="the load generator")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=1, help="of each measurement")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--calls", nargs="*", default=list(CALLS), choices=list(CALLS))
    parser.add_argument("--workers", type=int, nargs="*", help="default: one, and one per core")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    good = True
    with tempfile.TemporaryDirectory() as home:
        data, folder = os.path.join(home, "data"), Path(home)
        make_tables(data, options.rows)
        print(f"{cores} cores, {options.rounds} rounds of {options.seconds} s, {TABLES} tables\n")
        print("memory in MiB after a describe and a query of each table; idle connections")
        print(
            f"{'workers':>8}{'tables':>8}{'connections':>13}{'parent':>8}{'per worker':>12}"
            f"{'descriptors':>13}"
        )
        counts = options.workers or [1, cores]
        for workers in counts:
            good &= memory(data, workers)
        print(
            f"\nlatency in ms of one client; calls/s and p99 in ms of {CLIENTS}; CPU of the server"
        )
        print(
            f"{'call':10}{'workers':>8}{'one client':>14}{'p99':>10}{'calls/s':>12}{'p99':>10}"
            f"{'CPU ms/call':>12}{'calls/core/s':>14}"
        )
        for workers in counts:
            calls(options, data, folder, workers)
    print("bounds kept" if good else "a bound is missed")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
