"""Locations on their way to the metastore and back; no server is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.hive import records


@pytest.mark.parametrize(
    ("stored", "given"),
    [
        ("file:/lake/t", "/lake/t"),
        ("file:///lake/t/", "/lake/t"),
        ("/lake/t", "/lake/t"),
        ("file:/my lake/t", "/my lake/t"),
        ("s3://lake/t/", "s3://lake/t"),
        ("s3a://lake/t", "s3://lake/t"),
        ("s3n://lake/t", "s3://lake/t"),
        ("abfss://c@a.dfs.core.windows.net/t", "abfss://c@a.dfs.core.windows.net/t"),
        (None, ""),
    ],
)
def test_a_table_location_is_one_that_pylance_opens(stored: str | None, given: str) -> None:
    assert records.dataset_location(stored) == given


def test_a_table_goes_to_s3_by_the_name_that_the_metastore_knows() -> None:
    table = records.new_table(None, "d", "t", "s3a://lake/d/t", {}, None)
    assert table.sd.location == "s3a://lake/d/t"
    assert records.entry_of(("d", "t"), table).location == "s3://lake/d/t"


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0/"), min_size=1))
def test_local_paths_come_back(name: str) -> None:
    path = f"/lake/{name}"
    assert records.plain_location(records.stored_location(path, "")) == path


@pytest.mark.parametrize("location", ["", "t", "a/b", "./t", "s3:bucket", "://x", "s3://a\0b"])
def test_other_locations_are_refused(location: str) -> None:
    with pytest.raises(InvalidInputError, match="table t"):
        records.stored_location(location, "table t")


@given(st.integers(0, 2**40))
def test_each_change_has_a_later_mark(before: int) -> None:
    table = records.new_table(None, "d", "t", "/t", {}, None)
    table.parameters[records.CHANGED] = str(before)
    expected = records.change_table(table, {"k": "v"}, [])
    assert expected == (records.CHANGED, str(before))
    assert int(table.parameters[records.CHANGED]) > before
