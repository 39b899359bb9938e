"""Measures the overhead of describe_table relative to boto3's GetTable.

    python -m benchmarks.glue_describe --calls 2000 --rounds 7

Both use a botocore transport with in-memory responses: without a network and a slow test double,
only the time in the process is measured. Calls alternate; the medians of each round are compared,
and the result is the median of the rounds. The exit status is 1 if it exceeds the bound.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse

from lance_namespace_impls import connect

BOUND = 1.15
KEYS = {"access_key_id": "a", "secret_access_key": "b", "region": "us-east-1"}
TABLE = {
    "Name": "flights",
    "DatabaseName": "db",
    "TableType": "EXTERNAL_TABLE",
    "Parameters": {"table_type": "lance", "owner": "me", "storage.region": "eu-west-1"},
    "StorageDescriptor": {"Location": "s3://bucket/db/flights", "Columns": []},
    "CreateTime": 1700000000.0,
    "VersionId": "3",
    "CatalogId": "123456789012",
}
ANSWERS = {
    "GetTable": {"Table": TABLE},
    "GetDatabase": {"Database": {"Name": "db", "CatalogId": "123456789012"}},
}


class _Raw(io.BytesIO):
    """The body of a response as botocore reads it."""

    def stream(self, **_: Any) -> Any:
        yield self.read()


def respond_from_memory(client: Any) -> None:
    """Replace the network with in-memory responses."""

    def send(request: Any, **_: Any) -> AWSResponse:
        target = request.headers["X-Amz-Target"]
        operation = (target.decode() if isinstance(target, bytes) else target).split(".")[1]
        answer = ANSWERS.get(operation)
        status, body = 200, json.dumps(answer).encode()
        if answer is None:
            status, body = 400, b'{"__type": "EntityNotFoundException", "Message": "none"}'
        headers = {"Content-Type": "application/x-amz-json-1.1"}
        return AWSResponse(request.url, status, headers, _Raw(body))

    client.meta.events.register("before-send.glue.*", send)


def one_round(ways: tuple[Callable[[], Any], Callable[[], Any]], calls: int) -> tuple[float, float]:
    """Run both alternately; return the median duration of each in seconds."""
    timings: tuple[list[float], list[float]] = ([], [])
    gc.collect()
    for _ in range(calls):
        for way, seconds in zip(ways, timings, strict=True):
            start = time.perf_counter()
            way()
            seconds.append(time.perf_counter() - start)
    return median(timings[0]), median(timings[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="calls of each kind per round")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    client = boto3.client(
        "glue", aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1"
    )
    namespace: Any = connect("glue", KEYS)
    for each in (client, namespace._glue()):
        respond_from_memory(each)
    request = {"id": ["db", "flights"]}
    ways = (
        lambda: client.get_table(DatabaseName="db", Name="flights"),
        lambda: namespace.describe_table(request),
    )
    assert ways[1]().location == ways[0]()["Table"]["StorageDescriptor"]["Location"]
    rounds = [one_round(ways, options.calls) for _ in range(options.rounds)]
    ratio = median(ours / bare for bare, ours in rounds)
    bare, ours = (median(each) * 1e6 for each in zip(*rounds, strict=True))
    print(f"boto3 get_table p50 {bare:.0f} µs, describe_table p50 {ours:.0f} µs")
    print(f"ratio {ratio:.3f} (bound {BOUND}); rounds "
          + " ".join(f"{ours / bare:.3f}" for bare, ours in rounds))  # fmt: skip
    return 0 if ratio <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
