"""`create_index`: an index built in parts by many workers, and committed once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableNotFoundError,
)
from lance_namespace_client.models import CreateTableIndexRequest
from lance_namespace_impls.distributed import index_build
from lance_namespace_impls.distributed.index_build import IndexBuild, IndexBuilt
from lance_namespace_impls.distributed.runners import ThreadRunner
from lance_namespace_impls.maintenance import IndexWish, Selection, Upkeep, maintain
from lance_namespace_impls.spark import create_index
from lance_namespace_impls.tables.orphans import find_orphans
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark two")

ROWS, DIMENSION, FRAGMENTS = 6000, 16, 6
QUERIES = 50
REPEATS = int(os.environ.get("LANCE_NS_KILLED_BUILDS", "5"))


def vectors(rows: int, seed: int = 1) -> Any:
    """Return vectors in 40 clusters."""
    random = np.random.default_rng(seed)
    centers = np.random.default_rng(0).normal(size=(40, DIMENSION))
    noise = random.normal(size=(rows, DIMENSION)) * 0.4
    return (centers[random.integers(0, 40, rows)] + noise).astype("float32")


def rows_from(first: int, rows: int) -> pa.Table:
    numbers = range(first, first + rows)
    flat = pa.array(vectors(rows, seed=first + 1).reshape(-1))
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "kind": [f"k{n % 7}" for n in numbers],
            "text": [f"word{n % 100} The Houses" for n in numbers],
            "tags": [[f"t{n % 3}", f"u{n % 5}"] for n in numbers],
            "v": pa.FixedSizeListArray.from_arrays(flat, DIMENSION),
        }
    )


@pytest.fixture
def table(lake: Lake) -> Lake:
    lake.put("t", rows_from(0, ROWS), max_rows_per_file=ROWS // FRAGMENTS)
    return lake


@pytest.fixture
def quiet(quiet_lake: Lake) -> Lake:
    quiet_lake.put("t", rows_from(0, ROWS), max_rows_per_file=ROWS // FRAGMENTS)
    return quiet_lake


def build(lake: Lake, column: str, kind: str, tasks: int = FRAGMENTS, **options: Any) -> IndexBuilt:
    """Build an index without Spark."""
    request = CreateTableIndexRequest.coerce(
        {"id": ["t"], "column": column, "index_type": kind, **options}
    )
    return IndexBuild(lake.target(), request, ThreadRunner(2), tasks).run()


def segments(lake: Lake) -> set[str]:
    """Return the folders of all segments, committed or not."""
    return {path.name for path in Path(lake.path("t"), "_indices").glob("*")}


def committed(lake: Lake) -> set[str]:
    indices = lake.dataset("t").describe_indices()
    return {str(segment.uuid) for index in indices for segment in index.segments}


def found(dataset: Any, query: Any, column: str = "v", **options: Any) -> list[int]:
    nearest = {"column": column, "q": query, "k": 10, "nprobes": 4, **options}
    rows = dataset.scanner(columns=["id", "_distance"], nearest=nearest).to_table()
    return [int(number) for number in rows["id"].to_pylist()]


def recall(dataset: Any, metric: str) -> float:
    queries = vectors(QUERIES, seed=99)
    hits = 0
    for query in queries:
        exact = found(dataset, query, metric=metric, use_index=False)
        hits += len(set(exact) & set(found(dataset, query, refine_factor=5)))
    return hits / (10 * QUERIES)


@pytest.mark.parametrize(
    ("kind", "metric", "count"),
    [
        ("IVF_PQ", "l2", 1),
        ("IVF_PQ", "cosine", 1),
        ("IVF_PQ", "dot", 1),  # built in one part: see `IndexBuild._is_whole`
        ("IVF_FLAT", "l2", 1),
        ("IVF_SQ", "cosine", 2),
        ("IVF_RQ", "l2", 1),
        ("IVF_HNSW_SQ", "l2", 2),
        ("IVF_HNSW_FLAT", "dot", 2),
    ],
)
def test_a_vector_index_has_the_recall_of_one_built_in_one_process(
    table: Lake, spark: Any, kind: Any, metric: Any, count: int
) -> None:
    options: dict[str, Any] = {"num_partitions": 8, "distance_type": metric}
    if "HNSW" in kind:
        options |= {"m": 8, "ef_construction": 40}
    if kind.endswith("_PQ"):
        options |= {"num_sub_vectors": 8}
    table.namespace.create_table_index(
        {"id": ["t"], "column": "v", "index_type": kind, "name": "one", **options}
    )
    expected = recall(table.dataset("t"), metric)
    table.dataset("t").drop_index("one")
    built = create_index(spark, table.namespace, "t", "v", index_type=kind, **options)
    assert built == IndexBuilt(
        name="v_idx",
        index_type=kind,
        version=4,
        rows=ROWS,
        segments=count,
        fragments=FRAGMENTS,
        resumed=0,
    )
    dataset = table.dataset("t")
    (index,) = dataset.describe_indices()
    assert index.details["metric_type"].lower() == metric
    assert recall(dataset, metric) >= expected - 0.05  # k-means starts with random vectors
    plan = dataset.scanner(nearest={"column": "v", "q": [0.0] * DIMENSION, "k": 1}).explain_plan()
    assert "ANN" in plan
    assert committed(table) <= segments(table)
    assert table.notes() == []


@pytest.mark.parametrize(
    ("column", "kind", "condition", "options"),
    [
        ("id", "BTREE", "id BETWEEN 990 AND 1010", {}),
        ("kind", "BITMAP", "kind = 'k3'", {}),
        ("id", "ZONEMAP", "id < 17", {}),
        ("id", "BLOOMFILTER", "id = 4711", {}),
        ("tags", "LABEL_LIST", "array_has_any(tags, ['t1'])", {}),
        ("text", "NGRAM", "contains(text, 'ord77')", {}),
    ],
)
def test_a_scalar_index_answers_filters(
    table: Lake, spark: Any, column: str, kind: Any, condition: str, options: Any
) -> None:
    expected = table.dataset("t").to_table(filter=condition)["id"].to_pylist()
    built = create_index(spark, table.namespace, "t", column, index_type=kind, tasks=3, **options)
    assert (built.rows, built.segments, built.resumed) == (ROWS, 1, 0)
    dataset = table.dataset("t")
    assert built.name in dataset.scanner(filter=condition).explain_plan()
    assert sorted(dataset.to_table(filter=condition)["id"].to_pylist()) == expected
    assert table.notes() == []


def test_a_full_text_index_uses_its_tokenizer_options(table: Lake, spark: Any) -> None:
    create_index(
        spark,
        table.namespace,
        "t",
        "text",
        index_type="FTS",
        with_position=True,
        stem=False,
        lower_case=False,
        remove_stop_words=False,
    )
    (index,) = table.dataset("t").describe_indices()
    details = index.details
    assert (details["with_position"], details["stem"], details["lower_case"]) == (
        True,
        False,
        False,
    )
    search = table.namespace.query_table
    for words, count in (("Houses", ROWS), ("houses", 0), ("House", 0), ("The", ROWS)):
        request = {"id": ["t"], "k": ROWS, "full_text_query": {"string_query": {"query": words}}}
        assert search(request).read_all().num_rows == count
    phrase = {"phrase": {"terms": "word7 The", "column": "text"}}
    request = {"id": ["t"], "k": ROWS, "full_text_query": {"structured_query": {"query": phrase}}}
    assert search(request).read_all().num_rows == ROWS // 100


def test_an_index_of_few_or_no_rows(quiet_lake: Lake) -> None:
    quiet_lake.put("t", rows_from(0, 300), max_rows_per_file=100)
    built = build(quiet_lake, "v", "IVF_PQ")
    assert (built.rows, built.segments, built.fragments) == (300, 1, 3)
    assert build(quiet_lake, "id", "BTREE").rows == 300
    quiet_lake.put("t", rows_from(0, 0), mode="overwrite")
    assert build(quiet_lake, "id", "BTREE", name="none").rows == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"column": "nope"}, TableColumnNotFoundError, "nope"),
        ({"index_type": "IVF"}, InvalidInputError, "index type 'IVF' is not supported"),
        ({"index_type": "BTREE"}, InvalidInputError, "BTree|BTREE|btree"),
        ({"num_sub_vectors": 5}, InvalidInputError, "divisible by num_sub_?vectors"),
        ({"distance_type": "far"}, InvalidInputError, "far"),
        ({"num_partitions": 0}, InvalidInputError, "num_partitions"),
        ({"partitions": 3}, InvalidInputError, "partitions"),
        ({"tasks": 0}, InvalidInputError, "tasks"),
    ],
)
def test_invalid_index_arguments_change_nothing(
    table: Lake, spark: Any, options: Any, error: Any, message: str
) -> None:
    options = {"column": "v", **options}
    with pytest.raises(error, match=message):
        create_index(spark, table.namespace, "t", **options)
    assert table.dataset("t").version == 1
    assert segments(table) == set()
    assert table.notes() == []


def test_a_name_in_use_is_an_error_unless_it_is_replaced(table: Lake, spark: Any) -> None:
    create_index(spark, table.namespace, "t", "id", index_type="BTREE")
    before = committed(table)
    with pytest.raises(TableIndexAlreadyExistsError):
        create_index(spark, table.namespace, "t", "id", index_type="BTREE")
    assert committed(table) == before
    built = create_index(spark, table.namespace, "t", "id", index_type="BTREE", replace=True)
    assert (built.version, built.rows) == (3, ROWS)
    assert len(committed(table)) == 1
    assert not committed(table) & before
    with pytest.raises(TableNotFoundError):
        create_index(spark, table.namespace, "none", "id", index_type="BTREE")
    table.namespace.declare_table({"id": ["empty"]})
    with pytest.raises(InvalidTableStateError):
        create_index(spark, table.namespace, "empty", "id", index_type="BTREE")


def before_commit(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], times: int = 1
) -> None:
    real, left = index_build.commit_onto, [times]

    def commit(*args: Any) -> int:
        if left[0]:
            left[0] -= 1
            act()
        return real(*args)

    monkeypatch.setattr(index_build, "commit_onto", commit)


def test_concurrent_appends_and_deletes_do_not_conflict(
    quiet: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def theirs() -> None:
        quiet.put("t", rows_from(ROWS, 10), mode="append")
        quiet.dataset("t").delete("id = 5")

    before_commit(monkeypatch, theirs)
    built = build(quiet, "id", "BTREE")
    assert (built.version, built.rows, built.fragments) == (4, ROWS - 1, FRAGMENTS)
    assert quiet.dataset("t").count_rows(f"id IN (5, 6, {ROWS + 1})") == 2


@pytest.mark.parametrize(("column", "kind"), [("id", "BTREE"), ("v", "IVF_HNSW_SQ")])
def test_parts_of_compacted_fragments_are_rebuilt(
    quiet: Lake, monkeypatch: pytest.MonkeyPatch, column: str, kind: str
) -> None:
    def theirs() -> None:
        quiet.dataset("t").delete("id < 900")
        quiet.dataset("t").optimize.compact_files(target_rows_per_fragment=1000)

    before_commit(monkeypatch, theirs)
    built = build(quiet, column, kind)
    dataset = quiet.dataset("t")
    assert built.rows == ROWS - 900 == dataset.count_rows()
    assert dataset.count_rows("id IN (899, 900, 901, 5999)") == 3
    assert segments(quiet) == committed(quiet)
    assert quiet.notes() == []


def test_overwrites_before_every_commit_conflict(
    quiet: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def theirs() -> None:
        quiet.put("t", rows_from(0, 10), mode="overwrite")

    monkeypatch.setattr(index_build, "COMMIT_ATTEMPTS", 3)
    before_commit(monkeypatch, theirs, times=3)
    with pytest.raises(ConcurrentModificationError):
        build(quiet, "id", "BTREE")
    assert committed(quiet) == set()


class Killed(BaseException):
    """Simulates the end of a driver process."""


@pytest.mark.parametrize(
    ("column", "kind"), [("v", "IVF_PQ"), ("v", "IVF_SQ"), ("id", "BTREE"), ("text", "FTS")]
)
def test_a_killed_build_is_resumed_with_its_parts(
    quiet: Lake, monkeypatch: pytest.MonkeyPatch, column: str, kind: str
) -> None:
    real, calls = index_build._segment, []

    def segment(dataset: Any, planned: Any, attempts: Any, fragments: list[int]) -> Any:
        calls.append(fragments)
        if len(calls) > limit[0]:
            raise Killed
        return real(dataset, planned, attempts, fragments)

    limit = [3]
    monkeypatch.setattr(index_build, "_segment", segment)
    request = CreateTableIndexRequest(id=["t"], column=column, index_type=kind)
    with pytest.raises(Killed):
        IndexBuild(quiet.target(), request, ThreadRunner(1), FRAGMENTS).run()
    assert len(segments(quiet)) == 3
    assert committed(quiet) == set()
    assert find_orphans(quiet.dataset("t"), timedelta(hours=1)) == []
    quiet.put("t", rows_from(ROWS, 1000), mode="append")
    before, calls[:], limit[:] = segments(quiet), [], [FRAGMENTS]
    built = build(quiet, column, kind)
    assert sorted(number for part in calls for number in part) == [3, 4, 5, 6]
    assert (built.rows, built.fragments, built.resumed) == (ROWS + 1000, FRAGMENTS + 1, 3)
    assert segments(quiet) == committed(quiet)
    assert (kind == "IVF_SQ") == bool(before & committed(quiet))
    assert quiet.notes() == []


def test_a_build_killed_after_its_commit_is_complete(
    quiet: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = index_build.commit_onto

    def commit(*args: Any) -> int:
        real(*args)
        raise Killed

    monkeypatch.setattr(index_build, "commit_onto", commit)
    with pytest.raises(Killed):
        build(quiet, "id", "BTREE")
    assert len(segments(quiet)) == FRAGMENTS + 1
    monkeypatch.setattr(index_build, "commit_onto", None)
    assert build(quiet, "id", "BTREE").rows == ROWS
    assert segments(quiet) == committed(quiet)
    assert quiet.dataset("t").version == 2
    assert quiet.notes() == []


def test_parts_of_an_overwritten_table_and_lost_files_are_not_used(
    quiet: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(*_: Any) -> int:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(index_build, "commit_onto", end)
        with pytest.raises(Killed):
            build(quiet, "v", "IVF_SQ")
    lost = sorted(segments(quiet))[0]
    next(Path(quiet.path("t"), "_indices", lost).glob("*.idx")).unlink()
    with monkeypatch.context() as patch:
        patch.setattr(index_build, "commit_onto", end)
        with pytest.raises(Killed):
            build(quiet, "v", "IVF_SQ")
    assert len(segments(quiet)) == FRAGMENTS + 1
    quiet.put("t", rows_from(0, ROWS), max_rows_per_file=1000, mode="overwrite")
    assert build(quiet, "v", "IVF_SQ").resumed == 0
    assert segments(quiet) == committed(quiet)


def test_maintain_removes_the_parts_of_an_abandoned_build(
    quiet: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(*_: Any) -> int:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(index_build, "commit_onto", end)
        with pytest.raises(Killed):
            build(quiet, "v", "IVF_PQ")
    upkeep = Upkeep(compact=False, orphans_older_than=timedelta(0))
    (row,) = maintain(quiet.namespace, Selection(), upkeep)
    assert row.problem is None
    assert row.orphans_deleted >= 2 * FRAGMENTS
    assert not [path for path in Path(quiet.path("t"), "_indices").rglob("*") if path.is_file()]
    assert not list(Path(quiet.path("t"), "_transactions").rglob("*.json"))


def test_maintain_rejects_unknown_options(quiet: Lake) -> None:
    wish = IndexWish(column="v", type="IVF_PQ", options={"partitions": 3})
    with pytest.raises(InvalidInputError, match="partitions"):
        maintain(quiet.namespace, Selection(), Upkeep(indices=[wish]))
    assert quiet.dataset("t").version == 1


def test_maintain_builds_indices_in_parts(table: Lake, spark: Any) -> None:
    wishes = [
        IndexWish(column="v", type="IVF_PQ", options={"distance_type": "cosine"}),
        IndexWish(column="text", type="FTS"),
    ]
    (row,) = maintain(
        table.namespace, Selection(), Upkeep(compact=False, indices=wishes), spark=spark
    )
    assert (row.problem, row.indices_created, row.version) == (None, ("v", "text"), 3)
    found = {i.name: i for i in table.dataset("t").describe_indices()}
    assert {index.num_rows_indexed for index in found.values()} == {ROWS}
    assert found["v_idx"].details["metric_type"].lower() == "cosine"
    table.put("t", rows_from(ROWS, 500), mode="append")
    (row,) = maintain(table.namespace, Selection(), Upkeep(compact=False), spark=spark)
    assert row.indices_updated == ("text_idx", "v_idx")
    assert {i.num_rows_indexed for i in table.dataset("t").describe_indices()} == {ROWS + 500}


BUILD = """
import sys
from lance_namespace_impls import connect
from lance_namespace_impls.spark import create_index, local_session

