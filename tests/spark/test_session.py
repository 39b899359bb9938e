"""Starting Spark, and what stands in its way."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.distributed.secrets import map_in_arrow
from lance_namespace_impls.spark import local_session
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark one")


def test_the_session_talks_on_this_machine_only_and_in_utc(spark: Any) -> None:
    settings = dict(spark.sparkContext.getConf().getAll())
    assert settings["spark.driver.host"] == "127.0.0.1"
    assert settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.ui.showConsoleProgress"] == "false"
    assert settings["spark.driver.memory"] == "2g"
    assert settings["spark.sql.execution.arrow.pyspark.enabled"] == "true"
    assert settings["spark.python.unix.domain.socket.enabled"] == "true"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.sparkContext.defaultParallelism == 2


def test_a_running_session_is_given_back(spark: Any) -> None:
    before = os.environ["JAVA_HOME"]
    again = local_session(settings={"spark.sql.shuffle.partitions": "3"})
    try:
        assert again.sparkContext is spark.sparkContext
        assert again.conf.get("spark.sql.shuffle.partitions") == "3"
        assert os.environ["JAVA_HOME"] == before
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


def test_a_frame_is_saved_in_a_thread_that_asks_for_the_session(lake: Lake, spark: Any) -> None:
    def save(number: int) -> None:
        local_session()
        lake.save(spark.range(number, number + 1), "t")

    lake.save(spark.range(0), "t")
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(save, range(4))) == [None] * 4
    assert sorted(row.id for row in lake.load("t").collect()) == [0, 1, 2, 3]


def test_rows_go_to_python_without_being_measured_one_by_one(spark: Any) -> None:
    # Below the largest number Spark takes the size of the whole batch again for each row.
    limit = spark._jsparkSession.sessionState().conf().arrowMaxBytesPerBatch()
    assert limit == spark._jvm.java.lang.Integer.MAX_VALUE


@pytest.mark.parametrize("setting", ["BOUNDS_CHECKING_ENABLED", "NULL_CHECKING_ENABLED"])
def test_arrow_does_not_check_what_spark_has(spark: Any, setting: str) -> None:
    arrow = spark._jvm.org.apache.arrow
    holder = {
        "BOUNDS_CHECKING_ENABLED": arrow.memory.BoundsChecking,
        "NULL_CHECKING_ENABLED": arrow.vector.NullCheckingForGet,
    }[setting]
    assert getattr(holder, setting) is False


def test_workers_use_large_pages(spark: Any) -> None:
    value = spark.range(1).rdd.map(lambda _: os.environ.get("GLIBC_TUNABLES")).first()
    assert value == os.environ.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")


def test_a_workers_collections_pass_over_what_it_has_loaded(spark: Any) -> None:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        assert sum(batch.num_rows for batch in batches) == 1
        yield pa.record_batch({"process": [os.getpid()], "kept": [gc.get_freeze_count()]})

    kept: dict[int, int] = {}
    for _ in range(20):
        (row,) = map_in_arrow(spark.range(1).coalesce(1), look, "process long, kept long").collect()
        if row.process in kept:  # Spark took a worker that it had
            break
        kept[row.process] = row.kept
    assert row.process in kept
    assert row.kept > 10_000
