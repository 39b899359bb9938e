"""Deprecated names work as before, and warn at the caller's line which name replaces them."""

from __future__ import annotations

import warnings

import pytest

from lance_namespace_impls.core.deprecated import deprecated

TEXT = "deprecated since 1.4, will be removed in 2.0: use new_name"


@deprecated(since="1.4", removed_in="2.0", use="new_name")
def old_name(number: int) -> int:
    """Return twice the number."""
    return 2 * number


@deprecated(since="1.4", removed_in="2.0", use="new_name")
class OldName:
    def __init__(self, number: int) -> None:
        self.number = number


def test_a_function_warns_its_caller() -> None:
    with pytest.warns(DeprecationWarning, match="use new_name") as caught:
        assert old_name(4) == 8
    assert [str(each.message) for each in caught] == [TEXT]
    assert caught[0].filename == __file__
    assert (old_name.__name__, old_name.__doc__) == ("old_name", "Return twice the number.")
    assert old_name.__deprecated__ == TEXT  # type: ignore[attr-defined]


def test_a_class_warns_when_it_is_instantiated_or_subclassed() -> None:
    with pytest.warns(DeprecationWarning, match="use new_name") as caught:
        assert OldName(4).number == 4
    assert [(str(each.message), each.filename) for each in caught] == [(TEXT, __file__)]
    with pytest.warns(DeprecationWarning, match="use new_name"):
        type("Newer", (OldName,), {})


def test_an_unused_deprecation_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @deprecated(since="1.4", removed_in="2.0", use="new_name")
        def unused() -> None: ...
