# Generated from search.py by `python -m codegen`. Edit search.py instead.
"""AsyncSearch: a builder for queries on a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace_client.async_namespace import AsyncRows
from lance_namespace_client.errors import InvalidInputError

from ..core.async_calls import in_thread
from .blocking import as_list, as_pandas, as_polars
from .requests import DEFAULT_LIMIT, vector_field

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from .async_operations import AsyncOperations
    from .types import DistanceType, QueryType, Row, Vector


__all__ = ["AsyncSearch"]


class AsyncSearch:
    """A query on a table: a scan, a vector search, a full-text search, or a hybrid search.

    The methods are named like those of lancedb's query builder. Each step returns a new query and
    leaves the previous one unchanged; only ``to_...``, `explain_plan` and `analyze_plan` contact
    the catalog.
    """

    def __init__(
        self,
        namespace: AsyncOperations,
        request: Mapping[str, object],
        query: Vector | str | None = None,
        *,
        vector_column_name: str | None = None,
        query_type: QueryType = "auto",
        fts_columns: str | Sequence[str] | None = None,
    ) -> None:
        self._namespace = namespace
        self._request: dict[str, Any] = dict(request)
        self._prefilter = True
        self._is_hybrid = query_type == "hybrid"
        self._is_phrase = False
        if query_type not in ("auto", "vector", "fts", "hybrid"):
            raise InvalidInputError(
                f"search: the query_type {query_type!r} is unknown; use 'auto', 'vector', 'fts' or "
                "'hybrid'"
            )
        is_text = isinstance(query, str)
        if query is not None and query_type == ("vector" if is_text else "fts"):
            raise InvalidInputError(
                f"search: a {query_type} search needs a {'vector' if is_text else 'string'} as "
                f"the query"
            )
        if vector_column_name is not None:
            self._request["vector_column"] = vector_column_name
        columns = [fts_columns] if isinstance(fts_columns, str) else fts_columns
        self._text_columns = list(columns) if columns else None
        if isinstance(query, str):
            self._request["full_text_query"] = self._words(query)
        elif query is not None:
            self._request["vector"] = vector_field(query)

    def _with(self, **fields: Any) -> AsyncSearch:
        changed = AsyncSearch(self._namespace, {**self._request, **fields})
        changed._prefilter = self._prefilter
        changed._is_hybrid = self._is_hybrid
        changed._is_phrase = self._is_phrase
        changed._text_columns = self._text_columns
        return changed

    def _words(self, text: str) -> dict[str, Any]:
        words: dict[str, Any] = {"query": text}
        if self._text_columns:
            words["columns"] = self._text_columns
        return {"string_query": words}

    def _final(self) -> dict[str, Any]:
        """Return the request of the query, including the fields that depend on several steps."""
        found = ("vector" in self._request, "full_text_query" in self._request)
        if self._is_hybrid and not all(found):
            raise InvalidInputError(
                "search: a hybrid query needs both a vector and words; add .vector(...) and "
                ".text(...)"
            )
        # The request is sent without further changes, so it must contain the vector even if it is
        # null.
        request = {"vector": None, "k": DEFAULT_LIMIT if any(found) else 0, **self._request}
        if any(found) and "filter" in request:
            request["prefilter"] = self._prefilter
        if self._is_phrase:
            request["full_text_query"] = self._phrase()
        return request

    def _phrase(self) -> dict[str, Any]:
        """Return the full-text query as a phrase."""
        words = self._request.get("full_text_query", {}).get("string_query")
        columns = self._text_columns or []
        if words is None or len(columns) > 1:
            raise InvalidInputError(
                "search: a phrase query needs words, and at most one column in fts_columns"
            )
        phrase = {"terms": words["query"]}
        if columns:
            phrase["column"] = columns[0]
        return {"structured_query": {"query": {"phrase": phrase}}}

    def vector(self, vector: Vector) -> AsyncSearch:
        """Rank the rows by their distance to a vector; together with words, the search is hybrid.

        Args:
            vector: numbers in a list, a tuple or an array; several vectors for a multi-vector
                column.
        """
        return self._with(vector=vector_field(vector))

    def text(self, text: str) -> AsyncSearch:
        """Find the rows that contain words; together with a vector, the search is hybrid.

        A hybrid search orders rows by reciprocal rank fusion.

        Args:
            text: the words.
        """
        return self._with(full_text_query=self._words(text))

    def phrase_query(self, phrase_query: bool = True) -> AsyncSearch:
        """Find only rows that contain the words next to each other and in this order.

        The full-text index must store positions (``with_position=True``).

        Args:
            phrase_query: whether the words are a phrase.
        """
        changed = self._with()
        changed._is_phrase = phrase_query
        return changed

    def where(self, where: str, prefilter: bool = True) -> AsyncSearch:
        """Return only rows that match an SQL condition; several conditions are combined with AND.

        Args:
            where: the condition.
            prefilter: whether the search considers only these rows. If false, the condition filters
                the results of the search, so fewer rows than requested may remain.
        """
        before = self._request.get("filter")
        changed = self._with(filter=f"({before}) AND ({where})" if before else where)
        changed._prefilter = prefilter
        return changed

    def select(self, columns: Sequence[str] | Mapping[str, str]) -> AsyncSearch:
        """Return only these columns.

        Args:
            columns: names of columns, or a mapping from names of result columns to SQL expressions.
        """
        if isinstance(columns, str):
            columns = [columns]
        if isinstance(columns, Mapping):
            return self._with(columns={"column_aliases": dict(columns)})
        return self._with(columns={"column_names": list(columns)})

    def limit(self, limit: int) -> AsyncSearch:
        """Return at most `limit` rows; defaults to 10 rows for a search and all rows for a scan."""
        if not isinstance(limit, int) or limit < 1:
            raise InvalidInputError(
                f"limit: {limit!r} is not a valid number of rows; specify at least 1"
            )
        return self._with(k=limit)

    def offset(self, offset: int) -> AsyncSearch:
        """Skip the first `offset` rows."""
        return self._with(offset=offset)

    def distance_type(self, distance_type: DistanceType) -> AsyncSearch:
        """Measure distances by ``l2`` (the default), ``cosine``, ``dot`` or ``hamming``."""
        return self._with(distance_type=distance_type)

    def metric(self, metric: DistanceType) -> AsyncSearch:
        """Set the distance metric; this is lancedb's other name of `distance_type`."""
        return self.distance_type(metric)

    def distance_range(
        self, lower_bound: float | None = None, upper_bound: float | None = None
    ) -> AsyncSearch:
        """Return only rows whose distance is within a range.

        Args:
            lower_bound: minimum distance, inclusive; defaults to no bound.
            upper_bound: maximum distance, exclusive; defaults to no bound.
        """
        bounds = {"lower_bound": lower_bound, "upper_bound": upper_bound}
        return self._with(**{key: value for key, value in bounds.items() if value is not None})

    def nprobes(self, nprobes: int) -> AsyncSearch:
        """Search `nprobes` partitions of the vector index; more partitions improve recall and cost time."""
        return self._with(nprobes=nprobes)

    def minimum_nprobes(self, minimum_nprobes: int) -> AsyncSearch:
        """Search at least `minimum_nprobes` partitions of the vector index."""
        return self._with(minimum_nprobes=minimum_nprobes)

    def maximum_nprobes(self, maximum_nprobes: int) -> AsyncSearch:
        """If the first partitions yield too few rows, search up to `maximum_nprobes` partitions."""
        return self._with(maximum_nprobes=maximum_nprobes)

    def ef(self, ef: int) -> AsyncSearch:
        """Consider `ef` candidates when searching the graph of an HNSW index."""
        return self._with(ef=ef)

    def refine_factor(self, refine_factor: int) -> AsyncSearch:
        """Fetch `refine_factor` times as many rows from the index, and rank them by their full vectors."""
        return self._with(refine_factor=refine_factor)

    def bypass_vector_index(self) -> AsyncSearch:
        """Compare the vector with all rows instead of using the vector index."""
        return self._with(bypass_vector_index=True)

    def fast_search(self) -> AsyncSearch:
        """Search only the rows that are in an index."""
        return self._with(fast_search=True)

    def with_row_id(self, with_row_id: bool = True) -> AsyncSearch:
        """Also return row ids, in the column ``_rowid``."""
        return self._with(with_row_id=with_row_id)

    async def explain_plan(self, verbose: bool = False) -> str:
        """Return the plan of the query without running it.

        Args:
            verbose: whether to include more detail.
        """
        request = self._final()
        identifier = request.pop("id")
        return (
            await self._namespace.explain_table_query_plan(
                {"id": identifier, "query": request, "verbose": verbose}
            )
        ).plan

    async def analyze_plan(self) -> str:
        """Run the query and return its plan with the metrics of each step."""
        return (await self._namespace.analyze_table_query_plan(self._final())).analysis

    async def to_batches(self) -> AsyncRows:
        """Run the query and return a reader that yields batches of rows as they arrive."""
        return await self._namespace.query_table(self._final())

    async def to_arrow(self) -> pa.Table:
        """Run the query and return a ``pyarrow.Table``."""
        async with await self.to_batches() as reader:
            return await reader.read_all()

    async def to_pandas(self) -> pandas.DataFrame:
        """Run the query and return a ``pandas.DataFrame``."""
        return await in_thread(as_pandas, await self.to_arrow())

    async def to_polars(self) -> polars.DataFrame:
        """Run the query and return a ``polars.DataFrame``."""
        return await in_thread(as_polars, await self.to_arrow())

    async def to_list(self) -> list[Row]:
        """Run the query and return one dict per row."""
        return await in_thread(as_list, await self.to_arrow())

    def __dir__(self) -> list[str]:
        return sorted(name for name in vars(AsyncSearch) if not name.startswith("_"))

    def __repr__(self) -> str:
        default: dict[str, Any] = {"k": DEFAULT_LIMIT if "vector" in self._request else 0}
        if "full_text_query" in self._request:
            default["k"] = DEFAULT_LIMIT
        shown = {k: v for k, v in (default | self._request).items() if k not in ("id", "vector")}
        if "vector" in self._request:
            shown["vector"] = "..."
        return f"AsyncSearch({'.'.join(self._request['id'])!r}, {shown})"
