"""The conversion of locations and properties to metastore records and back; no server is called."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymetastore.hive_metastore.ttypes import (
    Catalog,
    Database,
    PrincipalType,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

from lance_namespace_client.errors import InvalidInputError, UnsupportedError
from lance_namespace_impls.hive import records

pytestmark = pytest.mark.xdist_group("hive 2.3")


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
def test_pylance_can_open_table_locations(stored: str | None, given: str) -> None:
    assert records.dataset_location(stored) == given


def test_the_metastore_gets_its_own_s3_scheme() -> None:
    table = records.new_table(None, "d", "t", "s3a://lake/d/t", {}, None)
    assert table.sd.location == "s3a://lake/d/t"
    assert records.entry_of(("d", "t"), table).location == "s3://lake/d/t"


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0/"), min_size=1))
def test_local_paths_round_trip(name: str) -> None:
    path = f"/lake/{name}"
    assert records.plain_location(records.stored_location(path, "")) == path


@pytest.mark.parametrize(
    "location", ["", "t", "a/b", "./t", "s3:bucket", "://x", ":/x", "s3://a\0b", "a/b:/c"]
)
def test_other_locations_are_rejected(location: str) -> None:
    with pytest.raises(InvalidInputError, match="table t"):
        records.stored_location(location, "table t")


@given(st.integers(0, 2**40))
def test_each_change_has_a_later_timestamp(before: int) -> None:
    table = records.new_table(None, "d", "t", "/t", {}, None)
    table.parameters[records.CHANGED] = str(before)
    expected = records.change_table(table, {"k": "v"}, [])
    assert expected == (records.CHANGED, str(before))
    assert int(table.parameters[records.CHANGED]) > before
    if before > time.time():  # written by a client whose clock is ahead
        assert table.parameters[records.CHANGED] == str(before + 1)


@pytest.mark.parametrize("before", [None, "", "soon", "-5"])
def test_a_change_adds_a_missing_timestamp(before: str | None) -> None:
    table = records.new_table(None, "d", "t", "/t", {}, None)
    if before is not None:
        table.parameters[records.CHANGED] = before
    started = int(time.time())
    expected = records.change_table(table, {"k": "v"}, ["gone"])
    assert expected == ((records.CHANGED, before) if before else None)
    assert started <= int(table.parameters[records.CHANGED]) <= time.time()


def test_the_record_of_a_new_table() -> None:
    """The table is external and has input and output formats.

    The metastore deletes the data of tables that are not external. Other engines need the formats.
    """
    table = records.new_table("c", "d", "t", "/lake/d/t", {"k": "v"}, "ann")
    assert table == Table(
        catName="c",
        dbName="d",
        tableName="t",
        owner="ann",
        tableType="EXTERNAL_TABLE",
        parameters={
            "k": "v",
            "table_type": "lance",
            "EXTERNAL": "TRUE",
            "DO_NOT_UPDATE_STATS": "true",
        },
        partitionKeys=[],
        sd=StorageDescriptor(
            location="file:///lake/d/t",
            cols=[],
            inputFormat="org.apache.hadoop.mapred.FileInputFormat",
            outputFormat="org.apache.hadoop.mapred.FileOutputFormat",
            serdeInfo=SerDeInfo(
                serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
                parameters={},
            ),
            parameters={},
            bucketCols=[],
            sortCols=[],
        ),
    )
    entry = records.entry_of(("c", "d", "t"), table)
    assert entry.properties == {"k": "v", "table_type": "lance"}


@pytest.mark.parametrize("given", [{"EXTERNAL": "true"}, {"table_type": "LANCE"}])
def test_properties_of_a_lance_table_may_be_repeated(given: dict[str, str]) -> None:
    table = records.new_table(None, "d", "t", "/t", given, None)
    assert records.is_lance_table(table)
    assert table.parameters["EXTERNAL"] == "TRUE"


OWNED = {"database.owner": "ann", "database.owner-type": "ROLE"}


@pytest.mark.parametrize(
    ("changed", "removed", "shown"),
    [
        ({}, ["database.owner"], {"database.owner-type": "ROLE", "k": "v"}),
        ({}, ["database.owner-type"], {"database.owner": "ann", "database.owner-type": "USER", "k": "v"}),
        ({}, ["database.owner", "database.owner-type"], {"k": "v"}),
        ({"database.owner": "bob"}, ["k"], {**OWNED, "database.owner": "bob"}),
        ({"database.owner-type": " group "}, [], {**OWNED, "database.owner-type": "GROUP", "k": "v"}),
        ({"new": "1"}, ["k", "none"], {**OWNED, "new": "1"}),
        ({"database.location-uri": "/b"}, [], {**OWNED, "k": "v", "database.location-uri": "/b"}),
        ({"database.description": "all"}, [], {**OWNED, "k": "v", "database.description": "all"}),
    ],
)  # fmt: skip
def test_changes_of_a_database(
    changed: dict[str, str], removed: list[str], shown: dict[str, str]
) -> None:
    database = records.new_database("c", "d", {**OWNED, "k": "v"}, "/a")
    assert (database.catalogName, database.name) == ("c", "d")
    records.change_database(database, changed, removed)
    assert records.database_properties(database) == {"database.location-uri": "/a", **shown}


def test_a_requested_database_location_replaces_the_default() -> None:
    given = records.new_database(None, "d", {"database.location-uri": "s3a://b/d"}, "/usual")
    assert given.locationUri == "s3a://b/d"
    assert records.new_database(None, "d", {}, "/usual").locationUri == "file:///usual"


@pytest.mark.parametrize(
    ("owner", "kind", "shown"),
    [
        (None, None, {}),
        (None, PrincipalType.USER, {}),
        (None, PrincipalType.ROLE, {"database.owner-type": "ROLE"}),
        ("ann", PrincipalType.USER, {"database.owner": "ann", "database.owner-type": "USER"}),
        ("ann", None, {"database.owner": "ann"}),
    ],
)
def test_the_owner_of_a_database_of_another_writer(
    owner: str | None, kind: int | None, shown: dict[str, str]
) -> None:
    database = Database(name="d", locationUri="file:/d", ownerName=owner, ownerType=kind)
    assert records.database_properties(database) == {"database.location-uri": "/d", **shown}


def a_database(description: str | None) -> Database:
    return Database(name="x", description=description, locationUri="/x")


def a_catalog(description: str | None) -> Catalog:
    return Catalog(name="x", description=description, locationUri="/x")


@pytest.mark.parametrize(
    ("made", "change", "key"),
    [
        (a_database, records.change_database, "database.description"),
        (a_catalog, records.change_catalog, "catalog.description"),
    ],
)
def test_a_description_can_be_changed_but_not_removed(
    made: Callable[[str | None], Any], change: Callable[..., None], key: str
) -> None:
    for changed, removed in (({key: ""}, []), ({key: " "}, []), ({}, [key])):
        with pytest.raises(UnsupportedError, match=r"^x: Hive cannot remove a description"):
            change(made("old"), changed, removed)
        without = made(None)
        change(without, changed, removed)
        assert not (without.description or "").strip()
    record = made("old")
    change(record, {key: "new"}, [])
    assert record.description == "new"
    change(record, {}, [])
    assert (record.description, record.locationUri) == ("new", "/x")


def test_a_location_cannot_be_removed() -> None:
    with pytest.raises(InvalidInputError, match=r"database x: .* cannot be removed"):
        records.change_database(a_database(None), {}, ["database.location-uri"])
    with pytest.raises(InvalidInputError, match=r"catalog x: .* cannot be removed"):
        records.change_catalog(a_catalog(None), {}, ["catalog.location-uri"])
    catalog = a_catalog(None)
    records.change_catalog(catalog, {"catalog.location-uri": "/y"}, [])
    assert catalog.locationUri == "file:///y"


@pytest.mark.parametrize("given", [{"owner": "ann"}, {"database.description": "x"}])
def test_a_catalog_has_two_properties(given: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=f"not {next(iter(given))}"):
        records.new_catalog("c", given, "/c")
    for changed, removed in ((given, []), ({}, list(given))):
        with pytest.raises(InvalidInputError, match=f"not {next(iter(given))}"):
            records.change_catalog(a_catalog(None), changed, removed)
