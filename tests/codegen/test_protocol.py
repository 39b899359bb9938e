"""rest.yaml has all routes and models of the official client, and every route follows its rules."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from lance_namespace.errors import ErrorCode

from codegen.upstream import differences, read

from . import upstream
from .conftest import ROOT

Json = dict[str, Any]
SPEC: Json = yaml.load(
    (ROOT / "rest.yaml").read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
)
ROUTES: dict[str, Json] = {
    f"{method.upper()} {path}": operation
    for path, item in SPEC["paths"].items()
    for method, operation in item.items()
}
OPERATIONS = {row["x-operation"]: row for row in ROUTES.values() if "x-request" in row}
EXPECTED = re.compile(
    "|".join(
        [
            r"only here$",
            # The client's code has no parameter schemas, formats or enumerations, and accepts None for
            # every optional field.
            r"is (not set|anything) upstream, ",
            r"(minItems|minLength) is 0 upstream, ",
            r"(maxItems is not set|uniqueItems is false) upstream, ",
            r": (not )?nullable upstream, ",
            r"^(the document: security|security scheme) ",
            r"^operation \w+: only here ",
        ]
    )
)
"""Differences from the official client: additions, requests that only this project accepts, and facts that
its code does not have.
"""


def resolve(part: Json) -> Json:
    while "$ref" in part:
        _, kind, name = part["$ref"].removeprefix("#/").split("/")
        part = SPEC["components"][kind][name]
    return part


def schema_of(body: Json) -> tuple[str, Json]:
    """Return the media type and the schema of a body."""
    ((media, inner),) = resolve(body)["content"].items()
    return media, inner["schema"]


def parameters(operation: Json, place: str) -> dict[str, Json]:
    found = map(resolve, operation.get("parameters", ()))
    return {each["name"]: each for each in found if each["in"] == place}


def test_every_part_of_the_official_client_exists(tmp_path: Path) -> None:
    official = tmp_path / "official.json"
    official.write_text(json.dumps(upstream.document()))
    found = [each.cause for each in differences(read(ROOT / "rest.yaml"), read(official))]
    assert [cause for cause in found if not EXPECTED.search(cause)] == []


def test_the_version_matches_the_official_one() -> None:
    assert SPEC["info"]["version"].startswith("0.13.")


def test_the_error_codes_are_the_official_ones() -> None:
    rows = [row for row in SPEC["x-error-codes"] if "extends" not in row]
    found = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", row["name"]).upper(): row["code"] for row in rows}
    assert found == {each.name: each.value for each in ErrorCode}
    codes = set(found.values())
    assert codes >= {code for row in OPERATIONS.values() for code in row["x-codes"]}
    assert codes >= set(SPEC["x-common-codes"])


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_path_contains_its_parameters(name: str) -> None:
    ((route, operation),) = [each for each in ROUTES.items() if each[1] is OPERATIONS[name]]
    found = parameters(operation, "path")
    assert sorted(found) == sorted(re.findall(r"{(\w+)}", route))
    assert all(each["required"] and each["schema"]["type"] == "string" for each in found.values())


@pytest.mark.parametrize("name", OPERATIONS)
def test_route_by_name(name: str) -> None:
    """The route ``POST /<operation>`` accepts path and query in the body; next to rows, in the query."""
    plain = OPERATIONS[name]
    operation = ROUTES[f"POST /{name}"]
    assert operation["x-operation"] == name
    assert operation["responses"].keys() == plain["responses"].keys()
    status = next(key for key in plain["responses"] if key.startswith("2"))
    assert operation["responses"][status] == plain["responses"][status]
    media, schema = schema_of(operation["requestBody"])
    if media == "application/json":
        assert schema == {"$ref": f"#/components/schemas/{plain['x-request']}"}
        assert set(parameters(operation, "query")) == {"delimiter"}
    else:
        assert media == schema_of(plain["requestBody"])[0]
        query = parameters(operation, "query")
        assert query.pop("id")["required"]
        assert query == parameters(plain, "query")


@pytest.mark.parametrize("route", ROUTES)
def test_every_failure_is_an_error_response(route: str) -> None:
    failures = {
        status: schema_of(response)
        for status, response in ROUTES[route]["responses"].items()
        if not status.startswith("2")
    }
    statuses = {str(row["status"]) for row in SPEC["x-error-codes"]}
    assert failures.keys() - {"5XX"} <= statuses
    assert {"400", "401", "403", "5XX"} <= failures.keys()
    error = ("application/json", {"$ref": "#/components/schemas/ErrorResponse"})
    assert all(each == error for each in failures.values())
