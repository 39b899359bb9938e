"""The result of a job: typed rows that can be converted to dicts, Arrow and DataFrames."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs
import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Rows", "arrow_schema", "as_plain", "from_plain"]

T = TypeVar("T")

_ARROW = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    float: pa.float64(),
    datetime: pa.timestamp("us", "UTC"),
}


class Rows(Generic[T], Sequence[T]):
    """A sequence of rows of one attrs class.

    Args:
        kind: the class.
        rows: the rows.
    """

    def __init__(self, kind: type[T], rows: Sequence[T]) -> None:
        self._kind = kind
        self._rows = rows

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as JSON-compatible dicts; timestamps are ISO 8601 text."""
        return [as_plain(row) for row in self._rows]

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table; the schema does not depend on the rows."""
        rows = [attrs.asdict(row) for row in self._rows]  # type: ignore[arg-type]
        return pa.Table.from_pylist(rows, arrow_schema(self._kind))

    def to_frame(self, spark: SparkSession) -> DataFrame:
        """Return the rows as a DataFrame."""
        from ..distributed.frames import frame_from_arrow

        return frame_from_arrow(spark, self.to_arrow())


def arrow_schema(kind: type[Any]) -> pa.Schema:
    """Return the Arrow schema of an attrs class."""
    hints = get_type_hints(kind)
    return pa.schema([(each.name, _arrow_type(hints[each.name])) for each in attrs.fields(kind)])


def _arrow_type(hint: Any) -> pa.DataType:
    hint = _bare(hint)
    if attrs.has(hint):
        return pa.struct(arrow_schema(hint))
    if get_origin(hint) is tuple:
        return pa.list_(_arrow_type(get_args(hint)[0]))
    return _ARROW[hint]


def _bare(hint: Any) -> Any:
    """Return a type without None, if the type is optional."""
    if get_origin(hint) in (Union, types.UnionType):
        return next(each for each in get_args(hint) if each is not type(None))
    return hint


def as_plain(row: Any) -> dict[str, Any]:
    """Return a row as a JSON-compatible dict."""

    def plain(_: Any, __: Any, value: Any) -> Any:
        if isinstance(value, datetime):
            return value.isoformat()
        return list(value) if isinstance(value, tuple) else value

    return attrs.asdict(row, value_serializer=plain)


def from_plain(kind: type[T], row: Mapping[str, Any]) -> T:
    """Return the row that `as_plain` has converted to a dict.

    Raises:
        TypeError, ValueError: the dict does not represent that class.
    """
    hints = get_type_hints(kind)
    return kind(**{name: _from_plain(hints[name], value) for name, value in row.items()})


def _from_plain(hint: Any, value: Any) -> Any:
    hint = _bare(hint)
    if value is None:
        return None
    if get_origin(hint) is tuple:
        return tuple(_from_plain(get_args(hint)[0], each) for each in value)
    if attrs.has(hint):
        return from_plain(hint, value)
    return datetime.fromisoformat(value) if hint is datetime else value
