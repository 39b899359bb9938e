"""A namespace that stores nothing: its responses show the requests that it received."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from lance_namespace_client.arrow import to_reader
from lance_namespace_client.errors import InvalidInputError, TableNotFoundError, ThrottlingError
from lance_namespace_client.models import (
    CountTableRowsResponse,
    CreateTableResponse,
    DescribeTableIndexStatsResponse,
    DescribeTableResponse,
    ListNamespacesResponse,
    ListTablesResponse,
    RefreshMaterializedViewResponse,
    TableExistsResponse,
    UpdateTableSchemaMetadataResponse,
)
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.core.config import Config

__all__ = ["EchoNamespace"]


class EchoNamespace(Namespace):
    """A namespace that returns fields of its requests.

    `requests` records all requests. `reader` returns the rows of queries. Tables named ``gone``,
    ``busy`` and ``broken`` cause errors.
    """

    def __init__(self) -> None:
        super().__init__(Config())
        self.requests: list[Any] = []
        self.rows = 0
        self.released = threading.Event()
        self.reader: Callable[[], pa.RecordBatchReader] = small_rows

    def describe_table(self, request: Any) -> DescribeTableResponse:
        self.requests.append(request)
        names = request.id or []
        return DescribeTableResponse(
            table=names[-1] if names else None,
            namespace=names[:-1],
            version=request.version,
            storage_options={"aws_region": "eu", "aws_secret_access_key": "hidden"},
            context={"header.x-echo": "yes", "header.content-length": "7", "note": "kept"},
        )

    def table_exists(self, request: Any) -> TableExistsResponse:
        self.requests.append(request)
        if request.id == ["gone"]:
            raise TableNotFoundError("table gone does not exist", detail="looked twice")
        if request.id == ["busy"]:
            raise ThrottlingError("too many calls", retry_after=1.2)
        if request.id == ["broken"]:
            raise KeyError("a secret place in the code")
        return TableExistsResponse()

    def list_tables(self, request: Any) -> ListTablesResponse:
        self.requests.append(request)
        return ListTablesResponse(tables=[])

    def list_namespaces(self, request: Any) -> ListNamespacesResponse:
        self.requests.append(request)
        return ListNamespacesResponse(namespaces=[])

    def list_all_tables(self, request: Any) -> ListTablesResponse:
        self.requests.append(request)
        return ListTablesResponse(tables=[(request.context or {}).get("delimiter", "none")])

    def describe_table_index_stats(self, request: Any) -> DescribeTableIndexStatsResponse:
        self.requests.append(request)
        return DescribeTableIndexStatsResponse(index_type=request.index_name)

    def update_table_schema_metadata(self, request: Any) -> UpdateTableSchemaMetadataResponse:
        self.requests.append(request)
        return UpdateTableSchemaMetadataResponse(metadata=request.metadata)

    def count_table_rows(self, request: Any) -> CountTableRowsResponse:
        self.requests.append(request)
        return CountTableRowsResponse(count=7)

    def refresh_materialized_view(self, request: Any) -> RefreshMaterializedViewResponse:
        self.requests.append(request)
        return RefreshMaterializedViewResponse(job_id="j1")

    def create_table(self, request: Any, data: Any) -> CreateTableResponse:
        self.requests.append(request)
        if request.mode == "refuse":
            raise InvalidInputError("refused before any row was read")
        self.rows = 0
        for batch in to_reader(data):
            self.rows += batch.num_rows
        return CreateTableResponse(location="nowhere", properties=request.properties)

    def query_table(self, request: Any) -> pa.RecordBatchReader:
        self.requests.append(request)
        return self.reader()

    def last(self) -> Any:
        return self.requests[-1]


def small_rows() -> pa.RecordBatchReader:
    return pa.table({"a": [1, 2, 3]}).to_reader()


def large_rows(batches: int, fail_at: int | None = None) -> Callable[[], pa.RecordBatchReader]:
    """Return a function that opens a reader of 1 MiB batches; the batch at `fail_at` fails."""
    schema = pa.schema([("a", pa.int64())])

    def produce() -> Iterator[pa.RecordBatch]:
        for number in range(batches):
            if number == fail_at:
                raise InvalidInputError(f"batch {number} cannot be read")
            yield pa.record_batch([pa.array([number] * (1 << 17), pa.int64())], schema=schema)

    return lambda: pa.RecordBatchReader.from_batches(schema, produce())
