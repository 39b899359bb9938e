"""Converts between Arrow schemas and Unity Catalog columns.

Unity Catalog's types are those of Spark SQL. A column's ``type_json`` is the Spark field in Spark's
JSON format. The field's metadata contains the exact Arrow field, under the key that Parquet files
use for the same purpose. Columns from other writers lack this entry; they are read as the Arrow
type that matches the Spark type.

Source: the Unity Catalog REST API, schema ``ColumnInfo``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
from attrs import evolve

from lance_namespace_client.models import JsonArrowField, JsonArrowSchema

__all__ = ["to_arrow", "to_columns", "to_json"]

ARROW_KEY = "ARROW:schema"
MAX_DECIMAL = 38

# A Spark type in Spark's JSON format: a name, or an object if the type is nested.
SparkType = str | dict[str, Any]

# Spark's type names in JSON, each with its name in DDL and Unity Catalog's type name.
_NAMES = {
    "void": ("void", "NULL"),
    "boolean": ("boolean", "BOOLEAN"),
    "byte": ("tinyint", "BYTE"),
    "short": ("smallint", "SHORT"),
    "integer": ("int", "INT"),
    "long": ("bigint", "LONG"),
    "float": ("float", "FLOAT"),
    "double": ("double", "DOUBLE"),
    "string": ("string", "STRING"),
    "binary": ("binary", "BINARY"),
    "date": ("date", "DATE"),
    "timestamp": ("timestamp", "TIMESTAMP"),
    "timestamp_ntz": ("timestamp_ntz", "TIMESTAMP_NTZ"),
    "interval": ("interval", "INTERVAL"),
    "interval day to second": ("interval day to second", "INTERVAL"),
}
_FROM_DDL = {ddl: name for name, (ddl, _) in _NAMES.items()} | {
    "byte": "byte",
    "short": "short",
    "integer": "integer",
    "long": "long",
    "real": "float",
    "dec": "decimal(10,0)",
    "decimal": "decimal(10,0)",
    "numeric": "decimal(10,0)",
    "null": "void",
    "timestamp_ltz": "timestamp",
}
_FROM_TYPE_NAME = {type_name: name for name, (_, type_name) in _NAMES.items()} | {
    "CHAR": "string",
    "INTERVAL": "interval day to second",
}

_TO_ARROW: dict[str, pa.DataType] = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "interval": pa.month_day_nano_interval(),
    "interval day to second": pa.duration("us"),
}
_FROM_ARROW: dict[pa.DataType, str] = {
    pa.null(): "void",
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    # Spark has no unsigned integers, but the next wider signed type can represent their values.
    pa.uint8(): "short",
    pa.uint16(): "integer",
    pa.uint32(): "long",
    pa.uint64(): "decimal(20,0)",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date32(): "date",
    pa.date64(): "date",
    pa.month_day_nano_interval(): "interval",
}
_DECIMAL = re.compile(
    r"(?:decimal|dec|numeric)\s*\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)", re.IGNORECASE
)
_TEXT = re.compile(r"(?:var)?char\s*\(\s*\d+\s*\)", re.IGNORECASE)


def to_columns(schema: pa.Schema) -> list[dict[str, Any]]:
    """Convert an Arrow schema to a table's columns."""
    return [_column(field, position) for position, field in enumerate(schema)]


def _column(field: pa.Field, position: int) -> dict[str, Any]:
    spark = _spark_type(field.type)
    exact = base64.b64encode(pa.schema([field]).serialize()).decode("ascii")
    described = {
        "name": field.name,
        "type": spark,
        "nullable": field.nullable,
        "metadata": {ARROW_KEY: exact},
    }
    column: dict[str, Any] = {
        "name": field.name,
        "type_name": _type_name(spark),
        "type_text": _ddl(spark),
        "type_json": json.dumps(described, separators=(",", ":"), ensure_ascii=False),
        "nullable": field.nullable,
        "position": position,
    }
    decimal = _DECIMAL.fullmatch(spark) if isinstance(spark, str) else None
    if decimal is not None:
        column |= {"type_precision": int(decimal[1]), "type_scale": int(decimal[2])}
    return column


