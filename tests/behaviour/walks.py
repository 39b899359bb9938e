"""Paged listings while another writer adds and removes tables."""

from __future__ import annotations

import pickle
from contextlib import suppress
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lance_namespace_client.errors import TableAlreadyExistsError, TableNotFoundError
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.core.paging import ListingCache

from .home import make_home
from .subject import Subject

__all__ = ["check_walks"]

ROWS = pa.table({"x": [1]})
NAMES = [f"t{letter}" for letter in "abcdefgh"]
STEP = st.fixed_dictionaries(
    {
        "comes": st.sets(st.sampled_from(NAMES), max_size=2),
        "goes": st.sets(st.sampled_from(NAMES), max_size=2),
        # The next page is requested from the same namespace, from one without its saved listings,
        # from a copy as in another process, or with the name of the last table as its token.
        "asked": st.sampled_from(("same", "forgetful", "other", "by name")),
    }
)


def check_walks(subject: Subject, runs: int) -> None:
    """Read listings page by page while tables are added and removed.

    Each table that exists all the time must be returned exactly once and in order. A table that
    never existed must not be returned.
    """
    walker, writer = subject.connect(), subject.connect()
    home = list(make_home(subject, writer))

    def add(names: set[str]) -> None:
        for name in sorted(names):
            with suppress(TableAlreadyExistsError):
                writer.create_table({"id": [*home, name]}, ROWS)

    def remove(names: set[str]) -> None:
        for name in sorted(names):
            with suppress(TableNotFoundError):
                writer.drop_table({"id": [*home, name]})

    @settings(
        max_examples=runs,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @given(
        first=st.sets(st.sampled_from(NAMES), min_size=3),
        steps=st.lists(STEP, min_size=4, max_size=8),
        limit=st.integers(1, 3),
        include_declared=st.booleans(),
    )
    def walk(
        first: set[str], steps: list[dict[str, Any]], limit: int, include_declared: bool
    ) -> None:
        remove(set(NAMES) - first)
        add(first)
        stayed, ever = set(first), set(first)
        request = {"id": home, "limit": limit, "include_declared": include_declared}
        seen: list[str] = []
        token: str | None = None
        asked: Any = walker
        for step in [*steps, *[{"comes": set(), "goes": set(), "asked": "same"}] * 10]:
            page = asked.list_tables({**request, "page_token": token})
            assert len(page.tables) == limit or page.page_token is None
            seen += page.tables
            token = page.page_token
            if token is None:
                break
            remove(step["goes"])
            add(step["comes"])
            stayed -= step["goes"]
            ever |= step["comes"]
            if step["asked"] == "by name":
                token = seen[-1]
            elif step["asked"] == "forgetful":
                vars(walker)["_listing_cache"] = ListingCache()
            if asked is not walker:
                asked.close()
            other = step["asked"] == "other" and isinstance(walker, Namespace)
            asked = walker
            if other and not walker.in_process:
                asked = pickle.loads(pickle.dumps(walker))
        assert token is None
        assert seen == sorted(set(seen)), "a name came twice, or out of order"
        assert stayed <= set(seen), "a name that was there all the time is missing"
        assert set(seen) <= ever, "a name came that never was there"

    try:
        walk()
    finally:
        walker.close()
        writer.close()
