"""Measures costs that should not grow with the catalog: operations relative to peers, at several
sizes.

    python -m benchmarks.scale --rows pages directory --sizes 1000 10000 100000

Peers run alternately in the same process: pylance's own namespace for directories and versions,
bare boto3, httpx and Thrift calls for servers. In each row, the ratio at the largest size may be at
most 1.3 times that at the smallest, in addition to the printed bound. Exit status 1 if a bound is
exceeded.

Results are medians. Imported modules and fixtures are excluded from garbage collection: scanning
them takes half as long as a walk, and would affect ours or the peer at random. The Unity server for
page-by-page walks runs on a separate processor if there are two.

Rows: ``pages`` (Glue, Unity, ``dir``), ``hive`` (pages on a metastore, which takes minutes to
fill), ``declared`` (calls of listings without declared tables), ``directory`` (create, exists,
drop), ``versions`` (versions and tags), ``latency`` (a catalog of 200 namespaces with 5 ms of
latency), ``threads`` (200 concurrent listings) and ``ls`` (the first line of ``lance-ns ls``).
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import lance
import lance_namespace as official
import pyarrow as pa

from benchmarks._catalogs import (
    API,
    PAGE,
    ROWS,
    GlueInMemory,
    bare_unity,
    make_directory,
    pylance,
    unity,
)
from benchmarks.hive_reads import fill as fill_metastore
from benchmarks.iceberg_tables import latency
from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.core.concurrent import later
from tests.servers.hive import RELEASES, Metastore
from tests.servers.iceberg import IcebergFixture

AT_ONCE = 16
GROWTH = 1.3


class Report:
    """Prints the rows, and collects exceeded bounds."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._first: dict[str, float] = {}

    def row(
        self,
        what: str,
        size: int,
        ours: float,
        peer: float,
        bound: float,
        unit: str = "ms",
        *,
        grows: bool = False,
    ) -> None:
        """Print a row with our value and the peer's, in milliseconds or calls.

        If `grows` is set, only the ratio is bounded, for example the ratio of two costs of ours.
        """
        ratio = ours / peer
        growth = ratio / self._first.setdefault(what, ratio)
        print(
            f"{what:<40} {size:>8,} ours {ours:10.3f} {unit:<5} peer {peer:10.3f} {unit:<5} "
            f"ratio {ratio:6.2f} of {bound:4.2f}  growth {growth:5.2f} of {GROWTH}",
            flush=True,
        )
        if ratio > bound:
            self.faults.append(f"{what} at {size:,}: {ratio:.2f}, over {bound}")
        if growth > GROWTH and not grows:
            self.faults.append(f"{what} grows {growth:.2f} times to {size:,}, over {GROWTH}")


def timed(call: Callable[[], Any]) -> float:
    """Return the duration of a call in milliseconds."""
    started = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - started)


