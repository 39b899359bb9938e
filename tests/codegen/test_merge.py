"""Upstream's document is merged into the annotated specification, without an edit by hand."""

from __future__ import annotations

import copy
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
import yaml

from codegen.command import main
from codegen.document import Document
from codegen.merge import merge
from codegen.parse import parse
from codegen.upstream import read
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving

from .conftest import ROOT
from .test_upstream import MUTATIONS, SHARED, fields, model, route

Json = dict[str, Any]
SPEC = ROOT / "rest.yaml"
OLD = SHARED / "upstream" / "spec-0.11.1.yaml"
NEW = SHARED / "upstream" / "spec-0.13.0-rebuilt.yaml"


def load(path: Path) -> Json:
    found: Json = json.loads(json.dumps(yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)))
    return found


def without_annotations() -> Json:
    """Return the specification as upstream would write it.

    It has no annotations, local parts and routes by name, and uses other notations: parameters of
    paths, ``nullable`` and nested objects.
    """
    plain = load(SPEC)
    for path in list(plain["paths"]):
        item = plain["paths"][path]
        if path.count("/") == 1 or any(operation.get("x-local") for operation in item.values()):
            del plain["paths"][path]
        else:
            (operation,) = item.values()
            item["parameters"] = operation.pop("parameters", [])
    columns = plain["components"]["schemas"].pop("QueryTableRequestColumns")
    for name in ("QueryTableRequest", "AnalyzeTableQueryPlanRequest"):
        for key, schema in plain["components"]["schemas"][name]["properties"].items():
            if key == "columns":
                schema.pop("oneOf")
                schema |= columns | {"nullable": True}
    return upstream_notation(plain)


def upstream_notation(node: Any) -> Any:
    if isinstance(node, list):
        return [upstream_notation(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {
        key: upstream_notation(value)
        for key, value in node.items()
        if not key.startswith("x-") and not (isinstance(value, dict) and is_addition(value))
    }
    if isinstance(found.get("type"), list):
        (kind,) = (each for each in found["type"] if each != "null")
        found |= {"type": kind, "nullable": True}
    return found


def is_addition(schema: Json) -> bool:
    """Return whether only this project has a part; deliberate differences are maps."""
    return bool(schema.get("x-local")) and "additionalProperties" not in schema


@pytest.fixture(scope="module")
def newest() -> Json:
    """Return upstream's newest document if there is a copy, otherwise an equivalent one."""
    return load(NEW) if NEW.exists() else without_annotations()


def merged(folder: Path, document: Json, spec: Path = SPEC) -> Any:
    path = folder / "upstream.json"
    path.write_text(json.dumps(document))
    return merge(Document(spec), read(path), folder, is_new=False)


def parsed(folder: Path, text: str) -> Any:
    path = folder / "result.yaml"
    path.write_text(text)
    return parse(Document(path))


def kept(result: Any) -> list[str]:
    """Return the remaining differences, except deliberate ones and parts that only we have."""
    deliberate = (": only here", "security", "metadata.(name)", ".properties: default is {}")
    return [each for each in result.kept if not any(part in each for part in deliberate)]


@pytest.mark.parametrize("source", ["ours", "upstream"])
def test_the_specification_is_aligned_with_upstream(
    tmp_path: Path, newest: Json, source: str
) -> None:
    result = merged(tmp_path, without_annotations() if source == "ours" else newest)
    assert result.text == SPEC.read_text("utf-8")
    assert (result.added, result.removed, result.changed, result.notes) == ([], [], [], [])
    assert kept(result) == []


# Changes that can be made together, and what then remains different.
TOGETHER = (
    "operation added",
    "operation without an id added",
    "operation removed",
    "path moved",
    "operation deprecated",
    "path-level parameter added",
    "parameter's default",
    "body added",
    "response added",
    "response's status",
    "model added",
    "field added",
    "field removed",
    "format",
    "minimum removed",
)


def test_all_kinds_of_change_are_adopted(tmp_path: Path, newest: Json) -> None:
    document = copy.deepcopy(newest)
    for name in TOGETHER:
        MUTATIONS[name][0](document)
    result = merged(tmp_path, document)
    spec = parsed(tmp_path, result.text)
    operations = {each.name: each for each in spec.operations}
    assert [each.partition(" ")[0] for each in result.added] == ["PaintTable", "GetHealth"]
    assert "operation RenameTable" in result.removed
    assert "RenameTable" not in operations
    assert operations["QueryTable"].path == "/v1/table/{id}/select"
    assert operations["CreateTable"].status == 201
    assert {"AlterTable", "AlterNamespace", "ListOperations"} <= operations.keys()
    assert kept(result) == [
        "FragmentSummary.p25: format is int16 upstream, not set here",
        "GetHealth: operationId is GET /v1/health upstream, GetHealth here",
        # Upstream's model requires a field that it does not have.
        "QueryTableRequest.k: required upstream, optional here",
    ]
    again = merged(tmp_path, document, tmp_path / "result.yaml")
    assert again.text == result.text
    assert again.changed == []


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_every_kind_of_change_is_adopted(tmp_path: Path, newest: Json, name: str) -> None:
    document = copy.deepcopy(newest)
    MUTATIONS[name][0](document)
    result = merged(tmp_path, document)
    parsed(tmp_path, result.text)
    again = merged(tmp_path, document, tmp_path / "result.yaml")
    assert again.text == result.text
    assert again.changed == []


CLONE = {
    "operationId": "CloneTable",
    "description": "Clones the table `id`.",
    "requestBody": {
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["source"],
                    "properties": {
                        "source": {"type": "array", "items": {"type": "string"}},
                        "options": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
                    },
                }
            }
        }
    },
    "responses": {
        "200": {
            "description": "The number of copied rows.",
            "content": {"application/json": {"schema": {"type": "integer", "format": "int64"}}},
        }
    },
}


