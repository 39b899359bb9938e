"""Identifiers survive conversion to strings; those that cannot be converted are rejected."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.wire import path_segment
from lance_namespace_impls.core.identifiers import (
    ROOT,
    SHOWN_DELIMITER,
    format_identifier,
    join_identifier,
    parse_identifier,
    split_identifier,
    subject_of,
)
from lance_namespace_impls.core.location import default_location

AWKWARD = st.sampled_from(
    (".", "..", "/", "%", "%2F", "+", " ", "a b", "ü", "日本", "\x1f", "\0", "$")
)
names = st.one_of(
    AWKWARD,
    st.text(":.$a", min_size=1, max_size=2),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=5),
)
identifiers = st.lists(names, max_size=4)
delimiters = st.sampled_from(("$", "::", ".", "$$a", "/", "%", "\x1f", "ü"))


def _fits(identifier: list[str], delimiter: str) -> bool:
    """Return whether joining and splitting the identifier returns the same names."""
    joined = delimiter.join(identifier)
    return not identifier or (joined != delimiter and joined.split(delimiter) == identifier)


@pytest.mark.requirement("general-025", "general-026")
@given(identifier=identifiers, delimiter=delimiters)
def test_an_identifier_survives_the_route(identifier: list[str], delimiter: str) -> None:
    assume(_fits(identifier, delimiter))
    segment = path_segment(join_identifier(identifier, delimiter))
    assert not set(segment) & set("/?#. ")
    assert split_identifier(unquote(segment), delimiter) == tuple(identifier)


@pytest.mark.requirement("general-027")
@given(identifier=identifiers, delimiter=delimiters, at=st.integers(0, 3))
def test_a_name_with_the_delimiter_is_rejected(
    identifier: list[str], delimiter: str, at: int
) -> None:
    identifier.insert(at, f"a{delimiter}b")
    with pytest.raises(InvalidInputError, match="delimiter") as caught:
        join_identifier(identifier, delimiter)
    assert caught.value.code == 13


@given(identifier=identifiers, delimiter=delimiters)
def test_an_ambiguous_identifier_is_rejected(identifier: list[str], delimiter: str) -> None:
    if _fits(identifier, delimiter):
        assert join_identifier(identifier, delimiter)
        return
    with pytest.raises(InvalidInputError, match="delimiter") as caught:
        join_identifier(identifier, delimiter)
    assert caught.value.code == 13


def test_adjacent_names_that_form_the_delimiter_are_rejected() -> None:
    with pytest.raises(InvalidInputError, match="delimiter"):
        join_identifier(["a:", "b"], "::")


@given(text=st.text(max_size=8), delimiter=delimiters)
def test_join_reverses_split(text: str, delimiter: str) -> None:
    try:
        identifier = split_identifier(text, delimiter)
    except InvalidInputError as error:
        assert error.code == 13
        assert "" in text.split(delimiter)
        return
    assert join_identifier(identifier, delimiter) == (text or delimiter)


@given(text=st.text(st.characters(codec="utf-8")))
def test_a_path_segment_is_escaped_completely(text: str) -> None:
    segment = path_segment(text)
    assert unquote(segment) == text
    assert not set(segment) & set("/?#. ")


@pytest.mark.requirement("general-032", "general-033")
@pytest.mark.parametrize("root", [None, "", [], ()])
def test_the_root_has_several_forms(root: object) -> None:
    assert parse_identifier(root) == ROOT  # type: ignore[arg-type]


def test_the_root_is_the_delimiter_alone() -> None:
    assert join_identifier(ROOT) == join_identifier(None) == "$"
    assert join_identifier(ROOT, ".") == "."
    assert split_identifier("$") == split_identifier("") == ROOT


@pytest.mark.requirement("general-014", "general-022")
@pytest.mark.parametrize("bad", [[""], ["a", ""], [1], [None], [["a"]], "a", "a$b"])
def test_an_invalid_identifier_is_rejected(bad: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_identifier(bad)  # type: ignore[arg-type]
    assert caught.value.code == 13


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("abc", "must be a list of levels, not the string 'abc'"),
        ("", "must be a list of levels, not the string ''"),
        ([""], "has a level that is empty or not a string"),
        (["a", 1], "has a level that is empty or not a string"),
        ([None], "has a level that is empty or not a string"),
        (["a$b"], "contains the delimiter '[$]'; choose another"),
    ],
)
def test_an_invalid_identifier_is_not_joined(bad: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as caught:
        join_identifier(bad)
    assert caught.value.code == 13


@pytest.mark.parametrize("text", ["$a", "a$", "a$$b", "$$"])
def test_a_string_with_an_empty_name_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError, match="empty level"):
        split_identifier(text)


def test_an_empty_delimiter_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="delimiter"):
        split_identifier("a", "")


@given(identifier=identifiers)
def test_a_message_shows_an_identifier_on_one_line(identifier: list[str]) -> None:
    shown = format_identifier(identifier)
    assert shown.isprintable()
    assert shown


@given(one=identifiers, other=identifiers)
def test_default_locations_differ(one: list[str], other: list[str]) -> None:
    if {".", ".."} & {*one, *other}:
        with pytest.raises(InvalidInputError):
            default_location("/root", one if {".", ".."} & set(one) else other)
        return
    assert (default_location("/r", one) == default_location("/r", other)) == (one == other)
    assert default_location("/r/", one).count("/") == len(one) + 1


@pytest.mark.parametrize(
    ("identifier", "delimiter", "text"),
    [
        ((), None, "the root namespace"),
        ((), ".", "the root namespace"),
        (("a", "b"), None, "a$b"),
        (("a", "b"), ".", "a.b"),
        (("a$b", "c\n"), None, "a$b$c\\n"),
        (("größe", "\u202e"), None, "größe$\\u202e"),
    ],
)
def test_a_message_shows_an_identifier_with_its_delimiter(
    identifier: tuple[str, ...], delimiter: str | None, text: str
) -> None:
    assert format_identifier(identifier, delimiter) == text
    assert subject_of("DropTable", identifier) == (
        f"DropTable {format_identifier(identifier)}" if identifier else "DropTable"
    )


def test_a_message_uses_the_delimiter_of_the_current_operation() -> None:
    before = SHOWN_DELIMITER.set("/")
    try:
        assert format_identifier(("a", "b")) == "a/b"
        assert format_identifier(("a", "b"), ".") == "a.b"
    finally:
        SHOWN_DELIMITER.reset(before)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ("a", "not the string 'a'; write ['a']"),
        (["a", 1], "['a', 1]: 1 is not a string"),
        (["a", ""], "['a', ''] has an empty level"),
    ],
)
def test_an_error_explains_an_invalid_identifier(levels: object, said: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse_identifier(levels)  # type: ignore[arg-type]
    assert said in refused.value.message
