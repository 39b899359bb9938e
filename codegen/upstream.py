"""What another specification of the protocol has that this one lacks, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .check import METHODS

__all__ = ["differences", "read"]

Json = dict[str, Any]


def read(path: Path) -> Json:
    """Return an OpenAPI document, from YAML or JSON; it need not be one that can be generated.

    Raises:
        ValueError: it is neither, or no OpenAPI document.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        found = YAML(typ="safe", pure=True).load(path.read_text("utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict) or not isinstance(found.get("paths"), dict):
        raise ValueError(f"{path} is no OpenAPI document: it has no paths")
    return found


def differences(ours: Json, theirs: Json) -> Iterator[str]:
    """Walk what differs, a line each, in the protocol's terms."""
    yield from _operations(ours, theirs)
    yield from _models(ours, theirs)


def _operations(ours: Json, theirs: Json) -> Iterator[str]:
    here, there = _by_operation(ours), _by_operation(theirs)
    for name in sorted(there.keys() - here.keys()):
        yield f"operation {name} is new: {there[name]}"
    for name in sorted(here.keys() - there.keys()):
        yield f"operation {name} is not there: {here[name]}"
    for name in sorted(here.keys() & there.keys()):
        if here[name] != there[name]:
            yield f"operation {name} is {there[name]}, and {here[name]} here"


def _by_operation(document: Json) -> dict[str, str]:
    found: dict[str, str] = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            raw = (item or {}).get(method)
            if raw is None or path.count("/") == 1:  # the routes by name are this project's own
                continue
            name = raw.get("x-operation") or raw.get("operationId") or f"{method} {path}"
            found[str(name)] = f"{method.upper()} {path}"
    return found


def _models(ours: Json, theirs: Json) -> Iterator[str]:
    here, there = _schemas(ours), _schemas(theirs)
    for name in sorted(there.keys() - here.keys()):
        yield f"model {name} is new"
    for name in sorted(here.keys() & there.keys()):
        old, new = _fields(here[name]), _fields(there[name])
        needed, needed_here = (
            set(each.get("required") or ()) for each in (there[name], here[name])
        )
        for field in sorted(new.keys() - old.keys()):
            yield f"{name}.{field} is new{' and required' if field in needed else ''}"
        for field in sorted(old.keys() - new.keys()):
            yield f"{name}.{field} is not there"
        for field in sorted(old.keys() & new.keys()):
            if field in needed and field not in needed_here:
                yield f"{name}.{field} is required there"
            if field in needed_here and field not in needed:
                yield f"{name}.{field} is required here alone"
            before, after = _kind(old[field]), _kind(new[field])
            if before and after and before != after:
                yield f"{name}.{field} is {after}, and {before} here"


def _schemas(document: Json) -> dict[str, Json]:
    found = (document.get("components") or {}).get("schemas") or {}
    return {name: schema for name, schema in found.items() if isinstance(schema, dict)}


def _fields(schema: Json) -> dict[str, Json]:
    found = dict(schema.get("properties") or {})
    for part in schema.get("allOf") or ():
        found |= part.get("properties") or {}
    return found


def _kind(schema: Json) -> str:
    """Return a type in one word; nothing where it is put together of several."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [each for each in kind if each != "null"]
        kind = kinds[0] if len(kinds) == 1 else None
    if kind == "array":
        inner = _kind(schema.get("items") or {})
        return f"array of {inner}" if inner else ""
    return str(kind or "")
