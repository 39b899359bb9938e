"""LanceDB's dialect of the protocol, for its remote clients (``lancedb.connect("db://...")``).

These clients use the protocol's routes with bodies in their own format. The server recognizes them
by the header that names a database, and applies the dialect only to them. The dialect translates
their requests to the protocol's, and results to the responses that they expect. Any served
namespace can therefore be used as a LanceDB server. Values without a field in the protocol are
passed as entries of the request's `context` (`ORDER_BY`, `REPLACE`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from lance_namespace_client import models
from lance_namespace_client.arrow import to_reader
from lance_namespace_client.errors import (
    ErrorCode,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
)
from lance_namespace_client.model import Model
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import OPERATIONS, Operation
from lance_namespace_client.wire import STREAM_TYPE

from ...tables.context import ORDER_BY, REPLACE
from ...tables.lance_types import sql_type_name, to_lance_schema
from ..http.dialect import PROTOCOL, Dialect
from ..http.requests import Headers
from ..http.responses import Reply, Vend, json_reply
from ..http.routing import Endpoint
from ..security.origin import media_type
from .clone import CLONE_TABLE

__all__ = ["DATABASE_HEADER", "Databases", "LanceDBDialect"]

DATABASE_HEADER = "x-lancedb-database"
# Server version that is reported to the clients. As of this version, they send several vectors in
# one request, and structured full-text queries. As of the next version, they would upload data in
# several parts.
VERSION_HEADER = (b"phalanx-version", b"0.3.0")
# Number of rows with which the clients request all rows.
ALL_ROWS = 1 << 62
INDEX_TYPES = {"BLOOM_FILTER": "BLOOMFILTER"}

Json = dict[str, Any]


class Databases:
    """Maps LanceDB databases to namespaces.

    Args:
        namespace: the served namespace.
        named: identifiers of databases by name; any other name is a namespace below the root.
    """

    def __init__(
        self, namespace: LanceNamespace, named: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        self._namespace = namespace
        self._named = dict(named or {})
        self._found: set[str] = set()

    @property
    def namespace(self) -> LanceNamespace:
        """The served namespace."""
        return self._namespace

    def dialect(self, headers: Headers) -> Dialect:
        """Return the dialect of a request: LanceDB's for LanceDB clients, the protocol's for all others."""
        name = headers.get(DATABASE_HEADER)
        return PROTOCOL if name is None else LanceDBDialect(self, name)

    def find(self, name: str) -> tuple[str, ...]:
        """Return the identifier of a database's namespace, which need not exist."""
        return self._named.get(name, (name,))

    def require(self, name: str) -> None:
        """Raise an error if a database does not exist; an existing database is looked up only once.

        Raises:
            NamespaceNotFoundError: code 1, the database does not exist.
        """
        if name not in self._named and name not in self._found:
            self._require(name)
            self._found.add(name)

    def _require(self, name: str) -> None:
        try:
            if name:
                self._namespace.namespace_exists(models.NamespaceExistsRequest(id=[name]))
                return
            cause = None
        except LanceNamespaceError as error:
            # A catalog whose root contains only tables rejects all names of namespaces, or does not
            # support namespaces.
            if error.code not in (
                ErrorCode.NAMESPACE_NOT_FOUND,
                ErrorCode.INVALID_INPUT,
                ErrorCode.UNSUPPORTED,
            ):
                raise
            cause = error
        raise NamespaceNotFoundError(
            f"database {name[:100]!r} does not exist; use the name of a namespace, or start the "
            "server with --lancedb-database NAME=IDENTIFIER"
        ) from cause


