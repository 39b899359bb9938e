"""Partition transforms: functions from column values to partition values.

`lance_namespace_impls.partitioned.pruning` determines which partition values match a condition.
"""

from __future__ import annotations

import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from lance_namespace_client.errors import InvalidInputError

from ..core.errors import first_line
from ..core.imports import load
from ..tables.errors import from_lance
from ..tables.sql_parser import Kind, SqlError, parse
from .murmur import buckets, can_hash

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Bucket",
    "Expression",
    "Identity",
    "MultiBucket",
    "TimePart",
    "Transform",
    "Truncate",
    "transform_from_json",
]

TIME_PARTS = ("year", "month", "day", "hour")
_COLUMN = re.compile(r"col(\d+)")
MAX_BUCKETS = (1 << 31) - 1


class Transform(ABC):
    """A function from the values of one or more columns to a partition value."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Type of the transform in the JSON of the format."""

    def to_json(self) -> dict[str, object]:
        """Return the transform in the JSON of the format."""
        return {"type": self.name}

    def shown(self, columns: Sequence[str]) -> str:
        """Return the transform as a string, in the form that `parse_field` accepts."""
        return f"{self.name}({', '.join(columns)})"

    def field_name(self, columns: Sequence[str]) -> str:
        """Return the default identifier of a partition field."""
        return "_".join([*(column.replace(".", "_") for column in columns), self.name])

    @abstractmethod
    def result_type(self, sources: Sequence[pa.DataType]) -> pa.DataType:
        """Return the type of the partition values.

        Args:
            sources: types of the columns.

        Raises:
            InvalidInputError: code 13, the transform cannot be applied to these types.
        """

    @abstractmethod
    def apply(self, columns: Sequence[pa.Array], result: pa.DataType) -> pa.Array:
        """Return the partition value of each row.

        Args:
            columns: the source columns, all of the same length.
            result: type of the partition values.
        """

    def _one(self, sources: Sequence[pa.DataType]) -> pa.DataType:
        if len(sources) != 1:
            raise InvalidInputError(f"{self.name} requires exactly one column, not {len(sources)}")
        return sources[0]


@frozen
class Identity(Transform):
    """The value, unchanged."""

    @property
    def name(self) -> str:
        return "identity"

    def shown(self, columns: Sequence[str]) -> str:
        return columns[0]

    def field_name(self, columns: Sequence[str]) -> str:
        return columns[0].replace(".", "_")

    def result_type(self, sources: Sequence[pa.DataType]) -> pa.DataType:
        is_ = load("pyarrow").types
        kind = self._one(sources)
        if is_.is_dictionary(kind):
            kind = kind.value_type
        if is_.is_nested(kind) or is_.is_null(kind) or hasattr(kind, "storage_type"):
            raise InvalidInputError(
                f"values of type {kind} cannot be partition values; use a column of numbers, "
                "strings, binary values, dates or times"
            )
        return kind

    def apply(self, columns: Sequence[pa.Array], result: pa.DataType) -> pa.Array:
        return columns[0].cast(result)


@frozen
class TimePart(Transform):
    """A part of a date or timestamp; local time is used for a timestamp with a time zone."""

    part: str

    @property
    def name(self) -> str:
        return self.part

    def result_type(self, sources: Sequence[pa.DataType]) -> pa.DataType:
        pa = load("pyarrow")
        kind = self._one(sources)
        dated = pa.types.is_date(kind) and self.name != "hour"
        if not (dated or pa.types.is_timestamp(kind)):
            wanted = "a timestamp" if self.name == "hour" else "a date or a timestamp"
            raise InvalidInputError(f"{self.name} needs {wanted}, not {kind}")
        return pa.int32()

    def apply(self, columns: Sequence[pa.Array], result: pa.DataType) -> pa.Array:
        part = getattr(load("pyarrow.compute"), self.part)
        return part(columns[0]).cast(result)


@frozen
class Bucket(Transform):
    """The bucket of a value, according to its hash."""

    count: int

    @property
    def name(self) -> str:
        return "bucket"

    def to_json(self) -> dict[str, object]:
        return {"type": self.name, "num_buckets": self.count}

    def shown(self, columns: Sequence[str]) -> str:
        return f"{self.name}({self.count}, {', '.join(columns)})"

    def field_name(self, columns: Sequence[str]) -> str:
        return "_".join([*(column.replace(".", "_") for column in columns), "bucket"])

    def result_type(self, sources: Sequence[pa.DataType]) -> pa.DataType:
        self._one(sources)
        return self._bucket_type(sources)

    def _bucket_type(self, sources: Sequence[pa.DataType]) -> pa.DataType:
        if not 1 <= self.count <= MAX_BUCKETS:
            raise InvalidInputError(f"{self.name} has {self.count} buckets; specify at least 1")
        for kind in sources:
            if not can_hash(kind):
                raise InvalidInputError(f"values of type {kind} cannot be hashed for {self.name}")
        return load("pyarrow").int32()

    def apply(self, columns: Sequence[pa.Array], result: pa.DataType) -> pa.Array:
        return buckets(list(columns), self.count).cast(result)


@frozen
class MultiBucket(Bucket):
    """The bucket of the values of several columns, according to their combined hash."""

    @property
    def name(self) -> str:
        return "multi_bucket"

    def result_type(self, sources: Sequence[pa.DataType]) -> pa.DataType:
        if not sources:
            raise InvalidInputError(f"{self.name} needs at least one column")
        return self._bucket_type(sources)


