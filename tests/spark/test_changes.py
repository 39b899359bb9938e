"""`merge_into` and `delete`: many workers, one commit."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.spark import delete, merge_into
from lance_namespace_impls.spark.dml import Change
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark two")

STREAMS = 6
ROWS = pa.table({"id": range(100), "s": ["old"] * 100})


def held(lake: Lake) -> dict[int, str]:
    rows = lake.dataset("t").to_table().to_pylist()
    assert len({row["id"] for row in rows}) == len(rows), "a row is there twice"
    return {row["id"]: row["s"] for row in rows}


@pytest.fixture
def table(lake: Lake) -> Lake:
    lake.put("t", ROWS, max_rows_per_file=30)
    return lake


WAYS: list[tuple[dict[str, str], Callable[[int], str | None], tuple[int, int, int]]] = [
    ({}, lambda n: "old" if n < 90 else "new", (20, 10, 0)),
    ({"when_matched": "delete"}, lambda n: "old" if n < 90 else None if n < 100 else "new", (20, 0, 10)),
    ({"when_matched": "keep"}, lambda n: "old" if n < 100 else "new", (20, 0, 0)),
    ({"when_not_matched": "ignore"}, lambda n: "old" if n < 90 else "new" if n < 100 else None, (0, 10, 0)),
    ({"when_not_matched_by_source": "delete"}, lambda n: None if n < 90 else "new", (20, 10, 90)),
    (
        {"when_matched": "keep", "when_not_matched": "ignore", "when_not_matched_by_source": "delete"},
        lambda n: "old" if 90 <= n < 100 else None,
        (0, 0, 90),
    ),
    ({"when_matched": "keep", "when_not_matched": "ignore"}, lambda n: "old" if n < 100 else None, (0, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("ways", "expected", "counts"), WAYS, ids=lambda each: "" if callable(each) else str(each)[:60]
)
def test_rows_are_merged_in_one_commit(
    table: Lake,
    spark: Any,
    ways: dict[str, Any],
    expected: Callable[[int], str | None],
    counts: tuple[int, int, int],
) -> None:
    source = spark.range(90, 120, 1, 3).selectExpr("id", "'new' AS s")
    change = merge_into(source, table.namespace, "t", "id", **ways)
    assert held(table) == {n: value for n in range(120) if (value := expected(n))}
    version = 2 if any(counts) else 1
    assert change == Change(
        version=version, inserted=counts[0], updated=counts[1], deleted=counts[2]
    )
    assert table.dataset("t").version == version
    assert table.data_files("t") == table.used_files() | {
        file.path
        for each in table.dataset("t").checkout_version(1).get_fragments()
        for file in each.data_files()
    }
    assert table.notes() == []


def test_null_keys_match_nothing_and_several_columns_form_a_key(lake: Lake, spark: Any) -> None:
    rows = pa.table({"id": [1, 2, None], "k": ["a", "b", None], "s": ["old"] * 3})
    lake.put("t", rows)
    source = spark.sql(
        "SELECT * FROM VALUES (1, 'a', 'new'), (2, 'x', 'new'), (NULL, NULL, 'new') AS t(id, k, s)"
    ).selectExpr("bigint(id) AS id", "k", "s")
    change = merge_into(source, lake.namespace, ["t"], ["id", "k"])
    assert (change.inserted, change.updated, change.deleted) == (2, 1, 0)
    found = sorted(map(str, lake.dataset("t").to_table().to_pylist()))
    assert len(found) == 5
    assert sum("'old'" in row for row in found) == 2


@pytest.mark.parametrize(("key", "way"), [(5, "update"), (500, "update"), (500, "keep")])
def test_duplicate_source_keys_are_rejected_and_leave_nothing(
    table: Lake, spark: Any, key: int, way: str
) -> None:
    files = table.data_files("t")
    source = spark.sql(f"SELECT bigint({key}) AS id, 'a' AS s UNION ALL SELECT {key}, 'b'")
    with pytest.raises(InvalidInputError, match=f"2 of the rows to merge have the key id = {key}"):
        merge_into(source, table.namespace, "t", "id", when_matched=way)
    assert (table.dataset("t").version, table.data_files("t")) == (1, files)
    assert table.notes() == []


def test_a_merge_by_another_client_right_before_the_commit_is_a_conflict(
    table: Lake, spark: Any, before_commit: Callable[..., None]
) -> None:
    def merge() -> None:
        theirs = table.namespace.table("t").merge_insert("id").when_not_matched_insert_all()
        assert theirs.execute([{"id": 110, "s": "theirs"}]).num_inserted_rows == 1

    before_commit(merge, "_commit_on_top")
    source = spark.range(90, 120, 1, 3).selectExpr("id", "'new' AS s")
    with pytest.raises(ConcurrentModificationError, match="was changed by another writer"):
        merge_into(source, table.namespace, "t", "id")
    assert table.dataset("t").count_rows("id = 110") == 1
    assert "new" not in held(table).values()


@pytest.mark.slow
def test_concurrent_streams_that_merge_insert_a_new_key_once(
    lake: Lake, spark: Any, tmp_path: Path
) -> None:
    lake.put("t", ROWS)
    start = threading.Barrier(STREAMS)
    answers: list[Change | ConcurrentModificationError] = []

    def merge(batch: Any, number: int) -> None:
        start.wait(120)
        try:
            with connect("dir", lake.properties) as namespace:
                answers.append(merge_into(batch, namespace, "t", "id"))
        except ConcurrentModificationError as error:
            answers.append(error)

    streams = []
    for number in range(STREAMS):
        source = tmp_path / f"source-{number}"
        source.mkdir()
        (source / "rows.json").write_text(json.dumps({"id": 500, "s": f"writer {number}"}))
        rows = spark.readStream.schema("id bigint, s string").json(str(source))
        writer = rows.writeStream.foreachBatch(merge).trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(tmp_path / f"checkpoint-{number}"))
        streams.append(writer.start())
    for stream in streams:
        assert stream.awaitTermination(300)
        assert stream.exception() is None
    done = [each for each in answers if isinstance(each, Change)]
    assert len(answers) == STREAMS
    assert sum(each.inserted for each in done) == 1
    assert sum(each.updated for each in done) == len(done) - 1
    assert sorted(held(lake)) == [*range(100), 500]


@pytest.mark.parametrize("theirs", ["append", "overwrite", "delete"])
def test_a_concurrent_change_conflicts_and_nothing_is_merged(
    table: Lake, spark: Any, before_commit: Callable[..., None], theirs: str
) -> None:
    def change() -> None:
        if theirs == "delete":
            table.dataset("t").delete("id = 95")
        else:
            table.put("t", pa.table({"id": [110], "s": ["theirs"]}), mode=theirs)

    before_commit(change)
    source = spark.range(90, 120, 1, 3).selectExpr("id", "'new' AS s")
    with pytest.raises(ConcurrentModificationError, match="was changed by another writer"):
        merge_into(source, table.namespace, "t", "id")
    assert "new" not in held(table).values()
    assert table.dataset("t").version == 2
    assert table.notes() == []


def test_rows_are_deleted_in_one_commit(table: Lake, spark: Any) -> None:
    change = delete(spark, table.namespace, "t", "id < 45 OR id = 99")
    assert change == Change(version=2, deleted=46)
    assert sorted(held(table)) == list(range(45, 99))
    assert delete(spark, table.namespace, "t", "id < 45") == Change(version=2)
    assert delete(spark, table.namespace, "t", "true") == Change(version=3, deleted=54)
    assert table.dataset("t").get_fragments() == []
    assert table.notes() == []


def test_a_delete_tolerates_a_concurrent_append_but_not_a_delete(
    table: Lake, spark: Any, before_commit: Callable[..., None]
) -> None:
    theirs = pa.table({"id": [200], "s": ["theirs"]})
    before_commit(lambda: table.put("t", theirs, mode="append"))
    assert delete(spark, table.namespace, "t", "id < 10").version == 3
    assert table.values() == [*range(10, 100), 200]
    before_commit(lambda: table.dataset("t").delete("id < 20"))
    with pytest.raises(ConcurrentModificationError):
        delete(spark, table.namespace, "t", "id < 15")
    assert table.values() == [*range(20, 100), 200]


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda n, f: merge_into(f, n, "nowhere", "id"), TableNotFoundError),
        (lambda n, f: merge_into(f, n, "declared", "id"), InvalidTableStateError),
        (lambda n, f: merge_into(f, n, "t", "z"), TableColumnNotFoundError),
        (lambda n, f: merge_into(f, n, "t", []), TableColumnNotFoundError),
        (lambda n, f: merge_into(f.drop("s"), n, "t", "id"), TableSchemaValidationError),
        (lambda n, f: merge_into(f.selectExpr("*", "1 AS z"), n, "t", "id"), TableSchemaValidationError),
        (lambda n, f: merge_into(f.selectExpr("id", "1 AS s"), n, "t", "id"), TableSchemaValidationError),
        (lambda n, f: merge_into(f, n, "t", "id", when_matched="replace"), InvalidInputError),
        (lambda n, f: delete(f.sparkSession, n, "nowhere", "id = 1"), TableNotFoundError),
        (lambda n, f: delete(f.sparkSession, n, "t", "id ==== 1"), InvalidInputError),
    ],
)  # fmt: skip
def test_invalid_changes_are_rejected_and_change_nothing(
    table: Lake, spark: Any, act: Callable[[Any, Any], object], error: type[LanceNamespaceError]
) -> None:
    table.namespace.declare_table({"id": ["declared"]})
    with pytest.raises(error):
        act(table.namespace, spark.range(3).selectExpr("id", "'new' AS s"))
    assert table.dataset("t").version == 1
    assert table.notes() == []