def exclude_from_collection() -> None:
    """Exclude existing objects from garbage collection, but not new ones."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def in_turns(ours: Callable[[], Any], peer: Callable[[], Any], times: int) -> tuple[float, float]:
    """Time two calls alternately; return the median of each in milliseconds."""
    exclude_from_collection()
    timings = [(timed(ours), timed(peer)) for _ in range(times + 1)][1:]
    return median(one for one, _ in timings), median(other for _, other in timings)


def settled() -> None:
    """Wait for work that calls deferred to another thread."""
    done = threading.Event()
    later(done.set)
    done.wait()


def walk(namespace: Any, request: dict[str, Any]) -> tuple[list[float], int]:
    """Walk a listing page by page; return the milliseconds of each page, and the number of names."""
    timings: list[float] = []
    found = 0
    token = None
    while True:
        started = time.perf_counter()
        page = namespace.list_tables({**request, "limit": PAGE, "page_token": token})
        timings.append(1000 * (time.perf_counter() - started))
        found += len(page.tables)
        if not (token := page.page_token):
            return timings, found


def pages(
    report: Report,
    name: str,
    size: int,
    namespace: Any,
    request: dict[str, Any],
    bare: Callable[[], int],
) -> None:
    """Compare a page-by-page walk with a bare walk, and its last page with its first."""
    ours: list[float] = []
    peer: list[float] = []
    ends: list[tuple[float, float]] = []
    exclude_from_collection()
    for _ in range(6 + 20_000 // size):
        timings, found = walk(namespace, request)
        assert found == size, f"{found} of {size}"
        ours.append(sum(timings))
        ends.append((timings[-1], timings[0]))
        peer.append(timed(lambda: _same(bare(), size)))
    report.row(f"{name}: walk by {PAGE}", size, median(ours[1:]), median(peer[1:]), 1.3)
    last, first = (median(each) for each in zip(*ends[1:], strict=True))
    report.row(f"{name}: last page beside the first", size, last, first, 1.5, grows=True)


def _same(found: int, size: int) -> None:
    assert found == size, f"{found} of {size}"


def run_pages(report: Report, size: int) -> None:
    """Compare pages on Glue, Unity and directories."""
    if size <= 10_000:
        glue = GlueInMemory(size, "/nowhere")
        pages(report, "Glue", size, glue.connect(), {"id": ["db"]}, glue.bare)
        with (
            unity(1, size, separate_core=True) as uri,
            httpx.Client(base_url=uri) as client,
            connect("unity", {"endpoint": uri, "catalog": "main"}) as names,
        ):
            request = {"id": ["main", "s0000"]}
            pages(report, "Unity", size, names, request, lambda: bare_unity(client, "s0000"))
    with tempfile.TemporaryDirectory() as folder:
        lake = make_directory(Path(folder), size)
        bare = lambda: sum(  # noqa: E731
            not os.path.exists(f"{entry.path}/.lance-deregistered")
            for entry in sorted(os.scandir(lake), key=lambda each: each.name)
            if entry.is_dir()
        )
        pages(report, "dir", size, connect("dir", {"path": str(lake)}), {}, bare)


def run_hive(report: Report, size: int) -> None:
    """Compare pages on a metastore; the bare walk is a single call for all names."""
    with (
        tempfile.TemporaryDirectory(prefix="lns-") as folder,
        Metastore(RELEASES["4.2"], Path(folder)) as metastore,
    ):
        properties = {"uri": metastore.uri, "root": f"{folder}/lake"}
        namespace: Any = connect("hive3", properties)
        namespace.create_namespace({"id": ["hive", "many"]})
        fill_metastore(metastore, "many", size, size, Path(folder, "data"))
        bare = lambda: len(namespace._metastore.lance_table_names("hive", "many"))  # noqa: E731
        pages(report, "Hive", size, namespace, {"id": ["hive", "many"]}, bare)
        namespace.close()


def run_declared(report: Report, size: int) -> None:
    """Count the calls of a listing without declared tables; on `dir`, compare its time with pylance."""
    if size <= 10_000:
        glue = GlueInMemory(size, "/nowhere")
        namespace = glue.connect()
        namespace.list_tables({"id": ["db"], "include_declared": False})
        # The database is looked up among catalogs and databases.
        report.row("Glue: calls without declared", size, glue.calls, size / PAGE + 2, 1.0, "calls")
        with (
            unity(1, size) as uri,
            connect("unity", {"endpoint": uri, "catalog": "main"}) as names,
        ):
            requests: list[Any] = []
            api: Any = names
            api._api._client.event_hooks["request"].append(requests.append)
            names.list_tables({"id": ["main", "s0000"], "include_declared": False})
            calls = size / PAGE + (size % PAGE == 0)
            report.row("Unity: calls without declared", size, len(requests), calls, 1.0, "calls")
    with tempfile.TemporaryDirectory() as folder:
        lake = make_directory(Path(folder), size)
        ours, theirs = connect("dir", {"path": str(lake)}), pylance(lake)
        report.row(
            "dir: without declared beside pylance",
            size,
            *in_turns(
                lambda: ours.list_tables({"include_declared": False}),
                lambda: theirs.list_tables(
                    official.ListTablesRequest(id=[], include_declared=False)
                ),
                3 if size <= 10_000 else 1,
            ),
            1.2,
        )


# --- directories and their tables


def run_directory(report: Report, size: int) -> None:
    """Compare create, exists and drop with pylance's."""
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, ROWS.schema) as writer:
        writer.write_table(ROWS)
    body = buffer.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        lake = make_directory(Path(folder), size)
        ours, theirs = connect("dir", {"path": str(lake)}), pylance(lake)
        one, other = iter(range(10**9)), iter(range(10**9))
        there, missing = [f"t{size // 2:06}"], ["nowhere"]
        steps = {
            "create": (
                lambda: ours.create_table({"id": [f"o{next(one)}"]}, body),
                lambda: theirs.create_table(
                    official.CreateTableRequest(id=[f"p{next(other)}"]), body
                ),
            ),
            "exists": (
                lambda: ours.table_exists({"id": there}),
                lambda: theirs.table_exists(official.TableExistsRequest(id=there)),
            ),
            "does not exist": (
                lambda: _refused(ours.table_exists, {"id": missing}),
                lambda: _refused(theirs.table_exists, official.TableExistsRequest(id=missing)),
            ),
        }
        for name, (mine, peer) in steps.items():
            times = 200 if name == "create" else 2000
            report.row(f"dir: {name}", size, *in_turns(mine, peer, times), 1.2)
        one, other = iter(range(10**9)), iter(range(10**9))
        drop = (
            lambda: ours.drop_table({"id": [f"o{next(one)}"]}),
            lambda: theirs.drop_table(official.DropTableRequest(id=[f"p{next(other)}"])),
        )
        timings = []
        exclude_from_collection()
        for _ in range(50):
            timings.append((timed(drop[0]), timed(settled), timed(drop[1])))
        mine, left, peers = (median(each) for each in zip(*timings[1:], strict=True))
        report.row("dir: drop", size, mine, peers, 1.2)
        report.row("dir: drop, and what it leaves to a thread", size, mine + left, peers, 9.9)


