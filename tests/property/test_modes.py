"""Modes are accepted in any case, with or without underscores; other texts are rejected."""

from __future__ import annotations

from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.core.modes import (
    CreateMode,
    DropBehavior,
    DropMode,
    InsertMode,
    RegisterMode,
    parse_mode,
)

MODES = (CreateMode, RegisterMode, DropMode, DropBehavior, InsertMode)


@pytest.mark.parametrize("modes", MODES)
@given(data=st.data())
def test_any_case_and_underscores_are_accepted(modes: type[Enum], data: DataObject) -> None:
    mode = data.draw(st.sampled_from(list(modes)))
    spelled = "".join(
        letter.upper() if data.draw(st.booleans()) else letter.lower() for letter in mode.value
    )
    at = data.draw(st.integers(1, len(spelled)))
    default = next(iter(modes))
    assert parse_mode(spelled, default) is mode
    assert parse_mode(f"{spelled[:at]}_{spelled[at:]}", default) is mode


@pytest.mark.parametrize("modes", MODES)
def test_none_is_the_default_mode(modes: type[Enum]) -> None:
    for default in modes:
        assert parse_mode(None, default) is default


@pytest.mark.parametrize("modes", MODES)
@given(text=st.text())
def test_other_texts_are_rejected(modes: type[Enum], text: str) -> None:
    known = {str(mode.value).lower() for mode in modes}
    default = next(iter(modes))
    if text.replace("_", "").lower() in known:
        assert parse_mode(text, default) in modes
        return
    with pytest.raises(InvalidInputError) as caught:
        parse_mode(text, default, "behavior")
    assert caught.value.code == 13
    assert str(default.value) in str(caught.value), "the message lists the modes"
    assert "behavior" in str(caught.value)
    assert "\n" not in str(caught.value)
