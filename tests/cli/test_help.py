"""lance-ns --help, and the guide for the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from lance_namespace_client.errors import ErrorCode
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status, status_of

from .lakes import run

GUIDE = Path(__file__).parents[2] / "docs" / "cli.md"


COMMANDS = [*typer.main.get_command(app).commands]  # type: ignore[attr-defined]


def test_help_names_every_command_and_status() -> None:
    text = run("--help").stdout
    for name in COMMANDS:
        assert f"  {name} " in text
    for status in Status:
        assert f"{status.value:>5}  {status.meaning}\n" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    narrow = run(name, "--help").stdout
    monkeypatch.setenv("COLUMNS", "200")
    wide = run(name, "--help").stdout
    assert narrow.split() == wide.split(), "no word is broken"
    titles = re.findall(r"^(\w[\w ]*):$", narrow, re.MULTILINE)
    first = [title for title in ("Arguments", "Options") if title in titles]
    assert titles[: len(first)] == first and titles[-1] == "Examples"
    assert f"  lance-ns {name} " in wide.partition("Examples:\n")[2] + " "
    assert "--json" in wide and "<int" not in wide and "<str" not in wide


def test_every_command_is_described_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in run("--help").stdout.partition("Commands:")[2]


def test_without_a_command_the_help_is_shown() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == Status.USAGE
    assert "Commands:" in result.stderr


def test_the_guide_has_every_status_with_its_codes() -> None:
    rows = GUIDE.read_text(encoding="utf-8").splitlines()
    for status in Status:
        codes = ", ".join(str(int(code)) for code in ErrorCode if status_of(code) is status)
        cells = [str(status.value), status.meaning, codes]
        assert f"| {' | '.join(cells)} |".replace("|  |", "| |") in rows


def test_the_options_of_every_command_are_grouped() -> None:
    text = run("ls", "--help").stdout
    sections = re.split(r"^(\w[\w ]*):$", text, flags=re.MULTILINE)
    options = {
        title: re.findall(r"^  ((?:--?[\w-]+(?:, )?)+)", body, re.MULTILINE)
        for title, body in zip(sections[1::2], sections[2::2], strict=True)
    }
    assert options["Connection"] == [
        "--impl",
        "-p, --property",
        "--profile",
        "--config",
        "--delimiter",
    ]
    assert options["General"] == ["--json", "--debug", "-v, --verbose", "--log-level", "--log-json"]


def test_options_of_every_command_can_precede_it() -> None:
    flags = ("--json", "--debug", "--verbose", "-v", "--log-json")
    valued = ("--impl", "--property", "-p", "--profile", "--config", "--delimiter", "--log-level")
    group = typer.main.get_command(app)
    assert group.shared_options() == {  # type: ignore[attr-defined]
        **dict.fromkeys(flags, True),
        **dict.fromkeys(valued, False),
    }
