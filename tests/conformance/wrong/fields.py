"""Every field of every request and answer, from rest.yaml, and functions that change its values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

from attrs import frozen

from lance_namespace_client.operations import OPERATIONS

__all__ = ["ABSENT", "ANSWER_FIELDS", "REQUEST_FIELDS", "Field", "changed", "held"]

_SCHEMAS: dict[str, Any] = json.loads(
    resources.files("lance_namespace_client").joinpath("openapi.json").read_text("utf-8")
)["components"]["schemas"]
_TRAVELS = ("identity", "context")
"""Common fields that describe the caller and not the operation."""
_DEPTH = 3
ITEM = "[]"
ENTRY = "{}"


class Absent:
    """The type of `ABSENT`, which stands for an absent field."""


ABSENT = Absent()


@frozen
class Field:
    """A field of an operation's request or answer."""

    operation: str
    path: tuple[str, ...]
    """Keys from the outermost level; ``[]`` is each item of a list, ``{}`` each value of a map."""
    type: str
    """JSON type; ``map`` is an object with arbitrary keys."""
    required: bool

    @property
    def name(self) -> str:
        """The path as a string."""
        return ".".join(self.path).replace(".[]", "[]").replace(".{}", "{}")


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its reference resolved and without a null alternative."""
    while "$ref" in schema or "oneOf" in schema:
        if "$ref" in schema:
            schema = _SCHEMAS[schema["$ref"].rpartition("/")[2]]
            continue
        schema = next(s for s in schema["oneOf"] if s.get("type") != "null")
    return schema


def _type(schema: dict[str, Any]) -> str:
    found = schema.get("type", "object")
    if isinstance(found, list):
        found = next(each for each in found if each != "null")
    return "map" if found == "object" and "properties" not in schema else str(found)


def _walk(
    operation: str, schema: dict[str, Any], path: tuple[str, ...], depth: int
) -> Iterator[Field]:
    required = schema.get("required", ())
    for key, value in schema.get("properties", {}).items():
        if key in _TRAVELS:
            continue
        yield from _field(operation, value, (*path, key), depth, key in required)


def _field(
    operation: str, schema: dict[str, Any], path: tuple[str, ...], depth: int, required: bool
) -> Iterator[Field]:
    schema = _plain(schema)
    kind = _type(schema)
    yield Field(operation, path, kind, required)
    if depth == 0:
        return
    if kind == "object":
        yield from _walk(operation, schema, path, depth - 1)
    elif kind == "array":
        inner = _plain(schema["items"])
        if _type(inner) == "object":
            yield from _walk(operation, inner, (*path, ITEM), depth - 1)
    elif kind == "map" and isinstance(schema.get("additionalProperties"), dict):
        inner = _plain(schema["additionalProperties"])
        if _type(inner) in ("object", "map"):
            yield from _field(operation, inner, (*path, ENTRY), depth - 1, False)


REQUEST_FIELDS = [
    field
    for row in OPERATIONS.values()
    for field in _walk(row.name, _SCHEMAS[row.request], (), _DEPTH)
]
ANSWER_FIELDS = [
    field
    for row in OPERATIONS.values()
    for field in _walk(row.name, _SCHEMAS[row.response], (), _DEPTH)
    if row.response in _SCHEMAS
]


def held(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """Yield each value at a path."""
    if not path:
        yield value
    elif path[0] == ITEM:
        for item in value if isinstance(value, list | tuple) else ():
            yield from held(item, path[1:])
    elif path[0] == ENTRY:
        for item in value.values() if isinstance(value, dict) else ():
            yield from held(item, path[1:])
    elif isinstance(value, dict) and value.get(path[0]) is not None:
        yield from held(value[path[0]], path[1:])


def changed(value: Any, path: tuple[str, ...], change: Callable[[Any], Any]) -> Any:
    """Return a copy with each value at a path changed; `ABSENT` removes the value."""
    if not path:
        return change(value)
    key, rest = path[0], path[1:]
    if key == ITEM and isinstance(value, list | tuple):
        items = [changed(item, rest, change) for item in value]
        return [item for item in items if item is not ABSENT]
    if key == ENTRY and isinstance(value, dict):
        entries = {k: changed(v, rest, change) for k, v in value.items()}
        return {k: v for k, v in entries.items() if v is not ABSENT}
    if not isinstance(value, dict) or value.get(key) is None:
        return value
    made = changed(value[key], rest, change)
    if made is ABSENT:
        return {k: v for k, v in value.items() if k != key}
    return {**value, key: made}
