"""A change of rest.yaml affects the models, the client and the server without further edits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codegen.__main__ import main

from .conftest import ROOT

OPERATION = """\
  /v1/table/{id}/paint:
    post:
      operationId: PaintTable
      summary: Paint a table
      description: Puts a coat of paint on a table; a table that is not there answers TableNotFound.
      tags: [Table]
      x-operation: PaintTable
      x-request: PaintTableRequest
      x-response: PaintTableResponse
      x-codes: [1, 4]
      x-action: write
      parameters:
        - {$ref: '#/components/parameters/Id'}
        - {$ref: '#/components/parameters/Delimiter'}
      requestBody:
        content:
          application/json: {schema: {$ref: '#/components/schemas/PaintTableRequest'}}
      responses: &painted
        '200':
          description: The coats on the table.
          content:
            application/json: {schema: {$ref: '#/components/schemas/PaintTableResponse'}}
  /PaintTable:
    post:
      operationId: PaintTableByName
      x-operation: PaintTable
      tags: [Table]
      parameters:
        - {$ref: '#/components/parameters/Delimiter'}
      requestBody:
        content:
          application/json: {schema: {$ref: '#/components/schemas/PaintTableRequest'}}
      responses: *painted
"""
SCHEMAS = """\
    PaintTableRequest:
      description: Asks for a coat of paint.
      type: object
      required: [color]
      properties:
        id: {type: array, items: {type: string}, description: Names from the root.}
        color: {type: string, description: The color.}
        identity: {$ref: '#/components/schemas/Identity', description: Who asks.}
        context: {$ref: '#/components/schemas/Context', description: What comes with it.}
    PaintTableResponse:
      description: What is on the table now.
      type: object
      properties:
        coats: {type: integer, minimum: 0, description: Number of coats.}
        context: {$ref: '#/components/schemas/Context', description: What comes with it.}
"""
ERROR = """\
  - {code: 24, name: TableWet, status: 409, description: The paint is not dry yet. Wait.}
"""
# The start of each script below: a client that records its requests.
START = """
import json
import httpx
from lance_namespace_client import LanceNamespace, OPERATIONS, RestNamespace, errors, models
from lance_namespace_impls.server import serving

sent = []

def remote(uri):
    hooks = {"request": [lambda request: sent.append(
        [request.method, request.url.raw_path.decode(), request.read().decode()]
    )]}
    return RestNamespace(httpx.Client(event_hooks=hooks), uri)
