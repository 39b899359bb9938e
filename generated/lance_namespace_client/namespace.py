# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
# pyarrow has no types of its own.
# mypy: disable-error-code="import-untyped"

"""The interface of all namespaces, with one method per operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa

    from . import models
    from .arrow import ArrowData
    from .model import RequestLike

__all__ = ["LanceNamespace"]


class LanceNamespace:
    """A namespace finds, creates and manages Lance tables.

    Every operation accepts its request as a model of this package, as a dict, or as any object
    with ``model_dump()``. An unsupported operation raises `UnsupportedError` (code 0).
    """

    def namespace_id(self) -> str:
        """Return an identifier of this namespace: its kind and its address."""
        return type(self).__name__

    def _unsupported(self, operation: str) -> UnsupportedError:
        return UnsupportedError(f"{type(self).__name__} does not support {operation}")

    def create_namespace(
        self, request: models.CreateNamespaceRequest | RequestLike
    ) -> models.CreateNamespaceResponse:
        """Create a namespace.

        Makes a namespace under an existing parent, with the given properties.
        The mode is `Create` (default), `ExistOk` or `Overwrite`, in any letter
        case: on a namespace that is already there, `Create` answers
        NamespaceAlreadyExists, `ExistOk` keeps it and returns the properties it
        has, and `Overwrite` replaces it with a new empty one. `Overwrite` of a
        namespace that still holds anything answers NamespaceNotEmpty and
        changes nothing. A missing parent answers NamespaceNotFound, an unknown
        mode or an identifier deeper than the catalog goes InvalidInput, and a
        change made by someone else meanwhile ConcurrentModification. No table
        data is read or written.

        Args:
            request: a `CreateNamespaceRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The properties of the namespace as it now is, and a transaction id
            where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            NamespaceAlreadyExistsError: code 2.
            NamespaceNotEmptyError: code 3.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateNamespace, ``POST /v1/namespace/{id}/create``.
        """
        raise self._unsupported("CreateNamespace")

    def list_namespaces(
        self, request: models.ListNamespacesRequest | RequestLike | None = None
    ) -> models.ListNamespacesResponse:
        """List the direct children of a namespace.

        Lists the namespaces directly below the given one; the root is written
        as the delimiter alone. The answer comes in pages: `limit` caps a page
        and `page_token` asks for the next one, and walking the pages yields
        each name once and in order. Only the children's own names are given,
        not their full identifiers. A missing parent answers NamespaceNotFound,
        and a page token of another listing InvalidInput. Data is not touched.

        Args:
            request: a `ListNamespacesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The names of the child namespaces on this page, and a page token
            while more pages follow.

        Raises:
            NamespaceNotFoundError: code 1.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListNamespaces, ``GET /v1/namespace/{id}/list``.
        """
        raise self._unsupported("ListNamespaces")

    def describe_namespace(
        self, request: models.DescribeNamespaceRequest | RequestLike
    ) -> models.DescribeNamespaceResponse:
        """Read the properties of a namespace.

        Looks up one namespace in the catalog and returns its properties. A
        namespace that is not there answers NamespaceNotFound. Tables and data
        below it are not looked at.

        Args:
            request: a `DescribeNamespaceRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The properties of the namespace, as a map of text to text.

        Raises:
            NamespaceNotFoundError: code 1.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DescribeNamespace, ``POST /v1/namespace/{id}/describe``.
        """
        raise self._unsupported("DescribeNamespace")

    def drop_namespace(
        self, request: models.DropNamespaceRequest | RequestLike
    ) -> models.DropNamespaceResponse:
        """Drop a namespace.

        Removes a namespace from the catalog. The mode is `Fail` (default: a
        missing namespace answers NamespaceNotFound) or `Skip` (a missing one is
        a success). In an Iceberg REST catalog a missing namespace is a success
        in either mode, as the specification of that catalog requires. The
        behavior is `Restrict` (default: a namespace that holds any object,
        whether a Lance table or not, answers NamespaceNotEmpty and stays) or
        `Cascade`, which removes every child from the catalog as well. Data on
        storage is never deleted, not even with `Cascade`. An unknown mode or
        behavior answers InvalidInput, a change made by someone else meanwhile
        ConcurrentModification, and a behavior the catalog cannot offer
        Unsupported.

        Args:
            request: a `DropNamespaceRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The properties the dropped namespace had, and a list of transaction
            ids where the catalog has them.

        Raises:
            NamespaceNotFoundError: code 1.
            NamespaceNotEmptyError: code 3.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DropNamespace, ``POST /v1/namespace/{id}/drop``.
        """
        raise self._unsupported("DropNamespace")

    def namespace_exists(
        self, request: models.NamespaceExistsRequest | RequestLike
    ) -> models.NamespaceExistsResponse:
        """Check whether a namespace exists.

        Reports by its status alone whether the namespace is in the catalog:
        success when it is, NamespaceNotFound when it is not. Nothing below the
        namespace is looked at and data is not touched.

        Args:
            request: a `NamespaceExistsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            Nothing: the answer has no body, its status 200 says that the
                namespace exists.

        Raises:
            NamespaceNotFoundError: code 1.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: NamespaceExists, ``POST /v1/namespace/{id}/exists``.
        """
        raise self._unsupported("NamespaceExists")

    def list_tables(
        self, request: models.ListTablesRequest | RequestLike | None = None
    ) -> models.ListTablesResponse:
        """List the tables of a namespace.

        Lists the Lance tables directly in the given namespace, page by page, by
        their own names. With `include_declared=false`, tables that the catalog
        knows but whose storage holds no dataset are left out, which makes the
        server look at each table's storage; the default true lists them all. A
        namespace that exists at a level that cannot hold tables gives an empty
        list, and a missing one answers NamespaceNotFound. A table that vanishes
        while the page is made is left out, while any other failure to look at a
        table fails the whole listing. A page token of another listing answers
        InvalidInput.

        Args:
            request: a `ListTablesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The names of the tables on this page, and a page token while more
            pages follow.

        Raises:
            NamespaceNotFoundError: code 1.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListTables, ``GET /v1/namespace/{id}/table/list``.
        """
        raise self._unsupported("ListTables")

    def list_all_tables(
        self, request: models.ListTablesRequest | RequestLike | None = None
    ) -> models.ListTablesResponse:
        """List the tables of every namespace.

        Lists all Lance tables that the server can see, in whatever namespace,
        page by page. Each entry is a full string identifier, its levels joined
        by the delimiter. With `include_declared=false`, tables whose storage
        holds no dataset are left out, at the cost of a look at each table's
        storage. A page token of another listing answers InvalidInput, and a
        catalog that cannot list its root answers Unsupported. Rows are not
        read.

        Args:
            request: a `ListTablesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The full string identifiers of the tables on this page, and a page
            token while more pages follow.

        Raises:
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListAllTables, ``GET /v1/table``.
        """
        raise self._unsupported("ListAllTables")

    def register_table(
        self, request: models.RegisterTableRequest | RequestLike
    ) -> models.RegisterTableResponse:
        """Register an existing dataset as a table.

        Adds an entry to the catalog for a dataset that already lies at the
        given location. The mode is `Create` (default: a table of that name
        answers TableAlreadyExists) or `Overwrite`, which replaces the catalog
        entry that is there. A missing parent namespace answers
        NamespaceNotFound, an unknown mode or a bad location InvalidInput, and a
        change made by someone else meanwhile ConcurrentModification. Only the
        catalog changes: data is neither copied nor deleted, also not that of a
        replaced entry.

        Args:
            request: a `RegisterTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The location and properties the table is registered with, and a
            transaction id where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableAlreadyExistsError: code 5.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: RegisterTable, ``POST /v1/table/{id}/register``.
        """
        raise self._unsupported("RegisterTable")

    def describe_table(
        self, request: models.DescribeTableRequest | RequestLike
    ) -> models.DescribeTableResponse:
        """Read a table's location and metadata.

        Looks up one table and returns its location, its storage options and its
        properties. At most one of version, tag and branch may be given, more
        than one answers InvalidInput; a version, tag or branch that is not
        there answers TableVersionNotFound. With `load_detailed_metadata=true`
        the dataset is opened and its version, schema, stats and metadata are
        filled in; with `check_declared=true` the storage is looked at and
        `is_only_declared` is filled in; `with_table_uri=true` adds the full URI
        of the table. Storage options may hold temporary credentials and then
        carry `expires_at_millis`, a time in milliseconds since 1970-01-01 UTC.
        A table that is not there, or whose parent namespace is missing, answers
        TableNotFound; rows are never read.

        Args:
            request: a `DescribeTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The table's location, storage options and properties, and the
            details that the flags asked for.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableVersionNotFoundError: code 11.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DescribeTable, ``POST /v1/table/{id}/describe``.
        """
        raise self._unsupported("DescribeTable")

    def table_exists(
        self, request: models.TableExistsRequest | RequestLike
    ) -> models.TableExistsResponse:
        """Check whether a table exists.

        Reports by its status alone whether the catalog has the table: success
        when it has, TableNotFound when the table, its parent namespace or the
        version that the request names is missing. A declared table without a
        dataset exists too. Rows are not read.

        Args:
            request: a `TableExistsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            Nothing: the answer has no body, its status 200 says that the table
                exists.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: TableExists, ``POST /v1/table/{id}/exists``.
        """
        raise self._unsupported("TableExists")

    def drop_table(
        self, request: models.DropTableRequest | RequestLike
    ) -> models.DropTableResponse:
        """Drop a table and delete its data.

        Removes the table from the catalog and deletes its data on storage, all
        versions, indexes, tags and branches included; this cannot be undone. To
        remove only the catalog entry, use DeregisterTable. A table that is not
        there, or whose parent namespace is missing, answers TableNotFound, so a
        repeat of a call that went through answers that too. An object of that
        name that is not a Lance table is refused and stays.

        Args:
            request: a `DropTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The identifier, former location and properties of the dropped table,
            and a transaction id where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DropTable, ``POST /v1/table/{id}/drop``.
        """
        raise self._unsupported("DropTable")

    def deregister_table(
        self, request: models.DeregisterTableRequest | RequestLike
    ) -> models.DeregisterTableResponse:
        """Remove a table from the catalog and keep its data.

        Takes the table's entry out of the catalog; its data stays on storage as
        it is and can be registered again from the location in the answer. A
        table that is not there, or whose parent namespace is missing, answers
        TableNotFound, so a repeat of a call that went through answers that too.
        An entry that is not a Lance table is refused and stays.

        Args:
            request: a `DeregisterTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The identifier, location and properties the table had, and a
            transaction id where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DeregisterTable, ``POST /v1/table/{id}/deregister``.
        """
        raise self._unsupported("DeregisterTable")

    def restore_table(
        self, request: models.RestoreTableRequest | RequestLike
    ) -> models.RestoreTableResponse:
        """Restore a table to an earlier version.

        Makes the contents of an earlier version current again, by committing a
        new version that holds them; the versions in between stay. The version
        is a whole number from 1 up as Lance counts them, and `branch`, if
        given, names the branch that is restored. A version that is not there,
        or was cleaned up, answers TableVersionNotFound, a missing table
        TableNotFound, and a commit by someone else meanwhile
        ConcurrentModification. Only a manifest is written, data files are
        reused.

        Args:
            request: a `RestoreTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableVersionNotFoundError: code 11.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: RestoreTable, ``POST /v1/table/{id}/restore``.
        """
        raise self._unsupported("RestoreTable")

    def rename_table(
        self, request: models.RenameTableRequest | RequestLike
    ) -> models.RenameTableResponse:
        """Rename a table or move it to another namespace.

        Renames the table to `new_table_name`, in the namespace
        `new_namespace_id` if that is given and in its own otherwise. A name
        that is taken answers TableAlreadyExists and changes nothing, a missing
        table TableNotFound, a missing target namespace NamespaceNotFound, and a
        change made by someone else meanwhile ConcurrentModification. A catalog
        that cannot rename answers Unsupported. The rows, versions, schema and
        properties of the table stay as they are.

        Args:
            request: a `RenameTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableAlreadyExistsError: code 5.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: RenameTable, ``POST /v1/table/{id}/rename``.
        """
        raise self._unsupported("RenameTable")

    def update_table_schema_metadata(
        self, request: models.UpdateTableSchemaMetadataRequest | RequestLike
    ) -> models.UpdateTableSchemaMetadataResponse:
        """Write key-value pairs into the schema metadata.

        Adds the given pairs to the metadata of the table's schema, in place of
        those of the same keys, and commits that as a new version; other pairs
        stay. The body is a bare map of text to text. The parameter `branch`
        chooses a branch other than the main one. A missing table answers
        TableNotFound, a body that is not such a map InvalidInput, and a commit
        by someone else meanwhile ConcurrentModification. Only a manifest is
        written, rows stay as they are; the table's properties in the catalog
        are another matter, see AlterTable.

        Args:
            request: an `UpdateTableSchemaMetadataRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            A bare map of text to text: the schema metadata after the change.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: UpdateTableSchemaMetadata, ``POST
        /v1/table/{id}/schema_metadata/update``.
        """
        raise self._unsupported("UpdateTableSchemaMetadata")

    def list_table_versions(
        self, request: models.ListTableVersionsRequest | RequestLike
    ) -> models.ListTableVersionsResponse:
        """List the versions of a table.

        Lists the versions that a table still has, page by page; a version is a
        whole number from 1 up. They come newest first with `descending=true`,
        and otherwise in an order of the server's choice, with this project the
        oldest first; `branch` chooses a branch other than the main one.
        Versions that were cleaned up do not occur. A missing table answers
        TableNotFound, and a page token of another listing InvalidInput. Only
        manifests are looked at, no rows.

        Args:
            request: a `ListTableVersionsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The versions on this page, each with its manifest path and what else
            is known of it, and a page token while more follow.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListTableVersions, ``POST /v1/table/{id}/version/list``.
        """
        raise self._unsupported("ListTableVersions")

    def create_table_version(
        self, request: models.CreateTableVersionRequest | RequestLike
    ) -> models.CreateTableVersionResponse:
        """Commit a manifest as a new table version.

        Makes a manifest that the caller has staged the next version of the
        table, for tables whose latest version the catalog keeps. The request
        holds the version number, the manifest's path and, if known, its size in
        bytes, its e-tag and its naming scheme; `branch` chooses a branch other
        than the main one. A version number that someone else took first answers
        ConcurrentModification, and a missing table TableNotFound. A server
        whose tables are managed by storage alone (`managed_versioning` is
        false) answers Unsupported. Data files are not touched.

        Args:
            request: a `CreateTableVersionRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version that was committed, and a transaction id where the
            catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateTableVersion, ``POST /v1/table/{id}/version/create``.
        """
        raise self._unsupported("CreateTableVersion")

    def describe_table_version(
        self, request: models.DescribeTableVersionRequest | RequestLike
    ) -> models.DescribeTableVersionResponse:
        """Read one version of a table.

        Looks up one version of a table and returns where its manifest is and
        what is known of it. The version is a whole number from 1 up; `branch`
        chooses a branch other than the main one. A version that is not there,
        or was cleaned up, answers TableVersionNotFound, a missing table
        TableNotFound. Only manifests are looked at, no rows.

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
        raise self._unsupported("DescribeTableVersion")

    def batch_delete_table_versions(
        self, request: models.BatchDeleteTableVersionsRequest | RequestLike
    ) -> models.BatchDeleteTableVersionsResponse:
        """Delete ranges of a table's versions.

        Deletes every version of the table that lies in one of the given ranges;
        each range holds its `start_version` and not its `end_version`. The
        field `branch` chooses a branch other than the main one. A deleted
        version can no longer be read or restored. A missing table answers
        TableNotFound, a range that is empty or holds the latest version may
        answer InvalidInput, one that holds a version that a tag names or
        another branch starts at InvalidTableState, and a server that cannot
        delete single versions Unsupported.

        Args:
            request: a `BatchDeleteTableVersionsRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            How many versions were deleted, and a transaction id where the
            catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: BatchDeleteTableVersions, ``POST
        /v1/table/{id}/version/delete``.
        """
        raise self._unsupported("BatchDeleteTableVersions")

    def batch_create_table_versions(
        self, request: models.BatchCreateTableVersionsRequest | RequestLike
    ) -> models.BatchCreateTableVersionsResponse:
        """Commit new versions of several tables at once.

        Does what CreateTableVersion does for several tables in one step: each
        entry names a table, a version number and a staged manifest, and all
        entries are committed or none. One version number that someone else took
        first answers ConcurrentModification and nothing is committed; a missing
        table answers TableNotFound. A server whose tables are managed by
        storage alone answers Unsupported. Data files are not touched.

        Args:
            request: a `BatchCreateTableVersionsRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The versions that were committed, and a transaction id where the
            catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: BatchCreateTableVersions, ``POST
        /v1/table/version/batch-create``.
        """
        raise self._unsupported("BatchCreateTableVersions")

    def batch_commit_tables(
        self, request: models.BatchCommitTablesRequest | RequestLike
    ) -> models.BatchCommitTablesResponse:
        """Commit several table operations at once.

        Carries out a list of operations on one or more tables in one step; each
        entry holds exactly one of a declare, a new version, a deletion of
        versions or a deregistration. All of them take effect or none. A missing
        namespace answers NamespaceNotFound, a missing table TableNotFound, a
        change made by someone else meanwhile ConcurrentModification, and an
        entry that holds none or several operations InvalidInput. A server whose
        tables are managed by storage alone answers Unsupported.

        Args:
            request: a `BatchCommitTablesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            One result for each operation, and a transaction id where the
            catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: BatchCommitTables, ``POST /v1/table/batch-commit``.
        """
        raise self._unsupported("BatchCommitTables")

    def alter_table_alter_columns(
        self, request: models.AlterTableAlterColumnsRequest | RequestLike
    ) -> models.AlterTableAlterColumnsResponse:
        """Rename, retype or change the nullability of columns.

        Changes existing columns and commits that as a new version; each
        alteration names a column by its path and gives a new name, a new data
        type, a new nullability or a new virtual column definition. A rename or
        a change of nullability writes only a manifest, a new data type rewrites
        that column's data. A path that is not in the schema answers
        TableColumnNotFound, a change that the column's data or the schema does
        not allow TableSchemaValidationError, and a commit by someone else
        meanwhile ConcurrentModification. A missing table answers TableNotFound.

        Args:
            request: an `AlterTableAlterColumnsRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The version of the table that holds the change, a whole number from
            1 up.

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
        raise self._unsupported("AlterTableAlterColumns")

    def update_field_metadata(
        self, request: models.UpdateFieldMetadataRequest | RequestLike
    ) -> models.UpdateFieldMetadataResponse:
        """Change the metadata of single columns.

        Changes the metadata that the schema keeps for single columns and
        commits that as a new version. Each update names a column by its path
        and gives pairs to set; a null value removes that key, and
        `replace=true` throws away the pairs that were there before. A path that
        is not in the schema answers TableColumnNotFound, a missing table
        TableNotFound, and a commit by someone else meanwhile
        ConcurrentModification. Only a manifest is written, rows stay as they
        are.

        Args:
            request: an `UpdateFieldMetadataRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version of the table that holds the change, and the metadata of
            the changed columns by path.

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
        raise self._unsupported("UpdateFieldMetadata")

    def alter_table_drop_columns(
        self, request: models.AlterTableDropColumnsRequest | RequestLike
    ) -> models.AlterTableDropColumnsResponse:
        """Drop columns from a table.

        Takes the named columns out of the table's schema and commits that as a
        new version. A column that is not there answers TableColumnNotFound and
        nothing is dropped; a missing table answers TableNotFound, and a commit
        by someone else meanwhile ConcurrentModification. Only a manifest is
        written: earlier versions keep the columns, and the bytes stay on
        storage until those versions are cleaned up and the files rewritten.

        Args:
            request: an `AlterTableDropColumnsRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The version of the table without the columns, and a transaction id
            where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: AlterTableDropColumns, ``POST /v1/table/{id}/drop_columns``.
        """
        raise self._unsupported("AlterTableDropColumns")

    def get_table_stats(
        self, request: models.GetTableStatsRequest | RequestLike
    ) -> models.GetTableStatsResponse:
        """Read the size and fragment statistics of a table.

        Returns how big the table is and how its rows are spread over fragments,
        for the current version of the main branch or of the branch named in the
        request. Sizes are in bytes, lengths of fragments in rows. A missing
        table answers TableNotFound. The dataset is opened for its metadata,
        rows are not read.

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
        raise self._unsupported("GetTableStats")

    def insert_into_table(
        self, request: models.InsertIntoTableRequest | RequestLike, data: ArrowData
    ) -> models.InsertIntoTableResponse:
        """Insert rows into a table.

        Writes the rows of the Arrow IPC stream in the body into the table and
        commits them as a new version. The mode is `append` (default) or
        `overwrite`, in any letter case: `overwrite` makes the new rows the
        whole content, while earlier versions stay readable. Columns are told by
        their names, in whatever order they come. A table that is declared and
        has no data yet is made with the rows. The parameter `branch` chooses a
        branch other than the main one. A stream whose schema does not fit the
        table answers TableSchemaValidationError, a body that is no such stream
        or an unknown mode InvalidInput, a table that cannot take rows as it is
        InvalidTableState, a missing one TableNotFound, and a commit by someone
        else that cannot be reconciled ConcurrentModification. Repeating an
        append after an unknown outcome may insert the rows twice.

        Args:
            request: an `InsertIntoTableRequest`, a dict, or an object with
                ``model_dump()``.
            data: the rows, as a pyarrow reader, table or batch, or an Arrow IPC
                stream.

        Returns:
            The number of rows inserted, the version that holds them, and a
            transaction id where the catalog has one.

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
        raise self._unsupported("InsertIntoTable")

    def merge_insert_into_table(
        self, request: models.MergeInsertIntoTableRequest | RequestLike, data: ArrowData
    ) -> models.MergeInsertIntoTableResponse:
        """Merge rows into a table by a key column.

        Matches the rows of the Arrow IPC stream in the body with the table's
        rows by the column named in `on`, and commits the result as one new
        version. The flags say what happens: `when_matched_update_all` updates
        rows found on both sides, `when_not_matched_insert_all` inserts those
        only in the stream, and `when_not_matched_by_source_delete` deletes
        those only in the table; the two filters narrow the update and the
        deletion down. A table that is declared and has no data yet is made with
        all rows. A key column that is not in the table answers
        TableColumnNotFound, a body or filter that cannot be read, or columns
        that do not fit the table, InvalidInput, and a table that cannot take
        rows as it is InvalidTableState. A missing table answers TableNotFound,
        and a commit by someone else that cannot be reconciled
        ConcurrentModification; `timeout` bounds how long the server keeps
        trying.

        Args:
            request: a `MergeInsertIntoTableRequest`, a dict, or an object with
                ``model_dump()``.
            data: the rows, as a pyarrow reader, table or batch, or an Arrow IPC
                stream.

        Returns:
            The numbers of rows updated, inserted and deleted, the version that
            holds them, and a transaction id where the catalog has one.

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
        raise self._unsupported("MergeInsertIntoTable")

    def update_table(
        self, request: models.UpdateTableRequest | RequestLike
    ) -> models.UpdateTableResponse:
        """Update columns of the rows that match a predicate.

        Sets columns to new values in every row that the predicate selects, or
        in all rows without one, and commits that as a new version. Each update
        is a pair of a column name and an SQL expression, which may use the
        row's old values. A column that is not there answers
        TableColumnNotFound, a predicate or expression that cannot be read
        InvalidInput, a missing table TableNotFound, a table that cannot be
        written as it is InvalidTableState, and a commit by someone else that
        cannot be reconciled ConcurrentModification. Changed rows are rewritten;
        earlier versions keep the old values.

        Args:
            request: an `UpdateTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The number of rows updated, the version that holds the change, its
            properties, and a transaction id where the catalog has one.

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
        raise self._unsupported("UpdateTable")

    def delete_from_table(
        self, request: models.DeleteFromTableRequest | RequestLike
    ) -> models.DeleteFromTableResponse:
        """Delete the rows that match a predicate.

        Deletes every row that the SQL predicate selects and commits that as a
        new version; the predicate is required. A predicate that cannot be read
        answers InvalidInput, a column that is not there TableColumnNotFound, a
        missing table TableNotFound, a table that cannot be written as it is
        InvalidTableState, and a commit by someone else that cannot be
        reconciled ConcurrentModification. Rows are marked as deleted, so
        earlier versions still hold them until they are cleaned up.

        Args:
            request: a `DeleteFromTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version without the rows, and a transaction id where the catalog
            has one.

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
        raise self._unsupported("DeleteFromTable")

    def query_table(
        self, request: models.QueryTableRequest | RequestLike
    ) -> pa.RecordBatchReader:
        """Query a table by vector, full text or filter.

        Returns up to `k` rows of a table: the nearest to one or several
        vectors, those that match a full-text query, or, when the vector is
        null, those that the SQL filter lets through, in the order in which they
        were written. Columns to return, offset, distance bounds, prefiltering
        and index settings are optional, and `with_row_id` adds the row id;
        `version` and `branch` choose what is read. A version that is not there
        answers TableVersionNotFound, an unknown column TableColumnNotFound, a
        missing table TableNotFound, and a filter, vector or setting that cannot
        be used InvalidInput. The table is only read.

        Args:
            request: a `QueryTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The selected rows as an Arrow IPC file. They arrive as a
            ``pyarrow.RecordBatchReader``, a batch at a time.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableVersionNotFoundError: code 11.
            TableColumnNotFoundError: code 12.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: QueryTable, ``POST /v1/table/{id}/query``.
        """
        raise self._unsupported("QueryTable")

    def count_table_rows(
        self, request: models.CountTableRowsRequest | RequestLike
    ) -> models.CountTableRowsResponse:
        """Count the rows of a table.

        Counts the rows of a table, all of them or only those that the SQL
        predicate selects; `version` and `branch` choose what is counted.
        Without a predicate the metadata is enough, with one rows are read. A
        version that is not there answers TableVersionNotFound, a missing table
        TableNotFound, a column that is not there TableColumnNotFound, and a
        predicate that cannot be read InvalidInput.

        Args:
            request: a `CountTableRowsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The bare number of rows, a whole number of 64 bits from 0 up, not
            wrapped in an object.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableVersionNotFoundError: code 11.
            TableColumnNotFoundError: code 12.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CountTableRows, ``POST /v1/table/{id}/count_rows``.
        """
        raise self._unsupported("CountTableRows")

    def create_table(
        self, request: models.CreateTableRequest | RequestLike, data: ArrowData
    ) -> models.CreateTableResponse:
        """Create a table from an Arrow stream.

        Makes a table in the catalog and writes the rows of the Arrow IPC stream
        in the body as its first version; a stream with a schema and no rows
        makes an empty table. The mode is `Create` (default: a table that is
        there answers TableAlreadyExists), `ExistOk` (what is there is kept with
        its properties and the stream is not read) or `Overwrite` (rows, schema
        and properties give way to the new ones, in one step where the catalog
        can; older versions of the data may stay), in any letter case. A table
        that is declared and has no data yet is filled, whatever the mode. The
        location is the catalog's default; the header `x-lance-table-location`
        may name it, and one where the catalog cannot put the table answers
        InvalidInput. Properties come as JSON text in the query or in the header
        `x-lance-table-properties`. A missing parent namespace answers
        NamespaceNotFound, a schema that Lance cannot store
        TableSchemaValidationError, a body that is no such stream, an unknown
        mode or no location to be found InvalidInput, and a change made by
        someone else meanwhile ConcurrentModification.

        Args:
            request: a `CreateTableRequest`, a dict, or an object with
                ``model_dump()``.
            data: the rows, as a pyarrow reader, table or batch, or an Arrow IPC
                stream.

        Returns:
            The table's location, version, storage options and properties, and a
            transaction id where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableAlreadyExistsError: code 5.
            ConcurrentModificationError: code 14.
            TableSchemaValidationError: code 20.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateTable, ``POST /v1/table/{id}/create``.
        """
        raise self._unsupported("CreateTable")

    def explain_table_query_plan(
        self, request: models.ExplainTableQueryPlanRequest | RequestLike
    ) -> models.ExplainTableQueryPlanResponse:
        """Explain how a query would be run.

        Returns the plan that the server would use for the query in the request,
        without running it; `verbose=true` gives more detail. The query has the
        fields of QueryTable, and `branch` chooses a branch other than the main
        one. A missing table answers TableNotFound, a column that is not there
        TableColumnNotFound, and a query that cannot be planned InvalidInput.
        Only metadata is read.

        Args:
            request: an `ExplainTableQueryPlanRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The plan as a bare JSON string for people to read, with no fixed
            form.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ExplainTableQueryPlan, ``POST /v1/table/{id}/explain_plan``.
        """
        raise self._unsupported("ExplainTableQueryPlan")

    def analyze_table_query_plan(
        self, request: models.AnalyzeTableQueryPlanRequest | RequestLike
    ) -> models.AnalyzeTableQueryPlanResponse:
        """Run a query and report what it cost.

        Runs the query and returns its plan with what each step did, such as
        rows and time, instead of the rows. The request has the fields of
        QueryTable. A missing table answers TableNotFound, a column that is not
        there TableColumnNotFound, and a query that cannot be planned
        InvalidInput. The table is read as by the query itself and never
        changed; the measured figures differ from run to run.

        Args:
            request: an `AnalyzeTableQueryPlanRequest`, a dict, or an object
                with ``model_dump()``.

        Returns:
            The plan with its measurements as a bare JSON string for people to
            read, with no fixed form.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableColumnNotFoundError: code 12.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: AnalyzeTableQueryPlan, ``POST /v1/table/{id}/analyze_plan``.
        """
        raise self._unsupported("AnalyzeTableQueryPlan")

    def alter_table_add_columns(
        self, request: models.AlterTableAddColumnsRequest | RequestLike
    ) -> models.AlterTableAddColumnsResponse:
        """Add columns to a table.

        Adds columns and commits that as a new version; each new column has a
        name and says where its values come from: an SQL expression over the
        existing columns, a computed column or a virtual column made by a user
        function. A name that is taken, or a definition that does not fit the
        schema, answers TableSchemaValidationError, and an expression that
        cannot be read InvalidInput. A missing table answers TableNotFound, a
        column that the expression names and the table lacks
        TableColumnNotFound, and a commit by someone else meanwhile
        ConcurrentModification; a kind of column that the server cannot make
        answers Unsupported. Values of an expression are written for all rows,
        while existing columns are not rewritten.

        Args:
            request: an `AlterTableAddColumnsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version of the table that has the columns, a whole number from 1
            up.

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
        raise self._unsupported("AlterTableAddColumns")

    def alter_table_backfill_columns(
        self, request: models.AlterTableBackfillColumnsRequest | RequestLike
    ) -> models.AlterTableBackfillColumnsResponse:
        """Start a job that fills a computed column.

        Starts a job that computes the values of one column for the rows that
        lack them, or only for the rows that the filter `where` selects; the
        call returns before the job is done. Concurrency, checkpoint sizes, task
        size, the number of fragments and the cluster to use may be set, as may
        the version to read; the flush interval is in seconds. A missing table
        answers TableNotFound, an unusable setting InvalidInput, a change made
        by someone else meanwhile ConcurrentModification, and a server without
        such jobs Unsupported. The job writes data; a repeated call may start a
        second one.

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
        raise self._unsupported("AlterTableBackfillColumns")

    def refresh_materialized_view(
        self, request: models.RefreshMaterializedViewRequest | RequestLike
    ) -> models.RefreshMaterializedViewResponse:
        """Start a job that refreshes a materialized view.

        Starts a job that brings the rows of a materialized view up to its
        source, to the source version `src_version` if that is given; the call
        returns before the job is done. Concurrency, task size, rows per
        fragment, the cluster and a cap on the output may be set. A missing view
        answers TableNotFound, an unusable setting InvalidInput, a change made
        by someone else meanwhile ConcurrentModification, and a server without
        materialized views Unsupported. The job writes data of the view and only
        reads its source.

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
        raise self._unsupported("RefreshMaterializedView")

    def create_materialized_view(
        self, request: models.CreateMaterializedViewRequest | RequestLike
    ) -> models.CreateMaterializedViewResponse:
        """Create a materialized view.

        Makes a table whose rows are derived from others by the given source
        query; the kind is `query`, `udtf` (a table function) or `chunker`, and
        the last two need `udtf_spec`. With `with_no_data=true` (default) only
        the definition is stored, otherwise a job that fills the view is started
        as well; `auto_refresh` asks the server to keep it up to date. A missing
        parent namespace answers NamespaceNotFound, a missing source table
        TableNotFound, a definition that cannot be used InvalidInput, a change
        made by someone else meanwhile ConcurrentModification, and a server
        without materialized views Unsupported. Source tables are only read.

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
        raise self._unsupported("CreateMaterializedView")

    def create_table_index(
        self, request: models.CreateTableIndexRequest | RequestLike
    ) -> models.CreateTableIndexResponse:
        """Create an index on a column.

        Builds a vector, full-text or scalar index of the given `index_type` on
        one column; name, distance type and the settings of that type are
        optional. An index of that name answers TableIndexAlreadyExists, an
        unknown column TableColumnNotFound, and an index type or setting that
        does not fit the column InvalidInput. A missing table answers
        TableNotFound, and a commit by someone else meanwhile
        ConcurrentModification. The column is read and index files are written,
        rows stay as they are; ListTableIndices tells how far the index is.

        Args:
            request: a `CreateTableIndexRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id where the catalog has one.

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
        raise self._unsupported("CreateTableIndex")

    def create_table_scalar_index(
        self, request: models.CreateTableIndexRequest | RequestLike
    ) -> models.CreateTableScalarIndexResponse:
        """Create a scalar index on a column.

        Builds an index for filters on one column; the request is that of
        CreateTableIndex with an `index_type` for scalars, and settings for
        vectors have no place in it. An index of that name answers
        TableIndexAlreadyExists, an unknown column TableColumnNotFound, and an
        index type or setting that does not fit the column InvalidInput. A
        missing table answers TableNotFound, and a commit by someone else
        meanwhile ConcurrentModification. The column is read and index files are
        written, rows stay as they are.

        Args:
            request: a `CreateTableIndexRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id where the catalog has one.

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
        raise self._unsupported("CreateTableScalarIndex")

    def list_table_indices(
        self, request: models.ListTableIndicesRequest | RequestLike
    ) -> models.ListTableIndicesResponse:
        """List the indexes of a table.

        Lists the indexes of a table, page by page, for the current version or
        the version given, which is a whole number from 1 up; `branch` chooses a
        branch other than the main one. Here `page_token` and `limit` are fields
        of the body. A missing table answers TableNotFound, and a page token of
        another listing InvalidInput. Only metadata is read.

        Args:
            request: a `ListTableIndicesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The indexes on this page with name, UUID, columns, status and what
            else is known, and a page token while more follow.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListTableIndices, ``POST /v1/table/{id}/index/list``.
        """
        raise self._unsupported("ListTableIndices")

    def describe_table_index_stats(
        self, request: models.DescribeTableIndexStatsRequest | RequestLike
    ) -> models.DescribeTableIndexStatsResponse:
        """Read the statistics of an index.

        Returns the kind of one index and how many rows it covers, for the
        current version or the version given; `branch` chooses a branch other
        than the main one. An index that is not there answers
        TableIndexNotFound, and a missing table TableNotFound. An `index_name`
        in the body that differs from the one in the route answers InvalidInput.
        Rows are not read.

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
        raise self._unsupported("DescribeTableIndexStats")

    def drop_table_index(
        self, request: models.DropTableIndexRequest | RequestLike
    ) -> models.DropTableIndexResponse:
        """Drop an index from a table.

        Takes an index off a table and commits that as a new version; `branch`
        chooses a branch other than the main one. An index that is not there
        answers TableIndexNotFound, so a repeat of a call that went through
        answers that too; a missing table answers TableNotFound. Rows stay as
        they are, queries just no longer use the index.

        Args:
            request: a `DropTableIndexRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableIndexNotFoundError: code 6.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DropTableIndex, ``POST /v1/table/{id}/index/{index_name}/drop``.
        """
        raise self._unsupported("DropTableIndex")

    def list_table_tags(
        self, request: models.ListTableTagsRequest | RequestLike
    ) -> models.ListTableTagsResponse:
        """List the tags of a table.

        Lists the tags of a table, page by page, each with the version it stands
        for. A missing table answers TableNotFound, and a page token of another
        listing InvalidInput. Rows are not read.

        Args:
            request: a `ListTableTagsRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The tags on this page by name, each with its version, branch and
            manifest size in bytes, and a page token while more follow.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListTableTags, ``POST /v1/table/{id}/tags/list``.
        """
        raise self._unsupported("ListTableTags")

    def get_table_tag_version(
        self, request: models.GetTableTagVersionRequest | RequestLike
    ) -> models.GetTableTagVersionResponse:
        """Look up the version a tag stands for.

        Returns the version that a tag points to, and its branch if that is not
        the main one. A tag that is not there answers TableTagNotFound, and a
        missing table TableNotFound. Rows are not read.

        Args:
            request: a `GetTableTagVersionRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The version of the tag, a whole number from 1 up, and its branch.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableTagNotFoundError: code 8.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: GetTableTagVersion, ``POST /v1/table/{id}/tags/version``.
        """
        raise self._unsupported("GetTableTagVersion")

    def declare_table(
        self, request: models.DeclareTableRequest | RequestLike
    ) -> models.DeclareTableResponse:
        """Reserve a table name before data is written.

        Adds a table to the catalog without writing a dataset, so that a client
        can write the data to the returned location itself; until then the table
        is declared only. Without a location the catalog's default rule gives
        one, and where no rule applies the answer is InvalidInput. A table of
        that name answers TableAlreadyExists, a missing parent namespace
        NamespaceNotFound, and a change made by someone else meanwhile
        ConcurrentModification. With `vend_credentials` the caller says whether
        the storage options should carry credentials. No rows are written or
        deleted.

        Args:
            request: a `DeclareTableRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The location, storage options and properties of the table, whether
            the catalog manages its versions, and a transaction id where there
            is one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableAlreadyExistsError: code 5.
            ConcurrentModificationError: code 14.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DeclareTable, ``POST /v1/table/{id}/declare``.
        """
        raise self._unsupported("DeclareTable")

    def create_table_tag(
        self, request: models.CreateTableTagRequest | RequestLike
    ) -> models.CreateTableTagResponse:
        """Create a tag for a version of a table.

        Names a version of the table, which also keeps that version from being
        cleaned up; the version is a whole number from 1 up, on the branch given
        or the main one. A tag of that name answers TableTagAlreadyExists, a
        version that is not there TableVersionNotFound, a missing table
        TableNotFound, and a change made by someone else meanwhile
        ConcurrentModification. A name that cannot be a tag answers
        InvalidInput. Rows and versions stay as they are.

        Args:
            request: a `CreateTableTagRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id where the catalog has one.

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
        raise self._unsupported("CreateTableTag")

    def delete_table_tag(
        self, request: models.DeleteTableTagRequest | RequestLike
    ) -> models.DeleteTableTagResponse:
        """Delete a tag of a table.

        Removes a tag; the version it stood for stays, but may be cleaned up
        from then on. A tag that is not there answers TableTagNotFound, so a
        repeat of a call that went through answers that too; a missing table
        answers TableNotFound. Rows stay as they are.

        Args:
            request: a `DeleteTableTagRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableTagNotFoundError: code 8.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DeleteTableTag, ``POST /v1/table/{id}/tags/delete``.
        """
        raise self._unsupported("DeleteTableTag")

    def update_table_tag(
        self, request: models.UpdateTableTagRequest | RequestLike
    ) -> models.UpdateTableTagResponse:
        """Point a tag to another version.

        Makes an existing tag stand for another version, a whole number from 1
        up, on the branch given or the main one. A tag that is not there answers
        TableTagNotFound, a version that is not there TableVersionNotFound, a
        missing table TableNotFound, and a change made by someone else meanwhile
        ConcurrentModification. Rows and versions stay as they are.

        Args:
            request: an `UpdateTableTagRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id where the catalog has one.

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
        raise self._unsupported("UpdateTableTag")

    def list_table_branches(
        self, request: models.ListTableBranchesRequest | RequestLike
    ) -> models.ListTableBranchesResponse:
        """List the branches of a table.

        Lists the branches of a table, page by page, each with the branch and
        version it was made from. A missing table answers TableNotFound, and a
        page token of another listing InvalidInput. Rows are not read.

        Args:
            request: a `ListTableBranchesRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            The branches on this page by name, each with its parent, time of
            making and manifest size in bytes, and a page token while more
            follow.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: ListTableBranches, ``POST /v1/table/{id}/branches/list``.
        """
        raise self._unsupported("ListTableBranches")

    def create_table_branch(
        self, request: models.CreateTableBranchRequest | RequestLike
    ) -> models.CreateTableBranchResponse:
        """Create a branch of a table.

        Starts a branch with the given name, from the version `from_version` of
        the branch `from_branch`; without these it starts from the latest
        version of the main branch. Later writes to the branch do not show on
        the branch it was made from. A branch of that name answers
        TableBranchAlreadyExists, and a missing table TableNotFound. A branch or
        version to start from that is not there answers TableNotFound, and a
        name that cannot be a branch InvalidInput. Data files are shared, not
        copied.

        Args:
            request: a `CreateTableBranchRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableBranchAlreadyExistsError: code 23.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: CreateTableBranch, ``POST /v1/table/{id}/branches/create``.
        """
        raise self._unsupported("CreateTableBranch")

    def delete_table_branch(
        self, request: models.DeleteTableBranchRequest | RequestLike
    ) -> models.DeleteTableBranchResponse:
        """Delete a branch of a table.

        Removes a branch, and with it the versions that exist only there. A
        branch that is not there answers TableBranchNotFound, so a repeat of a
        call that went through answers that too; a missing table answers
        TableNotFound. The main branch and other branches keep their rows; a
        branch that a tag or another branch refers to may be refused, with
        InvalidTableState.

        Args:
            request: a `DeleteTableBranchRequest`, a dict, or an object with
                ``model_dump()``.

        Returns:
            A transaction id where the catalog has one.

        Raises:
            NamespaceNotFoundError: code 1.
            TableNotFoundError: code 4.
            TableBranchNotFoundError: code 22.
            LanceNamespaceError: any of the common codes 0, 13, 15, 16, 17, 18,
                19, 21.

        Source: DeleteTableBranch, ``POST /v1/table/{id}/branches/delete``.
        """
        raise self._unsupported("DeleteTableBranch")

    def describe_transaction(
        self, request: models.DescribeTransactionRequest | RequestLike
    ) -> models.DescribeTransactionResponse:
        """Read the status of a transaction.

        Looks up a transaction by its identifier, such as the id that another
        answer gave. A transaction that the server does not know, or no longer
        keeps, answers TransactionNotFound, and a server without transactions
        Unsupported. Data is not touched.

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
        raise self._unsupported("DescribeTransaction")

    def alter_transaction(
        self, request: models.AlterTransactionRequest | RequestLike
    ) -> models.AlterTransactionResponse:
        """Change the status or properties of a transaction.

        Carries out one or more actions on a transaction, in the order given;
        each sets its status, sets a property or unsets one, the last two with a
        mode for a key that is there already or is missing. A transaction that
        the server does not know answers TransactionNotFound, a change made by
        someone else meanwhile, or one that the present status no longer allows,
        ConcurrentModification, and an empty list or an action it cannot read
        InvalidInput. A server without transactions answers Unsupported.

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
        raise self._unsupported("AlterTransaction")

    def list_operations(
        self, request: models.ListOperationsRequest | RequestLike | None = None
    ) -> models.ListOperationsResponse:
        """List the operations this server supports.

        Lists the operations that a client can call here, before it tries;
        whatever is not in it answers Unsupported. It takes no identifier and
        looks at neither catalog objects nor data.

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
        raise self._unsupported("ListOperations")

    def alter_namespace(
        self, request: models.AlterNamespaceRequest | RequestLike
    ) -> models.AlterNamespaceResponse:
        """Set and unset properties of a namespace.

        Sets the properties in `set_properties` and removes the keys in
        `unset_properties`; other properties stay. A key in both answers
        InvalidInput and changes nothing, while unsetting a key that is not
        there is fine. A missing namespace answers NamespaceNotFound, a change
        made by someone else meanwhile ConcurrentModification, and a catalog
        that cannot change properties Unsupported. Tables and data are not
        touched.

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
        raise self._unsupported("AlterNamespace")

    def alter_table(
        self, request: models.AlterTableRequest | RequestLike
    ) -> models.AlterTableResponse:
        """Set and unset properties of a table.

        Sets the properties in `set_properties` and removes the keys in
        `unset_properties` of the table's entry in the catalog; other properties
        stay. A key in both answers InvalidInput and changes nothing, while
        unsetting a key that is not there is fine. A missing table answers
        TableNotFound, a change made by someone else meanwhile
        ConcurrentModification, and a catalog that cannot change tables
        Unsupported. The dataset is not touched and gets no new version.

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
        raise self._unsupported("AlterTable")