def _refused(call: Callable[[Any], Any], request: Any) -> None:
    # pylance's errors have no common base class with ours.
    with suppress(LanceNamespaceError, Exception):
        call(request)


def run_versions(report: Report, size: int) -> None:
    """Compare versions and tags of one table with pylance's namespace and dataset."""
    size = size // 100
    with tempfile.TemporaryDirectory() as folder:
        dataset = lance.write_dataset(ROWS, f"{folder}/t.lance")
        for n in range(size):
            dataset = lance.write_dataset(ROWS, dataset.uri, mode="append")
            if n % 2 == 0:
                dataset.tags.create(f"v{n:05}", dataset.version)
        ours, theirs = connect("dir", {"path": folder}), pylance(Path(folder))
        tag, new = f"v{size // 2 // 2 * 2:05}", iter(range(10**9))
        of = {"id": ["t"]}
        fresh = lambda: lance.dataset(f"{folder}/t.lance")  # noqa: E731
        steps: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "list versions": (
                lambda: ours.list_table_versions(of),
                lambda: theirs.list_table_versions(official.ListTableVersionsRequest(id=["t"])),
            ),
            "the latest version": (
                lambda: ours.list_table_versions({**of, "limit": 1, "descending": True}),
                lambda: theirs.list_table_versions(
                    official.ListTableVersionsRequest(id=["t"], limit=1, descending=True)
                ),
            ),
            "get a tag": (
                lambda: ours.get_table_tag_version({**of, "tag": tag}),
                lambda: fresh().tags.get_version(tag),
            ),
            "create a tag": (
                lambda: ours.create_table_tag({**of, "tag": f"o{next(new)}", "version": 1}),
                lambda: fresh().tags.create(f"p{next(new)}", 1),
            ),
            "describe by tag": (
                lambda: ours.describe_table({**of, "tag": tag}),
                lambda: fresh().checkout_version(tag).schema,
            ),
        }
        for name, (mine, peer) in steps.items():
            times = 60 if name == "create a tag" or size > 100 else 300
            report.row(f"table: {name}", size, *in_turns(mine, peer, times), 1.2)


# --- concurrency


