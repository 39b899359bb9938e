"""Schemas of any OpenAPI 3 document are converted to the notation that codegen reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codegen.document import Document
from codegen.notation import Converter

Json = dict[str, Any]
NULL = {"type": "null"}
OTHER = {"$ref": "#/components/schemas/Other"}


def converted(folder: Path, schemas: Json) -> Converter:
    document = {"openapi": "3.0.3", "paths": {}, "components": {"schemas": schemas}}
    path = folder / "document.json"
    path.write_text(json.dumps(document))
    found = Converter(Document(path, strict=False))
    found.convert_models({})
    return found


FIELDS: dict[str, tuple[Any, Json, list[str]]] = {
    "nullable of 3.0": (
        {"type": "string", "nullable": True},
        {"type": ["string", "null"]},
        [],
    ),
    "nullable reference": (
        {"allOf": [OTHER], "nullable": True},
        {"oneOf": [OTHER, NULL]},
        [],
    ),
    "reference with a description": (
        {"description": "One.", **OTHER},
        {"description": "One.", **OTHER},
        [],
    ),
    "union with null": ({"anyOf": [{"type": "integer"}, NULL]}, {"type": ["integer", "null"]}, []),
    "allOf of one reference": ({"allOf": [OTHER]}, OTHER, []),
    "allOf with rules": (
        {"allOf": [{"type": "string"}, {"minLength": 2}]},
        {"type": "string", "minLength": 2},
        [],
    ),
    "true": (True, {}, []),
    "false": (False, {}, ["M.f: accepts any value"]),
    "no keywords": ({}, {}, []),
    "const": ({"const": "a"}, {"type": "string", "enum": ["a"]}, []),
    "enum of integers": (
        {"type": "integer", "enum": [1, 2]},
        {"type": "integer"},
        ["M.f: the values [1, 2] are not enforced"],
    ),
    "enum with null": (
        {"type": "string", "enum": ["a", None]},
        {"oneOf": [{"type": "string", "enum": ["a"]}, NULL]},
        [],
    ),
    "choice of enums": (
        {"oneOf": [{"enum": ["a"]}, {"type": "string", "enum": ["b"]}]},
        {"type": "string", "enum": ["a", "b"]},
        [],
    ),
    "choice of types": (
        {"oneOf": [{"type": "string"}, {"type": "integer"}], "description": "Either."},
        {"description": "Either."},
        ["M.f: is a choice of 2 types"],
    ),
    "list of types": (
        {"type": ["string", "integer"]},
        {},
        ["M.f: is string or integer"],
    ),
    "exclusive minimum of 3.0": (
        {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
        {"type": "integer", "minimum": 1},
        [],
    ),
    "exclusive maximum of 3.1": (
        {"type": "integer", "exclusiveMaximum": 9},
        {"type": "integer", "maximum": 8},
        [],
    ),
    "minimum of a number": (
        {"type": "number", "minimum": 0.5},
        {"type": "number"},
        ["M.f: minimum 0.5 is not enforced"],
    ),
    "whole minimum": (
        {"type": "integer", "minimum": 2.0},
        {"type": "integer", "minimum": 2},
        [],
    ),
    "pattern": (
        {"type": "string", "pattern": "^a"},
        {"type": "string"},
        ["M.f: pattern '^a' is not enforced"],
    ),
    "unknown format": (
        {"type": "string", "format": "uuid"},
        {"type": "string"},
        ["M.f: the format uuid is not enforced"],
    ),
    "known format": (
        {"type": "integer", "format": "int64"},
        {"type": "integer", "format": "int64"},
        [],
    ),
    "map": (
        {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
        {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        [],
    ),
    "map with an empty default": (
        {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
        {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
        [],
    ),
    "map with a default": (
        {"type": "object", "additionalProperties": {"type": "string"}, "default": {"a": "b"}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        ["M.f: the default {'a': 'b'} is omitted"],
    ),
    "names of a map": (
        {"type": "object", "propertyNames": {"type": "string"}},
        {"type": "object"},
        [],
    ),
    "any map": ({"type": "object", "additionalProperties": True}, {"type": "object"}, []),
    "pattern of names": (
        {"patternProperties": {"^x": {"type": "integer"}}},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        ["M.f: patternProperties"],
    ),
    "array without items": ({"type": "array"}, {"type": "array", "items": {}}, []),
    "array of nullable arrays": (
        {"type": "array", "items": {"type": "array", "nullable": True, "items": OTHER}},
        {"type": "array", "items": {"type": ["array", "null"], "items": OTHER}},
        [],
    ),
    "nested object": (
        {"type": "object", "nullable": True, "properties": {"g": {"type": "string"}}},
        {"oneOf": [{"$ref": "#/components/schemas/MF"}, NULL]},
        [],
    ),
    "array of objects": (
        {"type": "array", "items": {"properties": {"g": {"type": "string"}}}},
        {"type": "array", "items": {"$ref": "#/components/schemas/MFItem"}},
        [],
    ),
    "title and examples": (
        {"type": "string", "title": "T", "example": "e", "readOnly": True},
        {"type": "string", "example": "e"},
        [],
    ),
    "missing reference": (
        {"$ref": "#/components/schemas/Nowhere"},
        {},
        ["M.f: #/components/schemas/Nowhere does not exist"],
    ),
}


@pytest.mark.parametrize("case", FIELDS)
def test_a_schema_is_converted(tmp_path: Path, case: str) -> None:
    raw, expected, notes = FIELDS[case]
    other = {"type": "object", "properties": {"x": {"type": "string"}}}
    found = converted(tmp_path, {"M": {"properties": {"f": raw}}, "Other": other})
    assert found.models["M"]["properties"]["f"] == expected
    assert len(found.notes) == len(notes)
    assert all(note.startswith(each) for note, each in zip(found.notes, notes, strict=True))


def test_nested_objects_become_models(tmp_path: Path) -> None:
    inner = {"type": "object", "properties": {"g": {"type": "string", "nullable": True}}}
    middle = {"type": "object", "required": ["inner"], "properties": {"inner": inner}}
    found = converted(tmp_path, {"M": {"type": "object", "properties": {"middle": middle}}})
    assert found.models["MMiddle"] == {
        "type": "object",
        "required": ["inner"],
        "properties": {"inner": {"$ref": "#/components/schemas/MMiddleInner"}},
    }
    assert found.models["MMiddleInner"]["properties"] == {"g": {"type": ["string", "null"]}}


def test_combined_models_have_the_fields_of_all_parts(tmp_path: Path) -> None:
    base = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    more = {"properties": {"b": {"type": "integer"}}, "required": ["b"]}
    both = {"allOf": [{"$ref": "#/components/schemas/Base"}, more], "description": "Both."}
    found = converted(tmp_path, {"Base": base, "Both": both})
    assert found.models["Both"]["description"] == "Both."
    assert found.models["Both"]["required"] == ["a", "b"]
    assert list(found.models["Both"]["properties"]) == ["a", "b"]


def test_names_that_python_or_the_package_reserves_are_replaced(tmp_path: Path) -> None:
    plain = {"type": "object", "properties": {"a": {"type": "string"}}}
    schemas = {"TableError": plain, "my_model": plain, "3d": plain, "Operation": plain}
    schemas["Use"] = {"properties": {"x": {"$ref": "#/components/schemas/my_model"}}}
    found = converted(tmp_path, schemas)
    assert list(found.models) == [
        "TableErrorContent",
        "MyModel",
        "Model3d",
        "OperationContent",
        "Use",
    ]
    assert found.models["Use"]["properties"]["x"] == {"$ref": "#/components/schemas/MyModel"}
    assert len(found.notes) == 4


def test_fields_without_a_python_name_are_omitted(tmp_path: Path) -> None:
    kinds = {key: {"type": "string"} for key in ("a-b", "a_b", "_c", "3d", "ok")}
    model = {"type": "object", "required": ["_c", "ok", "unknown"], "properties": kinds}
    found = converted(tmp_path, {"M": model})
    assert list(found.models["M"]["properties"]) == ["a-b", "ok"]
    assert found.models["M"]["required"] == ["ok"]
    assert len(found.notes) == 3


def test_a_model_that_contains_itself(tmp_path: Path) -> None:
    ref = {"$ref": "#/components/schemas/Node"}
    node = {"properties": {"next": {"allOf": [ref], "nullable": True}, "all": {"items": ref}}}
    found = converted(tmp_path, {"Node": node, "Alias": ref})
    assert found.models["Node"]["properties"] == {
        "next": {"oneOf": [ref, NULL]},
        "all": {"type": "array", "items": ref},
    }
    assert found.models["Alias"]["properties"].keys() == {"next", "all"}


def test_references_in_a_circle_are_reported(tmp_path: Path) -> None:
    refs = {name: {"$ref": f"#/components/schemas/{name}"} for name in "ABCD"}
    schemas = {"A": refs["B"], "B": refs["A"], "C": {"allOf": [refs["D"], {"type": "object"}]}}
    schemas["D"] = {"allOf": [refs["C"], {"properties": {"x": {"type": "string"}}}]}
    found = converted(tmp_path, schemas)
    assert set(found.models) == set("ABCD")
    assert any("refers to itself" in note for note in found.notes)
