"""A plain Python model of a table's expected contents after a series of operations."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from attrs import define, field

Row = dict[str, Any]


@define
class Snapshot:
    """The contents of one version: columns in order, and rows."""

    columns: list[str]
    rows: list[Row]

    def copy(self) -> Snapshot:
        return deepcopy(self)

    def sorted_rows(self) -> list[tuple[Any, ...]]:
        found = [tuple(row.get(name) for name in self.columns) for row in self.rows]
        return sorted(found, key=repr)


@define
class Line:
    """The versions of one branch by number."""

    versions: dict[int, Snapshot]

    @property
    def latest(self) -> int:
        return max(self.versions)

    @property
    def head(self) -> Snapshot:
        return self.versions[self.latest]


@define
class TableModel:
    """A table with its branches and tags; the main branch is None."""

    lines: dict[str | None, Line]
    tags: dict[str, tuple[str | None, int]] = field(factory=dict)

    @classmethod
    def created(cls, columns: list[str], rows: list[Row], version: int) -> TableModel:
        return cls(lines={None: Line({version: Snapshot(columns, deepcopy(rows))})})

    def commit(self, branch: str | None, version: int, head: Snapshot) -> None:
        line = self.lines[branch]
        assert version > line.latest, f"version {version} after {line.latest}"
        line.versions[version] = head

    def branch(self, name: str, source: str | None, version: int) -> None:
        self.lines[name] = Line({version: self.lines[source].versions[version].copy()})