def _spark_type(kind: pa.DataType) -> SparkType:
    """Return the Spark type that can represent every value of an Arrow type."""
    plain = _FROM_ARROW.get(kind)
    if plain is not None:
        return plain
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _spark_type(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _spark_type(kind.value_type)
    if types.is_decimal(kind):
        fits = kind.precision <= MAX_DECIMAL and 0 <= kind.scale <= kind.precision
        return f"decimal({kind.precision},{kind.scale})" if fits else "string"
    if types.is_fixed_size_binary(kind):
        return "binary"
    if types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if types.is_time(kind):
        return "long"  # Spark has no time-of-day type; the column contains the number of units since midnight
    if types.is_duration(kind):
        return "interval day to second"
    if types.is_map(kind):
        return {
            "type": "map",
            "keyType": _spark_type(kind.key_type),
            "valueType": _spark_type(kind.item_type),
            "valueContainsNull": kind.item_field.nullable,
        }
    if types.is_struct(kind):
        return {"type": "struct", "fields": [_member(field) for field in kind]}
    if types.is_union(kind):
        members = [kind.field(i).with_nullable(True) for i in range(kind.num_fields)]
        return {"type": "struct", "fields": [_member(field) for field in members]}
    return {
        "type": "array",
        "elementType": _spark_type(kind.value_type),
        "containsNull": kind.value_field.nullable,
    }


def _member(field: pa.Field) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": _spark_type(field.type),
        "nullable": field.nullable,
        "metadata": {},
    }


def _type_name(spark: SparkType) -> str:
    if isinstance(spark, dict):
        return str(spark["type"]).upper()
    return "DECIMAL" if spark.startswith("decimal") else _NAMES[spark][1]


def _ddl(spark: SparkType) -> str:
    if isinstance(spark, str):
        return _NAMES[spark][0] if spark in _NAMES else spark
    if spark["type"] == "array":
        return f"array<{_ddl(spark['elementType'])}>"
    if spark["type"] == "map":
        return f"map<{_ddl(spark['keyType'])},{_ddl(spark['valueType'])}>"
    members = (f"{_quoted(member['name'])}:{_ddl(member['type'])}" for member in spark["fields"])
    return f"struct<{','.join(members)}>"


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"


class ColumnKey(NamedTuple):
    """The fields of a column that determine its type."""

    name: str
    nullable: bool
    type_json: str
    type_text: str
    type_name: str
    precision: int
    scale: int


def to_arrow(columns: Iterable[Mapping[str, Any]]) -> pa.Schema | None:
    """Convert columns to an Arrow schema.

    Returns:
        the schema, or None if a column has a type without an Arrow equivalent.
    """
    return _schema(column_keys(columns))


def to_json(columns: Iterable[Mapping[str, Any]]) -> JsonArrowSchema | None:
    """Convert columns to an Arrow schema in the protocol's JSON; each call returns a new copy."""
    schema = _json_schema(column_keys(columns))
    return (
        None if schema is None else evolve(schema, fields=[_copy(field) for field in schema.fields])
    )


def column_keys(columns: Iterable[Mapping[str, Any]]) -> tuple[ColumnKey, ...]:
    """Extract the fields that determine the types of columns, in the order of the columns."""
    return tuple(
        ColumnKey(
            str(column.get("name")),
            column.get("nullable") is not False,
            column.get("type_json") or "",
            column.get("type_text") or "",
            column.get("type_name") or "",
            column.get("type_precision") or 10,
            column.get("type_scale") or 0,
        )
        for column in sorted(columns, key=lambda column: column.get("position") or 0)
    )


# The result is cached, because tables are described repeatedly, and a wide schema is slower to
# convert than the call itself.
@lru_cache(maxsize=1024)
def _json_schema(keys: tuple[ColumnKey, ...]) -> JsonArrowSchema | None:
    from ..tables.schema import to_json_schema

    schema = _schema(keys)
    return None if schema is None else to_json_schema(schema)


def _copy(field: JsonArrowField) -> JsonArrowField:
    kind = field.type
    inner = kind.fields and [_copy(each) for each in kind.fields]
    return JsonArrowField(
        name=field.name,
        nullable=field.nullable,
        type=evolve(kind, fields=inner),
        metadata=field.metadata and dict(field.metadata),
    )


def _schema(keys: Iterable[ColumnKey]) -> pa.Schema | None:
    fields = []
    for key in keys:
        field = _field(key)
        if field is None:
            return None
        fields.append(field)
    return pa.schema(fields)


def _field(column: ColumnKey) -> pa.Field | None:
    described = _parse_json(column.type_json)
    exact = _exact_field(described)
    if exact is not None:
        return exact.with_name(column.name)
    try:
        if described is not None:
            kind = _arrow_type(described.get("type", {}) if "name" in described else described)
        elif column.type_text:
            kind = _arrow_type(_Ddl(column.type_text).whole())
        elif column.type_name == "DECIMAL":
            kind = pa.decimal128(column.precision, column.scale)
        else:
            kind = _arrow_type(_FROM_TYPE_NAME.get(column.type_name, column.type_name))
    except _UnknownType:
        return None
    return pa.field(column.name, kind, nullable=column.nullable)


