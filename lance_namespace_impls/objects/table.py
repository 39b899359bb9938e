"""A table as a Python object: a short way to write the operations of one table.

Every method is one call of the namespace, in process or over REST, with the same errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from lance_namespace_client.errors import InvalidInputError, TableNotFoundError

from ..core.identifiers import format_identifier
from .html import as_html
from .search import Search
from .values import Value, fitting, literal

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from lance_namespace_client.arrow import ArrowData
    from lance_namespace_client.models import (
        DescribeTableResponse,
        GetTableStatsResponse,
        IndexContent,
        InsertIntoTableResponse,
        MergeInsertIntoTableResponse,
        TableVersion,
        TagContents,
    )
    from lance_namespace_client.namespace import LanceNamespace

    from ..core.identifiers import Identifier

__all__ = ["Table"]


class Table:
    """A table of a namespace, at its latest version or at one that was checked out.

    It is only a name until a method asks the namespace; `exists` says whether there is such a table.

    Args:
        namespace: where the table is.
        id: names from the root to the table.
        version: number of the version that is read; the latest unless given.
        branch: branch that is read and written; the main one unless given.
    """

    def __init__(
        self,
        namespace: LanceNamespace,
        id: Identifier,
        *,
        version: int | None = None,
        branch: str | None = None,
    ) -> None:
        if not id:
            raise InvalidInputError("a table needs a name: the root is a namespace")
        self.namespace = namespace
        self.id = id
        self.version = version
        self.branch = branch

    def _request(self, **fields: Any) -> dict[str, Any]:
        request = {"id": list(self.id), "branch": self.branch, **fields}
        return {key: value for key, value in request.items() if value is not None}

    def _reading(self, **fields: Any) -> dict[str, Any]:
        return self._request(version=self.version, **fields)

    def _writing(self, **fields: Any) -> dict[str, Any]:
        if self.version is not None:
            raise InvalidInputError(
                f"table {self} is checked out at version {self.version}, which is read-only; write "
                "to the latest one, or restore this one first"
            )
        return self._request(**fields)

    # --- what it is

    @property
    def name(self) -> str:
        """The table's own name."""
        return self.id[-1]

    def exists(self) -> bool:
        """Return whether the namespace has the table; one that is declared counts."""
        try:
            self.namespace.table_exists({"id": list(self.id)})
        except TableNotFoundError:
            return False
        return True

    def describe(self, *, details: bool = False) -> DescribeTableResponse:
        """Describe the table.

        Args:
            details: whether the dataset is opened for version, schema and counts.

        Raises:
            TableNotFoundError: code 4.
        """
        chosen = {"version": self.version, "branch": self.branch} if details else {}
        return self.namespace.describe_table(
            {"id": list(self.id), "load_detailed_metadata": details, **_given(chosen)}
        )

    @property
    def location(self) -> str:
        """Where the dataset is, as a URI."""
        return self.describe().location or ""

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties in the catalog."""
        return dict(self.describe().properties or {})

    @property
    def schema(self) -> pa.Schema:
        """The columns, as rows of the table come."""
        # No row fits; the answer's schema is exact, where a description in JSON is not.
        request = self._reading(filter="false", k=1)
        with self.namespace.query_table(request) as reader:
            return reader.schema

    def stats(self) -> GetTableStatsResponse:
        """Return rows, bytes, indices and fragments of the latest version."""
        return self.namespace.get_table_stats(self._request())

    # --- rows out

    def count(self, where: str | None = None) -> int:
        """Return the number of rows.

        Args:
            where: SQL condition on the rows; all unless given.
        """
        request = self._reading(predicate=where)
        return self.namespace.count_table_rows(request).count or 0

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        # Without it an empty table would be false, at the price of a call.
        return True

    def head(self, n: int = 5) -> pa.Table:
        """Return some first rows.

        Args:
            n: how many at most.
        """
        return self.search().limit(n).to_arrow() if n else self.schema.empty_table()

    def search(
        self,
        query: Any = None,
        *,
        text: str | None = None,
        column: str | None = None,
    ) -> Search:
        """Start a query: a scan, a vector search, a full-text search, or both at once.

        Args:
            query: a vector (list, tuple or numpy array; several of them for a multi-vector column),
                or words; a scan of all rows unless given.
            text: words, next to a vector: a hybrid search, in the order of reciprocal rank fusion.
            column: vector column to search, or the text column where there is no vector; may be
                left out where only one can be meant.

        Examples:
            >>> table.search([0.1, 0.2]).where("year > 2020").limit(3).to_pandas()  # doctest: +SKIP
        """
        return Search(self.namespace, self._reading(), query, text=text, column=column)

    def to_reader(self) -> pa.RecordBatchReader:
        """Return all rows, a record batch at a time as they are read."""
        return self.search().to_reader()

    def to_arrow(self) -> pa.Table:
        """Return all rows as a ``pyarrow.Table``."""
        return self.search().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return all rows as a ``pandas.DataFrame``."""
        return self.search().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return all rows as a ``polars.DataFrame``."""
        return self.search().to_polars()

    def to_lance(self) -> Any:
        """Open the table as a ``lance.LanceDataset``, on the storage itself."""
        from ..tables.dataset import open_through

        return open_through(self.namespace, self.id, self.version)

    # --- rows in

    def create(
        self,
        data: ArrowData,
        *,
        mode: Literal["create", "exist_ok", "overwrite"] = "create",
        properties: Mapping[str, str] | None = None,
    ) -> Self:
        """Create the table with rows and return it.

        Args:
            data: the rows, in any form that `add` takes.
            mode: what happens where the table exists: an error, nothing, or it is replaced.
            properties: properties for the catalog.

        Raises:
            TableAlreadyExistsError: code 5.
            NamespaceNotFoundError: code 1.
        """
        request = self._writing(mode=mode, properties=dict(properties) if properties else None)
        self.namespace.create_table(request, data)
        return self

    def add(
        self, data: ArrowData, *, mode: Literal["append", "overwrite"] = "append"
    ) -> InsertIntoTableResponse:
        """Add rows.

        Args:
            data: an Arrow table, reader or IPC stream; a pandas or polars frame, lazy too; a list
                of dicts; or a dict of columns, whose two-dimensional numpy arrays are vectors.
            mode: whether the rows there are stay.

        Raises:
            TableSchemaValidationError: code 20, the rows do not fit the table.
        """
        request = self._writing(mode=mode)
        return self.namespace.insert_into_table(
            request, fitting(data, lambda: self.schema, f"table {self}")
        )

    def merge(
        self,
        data: ArrowData,
        on: str | Sequence[str],
        *,
        update_matched: bool | str = True,
        insert_unmatched: bool = True,
        delete_missing: bool | str = False,
    ) -> MergeInsertIntoTableResponse:
        """Update the rows whose keys match and insert the others, in one commit.

        Args:
            data: the rows, in any form that `add` takes.
            on: key columns.
            update_matched: whether matched rows are updated, or the SQL condition for it.
            insert_unmatched: whether rows with new keys are inserted.
            delete_missing: whether rows of the table that `data` lacks are deleted, or the SQL
                condition for it.
        """
        request = self._writing(
            on=[on] if isinstance(on, str) else list(on),
            when_matched_update_all=bool(update_matched),
            when_matched_update_all_filt=_condition(update_matched),
            when_not_matched_insert_all=insert_unmatched,
            when_not_matched_by_source_delete=bool(delete_missing),
            when_not_matched_by_source_delete_filt=_condition(delete_missing),
        )
        return self.namespace.merge_insert_into_table(
            request, fitting(data, lambda: self.schema, f"table {self}")
        )

    def update(
        self,
        values: Mapping[str, Value] | None = None,
        *,
        where: str | None = None,
        sql: Mapping[str, str] | None = None,
    ) -> int:
        """Set columns and return how many rows were changed.

        Args:
            values: new values by column.
            where: SQL condition on the rows; all unless given.
            sql: SQL expressions by column, such as ``{"price": "price * 2"}``.
        """
        pairs = [[column, literal(value)] for column, value in (values or {}).items()]
        pairs += [[column, expression] for column, expression in (sql or {}).items()]
        request = self._writing(updates=pairs, predicate=where)
        return self.namespace.update_table(request).updated_rows or 0

    def delete(self, where: str) -> None:
        """Delete rows.

        Args:
            where: SQL condition on the rows; ``"true"`` deletes all.
        """
        self.namespace.delete_from_table(self._writing(predicate=where))

    # --- versions

    def versions(self) -> list[TableVersion]:
        """Return the versions that are kept, the oldest first."""
        return list(self._pages(self.namespace.list_table_versions, "versions"))

    def checkout(self, version: int | str) -> Table:
        """Return the table at one version, to read.

        Args:
            version: its number, or a tag.

        Raises:
            TableTagNotFoundError: code 8, there is no such tag.
        """
        if isinstance(version, str):
            tag = self.namespace.get_table_tag_version({"id": list(self.id), "tag": version})
            return Table(self.namespace, self.id, version=tag.version, branch=tag.branch)
        return Table(self.namespace, self.id, version=version, branch=self.branch)

    def restore(self, version: int | None = None) -> None:
        """Restore an older version as the latest, as a new version.

        Args:
            version: its number; the one that is checked out unless given.
        """
        wanted = self.version if version is None else version
        if wanted is None:
            raise InvalidInputError(f"restore {self}: say which version")
        self.namespace.restore_table(self._request(version=wanted))

    def tags(self) -> dict[str, TagContents]:
        """Return the tags and what they name."""
        found: dict[str, TagContents] = {}
        for page in self._answers(self.namespace.list_table_tags):
            found |= page.tags
        return found

    def tag(self, name: str, version: int | None = None) -> None:
        """Name a version; a tag of that name is moved.

        Args:
            name: the tag.
            version: number of the version; the one that is checked out, else the latest.
        """
        if (wanted := version or self.version) is None:
            latest = self.namespace.describe_table_version(self._request())
            wanted = latest.version.version
        request = self._request(tag=name, version=wanted)
        if name in self.tags():
            self.namespace.update_table_tag(request)
        else:
            self.namespace.create_table_tag(request)

    def untag(self, name: str) -> None:
        """Remove a tag; the version stays."""
        self.namespace.delete_table_tag({"id": list(self.id), "tag": name})

    # --- indices

    def create_index(self, column: str, type: str = "IVF_PQ", **options: Any) -> None:
        """Build an index.

        Args:
            column: the column.
            type: ``IVF_PQ``, ``IVF_FLAT``, ``IVF_HNSW_SQ`` ... for vectors; ``BTREE``, ``BITMAP``,
                ``LABEL_LIST`` for values; ``FTS`` for words.
            options: further fields of ``CreateTableIndexRequest``, such as ``name``,
                ``num_partitions`` or ``distance_type``.
        """
        request = self._writing(column=column, index_type=type, **options)
        if type.upper() in ("BTREE", "BITMAP", "LABEL_LIST", "FTS", "INVERTED"):
            self.namespace.create_table_scalar_index(request)
        else:
            self.namespace.create_table_index(request)

    def indices(self) -> list[IndexContent]:
        """Return the indices, in the order of their names."""
        return list(self._pages(self.namespace.list_table_indices, "indexes"))

    def drop_index(self, name: str) -> None:
        """Remove an index."""
        self.namespace.drop_table_index(self._writing(index_name=name))

    # --- its life

    def rename(self, name: str, *, namespace: Sequence[str] | None = None) -> Table:
        """Rename the table and return it under its new name.

        Args:
            name: the new name.
            namespace: where it goes; where it is unless given.
        """
        request: dict[str, Any] = {"id": list(self.id), "new_table_name": name}
        if namespace is not None:
            request["new_namespace_id"] = list(namespace)
        self.namespace.rename_table(request)
        parent = self.id[:-1] if namespace is None else tuple(namespace)
        return Table(self.namespace, (*parent, name), branch=self.branch)

    def drop(self) -> None:
        """Drop the table and delete its data."""
        self.namespace.drop_table({"id": list(self.id)})

    # ---

    def _answers(self, call: Any) -> Iterator[Any]:
        token: str | None = None
        while True:
            page = call(_given({"id": list(self.id), "page_token": token}))
            yield page
            if not (token := page.page_token):
                return

    def _pages(self, call: Any, field: str) -> Iterable[Any]:
        for page in self._answers(call):
            yield from getattr(page, field)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (self.namespace.namespace_id(), self.id, self.version, self.branch) == (
            other.namespace.namespace_id(),
            other.id,
            other.version,
            other.branch,
        )

    def __hash__(self) -> int:
        return hash((self.namespace.namespace_id(), self.id, self.version, self.branch))

    def __str__(self) -> str:
        return format_identifier(self.id, ".")

    def __repr__(self) -> str:
        chosen = "".join(
            f", {key}={value!r}"
            for key, value in (("version", self.version), ("branch", self.branch))
            if value is not None
        )
        return f"Table({str(self)!r}{chosen})"

    def _repr_html_(self) -> str:
        """Return columns and first rows as HTML, for notebooks."""
        from ..tables.schema import column_types

        columns = as_html(["column", "type"], column_types(self.schema).items(), str(self))
        return columns + self.search().limit(5)._repr_html_()


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _condition(wanted: bool | str) -> str | None:
    return wanted if isinstance(wanted, str) else None