@frozen
class LanceDBDialect(Dialect):
    """Decodes one request of a LanceDB client and encodes its response."""

    databases: Databases
    database: str

    def accepts(self, operation: Operation[Any, Any], headers: Headers) -> bool:
        """Return whether the body is an Arrow schema for new columns, which only this dialect
        accepts.
        """
        return operation.name == "AlterTableAddColumns" and media_type(headers) == STREAM_TYPE

    def decode(
        self,
        endpoint: Endpoint,
        segments: tuple[str, ...],
        query_string: bytes,
        headers: Headers,
        body: bytes,
    ) -> tuple[Operation[Any, Any], Any]:
        """Return the operation to execute, and its request with identifiers below the database."""
        body = self.read_body(endpoint.operation, headers, body)
        return self.place(*super().decode(endpoint, segments, query_string, headers, body))

    def check_target(self) -> None:
        """Raise an error if the database does not exist.

        Raises:
            NamespaceNotFoundError: code 1.
        """
        self.databases.require(self.database)

    def encode(
        self, operation: Operation[Any, Any], request: Any, response: Any, vend: Vend | None
    ) -> Reply:
        """Encode the result of an operation in the form that LanceDB's clients expect."""
        change = _ANSWERS.get(operation.name)
        if change is None:
            return _signed(super().encode(operation, request, response, vend))
        response = operation.response_type.coerce(response)
        data = change(response, request, self.databases.namespace)
        return _signed(json_reply(operation.status, data, []))

    def encode_error(self, error: LanceNamespaceError) -> Reply:
        """Encode an error; the clients retry after status 409, so permanent errors become 400."""
        found = super().encode_error(error)
        is_final = found.status == 409 and error.code is not ErrorCode.CONCURRENT_MODIFICATION
        return _signed(found._replace(status=400) if is_final else found)

    def read_body(self, operation: Operation[Any, Any], headers: Headers, body: bytes) -> bytes:
        """Return the body in the protocol's format.

        Raises:
            InvalidInputError: code 13, the body cannot be read.
        """
        if self.accepts(operation, headers):
            return json.dumps({"new_columns": _null_columns(body)}).encode()
        change = _BODIES.get(operation.name)
        if change is None or not body.strip():
            return body
        try:
            decoded = json.loads(body)
        except (ValueError, RecursionError):
            return body  # the decoder reports the error
        if not isinstance(decoded, dict):
            return body
        change(decoded)
        return json.dumps(decoded).encode()

    def place(
        self, operation: Operation[Any, Any], request: Any
    ) -> tuple[Operation[Any, Any], Model]:
        """Return the operation, and its request with all identifiers below the database.

        `check_target` checks whether the database exists.
        """
        above = list(self.databases.find(self.database))
        if operation.name == "ListAllTables":
            operation = OPERATIONS["ListTables"]
            request = models.ListTablesRequest(
                page_token=request.page_token,
                limit=request.limit,
                identity=request.identity,
                context=request.context,
            )
        if hasattr(request, "id"):
            request.id = [*above, *(request.id or ())]
        if getattr(request, "new_namespace_id", None) is not None:
            request.new_namespace_id = [*above, *request.new_namespace_id]
        if operation is CLONE_TABLE:
            request.near = tuple(above)
        if operation.name == "DescribeTable":
            request.load_detailed_metadata = True
        return operation, request


def _signed(reply: Reply) -> Reply:
    """Add the server version to a response; clients derive the server's features from it."""
    return reply._replace(headers=[*reply.headers, VERSION_HEADER])


# --- requests


def _null_columns(body: bytes) -> list[Json]:
    """Return definitions of new all-null columns, with the types in an Arrow schema."""
    schema = to_reader(io.BytesIO(body)).schema
    types = [sql_type_name(field.type).replace("'", "''") for field in schema]
    return [
        {"name": name, "expression": f"arrow_cast(NULL, '{kind}')"}
        for name, kind in zip(schema.names, types, strict=True)
    ]


def _query_body(body: Json) -> None:
    vector = body.get("vector")
    if isinstance(vector, list):
        several = bool(vector) and isinstance(vector[0], list)
        body["vector"] = {"multi_vector" if several else "single_vector": vector}
    elif "vector" not in body:
        body["vector"] = None
    columns = body.get("columns")
    if isinstance(columns, list) and any(isinstance(each, list) for each in columns):
        columns = _pairs(columns)
    if isinstance(columns, list):
        body["columns"] = {"column_names": columns}
    elif isinstance(columns, dict) and not columns.keys() & {"column_names", "column_aliases"}:
        body["columns"] = {"column_aliases": columns}
    _full_text(body)
    _counts(body)
    ordering = body.pop("order_by", None)
    if ordering:
        body["context"] = {**(body.get("context") or {}), ORDER_BY: json.dumps(ordering)}


def _pairs(columns: list[Any]) -> Json:
    try:
        return dict(columns)
    except (TypeError, ValueError):
        raise InvalidInputError(
            "QueryTable: columns must be names, or pairs of a name and an expression"
        ) from None


