"""A table in a namespace; the driver and each worker look it up separately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    UnsupportedError,
)

from ..core.identifiers import format_identifier
from ..core.options import overlaid
from ..core.storage import TableStorage
from ..tables.dataset import open_dataset
from .failures import protocol_error
from .secrets import Sealed

if TYPE_CHECKING:
    from lance_namespace_client.models import DescribeTableResponse

    from ..catalog.namespace import Namespace
    from ..partitioned.store import PartitionStore

__all__ = ["PartitionedTarget", "Target", "partitioned_target"]


@frozen(kw_only=True)
class Target:
    """A table in a namespace; each worker looks it up again to receive its own credentials."""

    namespace: Namespace
    table: tuple[str, ...]
    _sealed: Sealed[Namespace] | None = field(default=None, eq=False, repr=False)
    """The encrypted namespace, if this object was received from another process."""

    @property
    def name(self) -> str:
        """Name of the table in messages."""
        return f"table {format_identifier(self.table)}"

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.namespace.config.secrets():
            return (_target, (type(self), self.namespace, self.table))
        sealed = self._sealed or Sealed(self.namespace)
        return (_sealed_target, (type(self), sealed, self.table))

    def locate(self) -> tuple[TableStorage, bool]:
        """Return the storage of the table, and whether the table has data or is only declared.

        Raises:
            TableNotFoundError: code 4.
        """
        answer, storage = self.describe(check_declared=True)
        return storage, not answer.is_only_declared

    def storage(self) -> TableStorage:
        """Return the storage of the table.

        Raises:
            TableNotFoundError: code 4.
        """
        return self.describe()[1]

    def storage_at(self, location: str) -> TableStorage:
        """Return the current storage of the table, which must still be at `location`.

        Raises:
            ConcurrentModificationError: code 14, the table has moved to another location.
        """
        storage = self.storage()
        if storage.location != location:
            raise ConcurrentModificationError(
                f"{self.name} moved concurrently from {location} to {storage.location}; try again"
            )
        return storage

    def open(
        self,
        storage: TableStorage,
        version: int | str | None = None,
        branch: str | None = None,
    ) -> Any:
        """Open the table's dataset at a version, by default the latest.

        Raises:
            TableTagNotFoundError: code 8.
            TableVersionNotFoundError: code 11.
            InvalidTableStateError: code 19, the table has no data.
            TableBranchNotFoundError: code 22.
        """
        try:
            return open_dataset(storage, version=version, branch=branch)
        except Exception as error:
            raise self.failure(error, "opening") from error

    def failure(self, error: Exception, doing: str) -> LanceNamespaceError:
        """Return the protocol error for a failure, without secrets."""
        return protocol_error(error, f"{doing} {self.name}", self.namespace.config.secrets())

    def already_exists(self) -> TableAlreadyExistsError:
        """Return the error for creating a table that already has data (code 5)."""
        return TableAlreadyExistsError(
            f"{self.name} already exists: append to it, overwrite it or use another name"
        )

    def describe(self, **more: Any) -> tuple[DescribeTableResponse, TableStorage]:
        """Return the description of the table and its storage.

        Args:
            more: fields of the request.

        Raises:
            TableNotFoundError: code 4.
        """
        answer = self.namespace.describe_table({"id": list(self.table), **more})
        options = overlaid(self.namespace.config.storage, answer.storage_options or {})
        storage = TableStorage(
            location=str(answer.location),
            options=options,
            renewed_by=(self.namespace, self.table),
            managed=bool(answer.managed_versioning),
        )
        return answer, storage


@frozen(kw_only=True)
class PartitionedTarget(Target):
    """A partitioned namespace; each worker connects to it with its own credentials."""

    @property
    def name(self) -> str:
        """Name of the partitioned namespace in messages."""
        return f"partitioned namespace {format_identifier(self.table)}"

    def store(self) -> PartitionStore:
        """Return the storage of the partitioned namespace.

        Raises:
            UnsupportedError: code 0, the catalog cannot hold partitioned namespaces.
        """
        return self.namespace.partition_store(self.table)


def partitioned_target(target: Target) -> PartitionedTarget | None:
    """Return the partitioned namespace with the identifier of a target, or None if there is none."""
    found = PartitionedTarget(namespace=target.namespace, table=target.table)
    try:
        found.store().load()
    except (UnsupportedError, NamespaceNotFoundError, InvalidInputError):
        return None  # InvalidInputError: no directory can have this name
    return found


def _target(cls: type[Target], namespace: Namespace, table: tuple[str, ...]) -> Target:
    return cls(namespace=namespace, table=table)


def _sealed_target(
    cls: type[Target], namespace: Sealed[Namespace], table: tuple[str, ...]
) -> Target:
    return cls(namespace=namespace.value, table=table, sealed=namespace)
