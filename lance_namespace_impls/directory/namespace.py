"""The directory backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from lance_namespace_client.errors import (
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    UnsupportedError,
)

from ..catalog.capabilities import Capabilities
from ..catalog.catalog import CatalogNamespace
from ..catalog.entry import TableEntry
from ..catalog.errors import namespace_not_found
from ..catalog.services.folders import Folders
from ..core.errors import first_line
from ..core.file_stamps import Stamp
from ..core.identifiers import Identifier, format_identifier
from ..core.location import is_uri
from ..core.stores import store_failure
from ..tables.drop import TableFolder
from .config import DirectoryConfig
from .dataset_cache import DatasetCache
from .filesystem import Directory
from .flat import FlatTables
from .manifest import Manifest
from .migration import Migration, to_flat, to_manifest
from .mirrored import RootTables
from .names import SUFFIX, check_level, check_name, object_id
from .nested import NestedTables
from .versions import ManifestVersions

if TYPE_CHECKING:
    from ..partitioned.store import PartitionStore

__all__ = ["DirectoryConfig", "DirectoryNamespace"]

Tables: TypeAlias = FlatTables | NestedTables

_MAKES = ("CreateNamespace", "CreateTable", "DeclareTable", "RegisterTable")


class DirectoryNamespace(CatalogNamespace):
    """The tables in one directory.

    A table is a subdirectory, ``name/`` or ``name.lance/``; new tables are ``name.lance/``, which
    pylance's own directory namespace also finds. A subdirectory is a table regardless of its
    contents. Properties are stored in the file ``.lance-properties`` in the table's directory.

    On local storage, if several processes concurrently create, register, rename or drop the same
    table, exactly one of them succeeds. On object stores, this applies only to CreateTable, whose
    commit is atomic; two processes that concurrently declare the same name may both succeed. Object
    stores do not support RenameTable.

    A directory with a manifest (a Lance table ``__manifest`` in pylance's format) also has
    namespaces of any depth; their tables are stored in ``<8 hex digits>_<identifier>/``.

    Source: the general specification, "Lance Directory Namespace".
    """

    config_type = DirectoryConfig
    config: DirectoryConfig
    capabilities = Capabilities(
        namespace_depth=0,
        storage_only=True,
        unsupported=dict.fromkeys(
            ("CreateNamespace", "DropNamespace", "AlterNamespace"),
            "without a manifest, a directory namespace has only one level and no child namespaces",
        ),
    )

    with_manifest = Capabilities(
        namespace_depth=None,
        storage_only=True,
        cascade=True,
        rename_across=True,
        managed_versioning=True,
        unsupported=dict.fromkeys(
            ("DescribeTransaction", "AlterTransaction"),
            "a manifest stores only namespaces, tables and versions; pylance reads nothing else",
        ),
    )
    """The capabilities of a directory that has a manifest."""

    def __init__(self, config: DirectoryConfig) -> None:
        super().__init__(config)
        self._directory = Directory(config.root, config.storage)
        self._manifest = Manifest(self._directory, self.lance_session, config.commit_retries)
        self._flat = FlatTables(self._directory, self)
        self._datasets = DatasetCache(self._stamp_of)
        self._nested = NestedTables(self._directory, self, self._manifest)
        without = self._flat if config.manifest == "auto" else None
        self._root = (
            RootTables(self._nested, without) if config.dir_listing_enabled else self._nested
        )
        self.version_store = ManifestVersions(self._nested, lists_root=config.dir_listing_enabled)
        self._without_manifest = self.capabilities
        if not self._directory.is_local:
            cannot = {
                "RenameTable": "object stores cannot rename; copy the table and drop the old one"
            }
            known = self.capabilities.unsupported
            self._without_manifest = attrs.evolve(
                self.capabilities, unsupported={**known, **cannot}
            )
        self._has_manifest = config.manifest == "true"
        if config.manifest == "auto" and self._directory.is_local:
            self._has_manifest = self._manifest.exists()
        self._adapt()

    def _adapt(self) -> None:
        self.capabilities = self.with_manifest if self._has_manifest else self._without_manifest

    def _follow(self) -> None:
        """Detect whether a manifest was added to the directory, and complete interrupted moves."""
        if self.config.manifest == "auto" and (self._directory.is_local or not self._has_manifest):
            has_manifest = self._manifest.exists()
            if has_manifest != self._has_manifest:
                self._has_manifest = has_manifest
                self._adapt()
        if self._has_manifest and isinstance(self._root, RootTables):
            self._root.settle()

    user_methods = CatalogNamespace.user_methods | {"migrate"}

    @property
    def local_path(self) -> str | None:
        """The path of the directory, or None if it is on an object store or may have a manifest."""
        return self._directory.root if self._flat.is_plain() else None

    def _has_stamps(self) -> bool:
        """Return whether a table depends only on its own directory and on its name in the root."""
        # Operations of subclasses may depend on other paths, so subclasses have no stamps.
        return (
            type(self) is DirectoryNamespace
            and self.config.manifest != "true"
            and self._flat.is_plain()
        )

    def _stamp_of(self, name: str) -> Stamp | None:
        return self._flat.stamp(name) if self._has_stamps() else None

    def cached_dataset(self, identifier: Identifier, opened: Callable[[], Any]) -> Any:
        if len(identifier) != 1:
            return opened()
        return self._datasets.get(identifier[0], opened)

    @property
    def max_concurrency(self) -> int:
        """Maximum number of concurrent lookups in a listing; threads are of no use on local
        storage.
        """
        return 1 if self._directory.is_local else super().max_concurrency

    def _tables(self, parent: Identifier) -> Tables:
        """Return the object that manages the tables of a namespace."""
        if not self._has_manifest:
            if parent:
                raise namespace_not_found(parent)
            return self._flat
        return self._nested if parent else self._root

    def _tables_of(self, entry: TableEntry) -> Tables:
        """Return the object that manages a table."""
        found = self._tables(entry.id[:-1])
        if isinstance(found, RootTables) and not found.keeps(entry):
            return self._nested
        return found

    def table_folder(self, entry: TableEntry) -> TableFolder:
        """Return a table's location as an object that can delete its contents."""
        return Folders(self).folder_of(entry)

    def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
        """Return the protocol error for an object store failure, or None for other errors."""
        kind = store_failure(error)
        return None if kind is None else kind(f"{what}: {first_line(error)}")

    def check_identifier(self, operation: str, request: Any) -> None:
        """Reject identifiers with an invalid depth, or names that refer to other directories."""
        self._follow()
        super().check_identifier(operation, request)
        names = list(getattr(request, "id", None) or ())
        new = []
        if operation == "RenameTable":
            new = [*(request.new_namespace_id or ()), request.new_table_name]
        if self._has_manifest:
            for name in (*names, *new):
                check_level(name)
        if not self._has_manifest or operation in _MAKES:
            new += names
        for name in new:
            check_name(name)

    def migrate(self, to: Literal["manifest", "flat"], *, dry_run: bool = False) -> Migration:
        """Add a manifest to the directory, or remove the manifest if no information would be lost.

        Args:
            to: ``manifest`` or ``flat``.
            dry_run: whether to change nothing and return a preview.

        Raises:
            NamespaceNotFoundError: code 1, there is no manifest to remove.
            InvalidInputError: code 13, a name cannot be stored in a manifest.
            InvalidTableStateError: code 19, information would be lost.
        """
        try:
            if to == "manifest":
                found = to_manifest(self._flat, self._manifest, dry_run=dry_run)
            else:
                root = RootTables(self._nested)
                root.settle()
                found = to_flat(root, self._flat, self._manifest, dry_run=dry_run)
        except LanceNamespaceError:
            raise
        except Exception as error:
            raise self.translate(error, f"migrate to {to}") from error
        return found

    def partition_store(self, identifier: Identifier) -> PartitionStore:
        """Return the storage of a partitioned namespace: a directory below this one, or this one.

        Raises:
            InvalidInputError: code 13, a name is not valid for a directory.
        """
        from .partitions import ManifestPartitions  # slow, and few directories have partitions

        if not identifier:
            return ManifestPartitions(self, self._nested, self._directory.root, lambda: None)
        for name in identifier:
            check_name(name)
        config = attrs.evolve(
            self.config,
            root=self._directory.location("/".join(identifier)),
            manifest="true",
            dir_listing_enabled=False,
            table_version_tracking_enabled=False,
        )
        below = DirectoryNamespace(config)
        name = f"partitioned namespace {format_identifier(identifier)}"
        return ManifestPartitions(
            below, below._nested, name, lambda: self._require_free(identifier)
        )

    def _require_free(self, identifier: Identifier) -> None:
        """Reject a partitioned namespace that would hide another object or look like a table."""
        self._follow()
        if not self._has_manifest:
            raise UnsupportedError(
                f"{format_identifier(identifier)}: in a directory without a manifest, every folder "
                "is a table; connect with manifest=true, or run `lance-ns migrate --to manifest`"
            )
        snapshot = self._manifest.snapshot()
        first = object_id(identifier[:1])
        if (snapshot is not None and snapshot.type_of(first) is not None) or (
            len(identifier) == 1
            and self._directory.kinds(f"{identifier[0]}{SUFFIX}")[0] != "missing"
        ):
            raise NamespaceAlreadyExistsError(
                f"{first} already exists in the directory; choose another name for the partitioned "
                "namespace"
            )

    # --- namespaces

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        self._directory.require_directory()
        return self._nested.namespace_properties(identifier) if self._has_manifest else {}

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        self._directory.require_directory()
        return self._nested.child_namespaces(parent, after) if self._has_manifest else iter(())

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        self._directory.require_directory()
        if len(identifier) == 1 and isinstance(self._root, RootTables):
            return self._root.add_namespace(identifier, properties)
        return self._nested.add_namespace(identifier, properties)

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        return self._nested.remove_namespace(identifier, cascade)

    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        return self._nested.change_namespace(identifier, changed, removed)

    # --- tables

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        return self._tables(parent).table_names(parent, after)

    def first_table_names(
        self, parent: Identifier, after: str | None, wanted: int | None
    ) -> Iterator[str]:
        tables = self._tables(parent)
        if isinstance(tables, NestedTables):
            return tables.names_only(parent, after)
        return self.table_names(parent, after)

    def load_table(self, identifier: Identifier) -> TableEntry:
        return self._tables(identifier[:-1]).load_table(identifier)

    def require_table(self, identifier: Identifier) -> None:
        if self._has_manifest:
            self.load_table(identifier)
        else:
            self._flat.require_table(identifier)

    def default_location(self, identifier: Identifier) -> str:
        return self._tables(identifier[:-1]).default_location(identifier)

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        return self._tables(identifier[:-1]).add_table(identifier, location, properties)

    def create_table_at_once(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        write: Callable[[TableEntry], int],
    ) -> tuple[TableEntry, int] | None:
        tables = self._tables(identifier[:-1])
        return tables.create_table_at_once(identifier, properties, write)

    def absolute_location(self, location: str) -> str:
        if is_uri(location) or location.startswith(("/", "~")):
            return location
        return self._directory.location(location)

    def resolved_location(self, location: str) -> str:
        # A relative location is a path in the directory, and is validated accordingly.
        is_relative = not (is_uri(location) or location.startswith(("/", "~")))
        return location if is_relative else super().resolved_location(location)

    def adopt_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        return self._tables(identifier[:-1]).adopt_table(identifier, location, properties)

    def remove_table(self, entry: TableEntry) -> None:
        self._tables_of(entry).remove_table(entry)

    def remove_table_and_data(self, entry: TableEntry) -> None:
        """Delete a table's directory.

        Raises:
            InvalidTableStateError: code 19, the directory contains files that Lance did not write;
                in this case, nothing is deleted.
        """
        self._tables_of(entry).remove_table_and_data(entry)

    def withdraw_table(self, entry: TableEntry) -> None:
        self._tables_of(entry).withdraw_table(entry)

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        # The root handles moves into and out of the root, because these also rename a directory.
        old = self._tables_of(entry)
        keeper = old if isinstance(old, RootTables) else self._tables(new[:-1])
        keeper.move_table(entry, new)

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        return self._tables_of(entry).change_table(entry, changed, removed)

    def entry_to_add(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        tables = self._tables(identifier[:-1])
        if not isinstance(tables, NestedTables):
            return super().entry_to_add(identifier, location, properties)
        return tables.entry(identifier, tables.row_to_add(identifier, location, properties))

    def has_data(self, entry: TableEntry) -> bool:
        return super().has_data(entry) if entry.managed else self._flat.has_data(entry)

    def initial_write_lock(self, entry: TableEntry, *, wait: bool) -> AbstractContextManager[None]:
        return self._tables_of(entry).initial_write_lock(entry, wait=wait)

    def data_written(self, entry: TableEntry) -> None:
        self._flat.data_written(entry)
