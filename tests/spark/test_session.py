"""Starting Spark, and what stands in its way."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.spark import extra, local_session
from tests.spark.conftest import Lake


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    with pytest.raises(InvalidInputError, match=r"pip install 'lance-namespace-kit\[spark\]'"):
        local_session()


def test_the_session_talks_on_this_machine_only_and_in_utc(spark: Any) -> None:
    settings = dict(spark.sparkContext.getConf().getAll())
    assert settings["spark.driver.host"] == "127.0.0.1"
    assert settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.ui.enabled"] == "false"
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
