"""Where a catalog keeps the versions of the tables that it manages.

Of an implementation-managed table the catalog holds the latest version. A writer stages a manifest
beside the final ones and asks the catalog to make it a version; the catalog takes it or another
writer's, never both, and only then gives the file its final name. What is in storage and not in the
store is no version of the table.

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
    "KeptVersion",
    "RemoveTable",
    "RemoveVersions",
    "TransactionRecord",
    "VersionStore",
    "transaction_not_found",
    "version_not_found",
    "version_taken",
]


@frozen(kw_only=True)
class KeptVersion:
    """One version of a table or of one of its branches, as the store keeps it."""

    version: int
    manifest_path: str
    """Where the manifest is, as the object store of the table names it: a key or an absolute path
    without its first slash. It is staged until `VersionStore.published` is called."""
    manifest_size: int | None = None
    e_tag: str | None = None
    timestamp_millis: int
    """When the catalog took it, in milliseconds since 1970."""
    metadata: Mapping[str, str] = field(factory=dict)
    origin: str | None = None
    """File name under which the writer staged the manifest: tells a writer's repeated request from
    another writer's. Kept when the manifest has its final name."""


@frozen(kw_only=True)
class AddVersion:
    """A new version, the latest if the latest is still the one that its writer built on."""

    table: TableEntry
    branch: str | None
    """None is the main branch."""
    version: KeptVersion
    onto: int | None
    """The version that must be the latest; None where there must be none yet."""


@frozen(kw_only=True)
class RemoveVersions:
    """Forget versions; one that is not there is no error."""

    table: TableEntry
    branch: str | None
    versions: Collection[int] | None
    """None forgets all of the branch."""


@frozen(kw_only=True)
class AddTable:
    """Add a table without versions, as `CatalogBase.add_table` does."""

    id: Identifier
    location: str
    properties: Mapping[str, str]


@frozen(kw_only=True)
class RemoveTable:
    """Remove a table and its versions from the catalog; its data stays."""

    table: TableEntry


Change: TypeAlias = AddVersion | RemoveVersions | AddTable | RemoveTable


@frozen(kw_only=True)
class TransactionRecord:
    """What is known of a transaction."""

    id: str
    status: str
    properties: Mapping[str, str]


class VersionStore(ABC):
    """The versions of a catalog's managed tables.

    A store finds a table by identifier and location: a later table of the same name is another.
    Of a table that has gone it finds no version, or says that it is missing (code 4).
    Its failures are those of the backend, which `recognize_failure` knows.
    """

    @abstractmethod
    def latest(self, table: TableEntry, branch: str | None) -> KeptVersion | None:
        """Return the latest version; None where there is none."""

    @abstractmethod
    def version(self, table: TableEntry, branch: str | None, number: int) -> KeptVersion | None:
        """Return one version; None where there is no such."""

    @abstractmethod
    def versions(
        self, table: TableEntry, branch: str | None, after: int | None, descending: bool
    ) -> Iterator[KeptVersion]:
        """Return the versions in order, from after `after`, read as they are asked for."""

    @abstractmethod
    def commit(self, changes: Sequence[Change]) -> str:
        """Commit all changes at once, or none, and return the transaction's identifier.

        Raises:
            ConcurrentModificationError: code 14, a version is not onto the latest; the message is
                that of `version_taken`. Or the table of an `AddVersion` has gone, or is another one.
            NamespaceNotFoundError: code 1, of an `AddTable`.
            TableAlreadyExistsError: code 5, of an `AddTable`.
            TableNotFoundError: code 4, of a `RemoveTable` or `RemoveVersions`; of an `AddVersion` in
                place of code 14.
        """

    @abstractmethod
    def published(self, table: TableEntry, branch: str | None, version: KeptVersion) -> None:
        """Note the final path of a version's manifest; nothing happens where the version has gone."""

    def exclusively(self, table: TableEntry) -> AbstractContextManager[None]:
        """Return what keeps others from committing to a table; nothing where the store cannot."""
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
        """Change a transaction's properties at once and return it as it then is.

        Args:
            identifier: the transaction.
            change: gives the new properties for the old ones, or raises; then nothing changes.

        Raises:
            TransactionNotFoundError: code 10.
        """
        raise transaction_not_found(identifier)


def version_taken(
    table: TableEntry, branch: str | None, wanted: int, latest: KeptVersion | None
) -> ConcurrentModificationError:
    """Build the error for a version that is not onto the latest (code 14), naming the winner."""
    what = f"table {format_identifier(table.id)}" + (f", branch {branch}" if branch else "")
    if latest is None:
        found = "it has no version"
    else:
        by = f" by {latest.origin}" if latest.origin else ""
        found = f"version {latest.version} is the latest, committed first{by}"
    return ConcurrentModificationError(
        f"{what}: version {wanted} cannot be committed: {found}; open the table again and commit on "
        "top of that"
    )


def version_not_found(
    table: TableEntry, branch: str | None, version: int | None
) -> TableVersionNotFoundError:
    """Build the error for a version that is not in the store (code 11)."""
    what = f"table {format_identifier(table.id)}" + (f", branch {branch}" if branch else "")
    return TableVersionNotFoundError(
        f"{what} has no version {version}" if version is not None else f"{what} has no version yet"
    )


def transaction_not_found(identifier: str) -> TransactionNotFoundError:
    """Build the error for a transaction that is not known (code 10)."""
    return TransactionNotFoundError(f"transaction {identifier} does not exist")
