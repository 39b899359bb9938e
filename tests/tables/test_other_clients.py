"""All operations, called by third-party clients and through the official Python interface.

pylance's Rust client and the official urllib3 client make the same calls to our server, and the
official Python interface makes them in process. The official pydantic models parse every response.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import lance.namespace
import lance_namespace
import lance_namespace_urllib3_client as urllib3_client
import pyarrow as pa
import pytest
from lance_namespace_urllib3_client import api as urllib3_api
from lance_namespace_urllib3_client import models as official

from lance_namespace_client.arrow import file_chunks
from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.operations import OPERATIONS, Body
from lance_namespace_impls import AsyncRestNamespace, connect
from lance_namespace_impls.server import serving

Call = Callable[..., Any]
T = {"id": ["t"]}
SCHEMA = pa.schema(
    [("id", pa.int64()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), 4))]
)


def rows(start: int, stop: int) -> bytes:
    table = pa.table(
        {
            "id": list(range(start, stop)),
            "text": [f"word{i} common" for i in range(start, stop)],
            "vector": [[float(i % 7), 1.0, 2.0, 3.0] for i in range(start, stop)],
        },
        schema=SCHEMA,
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read(answer: Any) -> pa.Table:
    content = getattr(answer, "data", answer)
    return pa.ipc.open_file(io.BytesIO(bytes(content))).read_all()


# pylance's client accepts and returns dictionaries for these operations.
DICTS_ONLY = ("CreateTableVersion", "DescribeTableVersion", "BatchDeleteTableVersions")


def offered(call: Call) -> set[str]:
    """Return the operations that a client implements; pylance's client does not implement all."""
    interface = lance_namespace.LanceNamespace
    client = getattr(call, "client", None)
    return {
        row.name
        for row in OPERATIONS.values()
        if hasattr(interface, row.method_name)
        and (
            client is None
            or getattr(type(client), row.method_name) is not getattr(interface, row.method_name)
        )
    }


def bare(answer: Any) -> Any:
    """Extract a count, plan or map from its response model, if the client returns a model."""
    for field in ("count", "plan", "analysis", "metadata"):
        if not isinstance(answer, int | str | dict) and hasattr(answer, field):
            return getattr(answer, field)
    return answer


