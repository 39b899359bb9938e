"""The asynchronous client: the interface shared with the synchronous one, streams, cancellation."""

from __future__ import annotations

import asyncio
import inspect

import pyarrow as pa
import pytest

from lance_namespace_client import OPERATIONS, rest
from lance_namespace_client.async_rest import AsyncRestNamespace as Generated
from lance_namespace_client.errors import InvalidInputError, ServiceUnavailableError
from lance_namespace_client.operations import Body
from lance_namespace_impls import AsyncRestNamespace, connect
from lance_namespace_impls.server import serving
from tests.servers.scripted import Answer, scripted_server

T = {"id": ["t"]}
ROWS = pa.table({"id": range(10)})


def opened(uri, **more):
    return AsyncRestNamespace.from_properties({"uri": uri, **more})


@pytest.fixture(scope="module")
def script():
    with scripted_server() as script:
        yield script


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A namespace with a table that no test changes, and the address of its server."""
    with connect("dir", {"path": str(tmp_path_factory.mktemp("lake"))}) as namespace:
        namespace.create_table(T, ROWS)
        with serving(namespace) as uri:
            yield namespace, uri


@pytest.fixture
def lake(served):
    """The namespace; new tables are dropped after the test."""
    namespace, _ = served
    yield namespace
    for name in namespace.list_tables({"id": []}).tables:
        if [name] != T["id"]:
            namespace.drop_table({"id": [name]})


@pytest.fixture
def uri(served, lake):
    return served[1]


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_every_operation_is_awaited_and_has_the_parameters_of_the_other_client(row):
    method = getattr(Generated, row.method_name)
    other = getattr(rest.RestNamespace, row.method_name)
    assert inspect.iscoroutinefunction(method)
    ours, theirs = (inspect.signature(each) for each in (method, other))
    assert list(ours.parameters) == list(theirs.parameters)
    if row.answer is Body.ARROW:
        assert ours.return_annotation == "AsyncRows"
    else:
        assert ours.return_annotation == theirs.return_annotation


def test_more_simultaneous_calls_than_connections(uri):
    async def main():
        async with opened(uri, max_connections=4) as namespace:
            return await asyncio.gather(*(namespace.count_table_rows(T) for _ in range(200)))

    assert [answer.count for answer in asyncio.run(main())] == [10] * 200


@pytest.mark.parametrize("at_once", [1, 4])
def test_connections_are_reused_up_to_the_maximum(script, at_once):
    script.play(*[Answer(200, {"tables": []})] * 12)

    async def main():
        async with opened(script.uri, max_connections=2) as namespace:
            for _ in range(12 // at_once):
                await asyncio.gather(*(namespace.list_tables({}) for _ in range(at_once)))

    asyncio.run(main())
    assert len(script.asked) == 12
    assert len({asked.connection for asked in script.asked}) <= min(at_once, 2)


@pytest.mark.parametrize("kind", ["namespaces", "tables"])
def test_an_iteration_requests_a_page_when_it_is_needed(script, kind):
    script.play(
        Answer(200, {kind: ["a", "b"], "page_token": "next"}),
        Answer(200, {kind: [], "page_token": "last"}),
        Answer(200, {kind: ["c"], "page_token": ""}),
    )
    asked = []

    async def main():
        more = {"include_declared": False} if kind == "tables" else {}
        async with opened(script.uri) as namespace:
            names = getattr(namespace, f"iter_{kind}")(["n", "m"], page_size=2, **more)
            assert await anext(names) == "a"
            asked.append(len(script.asked))
            return [name async for name in names]

    assert (asyncio.run(main()), asked) == (["b", "c"], [1])
    lines = [asked.line.split()[1] for asked in script.asked]
    path = "/v1/namespace/n%24m/table/list?" if kind == "tables" else "/v1/namespace/n%24m/list?"
    assert all(line.startswith(path) for line in lines)
    queries = [
        dict(part.split("=") for part in line.partition("?")[2].split("&")) for line in lines
    ]
    assert [query.get("page_token") for query in queries] == [None, "next", "last"]
    assert {query["limit"] for query in queries} == {"2"}
    if kind == "tables":
        assert {query["include_declared"] for query in queries} == {"false"}


def test_tables_without_data_are_listed_by_default(script):
    script.play(Answer(200, {"tables": []}))

    async def main():
        async with opened(script.uri) as namespace:
            return [name async for name in namespace.iter_tables()]

    assert asyncio.run(main()) == []
    assert "include_declared=false" not in script.asked[0].line


# --- rows


async def batches(count, size=3, fail=None):
    for number in range(count):
        await asyncio.sleep(0)
        yield pa.record_batch({"id": pa.array(range(number * size, (number + 1) * size))})
    if fail is not None:
        raise fail


@pytest.mark.parametrize(
    "made", [ROWS, ROWS.to_pylist(), ROWS.to_pandas()], ids=["arrow", "dicts", "pandas"]
)
def test_rows_are_uploaded_in_every_form(uri, made):
    async def main():
        async with opened(uri) as namespace:
            await namespace.create_table({"id": ["new"]}, made)
            return await (await namespace.query_table({"id": ["new"], "k": 20})).read_all()

    assert asyncio.run(main())["id"].to_pylist() == list(range(10))


def test_rows_are_uploaded_from_an_asynchronous_iterator_and_downloaded_by_batch(uri):
    async def main():
        async with opened(uri) as namespace:
            await namespace.create_table({"id": ["new"]}, batches(50))
            found = await namespace.query_table({"id": ["new"], "k": 200})
            assert found.schema.names == ["id"]
            # Downloaded rows can be uploaded again without being buffered.
            await namespace.create_table({"id": ["copy"]}, found)
            async with await namespace.query_table({"id": ["copy"], "k": 200}) as copied:
                return [value async for batch in copied for value in batch["id"].to_pylist()]

    assert asyncio.run(main()) == list(range(150))


def test_rows_without_a_batch_need_a_schema(uri):
    async def main():
        async with opened(uri) as namespace:
            await namespace.create_table({"id": ["new"]}, batches(0))

    with pytest.raises(InvalidInputError, match="neither a batch nor a schema"):
        asyncio.run(main())


@pytest.mark.parametrize("count", [1, 5])
def test_an_iterator_that_fails_changes_nothing(lake, uri, count):
    async def main():
        async with opened(uri) as namespace:
            await namespace.insert_into_table(T, batches(count, fail=OSError("the source is gone")))

    with pytest.raises(InvalidInputError, match="the source is gone"):
        asyncio.run(main())
    assert lake.count_table_rows(T).count == 10


# --- cancellation


async def silent_server(seen):
    """Start a server that never answers the first connection, and later ones with an empty list."""

    async def answer(reader, writer):
        seen.append("came")
        first = len(seen) == 1
        await reader.readuntil(b"\r\n\r\n")
        if first:
            seen.append(await reader.read())  # ends when the other side closes
        else:
            writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{"tables":[]}')
            await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0)


def test_a_canceled_call_closes_its_connection_and_frees_its_slot():
    seen = []

    async def main():
        server = await silent_server(seen)
        port = server.sockets[0].getsockname()[1]
        async with server, opened(f"http://127.0.0.1:{port}", max_connections=1) as namespace:
            task = asyncio.create_task(namespace.list_tables({}))
            while not seen:
                await asyncio.sleep(0.01)
            waiting = asyncio.create_task(namespace.list_tables({}))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await waiting).tables == []
            while b"" not in seen:  # the server saw the end of the first connection
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_call_waits_for_a_connection_no_longer_than_its_timeout():
    seen = []

    async def main():
        server = await silent_server(seen)
        port = server.sockets[0].getsockname()[1]
        properties = {"max_connections": 1, "connect_timeout": 0.2, "max_retries": 0}
        async with server, opened(f"http://127.0.0.1:{port}", **properties) as namespace:
            task = asyncio.create_task(namespace.list_tables({}))
            while not seen:
                await asyncio.sleep(0.01)
            with pytest.raises(ServiceUnavailableError, match="no connection became free"):
                await namespace.list_tables({})
            task.cancel()

    asyncio.run(asyncio.wait_for(main(), 60))


def test_abandoned_rows_free_their_connection(lake, uri):
    lake.create_table({"id": ["big"]}, pa.table({"id": range(2_000_000)}))
    request = {"id": ["big"], "k": 2_000_000}

    async def main():
        async with opened(uri, max_connections=1) as namespace:
            async with await namespace.query_table(request) as rows:
                await anext(rows)
            assert (await namespace.count_table_rows(T)).count == 10
            task = asyncio.create_task((await namespace.query_table(request)).read_all())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await namespace.count_table_rows(T)).count == 10
            # A call that is not canceled returns all rows.
            assert (await (await namespace.query_table(request)).read_all()).num_rows == 2_000_000

    asyncio.run(asyncio.wait_for(main(), 120))
