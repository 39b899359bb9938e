"""Steps of `Table` and `Search` that may block; `AsyncTable` and `AsyncSearch` run them on threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace_client.arrow import RowStream, to_reader
from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableSchemaValidationError,
)
from lance_namespace_client.rows import to_table

from ..core.errors import from_system_failure
from ..tables.align import cast

if TYPE_CHECKING:
    from datetime import timedelta

    import lance
    import pandas
    import polars
    import pyarrow as pa

    from lance_namespace_client.namespace import LanceNamespace

    from .types import Row, Rows

__all__ = [
    "as_list",
    "as_pandas",
    "as_polars",
    "cast_rows",
    "open_through",
    "optimize_dataset",
    "python_rows",
    "rows_of_schema",
]


def python_rows(data: object) -> pa.Table | None:
    """Return rows of Python values or of a data frame as a table, or None for Arrow data."""
    return to_table(data)


def cast_rows(rows: pa.Table, schema: pa.Schema, what: str) -> pa.Table:
    """Convert rows of Python values or data frames to the types of the table's columns.

    The conversion is necessary because numbers in Python and in data frames have 64 bits, and lists
    have no fixed length.

    Args:
        rows: the rows.
        schema: the table's schema.
        what: description of the table for messages.

    Raises:
        TableSchemaValidationError: code 20, a value does not fit its column.
    """
    import pyarrow as pa

    for place, name in enumerate(rows.column_names):
        if name not in schema.names or rows.schema.field(place).type == schema.field(name).type:
            continue
        try:
            column = cast(rows.column(place), schema.field(name).type)
        except (pa.ArrowException, ValueError) as error:
            raise _misfit(what, schema.field(name), error) from error
        rows = rows.set_column(place, name, column)
    return rows


def rows_of_schema(
    data: Rows | Iterator[pa.RecordBatch], schema: pa.Schema, what: str
) -> RowStream:
    """Return rows with exactly the columns of a schema; missing columns are filled with nulls.

    Args:
        data: the rows, or an iterator over record batches.
        schema: the columns.
        what: description of the table for messages.

    Raises:
        TableSchemaValidationError: code 20, a value does not fit its column, a column that is not
            nullable contains a null, or the schema lacks a column. Batches are checked as they are
            read.
    """
    import pyarrow as pa

    if isinstance(data, Iterator) and not hasattr(data, "__arrow_c_stream__"):
        data = pa.RecordBatchReader.from_batches(schema, data)
    table = python_rows(data)
    reader = to_reader(data if table is None else cast_rows(table, schema, what))
    if unknown := [name for name in reader.schema.names if name not in schema.names]:
        raise TableSchemaValidationError(
            f"{what} has no column {unknown[0]!r}; it has {', '.join(schema.names)}"
        )
    return RowStream(schema, (_aligned(batch, schema, what) for batch in reader))


def _aligned(batch: pa.RecordBatch, schema: pa.Schema, what: str) -> pa.RecordBatch:
    import pyarrow as pa

    columns = []
    for field in schema:
        place = batch.schema.get_field_index(field.name)
        try:
            values = (
                pa.nulls(batch.num_rows, field.type)
                if place < 0
                else cast(batch.column(place), field.type)
            )
        except (pa.ArrowException, ValueError) as error:
            raise _misfit(what, field, error) from error
        if values.null_count and not field.nullable:
            raise TableSchemaValidationError(
                f"{what}: column {field.name!r} must not contain nulls"
            )
        columns.append(values)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _misfit(what: str, field: pa.Field, error: Exception) -> TableSchemaValidationError:
    message = " ".join(str(error).split())
    return TableSchemaValidationError(f"{what}: column {field.name!r} is {field.type}: {message}")


def as_pandas(rows: pa.Table) -> pandas.DataFrame:
    """Return rows as a ``pandas.DataFrame``."""
    return rows.to_pandas()


def as_polars(rows: pa.Table) -> polars.DataFrame:
    """Return rows as a ``polars.DataFrame``.

    Raises:
        InvalidInputError: code 13, polars is not installed.
    """
    try:
        import polars
    except ImportError as error:
        raise InvalidInputError("to_polars needs polars: pip install polars") from error
    frame = polars.from_arrow(rows)
    assert isinstance(frame, polars.DataFrame)
    return frame


def as_list(rows: pa.Table) -> list[Row]:
    """Return one dict per row."""
    found: list[Row] = rows.to_pylist()
    return found


def open_through(
    namespace: LanceNamespace,
    identifier: Sequence[str],
    version: int | str | None,
    branch: str | None,
) -> lance.LanceDataset:
    """Open the dataset of a table; see `tables.dataset.open_through`."""
    from ..tables import dataset

    found: lance.LanceDataset = dataset.open_through(namespace, identifier, version, branch)
    return found


def optimize_dataset(
    dataset: Any,
    what: str,
    *,
    cleanup_older_than: timedelta | None,
    delete_unverified: bool,
    retrain: bool,
) -> None:
    """Merge small files, add new rows to the indices and, if requested, delete old versions.

    Args:
        dataset: a ``lance.LanceDataset``.
        what: the operation and the table, as the start of a message.
        cleanup_older_than: see `Table.optimize`.
        delete_unverified: see `Table.optimize`.
        retrain: see `Table.optimize`.
    """
    from ..tables.errors import from_lance

    try:
        dataset.optimize.compact_files()
        dataset.optimize.optimize_indices(**({"retrain": True} if retrain else {}))
        if cleanup_older_than is not None:
            dataset.cleanup_old_versions(
                older_than=cleanup_older_than,
                delete_unverified=delete_unverified,
                error_if_tagged_old_versions=False,
            )
    except LanceNamespaceError:
        raise
    except Exception as error:
        raise (from_lance(error, what) or from_system_failure(error, what)) from error