def run_latency(report: Report, _: int) -> None:
    """Compare a walk of 200 namespaces at 5 ms latency with the same calls, 16 concurrently."""
    with (
        unity(200, 1) as upstream,
        latency(int(upstream.rpartition(":")[2]), 5) as uri,
        httpx.Client(base_url=uri) as client,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):

        def bare() -> None:
            query = {"catalog_name": "main", "max_results": "1000"}
            names = []
            while True:
                page = client.get(f"{API}/schemas", params=query).json()
                names += [each["name"] for each in page["schemas"]]
                if not page.get("next_page_token"):
                    break
                query["page_token"] = page["next_page_token"]
            assert sum(pool.map(lambda name: bare_unity(client, name), names)) == 200

        with connect("unity", {"endpoint": uri, "catalog": "main"}) as ours:
            walked = lambda: _same(len(ours.list_all_tables({}).tables), 200)  # noqa: E731
            report.row("Unity: 200 namespaces", 200, *in_turns(walked, bare, 7), 1.3)
    with (
        tempfile.TemporaryDirectory() as root,
        IcebergFixture(folder=Path(root)) as server,
    ):
        properties = {"prefix": "", "root": root, "warehouses": "wh"}
        with connect("iceberg", {**properties, "endpoint": server.endpoint}) as namespace:
            for n in range(200):
                namespace.create_namespace({"id": ["wh", f"n{n:03}"]})
                namespace.declare_table({"id": ["wh", f"n{n:03}", "t"]})
        port = int(server.endpoint.rpartition(":")[2])
        with (
            latency(port, 5) as uri,
            httpx.Client(base_url=uri) as client,
            ThreadPoolExecutor(AT_ONCE) as pool,
            connect("iceberg", {**properties, "endpoint": uri}) as ours,
        ):

            def inside(name: str) -> int:
                client.get("/v1/namespaces", params={"parent": name, "pageToken": ""}).json()
                path = f"/v1/namespaces/{name}"
                client.get(path).json()
                found = client.get(f"{path}/tables", params={"pageToken": ""}).json()
                for each in found["identifiers"]:
                    client.get(f"{path}/tables/{each['name']}").json()
                return len(found["identifiers"])

            def bare_walk() -> None:
                found = client.get("/v1/namespaces", params={"pageToken": ""}).json()
                names = [each[0] for each in found["namespaces"] if len(each) == 1]
                assert sum(pool.map(inside, names)) == 200

            walked = lambda: _same(len(ours.list_all_tables({}).tables), 200)  # noqa: E731
            report.row("Iceberg: 200 namespaces", 200, *in_turns(walked, bare_walk, 7), 1.3)


def run_threads(report: Report, _: int) -> None:
    """Count the threads that 200 concurrent listings add to those of their callers."""
    with unity(20, 20) as uri, connect("unity", {"endpoint": uri, "catalog": "main"}) as namespace:
        before, most, done = threading.active_count(), 0, threading.Event()

        def watch() -> None:
            nonlocal most
            while not done.wait(0.002):
                most = max(most, threading.active_count())

        watcher = threading.Thread(target=watch)
        watcher.start()
        with ThreadPoolExecutor(200) as callers:
            request = {"include_declared": False}
            list(callers.map(lambda _: namespace.list_all_tables(request), range(200)))
        done.set()
        watcher.join()
        added = most - before - 200 - 1
        report.row("threads of 200 listings at once", 200, max(added, 0), 64, 1.0, "more")


def run_ls(report: Report, size: int) -> None:
    """Compare the first line of ``lance-ns ls`` for many tables with that for 100."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder, "few"), Path(folder, "many")
        few.mkdir(), many.mkdir()
        lakes = make_directory(few, PAGE), make_directory(many, size)
        first = [first_line(lake) for _ in range(6) for lake in lakes]
        report.row("ls: first line", size, median(first[3::2]), median(first[2::2]), 1.5)


def first_line(lake: Path) -> float:
    """Return the milliseconds from the start of the command to its first line."""
    command = [str(Path(sys.executable).with_name("lance-ns")), "ls", "--tables"]
    started = time.perf_counter()
    with subprocess.Popen(
        [*command, "--impl", "dir", "-p", f"path={lake}"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        elapsed = 1000 * (time.perf_counter() - started)
        process.stdout.read()
    return elapsed


RUNS = {
    "pages": run_pages,
    "declared": run_declared,
    "directory": run_directory,
    "versions": run_versions,
    "latency": run_latency,
    "threads": run_threads,
    "ls": run_ls,
    "hive": run_hive,
}


# Rows that are measured at only one size.
ONCE = ("latency", "threads", "ls")


def main() -> int:
    """Print the rows; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", nargs="+", choices=RUNS, default=[*RUNS])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    options = parser.parse_args()
    report = Report()
    for name in options.rows:
        for size in options.sizes[-1:] if name in ONCE else options.sizes:
            RUNS[name](report, size)
    for fault in report.faults:
        print(f"over the bound: {fault}", file=sys.stderr)
    return int(bool(report.faults))


if __name__ == "__main__":
    sys.exit(main())
