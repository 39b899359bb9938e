"""Searches a table for every row of a DataFrame, or of another table, on Spark's workers.

>>> from lance_namespace_impls import connect
>>> from lance_namespace_impls.spark import nearest
>>> lake = connect("dir", {"path": "/data/lance"})
>>> nearest(spark, lake, "letters", queries, k=5, filter="year > 1900")  # doctest: +SKIP

Every worker searches the same version of the table with its index. Only queries and results are
transferred between Spark and the workers; the rows of the table are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import attrs
import numpy as np
import pyarrow as pa
from attrs import frozen

from lance_namespace_client.errors import InvalidInputError, TableColumnNotFoundError
from lance_namespace_client.models import (
    QueryTableRequest,
    QueryTableRequestFullTextQuery,
    QueryTableRequestVector,
    StringFtsQuery,
)

from ..distributed.columns import (
    batches_of_bounded_size,
    cast_batch,
    spark_arrow_schema,
    to_spark_schema,
)
from ..distributed.failures import coded
from ..distributed.options import require_positive
from ..distributed.secrets import map_in_arrow
from ..tables.hybrid import RELEVANCE
from ..tables.query import only_vector_column, scan, scanner
from .dataframe_reader import cores_of, pin_version, reader_of, target_of
from .extra import require_pyspark
from .read_plan import ROW_ID, Pinned, pin, plan_tasks, readable_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from ..catalog.namespace import Namespace
    from ..objects.types import DistanceType

__all__ = [
    "RANK",
    "SearchOptions",
    "TableSearch",
    "joined",
    "knn_join",
    "nearest",
    "plan_search",
]

RANK = "_rank"
"""Column with the position of a row among the results of its query, starting at 1."""
QUERY_INDEX = "query_index"
# Lance searches for several vectors in one call. Without an index, it reads the table only once for
# all of them. Their results are in memory at the same time.
BATCH_QUERIES, BATCH_RESULTS = 256, 65_536


class SearchOptions(TypedDict, total=False):
    """Options of a vector search, as the methods of `Search` with the same names."""

    distance_type: DistanceType
    """Distance type; defaults to that of the index."""
    lower_bound: float
    """Smallest distance, inclusive."""
    upper_bound: float
    """Largest distance, exclusive."""
    nprobes: int
    """Partitions of the index to search."""
    minimum_nprobes: int
    """Minimum number of partitions to search."""
    maximum_nprobes: int
    """Maximum number of partitions to search if the first ones yield too few rows."""
    ef: int
    """Number of candidates in the graph of an HNSW index."""
    refine_factor: int
    """Multiple of `k` rows that are fetched from the index and ranked by their full vectors."""
    bypass_vector_index: bool
    """Whether every row is compared instead of using the index."""
    fast_search: bool
    """Whether only rows in the index are searched."""
    with_row_id: bool
    """Whether the result has the row ids, in the column ``_rowid``."""


def nearest(
    spark: SparkSession,
    namespace: Namespace,
    table: str | Sequence[str],
    queries: DataFrame,
    *,
    k: int = 10,
    vectors: str | None = None,
    texts: str | None = None,
    keep: Sequence[str] | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    filter: str | None = None,
    prefilter: bool = True,
    vector_column_name: str | None = None,
    fts_columns: str | Sequence[str] | None = None,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    timestamp: datetime | None = None,
    **options: Unpack[SearchOptions],
) -> DataFrame:
    """Search a table for every row of a DataFrame, and return the results as a DataFrame.

    With `vectors`, each row is a vector search; with `texts`, a full-text search; with both, a hybrid
    search. The results are those of `Table.search` with the same options. A query that is null, an
    empty text, or a vector with NaN has no result. Each partition of `queries` is a task.

    Args:
        spark: the session.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        queries: the queries.
        k: maximum number of results for each query.
        vectors: column of `queries` with the vectors; defaults to its only array column, unless
            `texts` is set.
        texts: column of `queries` with the words of a full-text search.
        keep: columns of `queries` in the result; defaults to all except `vectors`.
        columns: columns of the table in the result, or SQL expressions by the name of the resulting
            column; defaults to all.
        filter: condition in Lance's SQL for the rows of the table.
        prefilter: whether a search considers only the rows that match `filter`; if false, the filter
            is applied to the rows that the search found.
        vector_column_name: vector column of the table; defaults to the only one.
        fts_columns: text columns of the table; defaults to those with a full-text index.
        version: version to search; defaults to the current latest.
        tag: tag of the version.
        branch: branch; defaults to the main branch.
        timestamp: searches the latest version at that time; without a zone it is in UTC.
        options: options of the vector search, such as ``nprobes`` or ``refine_factor``.

    Returns:
        the kept columns of the queries, the columns of the table, ``_distance`` (``_score`` for a
        full-text search, ``_relevance_score`` for a hybrid one), and `RANK`.

    Raises:
        TableNotFoundError: code 4.
        TableTagNotFoundError: code 8.
        TableVersionNotFoundError: code 11.
        TableColumnNotFoundError: code 12.
        InvalidInputError: code 13, an argument is invalid, or the queries and the table have columns
            with the same name.
        InvalidTableStateError: code 19, the table has no data.
        TableBranchNotFoundError: code 22.
    """
    require_pyspark()
    what = f"search of table {table}"
    if vectors is None and texts is None:
        vectors = _only_array(queries, what)
    for name in (vectors, texts, *(keep or ())):
        if name is not None and name not in queries.columns:
            raise TableColumnNotFoundError(
                f"{what}: the queries have no column {name}; they have {', '.join(queries.columns)}"
            )
    _check_types(queries, vectors, texts, what)
    if keep is None:
        keep = [name for name in queries.columns if name != vectors]
    pinned = pin_version(
        namespace, table, version=version, tag=tag, branch=branch, timestamp=timestamp
    )
    search = plan_search(
        pinned,
        k=k,
        has_vectors=vectors is not None,
        has_texts=texts is not None,
        columns=columns,
        filter=filter,
        prefilter=prefilter,
        vector_column_name=vector_column_name,
        fts_columns=fts_columns,
        options=options,
    )
    used = [name for name in dict.fromkeys((*keep, vectors, texts)) if name is not None]
    frame = queries.select(*(f"`{name.replace('`', '``')}`" for name in used))
    query_columns = frame.schema.__class__([frame.schema[name] for name in keep])
    places = _Places(
        query_columns=tuple(used.index(name) for name in keep),
        vectors=None if vectors is None else used.index(vectors),
        texts=None if texts is None else used.index(texts),
    )
    schema = search.output(query_columns, what)
    return map_in_arrow(frame, _searches(search, places, spark_arrow_schema(schema)), schema)


def knn_join(
    spark: SparkSession,
    namespace: Namespace,
    left: str | Sequence[str],
    right: str | Sequence[str],
    *,
    k: int = 10,
    vectors: str | None = None,
    keep: Sequence[str] | None = None,
    left_filter: str | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    filter: str | None = None,
    prefilter: bool = True,
    vector_column_name: str | None = None,
    splits: int | None = None,
    **options: Unpack[SearchOptions],
) -> DataFrame:
    """Find the nearest rows of one table for every row of another, and return the pairs.

    The workers read the vectors of the left table with Lance and search the right table; only the
    pairs are transferred to Spark.

    Args:
        spark: the session.
        namespace: namespace of both tables.
        left: identifier of the table whose rows are the queries.
        right: identifier of the table that is searched.
        k: maximum number of rows of the right table for each row of the left one.
        vectors: vector column of the left table; defaults to the only one.
        keep: columns of the left table in the result; defaults to all except `vectors`.
        left_filter: condition in Lance's SQL for the rows of the left table.
        columns: columns of the right table in the result, or SQL expressions by the name of the
            resulting column; defaults to all.
        filter: condition in Lance's SQL for the rows of the right table.
        prefilter: whether `filter` is applied before the search.
        vector_column_name: vector column of the right table; defaults to the only one.
        splits: maximum number of tasks; defaults to a number that depends on the left table's size.
        options: options of the vector search, such as ``nprobes`` or ``refine_factor``.

    Returns:
        the kept columns of the left table, the columns of the right one, ``_distance`` and `RANK`.

    Raises:
        TableNotFoundError: code 4.
        TableColumnNotFoundError: code 12.
        InvalidInputError: code 13, an argument is invalid, or both tables have columns with the same
            name.
        InvalidTableStateError: code 19, a table has no data.
    """
    require_pyspark()
    require_positive(splits=splits)
    target = target_of(namespace, left)
    whole = pin(target, filter=left_filter)
    vectors = vectors or only_vector_column(whole.schema)
    if keep is None:
        keep = [name for name in whole.schema.names if name != vectors]
    used = list(dict.fromkeys((*keep, vectors)))
    queries = pin(target, columns=used, filter=left_filter, version=whole.version)
    search = plan_search(
        pin(target_of(namespace, right)),
        k=k,
        has_vectors=True,
        columns=columns,
        filter=filter,
        prefilter=prefilter,
        vector_column_name=vector_column_name,
        options=options,
    )
    return joined(spark, queries, search, keep, vectors, splits)


def joined(
    spark: SparkSession,
    queries: Pinned,
    search: TableSearch,
    keep: Sequence[str],
    vectors: str,
    splits: int | None,
) -> DataFrame:
    """Return the results of a search for the rows of a table, which the workers read."""
    read = readable_schema(queries)
    names = read.names
    places = _Places(
        query_columns=tuple(names.index(name) for name in keep),
        vectors=names.index(vectors),
        texts=None,
    )
    query_columns = read.__class__([read[name] for name in keep])
    schema = search.output(query_columns, f"search of {search.pinned.target.name}")
    tasks = plan_tasks(queries, splits, cores_of(spark))
    searches = _searches(search, places, spark_arrow_schema(schema))
    reads = reader_of(queries, tasks, spark_arrow_schema(read))
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    return map_in_arrow(numbers, lambda batches: searches(reads(batches)), schema)


@frozen
class _Places:
    """Positions of the columns in a batch of queries."""

    query_columns: tuple[int, ...]
    vectors: int | None
    texts: int | None


@frozen(kw_only=True)
class TableSearch:
    """A search of one version of a table, without its query.

    Attributes:
        pinned: the version.
        request: the search.
        schema: columns of the results, as Lance returns them.
        in_batches: whether Lance accepts several vectors in one call.
    """

    pinned: Pinned
    request: QueryTableRequest
    schema: pa.Schema
    in_batches: bool

    def output(self, query_columns: StructType, what: str) -> StructType:
        """Return the Spark schema of the output: the kept columns, then those of the results.

        Raises:
            InvalidInputError: code 13, two columns have the same name.
        """
        from pyspark.sql.types import IntegerType, StructField

        fields = [
            *query_columns,
            *to_spark_schema(self.schema),
            StructField(RANK, IntegerType(), False),
        ]
        names = [each.name.lower() for each in fields]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InvalidInputError(
                f"{what}: the queries and the results both have a column {', '.join(twice)}; omit it "
                "with keep=, or rename it with columns={'new_name': 'name'}"
            )
        return query_columns.__class__(fields)


def plan_search(
    pinned: Pinned,
    *,
    k: int,
    has_vectors: bool = False,
    has_texts: bool = False,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    filter: str | None = None,
    prefilter: bool = True,
    vector_column_name: str | None = None,
    fts_columns: str | Sequence[str] | None = None,
    options: Mapping[str, Any],
) -> TableSearch:
    """Check a search in the driver, before any task runs; see `nearest` for the arguments."""
    require_positive(k=k)
    known = SearchOptions.__annotations__
    if unknown := sorted(set(options) - set(known)):
        raise InvalidInputError(
            f"search of {pinned.target.name}: option {', '.join(unknown)} is not known; the "
            f"options are {', '.join(known)}"
        )
    if not has_vectors and (misplaced := sorted(set(options) - {"fast_search", "with_row_id"})):
        raise InvalidInputError(
            f"search of {pinned.target.name}: {', '.join(misplaced)} applies only to vector "
            "searches; specify the vector column with vectors="
        )
    searched = [fts_columns] if isinstance(fts_columns, str) else fts_columns
    request = QueryTableRequest.coerce(
        {
            "id": list(pinned.target.table),
            "k": k,
            "filter": filter,
            "prefilter": prefilter if filter is not None else None,
            "vector_column": vector_column_name,
            "columns": _columns(columns),
            "full_text_query": {
                "string_query": {"query": "a", "columns": searched and list(searched)}
            }
            if has_texts
            else None,
            **options,
        }
    )
    try:
        dataset = pinned.open()
        in_batches = False
        if has_vectors:
            column = vector_column_name or only_vector_column(dataset.schema)
            request = attrs.evolve(request, vector_column=column)
            kind = dataset.schema.field(column).type if column in dataset.schema.names else None
            in_batches = hasattr(kind, "list_size") and not has_texts
            request = attrs.evolve(request, vector=_zeros(kind))
        schema = _result_schema(dataset, request)
    except Exception as error:
        raise pinned.target.failure(error, "searching") from error
    if missing := [name for name in schema.names if name in pinned.lost]:
        pinned.of_columns(to_spark_schema(pa.schema([schema.field(missing[0])])))
    return TableSearch(pinned=pinned, request=request, schema=schema, in_batches=in_batches)


def _columns(columns: Sequence[str] | Mapping[str, str] | None) -> dict[str, Any] | None:
    if columns is None:
        return None
    if isinstance(columns, Mapping):
        return {"column_aliases": dict(columns)}
    return {"column_names": [columns] if isinstance(columns, str) else list(columns)}


def _zeros(kind: Any) -> QueryTableRequestVector:
    """Return a query that fits a vector column, to plan a search."""
    if hasattr(kind, "value_type") and not hasattr(kind, "list_size"):
        return QueryTableRequestVector(multi_vector=[[0.0] * _size(kind.value_type)])
    return QueryTableRequestVector(single_vector=[0.0] * _size(kind))


def _size(kind: Any) -> int:
    return int(getattr(kind, "list_size", 1))


def _result_schema(dataset: Any, request: QueryTableRequest) -> pa.Schema:
    """Return the columns of a search's result; raise the error of an invalid search."""

    def planned(part: QueryTableRequest) -> pa.Schema:
        search = scanner(dataset, part)
        search.explain_plan()
        return search.projected_schema

    if request.vector is not None and request.full_text_query is not None:
        near = planned(attrs.evolve(request, full_text_query=None))
        planned(attrs.evolve(request, vector=None))
        shared = [each for each in near if each.name != "_distance"]
        schema = pa.schema([*shared, pa.field(RELEVANCE, pa.float32())])
    else:
        schema = planned(request)
    return pa.schema(
        [each.with_type(pa.int64()) if each.name == ROW_ID else each for each in schema]
    )


