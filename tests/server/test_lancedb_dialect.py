"""Translation between the requests and responses of LanceDB's remote clients and the protocol.

Source: the LanceDB remote protocol, recorded from its Python and Node clients.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client import models
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedError,
)
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_client.wire import STREAM_TYPE
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.server import serving
from lance_namespace_impls.server.http.dialect import PROTOCOL
from lance_namespace_impls.server.http.requests import Headers
from lance_namespace_impls.server.lancedb.dialect import (
    ALL_ROWS,
    DATABASE_HEADER,
    MAX_FOUND,
    Databases,
    LanceDBDialect,
)
from lance_namespace_impls.tables.context import ORDER_BY, REPLACE
from tests.servers.http_client import http_client

ROWS = pa.table({"x": [1, 2, 3]})
NO_HEADERS = Headers([])
REPLACED = {"context": {REPLACE: "true"}}


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    with connect("memory") as found:
        found.create_namespace({"id": ["db"]})
        yield found


@pytest.fixture
def dialect(namespace: Namespace) -> LanceDBDialect:
    return LanceDBDialect(Databases(namespace), "db")


CAT = {"match": {"terms": "cat", "column": "s"}}
DOG = {"match": {"terms": "dog", "column": "s"}}
TEXT = {"string_query": {"query": "cat"}}
IN_BOTH = {"multi_match": {"query": "cat", "columns": ["s", "t"]}}
BOOSTED = {"query": "cat", "columns": ["s", "t"], "boost": [1.0, 2.0], "operator": "And"}
BY_A = [{"column_name": "a"}]


def matches(*boosts: float | None, **more: str) -> dict[str, Any]:
    """Return the protocol's query that matches each column with its boost."""
    queries = [
        {"terms": "cat", "column": column, "boost": boost, **more}
        for column, boost in zip("st", boosts, strict=True)
    ]
    return {"multi_match": {"match_queries": queries}}


def structured(query: dict[str, Any]) -> dict[str, Any]:
    return {"full_text_query": {"structured_query": {"query": query}}}


# Queries of LanceDB clients, and their translations; the vector is null unless it is sent.
QUERIES: list[tuple[Any, Any]] = [
    ({}, {}),
    ({"vector": [1.0]}, {"vector": {"single_vector": [1.0]}}),
    ({"vector": []}, {"vector": {"single_vector": []}}),
    ({"vector": [[1.0], [2.0]]}, {"vector": {"multi_vector": [[1.0], [2.0]]}}),
    ({"vector": {"vector": None}}, {"vector": {"vector": None}}),
    ({"columns": ["a"]}, {"columns": {"column_names": ["a"]}}),
    ({"columns": [["a", "b"]]}, {"columns": {"column_aliases": {"a": "b"}}}),
    ({"columns": {"a": "b"}}, {"columns": {"column_aliases": {"a": "b"}}}),
    ({"columns": {"column_names": ["a"]}}, {"columns": {"column_names": ["a"]}}),
    ({"order_by": BY_A}, {"context": {ORDER_BY: json.dumps(BY_A)}}),
    (
        {"order_by": BY_A, "context": {"b": "c"}},
        {"context": {"b": "c", ORDER_BY: json.dumps(BY_A)}},
    ),
    ({"order_by": []}, {}),
    ({"k": ALL_ROWS}, {"k": 0}),
    ({"k": ALL_ROWS - 1}, {"k": ALL_ROWS - 1}),
    ({"k": "many"}, {"k": "many"}),
    (
        {"k": ALL_ROWS, "full_text_query": {"query": "cat"}},
        {"k": MAX_FOUND, "full_text_query": TEXT},
    ),
    ({"maximum_nprobes": 0}, {}),
    ({"maximum_nprobes": 3}, {"maximum_nprobes": 3}),
    ({"minimum_nprobes": 3, "nprobes": 9}, {"minimum_nprobes": 3}),
    ({"nprobes": 9}, {"nprobes": 9}),
    ({"full_text_query": "cat"}, {"full_text_query": "cat"}),
    ({"full_text_query": TEXT}, {"full_text_query": TEXT}),
    (
        {"full_text_query": {"query": {"match": {"terms": "cat", "column": None}}}},
        {"full_text_query": TEXT},
    ),
    ({"full_text_query": {"query": CAT}}, structured(CAT)),
    (
        {"full_text_query": {"query": {"multi_match": BOOSTED}}},
        structured(matches(1.0, 2.0, operator="And")),
    ),
    (
        {"full_text_query": {"query": {"boolean": {"must": [IN_BOTH], "should": [DOG]}}}},
        structured({"boolean": {"must": [matches(None, None)], "should": [DOG]}}),
    ),
]
SENT: list[tuple[str, Any, Any]] = [
    *(("QueryTable", sent, {"vector": None, **read}) for sent, read in QUERIES),
    ("RenameTable", {"new_namespace": ["n"]}, {"new_namespace_id": ["n"]}),
    ("RenameTable", {"new_table_name": "u"}, {"new_table_name": "u"}),
    ("AnalyzeTableQueryPlan", {"vector": [1.0]}, {"vector": {"single_vector": [1.0]}}),
    (
        "ExplainTableQueryPlan",
        {"verbose": True, "query": {"vector": [1.0]}},
        {"verbose": True, "query": {"vector": {"single_vector": [1.0]}}},
    ),
    ("ExplainTableQueryPlan", {"query": None}, {"query": None}),
    (
        "CreateTableIndex",
        {"metric_type": "l2"},
        {"metric_type": "l2", "distance_type": "l2", **REPLACED},
    ),
    (
        "CreateTableIndex",
        {"metric_type": "l2", "distance_type": "dot"},
        {"metric_type": "l2", "distance_type": "dot", **REPLACED},
    ),
    ("CreateTableIndex", {"index_type": "bloom_filter"}, {"index_type": "BLOOMFILTER", **REPLACED}),
    ("CreateTableScalarIndex", {"index_type": "BTREE"}, {"index_type": "BTREE", **REPLACED}),
    ("CreateTableScalarIndex", {"replace": True}, {"replace": True, **REPLACED}),
    ("CreateTableScalarIndex", {"replace": False}, {"replace": False}),
    ("CreateTableScalarIndex", {"context": {"a": "b"}}, {"context": {"a": "b", REPLACE: "true"}}),
    ("CountTableRows", {"vector": [1.0]}, {"vector": [1.0]}),
]


