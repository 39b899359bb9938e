"""The values of a column for which a condition can be true: a finite set, an interval or a prefix.

A domain may contain more values than the condition allows, but never fewer. It determines which
partitions are read, and the condition itself is applied to their rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from ..core.imports import load
from ..tables.sql_parser import Kind, Node

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Domain", "literal_of"]

MAX_VALUES = 1000
"""Maximum size of a set of values; larger sets are replaced by their interval."""
_MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?)?")
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZONE_SECONDS = 26 * 3600
"""Local times differ from UTC by less than a day; two hours more allow for changes of a zone."""


@frozen(kw_only=True)
class Domain:
    """A superset of the values that a column has in the rows that match a condition.

    Values are ``pyarrow`` scalars of the column's type. All parts apply at the same time.
    """

    values: tuple[pa.Scalar, ...] | None = None
    """The possible non-null values; None if they are not a finite set."""
    low: pa.Scalar | None = None
    """Inclusive lower bound."""
    high: pa.Scalar | None = None
    """Inclusive upper bound."""
    prefix: str | None = None
    """The prefix that the text must have."""
    null: bool = False
    """Whether the value may be null."""
    valid: bool = True
    """Whether the value may be non-null."""

    @classmethod
    def of_null(cls) -> Domain:
        """Return the domain of ``x IS NULL``."""
        return cls(null=True, valid=False)

    @classmethod
    def of_values(cls, values: Sequence[pa.Scalar]) -> Domain:
        """Return the domain of ``x IN (...)``."""
        if len(values) <= MAX_VALUES:
            return cls(values=tuple(values))
        return cls(low=min(values, key=_order), high=max(values, key=_order))

    def finite(self) -> list[pa.Scalar | None] | None:
        """Return all possible values, with None for null, or None if they are not a finite set."""
        found: list[pa.Scalar | None] = [None] if self.null else []
        if not self.valid:
            return found
        if self.values is None:
            return None
        return [*found, *(value for value in self.values if self._within(value))]

    def bounded(self) -> Domain:
        """Return the domain with the bounds of its values in place of the values."""
        if not self.values:
            return self
        low, high = min(self.values, key=_order), max(self.values, key=_order)
        return evolve(self, values=None) & Domain(low=low, high=high, null=self.null)

    def _within(self, value: pa.Scalar) -> bool:
        low_fits = self.low is None or _order(self.low) <= _order(value)
        high_fits = self.high is None or _order(value) <= _order(self.high)
        return low_fits and high_fits

    def __and__(self, other: Domain) -> Domain:
        """Return the intersection of two domains."""
        values = self.values if other.values is None else other.values
        if self.values is not None and other.values is not None:
            kept = {_order(value) for value in other.values}
            values = tuple(value for value in self.values if _order(value) in kept)
        prefixes = [each for each in (self.prefix, other.prefix) if each is not None]
        return evolve(
            self,
            values=values,
            low=_larger(self.low, other.low),
            high=_smaller(self.high, other.high),
            prefix=max(prefixes, key=len) if prefixes else None,
            null=self.null and other.null,
            valid=self.valid and other.valid,
        )


def _order(value: pa.Scalar) -> Any:
    """Return a value with the order and equality of the column's type."""
    pa = load("pyarrow")
    kind = value.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return value.cast(pa.int32()).as_py()
    if pa.types.is_temporal(kind):
        return value.cast(pa.int64()).as_py()
    found = value.as_py()
    return found.encode() if isinstance(found, str) else found  # the order of their bytes


def _larger(one: pa.Scalar | None, other: pa.Scalar | None) -> pa.Scalar | None:
    if one is None or other is None:
        return one if other is None else other
    return one if _order(one) >= _order(other) else other


def _smaller(one: pa.Scalar | None, other: pa.Scalar | None) -> pa.Scalar | None:
    if one is None or other is None:
        return one if other is None else other
    return one if _order(one) <= _order(other) else other


# --- literals


