"""Every change of a specification is reported by the comparison, at its location."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from codegen.document import Document, Problem, SpecError
from codegen.upstream import differences, read
from lance_namespace_impls.cli.app import app

from .conftest import ROOT, Ran

Json = dict[str, Any]
Run = Callable[..., Ran]
Change = Callable[[Json], object]
SHARED = Path(os.environ.get("LANCE_NS_TEST_SERVERS", ROOT.parent / "shared" / "servers")).parent
OFFICIAL = SHARED / "upstream" / "spec-0.11.1.yaml"


def route(document: Json, name: str) -> Json:
    """Return the `/v1` route of an operation."""
    for path, item in document["paths"].items():
        for method in ("get", "post"):
            if path.startswith("/v1") and item.get(method, {}).get("operationId") == name:
                return dict.__getitem__(item, method)
    raise AssertionError(name)


def model(document: Json, name: str) -> Json:
    found: Json = document["components"]["schemas"][name]
    return found


def fields(document: Json, name: str) -> Json:
    found: Json = model(document, name)["properties"]
    return found


def parameter(document: Json, name: str) -> Json:
    for each in document["components"]["parameters"].values():
        if each["name"] == name:
            return each  # type: ignore[no-any-return]
    raise AssertionError(name)


def answer(document: Json, operation: str, status: str = "200") -> Json:
    """Return the response of an operation, after replacing a shared response by a copy."""
    found = route(document, operation)["responses"]
    if "$ref" in found[status]:
        name = found[status]["$ref"].rsplit("/", 1)[1]
        found[status] = copy.deepcopy(document["components"]["responses"][name])
    return found[status]  # type: ignore[no-any-return]


def body(document: Json, operation: str) -> Json:
    found: Json = route(document, operation)["requestBody"]
    return found


def own(operation: Json, **parameter: Any) -> None:
    operation.setdefault("parameters", []).append(parameter)


def rename(mapping: Json, old: str, new: str) -> None:
    mapping[new] = mapping.pop(old)


def moved(document: Json) -> None:
    rename(document["paths"], "/v1/table/{id}/query", "/v1/table/{id}/select")


def another_method(document: Json) -> None:
    rename(document["paths"]["/v1/table/{id}/query"], "post", "put")


def removed_operation(document: Json) -> None:
    del document["paths"]["/v1/table/{id}/rename"]


def removed_parameter(document: Json) -> None:
    target = parameter(document, "include_declared")
    name = next(k for k, v in document["components"]["parameters"].items() if v is target)
    for item in document["paths"].values():
        for holder in (item, *(item.get(method, {}) for method in ("get", "post"))):
            holder["parameters"] = [
                each
                for each in holder.get("parameters", ())
                if each.get("$ref") != f"#/components/parameters/{name}"
                or item.get("get", {}).get("operationId") != "ListTables"
            ]


def schema(name: str, **rules: Any) -> Change:
    """Return a change of the rules of a model."""
    return lambda document: model(document, name).update(rules)


def rule(place: str, *within: str, **rules: Any) -> Change:
    """Return a change of the rules of a field, `Model.field`, or of a schema within it."""
    name, _, key = place.partition(".")

    def change(document: Json) -> None:
        found = fields(document, name)[key]
        for each in within:
            found = found[each]
        found.update(rules)

    return change


def operation(name: str, **parts: Any) -> Change:
    return lambda document: route(document, name).update(parts)


def declared(**parts: Any) -> Change:
    """Return a change of the parameter `include_declared`."""
    return lambda document: parameter(document, "include_declared").update(parts)


def added(*place: str, **parts: Any) -> Change:
    """Return a change that adds to a mapping of the document."""

    def change(document: Json) -> None:
        for each in place:
            document = document[each]
        document.update(parts)

    return change


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


JSON, ARROW = "application/json", "application/vnd.apache.arrow"
K, ID, OFFSET = "QueryTableRequest.k", "DropTableRequest.id", "QueryTableRequest.offset"
MODE = "MaterializedViewUdtfEntry.kind"
MAP = "DropTableResponse.properties"
QUERY_200 = "QueryTable, response 200"
DECLARED = "parameter query include_declared"
PURGE = {"name": "purge", "in": "query", "schema": {"type": "boolean"}}
# Name of the change -> function that makes it, and the start of the reported cause.
MUTATIONS: dict[str, tuple[Change, str]] = {
    "operation added": (
        added("paths", **{"/v1/paint": {"post": {"operationId": "PaintTable", "responses": {}}}}),
        "operation PaintTable: only upstream (POST /v1/paint)",
    ),
    "one-segment operation added": (
        added("paths", **{"/health": {"get": {"operationId": "Health"}}}),
        "operation Health: only upstream (GET /health)",
    ),
    "operation without an id added": (
        added("paths", **{"/v1/health": {"get": {"responses": {}}}}),
        "operation GET /v1/health: only upstream",
    ),
    "operation removed": (removed_operation, "operation RenameTable: only here"),
    "operation renamed": (
        operation("RenameTable", operationId="MoveTable"),
        "RenameTable: operationId is MoveTable upstream, RenameTable here",
    ),
    "path moved": (moved, "QueryTable: route is POST /v1/table/{id}/select upstream"),
    "method changed": (another_method, "QueryTable: route is PUT /v1/table/{id}/query upstream"),
    "operation deprecated": (
        operation("DropTable", deprecated=True),
        "DropTable: deprecated is true upstream, false here",
    ),
    "operation's security": (
        operation("DropTable", security=[]),
        "DropTable: security is none upstream, as the document here",
    ),
    "document's security": (lambda d: d["security"].pop(), "the document: security "),
    "parameter added": (
        lambda d: own(route(d, "DropTable"), **PURGE),
        "DropTable, parameter query purge: only upstream",
    ),
    "required parameter added": (
        lambda d: own(route(d, "DropTable"), name="why", required=True, **{"in": "header"}),
        "DropTable, parameter header why: only upstream, required",
    ),
    "path-level parameter added": (
        lambda d: own(d["paths"]["/v1/table/{id}/drop"], **PURGE),
        "DropTable, parameter query purge: only upstream",
    ),
    "parameter removed": (removed_parameter, f"ListTables, {DECLARED}: only here"),
    "parameter required": (
        declared(required=True),
        f"ListAllTables, {DECLARED}: required upstream, optional here",
    ),
    "parameter's type": (
        lambda d: parameter(d, "include_declared")["schema"].update(type="string"),
        f"ListTables, {DECLARED}: type is string upstream, boolean here",
    ),
    "parameter's default": (
        lambda d: parameter(d, "include_declared")["schema"].update(default=False),
        f"ListTables, {DECLARED}: default is false upstream, true here",
    ),
    "parameter's style": (
        declared(explode=False),
        f"ListTables, {DECLARED}: explode is false upstream, true here",
    ),
    "parameter deprecated": (
        declared(deprecated=True),
        f"ListTables, {DECLARED}: deprecated is true upstream",
    ),
    "body added": (
        operation("ListTableTags", requestBody={"content": {JSON: {"schema": {"type": "object"}}}}),
        "ListTableTags, request body: only upstream",
    ),
    "body removed": (
        lambda d: route(d, "QueryTable").pop("requestBody"),
        "QueryTable, request body: only here",
    ),
    "body required": (
        lambda d: body(d, "QueryTable").update(required=not body(d, "QueryTable").get("required")),
        "QueryTable, request body: ",
    ),
    "body's media type": (
        lambda d: rename(body(d, "QueryTable")["content"], JSON, "text/json"),
        "QueryTable, request body, text/json: only upstream",
    ),
    "body's $ref": (
        lambda d: body(d, "QueryTable")["content"][JSON].update(schema=ref("DropTableRequest")),
        "QueryTable, request body, application/json: $ref is DropTableRequest upstream, ",
    ),
    "response added": (
        lambda d: route(d, "DropTable")["responses"].update({"410": {"description": "Gone."}}),
        "DropTable, response 410: only upstream",
    ),
    "response removed": (
        lambda d: route(d, "DropTable")["responses"].pop("404"),
        "DropTable, response 404: only here",
    ),
    "response's status": (
        lambda d: rename(route(d, "CreateTable")["responses"], "200", "201"),
        "CreateTable, response 201: only upstream",
    ),
    "response's shared part": (
        lambda d: route(d, "DropTable")["responses"].update(
            {"404": dict(route(d, "DropTable")["responses"]["403"])}
        ),
        "DropTable, response 404: $ref is ",
    ),
    "response's media type": (
        lambda d: rename(answer(d, "QueryTable")["content"], f"{ARROW}.file", f"{ARROW}.stream"),
        f"{QUERY_200}, {ARROW}.stream: only upstream",
    ),
    "response's $ref": (
        lambda d: answer(d, "DropTable")["content"][JSON].update(schema=ref("CreateTableResponse")),
        "DropTable, response 200, application/json: $ref is CreateTableResponse upstream, ",
    ),
    "response's header": (
        lambda d: answer(d, "QueryTable").update(headers={"ETag": {"schema": {"type": "string"}}}),
        f"{QUERY_200}, header ETag: only upstream",
    ),
    "model added": (
        added("components", "schemas", Paint={"type": "object"}),
        "model Paint: only upstream",
    ),
    "model removed": (
        lambda d: d["components"]["schemas"].pop("FragmentSummary"),
        "model FragmentSummary: only here",
    ),
    "model's type": (
        schema("PageToken", type="integer"),
        "PageToken: type is integer upstream, string here",
    ),
    "model as boolean": (
        added("components", "schemas", PageToken=True),
        "PageToken: type is anything upstream, string here",
    ),
    "model as the boolean that nothing fits": (
        added("components", "schemas", PageToken=False),
        "PageToken: type is nothing upstream, string here",
    ),
    "field added": (
        lambda d: fields(d, "DropTableRequest").update(purge={"type": "boolean"}),
        "DropTableRequest.purge: only upstream",
    ),
    "required field added": (
        lambda d: model(d, "QueryTableRequest").update(
            required=["why"], properties={"why": {"type": "string"}}
        ),
        "QueryTableRequest.why: only upstream, required",
    ),
    "field removed": (lambda d: fields(d, "QueryTableRequest").pop("k"), f"{K}: only here"),
    "field required": (
        lambda d: model(d, "DropTableRequest").setdefault("required", []).append("id"),
        f"{ID}: required upstream, optional here",
    ),
    "field optional": (
        lambda d: model(d, "QueryTableRequest")["required"].remove("k"),
        f"{K}: optional upstream, required here",
    ),
    "field's type": (rule(K, type="string"), f"{K}: type is string upstream, integer here"),
    "field's type list": (
        rule(K, type=["integer", "string"]),
        f"{K}: type is integer or string upstream, integer here",
    ),
    "field's type removed": (
        lambda d: fields(d, "QueryTableRequest")["k"].pop("type"),
        f"{K}: type is anything upstream, integer here",
    ),
    "nullable": (rule(K, nullable=True), f"{K}: nullable upstream, not nullable here"),
    "null in the type list": (
        rule(K, type=["integer", "null"]),
        f"{K}: nullable upstream, not nullable here",
    ),
    "format": (
        rule("FragmentSummary.p25", format="int16"),
        "FragmentSummary.p25: format is int16 upstream",
    ),
    "minimum": (rule(K, minimum=7), f"{K}: minimum is 7 upstream, "),
    "minimum removed": (
        lambda d: fields(d, "QueryTableRequest")["offset"].pop("minimum"),
        f"{OFFSET}: minimum is not set upstream, 0 here",
    ),
    "exclusive minimum of 3.0": (
        rule(OFFSET, exclusiveMinimum=True),
        f"{OFFSET}: exclusiveMinimum is 0 upstream, false here",
    ),
    "maximum": (rule(K, maximum=10), f"{K}: maximum is 10 upstream, not set here"),
    "pattern": (
        schema("PageToken", pattern="^a"),
        "PageToken: pattern is ^a upstream, not set here",
    ),
    "maxLength": (schema("PageToken", maxLength=9), "PageToken: maxLength is 9 upstream, not set"),
    "maxItems": (rule(ID, maxItems=9), f"{ID}: maxItems is 9 upstream, not set here"),
    "uniqueItems": (rule(ID, uniqueItems=True), f"{ID}: uniqueItems is true upstream, false here"),
    "default": (rule(K, default=10), f"{K}: default is 10 upstream, not set here"),
    "object as default": (rule(K, default={}), f"{K}: default is {{}} upstream, not set here"),
    "const": (rule(K, const=1), f"{K}: const is 1 upstream, not set here"),
    "enum": (schema("PageToken", enum=["a"]), 'PageToken: enum is ["a"] upstream, not set here'),
    "enum value added": (
        lambda d: fields(d, "MaterializedViewUdtfEntry")["kind"]["enum"].append("new"),
        f'{MODE}: enum value "new": only upstream',
    ),
    "enum value removed": (
        lambda d: fields(d, "MaterializedViewUdtfEntry")["kind"]["enum"].pop(),
        f'{MODE}: enum value "chunker": only here',
    ),
    "readOnly": (rule(K, readOnly=True), f"{K}: readOnly is true upstream, false here"),
    "field deprecated": (rule(K, deprecated=True), f"{K}: deprecated is true upstream, false here"),
    "array items": (
        rule(ID, "items", type="integer"),
        f"{ID}[]: type is integer upstream, string here",
    ),
    "array items' null": (
        rule(ID, "items", nullable=True),
        f"{ID}[]: nullable upstream, not nullable here",
    ),
    "array items as boolean": (
        rule(ID, items=True),
        f"{ID}[]: type is anything upstream, string here",
    ),
    "map values": (
        rule(MAP, "additionalProperties", type="integer"),
        f"{MAP}.*: type is integer upstream, string here",
    ),
    "map closed": (
        rule(MAP, additionalProperties=False),
        f"{MAP}.*: type is nothing upstream, string here",
    ),
    "model closed": (
        schema("DropTableRequest", additionalProperties=False),
        "DropTableRequest.*: type is nothing upstream, anything here",
    ),
    "$ref": (
        rule("DropTableRequest.identity", **ref("PageToken")),
        "DropTableRequest.identity: $ref is PageToken upstream, Identity here",
    ),
    "$ref to another file": (
        rule("DropTableRequest.identity", **{"$ref": "more.yaml#/Identity"}),
        "DropTableRequest.identity: $ref is more.yaml#/Identity upstream, Identity here",
    ),
    "$ref to nothing": (
        lambda d: fields(d, "DropTableRequest").update(id=ref("Missing")),
        f"{ID}: $ref is Missing upstream, an inline schema here",
    ),
    "alternatives": (
        rule(K, oneOf=[{"minimum": 1}, {"minimum": 9}]),
        f'{K}: alternative {{"minimum": 1}}: only upstream',
    ),
    "discriminator": (
        schema("DropTableRequest", discriminator={"propertyName": "id"}),
        'DropTableRequest: discriminator is {"propertyName": "id"} upstream, not set here',
    ),
    "security scheme": (
        lambda d: next(
            each for each in d["components"]["securitySchemes"].values() if each["type"] == "apiKey"
        ).update(name="x-key"),
        "the document: security apiKey header x-key: only upstream",
    ),
    "security scheme added": (
        added("components", "securitySchemes", Other={"type": "http", "scheme": "basic"}),
        "security scheme Other: only upstream (http basic)",
    ),
    "webhook": (
        added(webhooks={"done": {"post": {"operationId": "Done"}}}),
        "operation Done: only upstream (POST webhook done)",
    ),
}


def changed(base: Document, change: Callable[[Json], object]) -> Document:
    """Return a document with one change; it keeps the lines of the file."""
    document = copy.copy(base)
    document.data = copy.deepcopy(base.data)
    change(document.data)
    return document


def causes(ours: Document, theirs: Document) -> list[str]:
    return [each.cause for each in differences(ours, theirs)]


@pytest.mark.parametrize("document", ["project", "official"])
def test_no_difference_to_itself(document: str, request: pytest.FixtureRequest) -> None:
    found: Document = request.getfixturevalue(document)
    assert causes(found, found) == []


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_change_is_reported_at_its_location(project: Document, name: str) -> None:
    change, expected = MUTATIONS[name]
    found = causes(project, changed(project, change))
    assert any(cause.startswith(expected) for cause in found), found


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_change_of_the_official_document_is_reported_next_to_the_known_differences(
    name: str, project: Document, official: Document, known: set[str]
) -> None:
    change, expected = MUTATIONS[name]
    # A change may also remove a known difference: the official document requires a body.
    found = set(causes(project, changed(official, change))) ^ known
    place = expected.split(": ")[0]
    assert any(cause.startswith((place, "operation QueryTable")) for cause in found), found


@pytest.fixture(scope="module")
def project() -> Document:
    return read(ROOT / "rest.yaml")


@pytest.fixture(scope="module")
def official(project: Document, tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Return the official document or, without it, this project's document without extensions."""
    if OFFICIAL.exists():
        return read(OFFICIAL)
    plain = json.loads(
        json.dumps(project.data),
        object_hook=lambda part: {k: v for k, v in part.items() if not k.startswith("x-")},
    )
    path = tmp_path_factory.mktemp("official") / "spec.yaml"
    path.write_text(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), "utf-8")
    return read(path)


