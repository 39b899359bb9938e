# Generated from table.py by `python -m codegen`. Edit table.py instead.
"""AsyncTable, AsyncTags and AsyncBranches: a table as an object, with lancedb's method names."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar, Unpack

from lance_namespace_client.async_namespace import AsyncRows
from lance_namespace_client.errors import (
    InvalidInputError,
    TableIndexAlreadyExistsError,
    TableNotFoundError,
)

from ..core.async_calls import in_thread
from ..core.identifiers import format_identifier, to_identifier
from .async_merge import AsyncMergeInsert
from .async_search import AsyncSearch
from .blocking import cast_rows, open_through, optimize_dataset, python_rows, rows_of_schema
from .requests import alteration, column_expressions, without_none
from .values import literal, row_condition

if TYPE_CHECKING:
    import lance
    import pandas
    import polars
    import pyarrow as pa

    from lance_namespace_client.models import (
        AlterTableAddColumnsResponse,
        AlterTableAlterColumnsResponse,
        AlterTableDropColumnsResponse,
        BranchContents,
        DeleteFromTableResponse,
        DescribeTableIndexStatsResponse,
        DescribeTableResponse,
        GetTableStatsResponse,
        IndexContent,
        InsertIntoTableResponse,
        MergeInsertIntoTableResponse,
        TableVersion,
        TagContents,
        UpdateTableResponse,
    )

    from .async_operations import AsyncOperations
    from .types import (
        AsyncData,
        ColumnAlteration,
        FieldMetadata,
        IndexOptions,
        IndexType,
        QueryType,
        Row,
        Value,
        Vector,
    )

__all__ = ["AsyncBranches", "AsyncTable", "AsyncTags"]


class AsyncTable:
    """A table in a namespace, at the latest version or at a checked-out version.

    The methods are named like those of lancedb's tables. Each method makes one or a few calls to
    the namespace, and raises the same errors in process and over REST. Creating the object does not
    contact the catalog; `exists` returns whether the table exists. `schema`, `location`,
    `properties` and `version` are loaded on first access and cached; `refresh` discards the cached
    values.

    Args:
        namespace: the namespace of the table.
        id: identifier of the table: ``"db.letters"`` or a list of names.
        version: number of the version to read; defaults to the latest.
        branch: branch to read and write; defaults to the main branch.
    """

    def __init__(
        self,
        namespace: AsyncOperations,
        id: str | Sequence[str],
        *,
        version: int | None = None,
        branch: str | None = None,
    ) -> None:
        self.id = to_identifier(id)
        if not self.id:
            raise InvalidInputError("a table needs a name; the root is a namespace")
        self.namespace = namespace
        self._branch = branch
        self._checked_out: tuple[int, str | None] | None = None
        if version is not None:
            self._checked_out = version, branch
        self._description: DescribeTableResponse | None = None
        self._schema: pa.Schema | None = None
        self._latest: int | None = None

    def _request(self, **fields: object) -> dict[str, Any]:
        return without_none({"id": list(self.id), "branch": self._branch, **fields})

    def _reading(self, **fields: object) -> dict[str, Any]:
        version, branch = self._checked_out or (None, self._branch)
        request = {"id": list(self.id), "branch": branch, "version": version, **fields}
        return without_none(request)

    def _writing(self, **fields: object) -> dict[str, Any]:
        if self._checked_out is not None:
            raise InvalidInputError(
                f"table {self} is checked out at version {self._checked_out[0]}, which is "
                "read-only; call checkout_latest() to write, or restore() to make this version "
                "the latest"
            )
        return self._request(**fields)

    # --- description

    @property
    def name(self) -> str:
        """The last level of the identifier."""
        return self.id[-1]

    async def location(self) -> str:
        """URI of the dataset; loaded once, see `refresh`."""
        return (await self._described()).location or ""

    async def uri(self) -> str:
        """URI of the dataset, like `location`."""
        return await self.location()

    async def properties(self) -> dict[str, str]:
        """The table's properties in the catalog; loaded once, see `refresh`."""
        return dict((await self._described()).properties or {})

    async def schema(self) -> pa.Schema:
        """The table's Arrow schema; loaded once, see `refresh`."""
        if self._schema is None:
            self._schema = await self._load_schema()
        return self._schema

    async def version(self) -> int:
        """Number of the version that is read: the checked-out version, or the latest. The latest
        version is loaded once, and again after this object has changed the table; see `refresh`.
        """
        if self._checked_out is not None:
            return self._checked_out[0]
        if self._latest is None:
            self._latest = (
                await self.namespace.describe_table_version(self._request())
            ).version.version
        return self._latest

    async def _described(self) -> DescribeTableResponse:
        if self._description is None:
            self._description = await self.describe()
        return self._description

    async def _load_schema(self) -> pa.Schema:
        # A query that matches no row. The schema of its result is exact, unlike a schema in JSON.
        request = self._reading(filter="false", k=1)
        async with await self.namespace.query_table(request) as reader:
            return reader.schema

    def refresh(self) -> None:
        """Discard `schema`, `location`, `properties` and `version`; they are loaded on next access."""
        self._description = self._schema = self._latest = None

    async def exists(self) -> bool:
        """Return whether the table exists; this includes tables declared without data."""
        try:
            await self.namespace.table_exists({"id": list(self.id)})
        except TableNotFoundError:
            return False
        return True

    async def describe(self, *, details: bool = False) -> DescribeTableResponse:
        """Return the catalog's description of the table.

        Args:
            details: whether to also return version, schema and counts, for which the dataset is
                opened.

        Raises:
            TableNotFoundError: the table does not exist.
        """
        request = self._reading() if details else {"id": list(self.id)}
        return await self.namespace.describe_table({**request, "load_detailed_metadata": details})

    async def stats(self) -> GetTableStatsResponse:
        """Return the number of rows, bytes, indices and fragments in the latest version."""
        return await self.namespace.get_table_stats(self._request())

    # --- reading

    async def count_rows(self, filter: str | None = None) -> int:
        """Return the number of rows.

        Args:
            filter: SQL condition on the rows; defaults to all rows.
        """
        request = self._reading(predicate=filter)
        return (await self.namespace.count_table_rows(request)).count or 0

    async def count(self, where: str | None = None) -> int:
        """Return the number of rows; this is the former name of `count_rows`."""
        return await self.count_rows(where)

    async def head(self, n: int = 5) -> pa.Table:
        """Return the first `n` rows."""
        return (
            await self.search().limit(n).to_arrow()
            if n
            else (await self._load_schema()).empty_table()
        )

    def search(
        self,
        query: Vector | str | None = None,
        vector_column_name: str | None = None,
        query_type: QueryType = "auto",
        *,
        fts_columns: str | Sequence[str] | None = None,
    ) -> AsyncSearch:
        """Return a query: a scan, a vector search, a full-text search or a hybrid search.

        Args:
            query: a vector (list, tuple or array; several vectors for a multi-vector column), or a
                string of words; defaults to a scan of all rows.
            vector_column_name: the vector column; required if the table has several.
            query_type: ``vector`` or ``fts`` checks the type of the query; ``hybrid`` requires both
                `AsyncSearch.vector` and `AsyncSearch.text`.
            fts_columns: the text columns to search; defaults to all columns with a full-text index.

        Examples:
            >>> await table.search([0.1, 0.2]).where("year > 2020").limit(3).to_pandas()  # doctest: +SKIP
        """
        return AsyncSearch(
            self.namespace,
            self._reading(),
            query,
            vector_column_name=vector_column_name,
            query_type=query_type,
            fts_columns=fts_columns,
        )

    def take_offsets(self, offsets: Sequence[int], *, with_row_id: bool = False) -> AsyncSearch:
        """Return a query for the rows at these positions in the version that is read.

        The order of the result is not defined; duplicate positions yield one row.

        Args:
            offsets: positions of the rows; the first row has position 0.
            with_row_id: whether to also return row ids, in the column ``_rowid``.

        Raises:
            InvalidInputError: a position is not an integer, or is negative.

        Examples:
            >>> await table.take_offsets([5, 2]).select(["id"]).to_list()  # doctest: +SKIP
        """
        return self._take("_rowoffset", offsets, with_row_id)

    def take_row_ids(self, row_ids: Sequence[int], *, with_row_id: bool = False) -> AsyncSearch:
        """Return a query for the rows with these row ids, which `AsyncSearch.with_row_id` returns.

        The order of the result is not defined; duplicate ids yield one row.

        Args:
            row_ids: row ids in the version that is read; other versions may have other ids.
            with_row_id: whether to also return row ids, in the column ``_rowid``.

        Raises:
            InvalidInputError: an id is not an integer, or is negative.
        """
        return self._take("_rowid", row_ids, with_row_id)

    def _take(self, column: str, numbers: Sequence[int], with_row_id: bool) -> AsyncSearch:
        selected = self.search().where(row_condition(column, numbers))
        return selected.with_row_id() if with_row_id else selected

    async def to_batches(self) -> AsyncRows:
        """Return a reader for all rows, which yields batches as they arrive."""
        return await self.search().to_batches()

    async def to_arrow(self) -> pa.Table:
        """Return all rows as a ``pyarrow.Table``."""
        return await self.search().to_arrow()

    async def to_pandas(self) -> pandas.DataFrame:
        """Return all rows as a ``pandas.DataFrame``."""
        return await self.search().to_pandas()

    async def to_polars(self) -> polars.LazyFrame:
        """Return all rows as a ``polars.LazyFrame``; this call reads the rows."""
        return (await self.search().to_polars()).lazy()

    async def to_list(self) -> list[Row]:
        """Return all rows as a list of dicts."""
        return await self.search().to_list()

    async def to_lance(self) -> lance.LanceDataset:
        """Open the table directly in storage and return the ``lance.LanceDataset``."""
        version, branch = self._checked_out or (None, self._branch)
        dataset: lance.LanceDataset = await in_thread(
            open_through, self.namespace.synchronous, self.id, version, branch
        )
        return dataset

    # --- writing

    async def create(
        self,
        data: AsyncData | Iterator[pa.RecordBatch] | None = None,
        schema: pa.Schema | None = None,
        mode: Literal["create", "exist_ok", "overwrite"] = "create",
        exist_ok: bool = False,
        *,
        properties: Mapping[str, str] | None = None,
    ) -> Self:
        """Create the table from rows, or without rows from a schema, and return it.

        Without a schema, lists of numbers of equal length become vectors of 32-bit floats in columns
        whose name contains "vector" or "embedding".

        Args:
            data: the rows, in any form that `add` accepts; with a schema, also an iterator over
                record batches.
            schema: the columns; defaults to those of the rows.
            mode: whether an existing table causes an error, is kept, or is replaced.
            exist_ok: the same as the mode ``exist_ok``.
            properties: properties of the table in the catalog.

        Raises:
            TableAlreadyExistsError: the table exists.
            NamespaceNotFoundError: its namespace does not exist.
            TableSchemaValidationError: a value does not fit its column in the schema.
            InvalidInputError: there are neither rows nor a schema.
        """
        if exist_ok and mode == "create":
            mode = "exist_ok"
        request = self._writing(mode=mode, properties=dict(properties) if properties else None)
        rows: Any = data
        if schema is not None:
            given = schema.empty_table() if data is None else data
            rows = await in_thread(rows_of_schema, given, schema, f"table {self}")
        elif data is None:
            raise InvalidInputError(f"table {self}: pass rows or a schema")
        await self.namespace.create_table(request, rows)
        self.refresh()
        return self

    async def add(
        self, data: AsyncData, mode: Literal["append", "overwrite"] = "append"
    ) -> InsertIntoTableResponse:
        """Add rows.

        Args:
            data: an Arrow table, reader or IPC stream; a pandas or polars frame, including lazy
                frames; a list of dicts; or a dict of columns, in which two-dimensional numpy arrays
                are vectors.
            mode: ``append`` keeps the existing rows; ``overwrite`` replaces them.

        Raises:
            TableSchemaValidationError: the rows do not match the table's schema.
        """
        request = self._writing(mode=mode)
        added = await self.namespace.insert_into_table(request, await self._cast_to_schema(data))
        self._changed(schema=mode == "overwrite")
        return added

    def merge_insert(self, on: str | Iterable[str]) -> AsyncMergeInsert:
        """Return a builder for a merge, which updates rows with existing keys and inserts others.

        Args:
            on: the key column, or several.

        Examples:
            >>> await table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            ... .execute([{"id": 1, "name": "a"}])  # doctest: +SKIP
        """
        request = self._writing(on=[on] if isinstance(on, str) else list(on))

        async def execute(fields: Mapping[str, object], data: AsyncData) -> Any:
            merged = await self.namespace.merge_insert_into_table(
                {**request, **fields}, await self._cast_to_schema(data)
            )
            self._changed()
            return merged

        return AsyncMergeInsert(execute)

    async def merge(self, data: AsyncData, on: str | Iterable[str]) -> MergeInsertIntoTableResponse:
        """Update rows with existing keys and insert other rows; a shortcut for `merge_insert`.

        Args:
            data: the rows, in any form that `add` accepts.
            on: the key column, or several.
        """
        merge = self.merge_insert(on).when_matched_update_all().when_not_matched_insert_all()
        return await merge.execute(data)

    async def update(
        self,
        where: str | None = None,
        values: Mapping[str, Value] | None = None,
        *,
        values_sql: Mapping[str, str] | None = None,
    ) -> UpdateTableResponse:
        """Set columns in the rows that match a condition.

        Args:
            where: SQL condition on the rows; defaults to all rows.
            values: new values, by column.
            values_sql: SQL expressions, by column, such as ``{"price": "price * 2"}``.
        """
        pairs = [[column, literal(value)] for column, value in (values or {}).items()]
        pairs += [[column, expression] for column, expression in (values_sql or {}).items()]
        updated = await self.namespace.update_table(self._writing(updates=pairs, predicate=where))
        self._changed()
        return updated

    async def delete(self, where: str) -> DeleteFromTableResponse:
        """Delete the rows that match a condition.

        Args:
            where: SQL condition on the rows; ``"true"`` deletes all rows.
        """
        deleted = await self.namespace.delete_from_table(self._writing(predicate=where))
        self._changed()
        return deleted

    async def _cast_to_schema(self, data: AsyncData) -> AsyncData:
        rows = await in_thread(python_rows, data)
        if rows is None:
            return data
        # Another client may have changed the schema since it was cached, so load it again.
        return await in_thread(cast_rows, rows, await self._load_schema(), f"table {self}")

    def _changed(self, *, schema: bool = False) -> None:
        self._latest = None
        if schema:
            self._schema = None

    # --- columns

    async def add_columns(
        self,
        transforms: Mapping[str, str] | pa.Field | Iterable[pa.Field] | None = None,
        *,
        computed: Mapping[str, str] | None = None,
    ) -> AlterTableAddColumnsResponse:
        """Add columns.

        Args:
            transforms: SQL expressions by name of the new column, which are evaluated once, for all
                existing rows; or one or more fields or a schema, for columns without values.
            computed: SQL expressions by name of the computed column, which the server also
                evaluates for rows that are added later. Most servers do not support computed
                columns.
        """
        expressions = column_expressions(transforms)
        columns = [{"name": name, "expression": sql} for name, sql in expressions.items()]
        columns += [{"name": name, "computed": sql} for name, sql in (computed or {}).items()]
        added = await self.namespace.alter_table_add_columns(self._writing(new_columns=columns))
        self._changed(schema=True)
        return added

    async def alter_columns(self, *alterations: ColumnAlteration) -> AlterTableAlterColumnsResponse:
        """Rename columns, or change their type or nullability.

        Args:
            alterations: one dict per column, with its ``path`` and the changes: ``rename``,
                ``data_type`` (a ``pyarrow.DataType``) or ``nullable``.
        """
        changes = [alteration(each) for each in alterations]
        altered = await self.namespace.alter_table_alter_columns(self._writing(alterations=changes))
        self._changed(schema=True)
        return altered

    async def replace_field_metadata(
        self, field_name: str, new_metadata: Mapping[str, str]
    ) -> None:
        """Replace the metadata of a column in the table's schema.

        Args:
            field_name: path of the column.
            new_metadata: all entries of the metadata afterwards.
        """
        entry = {"path": field_name, "metadata": dict(new_metadata), "replace": True}
        await self.namespace.update_field_metadata(self._writing(updates=[entry]))
        self._changed(schema=True)

    async def update_field_metadata(self, *updates: FieldMetadata) -> None:
        """Change the metadata of columns in the table's schema.

        Args:
            updates: one dict per column, with its ``path``, the entries to set as ``metadata``, and
                optionally ``replace``, which removes all other entries.
        """
        await self.namespace.update_field_metadata(
            self._writing(updates=[dict(each) for each in updates])
        )
        self._changed(schema=True)

    async def drop_columns(self, columns: Iterable[str]) -> AlterTableDropColumnsResponse:
        """Remove columns; older versions of the table still have them.

        Args:
            columns: paths of the columns, with dots between the levels of nested fields.
        """
        names = [columns] if isinstance(columns, str) else list(columns)
        dropped = await self.namespace.alter_table_drop_columns(self._writing(columns=names))
        self._changed(schema=True)
        return dropped

    # --- versions

    async def list_versions(self) -> list[TableVersion]:
        """Return the stored versions, oldest first."""
        request = self._request()
        found = await _pages(
            self.namespace.list_table_versions, request, lambda page: page.versions
        )
        return sorted(found, key=lambda each: each.version)

    async def checkout(self, version: int | str) -> None:
        """Switch to another version; the table is then read-only until `checkout_latest` is called.

        Args:
            version: number or tag of the version.

        Raises:
            TableTagNotFoundError: the tag does not exist.
        """
        self._checked_out = await self._resolved(version)
        self._schema = None

    def checkout_latest(self) -> None:
        """Switch back to the latest version, which can be written."""
        self._checked_out = self._latest = self._schema = None

    async def restore(self, version: int | str | None = None) -> None:
        """Restore an older version as the new latest version, and switch to it.

        Args:
            version: number or tag of the version; defaults to the checked-out version.

        Raises:
            InvalidInputError: no version is specified or checked out.
            TableVersionNotFoundError: the version does not exist.
        """
        if version is not None:
            number, branch = await self._resolved(version)
        elif self._checked_out is not None:
            number, branch = self._checked_out
        else:
            raise InvalidInputError(f"restore {self}: specify a version, or check one out first")
        request = {"id": list(self.id), "branch": branch, "version": number}
        await self.namespace.restore_table(without_none(request))
        self.checkout_latest()

    async def _resolved(self, version: int | str) -> tuple[int, str | None]:
        if isinstance(version, int):
            return version, self._branch
        tag = await self.namespace.get_table_tag_version({"id": list(self.id), "tag": version})
        return tag.version, tag.branch

    @property
    def tags(self) -> AsyncTags:
        """The tags of the table. Only methods of the returned object contact the catalog."""
        return AsyncTags(self)

    @property
    def branches(self) -> AsyncBranches:
        """The branches of the table. Only methods of the returned object contact the catalog."""
        return AsyncBranches(self)

    def current_branch(self) -> str | None:
        """Return the current branch, or None for the main branch, without contacting the catalog."""
        return self._checked_out[1] if self._checked_out else self._branch

    # --- indices

    async def create_index(
        self,
        column: str | None = None,
        *,
        index_type: IndexType = "IVF_PQ",
        name: str | None = None,
        replace: bool = False,
        **options: Unpack[IndexOptions],
    ) -> None:
        """Build an index on a column.

        Args:
            column: the column; defaults to the only vector column.
            index_type: ``IVF_PQ``, ``IVF_FLAT``, ``IVF_HNSW_SQ`` … for vectors; ``BTREE``,
                ``BITMAP``, ``LABEL_LIST`` … for scalar values; ``FTS`` for text.
            name: name of the index; by default, it is derived from the column's name.
            replace: whether to drop an existing index with the name first. Searches in between find
                the same rows, but scan all of them.
            options: fields of `IndexOptions`, such as ``num_partitions`` or ``distance_type``.

        Raises:
            TableIndexAlreadyExistsError: an index with the name exists.
            InvalidInputError: `column` is omitted, and there are no or several vector columns.
        """
        if column is None:
            from ..tables.query import only_vector_column

            column = only_vector_column(await self.schema())
        request = self._writing(column=column, index_type=index_type, name=name, **options)
        is_vector = index_type.upper().startswith("IVF")
        build: Callable[[Mapping[str, Any]], Awaitable[object]] = (
            self.namespace.create_table_index
            if is_vector
            else self.namespace.create_table_scalar_index
        )
        try:
            await build(request)
        except TableIndexAlreadyExistsError:
            if not replace:
                raise
            existing = name or await self._index_of(column)
            await self.drop_index(existing)
            await build({**request, "name": existing})
        self._changed()

    async def _index_of(self, column: str) -> str:
        """Return the name of the index on a column."""
        return next(
            each.index_name for each in await self.list_indices() if each.columns == [column]
        )

    async def create_scalar_index(
        self,
        column: str,
        *,
        index_type: IndexType = "BTREE",
        name: str | None = None,
        replace: bool = False,
    ) -> None:
        """Build an index on a column of scalar values; see `create_index`."""
        await self.create_index(column, index_type=index_type, name=name, replace=replace)

    async def create_fts_index(
        self,
        column: str,
        *,
        name: str | None = None,
        replace: bool = False,
        **options: Unpack[IndexOptions],
    ) -> None:
        """Build a full-text index on a column of text; see `create_index`."""
        await self.create_index(column, index_type="FTS", name=name, replace=replace, **options)

    async def wait_for_index(
        self, index_names: Iterable[str], timeout: timedelta = timedelta(minutes=5)
    ) -> None:
        """Wait until indices exist and contain all rows.

        A server may build an index after it has answered the request; in process, an index is
        complete as soon as `create_index` returns.

        Args:
            index_names: names of the indices.
            timeout: maximum time to wait.

        Raises:
            TimeoutError: an index is still missing, or lacks rows.
        """
        names = list(index_names)
        end = time.monotonic() + timeout.total_seconds()
        while True:
            rows = {each.index_name: each.num_unindexed_rows for each in await self.list_indices()}
            missing = [name for name in names if rows.get(name, 1) not in (0, None)]
            if not missing:
                return
            if time.monotonic() >= end:
                raise TimeoutError(
                    f"table {self}: after {timeout}, these indices are missing or incomplete: "
                    f"{', '.join(missing)}"
                )
            await asyncio.sleep(min(0.5, max(0.0, end - time.monotonic())))

    async def list_indices(self) -> list[IndexContent]:
        """Return the indices, ordered by name."""
        request = self._reading()
        return await _pages(self.namespace.list_table_indices, request, lambda page: page.indexes)

    async def index_stats(self, index_name: str) -> DescribeTableIndexStatsResponse:
        """Return the type of an index, and how many rows are indexed and not indexed.

        Args:
            index_name: name of the index.

        Raises:
            TableIndexNotFoundError: the index does not exist.
        """
        return await self.namespace.describe_table_index_stats(self._reading(index_name=index_name))

    async def drop_index(self, name: str) -> None:
        """Remove an index."""
        await self.namespace.drop_table_index(self._writing(index_name=name))
        self._changed()

    async def optimize(
        self,
        *,
        cleanup_older_than: timedelta | None = None,
        delete_unverified: bool = False,
        retrain: bool = False,
    ) -> None:
        """Merge small files, add new rows to the indices and, if requested, delete old versions.

        The work is done in this process, directly on the table's storage.

        Args:
            cleanup_older_than: minimum age of the versions to delete; tagged versions are kept. By
                default, unlike in lancedb, all versions are kept.
            delete_unverified: whether to also delete files of failed or running writes that are
                less than 7 days old.
            retrain: whether to retrain the vector indices.
        """
        self._writing()
        dataset = await self.to_lance()
        try:
            await in_thread(
                optimize_dataset,
                dataset,
                f"optimize {self}",
                cleanup_older_than=cleanup_older_than,
                delete_unverified=delete_unverified,
                retrain=retrain,
            )
        finally:
            self._changed()

    # --- the table in the catalog

    async def rename(
        self, name: str, *, namespace: str | Sequence[str] | None = None
    ) -> AsyncTable:
        """Rename the table and return it under its new name.

        Args:
            name: the new name.
            namespace: the namespace to move the table to; defaults to its current namespace.
        """
        request: dict[str, Any] = {"id": list(self.id), "new_table_name": name}
        parent = self.id[:-1]
        if namespace is not None:
            parent = to_identifier(namespace)
            request["new_namespace_id"] = list(parent)
        await self.namespace.rename_table(request)
        return AsyncTable(self.namespace, (*parent, name), branch=self._branch)

    async def drop(self) -> None:
        """Drop the table and delete its data."""
        await self.namespace.drop_table({"id": list(self.id)})
        self.refresh()

    # ---

    def _key(self) -> tuple[object, ...]:
        return self.namespace.namespace_id(), self.id, self._branch

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AsyncTable):
            return NotImplemented
        return (self._key(), self._checked_out) == (other._key(), other._checked_out)

    def __hash__(self) -> int:
        return hash(self._key())

    def __bool__(self) -> bool:
        return True  # a condition must not contact the catalog to count rows

    def __dir__(self) -> list[str]:
        methods = (name for name in vars(AsyncTable) if not name.startswith("_"))
        return sorted(["id", "namespace", *methods])

    def __str__(self) -> str:
        return format_identifier(self.id, ".")

    def __repr__(self) -> str:
        version, branch = self._checked_out or (None, self._branch)
        chosen = "".join(
            f", {key}={value!r}"
            for key, value in (("version", version), ("branch", branch))
            if value is not None
        )
        return f"AsyncTable({str(self)!r}{chosen})"


