"""`python -m codegen`: generation, comparison, and reproducible output."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.__main__ import main
from codegen.tools import VERSIONS
from lance_namespace_impls.cli.commands.codegen import _main

from .conftest import ROOT, Ran

Change = Callable[[str, str], None]
Run = Callable[..., Ran]
PACKAGE = "lance_namespace_client"
FROM = "        from: {type: string, description: The first color.}"
ANY = "".join(
    f"        - {{name: {name}, in: query, description: Whatever., schema: {{type: object}}}}\n"
    for name in ("any", "more")
)


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture
def made(small: Path, out: Path) -> Path:
    """Return a copy of the package of the small specification in `out`."""
    return shutil.copytree(small, out, ignore=shutil.ignore_patterns("__pycache__"))


def test_the_committed_package_is_what_the_specification_makes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_check_passes_after_generation(run: Run, out: Path) -> None:
    assert run().status == 0
    before = contents(out)
    assert run("--check") == Ran(0, "", [])
    assert contents(out) == before


def test_check_lists_differences_and_writes_nothing(run: Run, made: Path) -> None:
    package = made / PACKAGE
    model = package / "models" / "mix.py"
    model.write_bytes(model.read_bytes().replace(b"Shades", b"shades"))
    (package / "rest.py").unlink()
    (package / "extra.py").write_text("", "utf-8")
    before = contents(made)

    ran = run("--check")

    assert ran.status == 1
    assert ran.err == [
        f"{model}: differs",
        f"{package / 'rest.py'}: is missing",
        f"{package / 'extra.py'}: is not generated",
        "3 files differ; run python -m codegen",
    ]
    assert contents(made) == before


def test_check_detects_a_changed_line_ending(run: Run, made: Path) -> None:
    model = made / PACKAGE / "models" / "mix.py"
    model.write_bytes(model.read_bytes().replace(b"\n", b"\r\n"))
    assert run("--check").err == [f"{model}: differs", "1 file differs; run python -m codegen"]


def test_check_of_a_missing_package(run: Run, out: Path) -> None:
    ran = run("--check")
    assert ran.status == 1
    assert f"{out / PACKAGE / 'rest.py'}: is missing" in ran.err
    assert not out.exists()


def test_only_changed_files_are_written(run: Run, made: Path, change: Change) -> None:
    times = {path: path.stat().st_mtime_ns for path in made.rglob("*.py")}
    change(FROM, FROM.replace("first", "very first"))

    assert run().out.endswith("3 operations, 8 models, 2 files changed\n")

    touched = {path for path, time in times.items() if path.stat().st_mtime_ns != time}
    assert {path.name for path in touched} == {"list_colors_request.py"}


def test_stale_files_are_deleted(run: Run, made: Path, change: Change) -> None:
    stale = made / PACKAGE / "models" / "mix.py"
    assert stale.exists()
    change("        mix: {$ref: '#/components/schemas/Mix', description: What is mixed in.}\n", "")
    text = "    Mix:\n      description: Another color"
    change(text, text.replace("Mix", "Blend"))
    change("{$ref: '#/components/schemas/Mix'}, {type: 'null'}", "{type: string}, {type: 'null'}")
    assert run("--allow-breaking").status == 0
    assert not stale.exists()
    assert (made / PACKAGE / "models" / "blend.py").exists()


def test_an_object_without_fields_is_a_map(run: Run, out: Path, change: Change) -> None:
    change(
        FROM,
        f"{FROM}\n        any: {{type: object, description: Whatever.}}\n"
        "        more: {type: object, additionalProperties: true, description: Whatever.}",
    )
    change("        - name: from\n", f"{ANY}        - name: from\n")
    assert run().status == 0
    made = (out / PACKAGE / "models" / "list_colors_request.py").read_text("utf-8")
    for name in ("any", "more"):
        assert f"    {name}: dict[str, Any] | None = None" in made
        assert f'Wire("{name}", "{name}", mapping(anything))' in made


def test_foreign_files_are_not_deleted(run: Run, made: Path) -> None:
    foreign = made / PACKAGE / "notes.py"
    foreign.write_text("# mine\n", "utf-8")
    (made / PACKAGE / "rest.py").unlink()

    ran = run()

    assert ran == Ran(1, "", [f"{foreign}: was not generated; move it out of the package"])
    assert foreign.exists()
    assert not (made / PACKAGE / "rest.py").exists()


def test_the_output_does_not_depend_on_the_environment(
    small: Path, spec: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    strange = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "generated")]),
        "PATH": os.environ["PATH"],
        "PYTHONHASHSEED": "4711",
        "LC_ALL": "tr_TR.ISO-8859-9",
        "LANG": "C",
        "TZ": "Pacific/Kiritimati",
        "COLUMNS": "40",
        "PYTHONUTF8": "0",
    }
    # A configuration file in the working directory must not affect the formatter.
    (elsewhere / "ruff.toml").write_text("line-length = 60\n", "utf-8")
    subprocess.run(
        [sys.executable, "-m", "codegen", "--spec", str(spec), "--out", str(elsewhere / "made")],
        cwd=elsewhere,
        env=strange,
        check=True,
        capture_output=True,
    )
    assert contents(elsewhere / "made") == contents(small)


def test_the_order_of_the_specification_is_kept(small: Path) -> None:
    text = (small / PACKAGE / "namespace.py").read_text("utf-8")
    places = [text.index(f"def {name}(") for name in ("paint_table", "list_colors", "pour_table")]
    assert places == sorted(places)


def test_another_version_of_a_tool_is_rejected(
    run: Run, monkeypatch: pytest.MonkeyPatch, out: Path
) -> None:
    monkeypatch.setitem(VERSIONS, "ruff", "0.0.1")
    ran = run()
    assert ran.status == 1
    assert ran.err[0].startswith("codegen needs ruff 0.0.1, found ")
    assert ran.err[0].endswith("pip install 'lance-namespace-kit[codegen]'")
    assert not out.exists()


def test_project_pins_the_same_tools() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    for name, version in VERSIONS.items():
        assert f'"{name}=={version}"' in project


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = capsys.readouterr().out
    assert "example: python -m codegen --spec my-rest.yaml --package my_client --out src" in shown


def test_missing_tools_are_named(tmp_path: Path) -> None:
    code = (
        "import runpy, sys; sys.modules['ruamel'] = None;"
        "runpy.run_module('codegen', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("codegen needs ruamel")
    assert done.stderr.endswith(": pip install 'lance-namespace-kit[codegen]'\n")


def test_the_command_line_runs_the_generator_of_the_checkout() -> None:
    assert _main().__module__ == "codegen.command"