def _searches(search: TableSearch, places: _Places, target: pa.Schema) -> Any:
    """Return the function that searches for batches of queries on a worker."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = search.pinned.target
        with coded(f"searching {table.name}", table.namespace.config.secrets()):
            dataset = search.pinned.open()
            for batch in batches:
                for queries, found in _results(dataset, search, places, batch):
                    if found.num_rows:
                        yield from batches_of_bounded_size(
                            _output(batch, places, queries, found, target)
                        )

    return run


def _results(
    dataset: Any, search: TableSearch, places: _Places, batch: pa.RecordBatch
) -> Iterator[tuple[np.ndarray[Any, Any], pa.Table]]:
    """Yield results in the queries' order, and the number of each row's query in the batch."""
    request = search.request
    vectors = None if places.vectors is None else _floats(batch.column(places.vectors)).to_pylist()
    texts = None if places.texts is None else batch.column(places.texts).to_pylist()
    answerable = [
        number
        for number in range(batch.num_rows)
        if (vectors is None or _is_vector(vectors[number])) and (texts is None or texts[number])
    ]
    if search.in_batches:
        assert vectors is not None  # only vectors are searched in batches
        size = max(1, min(BATCH_QUERIES, BATCH_RESULTS // request.k))
        for start in range(0, len(answerable), size):
            numbers = np.array(answerable[start : start + size])
            several = QueryTableRequestVector(multi_vector=[vectors[n] for n in numbers])
            found = _found(dataset, attrs.evolve(request, vector=several))
            index = found[QUERY_INDEX].to_numpy()
            order = np.argsort(index, kind="stable")
            yield numbers[index[order]], found.take(pa.array(order))
        return
    for number in answerable:
        one = request
        if vectors is not None:
            one = attrs.evolve(one, vector=_query(vectors[number]))
        if texts is not None:
            one = attrs.evolve(one, full_text_query=_words(request, texts[number]))
        found = _found(dataset, one)
        yield np.full(found.num_rows, number), found


def _floats(column: pa.Array) -> pa.Array:
    """Return vectors with their elements converted to floating-point numbers."""

    def kind_of(kind: pa.DataType) -> pa.DataType:
        return pa.list_(kind_of(kind.value_type)) if hasattr(kind, "value_type") else pa.float64()

    return column.cast(kind_of(column.type))


def _found(dataset: Any, request: QueryTableRequest) -> pa.Table:
    def unchanged(error: Exception) -> Exception:
        return error

    with scan(dataset, request, unchanged) as reader:
        return reader.read_all()


def _is_vector(value: Any) -> bool:
    """Return whether a query is a vector without null and NaN; other queries have no results."""
    if not value:
        return False
    if isinstance(value[0], list):
        return all(map(_is_vector, value))
    return all(number is not None and number == number for number in value)


def _query(value: Any) -> QueryTableRequestVector:
    if isinstance(value[0], list):
        return QueryTableRequestVector(multi_vector=value)
    return QueryTableRequestVector(single_vector=value)


def _words(request: QueryTableRequest, text: str) -> QueryTableRequestFullTextQuery:
    query = request.full_text_query
    assert query is not None  # the request has it
    assert query.string_query is not None
    return QueryTableRequestFullTextQuery(
        string_query=StringFtsQuery(query=text, columns=query.string_query.columns)
    )


def _output(
    batch: pa.RecordBatch,
    places: _Places,
    queries: np.ndarray[Any, Any],
    found: pa.Table,
    target: pa.Schema,
) -> pa.RecordBatch:
    """Return results in Spark's Arrow representation, after the kept columns of their queries."""
    rows = pa.array(queries)
    query_columns = [batch.column(place).take(rows) for place in places.query_columns]
    firsts = np.flatnonzero(np.diff(queries, prepend=-1))
    ranks = np.arange(len(queries)) - np.repeat(firsts, np.diff([*firsts, len(queries)])) + 1
    results = target.names[len(query_columns) : -1]
    results = (found[name].combine_chunks() for name in target.names[len(query_columns) : -1])
    columns = [*query_columns, *results, pa.array(ranks, pa.int32())]
    return cast_batch(pa.record_batch(columns, names=target.names), target, cut_fractions=True)


