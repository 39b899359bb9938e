"""Asynchronous namespaces and tables on every kind of catalog, next to the synchronous ones."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import sys
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.async_namespace import AsyncRows
from lance_namespace_client.errors import InvalidInputError, TableNotFoundError
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import AsyncRestNamespace, connect, connect_async, registry
from lance_namespace_impls.catalog.threaded import ThreadedNamespace
from lance_namespace_impls.core.concurrent import CALLS
from lance_namespace_impls.objects import async_merge, async_search, async_table
from lance_namespace_impls.objects import merge as merges
from lance_namespace_impls.objects import search as searches
from lance_namespace_impls.objects import table as tables
from lance_namespace_impls.objects.async_namespace import AsyncNamespace
from lance_namespace_impls.rest import RestNamespace
from lance_namespace_impls.server import serving
from lance_namespace_impls.sql import initialize

ROWS = [{"id": n, "vector": [float(n), 1.0]} for n in range(50)]
WRITTEN = pa.RecordBatch.from_pylist([{"id": 100, "vector": [1.0, 1.0]}])
PAIRS = [
    (merges.MergeInsert, async_merge.AsyncMergeInsert),
    (searches.Search, async_search.AsyncSearch),
    (tables.Branches, async_table.AsyncBranches),
    (tables.Table, async_table.AsyncTable),
    (tables.Tags, async_table.AsyncTags),
]


@pytest.fixture(params=["dir", "memory", "sql", "rest"])
def properties(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    settings = {
        "dir": {"path": str(tmp_path)},
        "memory": {"name": str(tmp_path)},
        "sql": {"uri": f"sqlite:///{tmp_path}/catalog.db", "root": str(tmp_path)},
    }
    if request.param == "sql":
        initialize(settings["sql"])
    if request.param != "rest":
        yield {"impl": request.param, **settings[request.param]}
        return
    with connect("dir", {"path": str(tmp_path)}) as namespace, serving(namespace) as uri:
        yield {"impl": "rest", "uri": uri}


def run(properties: dict[str, str], program: Any) -> Any:
    """Run a program with a namespace and a table of 50 rows."""

    async def main() -> Any:
        impl = properties["impl"]
        more = {key: value for key, value in properties.items() if key != "impl"}
        async with await connect_async(impl, more) as namespace:  # type: ignore[call-overload]
            return await program(namespace, await namespace.table("t").create(ROWS))

    return asyncio.run(main())


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda each: each.__name__)
def test_each_public_method_has_an_asynchronous_counterpart(ours: type, theirs: type) -> None:
    names = {name for name in vars(ours) if not name.startswith("_")}
    assert {name for name in vars(theirs) if not name.startswith("_")} == names
    for name in names:
        first, second = getattr(ours, name), getattr(theirs, name)
        if not isinstance(first, property):
            assert list(inspect.signature(first).parameters) == list(
                inspect.signature(second).parameters
            )


def test_methods_that_contact_the_catalog_are_coroutine_functions() -> None:
    awaited = {
        name
        for name, method in vars(async_table.AsyncTable).items()
        if inspect.iscoroutinefunction(method) and not name.startswith("_")
    }
    assert {"add", "schema", "version", "location", "to_batches", "to_lance", "optimize"} <= awaited
    assert not awaited & {"search", "merge_insert", "checkout_latest", "refresh", "take_offsets"}


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_every_operation_is_a_coroutine_function(row: Any) -> None:
    assert inspect.iscoroutinefunction(getattr(AsyncNamespace, row.method_name))


@pytest.mark.parametrize("impl", registry.built_in())
def test_every_implementation_has_an_asynchronous_namespace(impl: str) -> None:
    cls = registry.load(impl)
    expected = AsyncRestNamespace if cls is RestNamespace else ThreadedNamespace
    assert inspect.signature(cls.asynchronous).return_annotation in (
        "AsyncNamespace", expected.__name__,
    )  # fmt: skip


def test_a_table_is_created_read_changed_and_dropped(properties: dict[str, str]) -> None:
    async def program(namespace: AsyncNamespace, table: async_table.AsyncTable) -> None:
        assert isinstance(namespace, AsyncRestNamespace) == (properties["impl"] == "rest")
        assert [name async for name in namespace.iter_tables()] == ["t"]
        await table.add([{"id": 50, "vector": [0.0, 0.0]}])
        assert await table.count_rows("id < 10") == 10
        assert (await table.schema()).names == ["id", "vector"]
        first = await table.search([3.0, 1.0]).select(["id"]).limit(1).to_list()
        assert first[0]["id"] == 3
        merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        assert (await merge.execute([{"id": 50, "vector": [2.0, 2.0]}])).num_updated_rows == 1
        await table.tags.create("old", 1)
        await table.checkout("old")
        assert await table.count_rows() == 50
        table.checkout_latest()
        await table.create_scalar_index("id")
        await table.wait_for_index([index.index_name for index in await table.list_indices()])
        await table.optimize()
        assert (await table.to_lance()).count_rows() == 51
        assert (await table.take_offsets([1, 2]).to_arrow()).num_rows == 2
        with pytest.raises(TableNotFoundError, match="table missing does not exist"):
            await namespace.table("missing").count_rows()
        await table.drop()
        assert not await table.exists()

    run(properties, program)


def test_rows_are_streamed_in_both_directions(properties: dict[str, str]) -> None:
    async def program(_: AsyncNamespace, table: async_table.AsyncTable) -> None:
        rows = await table.to_batches()
        assert isinstance(rows, AsyncRows)
        assert sum([batch.num_rows async for batch in rows]) == 50
        async with await table.to_batches() as unread:
            assert unread.schema.names == ["id", "vector"]
        schema = await table.schema()

        async def produced() -> AsyncIterator[pa.RecordBatch]:
            for _ in range(3):
                await asyncio.sleep(0)
                yield WRITTEN.cast(schema)

        await table.add(produced())
        assert await table.count_rows("id = 100") == 3
        await table.add(await table.to_batches())
        assert await table.count_rows() == 106

    run(properties, program)


def test_a_producer_that_fails_adds_no_rows(properties: dict[str, str]) -> None:
    async def program(_: AsyncNamespace, table: async_table.AsyncTable) -> None:
        schema = await table.schema()

        async def produced() -> AsyncIterator[pa.RecordBatch]:
            yield WRITTEN.cast(schema)
            raise ValueError("no more rows")

        with pytest.raises(InvalidInputError, match="no more rows"):
            await table.add(produced())
        assert await table.count_rows() == 50

    run(properties, program)


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE")


class Slow:
    """Makes describe_table wait for an event and records its thread and context."""

    def __init__(self, namespace: Any) -> None:
        self.go_on, self.begun = threading.Event(), threading.Semaphore(0)
        self.running = self.most = self.ended = 0
        self.seen: list[tuple[str, int]] = []
        self._lock = threading.Lock()
        original = namespace.describe_table

        def describe(request: Any) -> Any:
            self.seen.append((VARIABLE.get("unset"), threading.get_ident()))
            with self._lock:
                self.running += 1
                self.most = max(self.most, self.running)
            self.begun.release()
            self.go_on.wait(60)
            with self._lock:
                self.running -= 1
                self.ended += 1
            return original(request)

        namespace.describe_table = describe


def threaded(program: Any) -> None:
    with connect("memory") as namespace:
        namespace.table("t").create(ROWS)
        slow = Slow(namespace)
        try:
            asyncio.run(program(namespace.asynchronous().table("t"), slow))
        finally:
            slow.go_on.set()
            namespace.table("t").drop()


def test_a_call_does_not_block_the_event_loop_and_keeps_context_variables() -> None:
    async def program(table: async_table.AsyncTable, slow: Slow) -> None:
        VARIABLE.set("mine")
        call = asyncio.create_task(table.describe())
        while not slow.seen:
            await asyncio.sleep(0.001)  # returns only if the loop runs
        assert not call.done()
        slow.go_on.set()
        await call
        value, thread = slow.seen[0]
        assert value == "mine"
        assert thread != threading.get_ident()

    threaded(program)


def test_the_number_of_threads_is_bounded() -> None:
    async def program(table: async_table.AsyncTable, slow: Slow) -> None:
        calls = [asyncio.create_task(table.describe()) for _ in range(3 * CALLS)]
        while slow.running < CALLS:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        slow.go_on.set()
        await asyncio.gather(*calls)
        assert slow.most == CALLS

    threaded(program)


def test_canceled_calls_return_immediately_and_waiting_calls_are_not_made() -> None:
    async def program(table: async_table.AsyncTable, slow: Slow) -> None:
        calls = [asyncio.create_task(table.describe()) for _ in range(3 * CALLS)]
        while slow.running < CALLS:
            await asyncio.sleep(0.001)
        for call in calls:
            call.cancel()
        ended = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 30)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended)
        slow.go_on.set()
        await table.exists()
        while slow.ended < CALLS:
            await asyncio.sleep(0.001)
        assert len(slow.seen) == CALLS

    threaded(program)


def test_a_reader_of_a_canceled_query_is_closed() -> None:
    closed = threading.Event()
    go_on, begun = threading.Event(), threading.Event()

    class Reader:
        def close(self) -> None:
            closed.set()

    def query(_: Any) -> Reader:
        begun.set()
        go_on.wait(60)
        return Reader()

    async def canceled(call: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(call)
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with connect("memory") as namespace:
        namespace.query_table = query  # type: ignore[method-assign, assignment]
        asyncio.run(canceled(namespace.asynchronous().table("t").to_batches()))
    assert not closed.is_set()
    go_on.set()
    assert closed.wait(60)


def test_a_canceled_upload_ends_without_adding_rows() -> None:
    async def program(table: async_table.AsyncTable) -> None:
        schema = await table.schema()
        waiting = asyncio.Event()

        async def produced() -> AsyncIterator[pa.RecordBatch]:
            yield WRITTEN.cast(schema)
            waiting.set()
            await asyncio.sleep(3600)

        upload = asyncio.create_task(table.add(produced()))
        await asyncio.wait_for(waiting.wait(), 60)
        upload.cancel()
        with pytest.raises(asyncio.CancelledError):
            await upload
        end = time.monotonic() + 60
        while any(each.name.startswith("lance-namespace-upload") and _is_busy(each)
                  for each in threading.enumerate()):  # fmt: skip
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
        assert await table.count_rows() == 50

    with connect("memory") as namespace:
        namespace.table("u").create(ROWS)
        asyncio.run(program(namespace.asynchronous().table("u")))
        namespace.table("u").drop()


def _is_busy(thread: threading.Thread) -> bool:
    """Return whether a thread of the pool makes a call."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        if frame.f_code.co_name == "insert_into_table":
            return True
        frame = frame.f_back
    return False


def test_dir_lists_operations_and_user_methods_only() -> None:
    with connect("memory") as namespace:
        found = dir(namespace.asynchronous())
    methods = {row.method_name for row in OPERATIONS.values()}
    assert set(found) - methods - {"namespace_id"} == AsyncNamespace.user_methods
