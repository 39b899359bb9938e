# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateTableIndexRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, boolean, integer, mapping, model, string, text

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["CreateTableIndexRequest"]


@define(kw_only=True)
class CreateTableIndexRequest(Model):
    """Request to build an index on a column.

    Options that do not belong to the chosen `index_type` have no effect; if one
    is absent or null, the engine uses its own default.
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if omitted. A branch that
    does not exist results in TableNotFound (4).
    """

    column: str
    """Name of the column to index. A column that is not in the table results in
    TableColumnNotFound (12), one whose type does not suit the index
    InvalidInput (13).
    """

    index_type: str
    """Kind of index: `IVF_FLAT`, `IVF_SQ`, `IVF_PQ`, `IVF_RQ`, `IVF_HNSW_FLAT`,
    `IVF_HNSW_SQ` or `IVF_HNSW_PQ` for vectors, `BTREE`, `BITMAP`, `LABEL_LIST`,
    `NGRAM`, `ZONEMAP` or `BLOOMFILTER` for scalar values, `FTS` or `INVERTED`
    for full text. An index that is unknown or that the engine cannot build
    results in InvalidInput (13).
    """

    name: str | None = None
    """Name of the index; by default, it is derived from the column's name. A name
    already in use results in TableIndexAlreadyExists (7).
    """

    distance_type: str | None = None
    """For vector indexes, the distance the index is built for: `l2` (default),
    `cosine`, `dot` or `hamming`; searches with another distance cannot use it.
    """

    num_partitions: int | None = None
    """For IVF indexes, the number of partitions the vectors are clustered into, at
    least 1; with more partitions, each probe is cheaper, but more probes are
    needed for the same recall. Takes precedence over `target_partition_size`.
    """

    num_sub_vectors: int | None = None
    """For PQ indexes, the number of subvectors into which each vector is split, at
    least 1, preferably a divisor of the dimension; more parts are more exact
    and increase the size of the index.
    """

    num_bits: int | None = None
    """For quantized indexes, the number of bits that encode one part or dimension,
    at least 1; more bits are more exact and increase the size of the index.
    Lance accepts 4 or 8 for PQ (default 8), and 8 for SQ.
    """

    sample_rate: int | None = None
    """For vector indexes, the number of vectors sampled for each cluster to train
    the clustering and quantizer, at least 1; a larger sample improves the
    clusters but slows down training.
    """

    max_iterations: int | None = None
    """For vector indexes, the maximum number of k-means iterations in training, at
    least 1; training stops earlier once it has converged.
    """

    target_partition_size: int | None = None
    """For IVF indexes, the target number of rows per partition, at least 1; it
    determines the number of partitions if `num_partitions` is absent.
    """

    m: int | None = None
    """For `IVF_HNSW` indexes, the number of edges per graph node, at least 1; more
    edges improve recall, but increase the size of the index and the build time.
    """

    ef_construction: int | None = None
    """For `IVF_HNSW` indexes, the number of candidates considered when a node is
    linked into the graph, at least 1; more candidates improve the graph but
    slow down the build.
    """

    with_position: bool | None = None
    """For full-text indexes, whether word positions are stored, which phrase
    queries need and which makes the index much larger; false by default in
    Lance.
    """

    base_tokenizer: str | None = None
    """For full-text indexes, how text is split into tokens: `simple` (at white
    space and punctuation, the default in Lance), `whitespace`, `raw` (no
    splitting), `ngram`, or another tokenizer the engine knows.
    """

    language: str | None = None
    """For full-text indexes, the language whose rules are used for stemming and
    stop words; English by default in Lance.
    """

    max_token_length: int | None = None
    """For full-text indexes, the length above which a token is omitted of the
    index; 40 by default in Lance.
    """

    lower_case: bool | None = None
    """For full-text indexes, whether text is put in lower case so that searches
    ignore case; true by default in Lance.
    """

    stem: bool | None = None
    """For full-text indexes, whether words are reduced to their stem so that
    running also finds run; true by default in Lance, but for the tokenizer
    `ngram`.
    """

    remove_stop_words: bool | None = None
    """For full-text indexes, whether very common words of the language are
    omitted; true by default in Lance, but for the tokenizer `ngram`.
    """

    ascii_folding: bool | None = None
    """For full-text indexes, whether accented letters are treated as their plain
    ASCII letters; true by default in Lance.
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


CreateTableIndexRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("column", "column", text(min_length=1), required=True),
    Wire("index_type", "index_type", string, required=True),
    Wire("name", "name", string),
    Wire("distance_type", "distance_type", string),
    Wire("num_partitions", "num_partitions", integer(1)),
    Wire("num_sub_vectors", "num_sub_vectors", integer(1)),
    Wire("num_bits", "num_bits", integer(1)),
    Wire("sample_rate", "sample_rate", integer(1)),
    Wire("max_iterations", "max_iterations", integer(1)),
    Wire("target_partition_size", "target_partition_size", integer(1)),
    Wire("m", "m", integer(1)),
    Wire("ef_construction", "ef_construction", integer(1)),
    Wire("with_position", "with_position", boolean),
    Wire("base_tokenizer", "base_tokenizer", string),
    Wire("language", "language", string),
    Wire("max_token_length", "max_token_length", integer(0)),
    Wire("lower_case", "lower_case", boolean),
    Wire("stem", "stem", boolean),
    Wire("remove_stop_words", "remove_stop_words", boolean),
    Wire("ascii_folding", "ascii_folding", boolean),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
