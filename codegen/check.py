"""Checks for errors that openapi-python-client ignores or reports without a line.

Everything in a specification is either generated or rejected here, because a keyword without effect
would promise something that neither the client nor the server implements.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from .document import Document, Place, Problem
from .model import attribute, snake

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
PARTS = ("openapi", "info", "paths", "components", "x-error-codes", "x-common-codes")
PATH_KEYS = (*METHODS, "summary", "description", "parameters", "servers")
OPERATION_KEYS = (
    "x-operation",
    "x-request",
    "x-response",
    "x-codes",
    "x-action",
    "x-repeatable",
    "x-draft",
    "x-body-field",
    "x-response-field",
)
# Permissions that an operation may require, as in the enum `Action` of the operation table.
ACTIONS = ("read", "write", "manage")
ERROR_KEYS = {"code": int, "name": str, "status": int, "description": str, "extends": str}
SCHEMA_KEYS = frozenset(
    {
        "$ref",
        "type",
        "format",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "enum",
        "default",
        "oneOf",
        "anyOf",
        "example",
        "examples",
        "deprecated",
        "externalDocs",
    }
)
FORMATS = {
    "integer": ("int32", "int64"),
    "number": ("float", "double"),
    "string": ("binary", "date-time"),
}
# Keywords for the size of a value, and the type to which each applies.
SIZES = {
    "minItems": "array",
    "maxItems": "array",
    "uniqueItems": "array",
    "minLength": "string",
    "maxLength": "string",
}
CLASS_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
# Names that the modules of the generated package define in addition to the models.
RESERVED = frozenset(
    {
        "Any",
        "ErrorCode",
        "Factory",
        "LanceNamespace",
        "LanceNamespaceError",
        "Literal",
        "Model",
        "Operation",
        "RequestLike",
        "AsyncLanceNamespace",
        "AsyncRestNamespace",
        "AsyncRows",
        "RestNamespace",
        "Wire",
    }
)


def routes(document: Document) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Return the path, the HTTP method and the operation object of every route."""
    for path, item in document.data["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def schemas(document: Document) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Return every schema, including nested schemas, with its place."""
    components = document.data["components"]
    for name, schema in components.get("schemas", {}).items():
        yield from _within(("components", "schemas", name), schema)
    for place, parameter in parameters(document):
        if "schema" in parameter:
            yield from _within((*place, "schema"), parameter["schema"])


def parameters(document: Document) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Return every inline parameter with its place."""
    for name, parameter in document.data["components"].get("parameters", {}).items():
        if "$ref" not in parameter:
            yield ("components", "parameters", name), parameter
    for path, method, operation in routes(document):
        for index, parameter in enumerate(operation.get("parameters", ())):
            if "$ref" not in parameter:
                yield ("paths", path, method, "parameters", index), parameter


def _within(place: Place, schema: dict[str, Any]) -> Iterator[tuple[Place, dict[str, Any]]]:
    yield place, schema
    for key, inner in schema.get("properties", {}).items():
        yield from _within((*place, "properties", key), inner)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _within((*place, key), schema[key])
    for key in ("oneOf", "anyOf"):
        for index, inner in enumerate(schema.get(key, ())):
            yield from _within((*place, key, index), inner)


def missing_parts(document: Document) -> list[Problem]:
    """Report missing and empty parts in the document."""
    return [
        document.problem((), f"the part {part!r} is missing")
        for part in PARTS
        if part not in document.data
    ] + [
        document.problem(place, f"{_named(place)} has no value")
        for place, value in _values(document.data, ())
        if value is None and place[-1] != "x-client-default"
    ]


def _named(place: Place) -> str:
    *above, last = place
    return f"entry {last + 1} of {above[-1]}" if isinstance(last, int) else last


def _values(node: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    inside = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in inside:
        yield (*place, key), value
        if isinstance(value, dict | list):
            yield from _values(value, (*place, key))


def problems(document: Document) -> Iterator[Problem]:
    """Report all errors that the parser does not report; the document is already valid OpenAPI."""
    yield from _top(document)
    yield from _dangling(document)
    yield from _routes(document)
    yield from _parameters(document)
    for place, schema in schemas(document):
        for where, cause in _schema(place, schema):
            yield document.problem((*place, *where), cause)
    yield from _models(document)


def _top(document: Document) -> Iterator[Problem]:
    yield from _misspelt(document, (), document.data, PARTS)
    codes = document.data["x-common-codes"]
    if not isinstance(codes, list) or any(type(code) is not int for code in codes):
        yield document.problem(("x-common-codes",), "must be a list of error codes")
    rows = document.data["x-error-codes"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        yield document.problem(("x-error-codes",), "must be a list of errors")
        return
    for index, row in enumerate(rows):
        yield from _error_row(document, ("x-error-codes", index), row)


def _error_row(document: Document, place: Place, row: dict[str, Any]) -> Iterator[Problem]:
    for key, kind in ERROR_KEYS.items():
        if type(row.get(key)) is not kind and not (key == "extends" and key not in row):
            expected = "a whole number" if kind is int else "text"
            yield document.problem((*place, key), f"an error needs {key}, {expected}")
    for key in row:
        if key not in ERROR_KEYS:
            yield document.problem((*place, key), f"an error has no {key}")
    if isinstance(row.get("name"), str) and not CLASS_NAME.fullmatch(row["name"]):
        yield document.problem(
            (*place, "name"),
            f"{row['name']!r} is not a valid error name; use CamelCase, such as NotFound",
        )


def _misspelt(
    document: Document, place: Place, part: dict[str, Any], known: tuple[str, ...]
) -> Iterator[Problem]:
    """Report misspelled extensions; other extensions belong to third parties and are allowed."""
    for key in part:
        if key.startswith("x-") and key not in known:
            for near in get_close_matches(key, [k for k in known if k.startswith("x-")], 1, 0.8):
                yield document.problem((*place, key), f"{key} is unknown; did you mean {near}?")


def _dangling(document: Document) -> Iterator[Problem]:
    for place, reference in document.references():
        if document.resolve(reference) is None:
            yield document.problem(place, f"{reference} does not exist")


def _routes(document: Document) -> Iterator[Problem]:
    seen: Counter[str] = Counter()
    for path, item in document.data["paths"].items():
        for key in item:
            if key not in PATH_KEYS and not key.startswith("x-"):
                yield document.problem(("paths", path, key), f"{key} is not an HTTP method")
        if item.get("parameters"):
            yield document.problem(
                ("paths", path, "parameters"), "list the parameters at each method instead"
            )
    for path, method, operation in routes(document):
        place = ("paths", path, method)
        yield from _misspelt(document, place, operation, OPERATION_KEYS)
        identifier = operation.get("operationId")
        if not identifier:
            yield document.problem(place, f"{method.upper()} {path} has no operationId")
        else:
            seen[identifier] += 1
            if seen[identifier] > 1:
                yield document.problem(
                    (*place, "operationId"), f"operationId {identifier} is defined twice"
                )
        for key, cause in _operation(operation):
            yield document.problem((*place, key), f"{identifier or path}: {cause}")


def _operation(operation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in OPERATION_KEYS:
        value = operation.get(key)
        if key == "x-codes":
            fine = isinstance(value, list) and all(type(code) is int for code in value)
            expected = "a list of error codes"
        elif key == "x-action":
            fine, expected = value in ACTIONS, " or ".join(ACTIONS)
        elif key in ("x-repeatable", "x-draft"):
            fine, expected = isinstance(value, bool), "true or false"
        else:
            fine, expected = isinstance(value, str), "a name"
        if key in operation and not fine:
            yield key, f"{key} must be {expected}"
    name = operation.get("x-operation")
    if name is None:
        yield "x-operation", "has no x-operation"
    elif isinstance(name, str) and not CLASS_NAME.fullmatch(name):
        yield (
            "x-operation",
            f"{name!r} is not a valid operation name; use CamelCase, such as CreateTable",
        )


def _parameters(document: Document) -> Iterator[Problem]:
    for place, parameter in parameters(document):
        name = parameter["name"]
        yield from _misspelt(document, place, parameter, ("x-field",))
        if parameter["in"] not in ("path", "query"):
            yield document.problem(
                (*place, "in"), f"parameter {name}: only path and query parameters are generated"
            )
        if "schema" not in parameter:
            yield document.problem(place, f"parameter {name} has no schema")
        if not PARAMETER_NAME.fullmatch(name):
            yield document.problem((*place, "name"), f"{name!r} cannot be the name of a parameter")


def _schema(place: Place, schema: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield the errors in one schema: the place within the schema, and the cause."""
    for key in schema:
        if key not in SCHEMA_KEYS and not key.startswith("x-"):
            yield (key,), f"the keyword {key} cannot be generated"
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    for key in ("minimum", "maximum"):
        if key in schema and ("integer" not in kinds or type(schema[key]) is not int):
            yield (key,), f"a {key} can be generated only for whole numbers"
    for key, kind in SIZES.items():
        if key in schema and kind not in kinds:
            yield (key,), f"{key} applies only to {kind}s"
    if "array" in kinds and "items" not in schema:
        yield ("type",), "the array does not specify its items"
    if "enum" in schema and any(not isinstance(value, str) for value in schema["enum"]):
        yield ("enum",), "an enum can be generated only for strings"
    if "format" in schema and schema["format"] not in FORMATS.get(_sole(kinds), ()):
        yield ("format",), f"the format {schema['format']} of {_sole(kinds)} cannot be generated"
    if "default" in schema and not has_type(schema["default"], _sole(kinds), schema):
        yield ("default",), f"{schema['default']!r} cannot be a default of type {_sole(kinds)}"
    if (expected := schema.get("x-client-default")) is not None and not has_type(
        expected, _sole(kinds), schema
    ):
        yield ("x-client-default",), f"{expected!r} cannot be a default of type {_sole(kinds)}"
    if "properties" in schema:
        if len(place) > 3:
            yield (), "an object with fields must be a separate schema under components"
        if schema.get("additionalProperties"):
            yield (
                ("additionalProperties",),
                "an object can have either fields or additionalProperties, not both",
            )
    if "$ref" in schema and "type" in schema:
        yield ("type",), "a $ref cannot have a type"


def has_type(default: Any, kind: str, schema: dict[str, Any]) -> bool:
    if kind == "string" and "format" in schema:
        return False
    if "enum" in schema:
        return default in schema["enum"]
    if kind == "object" and "additionalProperties" in schema:
        return bool(default == {})
    expected = {"boolean": (bool,), "integer": (int,), "number": (int, float), "string": (str,)}
    return type(default) in expected.get(kind, ())


def _sole(kinds: list[str | None]) -> str:
    return next((kind for kind in kinds if kind not in (None, "null")), None) or "anything"


def _models(document: Document) -> Iterator[Problem]:
    modules: dict[str, str] = {}
    for name, schema in document.data["components"].get("schemas", {}).items():
        place = ("components", "schemas", name)
        if not CLASS_NAME.fullmatch(name):
            yield document.problem(
                place, f"the schema {name!r} needs a name in CamelCase, such as TableStats"
            )
        elif name in RESERVED or name.endswith("Error"):
            yield document.problem(
                place, f"the name {name} is already used in the generated package"
            )
        other = modules.setdefault(snake(name), name)
        if other != name:
            yield document.problem(
                place, f"the schemas {other} and {name} would have the same module, {snake(name)}"
            )
        fields = schema.get("properties", {})
        for index, key in enumerate(schema.get("required", ())):
            if key not in fields:
                yield document.problem(
                    (*place, "required", index),
                    f"{name} requires the field {key!r}, which does not exist",
                )
        attributes: dict[str, str] = {}
        for key in fields:
            where = (*place, "properties", key)
            own = attribute(key)
            if not own.isidentifier() or own.startswith("_"):
                yield document.problem(where, f"{name}.{key} is not a valid name in Python")
            elif (before := attributes.setdefault(own, key)) != key:
                yield document.problem(
                    where,
                    f"the fields {before} and {key} of {name} have the same Python name, {own}",
                )