@pytest.mark.parametrize(("operation", "sent", "read"), SENT)
def test_a_body_is_translated(
    dialect: LanceDBDialect, operation: str, sent: dict[str, Any], read: dict[str, Any]
) -> None:
    body = dialect.read_body(OPERATIONS[operation], NO_HEADERS, json.dumps(sent).encode())
    assert json.loads(body) == read


@pytest.mark.parametrize("body", [b"", b" ", b"{", b"[1]", b"null"])
def test_a_body_that_is_not_an_object_is_unchanged(dialect: LanceDBDialect, body: bytes) -> None:
    assert dialect.read_body(OPERATIONS["QueryTable"], NO_HEADERS, body) == body


def test_columns_are_names_or_pairs(dialect: LanceDBDialect) -> None:
    with pytest.raises(InvalidInputError, match="columns must be names, or pairs"):
        dialect.read_body(OPERATIONS["QueryTable"], NO_HEADERS, b'{"columns": [["a", "b", "c"]]}')


def test_an_arrow_schema_adds_columns_of_nulls(dialect: LanceDBDialect) -> None:
    adding, headers = (
        OPERATIONS["AlterTableAddColumns"],
        Headers([(b"content-type", STREAM_TYPE.encode())]),
    )
    sink = io.BytesIO()
    schema = pa.schema({"n": pa.int32(), "v": pa.list_(pa.float32(), 2)})
    with pa.ipc.new_stream(sink, schema):
        pass
    assert dialect.accepts(adding, headers)
    assert not dialect.accepts(adding, NO_HEADERS)
    assert not dialect.accepts(OPERATIONS["InsertIntoTable"], headers)
    columns = json.loads(dialect.read_body(adding, headers, sink.getvalue()))["new_columns"]
    assert [column["name"] for column in columns] == ["n", "v"]
    assert columns[0]["expression"] == "arrow_cast(NULL, 'Int32')"
    assert columns[1]["expression"].startswith("arrow_cast(NULL, 'FixedSizeList")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TableAlreadyExistsError("t"), 400),
        (ConcurrentModificationError("t"), 409),
        (TableNotFoundError("t"), 404),
        (InvalidInputError("t"), 400),
    ],
)
def test_status_409_is_reserved_for_retryable_errors(
    dialect: LanceDBDialect, error: LanceNamespaceError, status: int
) -> None:
    reply = dialect.encode_error(error)
    assert reply.status == status
    assert json.loads(reply.body)["code"] == error.code
    assert (b"phalanx-version", b"0.3.0") in reply.headers