class AsyncTags:
    """The tags of a table; a tag is a name for a version."""

    def __init__(self, table: AsyncTable) -> None:
        self._table = table

    def _request(self, **fields: object) -> dict[str, Any]:
        return {"id": list(self._table.id), **fields}

    async def list(self) -> dict[str, TagContents]:
        """Return the tags by name, each with its version and branch."""
        listing = self._table.namespace.list_table_tags
        return dict(await _pages(listing, self._request(), lambda page: page.tags.items()))

    async def get_version(self, tag: str) -> int:
        """Return the version that a tag references.

        Raises:
            TableTagNotFoundError: the tag does not exist.
        """
        return (await self._table.namespace.get_table_tag_version(self._request(tag=tag))).version

    async def create(self, tag: str, version: int) -> None:
        """Create a tag.

        Args:
            tag: name of the tag.
            version: number of the version, on the branch of the table object.

        Raises:
            TableTagAlreadyExistsError: the tag exists.
            TableVersionNotFoundError: the version does not exist.
        """
        await self._table.namespace.create_table_tag(self._table._request(tag=tag, version=version))

    async def update(self, tag: str, version: int) -> None:
        """Move a tag to another version.

        Args:
            tag: name of the tag.
            version: number of the version, on the branch of the table object.

        Raises:
            TableTagNotFoundError: the tag does not exist.
            TableVersionNotFoundError: the version does not exist.
        """
        await self._table.namespace.update_table_tag(self._table._request(tag=tag, version=version))

    async def delete(self, tag: str) -> None:
        """Delete a tag; the version is kept.

        Raises:
            TableTagNotFoundError: the tag does not exist.
        """
        await self._table.namespace.delete_table_tag(self._request(tag=tag))

    def __repr__(self) -> str:
        return f"AsyncTags({str(self._table)!r})"


