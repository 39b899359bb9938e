"""The descriptions in rest.yaml: they exist for everything, and match the error codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from .test_protocol import ROUTES, SPEC

NAMES = {row["name"]: row["code"] for row in SPEC["x-error-codes"] if "extends" not in row}
OPERATIONS = {row["x-operation"]: row for row in ROUTES.values() if "x-request" in row}
# For operations on a table, a missing parent namespace is a missing table.
IMPLIED = {1}


def described(node: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield every description with its location."""
    if isinstance(node, dict):
        if isinstance(node.get("description"), str):
            yield place, node["description"]
        for key, value in node.items():
            yield from described(value, f"{place}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from described(value, f"{place}/{index}")


DESCRIPTIONS = dict(described(SPEC, ""))


def named(text: str) -> set[str]:
    return {word for word in re.findall(r"\b[A-Z]\w+\b", text) if word in NAMES}


def test_everything_is_described() -> None:
    components = SPEC["components"]
    assert not [
        place
        for kind in ("parameters", "responses", "schemas", "securitySchemes")
        for name, part in components[kind].items()
        for place in (
            [f"/components/{kind}/{name}"]
            + [f"/components/{kind}/{name}/properties/{key}" for key in part.get("properties", ())]
        )
        if place not in DESCRIPTIONS
    ]


def test_descriptions_are_sentences() -> None:
    for place, text in DESCRIPTIONS.items():
        assert text == " ".join(text.split()), place
        assert text[0].isupper() or text[0] == "`", place
        assert text.endswith("."), place
        assert len(text.split()) > 2, place
        assert text.count("`") % 2 == 0, place
        assert not re.search(r"\b(\w+) \1\b", text), place


def test_errors_are_named_with_their_code() -> None:
    for place, text in DESCRIPTIONS.items():
        if place.startswith(("/components/parameters/", "/components/schemas/")):
            for name in named(text):
                assert f"{name} ({NAMES[name]})" in text, place
            for name, code in re.findall(r"(\w+) \((\d+)\)", text):
                assert NAMES[name] == int(code), place


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_describes_each_of_its_error_codes(name: str) -> None:
    operation = OPERATIONS[name]
    codes = {NAMES[error] for error in named(operation["description"])}
    assert codes <= {*operation["x-codes"], *SPEC["x-common-codes"]}
    assert set(operation["x-codes"]) - IMPLIED <= codes
