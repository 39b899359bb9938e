"""Reads rows: plain scans, vector search and full-text search."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import attrs

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError

from ..core.forks import check_lance
from ..core.imports import load
from .context import ORDER_BY
from .full_text import check_terms, full_text_query
from .hybrid import fused, is_hybrid
from .sql import SqlCheck

if TYPE_CHECKING:
    import pyarrow as pa

    from .hybrid import Query

__all__ = ["analyze", "explain", "only_vector_column", "scan", "scanner"]

# By default, pylance reads up to 2 GiB ahead, which is too much for a server with many concurrent
# clients. It always reads whole pages of a column, however large they are, so large fragments are
# read in ranges.
READ_AHEAD_BYTES = 16 << 20
LEGACY = "0.1"
BATCH_ROWS, LEAST_BATCH_ROWS = 8192, 64
BATCH_BYTES = 4 << 20
# In tables up to this size, fetching the other columns of matching rows later costs more than
# reading them immediately, unless the columns are wide. The first few batches are enough for a
# query with a limit.
SMALL_ROWS, SMALL_BYTES = 16 << 10, 4 << 20
SMALL_BATCH_ROWS = 2048
NARROW_BYTES = 32


def scanner(dataset: Any, request: Query, fragments: list[Any] | None = None) -> Any:
    """Build the ``lance.LanceScanner`` for a query with at most one kind of search.

    Args:
        dataset: a ``lance.LanceDataset``.
        request: the query.
        fragments: the fragments to read; defaults to all.

    Raises:
        InvalidInputError: code 13, the parts of the request contradict each other, or its SQL
            exceeds Lance's limits.
    """
    check = SqlCheck(dataset.schema, sized=True)
    check.condition(request.filter, "the filter")
    arguments: dict[str, Any] = {
        "filter": request.filter or None,
        "offset": request.offset,
        "prefilter": request.prefilter,
        "fast_search": request.fast_search,
        "with_row_id": request.with_row_id,
        "io_buffer_size": READ_AHEAD_BYTES,
        "order_by": _ordering(request),
        "fragments": fragments,
    }
    vector = _vector(request)
    score = "_score" if request.full_text_query is not None else None
    arguments["columns"] = _columns(request, score if vector is None else "_distance", check)
    if request.k == 0 and (vector is not None or request.full_text_query is not None):
        raise InvalidInputError(
            "k is 0; set it to the number of rows that the search should return"
        )
    if vector is not None:
        arguments["nearest"] = _nearest(dataset, request, vector)
        # Skipped rows do not count toward k, so the search must find them in addition.
        arguments["nearest"]["k"] += request.offset or 0
        if request.vector is not None and not request.vector.multi_vector:
            arguments["limit"] = request.k
    elif request.k:
        # Zero means all rows, as in pylance's own namespaces.
        arguments["limit"] = request.k
    if request.full_text_query is not None:
        arguments["full_text_query"] = _full_text(dataset, request)
        arguments["limit"] = request.k
    if vector is None and request.full_text_query is None:
        shape = _shape(dataset)
        arguments["batch_size"] = max(1, shape.batch_rows // check.growth)
        arguments["batch_readahead"] = 2
        arguments["fragment_readahead"] = 1
        if request.filter and request.k and shape.is_small:
            arguments["batch_size"] = min(arguments["batch_size"], SMALL_BATCH_ROWS)
            arguments["late_materialization"] = shape.wide or False
    return dataset.scanner(**{key: value for key, value in arguments.items() if value is not None})


def explain(dataset: Any, request: Query, verbose: bool | None) -> str:
    """Return the plan of a query, or both plans of a hybrid query."""
    return _each_search(request, lambda part: scanner(dataset, part).explain_plan(verbose))


def analyze(dataset: Any, request: Query) -> str:
    """Run a query and return its plan with metrics, or both plans of a hybrid query."""
    return _each_search(request, lambda part: scanner(dataset, part).analyze_plan())


def _each_search(request: Query, describe: Callable[[Query], Any]) -> str:
    if not is_hybrid(request, _vector(request)):
        return str(describe(request))
    parts = {
        "vector search": attrs.evolve(request, full_text_query=None),
        "full-text search": attrs.evolve(request, vector=None),
    }
    return "\n".join(f"{title}:\n{describe(part)}" for title, part in parts.items())


def scan(
    dataset: Any, request: Query, translate: Callable[[Exception], Exception]
) -> pa.RecordBatchReader:
    """Run a query; batches of rows are returned as they are read.

    Args:
        dataset: a ``lance.LanceDataset``.
        request: the query.
        translate: converts a failure while reading rows to a protocol error.
    """
    import pyarrow as pa

    if is_hybrid(request, _vector(request)):
        return fused(request, lambda part: scanner(dataset, part).to_table()).to_reader()
    if (run := few_rows(dataset, request)) is not None:
        return run().to_reader()
    scans = _scans(dataset, request)
    reader = next(scans).to_reader()

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for part in chain([reader], (each.to_reader() for each in scans)):
                check_lance()
                for batch in part:
                    yield batch
                    check_lance()  # this process may be a fork of the one that started the query
        except LanceNamespaceError:
            raise
        except Exception as error:
            raise translate(error) from error

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _scans(dataset: Any, request: Query) -> Iterator[Any]:
    """Build at least one scanner; the concatenated results are the result of the query."""
    whole = scanner(dataset, request)
    is_search = request.full_text_query is not None or _vector(request) is not None
    columns = request.columns.column_names if request.columns is not None else None
    most = _shape(dataset).range_rows(columns)
    if is_search or request.filter or _ordering(request) or not most:
        yield whole
        return
    skipped, left = request.offset or 0, request.k or None
    found = False
    for fragments, start, rows in _ranges(dataset, most):
        offset = min(skipped, rows)
        skipped -= offset
        count = rows - offset if left is None else min(left, rows - offset)
        if count:
            part = attrs.evolve(request, offset=start + offset, k=count)
            yield scanner(dataset, part, fragments)
            found = True
        if left is not None and not (left := left - count):
            return
    if not found:
        yield whole


def _ranges(dataset: Any, most: int) -> Iterator[tuple[list[Any], int, int]]:
    """Yield groups of at most `most` rows: the fragments, their first row and their row count."""
    together: list[Any] = []
    grouped_rows = 0
    for fragment in dataset.get_fragments():
        rows = fragment.count_rows()
        if grouped_rows and grouped_rows + rows > most:
            yield together, 0, grouped_rows
            together, grouped_rows = [], 0
        if rows <= most:
            together.append(fragment)
            grouped_rows += rows
            continue
        for start in range(0, rows, most):
            yield [fragment], start, min(most, rows - start)
    if grouped_rows:
        yield together, 0, grouped_rows


def few_rows(dataset: Any, request: Query) -> Callable[[], pa.Table] | None:
    """Return a callable that runs a query with a small limit and returns all rows in one batch, or
    None for other queries.

    Nothing is read until the callable is called.

    Raises:
        InvalidInputError: see `scanner`.
    """
    if not request.k or request.k > LEAST_BATCH_ROWS or request.full_text_query is not None:
        return None
    run: Callable[[], pa.Table] = scanner(dataset, request).to_table
    return run


@attrs.frozen
class _Shape:
    """The size and layout of a dataset."""

    batch_rows: int
    """Number of rows in a batch of a few megabytes; wide vectors require small batches."""
    wide: list[str]
    """Columns with a large size per row."""
    is_small: bool
    """Whether reading everything costs little more than reading part of the rows."""
    rows: int | None
    """Number of rows including deleted ones; None if unknown."""
    row_bytes: int
    fixed: Mapping[str, int]
    """Columns whose values have a fixed size, each with that size in bytes."""
    is_legacy: bool
    """Whether reading rows requires reading all rows before them."""

    @classmethod
    def of(cls, dataset: Any) -> Self:
        """Return the shape of a dataset."""
        widths = {field.name: _width(field.type) for field in dataset.schema}
        fragments = dataset.get_fragments()
        rows = [fragment.metadata.physical_rows for fragment in fragments]
        sizes = [file.file_size_bytes for fragment in fragments for file in fragment.data_files()]
        width = max(sum(widths.values()), 1)
        rows_per_batch = BATCH_BYTES // width
        # The width of variable-length columns is a guess, so the sizes of the data files are used
        # as well. Old files do not record their size.
        row_size = sum(size or 0 for size in sizes) // max(sum(row or 0 for row in rows), 1)
        return cls(
            batch_rows=max(LEAST_BATCH_ROWS, min(BATCH_ROWS, rows_per_batch)),
            wide=[name for name, width in widths.items() if width > NARROW_BYTES],
            is_small=_within(rows, SMALL_ROWS) and _within(sizes, SMALL_BYTES),
            rows=None if None in rows else sum(rows),
            row_bytes=max(width, row_size),
            fixed={
                each.name: widths[each.name]
                for each in dataset.schema
                if _is_fixed(_item(each.type))
            },
            is_legacy=dataset.data_storage_version == LEGACY,
        )

    def range_rows(self, columns: Sequence[str] | None) -> int:
        """Return how many rows may be read ahead; 0 means that there is no limit.

        Args:
            columns: the columns to read; defaults to all.
        """
        width = self.row_bytes
        if columns and all(name in self.fixed for name in columns):
            width = sum(self.fixed[name] for name in columns)
        ahead = max(LEAST_BATCH_ROWS, READ_AHEAD_BYTES // max(width, 1))
        return 0 if self.is_legacy or (self.rows is not None and self.rows <= ahead) else ahead


_shapes: WeakKeyDictionary[Any, _Shape] = WeakKeyDictionary()
"""Shapes of open datasets; a dataset object that is only read never changes."""


def _shape(dataset: Any) -> _Shape:
    found = _shapes.get(dataset)
    if found is None:
        found = _shapes[dataset] = _Shape.of(dataset)
    return found


def _width(kind: pa.DataType) -> int:
    """Return the size of a value in bytes; for types of variable size, an estimate."""
    length = 1
    while hasattr(kind, "list_size"):
        length *= max(kind.list_size, 1)
        kind = kind.value_type
    return length * (kind.bit_width // 8 if _is_fixed(kind) else NARROW_BYTES)


def _item(kind: pa.DataType) -> pa.DataType:
    """Return the value type of fixed-size lists, or the type itself for any other type."""
    return _item(kind.value_type) if hasattr(kind, "list_size") else kind


def _within(numbers: Iterable[int | None], most: int) -> bool:
    """Return whether all numbers are known and their sum is at most `most`."""
    counts = [most + 1 if number is None else number for number in numbers]
    return sum(counts) <= most


def _ordering(request: Query) -> list[Any] | None:
    """Return the order that the request's context specifies, or None if there is none."""
    text = (request.context or {}).get(ORDER_BY)
    if text is None:
        return None
    ColumnOrdering = load("lance.dataset").ColumnOrdering

    try:
        return [
            ColumnOrdering(
                column_name=each["column_name"],
                ascending=each.get("ascending", True),
                nulls_first=each.get("nulls_first", False),
            )
            for each in json.loads(text)
        ]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"{ORDER_BY} must be a JSON list of objects with column_name, ascending and "
            f"nulls_first: {error}"
        ) from None