class AsyncBranches:
    """The branches of a table; a branch is an independent sequence of versions."""

    def __init__(self, table: AsyncTable) -> None:
        self._table = table

    def _request(self, **fields: object) -> dict[str, Any]:
        return without_none({"id": list(self._table.id), **fields})

    async def list(self) -> dict[str, BranchContents]:
        """Return the branches by name, except the main branch."""
        listing = self._table.namespace.list_table_branches
        return dict(await _pages(listing, self._request(), lambda page: page.branches.items()))

    async def create(
        self, name: str, from_ref: str | None = None, from_version: int | None = None
    ) -> AsyncTable:
        """Create a branch and return the table on this branch.

        Args:
            name: name of the new branch.
            from_ref: branch to start from; defaults to the main branch.
            from_version: version to start from; defaults to the latest version of that branch.

        Raises:
            TableBranchAlreadyExistsError: the branch exists.
        """
        request = self._request(name=name, from_branch=from_ref, from_version=from_version)
        await self._table.namespace.create_table_branch(request)
        return self.checkout(name)

    def checkout(self, name: str, version: int | None = None) -> AsyncTable:
        """Return the table on a branch, without contacting the catalog.

        Args:
            name: name of the branch.
            version: version to check out; defaults to the latest, which is writable.
        """
        return AsyncTable(self._table.namespace, self._table.id, branch=name, version=version)

    async def delete(self, name: str) -> None:
        """Delete a branch and its versions.

        Raises:
            TableBranchNotFoundError: the branch does not exist.
        """
        await self._table.namespace.delete_table_branch(self._request(name=name))

    def __repr__(self) -> str:
        return f"AsyncBranches({str(self._table)!r})"


class _Page(Protocol):
    page_token: str | None


P = TypeVar("P", bound=_Page)
E = TypeVar("E")


async def _pages(
    listing: Callable[[dict[str, Any]], Awaitable[P]],
    request: Mapping[str, Any],
    entries: Callable[[P], Iterable[E]],
) -> list[E]:
    found: list[E] = []
    token: str | None = None
    while True:
        page = await listing(without_none({**request, "page_token": token}))
        found += entries(page)
        if not (token := page.page_token):
            return found
