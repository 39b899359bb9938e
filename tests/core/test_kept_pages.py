"""The pages of one walk share what was listed; those of another, or of a later time, list anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lance_namespace_impls.core.paging import KeptListings, kept_page_of, sorted_after

NAMES = [f"n{number:03}" for number in range(40)]


class Walk:
    """A listing that counts how often it is made."""

    def __init__(self, kept: KeptListings) -> None:
        self.kept = kept
        self.made = 0

    def page(self, token: str | None, limit: int | None = 10) -> tuple[list[str], str | None]:
        def listing(after: Any, listings: Any) -> Iterator[str]:
            def ask() -> Iterator[str]:
                self.made += 1
                return sorted_after(NAMES, after)

            names: Iterator[str] = listings.names("names", ask, after, limit)
            return names

        return kept_page_of(
            listing, kept=self.kept, of=["names"], key=str, page_token=token, limit=limit
        )

    def all(self) -> list[str]:
        found, token = self.page(None)
        while token:
            more, token = self.page(token)
            found += more
        return found


@pytest.mark.parametrize(("seconds", "made"), [(1e9, 1), (0, 4)])
def test_a_walk_lists_once_while_its_listing_is_kept(seconds: float, made: int) -> None:
    walk = Walk(KeptListings(seconds))
    assert walk.all() == NAMES
    assert walk.made == made


def test_another_walk_lists_anew_and_so_does_one_whose_listing_was_dropped() -> None:
    walk = Walk(KeptListings(1e9))
    _, first = walk.page(None)
    _, second = walk.page(None)
    assert walk.made == 2
    for token in (first, second, first):
        assert walk.page(token)[0] == NAMES[10:20]
    assert walk.made == 2
    walk.kept.clear()
    assert walk.page(first)[0] == NAMES[10:20]
    assert walk.made == 3


def test_of_too_many_names_the_walk_that_went_on_last_is_kept() -> None:
    walk = Walk(KeptListings(1e9, most=2 * len(NAMES)))
    tokens = [walk.page(None)[1] for _ in range(3)]
    assert [walk.page(token)[0] for token in tokens[1:]] == [NAMES[10:20]] * 2
    assert walk.made == 3
    assert walk.page(tokens[0])[0] == NAMES[10:20]
    assert walk.made == 4


def test_a_page_of_all_is_not_kept() -> None:
    walk = Walk(KeptListings(1e9))
    assert [walk.page(None, None), walk.page(None, None)] == [(NAMES, None)] * 2
    assert walk.made == 2
