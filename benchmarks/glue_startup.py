"""Measures the time of a fresh process until its first response from Glue.

    python -m benchmarks.glue_startup --rounds 15

Three processes run alternately: one imports boto3 and makes a GetTable call, one connects with
`connect("glue")` and makes a describe_table call, and one only imports boto3. All of them call the
tests' double, which runs in a separate process. The process's CPU time and the elapsed time are
compared; the result is the median of the rounds. The exit status is 1 if ours exceeds its bound.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from statistics import median

BOUND = 1.2

SERVER = """
import sys, threading
from tests.servers.glue import GlueServer
server = GlueServer().start()
store = server.backend()
store.create_database("db", {"Name": "db"})
server.add_tables("db", {"t": {
    "TableType": "EXTERNAL_TABLE",
    "Parameters": {"table_type": "lance"},
    "StorageDescriptor": {"Location": "s3://bucket/t"},
}})
print(server.endpoint, flush=True)
threading.Event().wait()
"""

CLOCK = """
import sys, time
started = time.perf_counter()
{body}
print(time.process_time(), time.perf_counter() - started)
"""

BARE = """
import boto3
client = boto3.client("glue", endpoint_url=sys.argv[1], region_name="us-east-1",
                      aws_access_key_id="a", aws_secret_access_key="b")
assert client.get_table(DatabaseName="db", Name="t")["Table"]["StorageDescriptor"]["Location"]
"""

OURS = """
from lance_namespace_impls import connect
namespace = connect("glue", {"endpoint": sys.argv[1], "region": "us-east-1",
                             "access_key_id": "a", "secret_access_key": "b"})
assert namespace.describe_table({"id": ["db", "t"]}).location
heavy = {"pyarrow", "lance", "numpy", "httpx", "pandas"} & set(sys.modules)
assert not heavy, heavy
"""

WAYS = {"boto3": BARE, "ours": OURS, "import boto3": "import boto3"}


def run(body: str, endpoint: str, compiled: str) -> tuple[float, float]:
    """Run a process; return its CPU seconds and its elapsed seconds.

    Args:
        body: code to run.
        endpoint: URL of the double.
        compiled: folder for compiled modules, which an installed package has next to its modules.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", CLOCK.format(body=body), endpoint],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    cpu, wall = map(float, done.stdout.split())
    return cpu, wall


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    timings: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    with (
        tempfile.TemporaryDirectory() as compiled,
        subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as server,
    ):
        assert server.stdout is not None
        try:
            endpoint = server.stdout.readline().strip()
            for body in WAYS.values():
                run(body, endpoint, compiled)
            for _ in range(options.rounds):
                for name, body in WAYS.items():
                    timings[name].append(run(body, endpoint, compiled))
        finally:
            server.terminate()
    ratios = []
    for position, kind in enumerate(("CPU", "elapsed")):
        medians = {
            name: median(each[position] for each in times) for name, times in timings.items()
        }
        pairs = zip(timings["ours"], timings["boto3"], strict=True)
        ratio = median(ours[position] / bare[position] for ours, bare in pairs)
        ratios.append(ratio)
        shown = ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in medians.items())
        print(f"{kind}: {shown}; ratio {ratio:.3f} (bound {BOUND})")
    return 0 if max(ratios) <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
