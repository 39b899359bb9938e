"""The storage of a partitioned namespace, which a backend's catalog provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from ..core.identifiers import Identifier
from .spec import PartitionSpec

if TYPE_CHECKING:
    from datetime import timedelta

    import lance
    import pyarrow as pa

    from lance_namespace_client.errors import LanceNamespaceError
    from lance_namespace_client.namespace import LanceNamespace

    from ..core.storage import TableStorage

__all__ = [
    "Key",
    "Partition",
    "PartitionFiles",
    "PartitionStore",
    "PartitionWrite",
    "State",
    "WriteMode",
    "keys_of",
]

Key = tuple[object, ...]
"""The values of a partition, in a form that can be compared and hashed."""


class WriteMode(Enum):
    """How a write handles the existing rows of the partitions to which it writes."""

    APPEND = "append"
    """Keep the existing rows."""
    OVERWRITE_PARTITIONS = "overwrite_partitions"
    """Replace the existing rows; keep the rows of other partitions."""


@frozen(kw_only=True)
class Partition:
    """One partition: a table that contains the rows with the same partition values."""

    table: Identifier
    """Identifier of the table, relative to the root of the partitioned namespace."""
    spec: int
    """Number of the spec by which the rows were partitioned."""
    values: Mapping[str, object]
    """The partition values, by the identifiers of their fields."""
    location: str
    """Location of the dataset."""
    version: int | None = None
    """Version of the dataset that readers use; None means the latest version."""
    branch: str | None = None
    """Branch of that version; None means the main branch."""
    tag: str | None = None
    """Tag that readers use instead of a version."""
    rows: int | None = None
    """Number of rows, if they were counted."""
    bytes: int | None = None
    """Size of the data files in bytes, if it was determined."""


@frozen(kw_only=True)
class State:
    """A consistent view of a partitioned namespace."""

    version: int
    """Version of the manifest."""
    schema: pa.Schema
    """Schema of all rows, with the ids of the columns."""
    specs: Mapping[int, PartitionSpec]
    """The specs, by their numbers."""
    tables: Mapping[int, pa.Table] = field(repr=False)
    """The partitions of each spec, with the columns ``object_id``, ``location``, ``read_version``,
    ``read_branch``, ``read_tag``, and one column for each field of the spec.
    """

    @property
    def spec(self) -> PartitionSpec:
        """The latest spec, by which new rows are partitioned."""
        return self.specs[max(self.specs)]


@frozen(kw_only=True)
class PartitionFiles:
    """The data files of one partition that a process wrote; they are not visible yet."""

    table: str
    """Object id of the partition's table."""
    folder: str
    """Folder of the dataset, relative to the root of the partitioned namespace."""
    is_new: bool
    """Whether the write creates the table."""
    values: pa.RecordBatch
    """One row with the partition values, in the order of the spec's fields."""
    fragments: Sequence[Mapping[str, Any]]
    """The fragments, in pylance's JSON form."""

    @property
    def paths(self) -> list[str]:
        """Paths of the files below the dataset's data folder."""
        return [file["path"] for fragment in self.fragments for file in fragment["files"]]


class PartitionWrite(ABC):
    """The files of one write, which become visible together."""

    @abstractmethod
    def add(self, key: Key, values: Sequence[pa.Scalar], rows: Iterable[pa.RecordBatch]) -> int:
        """Write rows of one partition to storage and return their number; they remain invisible.

        Several threads may call this method concurrently for different partitions.

        Args:
            key: the partition.
            values: its values, in the order of the spec's fields.
            rows: the rows.
        """

    @abstractmethod
    def files(self) -> list[PartitionFiles]:
        """Return the written files, which another process of the same job can `adopt`."""

    @abstractmethod
    def adopt(self, files: Iterable[PartitionFiles]) -> None:
        """Add files that other processes of the same job wrote to this write.

        Raises:
            ConcurrentModificationError: code 14, a partition was replaced during the write.
        """

    @abstractmethod
    def publish(self, mode: WriteMode) -> int:
        """Make all rows visible in one commit; return the version of the manifest.

        Raises:
            ConcurrentModificationError: code 14, other writers committed first in every attempt.
        """

    @abstractmethod
    def discard(self) -> None:
        """Delete the files that were written."""


