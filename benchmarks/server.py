"""Compares our server with pylance's `RestAdapter`: calls per second and latencies, alternately.

Both serve one folder, each in separate processes, and receive requests from one load generator (wrk)
over persistent connections: describe (100 tables in turn), count, a query of 10 rows, an indexed vector
query of 10 rows, and a list of 100 tables. All "fresh" queries differ, so that no response can be
reused. Each round measures all servers one after the other; the median of the rounds counts. Our
server runs as ``lance-ns serve``, once with one worker and once with a worker per core. Exit status 1
if a bound is missed.

With four cores or more, half of them are reserved for the load generator: on shared cores, the results
would mostly show the scheduler's time slices.

``--ceiling`` also measures a bare uvicorn that returns a few bytes: the maximum for one Python process
with ASGI under this load.

wrk is the Debian package of that name; ``--wrk PATH`` selects another binary.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from lance_namespace_impls import connect

DIMENSION = 64
TABLES = 100
PYLANCE = """
import sys
from lance.namespace import RestAdapter
with RestAdapter("dir", {"root": sys.argv[1]}, host="127.0.0.1", port=0) as server:
    print(f"http://127.0.0.1:{server.port}", flush=True)
    sys.stdin.read()
"""
BARE = """
import socket, sys, uvicorn
async def app(scope, receive, send):
    await receive()
    body = b'{"location":"/tables/t.lance"}'
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
config = uvicorn.Config(app, lifespan="off", access_log=False, log_level="critical", loop="uvloop")
uvicorn.Server(config).run([listener])
"""
OURS = "from lance_namespace_impls.cli import main; main()"
QUERY = {"k": 10, "filter": "id >= 10", "vector": {}, "columns": {"column_names": ["id", "text"]}}
VECTOR = {
    "k": 10,
    "vector": {"single_vector": [0.5] * DIMENSION},
    "columns": {"column_names": ["id", "text"]},
}
CALLS = {
    "describe": ("POST", "/v1/table/{}/describe", {}),
    "count": ("POST", "/v1/table/t/count_rows", {}),
    "query": ("POST", "/v1/table/t/query", QUERY),
    "vector": ("POST", "/v1/table/t/query", VECTOR),
    "fresh query": (
        "POST",
        "/v1/table/t/query",
        {**QUERY, "filter": "id >= 10 AND id < 10@NUMBER@"},
    ),
    "fresh vector": (
        "POST",
        "/v1/table/t/query",
        {**VECTOR, "vector": {"single_vector": ["@0.5NUMBER@"] + [0.5] * (DIMENSION - 1)}},
    ),
    "list": ("GET", "/v1/namespace/$/table/list", None),
}
# Minimum throughput relative to pylance's server: with one worker, and with a worker per core.
ONE = {**dict.fromkeys(CALLS, 0.6), "list": 1.0}
ALL = dict.fromkeys(ONE, 1.0)
P99 = {64: 1.0, 512: 1.0}
"""Maximum p99 of describe relative to pylance's server, by clients; with a worker per core."""


def paths(path: str) -> list[str]:
    """Return the paths that a call requests in turn."""
    names = ["t", *(f"other{number:03}" for number in range(TABLES - 1))]
    return [path.format(name) for name in names] if "{}" in path else [path]


def text_of(body: object, number: int | str) -> str:
    """Return a body as JSON; a fresh one contains a number of six digits."""
    text = json.dumps(body).replace('"@0.5NUMBER@"', "0.5NUMBER").replace("@NUMBER@", "NUMBER")
    return text.replace("NUMBER", str(number))


def make_tables(path: str, rows: int) -> None:
    rng = np.random.default_rng(7)
    vectors = pa.array(rng.random(rows * DIMENSION, dtype=np.float32))
    data = pa.table(
        {
            "id": pa.array(range(rows)),
            "text": pa.array([f"row {number}" for number in range(rows)]),
            "vector": pa.FixedSizeListArray.from_arrays(vectors, DIMENSION),
        }
    )
    with connect("dir", {"path": path}) as namespace:
        namespace.create_table({"id": ["t"]}, data)
        namespace.create_table_index(
            {"id": ["t"], "column": "vector", "index_type": "IVF_SQ", "num_partitions": 16}
        )
        for number in range(TABLES - 1):
            namespace.create_table({"id": [f"other{number:03}"]}, data.slice(0, 1))


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[str]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http://[\w.:]+", process.stdout.readline())
        assert found, "the server did not start"
        yield found[0]
    finally:
        process.terminate()
        process.communicate()


def ours(path: str, workers: int, *more: str) -> list[str]:
    return [
        *(sys.executable, "-c", OURS, "serve", "--impl", "dir", "-p", f"path={path}"),
        # As many may wait as there are clients: rejected requests would not count.
        *("--port", "0", "--workers", str(workers), "--limit", "waiting=2000", *more),
    ]