spark = local_session("killed", cores=2)
lake = connect("dir", {"path": sys.argv[1]})
print(create_index(spark, lake, "t", "v", index_type=sys.argv[2], num_partitions=4, tasks=10), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["IVF_PQ", "IVF_HNSW_SQ"])
@pytest.mark.parametrize("number", range(REPEATS))
def test_a_build_resumes_after_its_driver_is_killed(tmp_path: Path, kind: str, number: int) -> None:
    lake = Lake(tmp_path / "lake")
    lake.put("t", rows_from(0, 40_000), max_rows_per_file=2000)
    command = [sys.executable, "-c", BUILD, str(lake.root), kind]
    with subprocess.Popen(command, start_new_session=True) as driver:
        parts = lake.root / "t.lance" / "_transactions"
        while len(list(parts.glob("*/*.json"))) <= number % 7 + 1:
            assert driver.poll() is None, "the build ended first"
            time.sleep(0.01)
        os.killpg(driver.pid, signal.SIGKILL)
    done = len(list(parts.glob("*/*.json")))
    assert committed(lake) == set()
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    resumed = int(text.rsplit("resumed=", 1)[1].rstrip(")\n"))
    assert resumed >= 2 * done - 2, f"{done} parts, and {text}"
    (index,) = lake.dataset("t").describe_indices()
    assert index.num_rows_indexed == 40_000
    assert lake.notes() == []
    (row,) = maintain(
        lake.namespace, Selection(), Upkeep(compact=False, orphans_older_than=timedelta(0))
    )
    assert row.problem is None
    files = {
        path.parts[-2] for path in Path(lake.path("t"), "_indices").rglob("*") if path.is_file()
    }
    assert files == committed(lake)
    query = vectors(1, seed=5)[0]
    assert len(found(lake.dataset("t"), query)) == 10
