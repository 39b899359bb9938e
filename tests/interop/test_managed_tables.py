"""pylance and lancedb commit to managed tables through our server; other commits stay invisible."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import lancedb
import pyarrow as pa
import pytest
from lance.namespace import RestNamespace

from lance_namespace_impls.sql import SqlNamespace
from tests.servers.managed import STORAGES, managed_catalog

ROWS = pa.table({"a": [1, 2, 3]})


@pytest.fixture(params=STORAGES)
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[SqlNamespace, str]]:
    with managed_catalog(tmp_path, request.param) as found:
        yield found


def commit_without_the_catalog(catalog: SqlNamespace, table: str) -> None:
    """Commit directly to storage, as a writer does that does not know the catalog."""
    place = catalog.describe_table({"id": [table]})
    dataset = lance.dataset(place.location, storage_options=place.storage_options)
    dataset.insert(pa.table({"a": [-1]}), mode="append")


def values(dataset: Any) -> list[int]:
    return sorted(dataset.to_table()["a"].to_pylist())


@pytest.mark.filterwarnings("ignore:.*committed without the catalog")
def test_pylance_commits_through_the_server(served: tuple[SqlNamespace, str]) -> None:
    catalog, uri = served
    client = RestNamespace(uri=uri)
    lance.write_dataset(ROWS, namespace_client=client, table_id=["t"], mode="create")
    lance.write_dataset(ROWS, namespace_client=client, table_id=["t"], mode="append")
    first = lance.dataset(namespace_client=client, table_id=["t"])
    second = lance.dataset(namespace_client=client, table_id=["t"])
    first.insert(pa.table({"a": [4]}), mode="append")
    second.insert(pa.table({"a": [5]}), mode="append")  # based on the previous version
    found = catalog.list_table_versions({"id": ["t"]}).versions
    assert [each.version for each in found] == [1, 2, 3, 4]
    found = values(lance.dataset(namespace_client=client, table_id=["t"]))
    assert found == [1, 1, 2, 2, 3, 3, 4, 5]
    commit_without_the_catalog(catalog, "t")
    assert -1 not in values(lance.dataset(namespace_client=client, table_id=["t"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lance.dataset(namespace_client=client, table_id=["t"]).delete("a = 5")
    assert values(catalog.open_table(["t"])) == [1, 1, 2, 2, 3, 3, 4]
    commit_without_the_catalog(catalog, "t")
    with pytest.raises(OSError, match=r"Commit result|commit"):
        first.insert(pa.table({"a": [6]}), mode="append")  # based on a version not committed here
    first.checkout_latest()
    first.insert(pa.table({"a": [6]}), mode="append")
    assert values(catalog.open_table(["t"])) == [1, 1, 2, 2, 3, 3, 4, 6]


@pytest.mark.filterwarnings("ignore:.*committed without the catalog")
def test_lancedb_commits_through_the_server(served: tuple[SqlNamespace, str]) -> None:
    catalog, uri = served
    database = lancedb.connect_namespace("rest", {"uri": uri})
    table = database.create_table("t", ROWS)
    table.add(pa.table({"a": [4]}))
    before = len(catalog.list_table_versions({"id": ["t"]}).versions)
    assert before >= 2
    commit_without_the_catalog(catalog, "t")
    again = database.open_table("t")
    assert sorted(again.to_arrow()["a"].to_pylist()) == [1, 2, 3, 4]
    again.add(pa.table({"a": [5]}))
    assert values(catalog.open_table(["t"])) == [1, 2, 3, 4, 5]
    assert len(catalog.list_table_versions({"id": ["t"]}).versions) == before + 1
