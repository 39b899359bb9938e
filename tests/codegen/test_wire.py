"""rest.yaml holds at least what the protocol has: `wire.toml` beside this file lists it."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import yaml

from .conftest import HERE, ROOT

Json = dict[str, Any]
WIRE = tomllib.loads((HERE / "wire.toml").read_text("utf-8"))
SPEC: Json = yaml.load(
    (ROOT / "rest.yaml").read_text("utf-8"),
    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)
SCHEMAS: Json = SPEC["components"]["schemas"]
ARROW = {
    "body": "application/vnd.apache.arrow.stream",
    "answer": "application/vnd.apache.arrow.file",
}
ROUTES: dict[str, Json] = {
    f"{method.upper()} {path}": operation
    for path, item in SPEC["paths"].items()
    for method, operation in item.items()
}


def resolve(part: Json) -> Json:
    while "$ref" in part:
        _, kind, name = part["$ref"].removeprefix("#/").split("/")
        part = SPEC["components"][kind][name]
    return part


def written(schema: Json) -> str:
    """Write a schema as wire.toml writes types."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    null = "?" if "null" in kinds or {"type": "null"} in schema.get("oneOf", ()) else ""
    (text,) = [
        written(branch) for branch in schema.get("oneOf", ()) if branch != {"type": "null"}
    ] or [_plain(schema, next(kind for kind in kinds if kind != "null"))]
    least = f" >= {schema['minimum']}" if "minimum" in schema else ""
    default = f" = {json.dumps(schema['default'])}" if "default" in schema else ""
    return text + null + least + default


def _plain(schema: Json, kind: str) -> str:
    if "enum" in schema:
        return " | ".join(schema["enum"])
    if kind == "array":
        least = f"; {schema['minItems']}" if "minItems" in schema else ""
        return f"[{written(schema['items'])}{least}]"
    if kind == "object" and "additionalProperties" in schema:
        return f"{{{written(schema['additionalProperties'])}}}"
    return str(schema.get("format", kind))


def body(holder: Json, side: str) -> str | None:
    """Write a request body or a response as wire.toml does."""
    content = resolve(holder).get("content")
    if content is None:
        return None
    ((media, inner),) = content.items()
    if media == ARROW[side]:
        return "arrow"
    assert media == "application/json"
    return written(inner["schema"])


def query(operation: Json) -> dict[str, str]:
    return {
        parameter["name"]: "required " * parameter.get("required", False)
        + written(parameter["schema"])
        for parameter in map(resolve, operation.get("parameters", ()))
        if parameter["in"] == "query"
    }


def test_versions_agree() -> None:
    assert SPEC["info"]["version"].startswith("0.13.")


@pytest.mark.requirement("general-054")
@pytest.mark.parametrize("name", WIRE["operations"])
def test_operation(name: str) -> None:
    wire = WIRE["operations"][name]
    operation = ROUTES[wire["route"]]
    assert operation["x-operation"] == name
    assert body(operation.get("requestBody", {}), "body") == wire.get("body")
    assert [status for status in operation["responses"] if status[0] == "2"] == [
        str(wire["success"])
    ]
    assert body(operation["responses"][str(wire["success"])], "answer") == wire.get("answer")
    assert sorted(operation["x-codes"]) == sorted(wire["codes"])
    found = query(operation)
    assert found.pop("delimiter") == 'string = "$"'
    more = {key: kind for key, kind in found.items() if key not in wire.get("query", {})}
    assert {key: found[key] for key in found.keys() - more.keys()} == wire.get("query", {})
    assert not [key for key, kind in more.items() if kind.startswith("required")]


@pytest.mark.parametrize("name", WIRE["operations"])
def test_path_parameters(name: str) -> None:
    route = WIRE["operations"][name]["route"]
    found = {
        parameter["name"]: (parameter["required"], written(parameter["schema"]))
        for parameter in map(resolve, ROUTES[route].get("parameters", ()))
        if parameter["in"] == "path"
    }
    wanted = [part[1:-1] for part in route.split("/") if part.startswith("{")]
    assert found == dict.fromkeys(wanted, (True, "string"))