def literal_of(node: Node, kind: pa.DataType) -> tuple[pa.Scalar, pa.Scalar] | None:
    """Return the smallest and the largest value of a column that a literal may represent.

    Lance converts literals to the type of the column. Both values are equal if the conversion is
    exact. The result is None if it is not known exactly how the literal is converted.

    Args:
        node: the literal.
        kind: type of the column.
    """
    pa = load("pyarrow")
    is_ = pa.types
    sign = 1
    if node.kind == Kind.OPERATOR and node.name == "-" and len(node.args) == 1:
        sign, node = -1, node.args[0]
        if node.kind != Kind.NUMBER:
            return None
    if is_.is_boolean(kind):
        if node.kind == Kind.CONSTANT and node.value in ("TRUE", "FALSE"):
            return _exact(node.value == "TRUE", kind)
        return None
    if is_.is_integer(kind):
        return _integer(node, kind, sign)
    if is_.is_float64(kind):
        return _float(node, kind, sign)
    if is_.is_string(kind) or is_.is_large_string(kind):
        return _exact(node.value, kind) if node.kind == Kind.STRING else None
    if is_.is_decimal128(kind):
        return _decimal(node, kind)
    if is_.is_date32(kind) or is_.is_timestamp(kind):
        return _moment(node, kind)
    return None


def _exact(value: object, kind: pa.DataType) -> tuple[pa.Scalar, pa.Scalar]:
    found = load("pyarrow").scalar(value, kind)
    return found, found


def _integer(node: Node, kind: pa.DataType, sign: int) -> tuple[pa.Scalar, pa.Scalar] | None:
    if node.kind != Kind.NUMBER or not (node.value.isascii() and node.value.isdigit()):
        return None
    value = sign * int(node.value)
    signed = load("pyarrow").types.is_signed_integer(kind)
    # Lance reads the smallest integer and very large integers as floats, which are also equal to
    # neighboring integers.
    low = max(-(1 << kind.bit_width - 1), 1 - (1 << 63)) if signed else 0
    high = min(1 << kind.bit_width - (1 if signed else 0), 1 << 63)
    return _exact(value, kind) if low <= value < high else None


def _float(node: Node, kind: pa.DataType, sign: int) -> tuple[pa.Scalar, pa.Scalar] | None:
    if node.kind != Kind.NUMBER:
        return None
    try:
        value = sign * float(node.value.replace("_", "").rstrip("L"))
    except ValueError:
        return None
    return _exact(value, kind) if math.isfinite(value) else None


def _decimal(node: Node, kind: pa.DataType) -> tuple[pa.Scalar, pa.Scalar] | None:
    """Return a decimal; only a cast of a string represents one exactly."""
    pa = load("pyarrow")
    if node.kind != Kind.CAST or node.name not in ("DECIMAL", "NUMERIC"):
        return None
    inner = node.args[0]
    if inner.kind != Kind.STRING or not re.fullmatch(r"-?\d{1,38}(\.\d{1,38})?", inner.value):
        return None
    try:
        return _exact(Decimal(inner.value), kind)
    except pa.ArrowInvalid:
        return None  # the column has fewer digits


def _moment(node: Node, kind: pa.DataType) -> tuple[pa.Scalar, pa.Scalar] | None:
    pa = load("pyarrow")
    text = node
    if node.kind in (Kind.TYPED, Kind.CAST):
        if node.name not in ("DATE", "TIMESTAMP") or node.args[0].kind != Kind.STRING:
            return None
        text = node.args[0]
    elif node.kind != Kind.STRING:
        return None
    match = _MOMENT.fullmatch(text.value)
    if match is None:
        return None
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
        time = [int(each) for each in match.groups("0")[3:6]]
        start = datetime(day.year, day.month, day.day, time[0], time[1], time[2], tzinfo=UTC)
    except ValueError:
        return None
    if pa.types.is_date32(kind):
        # Lance compares a date with a timestamp as timestamps.
        return None if match[4] or node.name == "TIMESTAMP" else _exact(day, kind)
    if node.name == "DATE" and match[4]:
        return None
    scale = _UNITS[kind.unit]
    digits = (match[7] or "").ljust(9, "0")
    whole = round((start - _EPOCH) / timedelta(seconds=1))
    scaled, rest = divmod(int(digits), 10**9 // scale)
    # The column has fewer digits than the literal, or a time zone by which Lance shifts the
    # literal.
    slack = (1 if rest else 0) + (0 if kind.tz in (None, "UTC") else _ZONE_SECONDS * scale)
    low, high = whole * scale + scaled - slack, whole * scale + scaled + slack
    if not -(1 << 63) <= low <= high < 1 << 63:
        return None
    return pa.scalar(low, pa.int64()).cast(kind), pa.scalar(high, pa.int64()).cast(kind)
