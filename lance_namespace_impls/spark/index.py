"""Builds an index with many workers: each writes a part, and the driver commits all parts together.

>>> from lance_namespace_impls import connect
>>> from lance_namespace_impls.spark import create_index
>>> lake = connect("dir", {"path": "/data/lance"})
>>> create_index(spark, lake, "letters", "embedding", num_partitions=256)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from lance_namespace_client.models import CreateTableIndexRequest

from ..distributed.failures import decoded
from ..distributed.index_build import IndexBuild, IndexBuilt
from ..distributed.options import require_positive
from ..distributed.runners import spark_runner
from ..tables.context import REPLACE
from .dataframe_reader import target_of
from .extra import require_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..catalog.namespace import Namespace
    from ..objects.types import IndexOptions, IndexType

__all__ = ["IndexBuilt", "create_index"]


def create_index(
    spark: SparkSession,
    namespace: Namespace,
    table: str | Sequence[str],
    column: str,
    *,
    index_type: IndexType = "IVF_PQ",
    name: str | None = None,
    replace: bool = False,
    tasks: int | None = None,
    **options: Unpack[IndexOptions],
) -> IndexBuilt:
    """Build an index of a column on Spark's workers, and return the result.

    The driver trains a vector index on a sample. If the driver is killed, the same call builds only
    the parts that are missing. Rows that other writers append during the build are not in the index;
    `maintain` adds them.

    Args:
        spark: the session.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        column: the column.
        index_type: type of the index, as in `Table.create_index`.
        name: name of the index; defaults to a name derived from the column's name.
        replace: whether an existing index with the same name is replaced. Searches use the old one
            until the commit.
        tasks: maximum number of parts; defaults to 4 per core, and to 1 per core for types whose
            parts stay separate.
        options: options of the type, as in `Table.create_index`, such as ``num_partitions``.

    Raises:
        TableNotFoundError: code 4.
        TableIndexAlreadyExistsError: code 7, an index with the name exists.
        TableColumnNotFoundError: code 12.
        InvalidInputError: code 13, an option is invalid, or the type does not fit the column.
        ConcurrentModificationError: code 14, other writers kept rewriting the table.
        InvalidTableStateError: code 19, the table has no data.
    """
    require_pyspark()
    require_positive(tasks=tasks)
    target = target_of(namespace, table)
    request = CreateTableIndexRequest.coerce(
        {
            "id": list(target.table),
            "column": column,
            "index_type": index_type,
            "name": name,
            "context": {REPLACE: "true"} if replace else None,
            **options,
        }
    )
    with decoded():
        return IndexBuild(target, request, spark_runner(spark), tasks).run()
