"""Tracks the position of a stream in a table, and the rows that each version adds.

A position consists of a version and the number of its added rows that were read. The added rows of
a version follow from comparing its fragments with those of the previous version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    TableVersionNotFoundError,
    UnsupportedError,
)

from ..distributed.division import size_of
from ..tables.history import operation_of
from .read_plan import Piece

if TYPE_CHECKING:
    from .read_plan import Pinned

__all__ = ["Addition", "History", "Position"]


@frozen(kw_only=True)
class Position:
    """The position of a stream: all earlier versions are read, and some added rows of this one.

    Attributes:
        version: the version, which may not exist yet.
        rows: number of its added rows that were read.
        whole: whether all rows of the version count as added, as for the first version of a stream.
    """

    version: int
    rows: int = 0
    whole: bool = False

    def to_offset(self) -> dict[str, Any]:
        """Return the position in the format of Spark's checkpoint."""
        return {"version": self.version, "rows": self.rows, "whole": self.whole}

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> Position:
        """Return the position that `to_offset` converted."""
        return cls(
            version=int(offset["version"]), rows=int(offset["rows"]), whole=bool(offset["whole"])
        )


@frozen(kw_only=True)
class Addition:
    """Rows of one fragment that a version adds."""

    version: int
    fragment: int
    rows: int
    bytes: int
    offset: int = 0
    """Number of preceding rows in the fragment."""
    in_fragment: int
    """Total number of rows in the fragment."""

    def piece(self) -> Piece:
        """Return the rows as a piece for a task."""
        if self.rows == self.in_fragment:
            return Piece(self.fragment)
        return Piece(self.fragment, self.offset, self.rows)


@define
class History:
    """The versions of a table, as a stream reads them.

    Args:
        pinned: the table; its version is ignored.
        skips_changes: whether versions that change or delete rows are skipped; otherwise they stop
            the stream.
    """

    pinned: Pinned
    skips_changes: bool
    _cache: dict[Position, list[Addition]] = field(factory=dict, init=False)

    def latest(self) -> int:
        """Return the latest version."""
        return int(self._open(None).version)

    def after(
        self, start: Position, end: int, rows: int | None = None, versions: int | None = None
    ) -> Position:
        """Return the end of a batch.

        Args:
            start: start of the batch.
            end: the last version that the batch may read.
            rows: maximum number of rows. With a filter, fragments are not divided: the limit counts
                the rows before filtering, and a batch has at least one fragment.
            versions: maximum number of versions that add rows.
        """
        place = start
        while place.version <= end:
            added = self._added(place)
            row_counts = [each.rows for each in _slice(added, place.rows)]
            if rows is not None:
                counted = self._rows_within(row_counts, rows, nothing_yet=place == start)
                if counted < sum(row_counts):
                    return evolve(place, rows=place.rows + counted)
                rows -= counted
            place = Position(version=place.version + 1)
            if versions is not None and row_counts:
                versions -= 1
                if not versions:
                    break
        return place

    def between(self, start: Position, end: Position) -> list[Addition]:
        """Return the rows between two positions, in order."""
        found: list[Addition] = []
        place = start
        while place.version < end.version:
            found += _slice(self._added(place), place.rows)
            place = Position(version=place.version + 1)
        if end.rows > place.rows:
            found += _slice(self._added(place), place.rows, end.rows)
        if self.pinned.filter is not None and any(a.rows < a.in_fragment for a in found):
            raise InvalidInputError(
                f"{self.pinned.target.name}: the stream stopped within a fragment while it "
                "had no filter; start a new stream to use a filter"
            )
        return found

    def _rows_within(self, row_counts: list[int], rows: int, *, nothing_yet: bool) -> int:
        if self.pinned.filter is None:
            return min(sum(row_counts), rows)
        counted = 0
        for each in row_counts:
            if counted + each > rows and not (nothing_yet and counted == 0):
                break
            counted += each
        return counted

    def _added(self, place: Position) -> list[Addition]:
        key = evolve(place, rows=0)
        if key not in self._cache:
            while len(self._cache) > 64:
                self._cache.pop(next(iter(self._cache)))
            self._cache[key] = [
                Addition(
                    version=place.version,
                    fragment=fragment.fragment_id,
                    rows=fragment.metadata.num_rows,
                    bytes=size_of(fragment),
                    in_fragment=fragment.metadata.num_rows,
                )
                for fragment in self._fragments(place)
                if fragment.metadata.num_rows
            ]
        return self._cache[key]

    def _fragments(self, place: Position) -> list[Any]:
        dataset = self._read(place.version)
        fragments: list[Any] = dataset.get_fragments()
        if place.whole or not fragments:
            return fragments
        operation = operation_of(dataset, place.version)
        if operation == "Rewrite":
            return []  # the same rows in other files
        try:
            before = self._read(place.version - 1).get_fragments() if place.version > 1 else []
        except TableVersionNotFoundError:
            if operation != "Append":
                raise
            count = len(dataset.read_transaction(place.version).operation.fragments)
            return fragments[-count:] if count else []
        after = {each.fragment_id: each.metadata.to_json() for each in fragments}
        for fragment in before:
            current = after.pop(fragment.fragment_id, None)
            if current is None or not _holds(current, fragment.metadata.to_json()):
                return self._changed(place.version, operation)
        return [each for each in fragments if each.fragment_id in after]

    def _changed(self, version: int, operation: str) -> list[Any]:
        if self.skips_changes:
            return []
        raise UnsupportedError(
            f"{self.pinned.target.name}: version {version} ({operation}) changed or "
            "deleted rows, which a stream of added rows cannot represent; set the option "
            "onChange=skip to skip such versions, or start a new stream with "
            f"startingVersion={version + 1}"
        )

    def _read(self, version: int) -> Any:
        try:
            return self._open(version)
        except TableVersionNotFoundError as error:
            raise TableVersionNotFoundError(
                f"{self.pinned.target.name}: version {version} was deleted before the stream "
                "read it; start a new stream, and keep versions for as long as a stream may be "
                "stopped"
            ) from error

    def _open(self, version: int | None) -> Any:
        pinned = self.pinned
        return pinned.target.open(pinned.target.storage_at(pinned.location), version, pinned.branch)


def _holds(after: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Return whether a fragment still has all previous rows and values; new columns are allowed."""
    files = before["files"]
    same = after["files"][: len(files)] == files
    return bool(same and after["deletion_file"] == before["deletion_file"])


def _slice(added: list[Addition], rows: int, end: int | None = None) -> list[Addition]:
    """Return the additions after the first `rows` rows, and before `end`."""
    return list(_parts(added, rows, end))


def _parts(added: list[Addition], rows: int, end: int | None) -> Iterator[Addition]:
    place = 0
    for each in added:
        first = max(rows - place, 0)
        last = each.rows if end is None else min(end - place, each.rows)
        if first < last:
            share = (last - first) / each.rows
            yield evolve(
                each, offset=first, rows=last - first, bytes=max(1, int(each.bytes * share))
            )
        place += each.rows
