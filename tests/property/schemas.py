"""JSON values for the schemas in the OpenAPI document: valid, invalid, and normalized values."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import lance_namespace_client

__all__ = ["ALIASES", "SCHEMAS", "normal", "right", "wrong"]

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Any]

_DOCUMENT = json.loads(
    (Path(lance_namespace_client.__file__).parent / "openapi.json").read_text("utf-8")
)
SCHEMAS: dict[str, Schema] = {
    name: schema
    for name, schema in _DOCUMENT["components"]["schemas"].items()
    if "properties" in schema or schema.get("type") == "object"
}
"""The schemas that are models."""
ALIASES: dict[str, Schema] = {
    name: schema
    for name, schema in _DOCUMENT["components"]["schemas"].items()
    if "properties" not in schema
}
"""The schemas that are only names of types."""

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


def _resolved(schema: Schema) -> Schema:
    """Follow references, and return ``X`` for ``oneOf(null, X)``."""
    while True:
        if "$ref" in schema:
            schema = _DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        elif "oneOf" in schema:
            schema = next(each for each in schema["oneOf"] if each.get("type") != "null")
        else:
            return schema


def _type(schema: Schema) -> str | None:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next(each for each in kind if each != "null")
    return kind


def _accepts_null(schema: Schema) -> bool:
    if "$ref" in schema:
        return _accepts_null(_DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "oneOf" in schema:
        return any(each.get("type") == "null" for each in schema["oneOf"])
    return isinstance(schema.get("type"), list) and "null" in schema["type"]


def _is_bare_object(schema: Schema) -> bool:
    return "properties" not in schema and "additionalProperties" not in schema


# --- valid values


def right(schema: Schema, depth: int = 3) -> SearchStrategy[Json]:
    """Return values that a schema allows; recursive schemas end at `depth`."""
    schema = _resolved(schema)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match _type(schema):
        case "string":
            return _strings(schema)
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(schema.get("minimum", -(2**63)), schema.get("maximum", 2**63 - 1))
        case "number":
            return st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6)
        case "array":
            least = schema.get("minItems", 0)
            most = min(max(least, 2 if depth > 0 else 0), schema.get("maxItems", 2))
            items = right(schema["items"], depth - 1)
            unique = repr if schema.get("uniqueItems") else None
            return st.lists(items, min_size=least, max_size=most, unique_by=unique)
        case "object" if "properties" in schema:
            return _objects(schema, depth)
        case "object" if not _is_bare_object(schema):
            entry = schema["additionalProperties"]
            values = right(entry, depth - 1)
            if _accepts_null(entry):
                values = st.none() | values
            return st.dictionaries(TEXT, values, max_size=2)
        case _:
            return st.dictionaries(TEXT, ANY_JSON, max_size=2)


def _strings(schema: Schema) -> SearchStrategy[str]:
    form, least = schema.get("format"), schema.get("minLength", 0)
    if form == "date-time":
        return st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat())
    if form == "binary":
        return st.binary(max_size=8).map(lambda data: base64.b64encode(data).decode())
    return TEXT.filter(lambda text: len(text) >= least)


def _objects(schema: Schema, depth: int) -> SearchStrategy[Json]:
    required = schema.get("required", [])
    always, sometimes = {}, {}
    for key, field in schema["properties"].items():
        value = _later(field, depth - 1)
        if key in required:
            always[key] = st.none() | value if _accepts_null(field) else value
        elif depth > 0:
            sometimes[key] = st.none() | value
    return st.fixed_dictionaries(always, optional=sometimes)


def _later(schema: Schema, depth: int) -> SearchStrategy[Json]:
    return st.deferred(lambda: right(schema, depth))


# --- invalid values


@cache
def _wrong_for() -> dict[str, list[Json]]:
    return {
        "string": [5, True, ["text"], {"a": "text"}],
        "boolean": ["true", 1, [True]],
        "integer": ["5", 1.5, True, [5], {}],
        "number": ["1.5", True, [1.5]],
        "array": ["text", 5, {"0": "text"}],
        "object": ["text", 5, ["a"]],
    }


def wrong(schema: Schema) -> list[Json]:
    """Return values that a schema does not allow; an empty list if it allows all values."""
    resolved = _resolved(schema)
    kind = _type(resolved)
    if "enum" in resolved:
        return ["none of them", 5]
    if kind is None or (kind == "object" and _is_bare_object(resolved)):
        return []
    if resolved.get("format") == "binary":
        return [5, "not base64!"]
    values = list(_wrong_for()[kind])
    if resolved.get("x-one-or-many"):
        values = [5, {"0": "text"}, []]
    if resolved.get("format") == "date-time":
        values.append("yesterday")
    if kind == "integer" and "minimum" in resolved:
        values.append(resolved["minimum"] - 1)
    if kind == "integer" and "maximum" in resolved:
        values.append(resolved["maximum"] + 1)
    if kind == "array" and resolved.get("minItems"):
        values.append([])
    if kind == "array" and ("maxItems" in resolved or resolved.get("uniqueItems")):
        item = _some(resolved["items"])
        values.append([item] * (resolved.get("maxItems", 1) + 1))
    if kind == "string" and resolved.get("minLength"):
        values.append("")
    if kind == "array":
        values += [[value] for value in wrong(resolved["items"])]
    if kind == "object" and isinstance(resolved.get("additionalProperties"), Mapping):
        values += [{"key": value} for value in wrong(resolved["additionalProperties"])]
    return values


def _some(schema: Schema) -> Json:
    """Return a value that the schema of an item allows."""
    resolved = _resolved(schema)
    return {"string": "x", "integer": 1, "number": 1.5}[_type(resolved) or ""]


# --- the normal form: the JSON that a model writes after it has read a value


def normal(schema: Schema, value: Json) -> Json:
    """Remove fields that are equivalent to absent fields: null and default values."""
    schema = _resolved(schema)
    if isinstance(value, list) and "items" in schema:
        return [normal(schema["items"], item) for item in value]
    if isinstance(value, dict) and "properties" in schema:
        required = schema.get("required", [])
        return {
            key: normal(schema["properties"][key], item)
            for key, item in value.items()
            if key in schema["properties"]
            and (key in required or not _is_absent(schema["properties"][key], item))
        }
    if isinstance(value, dict) and isinstance(schema.get("additionalProperties"), Mapping):
        return {key: normal(schema["additionalProperties"], v) for key, v in value.items()}
    return value


def _is_absent(schema: Schema, value: Json) -> bool:
    default = schema.get("default")
    return value is None or (default is not None and value == default)
