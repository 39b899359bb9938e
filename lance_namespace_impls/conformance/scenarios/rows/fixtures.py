"""Rows that the checks of writes compare."""

from __future__ import annotations

from typing import Any

from ...lab import Lab


def names_by_id(lab: Lab, table: list[str]) -> dict[int, str]:
    """Return the names in a table of people by id."""
    rows = lab.query(table)
    return dict(zip(rows.column("id").to_pylist(), rows.column("name").to_pylist(), strict=True))


def ids_and_names(lab: Lab, table: list[str], **of: Any) -> list[tuple[int, str]]:
    return sorted((r["id"], r["name"]) for r in lab.query(table, **of).to_pylist())
