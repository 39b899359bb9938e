"""`write_table` writes a DataFrame to a table in one commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableSchemaValidationError,
)
from lance_namespace_impls.spark import Written, protocol_error_in, write_table
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark one")


def test_each_write_mode(lake: Lake, spark: Any) -> None:
    namespace = lake.namespace
    frame = spark.range(0, 6, 1, 3)
    with pytest.raises(TableNotFoundError):
        write_table(frame, namespace, "t", "append")
    assert write_table(frame, namespace, "t", properties={"owner": "ana"}) == Written(
        version=1, rows=6
    )
    assert namespace.describe_table({"id": ["t"]}).properties == {"owner": "ana"}
    with pytest.raises(TableAlreadyExistsError):
        write_table(frame, namespace, "t")
    assert write_table(frame, namespace, "t", "exist_ok") == Written(version=1, rows=0)
    assert write_table(frame.limit(2), namespace, ["t"], "append") == Written(version=2, rows=2)
    assert lake.values() == sorted([*range(6), 0, 1])
    other = frame.selectExpr("id", "'x' AS s")
    with pytest.raises(TableSchemaValidationError):
        write_table(other, namespace, "t", "append")
    assert write_table(other, namespace, "t", "overwrite", if_version=2).version == 3
    assert lake.dataset("t").schema.names == ["id", "s"]
    with pytest.raises(InvalidInputError):
        write_table(frame, namespace, "t", "replace")
    assert lake.notes() == []


def test_an_overwrite_requires_the_version_in_if_version(
    lake: Lake, spark: Any, before_commit: Callable[..., None]
) -> None:
    lake.put("t", pa.table({"id": [1]}))
    lake.put("t", pa.table({"id": [2]}), mode="append")
    files = lake.data_files("t")
    with pytest.raises(ConcurrentModificationError, match="has version 2, not 1"):
        write_table(spark.range(3), lake.namespace, "t", "overwrite", if_version=1)
    assert (lake.values(), lake.data_files("t"), lake.notes()) == ([1, 2], files, [])
    before_commit(lambda: lake.put("t", pa.table({"id": [9]}), mode="append"))
    with pytest.raises(ConcurrentModificationError):
        write_table(spark.range(3), lake.namespace, "t", "overwrite", if_version=2)
    assert lake.values() == [1, 2, 9]
    assert lake.notes() == []
    with pytest.raises(ConcurrentModificationError, match="has version 3, not 0"):
        write_table(spark.range(3), lake.namespace, "t", "overwrite", if_version=0)


def test_a_row_that_fails_leaves_no_table(lake: Lake, spark: Any) -> None:
    # Use one task: Spark kills the other tasks of a failed job, and their files may remain.
    frame = spark.range(0, 4, 1, 1).selectExpr("id", "assert_true(id < 3) AS bad")
    with pytest.raises(Exception, match="is not true"):
        write_table(frame, lake.namespace, "t")
    assert list(lake.namespace.iter_tables()) == []
    frame = spark.sql("SELECT 1e300 AS x")
    lake.put("t", pa.table({"x": pa.array([1.0], pa.float32())}))
    with (
        pytest.warns(UserWarning, match="digits may be lost in x"),
        pytest.raises(Exception) as caught,
    ):
        write_table(frame, lake.namespace, "t", "append")
    assert isinstance(protocol_error_in(caught.value), TableSchemaValidationError)
    assert lake.dataset("t").version == 1
    assert lake.notes() == []
