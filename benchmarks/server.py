"""Measures the server's throughput for requests of real clients, compared with pylance's server.

The requests in ``recorded_requests.json`` are replayed. Each request addresses a random table (Zipf
distribution), with a new number in its filter or vector and, if the client sends one, a new request
id. wrk sends them from memory, so the load generator uses little CPU. Each round measures all
servers one after another; the results are medians of the rounds. The exit status is 1 if a bound is
missed.

With four cores or more, half of them are reserved for the load generator. Otherwise, it shares
cores with the servers, and the figures include the time that requests wait for a core.

``--against CHECKOUT`` measures another checkout of this project instead of pylance's server, to
show the effect of a change. ``--ceiling`` also measures a bare uvicorn that returns a constant, the
limit of one Python process with ASGI.

wrk is the Debian package with that name; ``--wrk PATH`` selects another.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lance_namespace_impls import connect

RECORDED = Path(__file__).with_name("recorded_requests.json")
DIMENSION = 64
TABLES = 500
ZIPF_EXPONENT = 1.0
FASTEST = 20_000
"""Requests per second that no server exceeds in its first round."""
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
OF_A_TABLE = re.compile(
    r"/v1/table/(?P<name>[^/?]+)/(?P<operation>describe|exists|count_rows|query)/?"
)
OF_THE_CATALOG = re.compile(r"/v1/(table|namespace/[^/?]+/(table/)?list)/?")
SENT_HEADERS = re.compile(
    r"(?!(host|content-length|transfer-encoding|x-lancedb-min(-read)?-version)$)"
)
NUMBER = re.compile(r"\d+")
CLIENTS = ("lancedb", "pylance", "java", "lance-spark")
CALLS = ("all", "mix", "describe", "count", "query", "vector", "list", *CLIENTS)
"""The kinds of calls: reads of all clients in equal parts; reads of all clients but lancedb, whose
dialect pylance's server does not support; the latter by operation; and the reads of each client."""
# Minimum throughput relative to pylance's server, with one worker and with one worker per core.
ONE = {"mix": 0.8}
ALL = {"mix": 1.2}
P99 = {64: 1.0, 512: 1.0}
"""Maximum p99 of the mix relative to pylance's server, by number of clients, with one worker per
core."""
LUA = """
local file = io.open("{path}", "rb")
local requests, at, last = {{}}, 0, 0
init = function(args)
  for size in file:lines() do
    requests[#requests + 1] = file:read(tonumber(size))
  end
  last = #requests
end
request = function()
  at = at % last + 1
  return requests[at]
end
done = function(s, l, r)
  local errors = s.errors.status + s.errors.connect + s.errors.read + s.errors.timeout
  io.write(string.format("RESULT %d %d %d %d\\n", s.requests, s.duration, l:percentile(99), errors))
end
"""


class Requests:
    """Reads of real clients, on tables drawn at random.

    Args:
        recorded: recorded requests; those that change something are ignored.
    """

    def __init__(self, recorded: list[dict[str, Any]]) -> None:
        self._random = random.Random(7)
        self._weights = [1 / (rank + 1) ** ZIPF_EXPONENT for rank in range(TABLES)]
        self._kinds: dict[str, list[dict[str, Any]]] = {name: [] for name in CALLS}
        for each in recorded:
            if (kind := self._kind(each)) is None:
                continue
            # Listings of hundreds of tables would outweigh the rest, so they have their own row.
            if kind != "list":
                self._kinds[each["client"]].append(each)
            if each["client"] != "lancedb":
                self._kinds[kind].append(each)

    def _kind(self, each: dict[str, Any]) -> str | None:
        path = each["path"].partition("?")[0]
        if each["method"] == "GET" and OF_THE_CATALOG.fullmatch(path):
            return "list"
        found = OF_A_TABLE.fullmatch(path)
        if found is None:
            return None
        operation = found["operation"]
        if operation == "query":
            return "vector" if _has_vector(json.loads(each["body"])) else "query"
        return "count" if operation == "count_rows" else "describe"

    def generate(self, kind: str, count: int) -> list[bytes]:
        """Return requests of a kind, each with fresh values."""
        tables = self._random.choices(range(TABLES), self._weights, k=count)
        return [self._renewed(self._chosen(kind), f"t{table:03}") for table in tables]

    def _chosen(self, kind: str) -> dict[str, Any]:
        if kind in ("all", "mix"):
            kind = self._random.choice(CLIENTS if kind == "all" else CLIENTS[1:])
        return self._random.choice(self._kinds[kind])

    def _renewed(self, each: dict[str, Any], table: str) -> bytes:
        path = OF_A_TABLE.sub(lambda found: found[0].replace(found["name"], table, 1), each["path"])
        path = re.sub(r"/v1/namespace/[^/?]+/", "/v1/namespace/%24/", path)
        headers = {
            name: value for name, value in each["headers"].items() if SENT_HEADERS.match(name)
        }
        if "x-request-id" in headers:
            headers["x-request-id"] = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        body = each["body"]
        if body:
            body = json.dumps(self._renewed_body(json.loads(body), table), separators=(",", ":"))
        headers["content-length"] = str(len(body))
        lines = [f"{each['method']} {path} HTTP/1.1", "host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", body]).encode()

    def _renewed_body(self, body: dict[str, Any], table: str) -> dict[str, Any]:
        if "id" in body:
            body["id"] = [table]
        for key in ("filter", "predicate"):
            if isinstance(body.get(key), str):
                body[key] = NUMBER.sub(str(self._random.randrange(10**9)), body[key])
        if _has_vector(body):
            vector = [round(self._random.random(), 6) for _ in range(DIMENSION)]
            if isinstance(body["vector"], dict):
                body["vector"]["single_vector"] = vector
            else:
                body["vector"] = vector
        return body


