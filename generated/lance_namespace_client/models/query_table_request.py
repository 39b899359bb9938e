# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `QueryTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import (
    Model,
    Wire,
    array,
    boolean,
    integer,
    mapping,
    model,
    number,
    string,
    text,
)

if TYPE_CHECKING:
    from .identity import Identity
    from .query_table_request_columns import QueryTableRequestColumns
    from .query_table_request_full_text_query import QueryTableRequestFullTextQuery
    from .query_table_request_vector import QueryTableRequestVector

__all__ = ["QueryTableRequest"]


@define(kw_only=True)
class QueryTableRequest(Model):
    """Request for rows of a table by vector search, full-text search, a condition,
    or a mixture of these. Without a search, it is a plain scan, and the options
    of vector search have no effect.
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if omitted. A branch that
    does not exist results in TableVersionNotFound (11).
    """

    bypass_vector_index: bool | None = None
    """Whether to compare the query with every row instead of using the vector
    index, which is exact but slower; false by default.
    """

    columns: QueryTableRequestColumns | None = None
    """Which columns to return; absent or null returns all of them. A column that
    is not in the table results in TableColumnNotFound (12).
    """

    distance_type: str | None = None
    """Metric for the distance between vectors: `l2`, `cosine`, `dot` or `hamming`.
    Defaults to the metric of the vector index, or `l2` if there is none; with
    another metric, the index cannot be used.
    """

    ef: int | None = None
    """Size of the candidate list while an HNSW graph is searched; more is more
    exact and slower. Only used with `IVF_HNSW` indexes; by default, the engine
    chooses.
    """

    fast_search: bool | None = None
    """Whether only rows covered by an index are searched, which skips rows added
    since the index was last updated; false by default.
    """

    filter: str | None = None
    """SQL condition that the returned rows must meet; none by default. A condition
    that cannot be parsed results in InvalidInput (13).
    """

    full_text_query: QueryTableRequestFullTextQuery | None = None
    """Full-text search to run, as a plain string or as a structured query; none
    when absent or null. The columns searched need a full-text index.
    """

    k: int = 10
    """Maximum number of rows to return: the nearest ones in a vector search, the
    best scored ones in a full-text search, the first ones otherwise. 0 is no
    limit there, and code 13 in a search.
    """

    lower_bound: float | None = None
    """Smallest distance a row may have to be returned, inclusive, in the unit of
    `distance_type`; no bound by default. Only used in a vector search.
    """

    nprobes: int | None = None
    """Number of IVF partitions to search; more finds more of the true neighbors
    and is slower. It sets `minimum_nprobes` and `maximum_nprobes` in one
    request; by default, the engine chooses.
    """

    offset: int | None = None
    """Number of rows to skip before the first one returned; 0 by default."""

    prefilter: bool | None = None
    """With true the filter is applied before the search, so that `k` matching rows
    can be found; with false it is applied to the rows the search found and
    fewer than `k` may remain. When absent the engine's own default applies,
    which in Lance is false.
    """

    refine_factor: int | None = None
    """Lets the search fetch `k` times this many candidates from the index and rank
    them again by their full vectors, which compensates for compression in the
    index. No re-ranking by default; 1 re-ranks just `k` rows and yields exact
    distances.
    """

    upper_bound: float | None = None
    """Distance that every returned row must stay below, exclusive, in the unit of
    `distance_type`; no bound by default. Only used in a vector search.
    """

    vector: QueryTableRequestVector | None = None
    """Query vector or vectors; null means no vector search. Vectors of another
    dimension than the column's result in InvalidInput (13).
    """

    vector_column: str | None = None
    """Name of the vector column to search; it may be omitted if the table has only
    one. A column that is not in the table results in TableColumnNotFound (12).
    """

    version: int | None = None
    """Version to query, the latest by default. A version that does not exist
    results in TableVersionNotFound (11).
    """

    with_row_id: bool | None = None
    """Whether the rows come with their row id in a column `_rowid`; false by
    default.
    """

    minimum_nprobes: int | None = None
    """Number of IVF partitions that are always searched; by default, the engine
    chooses. Takes precedence over `nprobes`.
    """

    maximum_nprobes: int | None = None
    """Maximum number of IVF partitions to search if the first ones yield fewer
    than `k` rows, which happens with selective filters; by default there is no
    such limit. Takes precedence over `nprobes`; less than `minimum_nprobes`
    results in InvalidInput (13).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


QueryTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("bypass_vector_index", "bypass_vector_index", boolean),
    Wire("columns", "columns", model("QueryTableRequestColumns")),
    Wire("distance_type", "distance_type", string),
    Wire("ef", "ef", integer(0)),
    Wire("fast_search", "fast_search", boolean),
    Wire("filter", "filter", string),
    Wire("full_text_query", "full_text_query", model("QueryTableRequestFullTextQuery")),
    Wire("k", "k", integer(0), default=10, required=True, optional_for_caller=True),
    Wire("lower_bound", "lower_bound", number),
    Wire("nprobes", "nprobes", integer(0)),
    Wire("offset", "offset", integer(0)),
    Wire("prefilter", "prefilter", boolean),
    Wire("refine_factor", "refine_factor", integer(0)),
    Wire("upper_bound", "upper_bound", number),
    Wire(
        "vector",
        "vector",
        model("QueryTableRequestVector"),
        required=True,
        nullable=True,
        optional_for_caller=True,
    ),
    Wire("vector_column", "vector_column", text(min_length=1)),
    Wire("version", "version", integer(0)),
    Wire("with_row_id", "with_row_id", boolean),
    Wire("minimum_nprobes", "minimum_nprobes", integer(1)),
    Wire("maximum_nprobes", "maximum_nprobes", integer(1)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