class _UnknownType(Exception):
    """Raised for a Spark type without an Arrow equivalent, or a string that is not a type."""


def _parse_json(text: str) -> dict[str, Any] | None:
    """Parse ``type_json``: a Spark field or, from some writers, only a type or no JSON at all."""
    try:
        described = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(described, str):
        return {"name": "", "type": described}
    return described if isinstance(described, dict) else None


def _exact_field(described: Mapping[str, Any] | None) -> pa.Field | None:
    metadata = (described or {}).get("metadata")
    text = metadata.get(ARROW_KEY) if isinstance(metadata, dict) else None
    if not text:
        return None
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))).field(0)
    except (binascii.Error, pa.ArrowException, OSError):
        return None  # this package did not write the metadata, so use the Spark type


def _arrow_type(spark: Any) -> pa.DataType:
    if isinstance(spark, str):
        return _plain_arrow_type(spark)
    try:
        if spark["type"] == "array":
            element = _arrow_type(spark["elementType"])
            return pa.list_(pa.field("item", element, spark.get("containsNull", True)))
        if spark["type"] == "map":
            value = _arrow_type(spark["valueType"])
            nullable = spark.get("valueContainsNull", True)
            return pa.map_(_arrow_type(spark["keyType"]), pa.field("value", value, nullable))
        if spark["type"] == "struct":
            return pa.struct(
                [
                    pa.field(member["name"], _arrow_type(member["type"]), member["nullable"])
                    for member in spark["fields"]
                ]
            )
        if isinstance(spark["type"], str):
            return _plain_arrow_type(spark["type"])
    except (KeyError, TypeError) as error:
        raise _UnknownType(spark) from error
    raise _UnknownType(spark)


def _plain_arrow_type(name: str) -> pa.DataType:
    lower = name.strip().lower()
    lower = lower if lower in _TO_ARROW else _FROM_DDL.get(lower, lower)
    if lower in _TO_ARROW:
        return _TO_ARROW[lower]
    decimal = _DECIMAL.fullmatch(lower)
    if decimal is not None and 0 < int(decimal[1]) <= MAX_DECIMAL:
        return pa.decimal128(int(decimal[1]), int(decimal[2] or 0))
    if _TEXT.fullmatch(lower):
        return pa.string()
    raise _UnknownType(name)


class _Ddl:
    """A parser for types in DDL, such as ``array<struct<a:int,b:string>>``."""

    TOKEN = re.compile(r"`(?:[^`]|``)*`|[<>,:()]|[^\s<>,:()`]+")

    def __init__(self, text: str) -> None:
        self._tokens = self.TOKEN.findall(text)

    def whole(self) -> SparkType:
        """Parse the entire text as one type."""
        parsed = self._type()
        if self._tokens:
            raise _UnknownType(self._tokens[0])
        return parsed

    def _next(self, expected: str | None = None) -> str:
        if not self._tokens or (expected is not None and self._tokens[0].lower() != expected):
            raise _UnknownType(expected or "")
        return str(self._tokens.pop(0))

    def _sees(self, token: str) -> bool:
        return bool(self._tokens) and self._tokens[0].lower() == token

    def _type(self) -> SparkType:
        name = self._next().lower()
        if name in ("array", "map", "struct") and self._sees("<"):
            self._next("<")
            parsed = {"array": self._array, "map": self._map, "struct": self._struct}[name]()
            self._next(">")
            return parsed
        if self._sees("("):
            return name + self._arguments()
        words = [name, *self._words()]
        return " ".join(words)

    def _array(self) -> SparkType:
        return {"type": "array", "elementType": self._type()}

    def _map(self) -> SparkType:
        key = self._type()
        self._next(",")
        return {"type": "map", "keyType": key, "valueType": self._type()}

    def _struct(self) -> SparkType:
        return {"type": "struct", "fields": list(self._members())}

    def _members(self) -> Iterator[dict[str, Any]]:
        while not self._sees(">"):
            name = self._next()
            if name.startswith("`"):
                name = name[1:-1].replace("``", "`")
            if self._sees(":"):
                self._next(":")
            kind = self._type()
            nullable = True
            if isinstance(kind, str) and kind.endswith(" not null"):
                kind, nullable = kind.removesuffix(" not null"), False
            yield {"name": name, "type": kind, "nullable": nullable}
            if not self._sees(">"):
                self._next(",")

    def _arguments(self) -> str:
        text = self._next("(")
        while not self._sees(")"):
            text += self._next()
        return text + self._next(")")

    def _words(self) -> Iterator[str]:
        while self._tokens and self._tokens[0] not in "<>,:()":
            yield self._next().lower()