@pytest.mark.parametrize(
    ("named", "above"), [({}, ["db"]), ({"db": ()}, []), ({"db": ("a", "b")}, ["a", "b"])]
)
def test_identifiers_are_relative_to_the_database(
    namespace: Namespace, named: dict[str, tuple[str, ...]], above: list[str]
) -> None:
    dialect = Databases(namespace, named).dialect(Headers([(DATABASE_HEADER.encode(), b"db")]))
    assert isinstance(dialect, LanceDBDialect)
    describing, request = dialect.place(
        OPERATIONS["DescribeTable"], models.DescribeTableRequest(id=["t"])
    )
    assert describing.name == "DescribeTable"
    assert request == models.DescribeTableRequest(id=[*above, "t"], load_detailed_metadata=True)
    _, request = dialect.place(
        OPERATIONS["RenameTable"],
        models.RenameTableRequest(id=["n", "t"], new_namespace_id=["n"], new_table_name="u"),
    )
    assert request == models.RenameTableRequest(
        id=[*above, "n", "t"], new_namespace_id=[*above, "n"], new_table_name="u"
    )
    _, request = dialect.place(
        OPERATIONS["RenameTable"], models.RenameTableRequest(id=["t"], new_table_name="u")
    )
    assert request == models.RenameTableRequest(id=[*above, "t"], new_table_name="u")
    listing, request = dialect.place(
        OPERATIONS["ListAllTables"],
        models.ListTablesRequest(
            page_token="p", limit=3, identity=models.Identity(api_key="k"), context={"a": "b"}
        ),
    )
    assert listing.name == "ListTables"
    assert request == models.ListTablesRequest(
        id=above, page_token="p", limit=3, identity=models.Identity(api_key="k"), context={"a": "b"}
    )


def test_other_clients_use_the_protocol(namespace: Namespace) -> None:
    assert Databases(namespace).dialect(NO_HEADERS) is PROTOCOL


@pytest.mark.parametrize("name", ["", "other"])
def test_a_database_must_be_a_namespace_or_configured(namespace: Namespace, name: str) -> None:
    with pytest.raises(NamespaceNotFoundError, match=f"database '{name}' does not exist"):
        LanceDBDialect(Databases(namespace), name).check_target()
    LanceDBDialect(Databases(namespace, {name: ()}), name).check_target()
    LanceDBDialect(Databases(namespace), "db").check_target()


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (NamespaceNotFoundError("no n"), NamespaceNotFoundError),
        (InvalidInputError("one level alone"), NamespaceNotFoundError),
        (UnsupportedError("no namespaces"), NamespaceNotFoundError),
        (ServiceUnavailableError("away"), ServiceUnavailableError),
        (InternalError("broken"), InternalError),
    ],
)
def test_a_failed_catalog_differs_from_a_missing_database(
    error: LanceNamespaceError, raised: type[LanceNamespaceError]
) -> None:
    class Failing(LanceNamespace):
        def namespace_exists(self, request: Any) -> Any:
            raise error

    with pytest.raises(raised) as caught:
        Databases(Failing()).require("db")
    assert type(caught.value) is raised


def test_a_known_database_is_not_looked_up_again(namespace: Namespace) -> None:
    databases = Databases(namespace)
    databases.require("db")
    namespace.drop_namespace({"id": ["db"]})
    databases.require("db")
    with pytest.raises(NamespaceNotFoundError):
        Databases(namespace).require("db")


def test_responses_are_translated(namespace: Namespace, dialect: LanceDBDialect) -> None:
    def answered(operation: str, request: dict[str, Any], answer: Any) -> Any:
        given = OPERATIONS[operation].request_type.coerce({"id": ["db", "t"], **request})
        reply = dialect.encode(OPERATIONS[operation], given, answer, None)
        return json.loads(reply.body)

    namespace.create_table({"id": ["db", "t"]}, ROWS)
    described = namespace.describe_table({"id": ["db", "t"], "load_detailed_metadata": True})
    data = answered("DescribeTable", {}, described)
    assert data["version"] == 1
    assert data["schema"]["fields"][0]["type"] == {"type": "int64"}
    assert "storage_options" not in data
    deleted = namespace.delete_from_table({"id": ["db", "t"], "predicate": "x > 1"})
    assert answered("DeleteFromTable", {"predicate": "x > 1"}, deleted) == {
        **deleted.to_dict(),
        "num_deleted_rows": 2,
    }
    changed = namespace.update_table({"id": ["db", "t"], "updates": [["x", "9"]]})
    assert answered("UpdateTable", {"updates": [["x", "9"]]}, changed)["rows_updated"] == 1
    namespace.create_table_tag({"id": ["db", "t"], "tag": "a", "version": 1})
    tags = namespace.list_table_tags({"id": ["db", "t"]})
    assert answered("ListTableTags", {}, tags)["a"]["version"] == 1
    counted = namespace.count_table_rows({"id": ["db", "t"]})
    assert answered("CountTableRows", {}, counted) == counted.count