class PartitionStore(ABC):
    """The storage of one partitioned namespace."""

    name: str
    """Name of the namespace, for messages."""

    @property
    @abstractmethod
    def namespace(self) -> LanceNamespace:
        """The namespace whose operations present the partitions as namespaces and tables."""

    @abstractmethod
    def failure(self, error: Exception, doing: str) -> LanceNamespaceError:
        """Return the protocol error for a failure, without secrets.

        Args:
            error: the failure.
            doing: the activity, as the start of the message.
        """

    @abstractmethod
    def load(self, version: int | None = None) -> State:
        """Return the current state, or that of an older version of the manifest.

        Raises:
            NamespaceNotFoundError: code 1, there is no partitioned namespace.
            TableVersionNotFoundError: code 11, the version was cleaned up.
            InvalidTableStateError: code 19, the metadata of the namespace cannot be read.
        """

    @abstractmethod
    def create(self, schema: pa.Schema, spec: PartitionSpec) -> None:
        """Create the namespace.

        Raises:
            NamespaceAlreadyExistsError: code 2.
        """

    @abstractmethod
    def evolve(self, spec: PartitionSpec) -> None:
        """Add a spec.

        Raises:
            ConcurrentModificationError: code 14, another client added a spec with that number.
        """

    @abstractmethod
    def begin(self, state: State, spec: PartitionSpec, *, job: str | None = None) -> PartitionWrite:
        """Begin a write to the partitions of a spec.

        Args:
            state: the state on which the write is based.
            spec: the spec.
            job: unique name of a write by several processes, which therefore choose the same tables
                for new partitions. Each process then discards only its own files.
        """

    @abstractmethod
    def delete_files(self, files: Mapping[str, Collection[str]], *, new: Collection[str]) -> None:
        """Delete data files that no version references.

        Args:
            files: paths of the files, by the folders of their datasets; missing files are skipped.
            new: folders that are deleted completely because no table uses them.
        """

    @property
    @abstractmethod
    def journal(self) -> TableStorage:
        """The dataset in whose folder writes by several processes record their files."""

    @abstractmethod
    def open(self, partition: Partition) -> lance.LanceDataset:
        """Open the dataset of a partition, at the version that readers use."""

    @abstractmethod
    def partitions(self, state: State, spec: int, rows: pa.Table) -> list[Partition]:
        """Return rows of `State.tables` as partitions."""

    @abstractmethod
    def clean(self, older_than: timedelta, *, dry_run: bool) -> tuple[int, int]:
        """Delete the tables and the records of writes that were never committed.

        Returns the number of deleted tables and files, and their size in bytes.
        """

    @abstractmethod
    def settle(self, table: Identifier) -> None:
        """Make the version that readers use the latest version of a table again."""

    @abstractmethod
    def advance(self, table: Identifier) -> None:
        """Let readers use the latest version of a table if it contains the same rows."""

    @abstractmethod
    def pinned(self, table: Identifier) -> AbstractContextManager[None]:
        """Return a context manager that prevents deletion of the versions that readers use."""


def keys_of(columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> list[Key]:
    """Return the key of each row.

    Args:
        columns: the partition values.
        rows: number of rows.
    """
    if not columns:
        return [()] * rows
    return list(zip(*map(_plain, columns), strict=True))


def _plain(column: pa.Array | pa.ChunkedArray) -> list[object]:
    """Return values as Python objects that are equal if the partition values are equal."""
    import pyarrow as pa

    is_ = pa.types
    if is_.is_date32(column.type) or is_.is_time32(column.type):
        return list(column.cast(pa.int32()).to_pylist())
    if is_.is_temporal(column.type):
        return list(column.cast(pa.int64()).to_pylist())
    if is_.is_floating(column.type):
        return ["nan" if value != value else value for value in column.to_pylist()]
    return list(column.to_pylist())
