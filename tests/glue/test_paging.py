"""Listing many tables."""

from __future__ import annotations

import math

import pytest

from lance_namespace_client.errors import InvalidInputError, NamespaceNotFoundError
from lance_namespace_impls.glue import GlueNamespace

from ..servers.glue import GlueServer

LANCE = {
    "TableType": "EXTERNAL_TABLE",
    "Parameters": {"table_type": "lance"},
    "StorageDescriptor": {"Location": "s3://bucket/t"},
}
OTHER = {"TableType": "EXTERNAL_TABLE", "Parameters": {"table_type": "iceberg"}}


def test_five_thousand_tables_take_exactly_fifty_calls(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    names = [f"t{number:04}" for number in range(5000)]
    glue.add_tables(database, dict.fromkeys(names, LANCE))
    glue.calls.clear()
    answer = namespace.list_tables({"id": [database]})
    assert answer.tables == names
    assert answer.page_token is None
    calls = [call.parameters for call in glue.calls if call.operation == "GetTables"]
    assert len(calls) == 50
    assert all(call["MaxResults"] == 100 for call in calls)
    tokens = [call.get("NextToken") for call in calls]
    assert tokens[0] is None
    assert len(set(tokens)) == 50


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_no_call_too_many(
    namespace: GlueNamespace, database: str, glue: GlueServer, count: int
) -> None:
    glue.add_tables(database, {f"t{number}": LANCE for number in range(count)})
    assert len(namespace.list_tables({"id": [database]}).tables) == count
    assert glue.count("GetTables") == max(1, math.ceil(count / 100))


def test_a_filter_that_empties_pages_does_not_end_the_listing(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    glue.add_tables(database, {f"o{number}": OTHER for number in range(300)})
    glue.add_tables(database, {"only": LANCE})
    glue.empty_first_page = True
    assert namespace.list_tables({"id": [database]}).tables == ["only"]


def test_a_walk_gives_each_name_once_while_tables_come_and_go(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    stay = [f"t{number:03}" for number in range(0, 300, 2)]
    store = glue.backend()
    glue.add_tables(database, dict.fromkeys(stay, LANCE))
    seen: list[str] = []
    token = None
    step = 0
    new: list[str] = []
    while True:
        page = namespace.list_tables({"id": [database], "limit": 20, "page_token": token})
        seen += page.tables
        assert len(page.tables) == 20 or page.page_token is None
        if page.page_token is None:
            break
        token = page.page_token
        # Between pages a name comes before the place of the walk, another goes, one comes behind.
        new.append(f"t{step * 40 + 61:03}")
        glue.add_tables(database, {f"a{step}": LANCE, new[-1]: LANCE})
        store.delete_table(database, seen[-1])
        step += 1
    assert seen == sorted(seen)
    assert len(seen) == len(set(seen))
    assert set(stay) <= set(seen)
    assert set(seen) - set(stay) == set(new)


def test_tokens_belong_to_their_listing(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    glue.add_tables(database, {"a": LANCE, "b": LANCE})
    token = namespace.list_tables({"id": [database], "limit": 1}).page_token
    with pytest.raises(InvalidInputError, match="another listing"):
        namespace.list_namespaces({"id": [], "page_token": token})
    for limit in (0, -1):
        with pytest.raises(InvalidInputError):
            namespace.list_tables({"id": [database], "limit": limit})


def test_a_database_that_goes_while_it_is_listed_is_code_1(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    glue.before("GetTables", lambda given: glue.backend().delete_database(database))
    with pytest.raises(NamespaceNotFoundError):
        namespace.list_tables({"id": [database]})


def test_what_the_listing_gave_is_not_asked_for_again(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    entry = {**LANCE, "StorageDescriptor": {"Location": "/nowhere/t"}}
    glue.add_tables(database, {f"t{number}": entry for number in range(250)})
    glue.calls.clear()
    assert namespace.list_tables({"id": [database], "include_declared": False}).tables == []
    assert glue.count("GetTables") == 3
    assert glue.count("GetTable") == 0