def _full_text(body: Json) -> None:
    text = body.get("full_text_query")
    if not isinstance(text, dict) or text.keys() & {"string_query", "structured_query"}:
        return
    if isinstance(text.get("query"), str):
        body["full_text_query"] = {"string_query": text}
        return
    query = text.get("query")
    if isinstance(query, dict) and isinstance(query.get("match"), dict):
        match = query["match"]
        if match.get("column") is None:
            # A query without a column searches all indexed columns; only a plain text query can
            # omit the column.
            body["full_text_query"] = {"string_query": {"query": match.get("terms")}}
            return
    body["full_text_query"] = {"structured_query": {"query": _clauses(query)}}


def _clauses(query: Any) -> Any:
    """Return a structured query that contains only matches on a single column."""
    if isinstance(query, list):
        return [_clauses(each) for each in query]
    if not isinstance(query, dict):
        return query
    found = {key: _clauses(each) for key, each in query.items()}
    several = found.get("multi_match")
    if isinstance(several, dict) and isinstance(several.get("columns"), list):
        shared = {key: each for key, each in several.items() if key not in _OF_SEVERAL}
        shared["terms"] = several.get("query")
        boosts = several.get("boost") or [None] * len(several["columns"])
        found["multi_match"] = {
            "match_queries": [
                {**shared, "column": column, "boost": boost}
                for column, boost in zip(several["columns"], boosts, strict=False)
            ]
        }
    return found


def _counts(body: Json) -> None:
    """Convert the numbers of rows and probes in a query to the protocol's fields."""
    if isinstance(body.get("k"), int) and body["k"] >= ALL_ROWS:
        body["k"] = 0 if not body.get("full_text_query") else MAX_FOUND
    if body.get("maximum_nprobes") == 0:
        del body["maximum_nprobes"]
    if body.get("minimum_nprobes") is not None:
        body.pop("nprobes", None)


_OF_SEVERAL = ("query", "columns", "boost")
# Maximum number of rows that a full-text search returns if the client requests all rows.
MAX_FOUND = 1 << 20


def _plan_body(body: Json) -> None:
    if isinstance(body.get("query"), dict):
        _query_body(body["query"])


def _index_body(body: Json) -> None:
    if "distance_type" not in body and "metric_type" in body:
        body["distance_type"] = body["metric_type"]
    kind = body.get("index_type")
    if isinstance(kind, str):
        body["index_type"] = INDEX_TYPES.get(kind.upper(), kind)
    if body.get("replace") is not False:
        body["context"] = {**(body.get("context") or {}), REPLACE: "true"}


def _rename_body(body: Json) -> None:
    if "new_namespace" in body:
        body["new_namespace_id"] = body.pop("new_namespace")


_BODIES: dict[str, Callable[[Json], None]] = {
    "RenameTable": _rename_body,
    "QueryTable": _query_body,
    "AnalyzeTableQueryPlan": _query_body,
    "ExplainTableQueryPlan": _plan_body,
    "CreateTableIndex": _index_body,
    "CreateTableScalarIndex": _index_body,
}


# --- responses


def _description(response: Any, request: Any, namespace: LanceNamespace) -> Json:
    data: Json = response.to_dict()
    data.pop("storage_options", None)
    data.pop("context", None)
    if request.branch is not None:
        named = {"id": request.id, "branch": request.branch}
        found = namespace.describe_table_version(
            models.DescribeTableVersionRequest(version=request.version, **named)
        )
        data["version"] = found.version.version
    if response.schema is not None:
        data["schema"] = to_lance_schema(response.schema)
    return data


def _update(response: Any, request: Any, namespace: LanceNamespace) -> Json:
    return {**response.to_dict(), "rows_updated": response.updated_rows}


def _delete(response: Any, request: Any, namespace: LanceNamespace) -> Json:
    """Return the number of deleted rows, from the row counts of this and the previous version."""
    data: Json = response.to_dict()
    if not response.version:
        return data
    after, before = (
        namespace.count_table_rows(
            models.CountTableRowsRequest(id=request.id, branch=request.branch, version=version)
        ).count
        or 0
        for version in (response.version, response.version - 1)
    )
    return {**data, "num_deleted_rows": before - after}


def _tags(response: Any, request: Any, namespace: LanceNamespace) -> Json:
    found: Json = response.to_dict()["tags"]
    return found


_ANSWERS: dict[str, Callable[[Any, Any, LanceNamespace], Json]] = {
    "DescribeTable": _description,
    "UpdateTable": _update,
    "DeleteFromTable": _delete,
    "ListTableTags": _tags,
}
