"""Creates catalogs of any size for the benchmarks: Glue in memory, a Unity double, a directory."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import lance
import lance.namespace
import pyarrow as pa
from botocore.awsrequest import AWSResponse

from lance_namespace_impls import connect

__all__ = [
    "API",
    "PAGE",
    "ROWS",
    "GlueInMemory",
    "bare_unity",
    "make_directory",
    "pylance",
    "unity",
]

PAGE = 100
MOST_LINKS = 50_000
"""Maximum hard links per file; ext4 allows 65,000."""
ROWS = pa.table({"x": [1]})
API = "/api/2.1/unity-catalog"
UNITY = """
import gc, sys, threading
from tests.servers.unity import UnityDouble
with UnityDouble() as server:
    server.add_catalog("main")
    for n in range(int(sys.argv[1])):
        server.add_schema(("main", f"s{n:04}"))
        for t in range(int(sys.argv[2])):
            name = ("main", f"s{n:04}", f"t{t:06}")
            server.add_table(name, properties={"table_type": "lance"})
    gc.freeze()
    print(server.uri, flush=True)
    threading.Event().wait()
"""


class _Raw(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


class GlueInMemory:
    """A Glue client with in-memory responses, which counts its calls."""

    def __init__(self, size: int, root: str) -> None:
        self.calls = 0
        tables = [
            {
                "Name": f"t{n:06}",
                "DatabaseName": "db",
                "TableType": "EXTERNAL_TABLE",
                "Parameters": {"table_type": "lance"},
                "StorageDescriptor": {"Location": f"{root}/t{n:06}", "Columns": []},
            }
            for n in range(size)
        ]
        self._pages = {}
        for start in range(0, size, PAGE):
            answer: dict[str, Any] = {"TableList": tables[start : start + PAGE]}
            if start + PAGE < size:
                answer["NextToken"] = str(start + PAGE)
            self._pages[str(start)] = json.dumps(answer).encode()

    def connect(self) -> Any:
        """Return a namespace whose client returns in-memory responses."""
        keys = {"access_key_id": "a", "secret_access_key": "b", "region": "us-east-1"}
        namespace: Any = connect("glue", keys)
        client = namespace._glue()
        client.meta.events.register("before-send.glue.*", self._answer)
        self.client = client
        return namespace

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        self.calls += 1
        target = request.headers["X-Amz-Target"]
        operation = (target.decode() if isinstance(target, bytes) else target).split(".")[1]
        status, body = 200, b""
        if operation == "GetTables":
            body = self._pages[json.loads(request.body).get("NextToken", "0")]
        elif operation == "GetDatabase":
            body = b'{"Database": {"Name": "db"}}'
        else:
            status, body = 400, b'{"__type": "EntityNotFoundException", "Message": "no"}'
        headers = {"content-type": "application/x-amz-json-1.1"}
        return AWSResponse(request.url, status, headers, _Raw(body))

    def bare(self) -> int:
        """List the tables with the bare client; return their number."""
        paginator = self.client.get_paginator("get_tables")
        found = paginator.paginate(DatabaseName="db", PaginationConfig={"PageSize": PAGE})
        return sum(len(page["TableList"]) for page in found)


@contextmanager
def unity(schemas: int, tables: int, *, separate_core: bool = False) -> Iterator[str]:
    """Run the test double in a separate process and yield its URL.

    Args:
        schemas: number of schemas.
        tables: number of tables per schema.
        separate_core: whether the double and this thread run on different processors, if there are
            several.
    """
    code = [sys.executable, "-c", UNITY, str(schemas), str(tables)]
    processors = os.sched_getaffinity(0)
    its_own = {max(processors)}
    with subprocess.Popen(code, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            if separate_core and len(processors) > 1:
                os.sched_setaffinity(process.pid, its_own)
                os.sched_setaffinity(0, processors - its_own)
            yield process.stdout.readline().strip()
        finally:
            os.sched_setaffinity(0, processors)
            process.terminate()


def bare_unity(client: httpx.Client, schema: str) -> int:
    """List the tables of a schema with bare httpx; return their number."""
    query = {"catalog_name": "main", "schema_name": schema, "omit_columns": "true"}
    found, token = 0, None
    while True:
        parameters = {**query, "max_results": "1000", **({"page_token": token} if token else {})}
        page = client.get(f"{API}/tables", params=parameters).json()
        found += len(page["tables"])
        if not (token := page.get("next_page_token")):
            return found


def make_directory(root: Path, size: int) -> Path:
    """Create a directory of tables that share their manifests by hard links."""
    lake = root / "lake"
    for n in range(size):
        if n % MOST_LINKS == 0:
            seed = root / f"seed{n}"
            lance.write_dataset(ROWS, seed)
            manifests = os.listdir(seed / "_versions")
        folder = lake / f"t{n:06}.lance/_versions"
        folder.mkdir(parents=True)
        for name in manifests:
            os.link(seed / "_versions" / name, folder / name)
    return lake


def pylance(root: Path) -> Any:
    """Return pylance's namespace for a directory."""
    return lance.namespace.DirectoryNamespace(root=str(root), manifest_enabled="false")
