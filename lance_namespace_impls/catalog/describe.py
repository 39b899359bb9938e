"""Where a table is and what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace_client import models
from lance_namespace_client.errors import (
    InvalidInputError,
    TableNotFoundError,
)

from ..core.errors import about
from ..core.identifiers import (
    format_identifier,
    parse_identifier,
    subject_of,
)
from .entry import (
    plain_properties,
)
from .operation import operation
from .storage import TableStorages

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        DescribeTableRequest,
        DescribeTableResponse,
        TableExistsRequest,
        TableExistsResponse,
    )


__all__ = ["TableDescriptions"]


class TableDescriptions(TableStorages, abstract=True):
    """Where a table is and what is in it."""

    @operation
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """Return where a table is and, where asked for, what is in it."""
        identifier = parse_identifier(request.id)
        chosen = [n for n in ("version", "tag", "branch") if getattr(request, n) is not None]
        if len(chosen) > 1:
            raise InvalidInputError(
                f"give one of {', '.join(chosen)}", subject=subject_of("DescribeTable", identifier)
            )
        entry = self.find_table(identifier)
        storage = self.storage_of(entry)
        answer = models.DescribeTableResponse(
            table=identifier[-1],
            namespace=list(identifier[:-1]),
            location=entry.location,
            storage_options=dict(storage.options) or None,
            properties=plain_properties(entry.properties),
            managed_versioning=entry.managed,
        )
        if request.with_table_uri:
            from ..tables.dataset import table_uri

            answer.table_uri = table_uri(entry.location)
        if request.check_declared:
            answer.is_only_declared = not self.has_data(entry)
        if not chosen:
            answer.schema = self.known_schema(entry)
        if request.load_detailed_metadata or chosen:
            from ..tables.describe import fill_details

            with about(subject_of("DescribeTable", identifier)):
                fill_details(answer, storage, request)
        return answer

    @operation
    def table_exists(self, request: TableExistsRequest) -> TableExistsResponse:
        """Succeed where the table exists; code 4 where it does not."""
        identifier = parse_identifier(request.id)
        if request.version is None:
            self.require_found(identifier)
            return models.TableExistsResponse()
        from ..tables.dataset import has_version

        if not has_version(self.storage_of(self.find_table(identifier)), request.version):
            raise TableNotFoundError(
                f"table {format_identifier(identifier)} has no version {request.version}"
            )
        return models.TableExistsResponse()
