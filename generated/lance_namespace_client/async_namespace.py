# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The asynchronous interface of all namespaces, with one method per operation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

from . import operations
from ._async_rows import AsyncRows
from .model import Model

if TYPE_CHECKING:
    from . import models
    from ._operation import Operation
    from .arrow import AsyncArrowData
    from .model import RequestLike

__all__ = ["AsyncLanceNamespace", "AsyncRows"]

Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")


class AsyncLanceNamespace(ABC):
    """The asynchronous interface of a namespace: the operations of `LanceNamespace`, awaited.

    Requests and errors are the same. Rows are returned as `AsyncRows`, and may be passed as an
    asynchronous iterator of record batches.
    """

    @abstractmethod
    def namespace_id(self) -> str:
        """Return a string that identifies this namespace: its kind and its address."""

    @abstractmethod
    async def _call(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike | None,
    ) -> Response:
        """Make a call; rows are returned as `AsyncRows`."""

    @abstractmethod
    async def _call_with_rows(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike,
        data: AsyncArrowData,
    ) -> Response:
        """Make a call that sends rows."""

    async def create_namespace(
        self, request: models.CreateNamespaceRequest | RequestLike
    ) -> models.CreateNamespaceResponse:
        """Create a namespace.

        Creates a namespace under an existing parent, with the specified
        properties. The mode is `Create` (default), `ExistOk` or `Overwrite`, in
        upper or lower case: on a namespace that already exists, `Create`
        results in NamespaceAlreadyExists, `ExistOk` keeps it and returns its
        properties, and `Overwrite` replaces it with a new empty one.
        `Overwrite` of a namespace that is not empty results in
        NamespaceNotEmpty and changes nothing. A missing parent results in
        NamespaceNotFound, an unknown mode or an identifier with too many levels
        InvalidInput, and a concurrent change ConcurrentModification. No table
        data is read or written.

        Args:
            request: a `CreateNamespaceRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The current properties of the namespace and, if the catalog has
            transactions, a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            NamespaceAlreadyExistsError: code 2.
            NamespaceNotEmptyError: code 3.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateNamespace, ``POST /v1/namespace/{id}/create``.
        """
        return await self._call(operations.CREATE_NAMESPACE, request)

    async def list_namespaces(
        self, request: models.ListNamespacesRequest | RequestLike | None = None
    ) -> models.ListNamespacesResponse:
        """List the direct children of a namespace.

        Lists the namespaces directly below the specified one; the root is
        written as the delimiter alone. The response is paged: `limit` is the
        maximum size of a page, and `page_token` requests the next one. The
        pages contain each name once, in order. Only names are returned, not
        full identifiers. A missing parent results in NamespaceNotFound, and a
        page token from another listing InvalidInput. Data is not touched.

        Args:
            request: a `ListNamespacesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The names of the child namespaces on this page and, if more pages
            follow, a page token.

        Raises:
            NamespaceNotFoundError: code 1.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListNamespaces, ``GET /v1/namespace/{id}/list``.
        """
        return await self._call(operations.LIST_NAMESPACES, request)

    async def describe_namespace(
        self, request: models.DescribeNamespaceRequest | RequestLike
    ) -> models.DescribeNamespaceResponse:
        """Read the properties of a namespace.

        Looks up one namespace in the catalog and returns its properties. A
        namespace that does not exist results in NamespaceNotFound. Tables and
        data below it are not read.

        Args:
            request: a `DescribeNamespaceRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The properties of the namespace, as a map from strings to strings.

        Raises:
            NamespaceNotFoundError: code 1.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DescribeNamespace, ``POST /v1/namespace/{id}/describe``.
        """
        return await self._call(operations.DESCRIBE_NAMESPACE, request)

    async def drop_namespace(
        self, request: models.DropNamespaceRequest | RequestLike
    ) -> models.DropNamespaceResponse:
        """Drop a namespace.

        Removes a namespace from the catalog. The mode is `Fail` (default: a
        missing namespace results in NamespaceNotFound) or `Skip` (a missing one
        is a success). In an Iceberg REST catalog a missing namespace is a
        success in either mode, as the specification of that catalog requires.
        The behavior is `Restrict` (default: a namespace that contains any
        object, whether a Lance table or not, results in NamespaceNotEmpty and
        stays) or `Cascade`, which removes every child from the catalog as well.
        Data in storage is never deleted, not even with `Cascade`. An unknown
        mode or behavior results in InvalidInput, a concurrent change
        ConcurrentModification, and a behavior the catalog cannot offer
        Unsupported.

        Args:
            request: a `DropNamespaceRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The properties the dropped namespace had, and, if the catalog has
            transactions, a list of transaction ids.

        Raises:
            NamespaceNotFoundError: code 1.
            NamespaceNotEmptyError: code 3.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DropNamespace, ``POST /v1/namespace/{id}/drop``.
        """
        return await self._call(operations.DROP_NAMESPACE, request)

    async def namespace_exists(
        self, request: models.NamespaceExistsRequest | RequestLike
    ) -> models.NamespaceExistsResponse:
        """Check whether a namespace exists.

        Reports whether the namespace is in the catalog, only by the status:
        success if it is, otherwise NamespaceNotFound. Nothing below the
        namespace is examined, and no data is read.

        Args:
            request: a `NamespaceExistsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            No content; status 200 means that the namespace exists.

        Raises:
            NamespaceNotFoundError: code 1.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: NamespaceExists, ``POST /v1/namespace/{id}/exists``.
        """
        return await self._call(operations.NAMESPACE_EXISTS, request)

    async def list_tables(
        self, request: models.ListTablesRequest | RequestLike | None = None
    ) -> models.ListTablesResponse:
        """List the tables of a namespace.

        Lists the Lance tables directly in the specified namespace, page by
        page, by name. With `include_declared=false`, tables that the catalog
        knows but whose storage contains no dataset are omitted, which requires
        the server to examine each table's storage; the default, true, lists all
        of them. A namespace that exists at a level that cannot contain tables
        has an empty list, and a missing namespace results in NamespaceNotFound.
        A table that is removed while the page is created is omitted, but any
        other failure to examine a table fails the whole listing. A page token
        from another listing results in InvalidInput.

        Args:
            request: a `ListTablesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The names of the tables on this page and, if more pages follow, a
            page token.

        Raises:
            NamespaceNotFoundError: code 1.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListTables, ``GET /v1/namespace/{id}/table/list``.
        """
        return await self._call(operations.LIST_TABLES, request)

    async def list_all_tables(
        self, request: models.ListTablesRequest | RequestLike | None = None
    ) -> models.ListTablesResponse:
        """List the tables of every namespace.

        Lists all Lance tables that the server can access, in all namespaces,
        page by page. Each entry is a full string identifier, its levels joined
        by the delimiter. With `include_declared=false`, tables whose storage
        contains no dataset are omitted, which requires examining each table's
        storage. A page token from another listing results in InvalidInput, and
        a catalog that cannot list its root results in Unsupported. Rows are not
        read.

        Args:
            request: a `ListTablesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The full string identifiers of the tables on this page and, if more
            pages follow, a page token.

        Raises:
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListAllTables, ``GET /v1/table``.
        """
        return await self._call(operations.LIST_ALL_TABLES, request)

    async def register_table(
        self, request: models.RegisterTableRequest | RequestLike
    ) -> models.RegisterTableResponse:
        """Register an existing dataset as a table.

        Adds an entry to the catalog for a dataset that already exists at the
        specified location. The mode is `Create` (default: a table with that
        name results in TableAlreadyExists) or `Overwrite`, which replaces the
        existing catalog entry. A missing parent namespace results in
        NamespaceNotFound, an unknown mode or a bad location InvalidInput, and a
        concurrent change ConcurrentModification. Only the catalog changes: data
        is neither copied nor deleted, including that of a replaced entry.

        Args:
            request: a `RegisterTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The location and properties of the registered table and, if the
            catalog has transactions, a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableAlreadyExistsError: code 5.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: RegisterTable, ``POST /v1/table/{id}/register``.
        """
        return await self._call(operations.REGISTER_TABLE, request)

    async def describe_table(
        self, request: models.DescribeTableRequest | RequestLike
    ) -> models.DescribeTableResponse:
        """Read a table's location and metadata.

        Looks up one table and returns its location, its storage options and its
        properties. At most one of version, tag and branch may be set, otherwise
        the result is InvalidInput; a version, tag or branch that does not exist
        results in TableVersionNotFound. With `load_detailed_metadata=true` the
        dataset is opened and its version, schema, stats and metadata are filled
        in; with `check_declared=true` the storage is examined and
        `is_only_declared` is filled in; `with_table_uri=true` adds the full URI
        of the table. Storage options may contain temporary credentials, in
        which case they include `expires_at_millis`, a time in milliseconds
        since 1970-01-01 UTC. A table that does not exist, or whose parent
        namespace is missing, results in TableNotFound; rows are never read.

        Args:
            request: a `DescribeTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The table's location, storage options and properties, and the
            details that the flags request.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableVersionNotFoundError: code 11.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DescribeTable, ``POST /v1/table/{id}/describe``.
        """
        return await self._call(operations.DESCRIBE_TABLE, request)

    async def table_exists(
        self, request: models.TableExistsRequest | RequestLike
    ) -> models.TableExistsResponse:
        """Check whether a table exists.

        Reports whether the table is in the catalog, only by the status: success
        if it is, and TableNotFound if the table, its parent namespace or the
        requested version is missing. A declared table without a dataset also
        exists. Rows are not read.

        Args:
            request: a `TableExistsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            No content; status 200 means that the table exists.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: TableExists, ``POST /v1/table/{id}/exists``.
        """
        return await self._call(operations.TABLE_EXISTS, request)

    async def drop_table(
        self, request: models.DropTableRequest | RequestLike
    ) -> models.DropTableResponse:
        """Drop a table and delete its data.

        Removes the table from the catalog and deletes its data in storage,
        including all versions, indexes, tags and branches; this cannot be
        undone. To remove only the catalog entry, use DeregisterTable. A table
        that does not exist, or whose parent namespace is missing, results in
        TableNotFound, and so does repeating a call that succeeded. An object
        with that name that is not a Lance table is rejected and kept.

        Args:
            request: a `DropTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The identifier, former location and properties of the dropped table
            and, if the catalog has transactions, a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DropTable, ``POST /v1/table/{id}/drop``.
        """
        return await self._call(operations.DROP_TABLE, request)

    async def deregister_table(
        self, request: models.DeregisterTableRequest | RequestLike
    ) -> models.DeregisterTableResponse:
        """Remove a table from the catalog and keep its data.

        Removes the table's entry from the catalog; its data is kept in storage
        unchanged and can be registered again from the location in the response.
        A table that does not exist, or whose parent namespace is missing,
        results in TableNotFound, and so does repeating a call that succeeded.
        An entry that is not a Lance table is rejected and kept.

        Args:
            request: a `DeregisterTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The identifier, location and properties the table had and, if the
            catalog has transactions, a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DeregisterTable, ``POST /v1/table/{id}/deregister``.
        """
        return await self._call(operations.DEREGISTER_TABLE, request)

    async def restore_table(
        self, request: models.RestoreTableRequest | RequestLike
    ) -> models.RestoreTableResponse:
        """Restore a table to an earlier version.

        Restores the content of an earlier version by committing a new version
        with that content; the versions in between are kept. The version is an
        integer starting at 1, and `branch`, if specified, names the branch that
        is restored. A version that does not exist, or was cleaned up, results
        in TableVersionNotFound, a missing table TableNotFound, and a concurrent
        commit ConcurrentModification. Only a manifest is written; data files
        are reused.

        Args:
            request: a `RestoreTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id, if the catalog has transactions.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableVersionNotFoundError: code 11.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: RestoreTable, ``POST /v1/table/{id}/restore``.
        """
        return await self._call(operations.RESTORE_TABLE, request)

    async def rename_table(
        self, request: models.RenameTableRequest | RequestLike
    ) -> models.RenameTableResponse:
        """Rename a table or move it to another namespace.

        Renames the table to `new_table_name`, in the namespace
        `new_namespace_id` if specified and in its own otherwise. A name that is
        already in use results in TableAlreadyExists and changes nothing, a
        missing table TableNotFound, a missing target namespace
        NamespaceNotFound, and a concurrent change ConcurrentModification. A
        catalog that cannot rename results in Unsupported. The rows, versions,
        schema and properties of the table are unchanged.

        Args:
            request: a `RenameTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id, if the catalog has transactions.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableAlreadyExistsError: code 5.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: RenameTable, ``POST /v1/table/{id}/rename``.
        """
        return await self._call(operations.RENAME_TABLE, request)

    async def update_table_schema_metadata(
        self, request: models.UpdateTableSchemaMetadataRequest | RequestLike
    ) -> models.UpdateTableSchemaMetadataResponse:
        """Set key-value pairs in the schema metadata.

        Adds the specified pairs to the metadata of the table's schema,
        replacing those with the same keys, and commits that as a new version;
        other pairs are kept. The body is a bare map of strings to strings. The
        parameter `branch` selects a branch other than the main one. A missing
        table results in TableNotFound, a body that is not such a map
        InvalidInput, and a concurrent commit ConcurrentModification. Only a
        manifest is written; rows are unchanged; for the table's properties in
        the catalog, see AlterTable.

        Args:
            request: an `UpdateTableSchemaMetadataRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            A bare map of strings to strings: the schema metadata after the
            change.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: UpdateTableSchemaMetadata, ``POST
        /v1/table/{id}/schema_metadata/update``.
        """
        return await self._call(operations.UPDATE_TABLE_SCHEMA_METADATA, request)

    async def list_table_versions(
        self, request: models.ListTableVersionsRequest | RequestLike
    ) -> models.ListTableVersionsResponse:
        """List the versions of a table.

        Lists the versions that a table still has, page by page; a version is an
        integer starting at 1. They come newest first with `descending=true`,
        and otherwise in an order of the server's choice, with this project the
        oldest first; `branch` selects a branch other than the main one.
        Versions that were cleaned up do not occur. A missing table results in
        TableNotFound, and a page token from another listing InvalidInput. Only
        manifests are read, not rows.

        Args:
            request: a `ListTableVersionsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The versions on this page, each with its manifest path and other
            known details and, if more pages follow, a page token.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListTableVersions, ``POST /v1/table/{id}/version/list``.
        """
        return await self._call(operations.LIST_TABLE_VERSIONS, request)

    async def create_table_version(
        self, request: models.CreateTableVersionRequest | RequestLike
    ) -> models.CreateTableVersionResponse:
        """Commit a manifest as a new table version.

        Commits a manifest staged by the caller as the next version of the
        table, for tables whose latest version the catalog manages. The request
        contains the version number, the manifest's path and, if known, its size
        in bytes, its e-tag and its naming scheme; `branch` selects a branch
        other than the main one. A version number that another client committed
        first results in ConcurrentModification, and a missing table
        TableNotFound. A server that manages tables only in storage
        (`managed_versioning` is false) results in Unsupported. Data files are
        not touched.

        Args:
            request: a `CreateTableVersionRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version that was committed and, if the catalog has transactions,
            a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateTableVersion, ``POST /v1/table/{id}/version/create``.
        """
        return await self._call(operations.CREATE_TABLE_VERSION, request)

    async def describe_table_version(
        self, request: models.DescribeTableVersionRequest | RequestLike
    ) -> models.DescribeTableVersionResponse:
        """Read one version of a table.

        Looks up one version of a table and returns the path of its manifest and
        other known details. The version is an integer starting at 1; `branch`
        selects a branch other than the main one. A version that does not exist,
        or was cleaned up, results in TableVersionNotFound, a missing table
        TableNotFound. Only manifests are read, not rows.

        Args:
            request: a `DescribeTableVersionRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version: its number, manifest path and, where known, manifest
            size in bytes, e-tag, time in milliseconds since 1970-01-01 UTC and
            metadata.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableVersionNotFoundError: code 11.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DescribeTableVersion, ``POST /v1/table/{id}/version/describe``.
        """
        return await self._call(operations.DESCRIBE_TABLE_VERSION, request)

    async def batch_delete_table_versions(
        self, request: models.BatchDeleteTableVersionsRequest | RequestLike
    ) -> models.BatchDeleteTableVersionsResponse:
        """Delete ranges of a table's versions.

        Deletes every version of the table in the specified ranges; each range
        includes its `start_version` but not its `end_version`. The field
        `branch` selects a branch other than the main one. A deleted version can
        no longer be read or restored. A missing table results in TableNotFound,
        an empty range or one that includes the latest version possibly in
        InvalidInput, a range that includes a version that a tag references or
        from which another branch starts in InvalidTableState, and a server that
        cannot delete single versions Unsupported.

        Args:
            request: a `BatchDeleteTableVersionsRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            How many versions were deleted and, if the catalog has transactions,
            a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: BatchDeleteTableVersions, ``POST
        /v1/table/{id}/version/delete``.
        """
        return await self._call(operations.BATCH_DELETE_TABLE_VERSIONS, request)

    async def batch_create_table_versions(
        self, request: models.BatchCreateTableVersionsRequest | RequestLike
    ) -> models.BatchCreateTableVersionsResponse:
        """Commit new versions of several tables in one request.

        Like CreateTableVersion, but for several tables atomically: each entry
        names a table, a version number and a staged manifest, and all entries
        are committed or none. A version number that another client committed
        first results in ConcurrentModification and nothing is committed; a
        missing table results in TableNotFound. A server that manages tables
        only in storage results in Unsupported. Data files are not touched.

        Args:
            request: a `BatchCreateTableVersionsRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The versions that were committed and, if the catalog has
            transactions, a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: BatchCreateTableVersions, ``POST
        /v1/table/version/batch-create``.
        """
        return await self._call(operations.BATCH_CREATE_TABLE_VERSIONS, request)

    async def batch_commit_tables(
        self, request: models.BatchCommitTablesRequest | RequestLike
    ) -> models.BatchCommitTablesResponse:
        """Commit several table operations in one request.

        Executes a list of operations on one or more tables atomically; each
        entry contains exactly one of a declaration, a new version, a deletion
        of versions or a deregistration. The operations take effect together or
        not at all. A missing namespace results in NamespaceNotFound, a missing
        table TableNotFound, a concurrent change ConcurrentModification, and an
        entry with no operation or several InvalidInput. A server that manages
        tables only in storage results in Unsupported.

        Args:
            request: a `BatchCommitTablesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            One result for each operation and, if the catalog has transactions,
            a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: BatchCommitTables, ``POST /v1/table/batch-commit``.
        """
        return await self._call(operations.BATCH_COMMIT_TABLES, request)

    async def alter_table_alter_columns(
        self, request: models.AlterTableAlterColumnsRequest | RequestLike
    ) -> models.AlterTableAlterColumnsResponse:
        """Change the name, type or nullability of columns.

        Changes existing columns and commits that as a new version; each
        alteration names a column by its path and specifies a new name, a new
        data type, a new nullability or a new virtual column definition. A
        rename or a change of nullability writes only a manifest, a new data
        type rewrites that column's data. A path that is not in the schema
        results in TableColumnNotFound, a change that the column's data or the
        schema does not allow TableSchemaValidationError, and a concurrent
        commit ConcurrentModification. A missing table results in TableNotFound.

        Args:
            request: an `AlterTableAlterColumnsRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The version of the table that contains the change, an integer
            starting at 1.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            ConcurrentModificationError: code 14.
            TableSchemaValidationError: code 20.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: AlterTableAlterColumns, ``POST /v1/table/{id}/alter_columns``.
        """
        return await self._call(operations.ALTER_TABLE_ALTER_COLUMNS, request)

    async def update_field_metadata(
        self, request: models.UpdateFieldMetadataRequest | RequestLike
    ) -> models.UpdateFieldMetadataResponse:
        """Change the metadata of individual columns.

        Changes the metadata of individual columns in the schema and commits
        that as a new version. Each update specifies a column by its path and
        specifies pairs to set; a null value removes that key, and
        `replace=true` removes the existing pairs. A path that is not in the
        schema results in TableColumnNotFound, a missing table TableNotFound,
        and a concurrent commit ConcurrentModification. Only a manifest is
        written; rows are unchanged.

        Args:
            request: an `UpdateFieldMetadataRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version of the table that contains the change, and the metadata
            of the changed columns by path.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: UpdateFieldMetadata, ``POST
        /v1/table/{id}/update_field_metadata``.
        """
        return await self._call(operations.UPDATE_FIELD_METADATA, request)

    async def alter_table_drop_columns(
        self, request: models.AlterTableDropColumnsRequest | RequestLike
    ) -> models.AlterTableDropColumnsResponse:
        """Drop columns from a table.

        Removes the specified columns from the table's schema and commits that
        as a new version. A column that does not exist results in
        TableColumnNotFound and nothing is dropped; a missing table results in
        TableNotFound, and a concurrent commit ConcurrentModification. Only a
        manifest is written: earlier versions keep the columns, and their data
        remains in storage until those versions are cleaned up and the files are
        rewritten.

        Args:
            request: an `AlterTableDropColumnsRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The version of the table without the columns and, if the catalog has
            transactions, a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: AlterTableDropColumns, ``POST /v1/table/{id}/drop_columns``.
        """
        return await self._call(operations.ALTER_TABLE_DROP_COLUMNS, request)

    async def get_table_stats(
        self, request: models.GetTableStatsRequest | RequestLike
    ) -> models.GetTableStatsResponse:
        """Read the size and fragment statistics of a table.

        Returns the size of the table and the distribution of its rows over
        fragments, for the current version of the main branch or of the branch
        named in the request. Sizes are in bytes, lengths of fragments in rows.
        A missing table results in TableNotFound. The dataset is opened for its
        metadata, rows are not read.

        Args:
            request: a `GetTableStatsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The total bytes, the numbers of rows and indexes, and the number of
            fragments with a summary of their lengths.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: GetTableStats, ``POST /v1/table/{id}/stats``.
        """
        return await self._call(operations.GET_TABLE_STATS, request)

    async def insert_into_table(
        self, request: models.InsertIntoTableRequest | RequestLike, data: AsyncArrowData
    ) -> models.InsertIntoTableResponse:
        """Insert rows into a table.

        Writes the rows of the Arrow IPC stream in the body into the table and
        commits them as a new version. The mode is `append` (default) or
        `overwrite`, in upper or lower case: `overwrite` makes the new rows the
        whole content, while earlier versions stay readable. Columns are matched
        by name, in any order. A table that is declared and has no data yet is
        created with the rows. The parameter `branch` selects a branch other
        than the main one. A stream whose schema does not match the table
        results in TableSchemaValidationError, a body that is not such a stream
        or an unknown mode InvalidInput, a table in a state that does not allow
        writes InvalidTableState, a missing one TableNotFound, and a concurrent
        commit that cannot be reconciled ConcurrentModification. Repeating an
        append after an unknown outcome may insert the rows twice.

        Args:
            request: an `InsertIntoTableRequest`, a dict, or an object with
                ``model_dump()``.
            data: the rows, as a pyarrow reader, table or batch, an Arrow IPC
                stream, or an asynchronous iterator of record batches.

        Returns:
            The number of rows inserted, the version that contains them and, if
            the catalog has transactions, a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            InvalidTableStateError: code 19.
            TableSchemaValidationError: code 20.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: InsertIntoTable, ``POST /v1/table/{id}/insert``.
        """
        return await self._call_with_rows(operations.INSERT_INTO_TABLE, request, data)

    async def merge_insert_into_table(
        self,
        request: models.MergeInsertIntoTableRequest | RequestLike,
        data: AsyncArrowData,
    ) -> models.MergeInsertIntoTableResponse:
        """Merge rows into a table by a key column.

        Matches the rows of the Arrow IPC stream in the body with the table's
        rows by the column named in `on`, and commits the result as one new
        version. The flags specify the actions: `when_matched_update_all`
        updates rows found on both sides, `when_not_matched_insert_all` inserts
        those only in the stream, and `when_not_matched_by_source_delete`
        deletes those only in the table; the two filters restrict the update and
        the deletion. A table that is declared and has no data yet is created
        with all rows. A key column that is not in the table results in
        TableColumnNotFound, a body or filter that cannot be read, or columns
        that do not match the table, InvalidInput, and a table in a state that
        does not allow writes InvalidTableState. A missing table results in
        TableNotFound, and a concurrent commit that cannot be reconciled
        ConcurrentModification; `timeout` limits how long the server retries.

        Args:
            request: a `MergeInsertIntoTableRequest`, a dict, or an object with
                ``model_dump()``.
            data: the rows, as a pyarrow reader, table or batch, an Arrow IPC
                stream, or an asynchronous iterator of record batches.

        Returns:
            The numbers of updated, inserted and deleted rows, the version that
            contains them and, if the catalog has transactions, a transaction
            id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            ConcurrentModificationError: code 14.
            InvalidTableStateError: code 19.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: MergeInsertIntoTable, ``POST /v1/table/{id}/merge_insert``.
        """
        return await self._call_with_rows(
            operations.MERGE_INSERT_INTO_TABLE, request, data
        )

    async def update_table(
        self, request: models.UpdateTableRequest | RequestLike
    ) -> models.UpdateTableResponse:
        """Update columns of the rows that match a predicate.

        Sets columns to new values in every row that the predicate selects, or
        in all rows if there is none, and commits that as a new version. Each
        update is a column name and an SQL expression, which may use the row's
        old values. A column that does not exist results in TableColumnNotFound,
        a predicate or expression that cannot be read InvalidInput, a missing
        table TableNotFound, a table in a state that does not allow writes
        InvalidTableState, and a concurrent commit that cannot be reconciled
        ConcurrentModification. Changed rows are rewritten; earlier versions
        keep the old values.

        Args:
            request: an `UpdateTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The number of rows updated, the version that contains the change,
            its properties and, if the catalog has transactions, a transaction
            id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            ConcurrentModificationError: code 14.
            InvalidTableStateError: code 19.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: UpdateTable, ``POST /v1/table/{id}/update``.
        """
        return await self._call(operations.UPDATE_TABLE, request)

    async def delete_from_table(
        self, request: models.DeleteFromTableRequest | RequestLike
    ) -> models.DeleteFromTableResponse:
        """Delete the rows that match a predicate.

        Deletes every row that the SQL predicate selects and commits that as a
        new version; the predicate is required. A predicate that cannot be read
        results in InvalidInput, a column that does not exist in
        TableColumnNotFound, a missing table TableNotFound, a table in a state
        that does not allow writes InvalidTableState, and a concurrent commit
        that cannot be reconciled ConcurrentModification. Rows are marked as
        deleted, so earlier versions still contain them until they are cleaned
        up.

        Args:
            request: a `DeleteFromTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version without the rows and, if the catalog has transactions, a
            transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            ConcurrentModificationError: code 14.
            InvalidTableStateError: code 19.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DeleteFromTable, ``POST /v1/table/{id}/delete``.
        """
        return await self._call(operations.DELETE_FROM_TABLE, request)

    async def query_table(
        self, request: models.QueryTableRequest | RequestLike
    ) -> AsyncRows:
        """Query a table by vector, full text or filter.

        Returns up to `k` rows of a table: the nearest to one or several
        vectors, those that match a full-text query, or, when the vector is
        null, those that the SQL filter selects, in the order in which they were
        written. Columns to return, offset, distance bounds, prefiltering and
        index settings are optional, and `with_row_id` adds the row id;
        `version` and `branch` choose what is read. A version that does not
        exist results in TableVersionNotFound, an unknown column
        TableColumnNotFound, a missing table TableNotFound, and a filter, vector
        or setting that cannot be used InvalidInput. The table is only read.

        Args:
            request: a `QueryTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The selected rows as an Arrow IPC file. They arrive as `AsyncRows`,
            one batch at a time.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableVersionNotFoundError: code 11.
            TableColumnNotFoundError: code 12.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: QueryTable, ``POST /v1/table/{id}/query``.
        """
        return await self._call(operations.QUERY_TABLE, request)

    async def count_table_rows(
        self, request: models.CountTableRowsRequest | RequestLike
    ) -> models.CountTableRowsResponse:
        """Count the rows of a table.

        Counts the rows of a table, all of them or only those that the SQL
        predicate selects; `version` and `branch` choose what is counted.
        Without a predicate, only metadata is read; with a predicate, rows are
        read. A version that does not exist results in TableVersionNotFound, a
        missing table TableNotFound, a column that does not exist in
        TableColumnNotFound, and a predicate that cannot be read InvalidInput.

        Args:
            request: a `CountTableRowsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The bare number of rows, a non-negative 64-bit integer, not wrapped
            in an object.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableVersionNotFoundError: code 11.
            TableColumnNotFoundError: code 12.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CountTableRows, ``POST /v1/table/{id}/count_rows``.
        """
        return await self._call(operations.COUNT_TABLE_ROWS, request)

    async def create_table(
        self, request: models.CreateTableRequest | RequestLike, data: AsyncArrowData
    ) -> models.CreateTableResponse:
        """Create a table from an Arrow stream.

        Creates a table in the catalog and writes the rows of the Arrow IPC
        stream in the body as its first version; a stream with a schema and no
        rows creates an empty table. The mode is `Create` (default: an existing
        table results in TableAlreadyExists), `ExistOk` (the existing table and
        its properties are kept, and the stream is not read) or `Overwrite`
        (rows, schema and properties are replaced by the new ones, atomically if
        the catalog supports it; older versions of the data may be kept), in
        upper or lower case. If the table is declared and has no data yet, the
        rows become its data in every mode. The location is the catalog's
        default; the header `x-lance-table-location` may specify it, and a
        location at which the catalog cannot store the table results in
        InvalidInput. Properties are sent as JSON text in the query or in the
        header `x-lance-table-properties`. A missing parent namespace results in
        NamespaceNotFound, a schema that Lance cannot store
        TableSchemaValidationError, a body that is not such a stream, an unknown
        mode or a missing location InvalidInput, and a concurrent change
        ConcurrentModification.

        Args:
            request: a `CreateTableRequest`, a dict, or an object with
                ``model_dump()``.
            data: the rows, as a pyarrow reader, table or batch, an Arrow IPC
                stream, or an asynchronous iterator of record batches.

        Returns:
            The table's location, version, storage options and properties and,
            if the catalog has transactions, a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableAlreadyExistsError: code 5.
            ConcurrentModificationError: code 14.
            TableSchemaValidationError: code 20.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateTable, ``POST /v1/table/{id}/create``.
        """
        return await self._call_with_rows(operations.CREATE_TABLE, request, data)

    async def explain_table_query_plan(
        self, request: models.ExplainTableQueryPlanRequest | RequestLike
    ) -> models.ExplainTableQueryPlanResponse:
        """Explain how a query would be run.

        Returns the plan that the server would use for the query in the request,
        without running it; `verbose=true` gives more detail. The query has the
        fields of QueryTable, and `branch` selects a branch other than the main
        one. A missing table results in TableNotFound, a column that does not
        exist in TableColumnNotFound, and a query that cannot be planned
        InvalidInput. Only metadata is read.

        Args:
            request: an `ExplainTableQueryPlanRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The plan as a bare JSON string for human readers, without a fixed
            format.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ExplainTableQueryPlan, ``POST /v1/table/{id}/explain_plan``.
        """
        return await self._call(operations.EXPLAIN_TABLE_QUERY_PLAN, request)

    async def analyze_table_query_plan(
        self, request: models.AnalyzeTableQueryPlanRequest | RequestLike
    ) -> models.AnalyzeTableQueryPlanResponse:
        """Run a query and report its cost.

        Runs the query and returns its plan with the metrics of each step, such
        as row counts and durations, instead of the rows. The request has the
        fields of QueryTable. A missing table results in TableNotFound, a column
        that does not exist in TableColumnNotFound, and a query that cannot be
        planned InvalidInput. The table is read as by the query itself and never
        changed; the measurements differ from run to run.

        Args:
            request: an `AnalyzeTableQueryPlanRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The plan with its measurements as a bare JSON string for human
            readers, without a fixed format.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: AnalyzeTableQueryPlan, ``POST /v1/table/{id}/analyze_plan``.
        """
        return await self._call(operations.ANALYZE_TABLE_QUERY_PLAN, request)

    async def alter_table_add_columns(
        self, request: models.AlterTableAddColumnsRequest | RequestLike
    ) -> models.AlterTableAddColumnsResponse:
        """Add columns to a table.

        Adds columns and commits that as a new version; each new column has a
        name and a source of values: an SQL expression over the existing
        columns, a computed column, or a virtual column that a user-defined
        function fills. A name that is already in use, or a definition that does
        not match the schema, results in TableSchemaValidationError, and an
        expression that cannot be read InvalidInput. A missing table results in
        TableNotFound, an unknown column in the expression in
        TableColumnNotFound, and a concurrent commit ConcurrentModification; a
        kind of column that the server does not support results in Unsupported.
        Values of an expression are written for all rows, while existing columns
        are not rewritten.

        Args:
            request: an `AlterTableAddColumnsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version of the table that has the columns, an integer starting
            at 1.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            ConcurrentModificationError: code 14.
            TableSchemaValidationError: code 20.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: AlterTableAddColumns, ``POST /v1/table/{id}/add_columns``.
        """
        return await self._call(operations.ALTER_TABLE_ADD_COLUMNS, request)

    async def alter_table_backfill_columns(
        self, request: models.AlterTableBackfillColumnsRequest | RequestLike
    ) -> models.AlterTableBackfillColumnsResponse:
        """Start a job that fills a computed column.

        Starts a job that computes the values of one column for the rows that
        lack them, or only for the rows that the filter `where` selects; the
        call returns before the job is done. Concurrency, checkpoint sizes, task
        size, the number of fragments and the cluster to use may be set, as may
        the version to read; the flush interval is in seconds. A missing table
        results in TableNotFound, an unusable setting InvalidInput, a concurrent
        change ConcurrentModification, and a server without such jobs
        Unsupported. The job writes data; a repeated call may start a second
        one.

        Args:
            request: an `AlterTableBackfillColumnsRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The id of the job that was started.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: AlterTableBackfillColumns, ``POST
        /v1/table/{id}/backfill_column``.
        """
        return await self._call(operations.ALTER_TABLE_BACKFILL_COLUMNS, request)

    async def refresh_materialized_view(
        self, request: models.RefreshMaterializedViewRequest | RequestLike
    ) -> models.RefreshMaterializedViewResponse:
        """Start a job that refreshes a materialized view.

        Starts a job that updates a materialized view to the current version of
        its source, or to `src_version` if specified; the call returns before
        the job is done. Concurrency, task size, rows per fragment, the cluster
        and a cap on the output may be set. A missing view results in
        TableNotFound, an unusable setting InvalidInput, a concurrent change
        ConcurrentModification, and a server without materialized views
        Unsupported. The job writes data of the view and only reads its source.

        Args:
            request: a `RefreshMaterializedViewRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The id of the job that was started.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: RefreshMaterializedView, ``POST
        /v1/materialized_view/{id}/refresh``.
        """
        return await self._call(operations.REFRESH_MATERIALIZED_VIEW, request)

    async def create_materialized_view(
        self, request: models.CreateMaterializedViewRequest | RequestLike
    ) -> models.CreateMaterializedViewResponse:
        """Create a materialized view.

        Creates a table whose rows are derived from other tables by the
        specified source query; the kind is `query`, `udtf` (a table function)
        or `chunker`, and the last two need `udtf_spec`. With
        `with_no_data=true` (default) only the definition is stored, otherwise a
        job that fills the view is also started; `auto_refresh` asks the server
        to keep it up to date. A missing parent namespace results in
        NamespaceNotFound, a missing source table TableNotFound, a definition
        that cannot be used InvalidInput, a concurrent change
        ConcurrentModification, and a server without materialized views
        Unsupported. Source tables are only read.

        Args:
            request: a `CreateMaterializedViewRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The first version of the view, and the id of the job that fills it
            if one was started.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateMaterializedView, ``POST
        /v1/materialized_view/{id}/create``.
        """
        return await self._call(operations.CREATE_MATERIALIZED_VIEW, request)

    async def create_table_index(
        self, request: models.CreateTableIndexRequest | RequestLike
    ) -> models.CreateTableIndexResponse:
        """Create an index on a column.

        Builds a vector, full-text or scalar index of type `index_type` on one
        column; name, distance type and the settings of that type are optional.
        An index with that name results in TableIndexAlreadyExists, an unknown
        column TableColumnNotFound, and an index type or setting that does not
        match the column InvalidInput. A missing table results in TableNotFound,
        and a concurrent commit ConcurrentModification. The column is read and
        index files are written; rows are unchanged; ListTableIndices reports
        the progress of the index.

        Args:
            request: a `CreateTableIndexRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id, if the catalog has transactions.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableIndexAlreadyExistsError: code 7.
            TableColumnNotFoundError: code 12.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateTableIndex, ``POST /v1/table/{id}/create_index``.
        """
        return await self._call(operations.CREATE_TABLE_INDEX, request)

    async def create_table_scalar_index(
        self, request: models.CreateTableIndexRequest | RequestLike
    ) -> models.CreateTableScalarIndexResponse:
        """Create a scalar index on a column.

        Builds an index for filters on one column; the request is that of
        CreateTableIndex with an `index_type` for scalars, and it cannot contain
        settings for vectors. An index with that name results in
        TableIndexAlreadyExists, an unknown column TableColumnNotFound, and an
        index type or setting that does not match the column InvalidInput. A
        missing table results in TableNotFound, and a concurrent commit
        ConcurrentModification. The column is read and index files are written;
        rows are unchanged.

        Args:
            request: a `CreateTableIndexRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id, if the catalog has transactions.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableIndexAlreadyExistsError: code 7.
            TableColumnNotFoundError: code 12.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateTableScalarIndex, ``POST
        /v1/table/{id}/create_scalar_index``.
        """
        return await self._call(operations.CREATE_TABLE_SCALAR_INDEX, request)

    async def list_table_indices(
        self, request: models.ListTableIndicesRequest | RequestLike
    ) -> models.ListTableIndicesResponse:
        """List the indexes of a table.

        Lists the indexes of a table, page by page, for the current version or
        the specified version, which is an integer starting at 1; `branch`
        selects a branch other than the main one. Here `page_token` and `limit`
        are fields of the body. A missing table results in TableNotFound, and a
        page token from another listing InvalidInput. Only metadata is read.

        Args:
            request: a `ListTableIndicesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The indexes on this page with name, UUID, columns, status and other
            known details and, if more pages follow, a page token.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListTableIndices, ``POST /v1/table/{id}/index/list``.
        """
        return await self._call(operations.LIST_TABLE_INDICES, request)

    async def describe_table_index_stats(
        self, request: models.DescribeTableIndexStatsRequest | RequestLike
    ) -> models.DescribeTableIndexStatsResponse:
        """Read the statistics of an index.

        Returns the kind of one index and how many rows it covers, for the
        current version or the specified version; `branch` selects a branch
        other than the main one. An index that does not exist results in
        TableIndexNotFound, and a missing table TableNotFound. An `index_name`
        in the body that differs from the one in the route results in
        InvalidInput. Rows are not read.

        Args:
            request: a `DescribeTableIndexStatsRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The index type, its distance type for vectors, the numbers of
            indexed and unindexed rows, and the number of indexes that make it
            up.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableIndexNotFoundError: code 6.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DescribeTableIndexStats, ``POST
        /v1/table/{id}/index/{index_name}/stats``.
        """
        return await self._call(operations.DESCRIBE_TABLE_INDEX_STATS, request)

    async def drop_table_index(
        self, request: models.DropTableIndexRequest | RequestLike
    ) -> models.DropTableIndexResponse:
        """Drop an index from a table.

        Removes an index from a table and commits that as a new version;
        `branch` selects a branch other than the main one. An index that does
        not exist results in TableIndexNotFound, and so does repeating a call
        that succeeded; a missing table results in TableNotFound. Rows are
        unchanged, queries just no longer use the index.

        Args:
            request: a `DropTableIndexRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id, if the catalog has transactions.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableIndexNotFoundError: code 6.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DropTableIndex, ``POST /v1/table/{id}/index/{index_name}/drop``.
        """
        return await self._call(operations.DROP_TABLE_INDEX, request)

    async def list_table_tags(
        self, request: models.ListTableTagsRequest | RequestLike
    ) -> models.ListTableTagsResponse:
        """List the tags of a table.

        Lists the tags of a table, page by page, each with the version that it
        references. A missing table results in TableNotFound, and a page token
        from another listing InvalidInput. Rows are not read.

        Args:
            request: a `ListTableTagsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The tags on this page by name, each with its version, branch and
            manifest size in bytes and, if more pages follow, a page token.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListTableTags, ``POST /v1/table/{id}/tags/list``.
        """
        return await self._call(operations.LIST_TABLE_TAGS, request)

    async def get_table_tag_version(
        self, request: models.GetTableTagVersionRequest | RequestLike
    ) -> models.GetTableTagVersionResponse:
        """Look up the version that a tag references.

        Returns the version that a tag points to, and its branch if that is not
        the main one. A tag that does not exist results in TableTagNotFound, and
        a missing table TableNotFound. Rows are not read.

        Args:
            request: a `GetTableTagVersionRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version of the tag, an integer starting at 1, and its branch.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableTagNotFoundError: code 8.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: GetTableTagVersion, ``POST /v1/table/{id}/tags/version``.
        """
        return await self._call(operations.GET_TABLE_TAG_VERSION, request)

    async def declare_table(
        self, request: models.DeclareTableRequest | RequestLike
    ) -> models.DeclareTableResponse:
        """Reserve a table name before data is written.

        Adds a table to the catalog without writing a dataset; the client then
        writes the data to the returned location. Until then, the table is only
        declared. If no location is specified, the catalog chooses its default
        location, and if it has none, the result is InvalidInput. A table with
        that name results in TableAlreadyExists, a missing parent namespace
        NamespaceNotFound, and a concurrent change ConcurrentModification. With
        `vend_credentials` the caller specifies whether the storage options
        should contain credentials. No rows are written or deleted.

        Args:
            request: a `DeclareTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The location, storage options and properties of the table, whether
            the catalog manages its versions, and, if the catalog has
            transactions, a transaction id.

        Raises:
            NamespaceNotFoundError: code 1.
            TableAlreadyExistsError: code 5.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DeclareTable, ``POST /v1/table/{id}/declare``.
        """
        return await self._call(operations.DECLARE_TABLE, request)

    async def create_table_tag(
        self, request: models.CreateTableTagRequest | RequestLike
    ) -> models.CreateTableTagResponse:
        """Create a tag for a version of a table.

        Creates a tag for a version of the table, which also protects that
        version from being cleaned up; the version is an integer starting at 1,
        on the specified branch or the main one. A tag with that name results in
        TableTagAlreadyExists, a version that does not exist
        TableVersionNotFound, a missing table TableNotFound, and a concurrent
        change ConcurrentModification. A name that cannot be a tag results in
        InvalidInput. Rows and versions are unchanged.

        Args:
            request: a `CreateTableTagRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id, if the catalog has transactions.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableTagAlreadyExistsError: code 9.
            TableVersionNotFoundError: code 11.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateTableTag, ``POST /v1/table/{id}/tags/create``.
        """
        return await self._call(operations.CREATE_TABLE_TAG, request)

    async def delete_table_tag(
        self, request: models.DeleteTableTagRequest | RequestLike
    ) -> models.DeleteTableTagResponse:
        """Delete a tag of a table.

        Removes a tag; the version that it references is kept, but may then be
        cleaned up. A tag that does not exist results in TableTagNotFound, and
        so does repeating a call that succeeded; a missing table results in
        TableNotFound. Rows are unchanged.

        Args:
            request: a `DeleteTableTagRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id, if the catalog has transactions.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableTagNotFoundError: code 8.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DeleteTableTag, ``POST /v1/table/{id}/tags/delete``.
        """
        return await self._call(operations.DELETE_TABLE_TAG, request)

    async def update_table_tag(
        self, request: models.UpdateTableTagRequest | RequestLike
    ) -> models.UpdateTableTagResponse:
        """Move a tag to another version.

        Moves an existing tag to another version, an integer starting at 1, on
        the specified branch or the main one. A tag that does not exist results
        in TableTagNotFound, a version that does not exist TableVersionNotFound,
        a missing table TableNotFound, and a concurrent change
        ConcurrentModification. Rows and versions are unchanged.

        Args:
            request: an `UpdateTableTagRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id, if the catalog has transactions.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableTagNotFoundError: code 8.
            TableVersionNotFoundError: code 11.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: UpdateTableTag, ``POST /v1/table/{id}/tags/update``.
        """
        return await self._call(operations.UPDATE_TABLE_TAG, request)

    async def list_table_branches(
        self, request: models.ListTableBranchesRequest | RequestLike
    ) -> models.ListTableBranchesResponse:
        """List the branches of a table.

        Lists the branches of a table, page by page, each with the branch and
        the version from which it was created. A missing table results in
        TableNotFound, and a page token from another listing InvalidInput. Rows
        are not read.

        Args:
            request: a `ListTableBranchesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The branches on this page by name, each with its parent, creation
            time and manifest size in bytes and, if more pages follow, a page
            token.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListTableBranches, ``POST /v1/table/{id}/branches/list``.
        """
        return await self._call(operations.LIST_TABLE_BRANCHES, request)

    async def create_table_branch(
        self, request: models.CreateTableBranchRequest | RequestLike
    ) -> models.CreateTableBranchResponse:
        """Create a branch of a table.

        Starts a branch with the specified name, from the version `from_version`
        of the branch `from_branch`; without these it starts from the latest
        version of the main branch. Later writes to the branch are not visible
        on the branch from which it was created. A branch with that name results
        in TableBranchAlreadyExists, and a missing table TableNotFound. A
        missing branch or version to start from results in TableNotFound, and a
        name that cannot be a branch InvalidInput. Data files are shared, not
        copied.

        Args:
            request: a `CreateTableBranchRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id, if the catalog has transactions.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableBranchAlreadyExistsError: code 23.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateTableBranch, ``POST /v1/table/{id}/branches/create``.
        """
        return await self._call(operations.CREATE_TABLE_BRANCH, request)

    async def delete_table_branch(
        self, request: models.DeleteTableBranchRequest | RequestLike
    ) -> models.DeleteTableBranchResponse:
        """Delete a branch of a table.

        Removes a branch, and with it the versions that exist only there. A
        branch that does not exist results in TableBranchNotFound, and so does
        repeating a call that succeeded; a missing table results in
        TableNotFound. The main branch and other branches keep their rows; a
        branch that a tag or another branch refers to may be rejected, with
        InvalidTableState.

        Args:
            request: a `DeleteTableBranchRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id, if the catalog has transactions.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableBranchNotFoundError: code 22.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DeleteTableBranch, ``POST /v1/table/{id}/branches/delete``.
        """
        return await self._call(operations.DELETE_TABLE_BRANCH, request)

    async def describe_transaction(
        self, request: models.DescribeTransactionRequest | RequestLike
    ) -> models.DescribeTransactionResponse:
        """Read the status of a transaction.

        Looks up a transaction by its identifier, such as the id that another
        response contains. An unknown transaction, or no longer stores, results
        in TransactionNotFound, and a server without transactions Unsupported.
        Data is not touched.

        Args:
            request: a `DescribeTransactionRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The status of the transaction and its properties.

        Raises:
            TransactionNotFoundError: code 10.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DescribeTransaction, ``POST /v1/transaction/{id}/describe``.
        """
        return await self._call(operations.DESCRIBE_TRANSACTION, request)

    async def alter_transaction(
        self, request: models.AlterTransactionRequest | RequestLike
    ) -> models.AlterTransactionResponse:
        """Change the status or properties of a transaction.

        Executes one or more actions on a transaction, in the specified order;
        each sets its status, sets a property or unsets one, the last two with a
        mode for a key that already exists or is missing. An unknown transaction
        results in TransactionNotFound, a concurrent change, or a change that
        the current status does not allow, ConcurrentModification, and an empty
        list or an unreadable action InvalidInput. A server without transactions
        results in Unsupported.

        Args:
            request: an `AlterTransactionRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The status of the transaction and its properties after the change.

        Raises:
            TransactionNotFoundError: code 10.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: AlterTransaction, ``POST /v1/transaction/{id}/alter``.
        """
        return await self._call(operations.ALTER_TRANSACTION, request)

    async def list_operations(
        self, request: models.ListOperationsRequest | RequestLike | None = None
    ) -> models.ListOperationsResponse:
        """List the operations this server supports.

        Lists the operations that a client can call here, before it tries;
        operations that are not listed result in Unsupported. It has no
        identifier and reads neither catalog objects nor data.

        Args:
            request: a `ListOperationsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The names of the supported operations.

        Raises:
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListOperations, ``GET /v1/operations``.
        """
        return await self._call(operations.LIST_OPERATIONS, request)

    async def alter_namespace(
        self, request: models.AlterNamespaceRequest | RequestLike
    ) -> models.AlterNamespaceResponse:
        """Set and unset properties of a namespace.

        Sets the properties in `set_properties` and removes the keys in
        `unset_properties`; other properties are kept. A key in both results in
        InvalidInput and changes nothing, while unsetting a key that does not
        exist is allowed. A missing namespace results in NamespaceNotFound, a
        concurrent change ConcurrentModification, and a catalog that cannot
        change properties Unsupported. Tables and data are not touched.

        Args:
            request: an `AlterNamespaceRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            All properties of the namespace after the change.

        Raises:
            NamespaceNotFoundError: code 1.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: AlterNamespace, ``POST /v1/namespace/{id}/alter``.
        """
        return await self._call(operations.ALTER_NAMESPACE, request)

    async def alter_table(
        self, request: models.AlterTableRequest | RequestLike
    ) -> models.AlterTableResponse:
        """Set and unset properties of a table.

        Sets the properties in `set_properties` and removes the keys in
        `unset_properties` of the table's entry in the catalog; other properties
        are kept. A key in both results in InvalidInput and changes nothing,
        while unsetting a key that does not exist is allowed. A missing table
        results in TableNotFound, a concurrent change ConcurrentModification,
        and a catalog that cannot change tables Unsupported. The dataset is not
        changed, and no new version is created.

        Args:
            request: an `AlterTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            All properties of the table after the change.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: AlterTable, ``POST /v1/table/{id}/alter``.
        """
        return await self._call(operations.ALTER_TABLE, request)
