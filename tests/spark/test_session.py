"""The settings of a local Spark session and of its workers."""

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


def test_the_session_uses_only_loopback_and_utc(spark: Any) -> None:
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


def test_a_running_session_is_reused(spark: Any) -> None:
    before = os.environ["JAVA_HOME"]
    again = local_session(settings={"spark.sql.shuffle.partitions": "3"})
    try:
        assert again.sparkContext is spark.sparkContext
        assert again.conf.get("spark.sql.shuffle.partitions") == "3"
        assert os.environ["JAVA_HOME"] == before
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


def test_a_frame_is_saved_in_a_thread_that_requests_the_session(lake: Lake, spark: Any) -> None:
    def save(number: int) -> None:
        local_session()
        lake.save(spark.range(number, number + 1), "t")

    lake.save(spark.range(0), "t")
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(save, range(4))) == [None] * 4
    assert sorted(row.id for row in lake.load("t").collect()) == [0, 1, 2, 3]


def test_the_size_of_a_batch_is_not_computed_for_each_row(spark: Any) -> None:
    # Below the largest integer, Spark computes the size of the whole batch again for each row.
    limit = spark._jsparkSession.sessionState().conf().arrowMaxBytesPerBatch()
    assert limit == spark._jvm.java.lang.Integer.MAX_VALUE


@pytest.mark.parametrize("setting", ["BOUNDS_CHECKING_ENABLED", "NULL_CHECKING_ENABLED"])
def test_arrow_does_not_repeat_the_checks_of_spark(spark: Any, setting: str) -> None:
    arrow = spark._jvm.org.apache.arrow
    holder = {
        "BOUNDS_CHECKING_ENABLED": arrow.memory.BoundsChecking,
        "NULL_CHECKING_ENABLED": arrow.vector.NullCheckingForGet,
    }[setting]
    assert getattr(holder, setting) is False


def test_workers_use_large_pages(spark: Any) -> None:
    value = spark.range(1).rdd.map(lambda _: os.environ.get("GLIBC_TUNABLES")).first()
    assert value == os.environ.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")


def test_garbage_collections_of_a_worker_skip_loaded_modules(spark: Any) -> None:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        assert sum(batch.num_rows for batch in batches) == 1
        yield pa.record_batch({"process": [os.getpid()], "kept": [gc.get_freeze_count()]})

    kept: dict[int, int] = {}
    for _ in range(20):
        (row,) = map_in_arrow(spark.range(1).coalesce(1), look, "process long, kept long").collect()
        if row.process in kept:  # Spark reused a worker
            break
        kept[row.process] = row.kept
    assert row.process in kept
    assert row.kept > 10_000
