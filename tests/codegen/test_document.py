"""Requirements of the general specification for the document and its operations."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from codegen.check import problems
from codegen.document import Document, resolve
from codegen.published import breaking_changes
from lance_namespace_client.operations import OPERATIONS, Body

SMALL = Path(__file__).parent / "small.yaml"


SPEC = json.loads((files("lance_namespace_client") / "openapi.json").read_text("utf-8"))


@pytest.mark.requirement("general-052", "general-053")
@pytest.mark.parametrize("version", ["V2", "V3"])
def test_a_breaking_change_is_a_new_operation_next_to_the_old_one(
    tmp_path: Path, version: str
) -> None:
    published = Document(SMALL).data
    text = SMALL.read_text("utf-8")
    block = text[text.index("  /v1/colors:") : text.index("  /v1/table/{id}/pour:")]
    newer = re.sub(r"ListColors(?!Re)", f"ListColors{version}", block)
    newer = newer.replace("/v1/colors", f"/{version.lower()}/colors")
    newer = newer.replace("x-codes: []", "x-codes: [4]")
    changed = tmp_path / "spec.yaml"
    changed.write_text(text.replace(block, block + newer), "utf-8")
    document = Document(changed)
    assert list(problems(document)) == []
    assert breaking_changes(document, published) == []
    assert {"/ListColors", f"/ListColors{version}"} <= set(document.data["paths"])

    changed.write_text(text.replace(block, newer), "utf-8")
    assert [problem.cause for problem in breaking_changes(Document(changed), published)] == [
        "the route GET /v1/colors was removed",
        "the route POST /ListColors was removed",
    ]


@pytest.mark.requirement("general-054", "general-055")
@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_request_and_response_are_schemas_of_the_document(row: Any) -> None:
    schemas = SPEC["components"]["schemas"]
    for model in (row.request, row.response):
        assert schemas[model]["type"] == "object"
        assert schemas[model]["properties"]
    route = SPEC["paths"][row.path][row.http_method.lower()]
    for holder, model, kind in (
        (route.get("requestBody"), row.request, row.body),
        (route["responses"][str(row.status)], row.response, row.answer),
    ):
        if kind is Body.JSON:
            (content,) = holder["content"].values()
            assert content["schema"] == {"$ref": f"#/components/schemas/{model}"}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#/a/b", 1),
        ("#/a~1b", 2),
        ("#/a~0b", 3),
        ("#/a~01b", 4),
        ("#/a", {"b": 1}),
        ("#/a/c", None),
        ("#/a/b/c", None),
        ("other.yaml#/a", None),
        ("/a/b", None),
    ],
)
def test_a_reference_is_resolved(reference: str, found: Any) -> None:
    assert resolve({"a": {"b": 1}, "a/b": 2, "a~b": 3, "a~1b": 4}, reference) == found


@pytest.mark.requirement("general-055")
def test_the_document_uses_json_schemas() -> None:
    assert SPEC["openapi"].startswith("3.1.")  # in OpenAPI 3.1, schemas are JSON Schema