class Refused(Exception):
    """An error that a third-party client raised, with the error code that it received."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def interop_client(path: str) -> Call:
    impl = "lance_namespace_impls.interop.DirectoryNamespace"
    return official_caller(lance_namespace.connect(impl, {"path": path}))


def rust_client(uri: str) -> Call:
    return official_caller(lance.namespace.RestNamespace(uri=uri))


def official_caller(client: lance_namespace.LanceNamespace) -> Call:
    def call(name: str, request: dict[str, Any], *data: bytes) -> Any:
        row = OPERATIONS[name]
        model: Any = getattr(official, row.request).from_dict(request)
        if name in DICTS_ONLY and isinstance(client, lance.namespace.RestNamespace):
            model = request
        try:
            answer = getattr(client, row.method_name)(model, *data)
            if isinstance(answer, dict) and row.body_field is None:
                return getattr(official, row.response).from_dict(answer)
            return answer
        except lance_namespace.LanceNamespaceError as error:
            raise Refused(int(error.code), str(error)) from error

    call.client = client  # type: ignore[attr-defined]
    return call


def urllib3_caller(uri: str) -> Call:
    client = urllib3_client.ApiClient(urllib3_client.Configuration(host=uri))
    apis = [kind(client) for _, kind in inspect.getmembers(urllib3_api, inspect.isclass)]

    def call(name: str, request: dict[str, Any], *data: bytes) -> Any:
        row = OPERATIONS[name]
        method = next(
            getattr(api, row.method_name) for api in apis if hasattr(api, row.method_name)
        )
        arguments: dict[str, Any] = {}
        for parameter in inspect.signature(method).parameters:
            if parameter == "id":
                arguments["id"] = "$".join(request["id"]) or "$"
            elif parameter == "body":
                arguments["body"] = data[0]
            elif parameter == "request_body":
                arguments["request_body"] = request[row.body_field or ""]
            elif parameter.endswith("_request"):
                arguments[parameter] = getattr(official, row.request).from_dict(request)
            elif parameter in request:
                arguments[parameter] = request[parameter]
        try:
            return method(**arguments)
        except urllib3_client.exceptions.ApiException as error:
            raise Refused(json.loads(error.body)["code"], error.body) from error

    return call


@contextlib.contextmanager
def async_caller(uri: str) -> Iterator[Call]:
    """Our own asynchronous client, called synchronously."""
    client = AsyncRestNamespace.from_properties({"uri": uri})

    async def awaited(name: str, request: dict[str, Any], *data: bytes) -> Any:
        row = OPERATIONS[name]
        answer = await getattr(client, row.method_name)(request, *data)
        if row.answer is not Body.ARROW:
            return getattr(official, row.response).from_dict(answer.to_dict())
        table = await answer.read_all()
        return b"".join(file_chunks(table.to_reader()))

    with asyncio.Runner() as runner:

        def call(name: str, request: dict[str, Any], *data: bytes) -> Any:
            try:
                return runner.run(awaited(name, request, *data))
            except LanceNamespaceError as error:
                raise Refused(int(error.code), str(error)) from error

        yield call
        runner.run(client.aclose())


@pytest.fixture(params=["pylance", "urllib3", "interop", "async"])
def call(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Call]:
    if request.param == "interop":
        yield interop_client(str(tmp_path))
        return
    with connect("dir", {"path": str(tmp_path)}) as namespace, serving(namespace) as uri:
        if request.param == "async":
            with async_caller(uri) as caller:
                yield caller
            return
        yield {"pylance": rust_client, "urllib3": urllib3_caller}[request.param](uri)


def refused(call: Call, code: int, name: str, request: dict[str, Any], *data: bytes) -> None:
    with pytest.raises(Refused) as found:
        call(name, request, *data)
    assert found.value.code == code, f"{name}: {found.value}"


def test_all_operations(call: Call) -> None:
    seen: set[str] = set()

    def step(name: str, request: dict[str, Any], *data: bytes) -> Any:
        seen.add(name)
        return call(name, request, *data)

    def no(code: int, name: str, request: dict[str, Any], *data: bytes) -> None:
        seen.add(name)
        refused(call, code, name, request, *data)

    # namespaces: a directory has none below its root
    assert step("ListNamespaces", {"id": []}).namespaces == []
    assert step("DescribeNamespace", {"id": []}).properties in ({}, None)
    step("NamespaceExists", {"id": []})
    no(13, "CreateNamespace", {"id": ["ns"]})
    no(13, "DropNamespace", {"id": ["ns"]})

    # tables
    assert step("DeclareTable", {"id": ["d"]}).location.endswith("d.lance")
    described = step("DescribeTable", {"id": ["d"], "check_declared": True})
    assert described.is_only_declared is True
    no(5, "DeclareTable", {"id": ["d"]})
    assert step("DeregisterTable", {"id": ["d"]}).id == ["d"]
    no(4, "TableExists", {"id": ["d"]})
    assert step("RegisterTable", {"id": ["d"], "location": "d.lance"}).location.endswith("d.lance")
    step("TableExists", {"id": ["d"]})
    step("RenameTable", {"id": ["d"], "new_table_name": "e"})
    assert step("CreateTable", T, rows(0, 300)).version == 1
    assert step("ListTables", {"id": []}).tables == ["e", "t"]
    assert step("ListAllTables", {}).tables == ["e", "t"]
    step("DropTable", {"id": ["e"]})

    # rows
    assert step("InsertIntoTable", {**T, "mode": "append"}, rows(300, 310)).version == 2
    merged = step(
        "MergeInsertIntoTable",
        {**T, "on": ["id"], "when_matched_update_all": True, "when_not_matched_insert_all": True},
        rows(305, 315),
    )
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (5, 5)
    assert bare(step("CountTableRows", T)) == 315
    assert bare(step("CountTableRows", {**T, "predicate": "id < 10"})) == 10
    updated = step("UpdateTable", {**T, "predicate": "id = 1", "updates": [["text", "'one'"]]})
    assert updated.updated_rows == 1
    assert step("DeleteFromTable", {**T, "predicate": "id = 2"}).version == 5
    near = {**T, "k": 3, "vector": {"single_vector": [1.0, 1.0, 2.0, 3.0]}}
    assert read(step("QueryTable", near)).num_rows == 3
    no(12, "QueryTable", {**near, "columns": {"column_names": ["nothing"]}})
    assert "LanceRead" in bare(step("ExplainTableQueryPlan", {**T, "query": near}))
    assert "metrics" in bare(step("AnalyzeTableQueryPlan", near))
    stats = step("GetTableStats", T)
    assert stats.num_rows == 314
    details = step("DescribeTable", {**T, "load_detailed_metadata": True})
    assert [field.name for field in details.var_schema.fields] == ["id", "text", "vector"]
    assert (details.version, details.stats.num_fragments > 0) == (5, True)

    # indices
    step(
        "CreateTableIndex", {**T, "column": "vector", "index_type": "IVF_FLAT", "num_partitions": 2}
    )
    step("CreateTableScalarIndex", {**T, "column": "text", "index_type": "FTS"})
    no(7, "CreateTableScalarIndex", {**T, "column": "text", "index_type": "FTS"})
    text = {"string_query": {"query": "word42"}}
    empty = {"single_vector": []}
    found = read(step("QueryTable", {**T, "k": 5, "vector": empty, "full_text_query": text}))
    assert found.column("id").to_pylist() == [42]
    indexes = step("ListTableIndices", T).indexes
    assert [index.index_name for index in indexes] == ["text_idx", "vector_idx"]
    covered = step("DescribeTableIndexStats", {**T, "index_name": "vector_idx"})
    assert (covered.index_type, covered.num_unindexed_rows) == ("IVF_FLAT", 0)
    step("DropTableIndex", {**T, "index_name": "text_idx"})
    no(6, "DropTableIndex", {**T, "index_name": "text_idx"})

    # tags and branches
    step("CreateTableTag", {**T, "tag": "first", "version": 1})
    assert step("GetTableTagVersion", {**T, "tag": "first"}).version == 1
    step("UpdateTableTag", {**T, "tag": "first", "version": 2})
    assert step("ListTableTags", T).tags["first"].version == 2
    step("CreateTableBranch", {**T, "name": "side", "from_version": 2})
    assert list(step("ListTableBranches", T).branches) == ["side"]
    assert bare(step("CountTableRows", {**T, "branch": "side"})) == 310
    step("DeleteTableBranch", {**T, "name": "side"})
    step("DeleteTableTag", {**T, "tag": "first"})
    no(8, "DeleteTableTag", {**T, "tag": "first"})

    # columns
    added = {"name": "twice", "expression": "id * 2"}
    version = step("AlterTableAddColumns", {**T, "new_columns": [added]}).version
    alteration = {"path": "twice", "rename": "double"}
    assert step("AlterTableAlterColumns", {**T, "alterations": [alteration]}).version > version
    if "UpdateFieldMetadata" in offered(call):
        metadata = {"path": "double", "metadata": {"unit": "none"}}
        fields = step("UpdateFieldMetadata", {**T, "updates": [metadata]}).fields
        assert fields == {"double": {"unit": "none"}}
    step("AlterTableDropColumns", {**T, "columns": ["double"]})
    now = bare(step("UpdateTableSchemaMetadata", {**T, "metadata": {"k": "v"}}))
    assert now == {"k": "v"}

    # versions
    versions = step("ListTableVersions", T).versions
    assert [found.version for found in versions] == list(range(1, len(versions) + 1))
    assert step("DescribeTableVersion", {**T, "version": 2}).version.version == 2
    span = {"start_version": 3, "end_version": 5}
    assert step("BatchDeleteTableVersions", {**T, "ranges": [span]}).deleted_count == 2
    step("RestoreTable", {**T, "version": 1})
    assert bare(step("CountTableRows", T)) == 300

    # operations without a counterpart in Lance tables
    staged = {"version": 9, "manifest_path": "x"}
    no(0, "CreateTableVersion", {**T, **staged})
    no(0, "BatchCreateTableVersions", {"entries": [{**T, **staged}]})
    no(0, "BatchCommitTables", {"operations": []})
    no(0, "AlterTableBackfillColumns", {**T, "column": "c"})
    view = {"kind": "query", "source_query": "q", "output_schema": "s"}
    no(0, "CreateMaterializedView", {**T, **view})
    no(0, "RefreshMaterializedView", T)
    no(0, "DescribeTransaction", {"id": ["1"]})
    no(0, "AlterTransaction", {"id": ["1"], "actions": [{"setStatusAction": {"status": "x"}}]})

    assert offered(call) <= seen, offered(call) - seen
    assert OPERATIONS["CreateTable"].body is Body.ARROW
