"""The double behaves as AWS documents where moto differs."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from ..servers.glue import ACCOUNT, GlueServer


def code(call: Any, **given: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**given)
    return str(caught.value.response["Error"]["Code"])


def names(answer: dict[str, Any], key: str) -> set[str]:
    return {entry["Name"] for entry in answer[key]}


def test_include_root_with_a_parent_is_rejected(client: Any) -> None:
    refused = code(client.get_catalogs, ParentCatalogId=ACCOUNT, IncludeRoot=True)
    assert refused == "InvalidInputException"


def test_a_catalog_id_is_a_scope(client: Any, glue: GlueServer) -> None:
    glue.add_catalog("cat")
    client.create_database(DatabaseInput={"Name": "db"})
    client.create_database(DatabaseInput={"Name": "db"}, CatalogId="cat")
    client.create_table(DatabaseName="db", TableInput={"Name": "t"}, CatalogId="cat")
    assert client.get_table(DatabaseName="db", Name="t", CatalogId="cat")["Table"]["Name"] == "t"
    assert code(client.get_table, DatabaseName="db", Name="t") == "EntityNotFoundException"
    assert code(client.get_databases, CatalogId="none") == "EntityNotFoundException"


def test_page_sizes_and_tokens(client: Any, database: str) -> None:
    for number in range(7):
        client.create_table(DatabaseName=database, TableInput={"Name": f"t{number}"})
    seen: list[str] = []
    given: dict[str, Any] = {"DatabaseName": database, "MaxResults": 3}
    sizes = []
    while True:
        page = client.get_tables(**given)
        sizes.append(len(page["TableList"]))
        seen += [table["Name"] for table in page["TableList"]]
        if "NextToken" not in page:
            break
        given["NextToken"] = page["NextToken"]
    assert sizes == [3, 3, 1]
    assert sorted(seen) == [f"t{number}" for number in range(7)]
    assert seen != sorted(seen), "AWS promises no order, so the double must not give one"


def test_a_first_page_can_be_empty(client: Any, glue: GlueServer, database: str) -> None:
    client.create_table(DatabaseName=database, TableInput={"Name": "t"})
    glue.empty_first_page = True
    first = client.get_tables(DatabaseName=database)
    assert first["TableList"] == []
    second = client.get_tables(DatabaseName=database, NextToken=first["NextToken"])
    assert names(second, "TableList") == {"t"}


def test_a_stale_version_is_rejected(client: Any, database: str) -> None:
    client.create_table(DatabaseName=database, TableInput={"Name": "t"})
    version = client.get_table(DatabaseName=database, Name="t")["Table"]["VersionId"]
    changed = {"DatabaseName": database, "TableInput": {"Name": "t", "Description": "new"}}
    client.update_table(**changed, VersionId=version)
    refused = code(client.update_table, **changed, VersionId=version)
    assert refused == "ConcurrentModificationException"
    assert client.get_table(DatabaseName=database, Name="t")["Table"]["VersionId"] != version


def test_names_are_folded_to_lower_case(client: Any) -> None:
    client.create_database(DatabaseInput={"Name": "Sales"})
    client.create_table(DatabaseName="SALES", TableInput={"Name": "Orders"})
    assert client.get_database(Name="sAles")["Database"]["Name"] == "sales"
    assert client.get_table(DatabaseName="sales", Name="ORDERS")["Table"]["Name"] == "orders"


def test_deleting_a_database_deletes_its_tables(client: Any, database: str) -> None:
    client.create_table(DatabaseName=database, TableInput={"Name": "t"})
    client.delete_database(Name=database)
    assert code(client.get_table, DatabaseName=database, Name="t") == "EntityNotFoundException"


@pytest.mark.requirement("glue.background.api")
def test_requests_that_violate_the_model_are_recorded(client: Any, server: GlueServer) -> None:
    server.reset()
    assert code(client.create_database, DatabaseInput={"Name": "a\nb"}) == "ValidationException"
    assert code(client.get_databases, MaxResults=101) == "ValidationException"
    assert len(server.problems) == 2
    server.problems.clear()
