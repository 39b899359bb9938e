"""Calls that are done on the event loop itself: the same answers, and nobody waits for a slow one."""

from __future__ import annotations

import os
import threading
import time

import pyarrow as pa
import pytest

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect
from lance_namespace_impls.core.confinement import is_within
from lance_namespace_impls.server import serving
from lance_namespace_impls.server.execution import inline, limits
from lance_namespace_impls.server.execution.inline import Shortcut
from tests.servers.http_client import http_client

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/mounts"), reason="only Linux tells where a file system is"
)


def test_only_quick_reads_of_a_local_disk_are_done_at_once(tmp_path):
    shortcut = Shortcut(connect("dir", {"path": str(tmp_path)}))
    at_once = {name for name, row in OPERATIONS.items() if shortcut.fits(row, b"{}")}
    assert {"DescribeTable", "TableExists", "ListTables"} <= at_once
    assert not at_once & {"QueryTable", "CreateTable", "DropTable", "CountTableRows"}
    for body, query in (
        (b'{"load_detailed_metadata": true}', b""),
        (rb'{"load_\u0064etailed_metadata": true}', b""),
        (b"{}", b"load_detailed_metadata=true"),
        (b"{}", b"load_%64etailed_metadata=true"),
        (b'{"check_declared": true}', b""),
    ):
        assert not shortcut.fits(OPERATIONS["DescribeTable"], body, query), "it may open the table"
    for impl in ("memory",):
        other = Shortcut(connect(impl))
        assert not any(other.fits(row, b"") for row in OPERATIONS.values())


@pytest.mark.parametrize(
    ("share", "found"),
    [(None, 5), ("", 5), ("3", 3), ("1", 1), ("0", 1), ("x", 5), ("-1", 5), ("²", 5), ("٣", 5)],
)
def test_a_process_has_its_share_of_the_cores_or_all_that_it_may_use(monkeypatch, share, found):
    monkeypatch.delenv("TOKIO_WORKER_THREADS", raising=False)
    if share is not None:
        monkeypatch.setenv("TOKIO_WORKER_THREADS", share)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0: set(range(5))}[process])
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert limits.cores() == found


@pytest.mark.parametrize(("count", "found"), [(7, 7), (None, 1)])
def test_where_a_system_does_not_tell_which_cores_may_be_used(monkeypatch, count, found):
    monkeypatch.delenv("TOKIO_WORKER_THREADS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    assert limits.cores() == found


def test_a_slow_operation_goes_to_threads_for_a_while(tmp_path, monkeypatch):
    shortcut = Shortcut(connect("dir", {"path": str(tmp_path)}))
    describe, exists = OPERATIONS["DescribeTable"], OPERATIONS["TableExists"]
    clock = [100.0]
    monkeypatch.setattr(inline.time, "monotonic", lambda: clock[0])
    for _ in range(2):
        shortcut.took(describe, 0.1)
    assert shortcut.fits(describe, b""), "the first calls load what they need"
    shortcut.took(describe, 0.1)
    assert not shortcut.fits(describe, b"") and shortcut.fits(exists, b"")
    clock[0] += 1.9
    assert not shortcut.fits(describe, b"")
    clock[0] += 0.2
    assert shortcut.fits(describe, b"")
    shortcut.took(describe, 0.1)
    assert not shortcut.fits(describe, b""), "it is as slow as before"
    clock[0] += 2.1
    shortcut.took(describe, 0.001)
    shortcut.took(describe, 0.1)
    assert not shortcut.fits(describe, b""), "one quick call between does not help"
    clock[0] += 2.1
    for _ in range(3):
        shortcut.took(describe, 0.001)
    shortcut.took(describe, 0.1)
    assert shortcut.fits(describe, b""), "many do"


def test_a_call_that_held_everybody_up_is_the_last_for_long(tmp_path, monkeypatch):
    shortcut = Shortcut(connect("dir", {"path": str(tmp_path)}))
    listing = OPERATIONS["ListTables"]
    clock = [100.0]
    monkeypatch.setattr(inline.time, "monotonic", lambda: clock[0])
    shortcut.took(listing, 2.0)
    assert shortcut.fits(listing, b""), "the first call loads what it needs"
    lost, began = 0.0, clock[0]
    while clock[0] - began < 3600:
        if shortcut.fits(listing, b""):
            clock[0] += 30.0  # very many tables
            lost += 30.0
            shortcut.took(listing, 30.0)
        clock[0] += 1.0
        shortcut.took(listing, 0.001)
    assert lost / (clock[0] - began) < 0.1


def test_reads_at_once_see_what_other_processes_do(tmp_path, monkeypatch):
    # However busy the machine is.
    monkeypatch.setattr(inline, "LONGEST_SECONDS", 3600.0)
    with (
        connect("dir", {"path": str(tmp_path)}) as namespace,
        serving(namespace) as uri,
        http_client(uri, timeout=300) as client,
    ):
        names = set()

        def count():
            return client.post("/v1/table/t/count_rows", json={})

        assert count().status_code == 404
        with connect("dir", {"path": str(tmp_path)}) as other:
            other.create_table({"id": ["t"]}, pa.table({"a": [1, 2]}))
            assert count().json() == 2
            other.insert_into_table({"id": ["t"]}, pa.table({"a": [3]}))
            assert count().json() == 3
            other.drop_table({"id": ["t"]})
            assert client.post("/v1/table/t/describe", json={}).status_code == 404
        original = namespace.describe_table

        def describe(request):
            names.add(threading.current_thread().name)
            return original(request)

        namespace.describe_table = describe
        client.post("/v1/table/t/describe", json={})
        deadline = time.monotonic() + 300
        while names == {n for n in names if n.startswith("lance-ns-calls")}:
            assert time.monotonic() < deadline
            client.post("/v1/table/t/describe", json={})
        assert "lance-ns-server" in names


def test_a_link_below_a_place_leads_out_of_it(tmp_path):
    place, outside = tmp_path / "place", tmp_path / "outside"
    place.mkdir(), outside.mkdir()
    (place / "plain").mkdir()
    (place / "link").symlink_to(outside)
    (tmp_path / "alias").symlink_to(place)
    assert is_within(str(place / "plain" / "t.lance"), str(place))
    assert not is_within(str(place / "link" / "t.lance"), str(place))
    assert not is_within(f"{place}/plain/../../outside", str(place))
    assert not is_within(f"{place}/%2e%2e/outside", str(place))
    assert not is_within(f"{place}beside/t", str(place))
    assert is_within(f"{tmp_path}/alias/t", str(place))
    assert is_within(f"{place}/t", f"{tmp_path}/alias")