@pytest.mark.requirement("general-099")
@pytest.mark.parametrize("name", WIRE["operations"])
def test_route_by_name(name: str) -> None:
    """It takes in the body what the other takes in path and query, or in the query with rows."""
    wire = WIRE["operations"][name]
    plain = ROUTES[wire["route"]]
    for alias in [name, *WIRE["aliases"].get(name, ())]:
        operation = ROUTES[f"POST /{alias}"]
        assert operation["x-operation"] == name
        assert operation["responses"].keys() == plain["responses"].keys()
        status = str(wire["success"])
        assert operation["responses"][status] == plain["responses"][status]
        if wire.get("body") == "arrow":
            assert body(operation["requestBody"], "body") == "arrow"
            assert query(operation) == {**query(plain), "id": "required string"}
        else:
            assert body(operation["requestBody"], "body") == plain["x-request"]
            assert query(operation) == {"delimiter": 'string = "$"'}


@pytest.mark.requirement("general-098")
def test_no_operation_beside_those() -> None:
    assert {operation["x-operation"] for operation in ROUTES.values()} == set(WIRE["operations"])
    named = {f"POST /{alias}" for aliases in WIRE["aliases"].values() for alias in aliases}
    named |= {f"POST /{name}" for name in WIRE["operations"]}
    named |= {wire["route"] for wire in WIRE["operations"].values()}
    assert set(ROUTES) == named


@pytest.mark.parametrize("route", ROUTES)
def test_documented_failures(route: str) -> None:
    responses = ROUTES[route]["responses"]
    for status in WIRE["error_statuses"]:
        assert body(responses[status], "answer") == "ErrorResponse"


@pytest.mark.requirement("general-055")
@pytest.mark.parametrize("name", WIRE["schemas"])
def test_schema(name: str) -> None:
    wire: dict[str, str] = dict(WIRE["schemas"][name])
    for kind in ("request", "response"):
        if name.endswith(kind.capitalize()):
            wire = {**WIRE["every"][kind], **wire}
    schema = SCHEMAS[name]
    required = schema.get("required", [])
    found = {
        key: "required " * (key in required) + written(field)
        for key, field in schema.get("properties", {}).items()
    }
    assert {key: found.get(key) for key in wire} == wire
    assert set(required) <= set(wire)


@pytest.mark.parametrize("name", WIRE["types"])
def test_type(name: str) -> None:
    assert written(SCHEMAS[name]) == WIRE["types"][name]["is"]


def test_errors() -> None:
    rows = {
        str(row["code"]): [row["name"], row["status"]]
        for row in SPEC["x-error-codes"]
        if "extends" not in row
    }
    assert rows == WIRE["errors"]
    assert SPEC["x-common-codes"] == WIRE["common_codes"]
    (forbidden,) = [row for row in SPEC["x-error-codes"] if "extends" in row]
    assert (forbidden["name"], forbidden["code"], forbidden["status"]) == ("Forbidden", 16, 403)


def test_the_generated_table_has_them_too() -> None:
    """The client agrees with the list without a look at rest.yaml."""
    from lance_namespace_client import OPERATIONS
    from lance_namespace_client.operations import COMMON_CODES

    assert list(COMMON_CODES) == WIRE["common_codes"]
    assert {
        name: (f"{row.http_method} {row.path}", row.status, sorted(row.codes))
        for name, row in OPERATIONS.items()
    } == {
        name: (wire["route"], wire["success"], sorted(wire["codes"]))
        for name, wire in WIRE["operations"].items()
    }
    assert {name: list(row.aliases) for name, row in OPERATIONS.items() if row.aliases} == WIRE[
        "aliases"
    ]