def test_responses_for_a_branch(namespace: Namespace, dialect: LanceDBDialect) -> None:
    def answered(operation: str, request: dict[str, Any], answer: Any) -> Any:
        given = OPERATIONS[operation].request_type.coerce({**table, **request})
        reply = dialect.encode(OPERATIONS[operation], given, answer, None)
        return json.loads(reply.body)

    table = {"id": ["db", "t"]}
    namespace.create_table(table, ROWS)
    namespace.delete_from_table({**table, "predicate": "x = 1"})
    namespace.create_table_branch({**table, "name": "old", "from_version": 1})
    on_branch = {**table, "branch": "old"}
    deleted = namespace.delete_from_table({**on_branch, "predicate": "x > 1"})
    gone = answered("DeleteFromTable", {"branch": "old", "predicate": "x > 1"}, deleted)
    assert gone["num_deleted_rows"] == 2
    described = namespace.describe_table({**on_branch, "load_detailed_metadata": True})
    found = answered("DescribeTable", {"branch": "old"}, described)
    assert found["version"] == deleted.version


def test_the_requested_version_of_a_branch_is_described() -> None:
    asked = []

    class Kept(LanceNamespace):
        def describe_table_version(self, request: Any) -> Any:
            asked.append(request)
            version = models.TableVersion(version=3, manifest_path="m")
            return models.DescribeTableVersionResponse(version=version)

    request = models.DescribeTableRequest(id=["db", "t"], branch="old", version=3)
    answer = models.DescribeTableResponse(version=9)
    dialect = LanceDBDialect(Databases(Kept()), "db")
    reply = dialect.encode(OPERATIONS["DescribeTable"], request, answer, None)
    assert json.loads(reply.body)["version"] == 3
    assert asked == [models.DescribeTableVersionRequest(id=["db", "t"], branch="old", version=3)]


@pytest.mark.parametrize("version", [None, 0])
def test_a_deletion_without_a_version_has_no_row_count(
    dialect: LanceDBDialect, version: int | None
) -> None:
    answer = models.DeleteFromTableResponse(version=version)
    request = models.DeleteFromTableRequest(id=["db", "t"], predicate="true")
    reply = dialect.encode(OPERATIONS["DeleteFromTable"], request, answer, None)
    assert json.loads(reply.body) == answer.to_dict()


def test_a_description_contains_no_storage_options_or_context(dialect: LanceDBDialect) -> None:
    answer = models.DescribeTableResponse(
        location="/t", storage_options={"aws_secret_access_key": "x"}, context={"a": "b"}
    )
    request = models.DescribeTableRequest(id=["db", "t"])
    reply = dialect.encode(OPERATIONS["DescribeTable"], request, answer, None)
    assert json.loads(reply.body) == {"location": "/t"}


class Broken(LanceNamespace):
    """A namespace with a database, which fails with an error that callers must not see."""

    def namespace_exists(self, request: Any) -> Any:
        return models.NamespaceExistsResponse()

    def table_exists(self, request: Any) -> Any:
        raise InternalError("broken at s3cr3t-key")


def test_a_failure_in_the_server_is_logged_and_has_an_id(caplog: pytest.LogCaptureFixture) -> None:
    headers = {DATABASE_HEADER: "db", "x-api-key": "s3cr3t-key", "x-request-id": "r-1"}
    with serving(Broken()) as uri, http_client(uri, timeout=300) as client:
        answer = client.post("/v1/table/t/exists", headers=headers)
    assert (answer.status_code, answer.json()["code"], answer.json()["instance"]) == (
        500,
        18,
        "r-1",
    )
    assert "request r-1: TableExists failed" in caplog.text
    assert "s3cr3t-key" not in caplog.text + answer.text
    assert answer.headers["phalanx-version"] == "0.3.0"


class Rejecting(Broken):
    """A namespace that includes the caller's key in an error about the request."""

    def table_exists(self, request: Any) -> Any:
        raise InvalidInputError("s3cr3t-key is not a table")


def test_an_error_about_the_request_does_not_contain_the_key() -> None:
    headers = {DATABASE_HEADER: "db", "x-api-key": "s3cr3t-key"}
    with serving(Rejecting()) as uri, http_client(uri, timeout=300) as client:
        answer = client.post("/v1/table/t/exists", headers=headers)
    assert answer.json()["code"] == 13
    assert "s3cr3t-key" not in answer.text
