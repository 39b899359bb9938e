"""Measures the overhead of the REST client: describe_table relative to `httpx.Client.post`.

Both call the same server over a persistent connection, with the same URL, body and timeouts, and
parse the JSON of the response; calls alternate. The result is the median, over all rounds, of the
ratio between the medians of each round. The servers are ours and pylance's, which is written in
Rust and fast. Exit status 1 if the client exceeds its bound.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import httpx
import lance
import pyarrow as pa

from lance_namespace_impls import connect

BOUND = 1.15
TABLE = "flights"

# Each one prints its URL and then waits until it is terminated.
SERVERS = {
    "pylance": """
import sys, threading
from lance.namespace import RestAdapter
with RestAdapter("dir", {"root": sys.argv[1]}, port=0) as server:
    print(f"http://127.0.0.1:{server.port}", flush=True)
    threading.Event().wait()
""",
    "ours": """
import sys
from lance_namespace_impls import connect
from lance_namespace_impls.server import serve
namespace = connect("dir", {"path": sys.argv[1]})
serve(namespace, port=0, announce=lambda address: print(address, flush=True))
""",
}


@contextmanager
def serving(code: str, folder: Path) -> Iterator[str]:
    """Run a server over `folder` in a separate process; yield its URL."""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def microseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e6


def compare(uri: str, rounds: int, calls: int) -> tuple[float, float, float]:
    """Return the medians of the client and of bare calls in microseconds, and of the ratios."""
    body = json.dumps({"id": [TABLE]}, separators=(",", ":")).encode()
    url = f"{uri}/v1/table/{TABLE}/describe?delimiter=%24"
    headers = {"Content-Type": "application/json"}
    timeout = httpx.Timeout(connect=10, read=60, write=60, pool=10)
    request = {"id": [TABLE]}
    with connect("rest", {"uri": uri}) as namespace, httpx.Client(timeout=timeout) as client:

        def ours() -> object:
            return namespace.describe_table(request)

        def bare() -> object:
            return client.post(url, content=body, headers=headers).raise_for_status().json()

        assert namespace.describe_table(request).location
        assert bare()
        for _ in range(calls // 4):
            ours(), bare()
        measured = []
        for _ in range(rounds):
            pairs = [(microseconds(ours), microseconds(bare)) for _ in range(calls)]
            own, plain = (median(column) for column in zip(*pairs, strict=True))
            measured.append((own, plain, own / plain))
    own, plain, ratio = (median(column) for column in zip(*measured, strict=True))
    return own, plain, ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=9, help="default: 9")
    parser.add_argument("--calls", type=int, default=500, help="calls per round (default: 500)")
    options = parser.parse_args()
    print(f"describe_table, p50, {options.rounds} rounds of {options.calls} calls each way\n")
    print(f"{'server':10} {'client us':>10} {'bare us':>10} {'ratio':>7} {'bound':>7}")
    failed = False
    with tempfile.TemporaryDirectory() as home:
        lance.write_dataset(pa.table({"id": [1]}), Path(home) / f"{TABLE}.lance")
        for name, code in SERVERS.items():
            with serving(code, Path(home)) as uri:
                own, plain, ratio = compare(uri, options.rounds, options.calls)
            over = ratio > BOUND
            failed |= over
            print(f"{name:10} {own:10.0f} {plain:10.0f} {ratio:7.3f} {BOUND:7.2f}{' over' * over}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
