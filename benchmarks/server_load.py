"""The server under load: heavy queries next to describe, slow uploads, and mixed work with kills.

    python benchmarks/server_load.py queries --seconds 60      # 200 heavy queries next to describe
    python benchmarks/server_load.py slow                      # 200 slow uploads, 200 partial requests
    python benchmarks/server_load.py mixed --minutes 30 --plot load.png

Each scenario starts ``lance-ns serve`` on its own folder, with one worker or the requested number.
The exit status is 1 if a bound is missed. The short forms (`--seconds 5`, `--minutes 1`) are for
everyday use.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import lance
import numpy as np
import pyarrow as pa

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect

OURS = "from lance_namespace_impls.cli import main; main()"
DIMENSION = 256
DESCRIBE_P99 = 1.0
MOST_BYTES = 2 << 30
UPLOAD_SECONDS = 5.0
WARM_MINUTES = 5.0
GROWTH = 1.25
"""Maximum growth until the end, relative to the use after the first minutes."""


@contextlib.contextmanager
def running(path: str, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", OURS, "serve", "--impl", "dir", "-p", f"path={path}"),
            *("--port", "0", "--no-request-log", *more),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http://[\w.:]+", process.stdout.readline())
        assert found, "the server did not start"
        yield process, found[0]
    finally:
        process.terminate()
        process.wait(timeout=60)


def processes(first: int) -> list[int]:
    """Return the first process and its workers."""
    found = [first]
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for pid in map(int, children):
            with contextlib.suppress(OSError):
                if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
    return found


def resources_of(pids: list[int]) -> tuple[int, int]:
    """Return the total resident bytes and open descriptors of processes."""
    size = files = 0
    for pid in pids:
        with contextlib.suppress(OSError, IndexError, ValueError):
            status = Path(f"/proc/{pid}/status").read_text()
            resident = re.search(r"VmRSS:\s+(\d+)", status)
            # A killed process has no such line until its parent waits for it.
            size += int(resident[1]) * 1024 if resident else 0
            files += len(os.listdir(f"/proc/{pid}/fd"))
    return size, files


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else 0.0


def in_threads(count: int, work: Callable[[int], None]) -> list[threading.Thread]:
    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    return threads


def make_table(path: str, rows: int) -> None:
    rng = np.random.default_rng(7)
    vectors = pa.array(rng.random(rows * DIMENSION, dtype=np.float32))
    data = {
        "id": pa.array(range(rows)),
        "vector": pa.FixedSizeListArray.from_arrays(vectors, DIMENSION),
    }
    with connect("dir", {"path": path}) as namespace:
        namespace.create_table({"id": ["t"]}, pa.table(data))


def queries(options: argparse.Namespace, home: str) -> bool:
    """Run heavy queries (a vector search without an index, and all rows) next to describe."""
    make_table(home, options.rows)
    heavy = (
        {"k": 100, "vector": {"single_vector": [0.5] * DIMENSION}},
        {"k": 0, "vector": {}, "columns": {"column_names": ["id", "vector"]}},
    )
    answers: Counter[str] = Counter()
    most = 0
    with running(home, "--workers", str(options.workers)) as (process, uri):
        end = time.monotonic() + options.seconds

        def query(number: int) -> None:
            with httpx.Client(base_url=uri, timeout=120) as client:
                while time.monotonic() < end:
                    try:
                        answer = client.post("/v1/table/t/query", json=heavy[number % 2])
                        answers[str(answer.status_code)] += 1
                        if answer.status_code == 429:
                            time.sleep(random.random())
                    except httpx.HTTPError as error:
                        answers[type(error).__name__] += 1

        # In a separate process: 200 clients in this one would delay each other.
        describing = subprocess.Popen(
            [sys.executable, __file__, "describe", "--uri", uri, "--seconds", str(options.seconds)],
            stdout=subprocess.PIPE,
            text=True,
        )
        threads = in_threads(options.clients, query)
        # On a busy machine, some clients may not have started by the end.
        while time.monotonic() < end or not most:
            most = max(most, resources_of(processes(process.pid))[0])
            time.sleep(0.2)
        for thread in threads:
            thread.join(timeout=180)
        hanging = sum(thread.is_alive() for thread in threads)
        times, statuses = json.loads(describing.communicate(timeout=180)[0])
        answers.update({f"describe {status}": count for status, count in statuses.items()})
    p99 = percentile(times, 0.99)
    print(
        f"{options.clients} clients, {options.seconds:g} s: {dict(answers)}, {hanging} unanswered"
    )
    print(
        f"describe p50 {percentile(times, 0.5) * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms of {len(times)}"
    )
    print(f"most resident memory {most / 2**20:.0f} MiB")
    known = {"200", "429", "describe 200"}
    return not hanging and p99 < DESCRIBE_P99 and most < MOST_BYTES and set(answers) <= known


def describe(options: argparse.Namespace, home: str) -> bool:
    """Request one table repeatedly; print the latencies and the number of each status."""
    times: list[float] = []
    statuses: Counter[int] = Counter()
    end = time.monotonic() + options.seconds
    with httpx.Client(base_url=options.uri, timeout=120) as client:
        while time.monotonic() < end:
            started = time.monotonic()
            statuses[client.post("/v1/table/t/describe", json={}).status_code] += 1
            times.append(time.monotonic() - started)
            time.sleep(0.01)
    json.dump([times, statuses], sys.stdout)
    return True


def slow(options: argparse.Namespace, home: str) -> bool:
    """Send slow uploads and incomplete requests, next to a regular one."""
    head = (
        b"POST /v1/table/%s/create HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/vnd.apache.arrow.stream\r\nContent-Length: 1000000\r\n\r\n"
    )
    stop = threading.Event()
    took: list[float] = []
    with running(home, "--workers", str(options.workers)) as (process, uri):
        host, port = uri.removeprefix("http://").split(":")

        def trickle(number: int) -> None:
            while not stop.is_set():
                with contextlib.suppress(OSError), socket.create_connection((host, int(port))) as c:
                    c.sendall(head % b"slow%d" % number)
                    while not stop.wait(5):
                        c.sendall(b"\xff")

        def half(number: int) -> None:
            while not stop.is_set():
                with contextlib.suppress(OSError), socket.create_connection((host, int(port))) as c:
                    c.sendall(b"POST /v1/table/t/describe HTTP/1.1\r\nHost: localhost\r\nX-A: ")
                    c.settimeout(60)
                    c.recv(1)

        in_threads(options.clients, trickle)
        in_threads(options.clients, half)
        time.sleep(2)
        data = pa.table({"id": list(range(100_000))})
        end = time.monotonic() + options.seconds
        with connect("rest", {"uri": uri}) as client:
            number = 0
            while time.monotonic() < end:
                started = time.monotonic()
                client.create_table({"id": [f"t{number}"]}, data)
                took.append(time.monotonic() - started)
                number += 1
                time.sleep(0.2)
        size, files = resources_of(processes(process.pid))
        stop.set()
    print(
        f"{options.clients} trickling uploads and {options.clients} half requests: {len(took)} uploads, "
        f"slowest {max(took):.2f} s; {size / 2**20:.0f} MiB, {files} descriptors"
    )
    return max(took) < UPLOAD_SECONDS


def mixed(options: argparse.Namespace, home: str) -> bool:
    """Append, read and describe while workers are killed: acknowledged rows must remain."""
    seconds = options.minutes * 60
    make_table(home, 2000)
    writers = 4
    acknowledged: list[set[int]] = [set() for _ in range(writers)]
    answers: Counter[str] = Counter()
    samples: list[tuple[float, int, int, int]] = []
    kills = 0
    with running(home, "--workers", str(max(2, options.workers))) as (process, uri):
        started = time.monotonic()
        end = started + seconds

        def write(number: int) -> None:
            name, value = f"w{number}", 0
            none = pa.table({"v": pa.array([], pa.int64())})
            with connect("rest", {"uri": uri, "max_retries": "0", "read_timeout": "60"}) as client:
                while time.monotonic() < end:
                    row = pa.table({"v": [value]})
                    try:
                        client.create_table({"id": [name], "mode": "ExistOk"}, none)
                        client.insert_into_table({"id": [name]}, row)
                        acknowledged[number].add(value)
                        answers["append"] += 1
                        if value % 200 == 199:
                            # Limits the number of versions, like a maintenance job.
                            dataset = lance.dataset(f"{home}/{name}.lance")
                            dataset.optimize.compact_files()
                            dataset.cleanup_old_versions(timedelta(minutes=1))
                    except (LanceNamespaceError, OSError) as error:
                        answers[f"append {getattr(error, 'code', type(error).__name__)}"] += 1
                        time.sleep(0.1)
                    value += 1
                    time.sleep(0.05)

        def read(number: int) -> None:
            calls = (
                ("/v1/table/t/describe", {}),
                ("/v1/table/t/count_rows", {}),
                ("/v1/table/t/query", {"k": 10, "vector": {"single_vector": [0.5] * DIMENSION}}),
            )
            while time.monotonic() < end:
                with (
                    contextlib.suppress(httpx.HTTPError),
                    httpx.Client(base_url=uri, timeout=60) as c,
                ):
                    for path, body in calls * 20:
                        try:
                            status = c.post(path, json=body).status_code
                            answers[f"read {status}"] += 1
                        except httpx.HTTPError as error:
                            answers[f"read {type(error).__name__}"] += 1
                            raise
                        time.sleep(0.01)

        threads = in_threads(writers, write) + in_threads(4, read)
        next_kill = started + min(60.0, seconds / 4)
        while time.monotonic() < end:
            pids = processes(process.pid)
            size, files = resources_of(pids)
            samples.append(((time.monotonic() - started) / 60, size, files, len(pids) - 1))
            if time.monotonic() >= next_kill and len(pids) > 1:
                os.kill(random.choice(pids[1:]), signal.SIGKILL)
                kills += 1
                next_kill += min(60.0, seconds / 4)
            time.sleep(1)
        for thread in threads:
            thread.join(timeout=180)
        hanging = sum(thread.is_alive() for thread in threads)
    lost = 0
    with connect("dir", {"path": home}) as namespace:
        for number, values in enumerate(acknowledged):
            stored = namespace.open_table([f"w{number}"]).to_table()["v"].to_pylist()
            lost += len(values - set(stored))
            assert len(stored) == len(set(stored)), "a row was written twice"
    total = sum(map(len, acknowledged))
    print(f"{options.minutes:g} min, {kills} kills: {total} appends acknowledged, {lost} lost")
    print(f"{dict(answers)}, {hanging} unanswered")
    if options.plot:
        plot(samples, Path(options.plot))
    if options.samples:
        Path(options.samples).write_text(json.dumps(samples))
    flat = is_flat(samples, min(WARM_MINUTES, options.minutes / 3))
    return not lost and not hanging and total > 0 and flat


def is_flat(samples: list[tuple[float, int, int, int]], warm: float) -> bool:
    """Return whether memory and descriptors in the last third equal those after the start."""
    after = [row for row in samples if row[0] >= warm]
    third = max(1, len(after) // 3)
    flat = True
    for at, what, unit in ((1, "resident memory", 2**20), (2, "descriptors", 1)):
        early = percentile([row[at] for row in after[:third]], 0.5)
        late = percentile([row[at] for row in after[-third:]], 0.5)
        print(f"{what}: {early / unit:.0f} at first, {late / unit:.0f} in the end")
        flat &= late <= early * GROWTH
    return flat


def plot(samples: list[tuple[float, int, int, int]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(9, 7))
    minutes = [row[0] for row in samples]
    for axis, at, unit, label in (
        (axes[0], 1, 2**20, "resident MiB"),
        (axes[1], 2, 1, "descriptors"),
        (axes[2], 3, 1, "workers"),
    ):
        axis.plot(minutes, [row[at] / unit for row in samples], linewidth=0.8)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[2].set_xlabel("minutes")
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["queries", "slow", "mixed", "describe"])
    parser.add_argument("--uri", help="address of the server, only for describe")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--plot", metavar="PNG", help="plot of the measurements, only for mixed; needs matplotlib"
    )
    parser.add_argument(
        "--samples",
        metavar="JSON",
        help="samples (minute, bytes, descriptors, workers), only for mixed",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        kinds = {"queries": queries, "slow": slow, "mixed": mixed, "describe": describe}
        good = kinds[options.what](options, home)
    if options.what == "describe":
        return 0
    print("bounds kept" if good else "a bound is missed")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
