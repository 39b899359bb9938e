"""Changes rows in place: update, delete, merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.models import (
    DeleteFromTableResponse,
    MergeInsertIntoTableResponse,
    UpdateTableResponse,
)

from ..core.durations import parse_duration
from .incoming import with_vectors_of
from .merge import merge_exclusively
from .sql import SqlCheck, check_sql
from .update import reads_updated_columns, update_at_once

if TYPE_CHECKING:
    from datetime import timedelta

    import pyarrow as pa

    from lance_namespace_client.models import (
        DeleteFromTableRequest,
        MergeInsertIntoTableRequest,
        UpdateTableRequest,
    )

    from .merge import MergeRows

__all__ = ["check_merge", "count", "delete", "merge_insert", "merge_timeout", "update"]


def update(dataset: Any, request: UpdateTableRequest) -> UpdateTableResponse:
    """Set columns of the rows that match a predicate, each to the value of a SQL expression.

    All expressions use the values from before the update.

    Raises:
        TableColumnNotFoundError: code 12.
        InvalidInputError: code 13, an expression does not parse, or a column is named twice.
    """
    updates: dict[str, str] = {}
    for pair in request.updates:
        if len(pair) != 2:
            raise InvalidInputError(f"an update needs a column and an expression, not {pair!r}")
        if pair[0] in updates:
            raise InvalidInputError(f"column {pair[0]!r} is set twice; use one expression")
        updates[pair[0]] = pair[1]
    if not updates:
        raise InvalidInputError("nothing to update; specify at least one column")
    where = request.predicate or None
    check = SqlCheck(dataset.schema)
    check.condition(where, "the predicate")
    for name, expression in updates.items():
        check.assignment(name, expression, f"the expression for {name[:100]!r}")
    if reads_updated_columns(updates) and set(updates) <= set(dataset.schema.names):
        updated, version = update_at_once(dataset, updates, where, request.branch)
        return UpdateTableResponse(updated_rows=updated, version=version)
    result = dataset.update(updates, where=where)
    return UpdateTableResponse(
        updated_rows=result["num_rows_updated"], version=int(dataset.version)
    )


def count(dataset: Any, predicate: str | None) -> int:
    """Return the number of rows that match a predicate, or of all rows if there is no predicate.

    Raises:
        InvalidInputError: code 13, Lance cannot evaluate the predicate.
    """
    check_sql(predicate, "the predicate", dataset.schema)
    return int(dataset.count_rows(filter=predicate or None))


def delete(dataset: Any, request: DeleteFromTableRequest) -> DeleteFromTableResponse:
    """Delete the rows that match a predicate.

    Raises:
        InvalidInputError: code 13, the predicate is empty or does not parse.
    """
    if not request.predicate.strip():
        raise InvalidInputError("the predicate is empty; specify one, or 'true' to delete all rows")
    check_sql(request.predicate, "the predicate", dataset.schema)
    dataset.delete(request.predicate)
    return DeleteFromTableResponse(version=int(dataset.version))


def check_merge(request: MergeInsertIntoTableRequest) -> None:
    """Reject a merge that has no key, no action or unsafe SQL (code 13)."""
    if not request.on:
        raise InvalidInputError("'on' is empty; specify the key columns")
    if not (
        request.when_matched_update_all
        or request.when_not_matched_insert_all
        or request.when_not_matched_by_source_delete
    ):
        raise InvalidInputError(
            "no action is set; set when_matched_update_all, when_not_matched_insert_all or "
            "when_not_matched_by_source_delete"
        )
    _check_conditions(request, None)


def _check_conditions(request: MergeInsertIntoTableRequest, schema: pa.Schema | None) -> None:
    check = SqlCheck(schema)
    for name in ("when_matched_update_all_filt", "when_not_matched_by_source_delete_filt"):
        check.condition(getattr(request, name), name)


def merge_timeout(request: MergeInsertIntoTableRequest) -> timedelta | None:
    """Return how long a merge may retry, or None if the request does not specify it."""
    return None if request.timeout is None else parse_duration(request.timeout)


def merge_insert(
    dataset: Any, request: MergeInsertIntoTableRequest, rows: MergeRows
) -> MergeInsertIntoTableResponse:
    """Merge rows into a table by key; null keys match no rows.

    A merge that may insert rows prevents concurrent inserts of the same keys.

    Raises:
        TableColumnNotFoundError: code 12, a key column is missing.
        ConcurrentModificationError: code 14, another change was committed first in every attempt.
        InvalidInputError: code 13, a condition contains a column in double quotes.
    """
    _check_conditions(request, dataset.schema)
    timeout = merge_timeout(request)

    def builder(onto: Any) -> Any:
        merge = onto.merge_insert(request.on)
        if request.when_matched_update_all:
            merge = merge.when_matched_update_all(request.when_matched_update_all_filt)
        if request.when_not_matched_insert_all:
            merge = merge.when_not_matched_insert_all()
        if request.when_not_matched_by_source_delete:
            merge = merge.when_not_matched_by_source_delete(
                request.when_not_matched_by_source_delete_filt
            )
        # If pylance uses an index, it drops rows with a null key, so it must not use one for such
        # rows.
        return merge.use_index(False if rows.has_null_keys else request.use_index)

    def uncommitted(onto: Any) -> Any:
        source = with_vectors_of(rows.read(), onto.schema)
        with source.guarded():
            return builder(onto).execute_uncommitted(source.reader())

    if request.when_not_matched_insert_all:
        result = merge_exclusively(dataset, request.branch, uncommitted, timeout)
    else:
        merge = builder(dataset)
        source = with_vectors_of(rows.read(), dataset.schema)
        with source.guarded():
            result = (merge if timeout is None else merge.retry_timeout(timeout)).execute(
                source.reader()
            )
    return MergeInsertIntoTableResponse(
        num_updated_rows=result["num_updated_rows"],
        num_inserted_rows=result["num_inserted_rows"],
        num_deleted_rows=result["num_deleted_rows"],
        version=int(dataset.version),
    )
