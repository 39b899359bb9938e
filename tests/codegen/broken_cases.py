"""Changes that break the small specification, and the expected error for each."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A change that breaks the small specification."""

    old: str
    new: str
    cause: str
    at: str = ""
    """Text that ends on the reported line; by default, `#!` or the first change marks this line."""
    others: int = 0
    """Number of further errors that follow from the first one."""


COLOR = "        color: {type: string, enum: [red, green], description: The color.}"
COATS = (
    "        coats: {type: integer, format: int32, minimum: 1, default: 2, description: How many.}"
)
MIX = "        mix: {$ref: '#/components/schemas/Mix', description: What is mixed in.}"
FROM = "        from: {type: string, description: The first color.}"
SHADES = "        list: {type: array, items: {type: [string, 'null']}, minItems: 1, description: Shades.}"
NEXT = "          oneOf: [{$ref: '#/components/schemas/Mix'}, {type: 'null'}]"
TAGS = "      additionalProperties: {type: string}\n    Limit:"
PAINT = "      x-request: PaintTableRequest"
POUR = "  /PourTable:\n"
LIMIT = "        - {$ref: '#/components/parameters/Limit'}\n        - name: from\n"
LOST = "  - {code: 4, name: TableNotFound, status: 404, description: There is no such table.}"
ID = "        id: {type: array, items: {type: string}, description: Names from the root.}\n"
POUR_PARAMETERS = """      x-codes: [4]
      parameters:
        - {$ref: '#/components/parameters/Id'}"""
CONTEXT = (
    "        context: {$ref: '#/components/schemas/Context', description: What comes with it.}\n"
)
COMMON = "x-common-codes: [0, 13, 15, 16, 17, 18, 21]"


def route(path: str, operation: str, rest: str) -> str:
    """Return a new route, followed by the first line of the route /PourTable."""
    name = path.replace("/", "")
    return (
        f"  {path}:\n    post:  #!\n      operationId: {name}\n      x-operation: {operation}\n"
        f"      tags: [Paint]\n{rest}      responses: {{'200': {{description: Done.}}}}\n{POUR}"
    )


