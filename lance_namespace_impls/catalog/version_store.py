"""The interface of the store for the versions of catalog-managed tables.

The catalog determines the latest version of an implementation-managed table. A writer stages a
manifest next to the existing manifests, and requests that the catalog make it a version. If several
writers compete, the catalog accepts one of the manifests, and only then renames the file to its
final name. A manifest in storage that has no entry in the store is not a version of the table.

Source: the general specification, "Implementation Managed Table".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

from attrs import field, frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    TableVersionNotFoundError,
    TransactionNotFoundError,
)

from ..core.identifiers import Identifier, format_identifier
from .entry import TableEntry

__all__ = [
    "AddTable",
    "AddVersion",
    "Change",
    "StoredVersion",
    "RemoveTable",
    "RemoveVersions",
    "TransactionRecord",
    "VersionStore",
    "transaction_not_found",
    "version_not_found",
    "version_conflict",
]


@frozen(kw_only=True)
class StoredVersion:
    """One version of a table or of one of its branches, as stored."""

    version: int
    manifest_path: str
    """Path of the manifest in the table's object store: a key, or an absolute path without the
    leading slash. Until `VersionStore.published` is called, this is the path of the staged file.
    """
    manifest_size: int | None = None
    e_tag: str | None = None
    timestamp_millis: int
    """Time at which the catalog accepted the version, in milliseconds since 1970."""
    metadata: Mapping[str, str] = field(factory=dict)
    origin: str | None = None
    """File name under which the writer staged the manifest. It distinguishes a repeated request
    from a request of another writer, and is kept after the manifest is renamed.
    """


@frozen(kw_only=True)
class AddVersion:
    """A new version, valid only if the version on which it is based is still the latest."""

    table: TableEntry
    branch: str | None
    """None means the main branch."""
    version: StoredVersion
    onto: int | None
    """The version that must be the latest, or None if there must be no version yet."""


@frozen(kw_only=True)
class RemoveVersions:
    """Versions to remove from the store; missing versions are ignored."""

    table: TableEntry
    branch: str | None
    versions: Collection[int] | None
    """None removes all versions of the branch."""


@frozen(kw_only=True)
class AddTable:
    """A table to add without versions; see `CatalogBase.add_table`."""

    id: Identifier
    location: str
    properties: Mapping[str, str]


@frozen(kw_only=True)
class RemoveTable:
    """A table to remove from the catalog with its versions; its data is not deleted."""

    table: TableEntry


Change: TypeAlias = AddVersion | RemoveVersions | AddTable | RemoveTable


@frozen(kw_only=True)
class TransactionRecord:
    """A transaction as recorded in the store."""

    id: str
    status: str
    properties: Mapping[str, str]


class VersionStore(ABC):
    """The versions of a catalog's managed tables.

    A store identifies a table by identifier and location, so a later table with the same name is a
    different table. For a removed table, the store returns no versions or raises TableNotFoundError
    (code 4). Other failures are exceptions of the backend, which `recognize_failure` converts.
    """

    @abstractmethod
    def latest(self, table: TableEntry, branch: str | None) -> StoredVersion | None:
        """Return the latest version, or None if there is none."""

    @abstractmethod
    def version(self, table: TableEntry, branch: str | None, number: int) -> StoredVersion | None:
        """Return one version, or None if it does not exist."""

    @abstractmethod
    def versions(
        self, table: TableEntry, branch: str | None, after: int | None, descending: bool
    ) -> Iterator[StoredVersion]:
        """Yield the versions in order, starting after `after`; each one is read when needed."""

    @abstractmethod
    def commit(self, changes: Sequence[Change]) -> str:
        """Commit all changes atomically and return the transaction's identifier.

        Raises:
            ConcurrentModificationError: code 14, a version is not based on the latest version (with
                the message of `version_conflict`), or the table of an `AddVersion` was removed or
                replaced.
            NamespaceNotFoundError: code 1, for an `AddTable`.
            TableAlreadyExistsError: code 5, for an `AddTable`.
            TableNotFoundError: code 4, for a `RemoveTable` or `RemoveVersions`; for an `AddVersion`
                instead of code 14.
        """

    @abstractmethod
    def published(self, table: TableEntry, branch: str | None, version: StoredVersion) -> None:
        """Store the final path of a version's manifest; do nothing if the version was removed."""

    def exclusively(self, table: TableEntry) -> AbstractContextManager[None]:
        """Return a lock that prevents commits to a table, or a no-op if the store has no locks."""
        return nullcontext()

    def transaction(self, identifier: str) -> TransactionRecord:
        """Return a transaction.

        Raises:
            TransactionNotFoundError: code 10.
        """
        raise transaction_not_found(identifier)

    def change_transaction(
        self, identifier: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> TransactionRecord:
        """Change a transaction's properties atomically and return the resulting record.

        Args:
            identifier: the transaction.
            change: called with the current properties, and returns the new ones; if it raises an
                error, nothing is changed.

        Raises:
            TransactionNotFoundError: code 10.
        """
        raise transaction_not_found(identifier)


def version_conflict(
    table: TableEntry, branch: str | None, wanted: int, latest: StoredVersion | None
) -> ConcurrentModificationError:
    """Build the error (code 14) for a version that is not based on the latest version."""
    what = f"table {format_identifier(table.id)}" + (f", branch {branch}" if branch else "")
    if latest is None:
        found = "the table has no versions"
    else:
        by = f" by {latest.origin}" if latest.origin else ""
        found = f"version {latest.version} is the latest and was committed first{by}"
    return ConcurrentModificationError(
        f"{what}: version {wanted} cannot be committed: {found}; open the table again "
        "and commit on top of that version"
    )


def version_not_found(
    table: TableEntry, branch: str | None, version: int | None
) -> TableVersionNotFoundError:
    """Build the error for a version that is not in the store (code 11)."""
    what = f"table {format_identifier(table.id)}" + (f", branch {branch}" if branch else "")
    return TableVersionNotFoundError(
        f"{what} has no version {version}" if version is not None else f"{what} has no versions"
    )


def transaction_not_found(identifier: str) -> TransactionNotFoundError:
    """Build the error for an unknown transaction (code 10)."""
    return TransactionNotFoundError(f"transaction {identifier} does not exist")
