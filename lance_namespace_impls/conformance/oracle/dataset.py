"""The data of a table: its rows and columns by version, on the main line and on branches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import Factory, define, evolve, field, frozen

from .calls import Mismatch, Rows

__all__ = ["Dataset", "Line", "Snapshot", "matches"]

_PREDICATE = re.compile(r"(\w+) (>|<=|=) (-?\d+)")


@frozen
class Snapshot:
    """What one version holds."""

    columns: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...] = field(repr=False)
    indices: Mapping[str, str] | None = field(factory=dict)
    """Column of each index by its name; None where the protocol leaves open what is left of them."""

    @classmethod
    def of(cls, rows: Rows) -> Snapshot:
        """Return what a new table holds."""
        return cls(tuple(rows.columns), rows.records)

    def with_rows(self, rows: Rows) -> Snapshot:
        """Return it with more rows."""
        none = dict.fromkeys(self.columns)
        return evolve(self, records=(*self.records, *({**none, **r} for r in rows.records)))

    def with_records(self, records: Iterable[Mapping[str, Any]]) -> Snapshot:
        """Return it with other rows; what indices of no rows become is left open."""
        held = tuple(records)
        return evolve(self, records=held, indices=self.indices if held else self.unknown())

    def unknown(self) -> Mapping[str, str] | None:
        """Return what is known of indices where the protocol does not tell what becomes of them."""
        return None if self.indices is None or self.indices else {}


@define
class Line:
    """The versions of a branch, oldest first."""

    versions: dict[int, Snapshot | None] = field(factory=dict)
    """Content of each version by its number; None where it is not known."""
    pending: list[tuple[Snapshot, bool]] = field(factory=list)
    """What was written since, whose versions have no known number yet, and whether a version must
    have been made of it."""
    numbered: bool = True
    """Whether the versions that answers tell are those of their own calls."""
    tells_all: bool = True
    """Whether all versions that a listing gives are in `versions`."""

    @property
    def head(self) -> Snapshot:
        """What the newest version holds."""
        if self.pending:
            return self.pending[-1][0]
        newest = self.versions[max(self.versions)]
        assert newest is not None
        return newest

    def write(self, snapshot: Snapshot, version: int | None, *, sure: bool = True) -> None:
        """Take over what was written.

        Args:
            snapshot: what the newest version holds from now on.
            version: its number, where the answer tells.
            sure: whether a version must have been made of it.

        Raises:
            Mismatch: the number is not that of a new version.
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
        """Take over the numbers of all versions, as the target lists them.

        Raises:
            Mismatch: they do not fit what was written.
        """
        found = sorted(numbers)
        if len(found) != len(set(found)):
            raise Mismatch("the versions", "each once", str(found))
        lost = sorted(set(self.versions) - set(found))
        if lost:
            raise Mismatch("the versions", f"with {lost} among them", str(found))
        last = max(self.versions, default=0)
        new = [number for number in found if number > last]
        if self.tells_all and not self.pending and new:
            raise Mismatch("the versions", str(sorted(self.versions)), str(found))
        due = sum(sure for _, sure in self.pending)
        if len(new) < due:
            raise Mismatch("the versions", f"{due} more after {last}", str(found))
        if not self.pending:
            if new:  # nothing was written: they hold what the one before does
                self.versions |= dict.fromkeys(new, self.head)
            return
        head = self.head
        # Which of several new versions holds what, their order alone tells.
        told = len(new) == len(self.pending)
        held = [snapshot for snapshot, _ in self.pending] if told else [None] * len(new)
        self.versions |= dict(zip(new, held, strict=True))
        self.versions[max(found)] = head
        self.pending = []


@define
class Dataset:
    """What is in storage at one location."""

    main: Line
    branches: dict[str, Line] = Factory(dict)
    tags: dict[str, int] = Factory(dict)
    """Version of the main line that each tag names."""

    remnants: bool = False
    """Whether tags and branches of a table that was overwritten may still be there."""

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


def matches(predicate: str | None, record: Mapping[str, Any]) -> bool:
    """Return whether a row fits a predicate such as ``id > 3``; nulls fit none."""
    if predicate is None:
        return True
    found = _PREDICATE.fullmatch(predicate)
    assert found is not None, f"the model cannot read {predicate!r}"
    value, bound = record[found[1]], int(found[3])
    if value is None:
        return False
    compared = {">": value > bound, "<=": value <= bound, "=": value == bound}
    return bool(compared[found[2]])
