"""Calls, and the outcomes that the model expects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
from attrs import field, frozen

from .columns import is_number, type_of, value_of

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
    batch_rows: int | None = None
    """Rows per batch; None for a single batch."""
    metadata: Mapping[str, str] = field(factory=dict)
    """Metadata of the schema."""

    @property
    def records(self) -> tuple[dict[str, Any], ...]:
        """The rows, each a map of its columns with the values of its types."""
        return tuple(self.arrow().to_pylist())

    def arrow(self) -> pa.Table:
        """Return the rows as a table."""
        arrays = [pa.array(values, type_of(name)) for name, values in self.columns.items()]
        fields = [pa.field(name, type_of(name)) for name in self.columns]
        return pa.table(arrays, schema=pa.schema(fields, dict(self.metadata) or None))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ()))


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