@frozen
class Truncate(Transform):
    """The first characters of a string, or a number rounded toward zero to a multiple of a
    width.
    """

    width: int

    @property
    def name(self) -> str:
        return "truncate"

    def to_json(self) -> dict[str, object]:
        return {"type": self.name, "width": self.width}

    def shown(self, columns: Sequence[str]) -> str:
        return f"{self.name}({self.width}, {columns[0]})"

    def result_type(self, sources: Sequence[pa.DataType]) -> pa.DataType:
        is_ = load("pyarrow").types
        kind = self._one(sources)
        if not 1 <= self.width <= MAX_BUCKETS:
            raise InvalidInputError(f"truncate has width {self.width}; specify at least 1")
        if is_.is_dictionary(kind):
            kind = kind.value_type
        text = is_.is_string(kind) or is_.is_large_string(kind)
        if not (text or is_.is_integer(kind) or is_.is_decimal(kind) or is_.is_floating(kind)):
            raise InvalidInputError(f"truncate requires strings or numbers, not {kind}")
        return kind

    def apply(self, columns: Sequence[pa.Array], result: pa.DataType) -> pa.Array:
        pa, pc = load("pyarrow"), load("pyarrow.compute")
        values = columns[0]
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if pa.types.is_string(result) or pa.types.is_large_string(result):
            return pc.utf8_slice_codeunits(values, 0, self.width).cast(result)
        if pa.types.is_integer(result):
            wide = pa.uint64() if pa.types.is_unsigned_integer(result) else pa.int64()
            width = pa.scalar(self.width, wide)
            # Arrow's division of integers rounds toward zero, as SQL's does.
            return pc.multiply(pc.divide(values.cast(wide), width), width).cast(result)
        parts = values.dictionary_encode()
        if pa.types.is_decimal(result):
            cut = [value - value % self.width for value in parts.dictionary.to_pylist()]
        else:
            np = load("numpy")
            known = parts.dictionary.cast(pa.float64()).to_numpy(zero_copy_only=False)
            with np.errstate(invalid="ignore"):
                cut = (known - np.fmod(known, self.width)).tolist()
        return pa.array(cut, result).take(parts.indices)


@frozen
class Expression(Transform):
    """An SQL expression over ``col0``, ``col1``, ..., evaluated by Lance."""

    sql: str

    @property
    def name(self) -> str:
        return "expression"

    def shown(self, columns: Sequence[str]) -> str:
        text = self.sql.replace("'", "''")
        return f"expression('{text}', {', '.join(columns)})"

    def field_name(self, columns: Sequence[str]) -> str:
        return "_".join([*(column.replace(".", "_") for column in columns), "expression"])

    def check(self, sources: int) -> None:
        """Reject an expression that is not SQL, or that reads anything other than its columns.

        Raises:
            InvalidInputError: code 13.
        """
        try:
            nodes = list(parse(self.sql).walk())
        except SqlError as error:
            raise InvalidInputError(f"the partition expression {error}") from None
        for node in nodes:
            if node.kind != Kind.COLUMN:
                continue
            match = _COLUMN.fullmatch(node.name.lower())
            if match is None or int(match[1]) >= sources:
                raise InvalidInputError(
                    f"the partition expression reads {node.name!r}; its columns are "
                    f"{', '.join(f'col{place}' for place in range(sources))}"
                )

    def result_type(self, sources: Sequence[pa.DataType]) -> pa.DataType:
        pa = load("pyarrow")
        if not sources:
            raise InvalidInputError("a partition expression needs at least one column")
        self.check(len(sources))
        kind = self._evaluated([pa.nulls(1, kind) for kind in sources]).type
        return Identity().result_type([kind])

    def apply(self, columns: Sequence[pa.Array], result: pa.DataType) -> pa.Array:
        return self._evaluated(columns).cast(result)

    def _evaluated(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Evaluate the expression with Lance's own engine, on a dataset in memory."""
        lance, pa = load("lance"), load("pyarrow")

        table = pa.table({f"col{place}": column for place, column in enumerate(columns)})
        try:
            dataset = lance.write_dataset(table, f"memory://partition-{uuid.uuid4().hex}")
            found = dataset.scanner(columns={"value": self.sql}, scan_in_order=True).to_table()
        except (OSError, ValueError, RuntimeError) as error:
            what = f"the partition expression {self.sql[:200]!r}"
            raise from_lance(error, what) or InvalidInputError(
                f"{what} cannot be evaluated: {first_line(error)}"
            ) from error
        return found.column("value").combine_chunks()


def transform_from_json(data: Mapping[str, Any], what: str) -> Transform:
    """Return the transform that is described by JSON.

    Raises:
        InvalidInputError: code 13, the transform is unknown or lacks its parameter.
    """
    kind = data.get("type")
    try:
        if kind == "identity":
            return Identity()
        if kind in TIME_PARTS:
            return TimePart(kind)
        if kind == "bucket":
            return Bucket(int(data["num_buckets"]))
        if kind == "multi_bucket":
            return MultiBucket(int(data["num_buckets"]))
        if kind == "truncate":
            return Truncate(int(data["width"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{what}: the transform {kind} has no valid number: {error}"
        ) from None
    raise InvalidInputError(f"{what}: unknown transform {kind!r}")
