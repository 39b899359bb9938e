"""The pages of one walk share a cached listing; another walk or an expired listing lists again."""

from __future__ import annotations

import base64
import gc
import json
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from lance_namespace_impls.core import paging
from lance_namespace_impls.core.paging import (
    ListingCache,
    Listings,
    cached_page_of,
    page_of,
    sorted_after,
)

NAMES = [f"n{number:03}" for number in range(40)]


class Walk:
    """A paged walk that counts how often it lists the names."""

    def __init__(self, kept: ListingCache) -> None:
        self.kept = kept
        self.made = 0

    def page(self, token: str | None, limit: int | None = 10) -> tuple[list[str], str | None]:
        def listing(after: Any, listings: Any) -> Iterator[str]:
            def ask() -> Iterator[str]:
                self.made += 1
                return sorted_after(NAMES, after)

            names: Iterator[str] = listings.names("names", ask, after, limit)
            return names

        return cached_page_of(
            listing, kept=self.kept, of=["names"], key=str, page_token=token, limit=limit
        )

    def all(self) -> list[str]:
        found, token = self.page(None)
        while token:
            more, token = self.page(token)
            found += more
        return found


@pytest.mark.parametrize(("seconds", "made"), [(1e9, 1), (0, 4)])
def test_a_walk_lists_once_while_its_listing_is_cached(seconds: float, made: int) -> None:
    walk = Walk(ListingCache(seconds))
    assert walk.all() == NAMES
    assert walk.made == made


def test_another_walk_and_a_dropped_listing_list_again() -> None:
    walk = Walk(ListingCache(1e9))
    _, first = walk.page(None)
    _, second = walk.page(None)
    assert walk.made == 2
    for token in (first, second, first):
        assert walk.page(token)[0] == NAMES[10:20]
    assert walk.made == 2
    walk.kept.clear()
    assert walk.page(first)[0] == NAMES[10:20]
    assert walk.made == 3


def test_an_unlimited_page_is_not_cached() -> None:
    walk = Walk(ListingCache(1e9))
    assert [walk.page(None, None), walk.page(None, None)] == [(NAMES, None)] * 2
    assert walk.made == 2


class Clock:
    """A clock that the tests set."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(paging, "time", found)
    return found


def test_a_listing_is_used_until_it_expires(clock: Clock) -> None:
    walk = Walk(ListingCache(10))
    token: str | None = None
    for passed, made in ((0, 1), (9, 1), (0.5, 1), (0.5, 2)):
        clock.now += passed
        page, token = walk.page(token)
        assert len(page) == 10
        assert walk.made == made
    assert token is None


def test_an_abandoned_listing_is_dropped_after_it_expires(clock: Clock) -> None:
    walk = Walk(ListingCache(10))
    names = weakref.WeakSet[Listings]()
    find = walk.kept.find

    def noted(id: str | None) -> Listings:
        names.add(found := find(id))
        return found

    walk.kept.find = noted  # type: ignore[method-assign]
    walk.page(None)
    clock.now += 10
    walk.page(None)
    assert len(names) == 2
    clock.now += 0.5
    walk.page(None)
    gc.collect()
    assert len(names) == 2


def test_the_names_of_a_walk_count_once_toward_the_limit(clock: Clock) -> None:
    walk = Walk(ListingCache(10, most=2 * len(NAMES)))
    _, first = walk.page(None)
    token: str | None = first
    for _ in range(2):
        _, token = walk.page(token)
    _, second = walk.page(None)
    assert walk.made == 2
    assert walk.page(first)[0] == walk.page(second)[0] == NAMES[10:20]
    assert walk.made == 2
    walk.kept.clear()
    for token in (walk.page(None)[1], walk.page(None)[1]):
        assert walk.page(token)[0] == NAMES[10:20]
    assert walk.made == 4, "what was dropped counts no more"


@pytest.mark.parametrize(("most", "made"), [(3 * len(NAMES), 3), (3 * len(NAMES) - 1, 4)])
def test_listings_are_cached_up_to_the_limit_of_names(most: int, made: int) -> None:
    walk = Walk(ListingCache(1e9, most=most))
    first, *_ = [walk.page(None)[1] for _ in range(3)]
    assert walk.page(first)[0] == NAMES[10:20]
    assert walk.made == made


def test_a_single_walk_above_the_limit_is_cached() -> None:
    walk = Walk(ListingCache(1e9, most=len(NAMES) - 1))
    assert walk.all() == NAMES
    assert walk.made == 1


def test_a_forgotten_listing_is_listed_again() -> None:
    listings = Listings(1e9)
    made: list[str] = []

    def of(what: str) -> list[str]:
        def ask() -> Iterator[str]:
            made.append(what)
            return sorted_after({"b", "a", "c"}, "a")

        return list(listings.names(what, ask, "a"))

    assert of("tables") == of("tables") == of("namespaces") == ["b", "c"]
    assert (made, len(listings)) == (["tables", "namespaces"], 6)
    listings.forget("tables")
    listings.forget("never listed")
    assert (of("namespaces"), of("tables")) == (["b", "c"], ["b", "c"])
    assert made == ["tables", "namespaces", "tables"]


def test_a_listing_that_can_resume_is_not_cached() -> None:
    listings = Listings(1e9)
    found = [list(listings.names("tables", lambda: iter(["b"]), "a")) for _ in range(2)]
    assert (found, len(listings)) == ([["b"], ["b"]], 0)


@pytest.mark.parametrize("third", [7, None, ["a"], "no such walk"])
def test_a_token_of_an_unknown_walk_resumes_after_its_name(third: Any) -> None:
    walk = Walk(ListingCache(1e9))
    _, token = walk.page(None)
    assert token is not None
    fingerprint, last, _ = json.loads(base64.urlsafe_b64decode(token + "=="))
    fields = json.dumps([fingerprint, last, third]).encode()
    forged = base64.urlsafe_b64encode(fields).decode().rstrip("=")
    assert walk.page(forged)[0] == NAMES[10:20]
    assert walk.made == 2


def test_a_composite_key_survives_the_page_token() -> None:
    rows = [("a", 1), ("a", 2), ("b", 1)]
    asked: list[Any] = []

    def listing(after: Any) -> Iterator[tuple[str, int]]:
        asked.append(after)
        return (row for row in rows if after is None or row > after)

    def page(token: str | None) -> tuple[list[tuple[str, int]], str | None]:
        return page_of(listing, of=["x"], key=lambda row: row, page_token=token, limit=1,
                       from_name=lambda name: (name, 1))  # fmt: skip

    first, token = page(None)
    assert (first, page(token)[0]) == (rows[:1], rows[1:2])
    assert page("a")[0] == rows[1:2]
    assert asked == [None, ("a", 1), ("a", 1)]