def _check_types(queries: DataFrame, vectors: str | None, texts: str | None, what: str) -> None:
    """Reject columns of queries that are neither vectors nor words (code 13)."""
    from pyspark.sql.types import ArrayType, NumericType, StringType

    for field in queries.schema:
        kind = field.dataType
        shown = f"{what}: column {field.name} of the queries is {kind.simpleString()}"
        if field.name == vectors:
            while isinstance(kind, ArrayType):
                kind = kind.elementType
            if not isinstance(field.dataType, ArrayType) or not isinstance(kind, NumericType):
                raise InvalidInputError(
                    f"{shown}, not an array of numbers; convert it, for example with "
                    "pyspark.ml.functions.vector_to_array"
                )
        if field.name == texts and not isinstance(kind, StringType):
            raise InvalidInputError(f"{shown}, not text; cast it to string")


def _only_array(queries: DataFrame, what: str) -> str:
    """Return the only column with arrays of a DataFrame."""
    from pyspark.sql.types import ArrayType

    found = [field.name for field in queries.schema if isinstance(field.dataType, ArrayType)]
    if len(found) != 1:
        raise InvalidInputError(
            f"{what}: the queries have {len(found)} array columns; specify the vector column "
            "with vectors=, or the text column with texts="
        )
    return found[0]
