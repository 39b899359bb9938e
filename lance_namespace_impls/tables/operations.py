"""The table operations of the protocol, for every backend."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from lance_namespace_client._arrow import to_reader
from lance_namespace_client.models import CountTableRowsResponse, InsertIntoTableResponse

from ..core.identifiers import Identifier, parse_identifier
from ..core.modes import InsertMode, parse_mode
from ..core.namespace import Namespace
from ..core.operation import operation
from ..core.storage import TableStorage

if TYPE_CHECKING:
    import pyarrow as pa
    from lance_namespace_client._arrow import ArrowData
    from lance_namespace_client.errors import LanceNamespaceError
    from lance_namespace_client.models import (
        CountTableRowsRequest,
        InsertIntoTableRequest,
        QueryTableRequest,
    )

__all__ = ["TableOperations"]


class TableOperations(Namespace):
    """What can be done to a table once its location is known."""

    @abstractmethod
    def check_identifier(self, operation: str, request: Any) -> None:
        """Refuse an identifier of a depth that the catalog does not have (code 13)."""

    @abstractmethod
    def translate(self, error: Exception, what: str) -> LanceNamespaceError:
        """Turn a failure of the catalog or of storage into a protocol error."""

    @abstractmethod
    def _locate(self, identifier: Identifier) -> TableStorage:
        """Look a table up.

        Raises:
            TableNotFoundError: code 4, also where its namespace is missing.
            InvalidInputError: code 13, it is not a Lance table.
        """

    def _open(self, names: list[str] | None, **choice: Any) -> Any:
        from .dataset import open_dataset

        return open_dataset(self._locate(parse_identifier(names)), **choice)

    @operation
    def insert_into_table(
        self, request: InsertIntoTableRequest, data: ArrowData
    ) -> InsertIntoTableResponse:
        """Add rows to a table, or replace them."""
        from .write import insert

        mode = parse_mode(request.mode, InsertMode.APPEND)
        storage = self._locate(parse_identifier(request.id))
        rows, version = insert(storage, to_reader(data), mode)
        return InsertIntoTableResponse(num_inserted_rows=rows, version=version)

    @operation
    def query_table(self, request: QueryTableRequest) -> pa.RecordBatchReader:
        """Search or scan a table; the rows come a batch at a time as they are read."""
        from .query import scan

        dataset = self._open(request.id, version=request.version, branch=request.branch)
        return scan(dataset, request)

    @operation
    def count_table_rows(self, request: CountTableRowsRequest) -> CountTableRowsResponse:
        """Count the rows of a table that fit a predicate."""
        dataset = self._open(request.id, version=request.version, branch=request.branch)
        return CountTableRowsResponse(count=dataset.count_rows(filter=request.predicate or None))
