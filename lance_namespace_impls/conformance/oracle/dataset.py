"""The data of a table: its rows and columns by version, on the main line and on branches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import Factory, define, evolve, field, frozen

from .calls import Mismatch, Rows

__all__ = ["Dataset", "Line", "Snapshot"]


@frozen
class Snapshot:
    """The content of one version."""

    columns: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...] = field(repr=False)
    indices: Mapping[str, str] | None = field(factory=dict)
    """Column of each index by its name; None if the protocol leaves the indices unspecified."""
    ordered: bool = True
    """Whether the order of the rows is known: updates and merges may move rows."""
    fragments: tuple[int, ...] | None = None
    """Number of rows of each fragment; None if unknown."""
    metadata: Mapping[str, str] | None = field(factory=dict)
    """Metadata of the schema that calls set; None if unspecified."""
    of_columns: Mapping[str, Mapping[str, str]] = field(factory=dict)
    """Metadata of each column that has any."""

    @classmethod
    def of(cls, rows: Rows) -> Snapshot:
        """Return the content of a new table."""
        fragments = (len(rows),) if len(rows) else ()
        return cls(
            tuple(rows.columns), rows.records, fragments=fragments, metadata=dict(rows.metadata)
        )

    def with_rows(self, rows: Rows) -> Snapshot:
        """Return the content with additional rows."""
        none = dict.fromkeys(self.columns)
        fragments = self.fragments
        if fragments is not None and len(rows):
            fragments = (*fragments, len(rows))
        records = (*self.records, *({**none, **r} for r in rows.records))
        return evolve(self, records=records, fragments=fragments)

    def with_records(
        self, records: Iterable[Mapping[str, Any]], *, ordered: bool = False
    ) -> Snapshot:
        """Return the content with other rows; without rows, the indices are unspecified.

        Args:
            records: the rows.
            ordered: whether they keep their order.
        """
        held = tuple(records)
        indices = self.indices if held else self.unknown()
        ordered = (ordered and self.ordered) or len(held) < 2
        return evolve(self, records=held, indices=indices, ordered=ordered, fragments=None)

    def replaced(self, rows: Rows) -> Snapshot:
        """Return the content after an overwrite; whether metadata remains is unspecified."""
        none: Mapping[str, str] | None = {} if self.metadata == {} and not rows.metadata else None
        return evolve(Snapshot.of(rows), indices=self.unknown(), metadata=none)

    def unknown(self) -> Mapping[str, str] | None:
        """Return the indices after a change whose effect on indices is unspecified."""
        return None if self.indices is None or self.indices else {}


@define
class Line:
    """The versions of a branch, oldest first."""

    versions: dict[int, Snapshot | None] = field(factory=dict)
    """Content of each version by its number; None if unknown."""
    pending: list[tuple[Snapshot, bool]] = field(factory=list)
    """Later contents with unknown version numbers, and whether each must have created a version."""
    numbered: bool = True
    """Whether each version in an answer is the one that the call itself created."""
    tells_all: bool = True
    """Whether `versions` contains all versions that a listing returns."""
    parent: tuple[str | None, int | None] | None = None
    """Branch and version from which a branch starts, each None if unknown or the main line."""

    @property
    def head(self) -> Snapshot:
        """The content of the newest version."""
        if self.pending:
            return self.pending[-1][0]
        newest = self.versions[max(self.versions)]
        assert newest is not None
        return newest

    def write(self, snapshot: Snapshot, version: int | None, *, sure: bool = True) -> None:
        """Apply a write.

        Args:
            snapshot: new content of the newest version.
            version: its number, if the answer contains it.
            sure: whether the write must have created a version.

        Raises:
            Mismatch: the number cannot be that of a new version.
        """
        if version is None or not self.numbered:
            self.pending.append((snapshot, sure))
            return
        last = max(self.versions, default=0)
        if version < last or (sure and version == last):
            raise Mismatch("the new version", f"a number above {last}", str(version))
        if self.pending:
            self.tells_all = False
            self.pending = []
        self.versions[version] = snapshot

    def learn(self, numbers: Iterable[int]) -> None:
        """Apply the numbers of all versions that the target lists.

        Raises:
            Mismatch: the numbers do not match the writes.
        """
        found = sorted(numbers)
        if len(found) != len(set(found)):
            raise Mismatch("the versions", "a list without repetitions", str(found))
        lost = sorted(set(self.versions) - set(found))
        if lost:
            raise Mismatch("the versions", f"a list that contains {lost}", str(found))
        last = max(self.versions, default=0)
        new = [number for number in found if number > last]
        back = sorted(set(found) - set(self.versions) - set(new))
        if back and self.tells_all:
            raise Mismatch("the versions", f"a list without {back}", str(found))
        if self.tells_all and not self.pending and new:
            raise Mismatch("the versions", str(sorted(self.versions)), str(found))
        due = sum(sure for _, sure in self.pending)
        if len(new) < due:
            raise Mismatch("the versions", f"{due} more after version {last}", str(found))
        if not self.pending:
            if new:  # nothing was written: the content is unchanged
                self.versions |= dict.fromkeys(new, self.head)
            return
        head = self.head
        # Only the order of new versions shows which write created which of them.
        told = len(new) == len(self.pending)
        held = [snapshot for snapshot, _ in self.pending] if told else [None] * len(new)
        self.versions |= dict(zip(new, held, strict=True))
        self.versions[max(found)] = head
        self.pending = []


@define
class Dataset:
    """The data at one location of the storage."""

    main: Line
    branches: dict[str, Line] = Factory(dict)
    tags: dict[str, int] = Factory(dict)
    """Version of each tag."""
    tag_branches: dict[str, str] = Factory(dict)
    """Branch of each tag that is not on the main line."""

    remnants: bool = False
    """Whether tags and branches of an overwritten table may still exist."""

    @classmethod
    def of(cls, rows: Rows, version: int | None) -> Dataset:
        """Return the data of a new table."""
        line = Line()
        line.write(Snapshot.of(rows), version)
        return cls(line)

    @property
    def records(self) -> tuple[Mapping[str, Any], ...]:
        """The rows of the newest version."""
        return self.main.head.records

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the newest version."""
        return self.main.head.columns

    @property
    def versions(self) -> list[int]:
        """The versions of the main line whose numbers are known."""
        return sorted(self.main.versions)
