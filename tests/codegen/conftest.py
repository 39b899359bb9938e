from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from codegen.__main__ import main
from tests.packaging.build import built

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Ran(NamedTuple):
    status: int
    out: str
    err: list[str]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return a new copy of the small specification."""
    path = tmp_path / "spec.yaml"
    path.write_text((HERE / "small.yaml").read_text("utf-8"), "utf-8")
    return path


@pytest.fixture(scope="package")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the package of the small specification; do not change it."""
    folder = tmp_path_factory.mktemp("small")
    spec, out = folder / "spec.yaml", folder / "out"
    shutil.copy(HERE / "small.yaml", spec)
    assert main(["--spec", str(spec), "--out", str(out)]) == 0
    return out


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def run(spec: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Return a function that runs codegen on `spec` into `out`."""

    def call(*options: str | Path) -> Ran:
        status = main(["--spec", str(spec), "--out", str(out), *map(str, options)])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err.splitlines())

    return call


@pytest.fixture
def change(spec: Path) -> Callable[[str, str], None]:
    """Return a function that replaces the only occurrence of `old` in `spec`."""

    def call(old: str, new: str) -> None:
        text = spec.read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the specification"
        spec.write_text(text.replace(old, new), "utf-8")

    return call


@pytest.fixture(scope="package")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="package")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a new environment with the wheel, for codegen and for servers."""
    home = tmp_path_factory.mktemp("environment") / "venv"
    python = home / "bin" / "python"
    requirement = f"lance-namespace-kit[codegen,server] @ {wheel.as_uri()}"
    if uv := shutil.which("uv"):
        commands = [
            [uv, "venv", "--quiet", "--python", sys.executable, str(home)],
            [uv, "pip", "install", "--quiet", "--python", str(python), requirement],
        ]
    else:
        commands = [
            [sys.executable, "-m", "venv", str(home)],
            [str(python), "-m", "pip", "install", "--quiet", requirement],
        ]
    for command in commands:
        subprocess.run(command, check=True)
    return python


def installed_run(python: Path, cwd: Path, *arguments: str, path: str = "", status: int = 0) -> str:
    """Run a program without this checkout on its path, and return its output.

    If a failure status is expected, the output includes stderr.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if path:
        environment["PYTHONPATH"] = path
    done = subprocess.run(
        [str(python), *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr + done.stdout
    return done.stdout + done.stderr if status else done.stdout
