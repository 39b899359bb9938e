"""Spark reads and writes a table whose versions are stored in the catalog, through our server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from tests.servers.managed import STORAGES, managed_catalog

pytestmark = pytest.mark.xdist_group("spark one")


@pytest.mark.filterwarnings("ignore:.*committed without the catalog")
@pytest.mark.parametrize("storage", STORAGES)
def test_spark_commits_through_the_catalog(spark: Any, tmp_path: Path, storage: str) -> None:
    with managed_catalog(tmp_path, storage) as (catalog, uri):

        def save(rows: list[int], mode: str) -> None:
            frame = spark.createDataFrame([(each,) for each in rows], "a bigint")
            writer = frame.write.format("lance_namespace").mode(mode)
            writer.options(impl="rest", uri=uri).save("t")

        def load() -> list[int]:
            frame = spark.read.format("lance_namespace").options(impl="rest", uri=uri).load("t")
            return sorted(row.a for row in frame.collect())

        save([1, 2], "append")
        save([3], "append")
        assert load() == [1, 2, 3]
        place = catalog.describe_table({"id": ["t"]})
        assert place.managed_versioning is True
        found = catalog.list_table_versions({"id": ["t"]}).versions
        assert [each.version for each in found] == [1, 2]
        dataset = lance.dataset(place.location, storage_options=place.storage_options)
        dataset.insert(pa.table({"a": [-1]}), mode="append")
        assert load() == [1, 2, 3]
        save([4], "append")
        assert load() == [1, 2, 3, 4]
        save([5], "overwrite")
        assert load() == [5]
        assert catalog.count_table_rows({"id": ["t"]}).count == 1
        found = catalog.list_table_versions({"id": ["t"]}).versions
        assert [each.version for each in found] == [1, 2, 3, 4]