def _is_fixed(kind: pa.DataType) -> bool:
    try:
        return bool(kind.bit_width)
    except ValueError:
        return False


def _columns(
    request: Query, score: str | None, check: SqlCheck
) -> list[str] | dict[str, str] | None:
    """Return the columns to read; pylance requires that the score column of a search is named."""
    columns = request.columns
    if columns is None:
        return None
    scores = [] if score is None else [score]
    names, named = columns.column_names, columns.column_aliases
    if (names and named) or (names is None and named is None):
        raise InvalidInputError("specify only one of column_names and column_aliases")
    if named:
        for name, expression in named.items():
            check.value(expression, f"column {name[:100]!r}")
        return named | {name: name for name in scores if name not in named}
    return None if names is None else [*names, *(name for name in scores if name not in names)]


def _vector(request: Query) -> list[Any] | None:
    vector = request.vector
    if vector is None:
        return None
    provided = [v for v in (vector.single_vector, vector.multi_vector) if v]
    if len(provided) > 1:
        raise InvalidInputError("specify only one of single_vector and multi_vector")
    if not all(vector.multi_vector or ()):
        raise InvalidInputError("one of the vectors in multi_vector is empty")
    if provided:
        return provided[0]
    is_empty = vector.single_vector is not None or vector.multi_vector is not None
    # If a query has no vector, lancedb sends an empty vector and no column.
    if is_empty and (request.vector_column is not None or request.distance_type is not None):
        raise InvalidInputError(
            "the vector is empty; specify a vector, or omit vector_column and distance_type"
        )
    return None