def check(uri: str, name: str) -> int:
    """Send one request, so that a failing server is not measured; return the response size."""
    method, path, body = CALLS[name]
    request = urllib.request.Request(
        uri + paths(path)[0],
        None if body is None else text_of(body, 100_000).encode(),
        {"content-type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request) as answer:
        return len(answer.read())


def script_of(name: str) -> str:
    """Return the script for wrk; most requests are built in advance, so that it only sends them.

    Headers have a fixed order, like those of a client library; wrk's own order varies between runs.
    """
    method, path, body = CALLS[name]
    text = "" if body is None else text_of(body, "NUMBER")
    before, number, after = text.partition("NUMBER")
    if number:
        # Starts at the clock, so that no other measurement has sent the same numbers.
        made = f"made({json.dumps(path)}, before .. (100000 + at) .. after)"
        beginning = f"local before, after = {json.dumps(before)}, {json.dumps(after)}\n"
        beginning += f"local at, last = {time.time_ns() // 1_000_000 % 900_000}, 900000\n"
    else:
        made = "requests[at]"
        beginning = "local requests, at, last = {}, 0, 0\n"
        beginning += "init = function(args)\n"
        beginning += "".join(
            f"requests[#requests + 1] = made({json.dumps(each)}, {json.dumps(text)})\n"
            for each in paths(path)
        )
        beginning += "last = #requests\nend\n"
    return f"""
local function made(path, body)
  return "{method} " .. path .. " HTTP/1.1\\r\\nHost: " .. wrk.headers["Host"] ..
    "\\r\\nContent-Type: application/json\\r\\nContent-Length: " .. #body .. "\\r\\n\\r\\n" .. body
end
{beginning}
request = function()
  at = at % last + 1
  return {made}
end
done = function(s, l, r)
  local errors = s.errors.status + s.errors.connect + s.errors.read + s.errors.timeout
  io.write(string.format("RESULT %d %d %d %d\\n", s.requests, s.duration, l:percentile(99), errors))
end
"""


def load(wrk: list[str], folder: Path, uri: str, name: str, clients: int, seconds: float) -> tuple:
    """Return calls per second and the 99th percentile in milliseconds."""
    script = folder / f"{name.replace(' ', '-')}.lua"
    script.write_text(script_of(name))
    # Long enough for each of many clients to get several responses.
    seconds = max(1, round(seconds), clients // 100)
    run = subprocess.run(
        [
            *(*wrk, "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "20s"),
            *("-s", str(script), uri),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    requests, micros, p99, errors = map(int, re.search(r"RESULT (.*)", run.stdout)[1].split())
    if errors:
        print(f"  {errors} errors of {requests}: {name}, {clients} clients", file=sys.stderr)
    return (requests - errors) / micros * 1e6, p99 / 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--wrk", default="wrk", help="the load generator")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1, help="of each measurement")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--clients", type=int, nargs="*", default=[4, 64, 512])
    parser.add_argument("--calls", nargs="*", default=list(CALLS), choices=list(CALLS))
    parser.add_argument("--ceiling", action="store_true", help="ask a bare uvicorn too")
    parser.add_argument("--option", action="append", default=[], help="of lance-ns serve")
    options = parser.parse_args()
    available = sorted(os.sched_getaffinity(0))
    shared = len(available) < 4
    of_load = available if shared else available[: len(available) // 2]
    of_servers = available if shared else available[len(available) // 2 :]
    wrk = ["taskset", "-c", ",".join(map(str, of_load)), options.wrk]
    os.sched_setaffinity(0, of_servers)
    cores = len(of_servers)
    failed = False
    with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as stack:
        data, scripts = os.path.join(home, "data"), Path(home)
        make_tables(data, options.rows)
        servers = {
            "pylance": stack.enter_context(running([sys.executable, "-c", PYLANCE, data])),
            "1 worker": stack.enter_context(running(ours(data, 1, *options.option))),
            f"{cores} workers": stack.enter_context(running(ours(data, cores, *options.option))),
        }
        if options.ceiling:
            bare = stack.enter_context(running([sys.executable, "-c", BARE]))
            for clients in options.clients:
                speed, p99 = load(wrk, scripts, bare, "describe", clients, options.seconds)
                print(f"bare uvicorn, {clients} clients: {speed:.0f} calls/s (p99 {p99:.1f} ms)")
        beside = "" if shared else f", {len(of_load)} for the load"
        print(
            f"{cores} cores{beside}, {options.rounds} rounds of {options.seconds:g} s, calls/s (p99 ms)\n"
        )
        print(f"{'call':12}{'clients':>8}" + "".join(f"{name:>28}" for name in servers))
        for clients in options.clients:
            for name in options.calls:
                for uri in servers.values():
                    check(uri, name)
                found = {server: [] for server in servers}
                for _ in range(options.rounds):
                    for server, uri in servers.items():
                        found[server].append(
                            load(wrk, scripts, uri, name, clients, options.seconds)
                        )
                middle = {
                    server: tuple(map(statistics.median, zip(*rows, strict=True)))
                    for server, rows in found.items()
                }
                base = middle["pylance"]
                shown = ""
                for (speed, p99), bounds in zip(middle.values(), (None, ONE, ALL), strict=True):
                    ratio = speed / base[0] if base[0] else math.inf
                    missed = bounds is not None and ratio < bounds[name]
                    if bounds is ALL and name == "describe" and clients in P99:
                        missed |= p99 > base[1] * P99[clients]
                    failed |= missed
                    shown += (
                        f"{speed:9.0f} ({p99:6.1f}) {ratio:5.2f}{'*' if missed else ' '}".rjust(28)
                    )
                print(f"{name:12}{clients:8}{shown}", flush=True)
        print("\n* below the bound")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