def _has_vector(query: dict[str, Any]) -> bool:
    vector = query.get("vector")
    return bool(vector.get("single_vector") if isinstance(vector, dict) else vector)


def make_tables(path: str, rows: int) -> None:
    """Create the tables; the first, which is read most often, has the most rows and an index."""
    rng = np.random.default_rng(7)
    vectors = pa.array(rng.random(rows * DIMENSION, dtype=np.float32))
    data = pa.table(
        {
            "id": pa.array(range(rows)),
            "x": pa.array(range(rows)),
            "text": pa.array([f"row {number}" for number in range(rows)]),
            "vector": pa.FixedSizeListArray.from_arrays(vectors, DIMENSION),
        }
    )
    with connect("dir", {"path": path}) as namespace:
        namespace.create_table({"id": ["t000"]}, data)
        namespace.create_table_index(
            {"id": ["t000"], "column": "vector", "index_type": "IVF_SQ", "num_partitions": 16}
        )
        for number in range(1, TABLES):
            namespace.create_table({"id": [f"t{number:03}"]}, data.slice(0, 100))


@contextlib.contextmanager
def running(command: list[str], checkout: str | None = None) -> Iterator[str]:
    """Run a server and yield its address."""
    environment = dict(os.environ)
    if checkout is not None:
        environment["PYTHONPATH"] = os.pathsep.join((checkout, os.path.join(checkout, "generated")))
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        cwd=checkout,
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
    """Return the command of this project's server."""
    return [
        *(sys.executable, "-c", OURS, "serve", "--impl", "dir", "-p", f"path={path}"),
        # The queue is as long as the number of clients, so no calls are rejected.
        *("--port", "0", "--workers", str(workers), "--limit", "waiting=2000"),
        *("--lancedb-database", "db=", *more),
    ]


