"""Properties and options are described completely, and a key means the same for every backend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from lance_namespace_impls.cli.app import app
from lance_namespace_impls.registry import _BUILT_IN, load

BACKENDS = sorted(_BUILT_IN)
TYPES = {"text", "list", "number", "whole number", "true or false"}
DIFFERENT = {
    "uri": "addresses of metastores, the address of a server, or a database URL",
    "connect_timeout": "the specification of Iceberg REST requires milliseconds",
    "read_timeout": "the specification of Iceberg REST requires milliseconds",
}
"""Keys with a different meaning for some backends, and the reason."""


def rows_of(impl: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load(impl).config_type.describe()
    return found


@pytest.mark.parametrize("impl", BACKENDS)
def test_a_property_has_key_type_unit_and_description(impl: str) -> None:
    rows = rows_of(impl)
    assert [row["key"] for row in rows if not row["key"] or row["type"] not in TYPES] == []
    assert [row["key"] for row in rows if "number" in row["type"] and not row["unit"]] == []
    assert [row["key"] for row in rows if not row["doc"].strip() or "\n" in row["doc"]] == []
    assert [row["key"] for row in rows if row["required"] and row["default"] is not None] == []


@pytest.mark.parametrize("impl", BACKENDS)
def test_a_key_belongs_to_one_property(impl: str) -> None:
    keys = [key for row in rows_of(impl) for key in (row["key"], *row["also"])]
    assert sorted(set(keys)) == sorted(keys)


def test_a_key_means_the_same_for_every_backend() -> None:
    meanings = defaultdict(set)
    for impl in BACKENDS:
        for row in rows_of(impl):
            meanings[row["key"]].add((row["type"], row["unit"], row["secret"]))
    assert {key for key, found in meanings.items() if len(found) > 1} == set(DIFFERENT)


def parameters(command: Any, name: str = "lance-ns") -> Iterator[tuple[str, Any]]:
    for each in command.params:
        yield f"{name} {each.opts[0]}", each
    for inner, found in getattr(command, "commands", {}).items():
        yield from parameters(found, f"{name} {inner}")


def test_every_argument_of_the_command_line_has_a_help_text() -> None:
    found = dict(parameters(typer.main.get_command(app)))
    assert found
    assert [name for name, each in found.items() if not (each.help or "").strip()] == []
