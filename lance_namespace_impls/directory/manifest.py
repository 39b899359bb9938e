"""The manifest of a directory: a Lance table with one row for each namespace and each table.

The manifest is small, and every change rewrites it in one commit, which succeeds only if the
version on which it is based is still the latest. The manifest is therefore always a single compact,
sorted file. If two changes are made concurrently, the second one is retried on the result of the
first.

Source: the format that pylance 14.0.2 writes.
"""

from __future__ import annotations

import json
import os
import random
import time
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidTableStateError,
    TableAlreadyExistsError,
)

from ..core.concurrent import on_python_thread
from ..core.errors import first_line
from ..core.imports import load
from ..core.storage import TableStorage
from ..tables.dataset import open_dataset
from ..tables.files import is_missing
from .filesystem import Directory
from .names import DELIMITER, MANIFEST, SUFFIX, VERSIONS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NAMESPACE", "TABLE", "TABLE_VERSION", "Change", "Manifest", "Row", "Snapshot"]

NAMESPACE, TABLE, TABLE_VERSION = "namespace", "table", "table_version"
RETRY_SECONDS = 60.0
KEEP_MINUTES = 5
LOOKS = 5
CLEAN_EVERY = 64
MAX_CHUNKS = 16
FIRST_BATCH, MAX_BATCH = 128, 8192
_OWN_COLUMNS = frozenset({"object_id", "object_type", "location", "metadata"})
_PRIMARY_KEY = {"lance-schema:unenforced-primary-key:position": "0"}
# Sorts directly after all strings that start with an identifier followed by the delimiter.
_AFTER = chr(ord(DELIMITER) + 1)


def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("object_id", pa.string(), nullable=False, metadata=_PRIMARY_KEY),
            pa.field("object_type", pa.string(), nullable=False),
            pa.field("location", pa.string()),
            pa.field("metadata", pa.string()),
            pa.field("base_objects", pa.list_(pa.field("object_id", pa.string()))),
        ]
    )


@frozen(kw_only=True)
class Row:
    """One object in the manifest."""

    id: str
    type: str
    location: str | None = None
    """Path of a table's directory, relative to the root."""
    properties: Mapping[str, str] = field(factory=dict)
    """Properties of a namespace or table."""
    raw: str | None = None
    """The metadata of other objects, unchanged."""
    more: Mapping[str, Any] = field(factory=dict, repr=False)
    """The values of other columns, as ``pyarrow`` scalars; None means null."""

    def columns(self) -> dict[str, Any]:
        """Return the row in the form that the manifest stores."""
        metadata = self.raw
        if self.properties:
            metadata = json.dumps(dict(self.properties), ensure_ascii=False)
        return {
            **self.more,
            "object_id": self.id,
            "object_type": self.type,
            "location": self.location,
            "metadata": metadata,
        }


@frozen(kw_only=True)
class Change:
    """The changes of one commit: rows to remove, and rows to add or replace."""

    remove: Sequence[str] = ()
    put: Sequence[Row] = ()
    columns: Sequence[pa.Field] = ()
    """Columns to add if the manifest lacks them; their values in existing rows are null."""


