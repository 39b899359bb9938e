"""Table entries of catalogs, and listings that provide loaders with the names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.catalog.entry import (
    ListedTables,
    SortedTables,
    TableEntry,
    is_lance,
    managed_choice,
    plain_properties,
    storage_options,
    storage_overrides,
    with_lance_type,
)


def entry(name: str, location: str) -> TableEntry:
    return TableEntry(id=(name,), location=location, properties={})


def loader(name: str, location: str | None) -> partial[TableEntry] | None:
    return None if location is None else partial(entry, name, location)


FOUND = {"a": "/a", "b": None, "c": "/c"}


def test_listed_tables_are_their_names_in_order() -> None:
    assert list(ListedTables(iter(FOUND.items()), loader)) == ["a", "b", "c"]
    listed = ListedTables(iter(FOUND.items()), loader)
    assert [next(listed), *listed] == ["a", "b", "c"]


def test_listed_tables_provide_loaders() -> None:
    listed = ListedTables(iter(FOUND.items()), loader)
    assert next(listed) == "a"
    (b, no_loader), (c, load) = listed.loaders
    assert (b, no_loader, c) == ("b", None, "c")
    assert load is not None and load() == entry("c", "/c")


def test_sorted_tables_are_inspected_on_demand() -> None:
    asked: list[tuple[str, int | None]] = []

    def tables(names: Iterator[str], wanted: int | None) -> Iterator[tuple[str, str | None]]:
        for name in names:
            asked.append((name, wanted))
            if name != "none":
                yield name, FOUND[name]

    listed = SortedTables(["a", "b", "c", "none"], tables, loader)
    assert next(listed) == "a"
    assert asked == [("a", None)]
    following = listed.again("a", 1)
    assert next(following) == "b"
    assert asked == [("a", None), ("b", 1)]
    assert list(following) == ["c"]
    assert [name for name, _ in SortedTables([*FOUND], tables, loader, "b", 2).loaders] == ["c"]


@pytest.mark.parametrize(
    ("properties", "is_one"),
    [
        ({"table_type": "lance"}, True),
        ({"table_type": "LANCE", "a": "b"}, True),
        ({"table_type": "iceberg"}, False),
        ({"type": "lance"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_lance_table_is_recognized_by_a_property(
    properties: dict[str, str] | None, is_one: bool
) -> None:
    assert is_lance(properties) is is_one
    marked = with_lance_type(properties or {})
    assert is_lance(marked)
    assert marked == {**(properties or {}), "table_type": "lance"}


@pytest.mark.parametrize("default", [True, False])
def test_a_table_can_choose_managed_versioning(default: bool) -> None:
    for text, managed in (("true", True), ("TRUE", True), ("false", False), ("False", False)):
        given = {"a": "b", "managed_versioning": text}
        assert managed_choice(given, default) == ({"a": "b"}, managed)
    assert managed_choice({"a": "b"}, default) == ({"a": "b"}, default)
    for wrong in ("", "yes", "1"):
        with pytest.raises(InvalidInputError, match=f"'true' or 'false', not '{wrong}'"):
            managed_choice({"managed_versioning": wrong}, default)


def test_storage_options_are_separated_from_properties() -> None:
    given = {"storage.region": "here", "a": "b", "storage": "x"}
    assert plain_properties(given) == {"a": "b", "storage": "x"}
    assert storage_options(given) == {"storage.region": "here"}
    assert storage_overrides(given) == {"region": "here"}
