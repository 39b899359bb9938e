"""A table that is dropped and created again while Spark uses it: the new table is unaffected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import ConcurrentModificationError
from lance_namespace_impls.distributed.runners import SparkRunner
from lance_namespace_impls.spark import add_columns, backfill, delete, dml, update
from lance_namespace_impls.spark.dataframe_reader import target_of
from lance_namespace_impls.spark.read_plan import pin
from tests.spark.conftest import Lake

ROWS = pa.table({"id": range(100), "s": ["old"] * 100})
THEIRS = pa.table({"id": range(7), "s": ["theirs"] * 7})
CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "delete": lambda spark, namespace: delete(spark, namespace, "t", "id < 50"),
    "update": lambda spark, namespace: update(spark, namespace, "t", {"s": "'new'"}),
    "add_columns": lambda spark, namespace: add_columns(spark, namespace, "t", {"n": "id + 1"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_does_not_come_to_a_later_table(
    lake: Lake, spark: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new table has the same number of versions as the one that the workers changed."""
    lake.put("t", ROWS)

    class Slow(SparkRunner):
        def run(self, *task: Any) -> list[str]:
            answers = super().run(*task)
            if not replaced:
                replaced.append(True)
                lake.namespace.drop_table({"id": ["t"]})
                lake.put("t", THEIRS)
            return answers

    replaced: list[bool] = []
    for module in (dml, backfill):
        monkeypatch.setattr(module, "spark_runner", lambda spark: Slow(spark.sparkContext))
    with pytest.raises(ConcurrentModificationError, match="table t"):
        CHANGES[name](spark, lake.namespace)
    assert replaced and lake.dataset("t").to_table() == THEIRS
    assert lake.dataset("t").version == 1


def test_a_recreated_table_is_not_read_in_place_of_a_pinned_one(quiet_lake: Lake) -> None:
    quiet_lake.put("t", ROWS)
    with quiet_lake.namespace as namespace:
        pinned = pin(target_of(namespace, "t"))
        assert pinned.open().to_table() == ROWS
        namespace.drop_table({"id": ["t"]})
        quiet_lake.put("t", THEIRS)
        with pytest.raises(ConcurrentModificationError, match="dropped and created again"):
            pinned.open()
