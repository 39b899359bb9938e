"""The decoders enforce the bounds of the specification: lengths, minimums, enumerations."""

from __future__ import annotations

from typing import Any

import pytest

from lance_namespace_client import model
from lance_namespace_client.errors import InvalidInputError


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
