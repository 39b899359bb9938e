"""lance-ns declare and drop."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.commands import create
from lance_namespace_impls.cli.failures import Status

from .lakes import Lake


def test_declare(nested: Lake, tmp_path: Path) -> None:
    place = str(tmp_path / "elsewhere")
    made = nested.json("declare", "t", "--location", place, "--set", "owner=ana")
    assert made == {"kind": "table", "id": ["t"], "location": place, "properties": {"owner": "ana"}}
    said = nested.run("declare", "u").stdout
    assert said == f"table u declared\n  location  {nested.json('describe', 'u')['location']}\n"


def test_drop_deletes_the_data(lake: Lake, rows: Path, tmp_path: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    assert (tmp_path / "lake" / "t.lance").exists()
    assert lake.run("drop", "t", "--yes").stdout == "table t dropped\n"
    assert not (tmp_path / "lake" / "t.lance").exists()
    lake.error("drop", "t", "--yes", status=Status.NOT_FOUND)


class Terminal(io.StringIO):
    """A stream that reports that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Terminal]:
    def given(text: str) -> Terminal:
        asked = Terminal()
        streams = SimpleNamespace(stdin=Terminal(text + "\n"), stderr=asked)
        monkeypatch.setattr(create, "sys", streams)
        return asked

    return given


@pytest.mark.parametrize("text", ["y", "Y", "yes", " YES "])
def test_drop_after_a_yes(nested: Lake, answer: Callable[[str], Terminal], text: str) -> None:
    nested.run("declare", "t")
    place = nested.json("describe", "t")["location"]
    asked = answer(text)
    assert nested.json("drop", "t") == {
        "kind": "table", "id": ["t"], "location": place, "properties": {},
    }  # fmt: skip
    assert asked.getvalue() == f"Drop table t and delete its data at {place}? [y/N] "


@pytest.mark.parametrize("text", ["", "n", "no", "yy", "drop"])
def test_drop_after_anything_else_changes_nothing(
    nested: Lake, answer: Callable[[str], Terminal], text: str
) -> None:
    nested.run("create", "a")
    nested.run("declare", "a$t")
    for command, question in (
        (("drop", "a$t"), "Drop table a$t and delete its data"),
        (
            ("drop", "a", "--namespace", "--behavior", "cascade"),
            "Remove namespace a and all its contents from the catalog? [y/N] ",
        ),
    ):
        asked = answer(text)
        result = CliRunner().invoke(app, [*command, *nested.options])
        assert (result.exit_code, result.stdout) == (Status.NOT_DONE, "")
        assert asked.getvalue().startswith(question)
        assert asked.getvalue().endswith("[y/N] Nothing was changed.\n")
    assert nested.run("ls", "--all").stdout == "a$t\n"


def test_drop_requires_yes_without_a_terminal(lake: Lake, rows: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    assert "pass --yes" in lake.error("drop", "t", status=Status.USAGE)
    assert lake.run("ls", "-t").stdout == "t\n"


def test_drop_of_a_missing_table_fails_before_it_prompts(lake: Lake) -> None:
    lake.error("drop", "t", status=Status.NOT_FOUND)


def test_drop_a_namespace(nested: Lake) -> None:
    nested.run("create", "sales", "--set", "owner=ana")
    nested.run("declare", "sales$orders")
    refused = nested.error("drop", "sales", "--namespace", status=Status.CONFLICT)
    assert refused.startswith("error 3 NamespaceNotEmpty: ")
    cascade = ("drop", "sales", "--namespace", "--behavior", "CASCADE")
    assert "pass --yes" in nested.error(*cascade, status=Status.USAGE)
    assert nested.json(*cascade, "--yes") == {
        "kind": "namespace",
        "id": ["sales"],
        "properties": {"owner": "ana"},
    }
    assert nested.run("ls").stdout == ""


def test_drop_a_missing_namespace(nested: Lake) -> None:
    nested.error("drop", "sales", "--namespace", status=Status.NOT_FOUND)
    nested.run("drop", "sales", "--namespace", "--mode", "skip")
    nested.error("drop", "sales", "--namespace", "--mode", "maybe", status=Status.INVALID)
    nested.error("drop", "sales", "--mode", "skip", status=Status.USAGE)