CASES = {
    # YAML
    "syntax": Case("openapi: 3.1.0", "openapi: 3.1.0: 1", "mapping values are not allowed here"),
    "open bracket": Case(
        "version: 1.2.3}\nx-error-codes:",
        "version: 1.2.3\nx-error-codes:  #!",
        "expected ',' or '}', but got ':', while parsing a flow mapping that starts on line 3",
    ),
    "tab": Case(FROM, f"{FROM}\n\tlimit: 3", "found character '\\t' that cannot start any token"),
    "duplicate key": Case(
        FROM,
        f"{FROM}\n        from: {{type: integer}}",
        'found duplicate key "from", while constructing a mapping that starts on line ',
    ),
    "undefined alias": Case(FROM, FROM.replace("string", "*text"), "found undefined alias 'text'"),
    "alias in itself": Case(
        "    Mix:\n", "    Loop: &loop\n      loop: *loop  #!\n    Mix:\n", "loop has no value"
    ),
    "control character": Case(
        FROM, FROM.replace("first", "\x01"), "is not YAML: special characters are not allowed"
    ),
    "date without quotes": Case(
        "version: 1.2.3}",
        "version: 2024-01-01}",
        "datetime.date(2024, 1, 1) is not a JSON value; put it in quotes",
    ),
    "nothing behind a key": Case(
        "      tags: [Paint]\n      x-operation: ListColors\n      x-request",
        "      tags:\n      x-operation: ListColors\n      x-request",
        "tags has no value",
    ),
    # OpenAPI
    "a part is missing": Case(
        COMMON, "", "the part 'x-common-codes' is missing", at="# A specification"
    ),
    "unknown type": Case(
        COLOR, COLOR.replace("string", "text"), "input should be 'string'", others=1
    ),
    "schema is a list": Case(
        "    Mix:\n      description: Another color and how much of it.\n      type: object\n",
        "    Mix: []\n    Other:\n      description: Other.\n      type: object\n",
        "input should be a valid dictionary",
    ),
    "no responses": Case(
        "      responses:\n        '200':\n          description: The coats.\n"
        "          content:\n            application/json: {schema: "
        "{$ref: '#/components/schemas/PaintTableResponse'}}\n        4XX: ",
        "      x-nothing: ",
        "responses is missing",
        at="  /v1/table/{id}/paint:\n    post:",
    ),
    "dangling reference": Case(
        MIX, MIX.replace("s/Mix", "s/Max"), "#/components/schemas/Max does not exist"
    ),
    "reference to a file": Case(
        MIX,
        MIX.replace("#/components/schemas/Mix", "other.yaml#/Mix"),
        "other.yaml#/Mix does not exist",
    ),
    "reference to another kind": Case(
        MIX,
        MIX.replace("schemas/Mix", "parameters/Id"),
        "openapi-python-client: Could not find reference in parsed models or enums",
    ),
    "misspelt method": Case(
        "    post:\n      operationId: PourTable\n",
        "    pots:\n      operationId: PourTable\n",
        "pots is not an HTTP method",
    ),
    "unknown status": Case(
        "        4XX: {description: A failure.}",
        "        4XY: {description: A failure.}",
        "openapi-python-client: Invalid response status code pattern: 4XY",
    ),
    "unknown media type": Case(
        POUR,
        route(
            "/Stir",
            "PaintTable",
            "      requestBody: {content: {application/xml: {schema: {type: string}}}}\n",
        ),
        "openapi-python-client: Unsupported content type application/xml",
        at="    post:  #!\n      operationId: Stir\n      x-operation: PaintTable\n"
        "      tags: [Paint]\n      requestBody:",
    ),
    "path without its parameter": Case(
        "  /v1/table/{id}/pour:\n    post:\n",
        "  /v1/table/{id}/{tone}/pour:\n    post:  #!\n",
        "openapi-python-client: Incorrect path templating for /v1/table/{id}/{tone}/pour",
    ),
    # Operations
    "duplicate operationId": Case(
        "operationId: PaintTableByName",
        "operationId: PaintTable",
        "operationId PaintTable is defined twice",
    ),
    "no operationId": Case(
        "    get:\n      operationId: ListColors\n",
        "    get:  #!\n",
        "GET /v1/colors has no operationId",
    ),
    "no x-operation": Case(
        "      x-operation: ListColors\n      x-request",
        "      x-request",
        "ListColors: has no x-operation",
        at="  /v1/colors:\n    get:",
    ),
    "x-operation is no name": Case(
        "      x-operation: PourTable\n      x-request",
        "      x-operation: pour it\n      x-request",
        "PourTable: 'pour it' is not a valid operation name; use CamelCase, such as CreateTable",
    ),
    "x-codes is no list": Case(
        "x-codes: [4, 14]", "x-codes: 4", "PaintTable: x-codes must be a list of error codes"
    ),
    "unknown code": Case(
        "x-codes: [4, 14]", "x-codes: [4, 99]", "PaintTable: no error has code 99"
    ),
    "code twice": Case(
        "x-codes: [4, 14]",
        "x-codes:\n        - 4\n        - 4  #!",
        "PaintTable: code 4 is already listed",
    ),
    "unknown action": Case(
        "x-action: write", "x-action: look", "PaintTable: x-action must be read or write or manage"
    ),
    "no action": Case(
        "      x-action: read\n", "", "ListColors lacks x-action", at="  /v1/colors:\n    get:"
    ),
    "misspelt extension": Case(
        "x-repeatable: true",
        "x-repeatble: true",
        "x-repeatble is unknown; did you mean x-repeatable?",
    ),
    "no summary": Case(
        "      summary: List the colors\n",
        "",
        "ListColors lacks summary",
        at="  /v1/colors:\n    get:",
    ),
    "unknown request": Case(
        PAINT, "      x-request: Paint", "PaintTable: there is no schema Paint with fields"
    ),
    "request is a map": Case(
        PAINT, "      x-request: Tags", "PaintTable: there is no schema Tags with fields"
    ),
    "body of another schema": Case(
        "application/json: {schema: {$ref: '#/components/schemas/ListColorsRequest'}}",
        "application/json: {schema: {$ref: '#/components/schemas/Mix'}}",
        "the body must be a $ref to ListColorsRequest",
    ),
    "bare field of the body": Case(
        PAINT, f"{PAINT}\n      x-body-field: smell", "PaintTableRequest has no field smell"
    ),
    "bare field of the answer": Case(
        PAINT, f"{PAINT}\n      x-response-field: smell", "PaintTableResponse has no field smell"
    ),
    "no response 2xx": Case(
        "        '200':\n          description: The rows.\n          content:\n"
        "            application/vnd.apache.arrow.file: {schema: {type: string, format: binary}}\n"
        "  /PourTable:",
        "        '404': {description: No table.}\n  /PourTable:",
        "PourTable needs exactly one response 2..",
        at="x-codes: [4]\n"
        "      parameters:\n        - {$ref: '#/components/parameters/Id'}\n"
        "        - {$ref: '#/components/parameters/Limit'}\n"
        "      requestBody:\n        content:\n"
        "          application/vnd.apache.arrow.stream: {schema: {type: string, format: binary}}\n"
        "      responses:",
    ),
    "response 2XX": Case(
        "      responses:\n        '200':\n          description: The rows.\n          content:\n"
        "            application/vnd.apache.arrow.file: {schema: {type: string, format: binary}}\n"
        "  /PourTable:",
        "      responses:  #!\n        2XX: {description: Rows.}\n  /PourTable:",
        "PourTable needs exactly one response 2..",
    ),
    "no route by name": Case(
        POUR,
        "  /Poor:\n",
        "PourTable has no route POST /PourTable",
        at="  /v1/table/{id}/pour:\n    post:",
    ),
    "no route under /v1": Case(POUR, route("/Stir", "Stir", ""), "Stir has no route under /v1"),
    "two routes under /v1": Case(
        POUR, route("/v1/stir", "PaintTable", ""), "PaintTable has two routes under /v1"
    ),
    "route by name lacks a parameter": Case(
        "schema: {type: string}}\n        - {$ref: '#/components/parameters/Limit'}\n",
        "schema: {type: string}}\n",
        "/PourTable lacks the parameters limit",
        at="  /PourTable:\n    post:",
    ),
    "route by name takes another body": Case(
        "application/json: {schema: {$ref: '#/components/schemas/ListColorsRequest'}}",
        "application/vnd.apache.arrow.stream: {schema: {type: string, format: binary}}",
        "/ListColors must accept a body of application/json",
        at="  /ListColors:\n    post:",
    ),
    # Parameters
    "x-field that the request lacks": Case(
        "          x-field: from\n",
        "          x-field: since\n",
        "parameter from feeds since, which ListColorsRequest does not have",
        at="        - name: from",
    ),
    "path parameter of another name": Case(
        "description: The table., x-field: id, schema",
        "description: The table., x-field: limit, schema",
        "path parameter id must feed a field of the same name",
        at=POUR_PARAMETERS,
        others=1,
    ),
    "path parameter of another type": Case(
        f"{ID}        limit:",
        f"{ID.replace('type: array, items: {type: string}', 'type: string')}        limit:",
        "path parameter id must feed a field of type array",
        at=POUR_PARAMETERS,
    ),
    "parameter that cannot be text": Case(
        FROM,
        FROM.replace("type: string", "type: array, items: {type: object}"),
        "parameter from cannot represent from, of type array, as a string",
        at="        - name: from",
    ),
    "parameter without a schema": Case(
        LIMIT,
        "        - name: tone\n          in: query\n"
        f"          content: {{application/json: {{schema: {{type: string}}}}}}\n{LIMIT}",
        "parameter tone has no schema",
    ),
    "header parameter": Case(
        LIMIT,
        "        - name: x-tone\n          in: header  #!\n"
        f"          schema: {{type: string}}\n{LIMIT}",
        "parameter x-tone: only path and query parameters are generated",
    ),
    "parameters of a path": Case(
        "  /v1/colors:\n",
        "  /v1/colors:\n    parameters:\n      - {$ref: '#/components/parameters/Delimiter'}\n",
        "list the parameters at each method instead",
    ),
    "field that no parameter provides": Case(
        FROM,
        f"{FROM}\n        tone: {{type: string, description: The tone.}}",
        "no parameter of GET /v1/colors provides ListColorsRequest.tone",
    ),
    # Schemas
    "required field that is not there": Case(
        "required: [color]",
        "required: [color, shine]",
        "PaintTableRequest requires the field 'shine', which does not exist",
    ),
    "union of two types": Case(
        COLOR,
        "        color: {type: [string, integer], description: The color.}",
        "only unions of one type with null can be generated",
    ),
    "union of a model and a type": Case(
        NEXT,
        NEXT.replace("'null'", "string"),
        "only unions of one type with null can be generated",
        at="        next:",
    ),
    "field without a description": Case(
        COATS, "        coats: {type: integer}", "PaintTableRequest.coats has no description"
    ),
    "schema without a description": Case(
        "    Mix:\n      description: Another color and how much of it.\n",
        "    Mix:  #!\n",
        "Mix has no description",
    ),
    "two fields of one Python name": Case(
        FROM,
        f"{FROM}\n        from_: {{type: string, description: Again.}}",
        "the fields from and from_ of ListColorsRequest have the same Python name, from_",
    ),
    "two spellings of one Python name": Case(
        COATS,
        f"{COATS}\n        Coats: {{type: string, description: Again.}}",
        "the fields coats and Coats of PaintTableRequest have the same Python name, coats",
    ),
    "field that is no Python name": Case(
        COATS,
        f"{COATS}\n        2d: {{type: string, description: Flat.}}",
        "PaintTableRequest.2d is not a valid name in Python",
    ),
    "title": Case(
        "    Mix:\n", "    Mix:\n      title: Blend\n", "the keyword title cannot be generated"
    ),
    "nothing but null": Case(
        COLOR,
        "        color: {type: 'null', description: The color.}",
        "the type NoneProperty cannot be generated",
    ),
    "map of itself": Case(
        TAGS,
        "      additionalProperties: {$ref: '#/components/schemas/Tags'}\n    Limit:",
        "#/components/schemas/Tags contains itself",
    ),
    "lower-case schema": Case(
        TAGS,
        TAGS.replace("    Limit:", "    tags_of_old:\n      type: string\n    Limit:"),
        "the schema 'tags_of_old' needs a name in CamelCase, such as TableStats",
    ),
    "reserved schema": Case(
        TAGS,
        TAGS.replace("    Limit:", "    Model:\n      type: string\n    Limit:"),
        "the name Model is already used in the generated package",
    ),
    "schema named as a builtin": Case(
        TAGS,
        TAGS.replace(
            "    Limit:",
            "    Warning:\n      description: Careful.\n      type: object\n"
            "      properties: {text: {type: string, description: What.}}\n    Limit:",
        ),
        "openapi-python-client has no class for Warning",
    ),
    "request without a context": Case(
        f"{CONTEXT}    ListColorsResponse:",
        "    ListColorsResponse:",
        "ListColorsRequest needs a field context of the schema Context, for the headers",
        at="    ListColorsRequest:\n      description: Asks for the colors.\n"
        "      type: object\n      properties:",
    ),
    "two schemas of one module": Case(
        TAGS,
        TAGS.replace(
            "    Limit:",
            "    UVMix:\n      type: string\n    UvMix:  #!\n      type: string\n    Limit:",
        ),
        "the schemas UVMix and UvMix would have the same module, uv_mix",
    ),
    # Errors
    "error without a name": Case(
        LOST, LOST.replace("name: TableNotFound, ", ""), "an error needs name, text"
    ),
    "error with a key too many": Case(
        LOST, LOST.replace("status", "class: Lost, status"), "an error has no class"
    ),
    "code of two errors": Case(
        LOST,
        f"{LOST}\n{LOST.replace('TableNotFound', 'TableLost')}",
        "error code 4 is defined twice",
    ),
    "error that extends nothing": Case(
        "extends: PermissionDenied, description: No.}",
        "extends: Denied, description: No.}",
        "Denied is not an error that other errors can extend",
    ),
    "common code of no error": Case(
        COMMON, COMMON.replace("0, 13", "0, 9, 13"), "no error has code 9"
    ),
    "error that the client needs": Case(
        "name: Throttling,",
        "name: TooFast,",
        "the client needs the error Throttling with code 21; add it",
        at="x-error-codes:",
    ),
}
