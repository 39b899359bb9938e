"""A query of one table, put together step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError

from .html import as_html

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from lance_namespace_client.namespace import LanceNamespace


__all__ = ["Search"]

FOUND = 10
"""Rows that a search returns unless it is told how many."""


class Search:
    """A query of a table; nothing is asked before one of its ``to_...`` methods.

    Every step returns a new query and leaves the old one as it was.
    """

    def __init__(
        self,
        namespace: LanceNamespace,
        request: Mapping[str, Any],
        query: Any = None,
        *,
        text: str | None = None,
        column: str | None = None,
    ) -> None:
        self._namespace = namespace
        self._request = dict(request)
        if isinstance(query, str):
            if text is not None:
                raise InvalidInputError("search: the words are given twice, as query and as text")
            query, text = None, query
        if query is not None:
            vector = _vector(query)
            self._request["vector"] = vector
            if column is not None:
                self._request["vector_column"] = column
        if text is not None:
            words: dict[str, Any] = {"query": text}
            if column is not None and query is None:
                words["columns"] = [column]
            self._request["full_text_query"] = {"string_query": words}
        self._request.setdefault("vector", None)  # what is sent as it is has to say so
        self._request.setdefault("k", FOUND if query is not None or text is not None else 0)

    def _with(self, **fields: Any) -> Search:
        return Search(self._namespace, {**self._request, **fields})

    @property
    def _is_search(self) -> bool:
        return self._request["vector"] is not None or "full_text_query" in self._request

    def where(self, condition: str, *, prefilter: bool = True) -> Search:
        """Keep the rows that meet an SQL condition.

        Args:
            condition: the condition; next to an earlier one, both count.
            prefilter: whether a search looks at these rows alone; with false, rows that it found
                are filtered, and fewer may remain.
        """
        before = self._request.get("filter")
        fields: dict[str, Any] = {
            "filter": f"({before}) AND ({condition})" if before else condition
        }
        if self._is_search:
            fields["prefilter"] = prefilter
        return self._with(**fields)

    def select(self, columns: Sequence[str] | Mapping[str, str]) -> Search:
        """Return these columns alone.

        Args:
            columns: names; or SQL expressions by the names that they get.
        """
        if isinstance(columns, str):
            columns = [columns]
        if isinstance(columns, Mapping):
            return self._with(columns={"column_aliases": dict(columns)})
        return self._with(columns={"column_names": list(columns)})

    def limit(self, rows: int) -> Search:
        """Return at most so many rows."""
        if not isinstance(rows, int) or rows < 1:
            raise InvalidInputError(f"limit: {rows!r} is not a number of rows; give 1 or more")
        return self._with(k=rows)

    def offset(self, rows: int) -> Search:
        """Leave out so many first rows."""
        return self._with(offset=rows)

    def metric(self, name: str) -> Search:
        """Measure distances by ``l2``, ``cosine``, ``dot`` or ``hamming``."""
        return self._with(distance_type=name)

    def nprobes(self, partitions: int) -> Search:
        """Search so many partitions of the vector index; more finds more, and takes longer."""
        return self._with(nprobes=partitions)

    def refine(self, factor: int) -> Search:
        """Rank so many times the rows again by their whole vectors."""
        return self._with(refine_factor=factor)

    def exact(self) -> Search:
        """Compare with every row instead of using the vector index."""
        return self._with(bypass_vector_index=True)

    def with_row_id(self) -> Search:
        """Return row ids too, in the column ``_rowid``."""
        return self._with(with_row_id=True)

    def explain(self, *, verbose: bool = False) -> str:
        """Return how the query would run."""
        query = {key: value for key, value in self._request.items() if key != "id"}
        return self._namespace.explain_table_query_plan(
            {"id": self._request["id"], "query": query, "verbose": verbose}
        ).plan

    def to_reader(self) -> pa.RecordBatchReader:
        """Run the query; the rows come a record batch at a time as they are read."""
        return self._namespace.query_table(self._request)

    def to_arrow(self) -> pa.Table:
        """Run the query and return a ``pyarrow.Table``."""
        with self.to_reader() as reader:
            return reader.read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """Run the query and return a ``pandas.DataFrame``."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Run the query and return a ``polars.DataFrame``."""
        try:
            import polars
        except ImportError as error:
            raise InvalidInputError("to_polars needs polars: pip install polars") from error
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_list(self) -> list[dict[str, Any]]:
        """Run the query and return a dict a row."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def __repr__(self) -> str:
        shown = {k: v for k, v in self._request.items() if k not in ("id", "vector")}
        if self._request["vector"] is not None:
            shown["vector"] = "..."
        return f"Search({'.'.join(self._request['id'])!r}, {shown})"

    def _repr_html_(self) -> str:
        """Run the query and return its first rows as HTML, for notebooks."""
        rows = self._with(k=min(self._request["k"] or FOUND, FOUND)).to_arrow()
        return as_html(rows.column_names, [list(row.values()) for row in rows.to_pylist()])


def _vector(query: Any) -> dict[str, Any]:
    """Take a vector, or several, from lists, tuples and anything that numpy has made."""
    values = query.tolist() if hasattr(query, "tolist") else query
    if hasattr(values, "to_pylist"):
        values = values.to_pylist()
    if not isinstance(values, list | tuple):
        raise InvalidInputError(
            f"search: a {type(query).__name__} is neither a vector nor words; give a list of numbers "
            "or a string"
        )
    values = [each.tolist() if hasattr(each, "tolist") else each for each in values]
    try:
        if values and isinstance(values[0], list | tuple):
            return {"multi_vector": [list(map(float, each)) for each in values]}
        return {"single_vector": [float(value) for value in values]}
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError("search: a vector is a list of numbers") from None
