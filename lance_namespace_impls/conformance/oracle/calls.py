"""Calls, and the outcomes that the model expects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
from attrs import frozen

__all__ = [
    "STORAGE",
    "Call",
    "Granted",
    "Mismatch",
    "Outcome",
    "Refused",
    "Rows",
    "is_number",
    "local_path",
    "same",
    "value_of",
]

STORAGE = "storage."
"""Prefix of the keys of properties that are storage options."""


@frozen
class Rows:
    """The data of a call, column by column."""

    columns: Mapping[str, tuple[Any, ...]]
    fault: str | None = None
    """``not arrow``, ``truncated``, or None for a complete stream."""

    @property
    def records(self) -> tuple[dict[str, Any], ...]:
        """The rows, each a map of its columns."""
        values = zip(*self.columns.values(), strict=True)
        return tuple(dict(zip(self.columns, row, strict=True)) for row in values)

    def arrow(self) -> pa.Table:
        """Return the rows as a table."""
        return pa.table(
            {name: pa.array(values, _kind(name)) for name, values in self.columns.items()}
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ()))


def _kind(column: str) -> pa.DataType:
    """Return the type of a column, which follows from the prefix of its name."""
    kinds = {"name": pa.string(), "z": pa.string(), "score": pa.float64()}
    kinds["vec"] = pa.list_(pa.float32(), 2)
    return next((kind for start, kind in kinds.items() if column.startswith(start)), pa.int64())


def is_number(column: str) -> bool:
    """Return whether a column holds integers."""
    return bool(_kind(column) == pa.int64())


def value_of(column: str, number: int) -> Any:
    """Return the value of a column in the row with a number; every fourth score is null."""
    if column.startswith("name"):
        return f"n{number}"
    if column.startswith("z"):
        return str(number)
    if column.startswith("score"):
        return None if number % 4 == 0 else number / 2
    return [float(number), 0.0] if column.startswith("vec") else number


@frozen
class Call:
    """One call of an operation."""

    operation: str
    request: dict[str, Any]
    rows: Rows | None = None
    malformed: bool = False
    """Whether a field of the request has the wrong JSON type."""
    refused_properties: bool = False
    """Whether the catalog does not accept the properties."""


@frozen
class Refused:
    """The call must fail with one of these codes, and nothing may change."""

    codes: frozenset[int]


@frozen
class Granted:
    """The call must succeed, or may fail with one of `or_codes`."""

    settle: Callable[[Any], None]
    """Compares the answer and applies the change to the model; raises `Mismatch`."""
    or_codes: frozenset[int] = frozenset()
    """Codes that are also correct, with nothing changed."""


Outcome: TypeAlias = Refused | Granted


class Mismatch(AssertionError):
    """An answer differs from the model."""

    def __init__(self, what: str, expected: str, found: str) -> None:
        super().__init__(f"{what}: the target returned {found}, expected {expected}")
        self.expected = f"{what} to be {expected}"
        self.found = found


def same(found: Any, expected: Any, what: str) -> None:
    """Compare a value of an answer.

    Raises:
        Mismatch: the values differ.
    """
    if found != expected:
        raise Mismatch(what, repr(expected), repr(found))


def local_path(location: object) -> str:
    """Return a local location as a path; RFC 8089 defines three forms of file URIs."""
    return re.sub(r"^file:(//(localhost)?)?(?=/(?!/))", "", str(location)).rstrip("/")
