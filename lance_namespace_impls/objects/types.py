"""Types in the signatures of `Table` and `Search`."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, Literal, NotRequired, Protocol, TypeAlias, TypedDict

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

__all__ = [
    "AsyncData",
    "ColumnAlteration",
    "DistanceType",
    "FieldMetadata",
    "IndexOptions",
    "IndexType",
    "QueryType",
    "Row",
    "Rows",
    "Value",
    "Vector",
]

DistanceType: TypeAlias = Literal["l2", "cosine", "dot", "hamming"]
"""Metric for the distance between two vectors."""

IndexType: TypeAlias = Literal[
    "IVF_FLAT",
    "IVF_SQ",
    "IVF_PQ",
    "IVF_RQ",
    "IVF_HNSW_FLAT",
    "IVF_HNSW_SQ",
    "IVF_HNSW_PQ",
    "BTREE",
    "BITMAP",
    "LABEL_LIST",
    "NGRAM",
    "ZONEMAP",
    "BLOOMFILTER",
    "RTREE",
    "FTS",
]
"""Type of an index: ``IVF_...`` for vectors, ``FTS`` for text, the others for scalar values."""

QueryType: TypeAlias = Literal["auto", "vector", "fts", "hybrid"]
"""Type of a search; ``auto`` infers it from the query."""

Value: TypeAlias = str | int | float | bool | None
"""A value that `Table.update` writes as an SQL literal."""

Row: TypeAlias = dict[str, object]
"""A row in a result: values by column."""


class SupportsToList(Protocol):
    """An array of numbers, such as a numpy or pyarrow array."""

    def tolist(self) -> object:
        """Return the numbers as a list."""


class SupportsArrowStream(Protocol):
    """An object that exports its rows as an Arrow C stream, such as a duckdb relation."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the stream as a capsule."""


Vector: TypeAlias = "SupportsToList | Sequence[float] | Sequence[Sequence[float] | SupportsToList]"
"""A query vector, or several query vectors for a multi-vector column."""

Rows: TypeAlias = (
    "pa.RecordBatchReader | pa.Table | pa.RecordBatch | SupportsArrowStream | pandas.DataFrame | "
    "polars.DataFrame | polars.LazyFrame | Sequence[Mapping[str, object]] | "
    "Mapping[str, Iterable[object]] | bytes | BinaryIO"
)
"""Rows to write: Arrow data, an Arrow IPC stream, a data frame, a list of dicts or a dict of
columns.
"""

AsyncData: TypeAlias = "Rows | AsyncIterable[pa.RecordBatch]"
"""Rows to write in an asynchronous program; asynchronous iterators may also provide the batches."""


class IndexOptions(TypedDict, total=False):
    """Options of `Table.create_index`; options that do not apply to the index type have no effect.

    Lance chooses the defaults of omitted options.
    """

    distance_type: DistanceType
    """Vectors: the distance metric of searches with this index; defaults to ``l2``."""
    num_partitions: int
    """IVF: number of partitions; with more, searching each is faster, but more must be searched."""
    target_partition_size: int
    """IVF: number of rows per partition; an alternative to the number of partitions."""
    num_sub_vectors: int
    """PQ: number of subvectors, preferably a divisor of the dimension."""
    num_bits: int
    """PQ, SQ and RQ: number of bits that encode one subvector or one dimension."""
    sample_rate: int
    """Vectors: number of sampled vectors per cluster, for training."""
    max_iterations: int
    """Vectors: maximum number of k-means iterations, for training."""
    m: int
    """HNSW: number of edges per graph node."""
    ef_construction: int
    """HNSW: number of candidates that are considered when a node is added to the graph."""
    with_position: bool
    """FTS: whether to store the positions of words, which phrase queries require."""
    base_tokenizer: str
    """FTS: ``simple``, ``whitespace``, ``raw``, ``ngram`` or another tokenizer that Lance
    supports."""
    language: str
    """FTS: language of the stemming rules and the stop words."""
    max_token_length: int
    """FTS: maximum length of an indexed token."""
    lower_case: bool
    """FTS: whether searches ignore case."""
    stem: bool
    """FTS: whether words are reduced to their stem."""
    remove_stop_words: bool
    """FTS: whether stop words are omitted."""
    ascii_folding: bool
    """FTS: whether accented letters match the corresponding ASCII letters."""


class ColumnAlteration(TypedDict):
    """A change of one column for `Table.alter_columns`."""

    path: str
    """Path of the column, with dots between the levels of nested fields."""
    rename: NotRequired[str]
    """New name, without the names of the parents."""
    data_type: NotRequired[pa.DataType]
    """New type; the values are converted."""
    nullable: NotRequired[bool]
    """Whether the column may contain nulls."""


class FieldMetadata(TypedDict):
    """A change of one column's metadata for `Table.update_field_metadata`."""

    path: str
    """Path of the column, with dots between the levels of nested fields."""
    metadata: Mapping[str, str | None]
    """Entries to set; a null removes the entry."""
    replace: NotRequired[bool]
    """Whether to remove all other entries; defaults to false."""
