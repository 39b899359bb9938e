"""The parts of a schema that can be generated, keyword by keyword."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.check import _schema

TOP = ("components", "schemas", "Color")
TAKEN: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "default": "red"},
    "text or null": {"type": ["string", "null"], "default": "red"},
    "enum": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
    "whole number": {"type": "integer", "format": "int64", "minimum": 0, "default": 0},
    "number": {"type": "number", "format": "double", "default": 0.5},
    "whole default of a number": {"type": "number", "default": 2},
    "truth": {"type": "boolean", "default": False},
    "bytes": {"type": "string", "format": "binary"},
    "array": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
    "fields": {"type": "object", "properties": {"a": {"type": "string"}}},
    "fields and nothing else": {"type": "object", "properties": {}, "additionalProperties": False},
    "reference": {"$ref": "#/components/schemas/Other"},
    "client's default": {"type": "string", "x-client-default": "red"},
    "mark of ours": {"type": "string", "x-anything": 1},
}
REFUSED: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "unknown keyword": ({"type": "string", "pattern": "a"}, ("pattern",), "pattern"),
    "minimum of text": ({"type": "string", "minimum": 0}, ("minimum",), "whole numbers"),
    "minimum of a number": ({"type": "number", "minimum": 0}, ("minimum",), "whole numbers"),
    "broken minimum": ({"type": "integer", "minimum": 0.5}, ("minimum",), "whole numbers"),
    "minItems of text": ({"type": "string", "minItems": 1}, ("minItems",), "arrays"),
    "array of nothing": ({"type": "array"}, ("type",), "items"),
    "array of nothing or null": ({"type": ["array", "null"]}, ("type",), "items"),
    "enum of numbers": ({"type": "string", "enum": ["a", 1]}, ("enum",), "strings"),
    "unknown format": ({"type": "string", "format": "email"}, ("format",), "email of string"),
    "format of another type": ({"type": "integer", "format": "binary"}, ("format",), "binary of integer"),
    "format of truth": ({"type": "boolean", "format": "int32"}, ("format",), "int32 of boolean"),
    "text for a number": ({"type": "integer", "default": "1"}, ("default",), "'1'"),
    "truth for a number": ({"type": "integer", "default": True}, ("default",), "True"),
    "broken for a whole number": ({"type": "integer", "default": 0.5}, ("default",), "0.5"),
    "number for text": ({"type": "string", "default": 1}, ("default",), "1 cannot"),
    "number for truth": ({"type": "boolean", "default": 0}, ("default",), "0 cannot"),
    "default of bytes": ({"type": "string", "format": "binary", "default": "red"}, ("default",), "red"),
    "default outside the enum": (
        {"type": "string", "enum": ["red"], "default": "blue"}, ("default",), "'blue'"),
    "default of an array": (
        {"type": "array", "items": {"type": "string"}, "default": []}, ("default",), "of type array"),
    "client's default": (
        {"type": "integer", "x-client-default": "a"}, ("x-client-default",), "'a' cannot"),
    "client's default of bytes": (
        {"type": "string", "format": "date-time", "x-client-default": "now"}, ("x-client-default",), "now"),
    "fields and more": (
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
        ("additionalProperties",), "either"),
    "reference and type": (
        {"$ref": "#/components/schemas/Other", "type": "string"}, ("type",), "cannot have a type"),
}  # fmt: skip


@pytest.mark.parametrize("schema", TAKEN.values(), ids=TAKEN)
def test_a_supported_schema_has_no_problems(schema: dict[str, Any]) -> None:
    assert list(_schema(TOP, schema)) == []


@pytest.mark.parametrize(("schema", "place", "said"), REFUSED.values(), ids=REFUSED)
def test_an_unsupported_keyword_is_reported_with_its_location(
    schema: dict[str, Any], place: tuple[str, ...], said: str
) -> None:
    ((found, message),) = _schema(TOP, schema)
    assert found == place
    assert said in message


def test_nested_fields_need_a_separate_schema() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}}}
    ((place, message),) = _schema((*TOP, "properties", "shade"), inner)
    assert place == () and "a separate schema" in message
