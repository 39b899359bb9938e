"""Pages contain each name once and in order, even if names are added and removed concurrently."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.core.paging import page_of, sorted_after

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
sets = st.sets(names, max_size=12)


def _page(
    held: set[str], token: str | None, limit: int | None, of: str = "t"
) -> tuple[list[str], str | None]:
    return page_of(
        lambda after: sorted_after(held, after),
        of=["ListTables", of],
        key=str,
        page_token=token,
        limit=limit,
    )


def _walk(held: set[str], limit: int) -> list[list[str]]:
    pages, token = [], None
    while True:
        page, token = _page(held, token, limit)
        pages.append(page)
        if token is None:
            return pages


@given(held=sets, limit=st.integers(1, 5))
def test_a_walk_returns_all_names_in_order(held: set[str], limit: int) -> None:
    pages = _walk(held, limit)
    assert [name for page in pages for name in page] == sorted(held)
    assert all(len(page) == limit for page in pages[:-1])
    assert len(pages[-1]) <= limit


@given(held=sets)
def test_without_a_limit_there_is_one_page(held: set[str]) -> None:
    assert _page(held, None, None) == (sorted(held), None)


@given(data=st.data(), held=sets, limit=st.integers(1, 4))
def test_a_walk_continues_while_names_are_added_and_removed(
    data: DataObject, held: set[str], limit: int
) -> None:
    stayed, ever = set(held), set(held)
    walked: list[str] = []
    token = None
    for _ in range(20):
        page, token = _page(held, token, limit)
        assert len(page) <= limit
        walked += page
        if token is None:
            break
        coming, going = data.draw(sets), data.draw(st.sets(st.sampled_from(sorted(held or {"-"}))))
        held = (held | coming) - going
        stayed -= going
        ever |= coming
    assert walked == sorted(set(walked)), "a name came twice, or out of order"
    assert set(walked) <= ever
    if token is None:
        assert stayed <= set(walked), "a name that was there all the time is missing"


@given(held=st.sets(names, min_size=2, max_size=5))
def test_a_token_of_another_listing_is_rejected(held: set[str]) -> None:
    _, token = _page(held, None, 1, of="one")
    with pytest.raises(InvalidInputError, match="another listing") as caught:
        _page(held, token, 1, of="other")
    assert caught.value.code == 13


@given(name=st.text(min_size=1, max_size=20), held=sets)
def test_a_name_as_token_starts_after_it(name: str, held: set[str]) -> None:
    assert _page(held, name, None)[0] == sorted(each for each in held if each > name)


@pytest.mark.parametrize("name", ["W10", "e30", "bnVsbA", "WzEsMl0", "WyJhYiIsImMiXQ"])
def test_a_name_that_is_base64_of_json_remains_a_name(name: str) -> None:
    held = {"A", name, f"{name}x", "zzz"}
    assert _page(held, name, None)[0] == [f"{name}x", "zzz"]


@given(data=st.data(), held=st.sets(names, min_size=2, max_size=5))
def test_a_damaged_token_is_rejected_or_keeps_the_order(data: DataObject, held: set[str]) -> None:
    _, token = _page(held, None, 1)
    assert token is not None
    at = data.draw(st.integers(0, len(token) - 1))
    damaged = token[:at] + data.draw(st.sampled_from("Aa0-_=.")) + token[at + 1 :]
    try:
        page, _ = _page(held, damaged, None)
    except InvalidInputError:
        return
    assert page == sorted(page)
    assert set(page) <= held


def test_a_deeply_nested_token_is_a_name() -> None:
    text = base64.urlsafe_b64encode(b"[" * 100_000).decode()
    assert _page({"a"}, text, 1) == (["a"], None)


def test_a_token_contains_only_a_fingerprint_and_the_last_name() -> None:
    _, token = _page({"ä", "b"}, None, 1)
    assert token is not None
    fingerprint, last = json.loads(base64.urlsafe_b64decode(token + "=="))
    assert last == "b"
    assert len(fingerprint) == 16


@pytest.mark.parametrize("limit", [0, -1, -(2**40)])
def test_a_limit_below_one_is_rejected(limit: int) -> None:
    with pytest.raises(InvalidInputError, match="limit") as caught:
        _page({"a"}, None, limit)
    assert caught.value.code == 13


@given(token=st.just(""))
def test_an_empty_token_starts_at_the_beginning(token: str) -> None:
    assert _page({"a", "b"}, token, 1)[0] == ["a"]
