"""A project with its own specification that uses only the installed wheel."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from . import upstream
from .conftest import ROOT
from .conftest import installed_run as run
from .test_change import OPERATION, SCHEMAS, add

pytestmark = pytest.mark.slow

PAINTER = """
import tempfile
import httpx
import my_client
from lance_namespace_client import LanceNamespace, models
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving

WISH = {"id": ["t"], "color": "red"}


class Painter(LanceNamespace):
    def paint_table(self, request):
        request = models.PaintTableRequest.coerce(request)
        return models.PaintTableResponse(coats=len(request.color))


def answer(namespace):
    try:
        return namespace.paint_table(WISH).coats
    except my_client.errors.UnsupportedError as error:
        return int(error.code)


class Mine(my_client.LanceNamespace):
    def paint_table(self, request):
        request = my_client.PaintTableRequest.coerce(request)
        return my_client.PaintTableResponse(coats=len(request.color))


print(answer(Mine()), "in process")
with serving(Painter()) as uri:
    print(answer(my_client.RestNamespace(httpx.Client(), uri)), "over REST")
print(answer(my_client.LanceNamespace()), "in process")
with tempfile.TemporaryDirectory() as home, serving(connect("dir", {"path": home})) as uri:
    print(answer(my_client.RestNamespace(httpx.Client(), uri)), "over REST")
"""


def test_a_custom_project(python: Path, tmp_path: Path) -> None:
    """Generate a package with a custom name and a new operation, in an empty directory."""
    lance_ns = python.with_name("lance-ns")
    both = os.pathsep.join(str(tmp_path / name) for name in ("src", "generated"))
    where = "import lance_namespace_codegen as c; print(c.__path__[0])"
    spec = Path(run(python, tmp_path, "-c", where).strip()) / "rest.yaml"
    assert not spec.is_relative_to(ROOT)
    text = add(spec.read_text("utf-8"), r"^paths:\n", OPERATION)
    text = add(text, r"^  schemas:\n", SCHEMAS)
    mine = tmp_path / "my.yaml"
    mine.write_text(text, "utf-8")
    generate = ("codegen", "--spec", "my.yaml", "--package", "my_client", "--out", "src")

    made = run(lance_ns, tmp_path, *generate)
    assert made.startswith("src/my_client: 58 operations, 15")
    run(lance_ns, tmp_path, "codegen", "--spec", "my.yaml", "--out", "generated")
    header = (tmp_path / "src" / "my_client" / "rest.py").read_text("utf-8").splitlines()
    assert header[1] == "# lance-ns codegen --spec my.yaml --package my_client --out src"

    # Call it in process and over REST; an operation without an implementation fails with code 0.
    (tmp_path / "painter.py").write_text(PAINTER)
    called = run(python, tmp_path, "painter.py", path=both)
    assert called.splitlines() == ["3 in process", "3 over REST", "0 in process", "0 over REST"]
    own = ("--impl", "dir", "-p", f"path={tmp_path / 'lake'}", "--json")
    (tmp_path / "lake").mkdir()
    listed = json.loads(run(lance_ns, tmp_path, "operations", *own, path=both))
    (row,) = [each for each in listed["operations"] if each["name"] == "PaintTable"]
    assert row["supported"] is False
    report = ("--only", "LN-OPERATIONS-003", "--only", "LN-SCHEMA-*", "--report", "r.json")
    run(lance_ns, tmp_path, "conformance", *own[:-1], *report, path=both)
    assert "An answer to PaintTable has every required field" in (tmp_path / "r.json").read_text()

    # The generated code passes the type checker and the linter.
    strict = ("-m", "mypy", "--strict", "--python-executable", str(python), "src/my_client")
    assert "no issues found" in run(Path(sys.executable), tmp_path, *strict)
    run(python, tmp_path, "-m", "ruff", "check", "src")
    run(python, tmp_path, "-m", "ruff", "format", "--check", "src")

    # A renamed field is an error with file and line, unless the operation is a draft.
    renamed = text.replace(
        "        color: {type: string, desc", "        colour: {type: string, desc"
    )
    renamed = renamed.replace("required: [color]", "required: [colour]")
    assert renamed.count("colour") == 2
    mine.write_text(renamed, "utf-8")
    line = text[: text.index("PaintTableRequest:\n      description")].count("\n") + 1
    refused = run(lance_ns, tmp_path, *generate, status=1)
    places = [int(found) for found in re.findall(r"(?m)^my\.yaml:(\d+): .*color", refused)]
    assert places and all(line <= place <= line + 9 for place in places), refused
    before = "      x-operation: PaintTable\n      x-request"
    for changed in (text, renamed):
        draft = changed.replace(
            before, before.replace("x-request", "x-draft: true\n      x-request")
        )
        mine.write_text(draft, "utf-8")
        run(lance_ns, tmp_path, *generate)

    # The newest official client lacks some operations and type parameters of this project.
    (tmp_path / "upstream.json").write_text(json.dumps(upstream.document()))
    compare = (*generate[:3], "--check-upstream", "upstream.json")
    compared = run(lance_ns, tmp_path, *compare, status=1)
    causes = {line.split(": ", 1)[-1] for line in compared.splitlines()[:-1]}
    operations = {cause for cause in causes if re.match("operation .*: only", cause)}
    assert {cause.split(":")[0] for cause in operations} == {
        f"operation {name}"
        for name in ("AlterNamespace", "AlterTable", "ListOperations", "PaintTable")
    }
    parameters = ("index_type", "timezone", "unit")
    assert {f"JsonArrowDataType.{name}: only here" for name in parameters} <= causes