def check(uri: str, request: bytes) -> None:
    """Send a request once, since a server that fails must not be measured."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, path, _ = first.split(" ")
    sent = urllib.request.Request(
        uri + path, body or None, dict(line.split(": ", 1) for line in lines[1:]), method=method
    )
    with urllib.request.urlopen(sent) as answer:
        answer.read()


def load(
    wrk: list[str], folder: Path, uri: str, requests: list[bytes], clients: int, seconds: int
) -> tuple[float, float]:
    """Return requests per second and the 99th percentile in milliseconds."""
    host = uri.removeprefix("http://").encode()
    sent = [each.replace(b"host: 127.0.0.1", b"host: " + host, 1) for each in requests]
    data, script = folder / "requests", folder / "load.lua"
    data.write_bytes(b"".join(b"%d\n%s" % (len(each), each) for each in sent))
    script.write_text(LUA.format(path=data))
    run = subprocess.run(
        [
            *(*wrk, "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "20s"),
            *("-s", str(script), uri),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"RESULT (.*)", run.stdout)
    assert found, run.stdout + run.stderr
    total, micros, p99, errors = map(int, found[1].split())
    if errors:
        print(f"  {errors} of {total} failed, {clients} clients", file=sys.stderr)
    if total > len(requests):
        print(f"  {total} sent, only {len(requests)} of them fresh", file=sys.stderr)
    return (total - errors) / micros * 1e6, p99 / 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--wrk", default="wrk", help="the load generator")
    parser.add_argument("--against", help="checkout to measure instead of pylance's server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="of each measurement")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--clients", type=int, nargs="*", default=[4, 64, 512])
    parser.add_argument("--workers", type=int, nargs="*", help="default: one, and one per core")
    parser.add_argument("--calls", nargs="*", default=list(CALLS), choices=list(CALLS))
    parser.add_argument("--ceiling", action="store_true", help="also measure a bare uvicorn")
    parser.add_argument("--option", action="append", default=[], help="of lance-ns serve")
    options = parser.parse_args()
    available = sorted(os.sched_getaffinity(0))
    shared = len(available) < 4
    of_load = available if shared else available[: len(available) // 2]
    of_servers = available if shared else available[len(available) // 2 :]
    wrk = ["taskset", "-c", ",".join(map(str, of_load)), options.wrk]
    os.sched_setaffinity(0, of_servers)
    cores = len(of_servers)
    counts = options.workers or [1, cores]
    requests = Requests(json.loads(RECORDED.read_text()))
    failed = False
    with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as stack:
        data, folder = os.path.join(home, "data"), Path(home)
        make_tables(data, options.rows)
        servers: dict[str, tuple[str, str]] = {}
        """Address of each server by name, and the name of the one that it is compared with."""
        if options.against is None:
            command = [sys.executable, "-c", PYLANCE, data]
            servers["pylance"] = stack.enter_context(running(command)), "pylance"
        for workers in counts:
            name = "1 worker" if workers == 1 else f"{workers} workers"
            command = ours(data, workers, *options.option)
            base = "pylance"
            if options.against is not None:
                base = f"other, {name}"
                other = running(command, os.path.abspath(options.against))
                servers[base] = stack.enter_context(other), base
            servers[name] = stack.enter_context(running(command)), base
        if options.ceiling:
            bare = stack.enter_context(running([sys.executable, "-c", BARE]))
            for clients in options.clients:
                prepared = requests.generate("mix", 100)
                speed, p99 = load(wrk, folder, bare, prepared, clients, 1)
                print(f"bare uvicorn, {clients} clients: {speed:.0f} calls/s (p99 {p99:.1f} ms)")
        suffix = "" if shared else f", {len(of_load)} for the load"
        print(
            f"{cores} cores{suffix}, {options.rounds} rounds of {options.seconds:g} s, "
            f"{TABLES} tables; calls/s (p99 in ms) ratio\n"
        )
        print(f"{'call':12}{'clients':>8}" + "".join(f"{name:>28}" for name in servers))
        for clients in options.clients:
            # Long enough for each of many clients to get some responses.
            duration = max(1, round(options.seconds), clients // 100)
            for call in options.calls:
                measured = {
                    name: uri
                    for name, (uri, _) in servers.items()
                    if name != "pylance" or call not in ("all", "lancedb")
                }
                for uri in measured.values():
                    for request in requests.generate(call, 20):
                        check(uri, request)
                rates: dict[str, list[tuple[float, float]]] = {name: [] for name in measured}
                for _ in range(options.rounds):
                    for name, uri in measured.items():
                        # No request is sent twice, unless a server doubles its speed.
                        fastest = max((speed for speed, _ in rates[name]), default=FASTEST / 2)
                        prepared = requests.generate(call, round(2 * fastest * duration))
                        rates[name].append(load(wrk, folder, uri, prepared, clients, duration))
                middle = {
                    name: tuple(map(statistics.median, zip(*found, strict=True)))
                    for name, found in rates.items()
                }
                shown = ""
                for name, (_, base) in servers.items():
                    if name not in middle:
                        shown += "-".rjust(28)
                        continue
                    speed, p99 = middle[name]
                    ratio, missed = math.nan, False
                    if base in middle:
                        ratio = speed / middle[base][0] if middle[base][0] else math.inf
                    if base == "pylance" != name:
                        bounds = ONE if name == "1 worker" else ALL
                        missed = ratio < bounds.get(call, 0)
                        if bounds is ALL and call == "mix" and clients in P99:
                            missed |= p99 > middle[base][1] * P99[clients]
                    failed |= missed
                    shown += (
                        f"{speed:9.0f} ({p99:6.1f}) {ratio:5.2f}{'*' if missed else ' '}".rjust(28)
                    )
                print(f"{call:12}{clients:8}{shown}", flush=True)
        print("\n* misses the bound")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
