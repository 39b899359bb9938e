"""The models enforce the bounds of the specification: lengths, minimums, enumerations."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from lance_namespace_client import model, models
from lance_namespace_client.errors import InvalidInputError

SPEC = json.loads((files("lance_namespace_client") / "openapi.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("decode", "good", "bad"),
    [
        (model.array(model.string, 2), ["a", "b"], ["a"]),
        (model.array(model.string, 1), ["a"], []),
        (model.one_or_many(model.string), ["a"], []),
        (model.choice("query", "udtf"), "udtf", "UDTF"),
        (model.choice("query", "udtf"), "query", ["query"]),
        (model.integer(1), 1, 0),
        (model.integer(0), 0, -1),
        (model.integer(), 1.0, 1.5),
        (model.integer(), 1, True),
        (model.number, 1.5, True),
        (model.boolean, False, 0),
    ],
)
def test_a_decoder_enforces_its_bounds(decode: Any, good: Any, bad: Any) -> None:
    assert decode(good, "x") == good
    with pytest.raises(InvalidInputError, match="x must be"):
        decode(bad, "x")


@pytest.mark.parametrize("bound", ["minItems", "minimum", "enum"])
def test_every_bound_of_the_specification_is_in_its_model(bound: str) -> None:
    """Each model rejects a value beyond each bound of its fields."""
    refused = 0
    for name, schema in SPEC["components"]["schemas"].items():
        cls = getattr(models, name, None)
        for wire in getattr(cls, "_wire", ()):
            said = schema["properties"][wire.key]
            if bound not in said:
                continue
            past: Any = {"minItems": [], "minimum": said.get("minimum", 0) - 1, "enum": "other"}[
                bound
            ]
            if bound == "minItems" and said["minItems"] == 0:
                continue
            with pytest.raises(InvalidInputError):
                wire.decode(past, wire.key)
            refused += 1
    assert refused > 0
