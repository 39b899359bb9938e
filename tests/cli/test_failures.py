"""Failures of lance-ns: one line, an exit status, and no secrets."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from lance_namespace_client.errors import ErrorCode
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Report, Status, status_of

from .lakes import SECRET, FailingNamespace, Lake, impl_of, run


def test_every_code_has_a_status() -> None:
    internal = [code for code in ErrorCode if status_of(code) is Status.INTERNAL]
    assert internal == [ErrorCode.INTERNAL]


@pytest.mark.parametrize("code", list(ErrorCode), ids=lambda code: code.name.lower())
def test_every_code_is_one_line_without_secrets(code: ErrorCode) -> None:
    failing = Lake(impl_of(FailingNamespace), code=str(int(code)), api_key=SECRET)
    name = "".join(part.title() for part in code.name.split("_"))
    line = failing.error("ls", "-t", status=status_of(code))
    assert line == f"error {int(code)} {name}: refused: ***"
    document = json.loads(failing.error("ls", "-t", "--json", status=status_of(code)))
    assert document["code"] == int(code)
    assert document["name"] == name
    assert document["status"] == status_of(code)
    assert document["error"] == "refused: ***"


def test_an_unexpected_failure() -> None:
    failing = Lake(impl_of(FailingNamespace), api_key=SECRET)
    assert failing.error("ls", status=Status.INTERNAL) == (
        "error 18 Internal: RuntimeError: first line second \\x1b[31mline with *** "
        "(--debug shows the traceback)"
    )


def test_debug_shows_the_traceback_without_secrets() -> None:
    failing = Lake(impl_of(FailingNamespace), api_key=SECRET)
    result = CliRunner().invoke(app, ["ls", "--debug", *failing.options])
    assert result.exit_code == Status.INTERNAL
    assert "Traceback (most recent call last)" in result.stderr
    assert "RuntimeError: first line" in result.stderr
    assert SECRET not in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("ls", "--tabels"),
            "no such option: --tabels; did you mean --all or --tables? See lance-ns ls --help",
        ),
        (("lss",), "no such command 'lss'; did you mean 'ls'? See lance-ns --help"),
        (("drop",), "missing argument 'ID'"),
        (("describe", "x", "--version", "new"), "invalid value for '--version'"),
    ],
)
def test_usage_errors_are_one_line(args: tuple[str, ...], message: str) -> None:
    result = run(*args, status=Status.USAGE)
    assert result.stderr.lower().startswith(f"error: {message}".lower())
    assert "--help" in result.stderr


def test_usage_errors_as_json() -> None:
    found = json.loads(run("drop", "--json", status=Status.USAGE).stderr)
    assert found["code"] is None
    assert found["status"] == Status.USAGE


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (None, "error: Invalid value: It is no number\n"),
        ("lance-ns ls", "error: invalid value: It is no number; see lance-ns ls --help\n"),
    ],
)
def test_a_usage_error_names_the_help_of_its_command_if_it_has_one(
    command: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    context = command and typer.Context(typer.main.get_command(app), info_name=command)
    report = Report(as_json=False, debug=False)
    with pytest.raises(typer.Exit) as ended, report.failures():
        raise typer.BadParameter("It is no number.", ctx=context or None)
    assert ended.value.exit_code == Status.USAGE
    assert capsys.readouterr().err == said