@frozen(kw_only=True)
class Snapshot:
    """One version of the manifest."""

    version: int
    table: pa.Table
    """The rows, in the order of their identifiers."""
    ids: list[str]
    metadata: Mapping[str, str]
    """The properties of the root."""

    @classmethod
    def read(cls, dataset: Any) -> Snapshot:
        """Read all rows of an opened manifest."""
        return cls.of(dataset.version, dataset.to_table(), dict(dataset.metadata or {}))

    @classmethod
    def of(cls, version: int, table: pa.Table, metadata: Mapping[str, str]) -> Snapshot:
        """Build a snapshot from rows in any order."""
        pc = load("pyarrow.compute")

        table = table.combine_chunks()
        ids = table["object_id"]
        if pc.any(pc.less(ids.slice(1), ids.slice(0, max(0, len(ids) - 1)))).as_py():
            table = table.sort_by("object_id").combine_chunks()
        ids = table["object_id"].to_pylist()
        return cls(version=version, table=table, ids=ids, metadata=metadata)

    def _index(self, object_id: str) -> int | None:
        index = bisect_left(self.ids, object_id)
        return index if index < len(self.ids) and self.ids[index] == object_id else None

    def type_of(self, object_id: str) -> str | None:
        """Return the type of an object, or None if it does not exist."""
        index = self._index(object_id)
        return None if index is None else self.table["object_type"][index].as_py()

    def row(self, object_id: str) -> Row | None:
        """Return an object, or None if it does not exist.

        Raises:
            InvalidTableStateError: code 19, the object's properties cannot be read.
        """
        index = self._index(object_id)
        if index is None:
            return None
        # Scalars preserve every value exactly, and creating them requires no other package.
        row = {name: self.table[name][index] for name in self.table.column_names}
        type, metadata = row["object_type"].as_py(), row["metadata"].as_py()
        is_known = type in (NAMESPACE, TABLE)
        return Row(
            id=object_id,
            type=type,
            location=row["location"].as_py(),
            properties=_properties(object_id, metadata) if is_known else {},
            raw=None if is_known else metadata,
            more={
                name: value if value.is_valid else None
                for name, value in row.items()
                if name not in _OWN_COLUMNS
            },
        )

    def children(self, parent: str, type: str, after: str | None) -> Iterator[str]:
        """Yield the names of the direct children of a type in order, starting after `after`.

        Args:
            parent: identifier of the namespace; the root is empty.
            type: ``namespace`` or ``table``.
            after: name to start after; None starts at the beginning.
        """
        prefix = f"{parent}{DELIMITER}" if parent else ""
        skip = len(prefix)
        index = bisect_left(self.ids, prefix if after is None else f"{prefix}{after}")
        end = bisect_left(self.ids, f"{parent}{_AFTER}", index) if parent else len(self.ids)
        size = FIRST_BATCH
        while index < end:
            until = min(index + size, end)
            size = min(size * 4, MAX_BATCH)  # a page needs few rows beyond its own end
            types = self.table["object_type"].slice(index, until - index).to_pylist()
            for object_id, found in zip(self.ids[index:until], types, strict=True):
                name = object_id[skip:]
                if DELIMITER in name:  # all objects below this one follow contiguously
                    below = f"{prefix}{name.partition(DELIMITER)[0]}{_AFTER}"
                    index, size = bisect_left(self.ids, below, index), FIRST_BATCH
                    break
                index += 1
                if found == type and name != after:
                    yield name

    def tables_elsewhere(self) -> dict[str, str]:
        """Return the tables in the root that are not stored at ``name.lance``, with their locations."""
        pc = load("pyarrow.compute")

        ids, locations = self.table["object_id"], self.table["location"]
        usual = pc.binary_join_element_wise(ids, SUFFIX, "")
        wanted = pc.and_(
            pc.and_(
                pc.equal(self.table["object_type"], TABLE),
                pc.invert(pc.match_substring(ids, DELIMITER)),
            ),
            pc.fill_null(pc.not_equal(locations, usual), fill_value=False),
        )
        found = self.table.select(["object_id", "location"]).filter(wanted).to_pylist()
        return {row["object_id"]: row["location"] for row in found}

    def below(self, object_id: str) -> list[str]:
        """Return the identifiers of all objects below an object, at any depth."""
        start, end = self._range_below(object_id)
        return self.ids[start:end]

    def rows_below(self, object_id: str) -> pa.Table:
        """Return the rows of all objects below an object, at any depth."""
        start, end = self._range_below(object_id)
        return self.table.slice(start, end - start)

    def _range_below(self, object_id: str) -> tuple[int, int]:
        start = bisect_left(self.ids, f"{object_id}{DELIMITER}")
        return start, bisect_left(self.ids, f"{object_id}{_AFTER}", start)

    def changed(self, change: Change) -> tuple[pa.Table, list[str]]:
        """Return the rows after a change, in order, and their identifiers."""
        import pyarrow as pa

        put = {row.id: row for row in change.put}
        before = self.table
        for column in change.columns:
            if column.name not in before.column_names:
                before = before.append_column(column, pa.nulls(before.num_rows, column.type))
        pieces, start = [], 0
        ids: list[str] = []
        for object_id in sorted({*change.remove, *put}):
            index = bisect_left(self.ids, object_id)
            pieces.append(before.slice(start, index - start))
            ids += self.ids[start:index]
            if object_id in put:
                columns = put[object_id].columns()
                pieces.append(pa.Table.from_pylist([columns], schema=before.schema))
                ids.append(object_id)
            start = index + (index < len(self.ids) and self.ids[index] == object_id)
        pieces.append(before.slice(start))
        table = pa.concat_tables(pieces)
        if table["object_id"].num_chunks > MAX_CHUNKS:
            table = table.combine_chunks()
        return table, ids + self.ids[start:]