"""


def add(text: str, after: str, what: str) -> str:
    """Insert text into rest.yaml after the only match of `after`."""
    changed, count = re.subn(f"(?m){after}", lambda found: found[0] + what, text)
    assert count == 1, f"{after} is there {count} times"
    return changed


def fields_of(schema: str) -> str:
    """Return a pattern for the start of a schema, up to its first field."""
    return rf"^    {schema}:\n(?:      .*\n)*?      properties:\n"


def script(code: str, generated: Path) -> Any:
    """Run code with the regenerated client and this project's server; return the JSON it prints."""
    path = os.pathsep.join([str(generated), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", START + code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate a client from rest.yaml with a new field, parameter, operation and error."""
    text = (ROOT / "rest.yaml").read_text("utf-8")
    for schema in ("DescribeTableRequest", "DescribeTableResponse"):
        field = "        paintJob: {type: string, description: How the table is painted.}\n"
        text = add(text, fields_of(schema), field)
    field = "        namesLike: {type: string, description: What names must hold.}\n"
    text = add(text, fields_of("ListTablesRequest"), field)
    parameter = (
        "        - {name: names_like, in: query, x-field: namesLike, description: Part of names.,\n"
        "           schema: {type: string}}\n"
    )
    for path in (r"/v1/namespace/\{id\}/table/list", "/v1/table"):
        start = rf"^  {path}:\n    get:\n(?:      .*\n)*?      parameters:\n"
        text = add(text, start, parameter)
    text = add(text, r"^paths:\n", OPERATION)
    text = add(text, r"^  schemas:\n", SCHEMAS)
    text = add(text, r"^x-error-codes:\n", ERROR)
    folder = tmp_path_factory.mktemp("changed")
    (folder / "rest.yaml").write_text(text, "utf-8")
    assert main(["--spec", str(folder / "rest.yaml"), "--out", str(folder / "generated")]) == 0
    return folder / "generated"


def test_a_new_field_in_a_body(generated: Path) -> None:
    code = """
class Painted(LanceNamespace):
    def describe_table(self, request):
        request = models.DescribeTableRequest.coerce(request)
        return models.DescribeTableResponse(location="/t", paint_job=request.paint_job.upper())

with serving(Painted()) as uri:
    answer = remote(uri).describe_table(models.DescribeTableRequest(id=["t"], paint_job="matt"))
    by_name = httpx.post(f"{uri}/DescribeTable", json={"id": ["t"], "paintJob": "glossy"}).json()
    wrong = httpx.post(f"{uri}/v1/table/t/describe", json={"paintJob": 7})
print(json.dumps([answer.paint_job, sent, by_name["paintJob"], wrong.status_code, wrong.json()]))
"""
    shown, sent, by_name, status, failure = script(code, generated)
    assert shown == "MATT"
    ((method, path, body),) = sent
    assert (method, path) == ("POST", "/v1/table/t/describe?delimiter=%24")
    assert json.loads(body) == {"id": ["t"], "paintJob": "matt"}
    assert by_name == "GLOSSY"
    assert status == 400
    assert failure["code"] == 13
    assert "DescribeTableRequest.paintJob must be a string" in failure["error"]


def test_a_new_field_in_the_query(generated: Path) -> None:
    code = """
class Named(LanceNamespace):
    def list_tables(self, request):
        request = models.ListTablesRequest.coerce(request)
        return models.ListTablesResponse(tables=[request.names_like])

with serving(Named()) as uri:
    tables = remote(uri).list_tables({"id": [], "namesLike": "a&b c"}).tables
    by_name = httpx.post(f"{uri}/ListTables", json={"namesLike": "x"}).json()
print(json.dumps([tables, sent[0][1], by_name["tables"]]))
"""
    assert script(code, generated) == [
        ["a&b c"],
        "/v1/namespace/%24/table/list?delimiter=%24&names_like=a%26b%20c",
        ["x"],
    ]


def test_a_new_operation(generated: Path) -> None:
    code = """
import tempfile
from lance_namespace_impls import connect

def code_of(call):
    try:
        call()
    except errors.LanceNamespaceError as error:
        return [type(error).__name__, int(error.code), str(error)]

class Painter(LanceNamespace):
    def paint_table(self, request):
        request = models.PaintTableRequest.coerce(request)
        if request.id != ["t"]:
            raise errors.TableNotFoundError(f"table {request.id} does not exist")
        return models.PaintTableResponse(coats=len(request.color))

row = OPERATIONS["PaintTable"]
out = {
    "table": [row.method_name, row.http_method, row.path, list(row.codes), row.names],
    "abstract": code_of(lambda: LanceNamespace().paint_table({"id": ["t"], "color": "red"})),
}
with tempfile.TemporaryDirectory() as home, serving(connect("dir", {"path": home})) as uri:
    for route in ("/v1/table/t/paint", "/PaintTable"):
        answer = httpx.post(uri + route, json={"id": ["t"], "color": "red"})
        out[route] = [answer.status_code, answer.json()["code"]]
    out["client"] = code_of(lambda: remote(uri).paint_table({"id": ["t"], "color": "red"}))
with serving(Painter()) as uri:
    out["coats"] = remote(uri).paint_table({"id": ["t"], "color": "red"}).coats
    out["missing"] = code_of(lambda: remote(uri).paint_table({"id": ["u"], "color": "red"}))[:2]
    document = httpx.get(uri + "/openapi.json").json()
    out["document"] = "/v1/table/{id}/paint" in document["paths"]
print(json.dumps(out))
"""
    out = script(code, generated)
    assert out["table"] == [
        "paint_table", "POST", "/v1/table/{id}/paint", [1, 4], ["PaintTable"],
    ]  # fmt: skip
    assert out["abstract"] == [
        "UnsupportedError", 0, "LanceNamespace does not support PaintTable",
    ]  # fmt: skip
    assert out["/v1/table/t/paint"] == [406, 0]
    assert out["/PaintTable"] == [406, 0]
    assert out["client"][:2] == ["UnsupportedError", 0]
    assert out["coats"] == 3
    assert out["missing"] == ["TableNotFoundError", 4]
    assert out["document"] is True


def test_a_new_error(generated: Path) -> None:
    code = """
class Wet(LanceNamespace):
    def drop_table(self, request):
        raise errors.TableWetError("table t is wet; wait an hour")

with serving(Wet()) as uri:
    answer = httpx.post(f"{uri}/v1/table/t/drop")
    try:
        remote(uri).drop_table({"id": ["t"]})
    except errors.TableWetError as error:
        caught = [int(error.code), error.status, str(error)]
print(json.dumps([answer.status_code, answer.json()["code"], caught, errors.ErrorCode.TABLE_WET]))
"""
    assert script(code, generated) == [
        409, 24, [24, 409, "table t is wet; wait an hour"], 24,
    ]  # fmt: skip
