"""Keeps published operations as they are.

A field that disappears, or a request field that becomes required, breaks clients that are out
there. The protocol has no versions inside an operation: such a change makes a new operation with
a number behind its name, ``DescribeTableV2``.
"""

from __future__ import annotations

from typing import Any

from .document import Document


def breaking_changes(document: Document, published: dict[str, Any]) -> list[str]:
    """Compare with the published document; each breaking change is one line, ``file:line: cause``."""
    problems: list[str] = []
    schemas = document.data["components"]["schemas"]
    for name, old in published.get("components", {}).get("schemas", {}).items():
        place = ("components", "schemas", name)
        new = schemas.get(name)
        if new is None:
            problems.append(document.problem(place[:2], f"the published schema {name} is gone"))
            continue
        old_fields, new_fields = old.get("properties", {}), new.get("properties", {})
        for field in old_fields:
            if field not in new_fields:
                problems.append(document.problem(place, f"{name} has lost its field {field!r}"))
            elif (before := _type(old_fields[field])) != (after := _type(new_fields[field])):
                problems.append(
                    document.problem(
                        (*place, "properties", field), f"{name}.{field} was {before} and is {after}"
                    )
                )
        for field in new.get("required", ()):
            if field not in old.get("required", ()):
                problems.append(
                    document.problem((*place, "required"), f"{name} now requires {field!r}")
                )
    for path, item in published.get("paths", {}).items():
        for method in item:
            if method not in document.data["paths"].get(path, {}):
                problems.append(
                    document.problem(("paths", path), f"the route {method.upper()} {path} is gone")
                )
    return problems


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    if "oneOf" in schema:
        return " or ".join(_type(branch) for branch in schema["oneOf"])
    kind = schema.get("type", "anything")
    text = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if "items" in schema:
        text += f" of {_type(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        text += f" of {_type(schema['additionalProperties'])}"
    return text
