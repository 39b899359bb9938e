"""Converts Arrow tables to DataFrames without losing rows."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import TableSchemaValidationError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["frame_from_arrow", "keeping_all_rows"]


def frame_from_arrow(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Return the rows of an Arrow table as a DataFrame, with the same types as `read_table`.

    Spark's own `createDataFrame` drops the rows after an empty chunk of a table, converts
    timestamps without a zone to the session's zone, and rejects types such as unsigned integers.

    Args:
        spark: the session.
        rows: the rows.

    Raises:
        UnsupportedError: code 0, a column has a type without an equivalent in Spark.
        TableSchemaValidationError: code 20, two columns have the same name.
    """
    import pyarrow as pa

    from .casts import warn_of_losses
    from .columns import cast_batch, spark_arrow_schema, to_spark_schema

    for name in rows.column_names:
        if rows.column_names.count(name) > 1:
            raise TableSchemaValidationError(
                f"the Arrow table: two columns are named {name!r}; rename one of them"
            )
    schema = to_spark_schema(rows.schema)
    target = spark_arrow_schema(schema)
    warn_of_losses(rows.schema, target, "the Arrow table")
    if target.names:  # if there are no columns, only the batches contain the row count
        batches = [cast_batch(batch, target, cut_fractions=True) for batch in rows.to_batches()]
        rows = _as_spark_reads(pa.Table.from_batches(batches, target))
    return spark.createDataFrame(rows, schema)


def keeping_all_rows(spark: SparkSession) -> None:
    """Patch a session's `createDataFrame` to keep the rows after an empty chunk of an Arrow table.

    In Spark 4.3, the reader of Arrow batches ends a partition at the first batch without rows.
    """
    import pyarrow as pa

    if "createDataFrame" in vars(spark):
        return
    by_spark: Any = spark.createDataFrame

    @wraps(by_spark)
    def create(data: Any, *args: Any, **more: Any) -> DataFrame:
        rows = _as_spark_reads(data) if isinstance(data, pa.Table) else data
        frame: DataFrame = by_spark(rows, *args, **more)
        return frame

    spark.createDataFrame = create  # type: ignore[method-assign]


def _as_spark_reads(table: pa.Table) -> pa.Table:
    """Return a table that has no empty chunks and no slices of nested columns.

    Spark rebuilds nested columns from their parts; pyarrow cannot do this for a slice with nulls.
    """
    import pyarrow as pa

    if not table.num_columns:
        return table
    batches = [
        pa.RecordBatch.from_arrays(
            [pa.concat_arrays([c]) if pa.types.is_nested(c.type) else c for c in batch.columns],
            schema=table.schema,
        )
        for batch in table.to_batches()
        if batch.num_rows
    ]
    # If there are no batches, `from_batches` returns columns without chunks, and Spark cannot read
    # a nested column without chunks.
    return pa.Table.from_batches(batches, table.schema) if batches else table.schema.empty_table()
