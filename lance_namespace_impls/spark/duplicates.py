"""Finds rows of a table whose vectors or texts are nearly equal, on Spark's workers.

>>> from lance_namespace_impls import connect
>>> from lance_namespace_impls.spark import near_duplicate_texts
>>> lake = connect("dir", {"path": "/data/lance"})
>>> found = near_duplicate_texts(spark, lake, "letters", "text", columns=["id"])  # doctest: +SKIP
>>> found.report.pairs  # doctest: +SKIP
17

The workers read vectors and texts with Lance. Only row ids, hashes and pairs are transferred to
Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa
from attrs import frozen

from lance_namespace_client.errors import InvalidInputError, TableSchemaValidationError

from ..distributed.columns import cast_batch, spark_arrow_schema
from ..distributed.failures import coded
from ..distributed.options import require_positive
from ..distributed.secrets import map_in_arrow
from ..tables.query import only_vector_column
from .dataframe_reader import cores_of, reader_of, target_of
from .extra import require_pyspark
from .read_plan import ROW_ID, pin, plan_tasks, projection, readable_schema
from .search import RANK, SearchOptions, joined, plan_search

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..catalog.namespace import Namespace
    from .read_plan import Pinned

__all__ = ["DuplicateReport", "NearDuplicates", "near_duplicate_texts", "near_duplicate_vectors"]

SIMILARITY = "_similarity"
# In a larger group of rows with a common hash, each row is compared only with the first row.
MAX_GROUP = 200
CHECKED_PAIRS = 1000
# Share of the pairs with exactly the minimum similarity that MinHash has to propose.
LEAST_RECALL = 0.99
_SEED = 20_260_101


@frozen(kw_only=True)
class DuplicateReport:
    """Summary of a search for near duplicates.

    Attributes:
        rows: number of rows that were compared; rows without a value are not compared.
        pairs: number of pairs found.
        duplicates: number of rows in at least one pair.
        truncated: number of rows that may be in further pairs, because they have more neighbors
            than `k`, or more rows with a common hash than are compared with each other.
    """

    rows: int
    pairs: int
    duplicates: int
    truncated: int


@frozen(kw_only=True)
class NearDuplicates:
    """Pairs of rows that are nearly equal.

    Attributes:
        pairs: the pairs, cached: ``left_rowid``, ``right_rowid``, the chosen columns with the
            prefixes ``left_`` and ``right_``, and ``_distance`` or ``_similarity``. The left row id
            is the smaller one. `pairs.unpersist()` frees the memory.
        report: the summary.
    """

    pairs: DataFrame
    report: DuplicateReport


def near_duplicate_vectors(
    spark: SparkSession,
    namespace: Namespace,
    table: str | Sequence[str],
    column: str | None = None,
    *,
    max_distance: float,
    k: int = 10,
    columns: Sequence[str] = (),
    filter: str | None = None,
    version: int | None = None,
    splits: int | None = None,
    **options: Unpack[SearchOptions],
) -> NearDuplicates:
    """Find pairs of rows whose vectors are within a distance, and return them with a report.

    For each row, the search finds its `k` nearest rows, with the index if there is one. Distances
    are computed from the full vectors; an index may still miss a pair.

    Args:
        spark: the session.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        column: vector column; defaults to the only one.
        max_distance: largest distance, inclusive, in the unit of ``_distance``: for ``l2``, the
            squared distance.
        k: maximum number of neighbors of a row.
        columns: columns of both rows in the result.
        filter: condition in Lance's SQL for the rows to compare.
        version: version of the table; defaults to the current latest.
        splits: maximum number of tasks; defaults to a number that depends on the table's size.
        options: options of the vector search, such as ``nprobes`` or ``distance_type``.

    Raises:
        TableNotFoundError: code 4.
        TableColumnNotFoundError: code 12.
        InvalidInputError: code 13, an argument is invalid.
        InvalidTableStateError: code 19, the table has no data.
    """
    require_pyspark()
    require_positive(k=k, splits=splits)
    from pyspark.sql import functions as F

    target = target_of(namespace, table)
    whole = pin(target, filter=filter, version=version)
    column = column or only_vector_column(whole.schema)
    used = list(dict.fromkeys((*columns, column)))
    queries = pin(target, columns=[*used, ROW_ID], filter=filter, version=whole.version)
    search = plan_search(
        whole,
        k=k + 1,  # the row itself is the nearest
        has_vectors=True,
        columns={
            "right_rowid": f"CAST({ROW_ID} AS BIGINT)",
            **{f"right_{name}": _quoted(name) for name in columns},
        },
        filter=filter,
        vector_column_name=column,
        options={"refine_factor": 1, **options},
    )
    found = joined(spark, queries, search, [ROW_ID, *columns], column, splits)
    left = [F.col(_quoted(name)).alias(f"left_{name}") for name in columns]
    right = [F.col(_quoted(f"right_{name}")) for name in columns]
    close = found.where(F.col("_distance") <= max_distance).select(
        F.col(ROW_ID).alias("left_rowid"), "right_rowid", *left, *right, "_distance", RANK
    )
    close = close.cache()
    full = close.where(F.col(RANK) == k + 1).count()
    pairs = _ordered(close.where("left_rowid != right_rowid"), columns, "_distance")
    pairs = pairs.dropDuplicates(["left_rowid", "right_rowid"]).cache()
    rows = _count(whole, f"{_quoted(column)} IS NOT NULL", filter)
    report = _report(pairs, rows, full)
    close.unpersist()
    return NearDuplicates(pairs=pairs, report=report)


def near_duplicate_texts(
    spark: SparkSession,
    namespace: Namespace,
    table: str | Sequence[str],
    column: str,
    *,
    min_similarity: float = 0.8,
    shingle: int = 5,
    num_hashes: int = 128,
    columns: Sequence[str] = (),
    filter: str | None = None,
    version: int | None = None,
    splits: int | None = None,
) -> NearDuplicates:
    """Find pairs of rows with similar texts, and return them with a report.

    The similarity of two texts is the Jaccard index of their shingles: the share of runs of
    `shingle` characters that both have. MinHash proposes pairs: at least 99 % of those with exactly
    `min_similarity`, and more of those above it. The exact similarity of each proposed pair is then
    checked.

    Args:
        spark: the session.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        column: text column.
        min_similarity: minimum similarity, inclusive, above 0 and up to 1.
        shingle: number of characters in a shingle.
        num_hashes: number of hash functions, a power of two; with more functions, MinHash proposes
            fewer wrong pairs.
        columns: columns of both rows in the result.
        filter: condition in Lance's SQL for the rows to compare.
        version: version of the table; defaults to the current latest.
        splits: maximum number of tasks; defaults to a number that depends on the table's size.

    Raises:
        TableNotFoundError: code 4.
        TableColumnNotFoundError: code 12.
        InvalidInputError: code 13, an argument is invalid.
        InvalidTableStateError: code 19, the table has no data.
        TableSchemaValidationError: code 20, the column does not contain text.
    """
    require_pyspark()
    require_positive(shingle=shingle, num_hashes=num_hashes, splits=splits)
    from pyspark.sql import functions as F

    if not 0 < min_similarity <= 1:
        raise InvalidInputError(
            f"min_similarity is {min_similarity}; use a number above 0 and at most 1"
        )
    if num_hashes & (num_hashes - 1):
        raise InvalidInputError(f"num_hashes is {num_hashes}; use a power of two, such as 128")
    target = target_of(namespace, table)
    texts = pin(target, columns=[column, ROW_ID], filter=filter, version=version)
    kind = texts.schema.field(column).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise TableSchemaValidationError(
            f"{target.name}: column {column} is {kind}, not text; use near_duplicate_vectors for "
            "vectors"
        )
    read = spark_arrow_schema(readable_schema(texts))
    tasks = plan_tasks(texts, splits, cores_of(spark))
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    reads, hashes = reader_of(texts, tasks, read), _hasher(shingle, num_hashes, min_similarity)
    bands = map_in_arrow(
        numbers, lambda batches: hashes(reads(batches)), "band int, hash bigint, row bigint"
    )
    groups = bands.groupBy("band", "hash").agg(F.sort_array(F.collect_list("row")).alias("rows"))
    proposed = map_in_arrow(
        groups.where(F.size("rows") > 1).select("rows"),
        _propose,
        "left_rowid bigint, right_rowid bigint, truncated boolean",
    )
    proposed = (
        proposed.groupBy("left_rowid", "right_rowid")
        .agg(F.max("truncated").alias("truncated"))
        .repartition(cores_of(spark) or 16, "left_rowid")
        .sortWithinPartitions("left_rowid", "right_rowid")
    )
    checked = pin(target, columns=list(dict.fromkeys((*columns, column))), version=texts.version)
    schema = _pair_schema(checked, columns)
    check = _checker(checked, column, columns, shingle, min_similarity, spark_arrow_schema(schema))
    found = map_in_arrow(proposed, check, schema).cache()
    truncated = found.where("truncated").select("right_rowid").distinct().count()
    pairs = found.drop("truncated").cache()
    rows = _count(texts, f"{_quoted(column)} != ''", filter)
    report = _report(pairs, rows, truncated)
    found.unpersist()
    return NearDuplicates(pairs=pairs, report=report)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _count(pinned: Pinned, condition: str, filter: str | None) -> int:
    try:
        return int(pinned.open().count_rows(f"({filter}) AND {condition}" if filter else condition))
    except Exception as error:
        raise pinned.target.failure(error, "counting") from error


def _ordered(found: DataFrame, columns: Sequence[str], score: str) -> DataFrame:
    """Return pairs whose left row id is the smaller one."""
    from pyspark.sql import functions as F

    is_ordered = F.col("left_rowid") < F.col("right_rowid")

    def side(name: str, one: str, other: str) -> Any:
        mine, others = F.col(_quoted(f"{one}_{name}")), F.col(_quoted(f"{other}_{name}"))
        return F.when(is_ordered, mine).otherwise(others).alias(f"{one}_{name}")

    names = ("rowid", *columns)
    pairs = [(name, *sides) for name in names for sides in (("left", "right"), ("right", "left"))]
    first, rest = pairs[:2], pairs[2:]
    rest = [each for each in rest if each[1] == "left"] + [
        each for each in rest if each[1] != "left"
    ]
    return found.select(*(side(*each) for each in (*first, *rest)), score)


def _report(pairs: DataFrame, rows: int, truncated: int) -> DuplicateReport:
    """Return the report; counting the pairs also fills the cache."""
    both = pairs.select("left_rowid").union(pairs.select("right_rowid"))
    return DuplicateReport(
        rows=rows, pairs=pairs.count(), duplicates=both.distinct().count(), truncated=truncated
    )


def _pair_schema(pinned: Pinned, columns: Sequence[str]) -> Any:
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StructField, StructType

    own = readable_schema(pinned)
    fields = [StructField(name, LongType(), False) for name in ("left_rowid", "right_rowid")]
    for side in ("left", "right"):
        fields += [
            StructField(f"{side}_{name}", own[name].dataType, own[name].nullable)
            for name in columns
        ]
    fields += [StructField(SIMILARITY, DoubleType(), False)]
    return StructType([*fields, StructField("truncated", BooleanType(), False)])


def shingles_of(text: str, size: int) -> np.ndarray[Any, Any]:
    """Return the hashes of the runs of `size` characters in a text, sorted, without duplicates."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    runs = max(1, len(points) - size + 1)
    hashes = np.zeros(runs, np.uint64)
    for place in range(min(size, len(points))):
        # FNV-1a on code points; numbers wrap around.
        hashes = (hashes ^ points[place : place + runs]) * np.uint64(0x100000001B3)
    # Mix the bits, so that all of them depend on all characters.
    hashes = (hashes ^ (hashes >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return np.unique(hashes ^ (hashes >> np.uint64(29)))


def band_rows(num_hashes: int, min_similarity: float) -> int:
    """Return the highest number of hashes per band that still reaches `LEAST_RECALL`."""
    rows = num_hashes
    while rows > 1:
        recall = 1 - (1 - min_similarity**rows) ** (num_hashes // rows)
        if recall >= LEAST_RECALL:
            break
        rows //= 2
    return rows


def _hasher(shingle: int, num_hashes: int, min_similarity: float) -> Any:
    """Return the function that computes the bands of MinHash signatures on a worker."""
    rows_per_band = band_rows(num_hashes, min_similarity)
    bands = num_hashes // rows_per_band

    def hashed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        random = np.random.default_rng(_SEED)
        factors = random.integers(1, 2**63, num_hashes, dtype=np.uint64) | np.uint64(1)
        offsets = random.integers(0, 2**63, num_hashes, dtype=np.uint64)
        mix = random.integers(1, 2**63, rows_per_band, dtype=np.uint64) | np.uint64(1)
        for batch in batches:
            numbers, signatures = [], []
            for text, row in zip(
                batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True
            ):
                if text:
                    values = shingles_of(text, shingle)
                    least = (factors[:, None] * values + offsets[:, None]) >> np.uint64(32)
                    signatures.append(least.min(axis=1))
                    numbers.append(row)
            if not numbers:
                continue
            parts = np.array(signatures).reshape(len(numbers), bands, rows_per_band)
            hashes = (parts * mix).sum(axis=2, dtype=np.uint64)
            hashes = (hashes ^ (hashes >> np.uint64(32))).view(np.int64)
            yield pa.record_batch(
                {
                    "band": np.tile(np.arange(bands, dtype=np.int32), len(numbers)),
                    "hash": hashes.reshape(-1),
                    "row": np.repeat(np.array(numbers, np.int64), bands),
                }
            )

    return hashed


def _propose(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of rows with a common hash."""
    for batch in batches:
        for group in batch.column(0):
            rows = group.values.to_numpy()
            is_large = len(rows) > MAX_GROUP
            if is_large:
                left, right = np.repeat(rows[:1], len(rows) - 1), rows[1:]
            else:
                first, second = np.triu_indices(len(rows), 1)
                left, right = rows[first], rows[second]
            yield pa.record_batch(
                {
                    "left_rowid": left,
                    "right_rowid": right,
                    "truncated": np.full(len(left), is_large),
                }
            )


def _checker(
    pinned: Pinned,
    column: str,
    columns: Sequence[str],
    shingle: int,
    min_similarity: float,
    target: pa.Schema,
) -> Any:
    """Return a function for the workers that keeps pairs with at least `min_similarity`.

    The similarity is exact.
    """

    names = list(dict.fromkeys((*columns, column)))

    def checked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pinned.target
        with coded(f"comparing texts of {table.name}", table.namespace.config.secrets()):
            dataset = pinned.open()
            for batch in batches:
                for start in range(0, batch.num_rows, CHECKED_PAIRS):
                    some = batch.slice(start, CHECKED_PAIRS)
                    left, right = (some.column(place).to_numpy() for place in range(2))
                    read = _rows(dataset, projection(names), np.union1d(left, right))
                    places = {row: place for place, row in enumerate(read[ROW_ID].to_pylist())}
                    sets = [shingles_of(text, shingle) for text in read[column].to_pylist()]
                    ends = [[places[row] for row in side.tolist()] for side in (left, right)]
                    scores = np.array(
                        [_jaccard(sets[a], sets[b]) for a, b in zip(*ends, strict=True)]
                    )
                    kept = np.flatnonzero(scores >= min_similarity)
                    if not len(kept):
                        continue
                    sides = [np.array(side)[kept] for side in ends]
                    values = [
                        read[name].combine_chunks().take(pa.array(side))
                        for side in sides
                        for name in columns
                    ]
                    truncated = some.column(2).take(pa.array(kept))
                    arrays = [left[kept], right[kept], *values, scores[kept], truncated]
                    found = pa.record_batch(
                        [
                            pa.array(each) if isinstance(each, np.ndarray) else each
                            for each in arrays
                        ],
                        names=target.names,
                    )
                    yield cast_batch(found, target, cut_fractions=True)

    return checked


def _rows(dataset: Any, columns: Any, rows: np.ndarray[Any, Any]) -> pa.Table:
    """Read rows by their ids."""
    condition = f"{ROW_ID} IN ({', '.join(map(str, rows.tolist()))})"
    found: pa.Table = dataset.to_table(columns=columns, filter=condition, with_row_id=True)
    return found


def _jaccard(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common)
