"""Determines the operations that a change to the document affects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .check import METHODS
from .document import Place

__all__ = ["drafts", "touched"]

Json = dict[str, Any]
SCHEMA = "#/components/schemas/"


def drafts(document: Json) -> frozenset[str]:
    """Return the draft operations (`x-draft`), which may change incompatibly."""
    return frozenset(name for name, raw in _routes(document) if raw.get("x-draft"))


def touched(document: Json, place: Place) -> frozenset[str]:
    """Return the operations to which a location in a document belongs.

    A schema belongs to every operation that refers to it, directly or indirectly. A part that
    belongs to no specific operation, such as the error table, belongs to all operations.
    """
    if place[:1] == ("paths",) and len(place) > 2:
        raw = document.get("paths", {}).get(place[1], {}).get(place[2], {})
        return frozenset([raw["x-operation"]]) if "x-operation" in raw else frozenset()
    if place[:2] == ("components", "schemas") and len(place) > 2:
        name = str(place[2])
        return frozenset(
            operation for operation, raw in _routes(document) if name in _reached(document, raw)
        )
    return frozenset(operation for operation, _ in _routes(document))


def _routes(document: Json) -> Iterator[tuple[str, Json]]:
    for item in document.get("paths", {}).values():
        for method in METHODS:
            raw = item.get(method)
            if raw is not None and "x-operation" in raw:
                yield raw["x-operation"], raw


def _reached(document: Json, raw: Json) -> set[str]:
    schemas = document.get("components", {}).get("schemas", {})
    found: set[str] = set()
    waiting = [raw.get("x-request"), raw.get("x-response"), *_references(raw)]
    while waiting:
        name = waiting.pop()
        if name is not None and name not in found and name in schemas:
            found.add(name)
            waiting += _references(schemas[name])
    return found


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str) and value.startswith(SCHEMA):
                yield value.removeprefix(SCHEMA)
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)
