"""Identifiers on a route, page tokens, modes."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lance_namespace_client._transport import escape, join_identifier
from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.core.identifiers import parse_identifier, split_identifier
from lance_namespace_impls.core.modes import CreateMode, DropBehavior, DropMode, parse_mode
from lance_namespace_impls.core.paging import page_of, sorted_after

awkward = st.sampled_from(
    [".", "..", "/", "%", "%2F", "+", " ", "a.b", "a/b", "ü", "日本", "?", "#"]
)
names = st.one_of(awkward, st.text(st.characters(codec="utf-8"), min_size=1, max_size=6))
delimiters = st.sampled_from(["$", ".", "::", "/", "ü", "%"])
identifiers = st.lists(names, max_size=4)


@given(identifier=identifiers, delimiter=delimiters)
def test_an_identifier_survives_the_route(identifier: list[str], delimiter: str) -> None:
    assume(not any(delimiter in name for name in identifier))
    # Two names that make the delimiter together, at the seam, cannot be told apart either way.
    assume(delimiter.join(identifier).split(delimiter) == (identifier or [""]))
    segment = escape(join_identifier(identifier, delimiter))
    assert "/" not in segment
    assert segment not in (".", "..")
    assert split_identifier(unquote(segment), delimiter) == tuple(identifier)


@given(identifier=identifiers, delimiter=delimiters, at=st.integers(0, 3))
def test_a_name_with_the_delimiter_is_refused(
    identifier: list[str], delimiter: str, at: int
) -> None:
    identifier.insert(at, f"a{delimiter}b")
    with pytest.raises(InvalidInputError, match="delimiter") as refused:
        join_identifier(identifier, delimiter)
    assert refused.value.code == 13


@pytest.mark.parametrize("root", [None, "", [], ()])
def test_the_root_has_several_forms(root: list[str] | None) -> None:
    assert parse_identifier(root) == ()


@pytest.mark.parametrize("bad", ["ns", ["a", ""], ["a", 5], [None]])
def test_what_is_no_identifier_is_refused(bad: list[str]) -> None:
    with pytest.raises(InvalidInputError):
        parse_identifier(bad)


@given(names=st.sets(names, max_size=12), limit=st.integers(1, 5), changes=st.data())
def test_a_walk_gives_each_name_once_and_in_order(
    names: set[str], limit: int, changes: st.DataObject
) -> None:
    always = set(names)
    ever = set(names)
    held = set(names)
    token: str | None = None
    seen: list[str] = []
    while True:
        now = frozenset(held)
        page, token = page_of(
            lambda after, now=now: sorted_after(set(now), after),
            of=["names"],
            key=str,
            page_token=token,
            limit=limit,
        )
        seen += page
        if token is None:
            break
        assert len(page) == limit
        gone = changes.draw(st.sets(st.sampled_from(sorted(held)), max_size=2)) if held else set()
        come = changes.draw(st.sets(st.text(min_size=1, max_size=2), max_size=2))
        held = (held - gone) | come
        always -= gone
        ever |= come
    assert seen == sorted(set(seen))
    assert always <= set(seen) <= ever


@given(token=st.text(max_size=20))
def test_a_token_that_is_not_ours_is_refused(token: str) -> None:
    assume(token)
    with pytest.raises(InvalidInputError):
        page_of(lambda after: iter(()), of=["a"], key=str, page_token=token, limit=None)


def test_a_token_of_another_listing_is_refused() -> None:
    def listing(after: str | None) -> object:
        return sorted_after({"a", "b"}, after)

    _, token = page_of(listing, of=["one"], key=str, page_token=None, limit=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="another listing"):
        page_of(listing, of=["two"], key=str, page_token=token, limit=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["ExistOk", "exist_ok", "EXIST_OK", "existok", "EXISTOK"])
def test_modes_are_known_in_any_case(text: str) -> None:
    assert parse_mode(text, CreateMode.CREATE) is CreateMode.EXIST_OK


@pytest.mark.parametrize("default", [CreateMode.CREATE, DropMode.FAIL, DropBehavior.RESTRICT])
def test_an_unknown_mode_is_refused(default: CreateMode | DropMode | DropBehavior) -> None:
    assert parse_mode(None, default) is default
    with pytest.raises(InvalidInputError, match="sideways"):
        parse_mode("sideways", default)
