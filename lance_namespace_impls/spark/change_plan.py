"""Finds the rows that each version of a table inserts, updates and deletes, and reads them.

The driver compares the fragments of a version with those of the previous one. From their metadata it
knows the address of every row that appears or disappears. With stable row ids, an id that does both
is an updated row. Without them, an update changes the address of a row, so a version that both
removes and adds rows is ambiguous and rejected. Workers then read only the values of these rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import define, evolve, field, frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    TableVersionNotFoundError,
    UnsupportedError,
)

from ..distributed.columns import batches_of_bounded_size, cast_batch, is_blob
from ..distributed.division import size_of
from ..tables.history import operation_of
from .read_plan import (
    BATCH_BYTES,
    BATCH_ROWS,
    READ_AHEAD_BYTES,
    ROW_ADDRESS,
    ROW_ID,
    projection,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .read_plan import Pinned

__all__ = ["FEED", "ChangedRows", "Changes", "feed_schema", "read_changes"]

CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP = (
    "_change_type",
    "_commit_version",
    "_commit_timestamp",
)
FEED = pa.schema(
    [
        pa.field(CHANGE_TYPE, pa.string(), nullable=False),
        pa.field(COMMIT_VERSION, pa.int64(), nullable=False),
        pa.field(COMMIT_TIMESTAMP, pa.timestamp("us", "UTC"), nullable=False),
        pa.field(ROW_ID, pa.int64(), nullable=False),
    ]
)
"""Columns of a change feed, next to those of the table."""
INSERT, UPDATE, DELETE = "insert", "update", "delete"
_UPDATED_AT = "_row_last_updated_at_version"
_OFFSET_BITS = 32
_TAKE_ROWS = 8192
# Operations that add values to all rows of the fragments that they change.
_WHOLE_FRAGMENTS = frozenset({"Merge", "DataReplacement"})


@frozen(kw_only=True, eq=False)
class ChangedRows:
    """Rows of one fragment that a version changes in the same way.

    Attributes:
        change: ``insert``, ``update`` or ``delete``.
        version: version with the change.
        committed: time of its commit, in microseconds since 1970.
        read_at: version that holds the rows; for deleted rows the previous one.
        fragment: number of the fragment.
        rows: number of rows.
        positions: positions of the rows among those of the fragment in `read_at`, in order; None
            for all.
        ids: row ids of these positions.
        bytes: estimated size of the rows.
    """

    change: str
    version: int
    committed: int
    read_at: int
    fragment: int
    rows: int
    positions: NDArray[np.int64] | None = None
    ids: NDArray[np.int64] | None = None
    bytes: int = 0


@frozen(eq=False)
class _Rows:
    """Addresses, ids and the last updates of some rows, ordered by address."""

    addresses: NDArray[np.int64]
    ids: NDArray[np.int64]
    updated: NDArray[np.int64]

    def where(self, mask: NDArray[np.bool_]) -> _Rows:
        return _Rows(self.addresses[mask], self.ids[mask], self.updated[mask])

    @classmethod
    def of(cls, parts: Iterable[_Rows]) -> _Rows:
        found = list(parts)
        if not found:
            empty = np.empty(0, np.int64)
            return cls(empty, empty, empty)
        return cls(
            np.concatenate([each.addresses for each in found]),
            np.concatenate([each.ids for each in found]),
            np.concatenate([each.updated for each in found]),
        )


@define
class Changes:
    """The changes of a table, version by version.

    Args:
        pinned: the table; its version is ignored.
    """

    pinned: Pinned
    _times: dict[int, int] = field(factory=dict, init=False)

    def latest(self) -> int:
        """Return the latest version."""
        return int(self._open(None).version)

    def whole(self, version: int) -> list[ChangedRows]:
        """Return all rows of a version as inserted rows."""
        dataset = self._read(version)
        return [self._all(each, INSERT, version, version) for each in dataset.get_fragments()]

    def of(self, version: int) -> list[ChangedRows]:
        """Return the rows that a version changes.

        Raises:
            UnsupportedError: code 0, the table has no stable row ids, and the version both removed
                and added rows.
            TableVersionNotFoundError: code 11, the version or the previous one was cleaned up.
        """
        after = self._read(version)
        if version == 1:
            return self.whole(version)
        before = self._read(version - 1)
        operation = operation_of(after, version)
        if operation in ("Rewrite", "Project"):
            return []  # the same rows in other files, or fewer columns
        then, now = (
            {each.fragment_id: each for each in dataset.get_fragments()}
            for dataset in (before, after)
        )
        if operation == "Overwrite":
            return [
                *(self._all(each, DELETE, version, version - 1) for each in then.values()),
                *(self._all(each, INSERT, version, version) for each in now.values()),
            ]
        changed = {
            number
            for number in then.keys() | now.keys()
            if number not in then or number not in now or not _same(then[number], now[number])
        }
        if not changed:
            return []
        if changed.isdisjoint(then):
            return [self._all(now[n], INSERT, version, version) for n in sorted(changed)]
        difference = _Difference(before, after, then, now, sorted(changed), operation)
        if not difference.is_exact:
            raise UnsupportedError(
                f"{self.pinned.target.name}: version {version} ({operation}) replaced rows. Without "
                "stable row ids, updated rows look like deleted and inserted ones: create the table "
                "with the option stable_row_ids=true"
            )
        return [
            self._some(dataset, part, change, version, read_at)
            for dataset, rows, change, read_at in (
                (before, difference.deleted(), DELETE, version - 1),
                (after, difference.updated(), UPDATE, version),
                (after, difference.inserted(), INSERT, version),
            )
            for part in _by_fragment(rows)
        ]

    def _all(self, fragment: Any, change: str, version: int, read_at: int) -> ChangedRows:
        return ChangedRows(
            change=change,
            version=version,
            committed=self._time(version),
            read_at=read_at,
            fragment=fragment.fragment_id,
            rows=fragment.count_rows(),
            bytes=size_of(fragment),
        )

    def _some(
        self, dataset: Any, rows: _Rows, change: str, version: int, read_at: int
    ) -> ChangedRows:
        number = int(rows.addresses[0]) >> _OFFSET_BITS
        fragment = dataset.get_fragment(number)
        stored = _rows_of(dataset, [fragment]).addresses
        count = len(rows.addresses)
        return ChangedRows(
            change=change,
            version=version,
            committed=self._time(version),
            read_at=read_at,
            fragment=number,
            rows=count,
            positions=np.searchsorted(stored, rows.addresses),
            ids=rows.ids,
            bytes=max(1, size_of(fragment) * count // max(1, len(stored))),
        )

    def _time(self, version: int) -> int:
        if version not in self._times:
            self._times = {
                # pylance returns the time in the machine's local time zone, so convert it to UTC.
                int(each["version"]): _microseconds(each["timestamp"].astimezone(UTC))
                for each in self._open(None).versions()
            }
        return self._times[version]

    def _read(self, version: int) -> Any:
        try:
            return self._open(version)
        except TableVersionNotFoundError as error:
            raise TableVersionNotFoundError(
                f"{self.pinned.target.name}: version {version} was deleted, and its changes "
                "cannot be read; start at a later version, and keep versions for as long as "
                "readers may fall behind"
            ) from error

    def _open(self, version: int | None) -> Any:
        pinned = self.pinned
        return pinned.target.open(pinned.target.storage_at(pinned.location), version, pinned.branch)


def _microseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)


def _paths(fragment: Any) -> list[str]:
    return [file.path for file in fragment.data_files()]


def _same(before: Any, after: Any) -> bool:
    """Return whether a fragment has the same rows, with their values in the same files."""
    return bool(
        before.metadata.deletion_file == after.metadata.deletion_file
        and set(_paths(after)) <= set(_paths(before))
    )


def _rows_of(dataset: Any, fragments: Sequence[Any]) -> _Rows:
    """Return the rows of fragments from their metadata."""
    if not fragments:
        return _Rows.of([])
    table = dataset.scanner(
        columns=[ROW_ADDRESS, ROW_ID, _UPDATED_AT], fragments=list(fragments)
    ).to_table()
    columns = [
        table[name].combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
        for name in (ROW_ADDRESS, ROW_ID, _UPDATED_AT)
    ]
    order = np.argsort(columns[0], kind="stable")
    return _Rows(*(column[order] for column in columns))


class _Difference:
    """The rows that differ between a version and the previous one.

    Args:
        before: the previous version.
        after: the version.
        then: fragments of the previous version.
        now: fragments of the version.
        changed: numbers of the fragments that differ.
        operation: name of the operation.
    """

    def __init__(
        self,
        before: Any,
        after: Any,
        then: Mapping[int, Any],
        now: Mapping[int, Any],
        changed: Sequence[int],
        operation: str,
    ) -> None:
        old = _rows_of(before, [then[number] for number in changed if number in then])
        new = _rows_of(after, [now[number] for number in changed if number in now])
        # These fragments exist in both versions, but have values in new files.
        altered = [
            number
            for number in changed
            if number in then
            and number in now
            and not set(_paths(now[number])) <= set(_paths(then[number]))
        ]
        stays = np.isin(new.addresses, old.addresses)
        in_altered = np.isin(new.addresses >> _OFFSET_BITS, altered)
        self._lost = old.where(~np.isin(old.addresses, new.addresses))
        self._found = new.where(~stays)
        kept = new.where(stays & in_altered)
        self._stable = bool(before.has_stable_row_ids and after.has_stable_row_ids)
        if self._stable and operation not in _WHOLE_FRAGMENTS:
            places = np.searchsorted(old.addresses, kept.addresses)
            kept = kept.where(kept.updated != old.updated[places])
        self._altered = kept
        self.is_exact = self._stable or not (
            (len(self._lost.ids) and len(self._found.ids))
            or (altered and operation not in _WHOLE_FRAGMENTS)
        )

    def deleted(self) -> _Rows:
        """Return the rows of the previous version that no longer exist."""
        if not self._stable:
            return self._lost
        return self._lost.where(~np.isin(self._lost.ids, self._found.ids))

    def inserted(self) -> _Rows:
        """Return the rows that did not exist before."""
        if not self._stable:
            return self._found
        return self._found.where(~np.isin(self._found.ids, self._lost.ids))

    def updated(self) -> _Rows:
        """Return the rows whose values changed."""
        if not self._stable:
            return self._altered
        order = np.argsort(self._lost.ids)
        ids, updated = self._lost.ids[order], self._lost.updated[order]
        moved = self._found.where(np.isin(self._found.ids, ids))
        places = np.searchsorted(ids, moved.ids)
        # A row that only moved to another file has the same last update.
        both = _Rows.of([self._altered, moved.where(moved.updated != updated[places])])
        order = np.argsort(both.addresses)
        return _Rows(both.addresses[order], both.ids[order], both.updated[order])


def _by_fragment(rows: _Rows) -> Iterator[_Rows]:
    numbers = rows.addresses >> _OFFSET_BITS
    for number in np.unique(numbers):
        yield rows.where(numbers == number)


def feed_schema(schema: pa.Schema, what: str) -> pa.Schema:
    """Return the schema of a change feed for the columns of a table.

    Raises:
        InvalidInputError: code 13, a column has the name of a column of the feed.
    """
    if duplicates := [name for name in schema.names if name in FEED.names]:
        raise InvalidInputError(
            f"{what}: the column {', '.join(duplicates)} has the same name as a column of the "
            "change feed; specify the other columns with columns="
        )
    return pa.schema([*schema, *FEED])


def read_changes(
    pinned: Pinned, rows: Sequence[ChangedRows], target: pa.Schema, batch_rows: int | None
) -> Iterator[pa.RecordBatch]:
    """Yield changed rows on a worker, in Spark's Arrow representation.

    Args:
        pinned: the table and its columns; a column that a version does not have is null.
        rows: the rows of the task.
        target: Spark's Arrow schema of the columns and those of the feed.
        batch_rows: maximum number of rows in a batch.
    """
    for each in rows:
        at = evolve(pinned, version=each.read_at, written=None)
        for batch, ids in _batches(at, each, batch_rows):
            count = batch.num_rows
            columns = {
                **{name: batch.column(name) for name in batch.schema.names},
                CHANGE_TYPE: pa.repeat(each.change, count),
                COMMIT_VERSION: pa.repeat(pa.scalar(each.version, pa.int64()), count),
                COMMIT_TIMESTAMP: pa.repeat(
                    pa.scalar(each.committed, FEED.field(COMMIT_TIMESTAMP).type), count
                ),
                ROW_ID: ids,
            }
            whole = pa.RecordBatch.from_pydict(columns)
            yield from batches_of_bounded_size(cast_batch(whole, target, cut_fractions=True))


def _batches(
    pinned: Pinned, rows: ChangedRows, batch_rows: int | None
) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """Yield the rows of a fragment without the columns of the feed, and their ids."""
    dataset = pinned.open()
    fragment = dataset.get_fragment(rows.fragment)
    stored = dataset.schema
    names = [each.name for each in pinned.schema if each.name in stored.names]
    wanted, ids = rows.positions, rows.ids
    can_take = names and "*" not in names and not any(is_blob(stored.field(n)) for n in names)
    if wanted is not None and ids is not None and can_take:
        step = min(batch_rows or _TAKE_ROWS, _TAKE_ROWS)
        for start in range(0, len(wanted), step):
            found = fragment.take(wanted[start : start + step].tolist(), columns=names)
            batch = found.combine_chunks().to_batches()[0]
            yield batch, pa.array(ids[start : start + step])
        return
    scanner = dataset.scanner(
        columns=projection(names),
        with_row_id=True,
        fragments=[fragment],
        batch_size=batch_rows or BATCH_ROWS,
        batch_size_bytes=None if batch_rows else BATCH_BYTES,
        io_buffer_size=READ_AHEAD_BYTES,
        blob_handling="all_binary",
    )
    first = 0
    for batch in scanner.to_batches():
        places = np.arange(first, first + batch.num_rows)
        first += batch.num_rows
        if wanted is not None:
            batch = batch.filter(pa.array(np.isin(places, wanted)))
        if batch.num_rows:
            place = batch.schema.get_field_index(ROW_ID)
            yield batch.remove_column(place), batch.column(place).cast(pa.int64())
