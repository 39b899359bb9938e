"""Listing many tables."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_impls.glue import GlueNamespace
from lance_namespace_impls.tables.drop import TableFolder

from ..servers.glue import GlueServer
from ..servers.s3 import GuardedS3
from .conftest import LANCE, Connect

OTHER = {"TableType": "EXTERNAL_TABLE", "Parameters": {"table_type": "iceberg"}}


@pytest.mark.requirement("glue.list-tables.paging")
@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 1000])
def test_listing_makes_no_unneeded_calls(
    namespace: GlueNamespace, database: str, glue: GlueServer, count: int
) -> None:
    names = [f"t{number:04}" for number in range(count)]
    glue.add_tables(database, dict.fromkeys(names, LANCE))
    answer = namespace.list_tables({"id": [database]})
    assert (answer.tables, answer.page_token) == (names, None)
    calls = [call.parameters for call in glue.calls if call.operation == "GetTables"]
    assert len(calls) == max(1, math.ceil(count / 100))
    assert all(call["MaxResults"] == 100 for call in calls)
    glue.add_tables(database, {f"o{number}": OTHER for number in range(300)})
    # A page without any matching table does not end the listing either.
    glue.empty_first_page = True
    assert namespace.list_tables({"id": [database]}).tables == names


@pytest.mark.requirement("glue.list-tables.paging")
def test_pages_share_one_listing(namespace: GlueNamespace, database: str, glue: GlueServer) -> None:
    names = [f"t{number:04}" for number in range(1000)]
    glue.add_tables(database, dict.fromkeys(names, LANCE))
    glue.calls.clear()
    seen: list[str] = []
    calls: list[int] = []
    token: str | None = None
    while len(calls) == 0 or token:
        before = len(glue.calls)
        page = namespace.list_tables({"id": [database], "limit": 100, "page_token": token})
        seen += page.tables
        token = page.page_token
        calls.append(len(glue.calls) - before)
    assert seen == names
    assert glue.count("GetTables") == 10
    assert calls[1:] == [0] * 9


def test_a_page_token_works_in_another_process(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    names = [f"t{number:04}" for number in range(300)]
    glue.add_tables(database, dict.fromkeys(names, LANCE))
    token = namespace.list_tables({"id": [database], "limit": 100}).page_token
    with pickle.loads(pickle.dumps(namespace)) as other:
        page = other.list_tables({"id": [database], "limit": 100, "page_token": token})
    assert page.tables == names[100:200]
    assert page.page_token


def test_listing_tables_with_data_loads_no_table(
    namespace: GlueNamespace, database: str, glue: GlueServer, tmp_path: Path
) -> None:
    glue.add_tables(database, {f"t{n}": _at(tmp_path / f"t{n}") for n in range(300)})
    for n in range(0, 300, 10):
        lance.write_dataset(pa.table({"x": [1]}), tmp_path / f"t{n}")
    glue.calls.clear()
    seen: list[str] = []
    token = None
    while True:
        page = namespace.list_tables(
            {"id": [database], "include_declared": False, "limit": 7, "page_token": token}
        )
        seen += page.tables
        if not (token := page.page_token):
            break
    assert seen == sorted(f"t{n}" for n in range(0, 300, 10))
    assert glue.count("GetTables") == 3
    assert glue.count("GetTable") == 0


def test_databases_of_a_catalog_are_looked_up_once(
    namespace: GlueNamespace, glue: GlueServer
) -> None:
    for number in range(30):
        glue.backend().create_database(f"db{number:02}", {"Name": f"db{number:02}"})
        glue.add_tables(f"db{number:02}", {"t": LANCE})
    glue.calls.clear()
    assert len(namespace.list_all_tables({}).tables) == 30
    assert glue.count("GetTables") == 30
    assert len(glue.calls) <= 30 + 4


def test_catalogs_of_a_listing_are_not_looked_up_again(
    namespace: GlueNamespace, glue: GlueServer
) -> None:
    for number in range(5):
        glue.add_catalog(f"c{number}")
        glue.backend(f"c{number}").create_database("db", {"Name": "db"})
        glue.add_tables("db", {"t": LANCE}, catalog_id=f"c{number}")
    glue.calls.clear()
    assert namespace.list_all_tables({}).tables == [f"c{number}$db$t" for number in range(5)]
    assert glue.count("GetCatalog") == glue.count("GetDatabase") == 0


def test_repeating_a_killed_drop_loads_no_other_table(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    glue.add_tables(database, {f"t{number}": LANCE for number in range(250)})
    namespace.create_table({"id": [database, "gone"]}, pa.table({"x": [1]}))
    with pytest.MonkeyPatch.context() as killed:
        killed.setattr(TableFolder, "delete", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            namespace.drop_table({"id": [database, "gone"]})
    glue.calls.clear()
    location = namespace.drop_table({"id": [database, "gone"]}).location
    assert location
    assert not Path(location).exists()
    assert glue.count("GetTables") == 3
    assert len(glue.calls) < 15


def _interrupt(folder: TableFolder) -> bool:
    raise KeyboardInterrupt


def _at(path: Path) -> dict[str, Any]:
    return {**LANCE, "StorageDescriptor": {"Location": str(path)}}


@pytest.mark.s3
def test_listing_reads_each_table_with_its_own_storage_options(
    connected: Connect, database: str, glue: GlueServer
) -> None:
    with GuardedS3() as s3:
        own, others = s3.options("of-the-table"), s3.options("of-the-namespace")
        place = f"s3://{s3.bucket}/t"
        lance.write_dataset(pa.table({"x": [1]}), place, storage_options=own)
        s3.asked.clear()
        s3.refuses = lambda asked: asked.access_key != "of-the-table"
        parameters = {"table_type": "lance", "storage.aws_access_key_id": "of-the-table"}
        entry = {"Parameters": parameters, "StorageDescriptor": {"Location": place}}
        glue.add_tables(database, {"t": {**LANCE, **entry}})
        namespace = connected(**{f"storage.{key}": value for key, value in others.items()})
        answer = namespace.list_tables({"id": [database], "include_declared": False})
        assert answer.tables == ["t"]
        assert {asked.access_key for asked in s3.asked} == {"of-the-table"}