@pytest.fixture(scope="module")
def known(project: Document, official: Document) -> set[str]:
    return set(causes(project, official))


def test_the_line_is_that_of_the_document_with_the_part(project: Document) -> None:
    (found,) = differences(project, changed(project, rule(K, minimum=7)))
    lines = project.path.read_text("utf-8").splitlines()
    start = lines.index("    QueryTableRequest:")
    assert found.line is not None
    assert "minimum" in lines[found.line - 1] or lines[found.line - 1].startswith("        k:")
    assert found.line > start


EQUAL = {
    "nullable and a type list": (
        {"type": "string", "nullable": True},
        {"type": ["string", "null"]},
    ),
    "a union with null": (
        {"type": ["string", "null"], "minLength": 1},
        {"oneOf": [{"type": "null"}, {"type": "string", "minLength": 1}]},
    ),
    "allOf of one": (
        {"$ref": "#/components/schemas/Other"},
        {"allOf": [{"$ref": "#/components/schemas/Other"}]},
    ),
    "a nullable reference": (
        {"nullable": True, "allOf": [{"$ref": "#/components/schemas/Other"}]},
        {"anyOf": [{"$ref": "#/components/schemas/Other"}, {"type": "null"}]},
    ),
    "a reference and its target": (
        {"$ref": "#/components/schemas/Other"},
        {"type": "object", "properties": {"x": {"type": "integer"}}},
    ),
    "allOf of several": (
        {"allOf": [{"$ref": "#/components/schemas/Other"}, {"required": ["x"]}]},
        {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    ),
    "true and empty": (True, {}),
    "defaults written out": (
        {"type": "array", "items": {"type": "string"}, "uniqueItems": False, "minItems": 0},
        {"type": "array", "items": {"type": "string"}},
    ),
    "an exclusive bound of 3.0 and of 3.1": (
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        {"type": "integer", "exclusiveMinimum": 1.0},
    ),
    "prose": (
        {"type": "string", "description": "a", "example": "b", "x-own": 1},
        {"type": "string", "title": "c", "examples": ["d"]},
    ),
    "enum in another order": ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}),
}


