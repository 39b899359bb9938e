"""Commands that load a class from the current folder without connecting to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lance_namespace_impls.server
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status

OWN = """
from lance_namespace_impls.directory import DirectoryNamespace

class Own(DirectoryNamespace):
    pass

class Everything:
    def allows(self, *_): return True
    allows_some = allows_all = allows
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"own_classes_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    return name


def test_backends_finds_a_class_in_the_current_folder(module: str) -> None:
    result = CliRunner().invoke(app, ["backends", f"{module}:Own"])
    assert result.exit_code == Status.OK, result.output
    assert result.stdout.startswith(f"{module}:Own  {module}:Own\n")


def test_serve_finds_a_policy_in_the_current_folder(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[Any] = []
    monkeypatch.setattr(
        lance_namespace_impls.server, "serve", lambda *_, options, **__: served.append(options)
    )
    (tmp_path / "tokens.toml").touch()
    arguments = ["serve", "--tokens", "tokens.toml", "--policy", f"{module}:Everything"]
    result = CliRunner().invoke(app, [*arguments, "--impl", "dir", "-p", "path=lake"])
    assert result.exit_code == Status.OK, result.output
    assert type(served[0].policy).__name__ == "Everything"
