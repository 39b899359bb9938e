"""More changes that break the small specification: types of values, names, and mismatches."""

from __future__ import annotations

from .broken_cases import COATS, COMMON, CONTEXT, LOST, PAINT, TAGS, Case

FIRST = "  - {code: 0, name: Unsupported, status: 406, description: Cannot be done.}"
FORBIDDEN = (
    "  - {code: 16, name: Forbidden, status: 403, extends: PermissionDenied, description: No.}"
)
LIST_COLORS = "      x-operation: ListColors\n      x-request"
POUR_ROUTE = """  /v1/table/{id}/pour:
    post:
      operationId: PourTable
      summary: Pour rows
      description: Pours rows over a table and gives them back.
      tags: [Paint]
      x-operation: PourTable
      x-request: PourTableRequest
      x-response: PourTableResponse
      x-action: manage
      x-codes: [4]
      parameters:
        - {$ref: '#/components/parameters/Id'}
        - {$ref: '#/components/parameters/Limit'}
"""

PARTS = {
    # Errors
    "errors are no list": Case(
        f"x-error-codes:\n{FIRST}",
        f"x-error-codes: 5\nx-others:\n{FIRST}",
        "must be a list of errors",
    ),
    "error that is a word": Case(
        LOST, f"{LOST}\n  - lost", "must be a list of errors", at="x-error-codes:"
    ),
    "common codes are no list": Case(
        COMMON, "x-common-codes: all", "must be a list of error codes"
    ),
    "common code that is a word": Case(
        COMMON, COMMON.replace("13", "many"), "must be a list of error codes"
    ),
    "error of a name that is none": Case(
        LOST,
        LOST.replace("TableNotFound", "table not found"),
        "'table not found' is not a valid error name; use CamelCase, such as NotFound",
    ),
    "error whose status is a word": Case(
        LOST, LOST.replace("404", "gone"), "an error needs status, a whole number"
    ),
    "error that extends a number": Case(
        FORBIDDEN, FORBIDDEN.replace("PermissionDenied", "15"), "an error needs extends, text"
    ),
    "name of two errors": Case(
        LOST,
        f"{LOST}\n{LOST.replace('code: 4', 'code: 5')}",
        "error TableNotFound is defined twice",
    ),
    "error that extends one of another code": Case(
        FORBIDDEN,
        FORBIDDEN.replace("code: 16", "code: 99"),
        "Forbidden: no basic error has code 99",
    ),
    # Operations
    "misspelt part": Case(
        COMMON, f"x-error-code: 5\n{COMMON}", "x-error-code is unknown; did you mean x-error-codes?"
    ),
    "x-repeatable is a word": Case(
        "x-repeatable: true",
        "x-repeatable: often",
        "ListColors: x-repeatable must be true or false",
    ),
    "x-operation is a number": Case(
        LIST_COLORS,
        LIST_COLORS.replace("ListColors", "5"),
        "ListColors: x-operation must be a name",
    ),
    "code that is a word": Case(
        "x-codes: [4, 14]",
        "x-codes: [4, many]",
        "PaintTable: x-codes must be a list of error codes",
    ),
    "no codes": Case(
        "      x-codes: [4, 14]\n",
        "",
        "PaintTable lacks x-codes",
        at="  /v1/table/{id}/paint:\n    post:",
    ),
    "unknown response": Case(
        "      x-response: PaintTableResponse",
        "      x-response: Paint",
        "PaintTable: there is no schema Paint with fields",
    ),
    "answer of another schema": Case(
        "          schema: {type: string}\n      responses:\n        '200':\n"
        "          description: The colors.\n          content:\n            application/json: "
        "{schema: {$ref: '#/components/schemas/ListColorsResponse'}}",
        "          schema: {type: string}\n      responses:\n        '200':\n"
        "          description: The colors.\n          content:\n            application/json: "
        "{schema: {$ref: '#/components/schemas/Mix'}}",
        "the body must be a $ref to ListColorsResponse",
    ),
    "body of two kinds": Case(
        f"{POUR_ROUTE}      requestBody:\n        content:\n",
        f"{POUR_ROUTE}      requestBody:\n        content:  #!\n"
        "          application/json: {schema: {$ref: '#/components/schemas/PourTableRequest'}}\n",
        "a body of application/json or application/vnd.apache.arrow.stream cannot be generated",
        others=1,
    ),
    "bare field of a body of rows": Case(
        "      x-request: PourTableRequest",
        "      x-request: PourTableRequest\n      x-body-field: limit",
        "limit needs a body of application/json",
        others=1,
    ),
    "route by name answers another status": Case(
        "ListColorsRequest'}}\n      responses:\n        '200':",
        "ListColorsRequest'}}\n      responses:  #!\n        '202':",
        "/ListColors must also return 200",
    ),
    "path parameter of a number": Case(
        POUR_ROUTE,
        POUR_ROUTE.replace("{id}/pour", "{id}/{limit}/pour").replace(
            "{$ref: '#/components/parameters/Limit'}",
            "{name: limit, in: path, required: true, description: M., schema: {type: string}}  #!",
        ),
        "path parameter limit must feed a field of type string",
    ),
    "misspelt x-field": Case(
        "          x-field: from\n",
        "          x-feild: from\n",
        "x-feild is unknown; did you mean x-field?",
    ),
    "parameter of a name that is none": Case(
        "        - name: from\n",
        "        - name: the first\n",
        "'the first' cannot be the name of a parameter",
    ),
    # Schemas
    "response without a context": Case(
        f"{CONTEXT}    PourTableRequest:",
        "    PourTableRequest:",
        "ListColorsResponse needs a field context of the schema Context, for the headers",
        at="    ListColorsResponse:\n      description: The colors.\n      type: object\n"
        "      required: [colors]\n      properties:",
    ),
    "request of another identity": Case(
        "description: What to remember.}\n        identity: {$ref: '#/components/schemas/Identity'",
        "description: What to remember.}\n        identity:\n"
        "          {$ref: '#/components/schemas/Mix'",
        "PaintTableRequest needs a field identity of the schema Identity, for the headers",
    ),
    "schema named as an error": Case(
        TAGS,
        TAGS.replace("    Limit:", "    PaintError:\n      type: string\n    Limit:"),
        "the name PaintError is already used in the generated package",
    ),
    "field of a private name": Case(
        COATS,
        f"{COATS}\n        _coats: {{type: string, description: Hidden.}}",
        "PaintTableRequest._coats is not a valid name in Python",
    ),
    "two bodies of one field": Case(
        PAINT, f"{PAINT}\n      x-body-field: [color]", "PaintTable: x-body-field must be a name"
    ),
}
