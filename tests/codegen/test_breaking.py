"""Changes that break the published protocol are rejected; additions are accepted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Ran

Change = Callable[[str, str], None]
Run = Callable[..., Ran]
PUBLISHED = Path("lance_namespace_client") / "openapi.json"
COLOR = "        color: {type: string, enum: [red, green], description: The color.}"
COATS = (
    "        coats: {type: integer, format: int32, minimum: 1, default: 2, description: How many.}"
)
MIX = "        mix: {$ref: '#/components/schemas/Mix', description: What is mixed in.}"
FROM = "        from: {type: string, description: The first color.}"
THINNER = "        thinner: {type: [number, 'null'], description: Share of thinner.}"
UNTIL = "        until: {type: [string, 'null'], format: date-time, description: When it is dry.}"
POUR_LIMIT = """        - {$ref: '#/components/parameters/Id'}
        - {$ref: '#/components/parameters/Limit'}
"""
BY_NAME_LIMIT = """schema: {type: string}}
        - {$ref: '#/components/parameters/Limit'}
"""
STREAM = "application/vnd.apache.arrow.stream: {schema: {type: string, format: binary}}"
FILE = "application/vnd.apache.arrow.file: {schema: {type: string, format: binary}}"
ARROW = "application/vnd.apache.arrow"
TAGS = "      additionalProperties: {type: integer}\n    Limit:"
FROM_NUMBER = "          x-field: from\n          schema: {type: integer}"

# name: edits, error, and text that ends on the reported line
BREAKING = {
    "field removed": (
        [(f"{COATS}\n", "")],
        "PaintTableRequest no longer has the field 'coats'",
        "    PaintTableRequest:",
    ),
    "field renamed": (
        [(THINNER, THINNER.replace("thinner:", "water:"))],
        "PaintTableRequest no longer has the field 'thinner'",
        "    PaintTableRequest:",
    ),
    "field newly required": (
        [("required: [color]", "required: [color, mix]")],
        "PaintTableRequest now requires 'mix'",
        "      required: [color, mix]",
    ),
    "new field that is required": (
        [
            ("required: [color]", "required: [color, tone]"),
            (COLOR, f"{COLOR}\n        tone: {{type: string, description: The tone.}}"),
        ],
        "PaintTableRequest now requires 'tone'",
        "      required: [color, tone]",
    ),
    "type changed": (
        [(MIX, "        mix: {type: string, description: What is mixed in.}")],
        "PaintTableRequest.mix was Mix and is now string",
        "        mix:",
    ),
    "type within an array changed": (
        [
            (
                "list: {type: array, items: {type: [string, 'null']}",
                "list: {type: array, items: {type: integer}",
            )
        ],
        "Mix.list was array of string or null and is now array of integer",
        "        list:",
    ),
    "format changed": (
        [(COATS, COATS.replace("int32", "int64"))],
        "PaintTableRequest.coats was integer (int32) and is now integer (int64)",
        "        coats: {type: integer, format",
    ),
    "null no longer allowed": (
        [(UNTIL, UNTIL.replace("[string, 'null']", "string"))],
        "PaintTableResponse.until was string (date-time) or null and is now string (date-time)",
        "        until:",
    ),
    "value of an enum removed": (
        [(COLOR, COLOR.replace("red, green", "green"))],
        "PaintTableRequest.color no longer accepts 'red'",
        "        color:",
    ),
    "default changed": (
        [(COATS, COATS.replace("default: 2", "default: 3"))],
        "the default of PaintTableRequest.coats was 2 and is now 3",
        "        coats: {type: integer, format",
    ),
    "minimum added": (
        [("coats: {type: integer, minimum: 0,", "coats: {type: integer, minimum: 1,")],
        "the minimum of PaintTableResponse.coats was 0 and is now 1",
        "        coats: {type: integer, minimum",
    ),
    "shared type changed": (
        [("      type: [integer, 'null']\n", "      type: integer\n")],
        "Limit was integer or null and is now integer",
        "      additionalProperties: {type: string}\n    Limit:",
    ),
    "schema renamed": (
        [
            ("    PaintTableResponse:", "    PaintedTable:"),
            ("x-response: PaintTableResponse", "x-response: PaintedTable"),
            ("schemas/PaintTableResponse", "schemas/PaintedTable"),
        ],
        "the published schema PaintTableResponse was removed",
        "  schemas:",
    ),
    "parameter required": (
        [
            (
                "in: query, description: Most rows., x-field",
                "in: query, required: true, description: Most rows., x-field",
            )
        ],
        "GET /v1/colors now requires its parameter limit",
        "      parameters:\n        - {$ref: '#/components/parameters/Limit'}",
    ),
    "success status changed": (
        [
            (
                "        '200':\n          description: The coats.\n",
                "        '202':\n          description: The coats.\n",
            )
        ],
        "the status of POST /v1/table/{id}/paint was 200 and is now 202",
        "  /v1/table/{id}/paint:\n    post:",
    ),
    "request renamed": (
        [("PaintTableRequest", "PaintRequest")],
        "the request of POST /v1/table/{id}/paint was PaintTableRequest and is now PaintRequest",
        "  /v1/table/{id}/paint:\n    post:",
    ),
    "response renamed": (
        [("PaintTableResponse", "PaintedTable")],
        "the response of POST /v1/table/{id}/paint was PaintTableResponse and is now PaintedTable",
        "  /v1/table/{id}/paint:\n    post:",
    ),
    "operation renamed": (
        [("x-operation: PourTable", "x-operation: PoorTable"), ("  /PourTable:", "  /PoorTable:")],
        "the operation of POST /v1/table/{id}/pour was PourTable and is now PoorTable",
        "  /v1/table/{id}/pour:\n    post:",
    ),
    "body of another kind": (
        [(STREAM, "application/json: {schema: {$ref: '#/components/schemas/PourTableRequest'}}")],
        "the body of POST /v1/table/{id}/pour was application/vnd.apache.arrow.stream and is now "
        "application/json",
        "  /v1/table/{id}/pour:\n    post:",
    ),
    "answer of another kind": (
        [(FILE, "application/json: {schema: {$ref: '#/components/schemas/PourTableResponse'}}")],
        "the answer of POST /PourTable was application/vnd.apache.arrow.file and is now "
        "application/json",
        "  /PourTable:\n    post:",
    ),
    "answer that is a bare field": (
        [
            (
                "      x-response: ListColorsResponse\n",
                "      x-response: ListColorsResponse\n      x-response-field: colors\n",
            )
        ],
        "the bare field of the response of GET /v1/colors was none and is now colors",
        "  /v1/colors:\n    get:",
    ),
    "fewest items changed": (
        [("minItems: 1", "minItems: 2")],
        "the minItems of Mix.list was 1 and is now 2",
        "        list:",
    ),
    "default gone": (
        [(COATS, COATS.replace(" default: 2,", ""))],
        "the default of PaintTableRequest.coats was 2 and is now none",
        "        coats: {type: integer, format",
    ),
    "type within a map changed": (
        [("      additionalProperties: {type: string}\n    Limit:", TAGS)],
        "Tags was object of string and is now object of integer",
        "    Tags:",
    ),
    "type of a parameter changed": (
        [("          x-field: from\n          schema: {type: string}", FROM_NUMBER)],
        "parameter from of GET /v1/colors was string and is now integer",
        "        - name: from",
    ),
    "code of an error changed": (
        [("{code: 4, name", "{code: 5, name"), ("x-codes: [4", "x-codes: [5")],
        "the error TableNotFound had code 4 and HTTP status 404",
        "  - {code: 5,",
    ),
    "error gone": (
        [
            (
                "  - {code: 16, name: Forbidden, status: 403, extends: PermissionDenied, description: No.}\n",
                "",
            )
        ],
        "the error Forbidden was removed",
        "x-error-codes:",
    ),
    "status of an error changed": (
        [("name: TableNotFound, status: 404", "name: TableNotFound, status: 410")],
        "the error TableNotFound had code 4 and HTTP status 404",
        "  - {code: 4,",
    ),
}


@pytest.fixture(scope="module")
def released(small: Path) -> Path:
    """Return the published document of the small specification."""
    return small / PUBLISHED


@pytest.fixture
def out(tmp_path: Path, released: Path) -> Path:
    """Return a package that contains only the published document; nothing else is compared."""
    out = tmp_path / "out"
    (out / PUBLISHED).parent.mkdir(parents=True)
    (out / PUBLISHED).write_bytes(released.read_bytes())
    return out


@pytest.mark.requirement("general-051", "general-052")
@pytest.mark.parametrize("name", BREAKING)
def test_a_breaking_change_is_rejected(
    name: str, spec: Path, out: Path, released: Path, run: Run
) -> None:
    edits, cause, at = BREAKING[name]
    text = spec.read_text("utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    spec.write_text(text, "utf-8")
    line = (text.partition(at)[0] + at).count("\n") + 1

    ran = run()

    assert ran.status == 1
    assert f"{spec}:{line}: {cause}" in ran.err
    assert ran.err[-1] == (
        f"{spec}: breaks the published protocol; add operations with a new name (<name>V2) instead, "
        "or pass --allow-breaking"
    )
    assert [path.name for path in out.rglob("*") if path.is_file()] == ["openapi.json"]
    assert (out / PUBLISHED).read_bytes() == released.read_bytes()


def content(*kinds: str) -> dict[str, Any]:
    return {"content": {kind: {} for kind in kinds}}


# name: route, published parts of it, and error
CONTENTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "one body less": (
        "POST /PourTable",
        {"requestBody": content("application/json", f"{ARROW}.stream")},
        f"body of POST /PourTable was application/json, {ARROW}.stream and is now {ARROW}.stream",
    ),
    "a body where none was": (
        "POST /PourTable",
        {"requestBody": {}},
        f"body of POST /PourTable was none and is now {ARROW}.stream",
    ),
    "no body any longer": (
        "GET /v1/colors",
        {"requestBody": content("application/json")},
        "body of GET /v1/colors was application/json and is now none",
    ),
    "one answer less": (
        "POST /PourTable",
        {"responses": {"200": content(f"{ARROW}.file", "text/csv")}},
        f"answer of POST /PourTable was {ARROW}.file, text/csv and is now {ARROW}.file",
    ),
    "an answer where none was": (
        "POST /PourTable",
        {"responses": {"200": {}}},
        f"answer of POST /PourTable was none and is now {ARROW}.file",
    ),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_every_published_content_type_is_compared(name: str, out: Path, run: Run) -> None:
    route, published, cause = CONTENTS[name]
    document = json.loads((out / PUBLISHED).read_text("utf-8"))
    method, path = route.split()
    document["paths"][path][method.lower()].update(published)
    (out / PUBLISHED).write_text(json.dumps(document), "utf-8")

    ran = run("--check")

    assert ran.status == 1
    line, _ = ran.err
    assert line.endswith(f": the {cause}")


def test_a_breaking_change_can_be_allowed(out: Path, run: Run, change: Change) -> None:
    change(f"{COATS}\n", "")
    assert run("--allow-breaking").status == 0
    assert '"coats"' not in (
        out / "lance_namespace_client/models/paint_table_request.py"
    ).read_text("utf-8")
    assert run("--check").status == 0


@pytest.mark.requirement("general-051")
def test_a_removed_operation_is_rejected(spec: Path, out: Path, run: Run) -> None:
    text = spec.read_text("utf-8")
    start, end = text.index("  /v1/table/{id}/pour:"), text.index("components:\n  parameters:")
    spec.write_text(text[:start] + text[end:], "utf-8")
    line = text[:start].count("\n", 0, text.index("paths:")) + 1
    assert run().err[:2] == [
        f"{spec}:{line}: the route POST /PourTable was removed",
        f"{spec}:{line}: the route POST /v1/table/{{id}}/pour was removed",
    ]


@pytest.mark.requirement("general-051")
def test_a_removed_parameter_is_rejected(spec: Path, run: Run, change: Change) -> None:
    other = (
        "        - {name: most, in: query, description: M., x-field: limit, "
        "schema: {type: integer}}\n"
    )
    for limit in (POUR_LIMIT, BY_NAME_LIMIT):
        change(limit, limit.splitlines(keepends=True)[0] + other)
    text = spec.read_text("utf-8")
    lines = [text[: text.index(limit)].count("\n") for limit in (other, text[text.rindex(other) :])]
    assert run().err[:2] == [
        f"{spec}:{lines[0] - 1}: POST /v1/table/{{id}}/pour no longer has the parameter limit",
        f"{spec}:{lines[1] - 1}: POST /PourTable no longer has the parameter limit",
    ]


def test_additions_are_accepted(out: Path, run: Run, change: Change) -> None:
    change(COLOR, COLOR.replace("green]", "green, blue]"))
    change(COATS, f"{COATS}\n        shine: {{type: boolean, description: Whether it shines.}}")
    change("required: [coats, until]", "required: [coats]")
    change(MIX, MIX.replace("What is mixed in.", "Another word for it."))
    change(
        "    Mix:\n",
        "    Brush:\n      description: A brush.\n      type: object\n      properties:\n"
        "        width: {type: integer, description: In millimetres.}\n    Mix:\n",
    )
    change("x-codes: [4, 14]", "x-codes: [4]")
    change(
        "          required: true\n          description: The first",
        "          description: The first",
    )
    change(
        "  - {code: 4, name",
        "  - {code: 3, name: Dry, status: 409, description: D.}\n  - {code: 4, name",
    )
    assert run().status == 0
    assert "shine" in (out / PUBLISHED).read_text("utf-8")


def test_the_published_document_can_be_another_file(
    released: Path, run: Run, change: Change
) -> None:
    """CI compares with the document of the last release, not with the document in the change."""
    change(f"{COATS}\n", "")
    assert run("--allow-breaking").status == 0
    assert run("--check").status == 0

    ran = run("--check", "--published", released)

    assert ran.status == 1
    assert "PaintTableRequest no longer has the field 'coats'" in ran.err[0]


def test_a_missing_published_document(run: Run, tmp_path: Path) -> None:
    ran = run("--published", tmp_path / "none.json")
    assert ran == Ran(1, "", [f"{tmp_path / 'none.json'}: No such file or directory"])


def test_a_damaged_published_document(run: Run, out: Path) -> None:
    text = (out / PUBLISHED).read_text("utf-8")
    (out / PUBLISHED).write_text(text[:100], "utf-8")
    (ran_err,) = run().err
    assert ran_err.startswith(f"{out / PUBLISHED}:")
    assert ran_err.endswith("is not JSON; restore it from version control")


def test_an_older_document_may_lack_parts(run: Run, out: Path) -> None:
    (out / PUBLISHED).write_text(json.dumps({"openapi": "3.1.0"}), "utf-8")
    assert run().status == 0