def single(tmp_path: Path, name: str, schema: Any) -> Document:
    """Return a document with one model of that schema."""
    path = tmp_path / f"{name}.yaml"
    other = {"type": "object", "properties": {"x": {"type": "integer"}}}
    document = {
        "openapi": "3.1.0",
        "paths": {"/v1/t": {"get": {"operationId": "Do", "responses": {}}}},
        "components": {"schemas": {"Model": schema, "Other": other}},
    }
    path.write_text(json.dumps(document), "utf-8")
    return read(path)


@pytest.mark.parametrize("name", EQUAL)
def test_equivalent_schemas_are_equal(tmp_path: Path, name: str) -> None:
    mine, other = (single(tmp_path, str(n), each) for n, each in enumerate(EQUAL[name]))
    assert causes(mine, other) == []
    assert causes(other, mine) == []


DIFFERENT = {
    "one and true": ({"const": 1}, {"const": True}),
    "enum of one and true": ({"enum": [1]}, {"enum": [True]}),
    "null in an enum": ({"enum": ["a", None]}, {"enum": ["a"]}),
    "a rule next to a reference": (
        {"$ref": "#/components/schemas/Other", "minProperties": 1},
        {"$ref": "#/components/schemas/Other"},
    ),
    "inside of a reference written out": (
        {"$ref": "#/components/schemas/Other"},
        {"type": "object", "properties": {"x": {"type": "string"}}},
    ),
    "the second item of a tuple": (
        {"prefixItems": [{"type": "string"}, {"type": "string"}]},
        {"prefixItems": [{"type": "string"}, {"type": "integer"}]},
    ),
    "names of a map": ({"propertyNames": {"pattern": "a"}}, {"propertyNames": {"pattern": "b"}}),
    "values by pattern": (
        {"patternProperties": {"^a": {"type": "string"}}},
        {"patternProperties": {"^a": {"type": "integer"}}},
    ),
    "what may not be": ({"not": {"type": "string"}}, {}),
    "a field called description": (
        {"properties": {"description": {"type": "string"}}},
        {"properties": {"description": {"type": "integer"}}},
    ),
    "inside of an alternative": (
        {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
    ),
    "inside of a nullable union": (
        {"oneOf": [{"type": "null"}, {"type": "object", "properties": {"a": {"minimum": 1}}}]},
        {"oneOf": [{"type": "null"}, {"type": "object", "properties": {"a": {"minimum": 2}}}]},
    ),
    "a schema inside of a schema inside of a schema": (
        {"items": {"additionalProperties": {"items": {"format": "int32"}}}},
        {"items": {"additionalProperties": {"items": {"format": "int64"}}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_rules_are_reported(tmp_path: Path, name: str) -> None:
    mine, other = (single(tmp_path, str(n), each) for n, each in enumerate(DIFFERENT[name]))
    assert causes(mine, other)
    assert causes(other, mine)


LEGAL = """
openapi: VERSION
info: {title: Legal, version: 2026-01-01}
x-anything: [1, {y: 2026-01-01T00:00:00Z}]
security: []
paths:
  x-ours: 1
  /v1/a/{id}:
    summary: text
    parameters: [{$ref: '#/components/parameters/Id'}]
    post:
      operationId: Do
      deprecated: false
      parameters:
        - {name: id, in: path, required: true, schema: {type: string, minLength: 1}}
        - name: f
          in: query
          content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}
      requestBody: {$ref: '#/components/requestBodies/B'}
      responses:
        200: {$ref: '#/components/responses/R'}
        default: {description: x, headers: {H: {$ref: '#/components/headers/H'}}}
        x-more: 1
      callbacks: {done: {'{$request.body#/url}': {post: {responses: {}}}}}
  /v1/b: {$ref: 'elsewhere.yaml#/b'}
  /v1/c: {$ref: '#/paths/~1v1~1a~1%7Bid%7D'}
  /v1/d: {}
components:
  parameters: {Id: {$ref: '#/paths/~1v1~1a~1%7Bid%7D/post/parameters/0'}}
  requestBodies: {B: {content: {'*/*': {}, text/plain: {schema: true}}}}
  responses:
    R:
      description: x
      content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}
  headers: {H: {schema: {type: integer}}}
  securitySchemes: {S: {$ref: '#/components/securitySchemes/S'}}
  schemas:
    A:
      type: object
      properties: {a: {$ref: '#/components/schemas/A'}, b: {$ref: '#/components/schemas/B'}}
    B: {allOf: [{$ref: '#/components/schemas/C'}, {type: object}]}
    C: {anyOf: [{$ref: '#/components/schemas/B'}, {type: 'null'}]}
    D: true
    E: false
    F: {}
    G: {type: array, items: false, prefixItems: [true, {type: 'null'}]}
    H: {$ref: '#/components/schemas/H'}
    I: {$ref: '#/components/schemas/J'}
    J: {$ref: '#/components/schemas/I'}
    K: {$ref: 'https://example.com/schema.json'}
    L: {$ref: '#anchor', $anchor: anchor, $dynamicRef: '#x'}
    M: {type: [string, integer, 'null'], enum: [a, 1, null], nullable: true, default: null}
    N: {properties: {x: {properties: {y: {$ref: '#/components/schemas/N'}}}}, required: [x, z]}
    O: {not: {}, if: true, then: {minimum: .5}, else: false, $defs: {x: true}}
    P: {additionalProperties: {additionalProperties: true}, unevaluatedProperties: false}
    Q: {oneOf: [{$ref: '#/components/schemas/A'}, {$ref: '#/components/schemas/Q'}]}
    R: {minimum: 1, exclusiveMinimum: true, maximum: 1e400, example: .nan}
    S: {allOf: [{$ref: '#/components/schemas/S'}]}
    T: {allOf: [], oneOf: [], anyOf: [{type: 'null'}], enum: [], required: []}
"""


@pytest.fixture(scope="module")
def legal(tmp_path_factory: pytest.TempPathFactory) -> Document:
    path = tmp_path_factory.mktemp("legal") / "legal.yaml"
    path.write_text(LEGAL.replace("VERSION", "3.1.1"), "utf-8")
    return read(path)


@pytest.mark.parametrize("version", ["3.0.0", "3.1.1"])
def test_a_legal_document_has_no_difference_to_itself(tmp_path: Path, version: str) -> None:
    path = tmp_path / "legal.yaml"
    path.write_text(LEGAL.replace("VERSION", version), "utf-8")
    assert causes(read(path), read(path)) == []


def places(node: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = list(node.items() if isinstance(node, dict) else enumerate(node))
    found = [(*place, key) for key, _ in inside]
    for key, value in inside:
        if isinstance(value, dict | list):
            found += places(value, (*place, key))
    return found


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "a", "null", "string"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(
        st.sampled_from(["type", "$ref", "items", "properties", "required", "allOf", "get", "name"]),
        inner, max_size=2,
    ),
    max_leaves=4,
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_any_value_at_any_location_is_compared_or_rejected(
    data: st.DataObject, legal: Document
) -> None:
    place = data.draw(st.sampled_from(places(legal.data)))
    value = data.draw(
        VALUES | st.sampled_from(sorted(legal.data["components"]["schemas"])).map(
            lambda name: {"$ref": f"#/components/schemas/{name}"}
        )
    )  # fmt: skip

    def put(document: Json) -> None:
        node: Any = document
        for step in place[:-1]:
            node = node[step]
        node[place[-1]] = value

    theirs = changed(legal, put)
    for pair in ((legal, theirs), (theirs, legal)):
        try:
            found = list(differences(*pair))
        except SpecError as error:
            assert len(error.problems) == 1
        else:
            assert all(isinstance(each, Problem) and "\n" not in each.cause for each in found)


@pytest.mark.parametrize("alternate", [True, False])
def test_cyclic_references_of_different_depths_terminate(tmp_path: Path, alternate: bool) -> None:
    def chain(first: str, second: str) -> Any:
        inner = {"properties": {second: {"$ref": "#/components/schemas/Model"}}}
        return {"properties": {first: inner}}

    mine = single(tmp_path, "mine", chain("p", "q"))
    other = single(tmp_path, "other", {"properties": {"p": {"$ref": "#/components/schemas/Other"}}})
    other.data["components"]["schemas"]["Other"] = chain("q", "p" if alternate else "q")
    assert isinstance(causes(mine, other), list)
    assert isinstance(causes(other, mine), list)


PETS = {
    "openapi": "3.0.3",
    "info": {"title": "Swagger\nPetstore", "version": "1"},
    "paths": {f"/pets/{n}": {"get": {"operationId": f"getPet{n}"}} for n in range(9)},
    "components": {"schemas": {"Pet": {"type": "object"}, "ErrorResponse": {"type": "object"}}},
}
DYNAMO = {
    "openapi": "3.0.0",
    "info": {"title": "Amazon DynamoDB", "version": "1"},
    "paths": {
        f"/#X-Amz-Target=DynamoDB.{name}": {"post": {"operationId": name}}
        for name in ["PaintTable", "PourTable", *(f"Do{n}" for n in range(40))]
    },
}


@pytest.mark.parametrize(
    ("document", "cause"),
    [
        (PETS, "describes another API (Swagger Petstore): 0 of its 9 operations are in spec.yaml"),
        (DYNAMO, "describes another API (Amazon DynamoDB): 2 of its 42 operations are in spec.yaml"),
        ({"openapi": "3.1.0", "info": {}}, "describes another API (untitled)"),
        ({"swagger": "2.0", "paths": {}}, "is not an OpenAPI document"),
        ({"openapi": "3.1.0", "paths": []}, "is not an OpenAPI document"),
    ],
)  # fmt: skip
def test_a_document_of_another_api_is_reported_in_one_line(
    run: Run, tmp_path: Path, document: Json, cause: str
) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document, indent="\t"), "utf-8")
    status, out, (line,) = run("--check-upstream", path)
    assert (status, out) == (1, "")
    assert line.startswith(f"{path}: {cause}")


@pytest.mark.parametrize(
    "text", ["a: &a {b: *a}", "[" * 1200, "{" * 1200, "openapi: 3.1.0\npaths: &p {/v1/x: *p}"]
)
def test_an_unreadable_document_is_reported_in_one_line(
    run: Run, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(text, "utf-8")
    ran = run("--check-upstream", path)
    assert (ran.status, ran.out, len(ran.err)) == (1, "", 1)


def test_lance_ns_reports_the_same(run: Run, spec: Path, tmp_path: Path) -> None:
    text = spec.read_text("utf-8")
    path = tmp_path / "newest.yaml"
    path.write_text(text.replace("operationId: PourTable\n", "operationId: SpillTable\n"), "utf-8")
    status, printed, _ = run("--check-upstream", path)
    assert status == 1
    assert f"{path}:" in printed
    assert "PourTable: operationId is SpillTable upstream, PourTable here" in printed
    assert "1 difference between spec.yaml and newest.yaml" in printed
    ran = CliRunner().invoke(app, ["codegen", "--spec", str(spec), "--check-upstream", str(path)])
    assert (ran.exit_code, ran.stdout) == (1, printed)
