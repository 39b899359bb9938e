from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from codegen.__main__ import main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Ran(NamedTuple):
    status: int
    out: str
    err: list[str]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A small specification of its own for each test."""
    path = tmp_path / "spec.yaml"
    path.write_text((HERE / "small.yaml").read_text("utf-8"), "utf-8")
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def run(spec: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run codegen on `spec` into `out`."""

    def call(*options: str | Path) -> Ran:
        status = main(["--spec", str(spec), "--out", str(out), *map(str, options)])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err.splitlines())

    return call


@pytest.fixture
def change(spec: Path) -> Callable[[str, str], None]:
    """Change the one place in `spec` that reads `old`."""

    def call(old: str, new: str) -> None:
        text = spec.read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the specification"
        spec.write_text(text.replace(old, new), "utf-8")

    return call
