"""Rejects breaking changes to published operations.

Removing a field, or making a field required, breaks existing clients and servers. Operations have
no versions, so such a change requires a new operation with a numbered name, such as
``DescribeTableV2``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from .check import METHODS
from .document import Document, Place, Problem, resolve
from .impact import drafts, touched

Json = dict[str, Any]


def breaking_changes(
    document: Document, published: Json, allowed: frozenset[str] = frozenset()
) -> list[Problem]:
    """Compare a document with the published one; each problem is one breaking change.

    Draft operations of the published document may change, and so may the operations in `allowed`. A
    schema may change if only such operations use it.
    """
    free = allowed | drafts(published)
    return [
        document.problem(place, cause)
        for place, cause in _Comparison(published, document.data).changes()
        if not (owners := touched(published, place) | touched(document.data, place))
        or not owners <= free
    ]


@frozen
class _Comparison:
    """Compares an older document with a newer one; each change is a place in the newer one with a
    description.
    """

    old: Json
    new: Json

    def changes(self) -> Iterator[tuple[Place, str]]:
        yield from self._schemas()
        yield from self._routes()
        yield from self._errors()

    def _schemas(self) -> Iterator[tuple[Place, str]]:
        new_schemas = _schemas(self.new)
        for name, old in _schemas(self.old).items():
            place = ("components", "schemas", name)
            if name in new_schemas:
                yield from self._schema(place, name, old, new_schemas[name])
            else:
                yield place[:2], f"the published schema {name} was removed"

    def _schema(self, place: Place, name: str, old: Json, new: Json) -> Iterator[tuple[Place, str]]:
        old_fields, new_fields = old.get("properties", {}), new.get("properties", {})
        if not old_fields and not new_fields:
            yield from self._type(place, name, old, new)
        for key, old_field in old_fields.items():
            if key in new_fields:
                where = (*place, "properties", key)
                yield from self._type(where, f"{name}.{key}", old_field, new_fields[key])
            else:
                yield place, f"{name} no longer has the field {key!r}"
        for index, key in enumerate(new.get("required", ())):
            if key not in old.get("required", ()):
                yield (*place, "required", index), f"{name} now requires {key!r}"

    def _type(self, place: Place, what: str, old: Json, new: Json) -> Iterator[tuple[Place, str]]:
        before, after = _describe(self.old, old), _describe(self.new, new)
        if before != after:
            yield place, f"{what} was {before} and is now {after}"
            return
        old, new = _resolve(self.old, old), _resolve(self.new, new)
        for value in old.get("enum", ()):
            if value not in new.get("enum", ()):
                yield (*place, "enum"), f"{what} no longer accepts {value!r}"
        for key in ("default", "minimum", "minItems"):
            if old.get(key) != new.get(key):
                before, after = old.get(key, "none"), new.get(key, "none")
                yield (*place, key), f"the {key} of {what} was {before} and is now {after}"

    def _routes(self) -> Iterator[tuple[Place, str]]:
        for path, item in self.old.get("paths", {}).items():
            for method in METHODS:
                if (old := item.get(method)) is None:
                    continue
                new = self.new["paths"].get(path, {}).get(method)
                route, place = f"{method.upper()} {path}", ("paths", path, method)
                if new is None:
                    yield place, f"the route {route} was removed"
                    continue
                before, after = self._shape(self.old, old), self._shape(self.new, new)
                for key, value in before.items():
                    if value != after[key]:
                        yield place, f"the {key} of {route} was {value} and is now {after[key]}"
                yield from self._parameters(place, route, old, new)

    def _shape(self, document: Json, operation: Json) -> Json:
        """Return the content types and models of a route, without its parameters."""
        responses = operation.get("responses", {})
        body = _resolve(document, operation.get("requestBody", {}))
        status = next((key for key in responses if key.startswith("2")), "none")
        response = _resolve(document, responses.get(status, {}))
        return {
            "operation": operation.get("x-operation", "none"),
            "request": operation.get("x-request", "none"),
            "response": operation.get("x-response", "none"),
            "status": status,
            "body": ", ".join(body.get("content", ())) or "none",
            "bare field of the body": operation.get("x-body-field", "none"),
            "answer": ", ".join(response.get("content", ())) or "none",
            "bare field of the response": operation.get("x-response-field", "none"),
        }

    def _parameters(
        self, place: Place, route: str, old: Json, new: Json
    ) -> Iterator[tuple[Place, str]]:
        before = {p["name"]: p for p in _parameters(self.old, old)}
        after = {p["name"]: p for p in _parameters(self.new, new)}
        for name, parameter in before.items():
            if name not in after:
                yield (*place, "parameters"), f"{route} no longer has the parameter {name}"
                continue
            index = list(after).index(name)
            yield from self._type(
                (*place, "parameters", index),
                f"parameter {name} of {route}",
                parameter["schema"],
                after[name]["schema"],
            )
        for index, (name, parameter) in enumerate(after.items()):
            if parameter.get("required") and not before.get(name, {}).get("required"):
                where = (*place, "parameters", index)
                yield where, f"{route} now requires its parameter {name}"

    def _errors(self) -> Iterator[tuple[Place, str]]:
        new = {row["name"]: row for row in self.new.get("x-error-codes", ())}
        for row in self.old.get("x-error-codes", ()):
            name = row["name"]
            if name not in new:
                yield ("x-error-codes",), f"the error {name} was removed"
            elif (new[name]["code"], new[name]["status"]) != (row["code"], row["status"]):
                index = self.new["x-error-codes"].index(new[name])
                yield (
                    ("x-error-codes", index),
                    f"the error {name} had code {row['code']} and HTTP status {row['status']}",
                )


def _schemas(document: Json) -> Json:
    schemas: Json = document.get("components", {}).get("schemas", {})
    return schemas


def _resolve(document: Json, part: Json) -> Json:
    if "$ref" not in part:
        return part
    return _resolve(document, resolve(document, part["$ref"]))


def _parameters(document: Json, operation: Json) -> list[Json]:
    return [_resolve(document, parameter) for parameter in operation.get("parameters", ())]


def _describe(document: Json, schema: Json) -> str:
    """Describe a type in words; an object with fields is described by its name."""
    target = _resolve(document, schema)
    if "$ref" in schema and "properties" in target:
        return str(schema["$ref"].rsplit("/", 1)[1])
    kinds = target.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    kinds += [
        _describe(document, branch) for branch in target.get("oneOf") or target.get("anyOf") or ()
    ]
    words = " or ".join(kind for kind in kinds if kind != "null") or "anything"
    if "format" in target:
        words += f" ({target['format']})"
    for key in ("items", "additionalProperties"):
        if isinstance(target.get(key), dict):
            words += f" of {_describe(document, target[key])}"
    return f"{words} or null" if "null" in kinds else words