def _nearest(dataset: Any, request: Query, vector: list[Any]) -> dict[str, Any]:
    column = request.vector_column or only_vector_column(dataset.schema)
    _refuse_plain_list(dataset.schema, column)
    bounds = (request.lower_bound, request.upper_bound)
    nearest: dict[str, Any] = {
        "column": column,
        "q": vector,
        "k": request.k,
        "metric": _metric(dataset, request, column),
        "nprobes": request.nprobes,
        "minimum_nprobes": request.minimum_nprobes,
        "maximum_nprobes": request.maximum_nprobes,
        "refine_factor": request.refine_factor,
        "ef": request.ef,
        "use_index": None
        if request.bypass_vector_index is None
        else not request.bypass_vector_index,
        "distance_range": bounds if any(b is not None for b in bounds) else None,
    }
    return {key: value for key, value in nearest.items() if value is not None}


def _metric(dataset: Any, request: Query, column: str) -> str | None:
    """Return the distance type, or None if pylance is to use the distance type of the index."""
    if request.distance_type:
        return request.distance_type.lower()
    if not request.bypass_vector_index:
        return None
    metrics = [
        (
            min(s.created_at.timestamp() if s.created_at else math.inf for s in index.segments),
            metric,
        )
        for index in dataset.describe_indices()
        if (metric := (index.details or {}).get("metric_type"))
        and list(index.field_names) == [column.strip("`")]
    ]
    # If there are several indices, pylance searches the oldest one, so its distance type applies.
    return str(min(metrics)[1]).lower() if metrics else None


