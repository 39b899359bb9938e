"""PartitionedNamespace: a set of tables with one schema that is written and read as one table."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal, Self

from attrs import evolve, frozen

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.models import QueryTableRequest

from ..core.imports import load
from ..objects.blocking import rows_of_schema
from ..objects.requests import DEFAULT_LIMIT, vector_field
from ..tables.query import scan, scanner
from ..tables.sql import check_sql
from .pruning import Pruning
from .spec import NewField, column_paths, new_spec, parse_field, with_ids, without_ids
from .store import Partition, PartitionStore, State, WriteMode
from .writer import Router

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from lance_namespace_client.errors import LanceNamespaceError
    from lance_namespace_client.namespace import LanceNamespace

    from ..objects.types import DistanceType, Rows, Vector

__all__ = [
    "PartitionWriteResult",
    "PartitionedNamespace",
    "empty_dataset",
    "matching_partitions",
]

OPEN_CONCURRENCY = 8
"""Number of datasets that are opened concurrently to count or search their rows."""


@frozen(kw_only=True)
class PartitionWriteResult:
    """The result of a write to a partitioned namespace."""

    rows: int
    """Number of rows written."""
    partitions: int
    """Number of partitions that received rows."""


class PartitionedNamespace:
    """A set of tables with a common schema, divided by the values of partition fields.

    Rows are written to and read from the namespace as if it were one table. Creating the object does
    not contact the catalog.

    Args:
        store: the storage of the namespace, which a backend provides.
    """

    def __init__(self, store: PartitionStore) -> None:
        self._store = store

    @property
    def namespace(self) -> LanceNamespace:
        """The namespace whose operations present the partitions as namespaces and tables."""
        return self._store.namespace

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return without_ids(self._store.load().schema)

    @property
    def specs(self) -> dict[int, list[str]]:
        """The partition fields of each spec, by the spec's number; the last spec is the current
        one.
        """
        state = self._store.load()
        paths = column_paths(state.schema)
        return {number: spec.shown(paths) for number, spec in state.specs.items()}

    @property
    def partition_by(self) -> list[str]:
        """The partition fields of the current spec."""
        state = self._store.load()
        return state.spec.shown(column_paths(state.schema))

    def is_partitioned_by(self, partition_by: Sequence[str | NewField]) -> bool:
        """Return whether these are the partition fields of the current spec, in this order.

        Raises:
            TableColumnNotFoundError: a field names an unknown column.
            InvalidInputError: a field is invalid.
        """
        state = self._store.load()
        found = new_spec(state.schema, _fields(partition_by), state.specs)
        return found.fields == state.spec.fields

    def create(self, schema: pa.Schema, partition_by: Sequence[str | NewField]) -> Self:
        """Create the namespace and return it.

        Args:
            schema: schema of the rows.
            partition_by: partition fields, the outermost first, in the forms of `parse_field`.

        Raises:
            UnsupportedError: the catalog cannot hold a partitioned namespace.
            NamespaceAlreadyExistsError: an object with this name exists.
            TableColumnNotFoundError: a field names an unknown column.
            InvalidInputError: a field is invalid.
        """
        numbered = with_ids(schema)
        self._store.create(numbered, new_spec(numbered, _fields(partition_by), {}))
        return self

    def evolve(self, partition_by: Sequence[str | NewField]) -> list[str]:
        """Add a spec for new rows, and return its fields; existing rows remain in their partitions.

        Args:
            partition_by: all partition fields of the new spec, the outermost first.

        Raises:
            ConcurrentModificationError: another client added a spec concurrently.
            TableColumnNotFoundError: a field names an unknown column.
            InvalidInputError: a field is invalid, or the spec is the same as the current one.
        """
        state = self._store.load()
        spec = new_spec(state.schema, _fields(partition_by), state.specs)
        if spec.fields == state.spec.fields:
            raise InvalidInputError(f"{self._store.name} is already partitioned by these fields")
        self._store.evolve(spec)
        return spec.shown(column_paths(state.schema))

    # --- writing

    def write(
        self, rows: Rows, mode: Literal["append", "overwrite_partitions"] = "append"
    ) -> PartitionWriteResult:
        """Write each row to its partition; create partitions that do not exist.

        Readers see either all of the rows or none of them.

        Args:
            rows: the rows, in any form that `Table.add` accepts.
            mode: ``append`` keeps the existing rows; ``overwrite_partitions`` replaces the rows of
                the partitions that receive new rows.

        Raises:
            TableSchemaValidationError: the rows do not match the schema.
            ConcurrentModificationError: other writers committed first in every attempt.
        """
        chosen = _mode(mode)
        state = self._store.load()
        schema = without_ids(state.schema)
        stream = rows_of_schema(rows, schema, self._store.name)
        write = self._store.begin(state, state.spec)
        try:
            router = Router(write, state.spec, column_paths(state.schema))
            partitions = router.run(stream.reader())
            write.publish(chosen)
        except BaseException:
            write.discard()
            raise
        return PartitionWriteResult(rows=router.rows, partitions=partitions)

    # --- reading

    def partitions(self, filter: str | None = None, *, sizes: bool = False) -> list[Partition]:
        """Return all partitions, or those that may contain rows that match a condition.

        Args:
            filter: SQL condition on the rows; defaults to all rows.
            sizes: whether to open each dataset to determine its number of rows and its size.
        """
        state = self._store.load()
        found = self._matching(state, filter)
        if not sizes:
            return found
        with ThreadPoolExecutor(OPEN_CONCURRENCY, "lance-partitions") as pool:
            return list(pool.map(self._measured, found))

    def _measured(self, partition: Partition) -> Partition:
        dataset = self._store.open(partition)
        files = [file for fragment in dataset.get_fragments() for file in fragment.data_files()]
        return evolve(
            partition,
            rows=int(dataset.count_rows()),
            bytes=sum(file.file_size_bytes or 0 for file in files),
        )

    def _matching(self, state: State, filter: str | None) -> list[Partition]:
        return matching_partitions(self._store, state, filter)

    def scan(
        self, filter: str | None = None, columns: Sequence[str] | None = None
    ) -> pa.RecordBatchReader:
        """Return a reader for the rows, which reads one partition after another.

        Partitions are not opened if their values show that they have no matching rows.

        Args:
            filter: SQL condition on the rows; defaults to all rows.
            columns: names of the columns to return; defaults to all.

        Raises:
            TableColumnNotFoundError: a column does not exist.
            InvalidInputError: the condition is invalid.

        Examples:
            >>> lake.partitioned("events").scan("ts >= timestamp '2026-01-01'").read_all()  # doctest: +SKIP
        """
        state = self._store.load()
        kept = self._matching(state, filter)
        request = _request(filter, columns)
        schema = self._result_schema(state, request)
        pa = load("pyarrow")

        def batches() -> Iterator[Any]:
            for partition in kept:
                with scan(self._store.open(partition), request, self._read_failure) as reader:
                    for batch in reader:
                        if batch.num_rows:
                            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def count_rows(self, filter: str | None = None) -> int:
        """Return the number of rows.

        Args:
            filter: SQL condition on the rows; defaults to all rows.
        """
        state = self._store.load()
        check_sql(filter, "the filter", without_ids(state.schema))
        try:
            with ThreadPoolExecutor(OPEN_CONCURRENCY, "lance-partitions") as pool:
                kept = self._matching(state, filter)
                return sum(pool.map(lambda each: self._store.open(each).count_rows(filter), kept))
        except Exception as error:
            raise self._read_failure(error) from error

    def search(
        self,
        vector: Vector,
        filter: str | None = None,
        *,
        k: int = DEFAULT_LIMIT,
        columns: Sequence[str] | None = None,
        vector_column: str | None = None,
        distance_type: DistanceType | None = None,
    ) -> pa.Table:
        """Return the rows nearest to a vector, with their distances in ``_distance``.

        Only the partitions that may contain matching rows are searched, each with its indices.

        Args:
            vector: the vector.
            filter: SQL condition on the rows; defaults to all rows.
            k: number of rows to return.
            columns: names of the columns to return; defaults to all.
            vector_column: the vector column; required if there are several.
            distance_type: metric for the distance; defaults to that of the index, or ``l2``.

        Raises:
            TableColumnNotFoundError: a column does not exist.
            InvalidInputError: the vector or the condition is invalid.
        """
        state = self._store.load()
        request = _request(
            filter,
            columns,
            k=k,
            vector=vector_field(vector),
            vector_column=vector_column,
            distance_type=distance_type,
            prefilter=True,
        )
        schema = self._result_schema(state, request)

        def nearest(partition: Partition) -> pa.Table:
            return scanner(self._store.open(partition), request).to_table()

        pa = load("pyarrow")
        try:
            with ThreadPoolExecutor(OPEN_CONCURRENCY, "lance-partitions") as pool:
                found = list(pool.map(nearest, self._matching(state, filter)))
        except Exception as error:
            raise self._read_failure(error) from error
        tables = [
            schema.empty_table(),
            *(pa.Table.from_arrays(t.columns, schema=schema) for t in found),
        ]
        return pa.concat_tables(tables).sort_by("_distance").slice(0, k)

    def _result_schema(self, state: State, request: QueryTableRequest) -> pa.Schema:
        """Return the exact schema of a query's result.

        The schema comes from an empty dataset, which rejects the same queries as a dataset with
        rows.
        """
        try:
            empty = empty_dataset(state)
            return scanner(empty, request).projected_schema
        except Exception as error:
            raise self._read_failure(error) from error

    def _read_failure(self, error: Exception) -> LanceNamespaceError:
        return self._store.failure(error, "reading")

    def __repr__(self) -> str:
        return f"PartitionedNamespace({self._store.name!r})"


def matching_partitions(store: PartitionStore, state: State, filter: str | None) -> list[Partition]:
    """Return the partitions that may contain rows that match a condition; None matches all rows."""
    pruning = Pruning(filter, state.schema)
    found: list[Partition] = []
    for number, spec in state.specs.items():
        table = state.tables[number]
        mask = pruning.mask(spec, table)
        found += store.partitions(state, number, table if mask is None else table.filter(mask))
    return found


def empty_dataset(state: State) -> lance.LanceDataset:
    """Return a dataset without rows that has the schema of a partitioned namespace."""
    place = f"memory://schema-{uuid.uuid4().hex}"
    found: lance.LanceDataset = load("lance").write_dataset(
        without_ids(state.schema).empty_table(), place
    )
    return found


def _request(
    filter: str | None, columns: Sequence[str] | None, **more: object
) -> QueryTableRequest:
    names = None if columns is None else {"column_names": list(columns)}
    return QueryTableRequest.coerce(
        {"vector": None, "k": 0, "filter": filter, "columns": names, **more}
    )


def _fields(partition_by: Sequence[str | NewField]) -> list[NewField]:
    if isinstance(partition_by, str):
        raise InvalidInputError("partition_by must be a list of partition fields")
    return [parse_field(each) if isinstance(each, str) else each for each in partition_by]


def _mode(mode: str) -> WriteMode:
    try:
        return WriteMode(mode)
    except ValueError:
        known = ", ".join(each.value for each in WriteMode)
        raise InvalidInputError(f"write: unknown mode {mode!r}; use one of {known}") from None
