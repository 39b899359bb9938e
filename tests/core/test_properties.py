"""Properties, options and their defaults are public: none changes without a word.

`properties.txt` has a line for each: what takes it, key, other keys, type, unit, default, and whether
it is required or secret. New ones may come; a line that changes has to stand in the changelog.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import typer

from lance_namespace_impls import server
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.registry import _BUILT_IN, load

KNOWN = Path(__file__).with_name("properties.txt")
OF_SERVER = sorted(name for name in server.__all__ if attrs.has(getattr(server, name)))


def lines_of_backend(impl: str) -> Iterator[str]:
    for row in load(impl).config_type.describe():
        marks = [mark for mark in ("required", "secret") if row[mark]]
        also = " ".join(row["also"])
        yield _line(impl, row["key"], also, row["type"], row["unit"], row["default"], *marks)


def lines_of_server(name: str) -> Iterator[str]:
    for each in attrs.fields(getattr(server, name)):
        default = each.default
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
            default = f"a new {default.factory.__name__}"
        yield _line(
            f"server.{name}", each.name, "required" if default is attrs.NOTHING else default
        )


def lines_of_command_line(command: Any = None, name: str = "lance-ns") -> Iterator[str]:
    command = command or typer.main.get_command(app)
    for each in command.params:
        if each.name != "help":
            kind = " ".join((*each.opts, *each.secondary_opts))
            yield _line(name, kind, each.type.name, each.default, *["required"] * each.required)
    for inner, found in getattr(command, "commands", {}).items():
        yield from lines_of_command_line(found, f"{name} {inner}")


def _line(*parts: object) -> str:
    return " | ".join(map(str, parts))


def known(*beginnings: str) -> set[str]:
    found = {row for row in KNOWN.read_text("utf-8").splitlines() if row.startswith(beginnings)}
    assert found
    return found


@pytest.mark.requirement(
    "iceberg-config-connect-timeout", "iceberg-config-read-timeout", "iceberg-config-max-retries"
)
@pytest.mark.parametrize("impl", sorted(_BUILT_IN))
def test_the_properties_of_a_backend(impl: str) -> None:
    assert known(f"{impl} |") - set(lines_of_backend(impl)) == set()


@pytest.mark.parametrize("name", OF_SERVER)
def test_the_options_of_the_server(name: str) -> None:
    assert known(f"server.{name} |") - set(lines_of_server(name)) == set()


def test_the_options_of_the_command_line() -> None:
    assert known("lance-ns |", "lance-ns ") - set(lines_of_command_line()) == set()
