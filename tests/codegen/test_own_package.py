"""A custom client: its package name, the changes that are allowed, and comparisons."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lance_namespace_impls.cli.app import app

from .conftest import Ran

Change = Callable[[str, str], None]
Run = Callable[..., Ran]
COATS = (
    "        coats: {type: integer, format: int32, minimum: 1, default: 2, description: How many.}"
)
PAINT = "      x-operation: PaintTable\n"


def test_a_package_can_have_another_name(run: Run, out: Path) -> None:
    # The first run compares with the installed protocol, which the small specification breaks.
    assert run("--package", "my_client").status == 1
    ran = run("--package", "my_client", "--allow-breaking")
    assert ran.status == 0, ran.err
    code = "import my_client as c; print(c.PaintTableRequest(color='red').to_dict()['color'])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=out, capture_output=True, text=True, check=True
    )
    assert done.stdout == "red\n"
    first, second = (out / "my_client" / "rest.py").read_text("utf-8").splitlines()[:2]
    assert first == "# Generated from spec.yaml; edit that file instead, and run"
    assert second.endswith("codegen --spec spec.yaml --package my_client")
    assert run("--package", "my_client", "--check").status == 0


@pytest.mark.parametrize("name", ["my-client", "class", "a.b", ""])
def test_an_invalid_package_name_is_rejected(
    run: Run, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run("--package", name)
    [line] = capsys.readouterr().err.splitlines()
    assert f"{name!r} is not the name of a Python package; see " in line


def test_breaking_changes_can_be_allowed_for_one_operation(run: Run, change: Change) -> None:
    assert run().status == 0
    change(f"{COATS}\n", "")
    assert run("--allow-breaking=PourTable").status == 1
    ran = run("--allow-breaking=PaintTable")
    assert ran.status == 0, ran.err
    assert run().status == 0


def test_a_draft_can_change(run: Run, spec: Path, change: Change) -> None:
    text = spec.read_text("utf-8")
    spec.write_text(text.replace(PAINT, f"{PAINT}      x-draft: true\n"), "utf-8")
    assert run().status == 0
    change(f"{COATS}\n", "")
    ran = run()
    assert ran.status == 0, ran.err


def test_a_draft_is_true_or_false(run: Run, spec: Path) -> None:
    text = spec.read_text("utf-8")
    spec.write_text(text.replace(PAINT, f"{PAINT}      x-draft: perhaps\n"), "utf-8")
    ran = run()
    assert ran.status == 1
    assert any("x-draft must be true or false" in line for line in ran.err)


def test_a_document_equals_itself(run: Run, spec: Path, tmp_path: Path) -> None:
    assert run("--check-upstream", spec).status == 0
    (tmp_path / "bad.yaml").write_text("[1, 2]")
    assert "parts of an OpenAPI document" in run("--check-upstream", tmp_path / "bad.yaml").err[0]


@pytest.mark.parametrize(
    ("name", "cause"), [("none.yaml", "No such file or directory"), ("", "Is a directory")]
)
def test_an_unreadable_upstream_document_is_named(
    run: Run, tmp_path: Path, name: str, cause: str
) -> None:
    path = tmp_path / name
    assert run("--check-upstream", path) == Ran(1, "", [f"{path}: cannot be read: {cause}"])


def test_the_command_lance_ns_codegen(spec: Path, out: Path) -> None:
    arguments = ["codegen", "--spec", str(spec), "--out", str(out), "--package", "paints"]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 1
    as_json = CliRunner().invoke(app, [*arguments, "--json"])
    assert (as_json.exit_code, as_json.stderr) == (1, "")
    assert json.loads(as_json.stdout)["problems"] == refused.stderr.splitlines() != []
    done = CliRunner().invoke(app, [*arguments, "--allow-breaking", "*", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["status"] == 0
    assert "# lance-ns codegen --spec spec.yaml" in (out / "paints" / "rest.py").read_text("utf-8")