def _properties(object_id: str, metadata: str | None) -> dict[str, str]:
    if metadata is None:
        return {}
    try:
        found = json.loads(metadata)
        if isinstance(found, dict):
            return {k: v if isinstance(v, str) else json.dumps(v) for k, v in found.items()}
    except ValueError:
        pass
    raise InvalidTableStateError(
        f"the manifest's row {object_id!r} has metadata that is not a JSON object: fix "
        "it, or remove the row"
    )


class Manifest:
    """The manifest of one directory.

    Args:
        directory: the file system below the root.
        session: returns the ``lance.Session`` that tables share.
        retries: how often to retry a change after conflicts; None means to retry for a minute.
    """

    def __init__(
        self,
        directory: Directory,
        session: Callable[[], Any],
        retries: int | None = None,
    ) -> None:
        self._retries = retries
        self._directory = directory
        self._options = directory.lance_options
        self._session = session
        self._opened: tuple[Any, Any, Snapshot] | None = None

    @property
    def location(self) -> str:
        """Location of the manifest."""
        return self._directory.location(MANIFEST)

    def exists(self) -> bool:
        """Return whether the directory has a manifest."""
        return self._directory.kinds(f"{MANIFEST}/{VERSIONS}")[0] == "directory"

    def snapshot(self) -> Snapshot | None:
        """Return the newest version, or None if the directory has no manifest."""
        return on_python_thread(self._snapshot)

    def snapshot_at(self, version: int) -> Snapshot:
        """Return an older version.

        Raises:
            TableVersionNotFoundError: code 11, the version was cleaned up.
        """
        return on_python_thread(partial(self._snapshot_at, version))

    def _snapshot_at(self, version: int) -> Snapshot:
        storage = TableStorage(location=self.location, options=self._options or {})
        return Snapshot.read(open_dataset(storage, version=version))

    def _snapshot(self) -> Snapshot | None:
        for left in reversed(range(LOOKS)):
            try:
                return self._look()
            except (OSError, ValueError) as error:
                # Between the reads of two of its files, the manifest may have been removed or
                # created again.
                if not left or not is_missing(error):
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _look(self) -> Snapshot | None:
        opened, identity = self._opened, self._identity()
        if opened is not None and opened[0] == identity:
            with suppress(OSError):  # it was removed or replaced; opening it shows which
                if opened[1].latest_version == opened[2].version:
                    return opened[2]
        dataset = self._open()
        if dataset is None:
            self._opened = None
            return None
        return self._remember(identity, dataset, Snapshot.read(dataset))

    def _remember(self, identity: Any, dataset: Any, snapshot: Snapshot) -> Snapshot:
        self._opened = (identity, dataset, snapshot)
        return snapshot

    def _identity(self) -> Any:
        """Return an identity that distinguishes a local manifest from one that replaces it."""
        if not self._directory.is_local:
            return None
        try:
            found = os.stat(self.location)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _open(self) -> Any:
        lance = load("lance")

        try:
            return lance.LanceDataset(
                self.location, storage_options=self._options, session=self._session()
            )
        except ValueError as error:
            if "was not found" not in str(error):
                raise
            return None

    def create(self, rows: Sequence[Row] = ()) -> bool:
        """Atomically create a manifest with these rows; return False if there is one already."""
        import pyarrow as pa

        from lance_namespace_client.arrow import RowStream

        from ..tables.write import create

        columns = [row.columns() for row in sorted(rows, key=lambda row: row.id)]
        table = pa.Table.from_pylist(columns, schema=_schema())
        storage = TableStorage(location=self.location, options=self._options or {})
        try:
            create(storage, RowStream.of(table), overwrite=False)
        except TableAlreadyExistsError:
            return False
        return True

    def lock(self) -> AbstractContextManager[None]:
        """Return a lock that prevents other processes on this machine from changing the manifest."""
        return self._directory.lock(MANIFEST) if self._directory.is_local else nullcontext()

    def change(self, decide: Callable[[Snapshot], Change | None]) -> Snapshot:
        """Change the manifest, or leave it unchanged if `decide` raises or returns None.

        Args:
            decide: returns the change to make to the newest version; called again if another writer
                committed first.

        Returns:
            the version after the change.

        Raises:
            ConcurrentModificationError: code 14, other writers committed first in every attempt.
        """
        return on_python_thread(partial(self._change, decide))

    def _change(self, decide: Callable[[Snapshot], Change | None]) -> Snapshot:
        if self.snapshot() is None:
            self.create()
        with self.lock():
            return self.change_locked(decide)

    def change_locked(self, decide: Callable[[Snapshot], Change | None]) -> Snapshot:
        """Change the manifest while the caller holds its lock."""
        until = time.monotonic() + RETRY_SECONDS
        wait = 0.005
        attempt = 0
        while True:
            before = self.snapshot()
            if before is None:
                raise ConcurrentModificationError(
                    f"{self.location} was deleted concurrently; try again"
                )
            change = decide(before)
            if change is None or not (change.remove or change.put or change.columns):
                return before
            after = self._commit(before, change)
            if after is not None:
                return after
            if time.monotonic() > until if self._retries is None else attempt >= self._retries:
                raise ConcurrentModificationError(
                    f"{self.location}: other writers keep changing the manifest; try again"
                )
            time.sleep(random.uniform(0, wait))
            wait, attempt = min(wait * 2, 0.5), attempt + 1

    def set_metadata(self, values: Mapping[str, str]) -> None:
        """Set properties of the root, in one commit.

        Args:
            values: the properties; none of them may exist yet.

        Raises:
            ConcurrentModificationError: code 14, another client set one of them.
        """

        def work() -> None:
            with self.lock():
                snapshot = self.snapshot()
                dataset = None if snapshot is None else self._open()
                if snapshot is None or dataset is None:
                    raise ConcurrentModificationError(
                        f"{self.location} was deleted concurrently; try again"
                    )
                for key in values:
                    if key in (dataset.metadata or {}):
                        raise ConcurrentModificationError(
                            f"{self.location}: {key} was set concurrently; read it and try again"
                        )
                dataset.update_metadata(dict(values))

        on_python_thread(work)

    def _commit(self, before: Snapshot, change: Change) -> Snapshot | None:
        """Commit a change based on a version, or return None if there is a newer version."""
        lance = load("lance")
        CommitConflictError = load("lance.commit").CommitConflictError
        write_fragments = load("lance.fragment").write_fragments

        assert self._opened is not None
        identity, dataset, _ = self._opened
        if dataset.version != before.version:
            dataset = dataset.checkout_version(before.version)
        table, ids = before.changed(change)
        fragments = write_fragments(
            table,
            dataset,
            schema=table.schema,
            mode="overwrite",
            data_storage_version=dataset.data_storage_version,
            storage_options=self._options,
        )
        transaction = lance.Transaction(
            read_version=before.version,
            operation=lance.LanceOperation.Overwrite(table.schema, fragments),
        )
        try:
            committed = lance.LanceDataset.commit(
                dataset, transaction, storage_options=self._options, max_retries=0
            )
        except CommitConflictError:
            committed = self._committed_by_this_writer(before.version + 1, transaction.uuid)
            if committed is None:
                return None
        after = evolve(before, version=committed.version, table=table, ids=ids)
        self._remember(identity, committed, after)
        if committed.version % CLEAN_EVERY == 0:
            self._clean(committed)
        return after

    def _committed_by_this_writer(self, version: int, uuid: str) -> Any:
        """Return a version if this writer committed it after all, or None if another writer did.

        If a response is lost, the object store client repeats the request and then finds its own
        file.
        """
        dataset = self._open()
        if dataset is None or self._directory.is_local:
            return None
        try:
            found = dataset.read_transaction(version)
        except (OSError, ValueError):
            return None  # it has already been cleaned up
        return dataset.checkout_version(version) if found and found.uuid == uuid else None

    def _clean(self, dataset: Any) -> None:
        """Delete old versions, which are no longer read."""
        try:
            dataset.cleanup_old_versions(
                older_than=timedelta(minutes=KEEP_MINUTES), error_if_tagged_old_versions=False
            )
        except OSError as error:
            warnings.warn(
                f"{self.location}: old versions of the manifest could not be deleted: "
                f"{first_line(error)}",
                stacklevel=2,
            )
