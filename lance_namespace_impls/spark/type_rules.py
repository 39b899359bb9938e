"""Defines how each Arrow type converts between Lance and Spark, for the documentation's table."""

from __future__ import annotations

from enum import Enum

import pyarrow as pa
from attrs import frozen
from pyarrow import types as is_

from lance_namespace_client.errors import TableSchemaValidationError, UnsupportedError

from ..core.imports import load
from ..distributed.columns import spark_arrow_schema, to_spark_schema
from ..distributed.write_plan import check_schema

__all__ = ["ARROW_TYPES", "Rule", "TypeRule", "type_rules"]


class Rule(Enum):
    """Conversion of the values of a type."""

    EXACT = "exact"
    """Unchanged in both directions."""
    CAST = "cast"
    """Cast to another type, and back to the table's type: a changed value is always an error."""
    CUT = "cast, finer units truncated"
    """Cast to another type; units finer than that type's are truncated for Spark, with one warning.
    """
    REFUSED = "refused"
    """Not converted: an error names the column before any row is read."""


@frozen(kw_only=True)
class TypeRule:
    """Conversion of one Arrow type."""

    arrow: str
    """Arrow's name of the type."""
    lance: bool
    """Whether Lance can store the type."""
    spark: str | None
    """Corresponding Spark type; None if the type is refused."""
    rule: Rule


def _extension(name: str) -> pa.DataType:
    lance = load("lance")

    if name == "blob":
        return lance.blob_field("blob").type
    return {"json": pa.json_, "uuid": pa.uuid, "bool8": pa.bool8}[name]()


ARROW_TYPES: tuple[pa.DataType, ...] = (
    pa.null(),
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.decimal32(5, 2),
    pa.decimal64(12, 2),
    pa.decimal128(38, 10),
    pa.decimal256(38, 10),
    pa.decimal256(50, 10),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.binary(16),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp(unit, "UTC") for unit in ("s", "ms", "us", "ns")),
    pa.timestamp("us", "Europe/Berlin"),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    pa.month_day_nano_interval(),
    pa.list_(pa.int64()),
    pa.large_list(pa.int64()),
    pa.list_view(pa.int64()),
    pa.large_list_view(pa.int64()),
    pa.list_(pa.float16(), 768),
    pa.list_(pa.float32(), 768),
    pa.list_(pa.float64(), 768),
    pa.list_(pa.uint8(), 768),
    pa.list_(pa.list_(pa.float32(), 768)),
    pa.struct([("a", pa.int64()), ("b", pa.string())]),
    pa.map_(pa.string(), pa.int64()),
    pa.dictionary(pa.int32(), pa.string()),
    pa.run_end_encoded(pa.int32(), pa.string()),
    pa.dense_union([pa.field("a", pa.int64())]),
    pa.sparse_union([pa.field("a", pa.int64())]),
    *map(_extension, ("json", "uuid", "bool8", "blob")),
    pa.fixed_shape_tensor(pa.float32(), [2, 2]),
)
"""One or more examples of each kind of Arrow type."""


def type_rules() -> list[TypeRule]:
    """Return the conversion rule of each of `ARROW_TYPES`."""
    return [_rule(kind) for kind in ARROW_TYPES]


def _rule(kind: pa.DataType) -> TypeRule:
    schema = pa.schema([("c", kind)])
    try:
        check_schema(schema, "t")
        stored = True
    except TableSchemaValidationError:
        stored = False
    try:
        found = to_spark_schema(schema)
    except UnsupportedError:
        return TypeRule(arrow=_name(kind), lance=stored, spark=None, rule=Rule.REFUSED)
    there = spark_arrow_schema(found).field(0).type
    rule = Rule.REFUSED if not stored else Rule.EXACT if there == kind else Rule.CAST
    if rule is Rule.CAST and (is_.is_timestamp(kind) or is_.is_duration(kind)):
        rule = Rule.CUT if kind.unit == "ns" else Rule.CAST
    return TypeRule(
        arrow=_name(kind),
        lance=stored,
        spark=found.fields[0].dataType.simpleString() if stored else None,
        rule=rule,
    )


def _name(kind: pa.DataType) -> str:
    if isinstance(kind, pa.BaseExtensionType):
        return str(kind.extension_name)
    return str(kind).replace("halffloat", "float16").replace("item: ", "")
