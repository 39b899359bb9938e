"""Records the requests that real clients send to this project's server.

    python -m benchmarks._record_requests

The clients are lancedb's remote client, pylance's `RestNamespace`, the Java REST client and
lance-spark; each creates small tables and works with them as its users do. `server.py` replays the
requests in ``recorded_requests.json``.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import lance.namespace
import lancedb
import numpy as np
import pyarrow as pa
from starlette.middleware import Middleware

from lance_namespace_impls import connect
from lance_namespace_impls.server import ServerOptions, serving
from tests.clients.java import java_calls
from tests.clients.spark_sql import OWN, run_sql

RECORDED = Path(__file__).with_name("recorded_requests.json")
DIMENSION = 64
MOST_BODY_BYTES = 4096
MOST_OF_A_KIND = 5
"""Maximum number of recorded requests per client, method and route."""

requests: list[dict[str, Any]] = []


class Recorder:
    """ASGI middleware that records requests."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = bytearray()

        async def recorded() -> Any:
            message = await receive()
            body.extend(message.get("body", b""))
            return message

        await self._app(scope, recorded, send)
        query = scope["query_string"].decode()
        requests.append(
            {
                "method": scope["method"],
                "path": scope["raw_path"].decode() + (f"?{query}" if query else ""),
                "headers": {name.decode(): value.decode() for name, value in scope["headers"]},
                "body": bytes(body),
            }
        )


def rows(first: int, count: int) -> pa.Table:
    vectors = pa.array(np.random.default_rng(first).random(count * DIMENSION, dtype=np.float32))
    return pa.table(
        {
            "id": range(first, first + count),
            "text": [f"row {number}" for number in range(first, first + count)],
            "vector": pa.FixedSizeListArray.from_arrays(vectors, DIMENSION),
        }
    )


def with_lancedb(uri: str) -> None:
    database = lancedb.connect("db://db", api_key="sk-recorded", host_override=uri)
    database.create_table("letters", rows(0, 20))
    database.table_names()
    for number in range(3):
        table = database.open_table("letters")
        table.count_rows()
        table.count_rows(f"id > {number}")
        vector = [0.5 + number] * DIMENSION
        table.search(vector).select(["id", "text"]).limit(10).to_arrow()
        table.search(vector).where(f"id >= {number}").limit(10).to_arrow()
        table.search().where(f"id >= {number}").limit(10).to_arrow()
        table.add(rows(20 + number, 1))
        _ = table.schema
    table.list_versions()
    table.list_indices()


def with_pylance(uri: str) -> None:
    namespace = lance.namespace.RestNamespace(uri=uri)
    lance.write_dataset(
        rows(0, 20), namespace_client=namespace, table_id=["db", "parcels"], mode="create"
    )
    from lance_namespace import (
        DescribeTableRequest,
        ListNamespacesRequest,
        ListTablesRequest,
        TableExistsRequest,
    )

    namespace.list_namespaces(ListNamespacesRequest(id=[]))
    namespace.list_tables(ListTablesRequest(id=["db"]))
    namespace.table_exists(TableExistsRequest(id=["db", "parcels"]))
    for number in range(3):
        namespace.describe_table(DescribeTableRequest(id=["db", "parcels"]))
        dataset = lance.dataset(namespace_client=namespace, table_id=["db", "parcels"])
        dataset.to_table(filter=f"id > {number}")


def with_java(uri: str) -> None:
    java_calls("apache", uri, ("java",))


def with_spark(uri: str) -> None:
    found = run_sql(
        OWN,
        {"impl": "rest", "uri": uri},
        [
            "CREATE TABLE lake.db.flights (id BIGINT, text STRING)",
            "INSERT INTO lake.db.flights VALUES (1, 'a'), (2, 'b')",
            "SHOW TABLES IN lake.db",
            *["SELECT * FROM lake.db.flights WHERE id > 1"] * 2,
            "SELECT count(*) FROM lake.db.flights",
        ],
    )
    failed = [failure for _, failure in found if failure]
    assert not failed, failed


CLIENTS: dict[str, Callable[[str], None]] = {
    "lancedb": with_lancedb,
    "pylance": with_pylance,
    "java": with_java,
    "lance-spark": with_spark,
}


def kept(client: str) -> list[dict[str, Any]]:
    """Return the recorded requests, without long bodies and without most repetitions."""
    counts: dict[str, int] = {}
    found = []
    for each in requests:
        body = each["body"]
        kind = each["method"] + re.sub(r"/(table|namespace)/[^/?]+", r"/\1/_", each["path"])
        counts[kind] = counts.get(kind, 0) + 1
        if len(body) > MOST_BODY_BYTES or counts[kind] > MOST_OF_A_KIND:
            continue
        try:
            text = {"body": body.decode()}
        except UnicodeDecodeError:
            text = {"base64": base64.b64encode(body).decode()}
        found.append({"client": client, **each, **text})
        if "base64" in text:
            del found[-1]["body"]
    return found


def main() -> int:
    recorded = []
    for client, work in CLIENTS.items():
        requests.clear()
        with (
            tempfile.TemporaryDirectory() as folder,
            connect("dir", {"path": folder, "manifest": "true"}) as namespace,
        ):
            for name in ("db", "java"):
                namespace.create_namespace({"id": [name]})
            with serving(namespace, ServerOptions(middleware=[Middleware(Recorder)])) as uri:
                work(uri)
        found = kept(client)
        print(f"{client}: {len(requests)} requests, {len(found)} kept")
        recorded += found
    lines = ",\n".join(json.dumps(each) for each in recorded)
    RECORDED.write_text(f"[\n{lines}\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