def only_vector_column(schema: pa.Schema) -> str:
    """Return the only vector column of a table.

    Raises:
        InvalidInputError: code 13, there is none, or there are several.
    """
    found = [field.name for field in schema if hasattr(field.type, "list_size")]
    if not found:
        for field in schema:
            _refuse_plain_list(schema, field.name)
    if len(found) != 1:
        raise InvalidInputError(f"the table has {len(found)} vector columns; specify vector_column")
    return str(found[0])


def _refuse_plain_list(schema: pa.Schema, column: str) -> None:
    """Reject a search in variable-length lists; Lance's own message does not suggest a remedy."""
    import pyarrow as pa

    if column not in schema.names:
        return
    kind = schema.field(column).type
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and pa.types.is_floating(
        kind.value_type
    ):
        raise InvalidInputError(
            f"column {column!r} is {kind}, but a vector search needs a fixed-size list: "
            "write it as pyarrow.list_(pyarrow.float32(), dimension), or from numpy "
            "arrays"
        )


def _full_text(dataset: Any, request: Query) -> Any:
    query = request.full_text_query
    assert query is not None
    if query.string_query is not None and query.structured_query is None:
        check_terms(query.string_query.query)
        text: dict[str, Any] = {"query": query.string_query.query}
        columns = query.string_query.columns or _columns_without_index(dataset)
        if columns:
            text["columns"] = columns
        return text
    if query.structured_query is not None and query.string_query is None:
        return full_text_query(dataset, query.structured_query.query)
    raise InvalidInputError("specify only one of string_query and structured_query")


def _columns_without_index(dataset: Any) -> list[str]:
    """Return the columns to search if no index determines them: all string columns.

    Raises:
        InvalidInputError: code 13, there is no string column.
    """
    import pyarrow as pa

    if any(index.index_type == "Inverted" for index in dataset.describe_indices()):
        return []
    kinds = (pa.string(), pa.large_string())
    found = [field.name for field in dataset.schema if field.type in kinds]
    if not found:
        raise InvalidInputError(
            "the table has no string column to search; add one, or use a vector search"
        )
    return found