def test_a_new_operation_gets_default_annotations(tmp_path: Path, newest: Json) -> None:
    document = copy.deepcopy(newest)
    parameters = document["paths"]["/v1/table/{id}/query"]["parameters"]
    document["paths"]["/v1/table/{id}/clone"] = {"parameters": parameters, "post": CLONE}
    result = merged(tmp_path, document)
    assert result.added == [
        "CloneTable (POST /v1/table/{id}/clone): x-action manage, x-codes [4], x-repeatable false"
    ]
    spec = parsed(tmp_path, result.text)
    clone = next(each for each in spec.operations if each.name == "CloneTable")
    assert (clone.request, clone.body, clone.answer, clone.answer_field) == (
        "CloneTableRequest",
        "JSON",
        "FIELD",
        "value",
    )
    models = {each.name: {field.key for field in each.fields} for each in spec.models}
    assert models["CloneTableRequest"] == {"source", "options", "id", "identity", "context"}
    assert models["CloneTableRequestOptions"] == {"deep"}
    assert "  /CloneTable:\n" in result.text


def test_a_removed_field_of_upstream_is_removed_and_a_local_one_remains(
    tmp_path: Path, newest: Json
) -> None:
    document = copy.deepcopy(newest)
    del fields(document, "JsonArrowDataType")["length"]
    del route(document, "DropTable")["responses"]["404"]
    model(document, "CreateTableIndexRequest")["required"].remove("index_type")
    result = merged(tmp_path, document)
    spec = parsed(tmp_path, result.text)
    names = {each.name: {field.key: field for field in each.fields} for each in spec.models}
    assert names["JsonArrowDataType"].keys() == {"fields", "index_type", "timezone", "type", "unit"}
    assert not names["CreateTableIndexRequest"]["index_type"].required
    assert "DropTable, response 404: only here" in result.kept


def run(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main([str(each) for each in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    properties = {"path": str(tmp_path / "lake"), "manifest": "true"}
    with connect("dir", properties) as namespace, serving(namespace) as uri:
        yield uri


@pytest.mark.parametrize("path", [OLD, NEW], ids=["0.11.1", "0.13.0"])
def test_a_client_of_upstreams_file_works_without_an_edit(
    path: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    server: str,
) -> None:
    if not path.exists():
        path = tmp_path / path.name
        path.write_text(json.dumps(without_annotations()))
    spec = tmp_path / "my.yaml"
    status, out, _ = run("--from-upstream", path, "--annotated", spec, capsys=capsys)
    assert (status, out.splitlines()[-1].partition(";")[0]) == (0, f"{spec}: written")
    package = f"client_of_{path.stem.replace('-', '_').replace('.', '_')}"
    options = ("--spec", spec, "--package", package, "--out", tmp_path)
    assert run(*options, capsys=capsys)[0] == 0
    assert run(*options, "--check", capsys=capsys)[0] == 0

    monkeypatch.syspath_prepend(str(tmp_path))
    client = importlib.import_module(package)
    with httpx.Client() as http:
        walk(client.RestNamespace(http, server))
    if path.name == NEW.name:
        typed = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "-p", package],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert typed.returncode == 0, typed.stdout


def walk(namespace: Any) -> None:
    """Call operations with JSON, Arrow and bare bodies."""
    namespace.create_namespace({"id": ["db"], "properties": {"owner": "me"}})
    assert namespace.list_namespaces({"id": []}).namespaces == ["db"]
    rows = pa.table({"id": [1, 2], "text": ["a", "b"]})
    namespace.create_table({"id": ["db", "t"]}, rows)
    namespace.insert_into_table({"id": ["db", "t"]}, rows)
    assert namespace.list_tables({"id": ["db"]}).tables == ["t"]
    assert namespace.count_table_rows({"id": ["db", "t"]}).count == 4
    query = {"id": ["db", "t"], "vector": None, "k": 10, "filter": "id > 1"}
    assert namespace.query_table(query).read_all().column("id").to_pylist() == [2, 2]
    assert namespace.describe_namespace({"id": ["db"]}).properties["owner"] == "me"
    namespace.drop_table({"id": ["db", "t"]})
    namespace.drop_namespace({"id": ["db"]})


def test_an_existing_file_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rest.yaml").write_text("mine")
    status, _, err = run("--from-upstream", NEW, capsys=capsys)
    assert status == 1
    assert err == (
        "rest.yaml: exists; pass --spec rest.yaml to update it, or --annotated FILE for another "
        "file\n"
    )
    assert (tmp_path / "rest.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("a: b", "is not an OpenAPI document"),
        ("openapi: 3.0.3\ninfo: {title: Pets}\npaths: {/pets: {get: {responses: {}}}}", "Pets"),
        ("no: {yaml", "expected ',' or '}'"),
    ],
)
def test_an_unusable_document_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, cause: str
) -> None:
    path, spec = tmp_path / "upstream.yaml", tmp_path / "my.yaml"
    path.write_text(text)
    status, _, err = run("--from-upstream", path, "--annotated", spec, capsys=capsys)
    assert status == 1
    assert cause in err and "Traceback" not in err
    assert not spec.exists()
