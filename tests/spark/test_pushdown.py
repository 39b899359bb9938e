"""`select`, `where`, `limit` and aggregates of Spark are pushed down to Lance for each query."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

from lance_namespace_client.errors import ErrorCode, InvalidInputError
from lance_namespace_impls.spark import has_pushdown, pushdown_jar
from lance_namespace_impls.spark import pushdown as pushdown_module
from lance_namespace_impls.spark.filters import to_lance
from tests.spark.conftest import Lake, failure_of

pytestmark = [pytest.mark.xdist_group("spark two"), pytest.mark.usefixtures("pushing")]

ROWS = 1000


def rows() -> pa.Table:
    return pa.table(
        {
            "id": range(ROWS),
            "b": [n % 7 for n in range(ROWS)],
            "s": [f"s{n % 100:02}" if n % 10 else None for n in range(ROWS)],
            "x": [float("nan") if n % 50 == 0 else n / 10 for n in range(ROWS)],
            "v": pa.array([[n, 0.5] for n in range(ROWS)], pa.list_(pa.float32(), 2)),
        }
    )


@pytest.fixture
def frame(lake: Lake) -> Any:
    lake.put("t", rows(), max_rows_per_file=150)
    return lake.load("t")


def scans(frame: Any) -> list[str]:
    """Return the descriptions of the Lance scans in Spark's plan of a query."""
    plan = frame._jdf.queryExecution().explainString(
        frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    )
    return re.findall(r"^Lance .*$", plan, re.MULTILINE)


def only_scan(frame: Any) -> str:
    found = scans(frame)
    assert len(found) == 1, found
    return found[0]


def test_the_session_has_the_jar(spark: Any) -> None:
    assert has_pushdown(spark)
    assert Path(pushdown_jar()).exists()


def test_only_the_columns_of_a_query_are_read(frame: Any) -> None:
    assert only_scan(frame) == "Lance columns=[id, b, s, x, v]"
    assert only_scan(frame.select("s", "id")) == "Lance columns=[id, s]"
    assert only_scan(frame.selectExpr("sum(x)")) == "Lance columns=[x]"
    assert only_scan(frame.groupBy("b").count()) == "Lance columns=[b]"
    assert only_scan(frame.where("length(s) > 1").select("id")) == (
        "Lance columns=[id, s] filter=(`s` IS NOT NULL)"
    )
    assert sorted(row.id for row in frame.select("id").collect()) == list(range(ROWS))
    assert frame.groupBy("b").count().where("b = 3").collect()[0]["count"] == 143


def test_a_query_without_columns_reads_the_narrowest_column(frame: Any) -> None:
    ones = frame.selectExpr("1 AS one")
    assert only_scan(ones) == "Lance columns=[id]"
    assert [row.one for row in ones.collect()] == [1] * ROWS
    assert frame.where("id < 10").selectExpr("'x' AS y").groupBy("y").count().collect() == [
        ("x", 10)
    ]


@pytest.mark.parametrize(
    ("where", "pushed", "count"),
    [
        ("id < 10", "(`id` < 10)", 10),
        ("10 > id", "(`id` < 10)", 10),
        ("id BETWEEN 5 AND 9", "(`id` >= 5) AND (`id` <= 9)", 5),
        ("id IN (1, 2, 5000)", "(`id` IN (1, 2, 5000))", 2),
        ("id <=> 3", "(`id` IS NOT NULL AND `id` = 3)", 1),
        ("s IS NULL", "(`s` IS NULL)", 100),
        ("s = 's01' AND b = 1", "(`s` = 's01') AND (`b` = 1)", 2),
        ("s LIKE 's0%'", "starts_with(`s`, 's0')", 90),
        ("s LIKE '%1'", "ends_with(`s`, '1')", 100),
        ("s LIKE '%0%'", "contains(`s`, '0')", 90),
        ("NOT (id < 990 OR b = 1)", None, 9),
        ("x > 90", "(`x` > 90.0 OR isnan(`x`))", 118),
        ("x < 1", "(`x` < 1.0 AND NOT isnan(`x`))", 9),
    ],
)
def test_filters_reach_lance(frame: Any, where: str, pushed: str | None, count: int) -> None:
    scan = only_scan(frame.where(where).select("v"))
    if pushed is not None:
        assert scan == f"Lance columns=[v] filter={pushed}"
    else:
        assert "filter=" in scan
    assert frame.where(where).select("id").toArrow().num_rows == count
    assert frame.where(where).count() == count


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("x = 0", 0),
        ("x = double('NaN')", 20),
        ("x > 0", 1000),
        ("v[0] = 3", 1),
        ("id + 1 = 3", 1),
        ("s LIKE 's_1'", 100),
        ("id = b", 7),
        ("upper(s) = 'S01'", 10),
    ],
)
def test_other_filters_stay_in_spark(frame: Any, where: str, count: int) -> None:
    _, _, pushed = only_scan(frame.where(where).select("id")).partition(" filter=")
    assert all(each.endswith("` IS NOT NULL)") for each in pushed.split(" AND ") if each)
    assert frame.where(where).select("id").toArrow().num_rows == count


def test_queries_of_one_view_are_independent(spark: Any, frame: Any) -> None:
    frame.createOrReplaceTempView("pushed")
    assert (
        spark.sql(
            "SELECT count(*) FROM (SELECT * FROM pushed WHERE id < 20) a "
            "JOIN (SELECT * FROM pushed WHERE b = 1) b ON a.id = b.id"
        ).collect()[0][0]
        == 3
    )
    assert (
        spark.sql(
            "SELECT count(*) FROM pushed WHERE id > (SELECT max(id) FROM pushed WHERE id < 900)"
        ).collect()[0][0]
        == 100
    )
    cached = frame.where("id < 10").cache()
    assert cached.count() == 10
    assert frame.where("id < 10").select("id").toArrow().num_rows == 10
    cached.unpersist()


def test_joins_and_views_prune_both_sides(lake: Lake, spark: Any, frame: Any) -> None:
    lake.put("u", pa.table({"k": [1, 2, 3], "name": ["a", "b", "c"], "more": ["x"] * 3}))
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW pushed_view USING lance_namespace "
        f"OPTIONS (impl 'dir', root '{lake.root}', table 't')"
    )
    lake.load("u").createOrReplaceTempView("pushed_names")
    query = spark.sql(
        "SELECT v.id, n.name FROM pushed_view v JOIN pushed_names n ON v.b = n.k WHERE v.id < 8"
    )
    assert sorted(scans(query)) == [
        "Lance columns=[id, b] filter=(`id` < 8) AND (`b` IS NOT NULL)",
        "Lance columns=[k, name] filter=(`k` IS NOT NULL)",
    ]
    assert sorted(map(tuple, query.collect())) == [(1, "a"), (2, "b"), (3, "c")]
    assert "BroadcastHashJoin" in query._jdf.queryExecution().explainString(
        spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
    )
    assert only_scan(spark.table("pushed_view").where("id = 3").select("s")).startswith(
        "Lance columns=[s] filter="
    )


def test_equal_scans_are_read_once(frame: Any) -> None:
    totals = frame.groupBy("b").agg({"id": "sum"})
    query = totals.union(totals)
    assert len(query.collect()) == 14
    plan = query._jdf.queryExecution().executedPlan().toString()
    assert "ReusedExchange" in plan


@pytest.mark.parametrize("limit", [0, 1, 149, 150, 151, 999, 5000])
def test_limits(frame: Any, limit: int) -> None:
    assert len(frame.select("id").limit(limit).collect()) == min(limit, ROWS)
    assert len(frame.where("id >= 500").select("id").limit(limit).collect()) == min(limit, 500)
    if limit:
        assert only_scan(frame.limit(limit)).endswith(f" limit={limit}")


def test_a_limit_after_a_filter_in_spark_is_not_pushed(frame: Any) -> None:
    query = frame.where("v[0] >= 990").limit(5)
    assert "limit" not in only_scan(query)
    assert len(query.collect()) == 5


def test_counts_come_from_metadata(frame: Any) -> None:
    query = frame.selectExpr("count(*) AS n", "count(1) AS m")
    assert "LocalTableScan" in query._jdf.queryExecution().executedPlan().toString()
    assert query.collect() == [(ROWS, ROWS)]
    assert frame.where("id > 5000").count() == 0


def test_deleted_rows_are_not_counted(lake: Lake, frame: Any) -> None:
    dataset = lake.dataset("t")
    dataset.delete("id < 200 OR b = 3")
    kept = [n for n in range(200, ROWS) if n % 7 != 3]
    now = lake.load("t")
    assert (frame.count(), now.count()) == (ROWS, len(kept))
    assert now.selectExpr("min(id)", "max(id)", "count(s)").collect() == [
        (200, 999, sum(1 for n in kept if n % 10))
    ]
    assert len(now.select("id").limit(50).collect()) == 50


def test_aggregates_are_computed_by_lance(frame: Any) -> None:
    query = frame.where("b = 2").selectExpr(
        "count(*)", "count(s)", "min(id)", "max(s)", "max(id) - min(id)"
    )
    assert "(`b` = 2)" in only_scan(query)
    chosen = [n for n in range(ROWS) if n % 7 == 2]
    texts = [f"s{n % 100:02}" for n in chosen if n % 10]
    expected = (len(chosen), len(texts), chosen[0], max(texts), chosen[-1] - chosen[0])
    assert query.collect() == [expected]
    assert frame.where("id < 0").selectExpr("count(*)", "max(id)", "min(s)").collect() == [
        (0, None, None)
    ]
    assert str(frame.selectExpr("max(x)").collect()[0][0]) == "nan"
    assert frame.selectExpr("count(DISTINCT b)").collect() == [(7,)]
    assert frame.selectExpr("count(*) FILTER (WHERE b = 2)").collect() == [(len(chosen),)]


@pytest.mark.parametrize("filter", [None, "id > 3"])
def test_a_table_without_fragments(lake: Lake, filter: str | None) -> None:
    lake.put("t", rows().slice(0, 0))
    frame = lake.load("t", **({"filter": filter} if filter else {}))
    assert frame.count() == 0
    assert frame.where("id < 5").count() == 0
    assert frame.selectExpr("count(s)", "max(id)").collect() == [(0, None)]
    assert frame.select("v").limit(3).collect() == []
    assert frame.selectExpr("1").collect() == []


def test_the_options_of_the_reader_still_apply(lake: Lake, frame: Any) -> None:
    part = lake.load("t", filter="id >= 900 OR b = 0", columns="id, s", with_row_id="true")
    expected = [n for n in range(ROWS) if n >= 900 or n % 7 == 0]
    assert part.columns[:2] == ["id", "s"]
    assert part.count() == len(expected)
    few = part.where("id < 50").select("id")
    assert only_scan(few) == "Lance columns=[id] filter=(`id` < 50)"
    assert sorted(row.id for row in few.collect()) == [n for n in expected if n < 50]
    assert part.where("_rowid >= 0").count() == len(expected)


def test_pushdown_can_be_disabled(lake: Lake, frame: Any) -> None:
    plain = lake.load("t", pushdown="false")
    query = plain.where("id < 10").select("s")
    assert only_scan(query) == "Lance columns=[id, s]"
    assert len(query.collect()) == 10
    assert "limit" not in only_scan(plain.limit(3))
    assert plain.count() == ROWS


def test_a_frame_keeps_its_version(lake: Lake, frame: Any) -> None:
    lake.put("t", rows().slice(0, 10), mode="append")
    assert (frame.count(), frame.where("id < 5").count()) == (ROWS, 5)
    assert lake.load("t").where("id < 5").count() == 10
    assert lake.load("t", version="1").count() == ROWS


def test_a_user_specified_schema(lake: Lake, spark: Any, frame: Any) -> None:
    reader = spark.read.format("lance_namespace").options(impl="dir", root=str(lake.root))
    chosen = reader.schema("s string, id long").load("t")
    assert chosen.columns == ["s", "id"]
    assert sorted(row.id for row in chosen.where("s = 's01'").collect()) == list(
        range(1, ROWS, 100)
    )
    assert chosen.count() == ROWS


def test_an_invalid_value_of_pushdown_is_rejected(lake: Lake, frame: Any) -> None:
    wrong = failure_of(lambda: lake.load("t", pushdown="maybe"))
    assert wrong.code is ErrorCode.INVALID_INPUT


def test_an_index_serves_a_pushed_filter(lake: Lake, frame: Any) -> None:
    lake.dataset("t").create_scalar_index("id", "BTREE")
    indexed = lake.load("t")
    assert [row.s for row in indexed.where("id = 321").collect()] == ["s21"]
    assert indexed.where("id IN (1, 2, 3) AND b > 1").count() == 2


def test_an_installation_without_the_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pushdown_module, "_JAR", tmp_path / "none.jar")
    with pytest.raises(InvalidInputError, match="whole tables"):
        pushdown_jar()


SCHEMA = pa.schema(
    [
        pa.field("i8", pa.int8()),
        pa.field("u64", pa.uint64()),
        pa.field("i64", pa.int64()),
        pa.field("f32", pa.float32()),
        pa.field("p", pa.decimal128(5, 2)),
        pa.field("ns", pa.timestamp("ns")),
        pa.field("sec", pa.timestamp("s")),
        pa.field("berlin", pa.timestamp("us", "Europe/Berlin")),
        pa.field("l", pa.list_(pa.int64())),
    ]
)


def compare(column: str, literal: str, kind: str) -> dict[str, Any]:
    return {
        "op": "=",
        "args": [{"field": [column]}, {"literal": literal, "type": f'"{kind}"'}],
    }


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (compare("i8", "127", "byte"), "(`i8` = 127)"),
        (compare("i8", "128", "integer"), None),
        (compare("u64", str(2**64 - 1), "decimal(20,0)"), f"(`u64` = {2**64 - 1})"),
        (compare("u64", "-1", "decimal(20,0)"), None),
        (compare("i64", str(1 - 2**63), "long"), f"(`i64` = {1 - 2**63})"),
        (compare("i64", str(-(2**63)), "long"), None),
        (compare("f32", "0.1", "float"), "(`f32` = 0.10000000149011612)"),
        (compare("f32", "-0.0", "float"), None),
        (compare("f32", "NaN", "float"), None),
        (compare("f32", "Infinity", "float"), None),
        (compare("f32", "0.1", "double"), None),
        (compare("p", "1.50", "decimal(5,2)"), "(`p` = CAST('1.50' AS DECIMAL(5, 2)))"),
        (compare("p", "1.505", "decimal(5,3)"), None),
        (compare("ns", "0", "timestamp_ntz"), None),
        (compare("sec", "1000000", "timestamp_ntz"), "(`sec` = timestamp '1970-01-01 00:00:01.000000')"),
        (compare("sec", "1", "timestamp_ntz"), None),
        (compare("berlin", "0", "timestamp"), None),
        (compare("nope", "0", "long"), None),
        ({"op": "IS_NULL", "args": [{"field": ["l"]}]}, None),
        ({"op": "IS_NULL", "args": [{"field": ["s", "a"]}]}, None),
        ({"op": "NOT", "args": [compare("i8", "300", "integer")]}, None),
        ({"op": "AND", "args": [compare("i8", "1", "byte"), compare("f32", "NaN", "float")]}, None),
        ({"op": "?", "args": []}, None),
        ({"op": "IN", "args": [{"field": ["i8"]}, {"null": '"byte"'}]}, None),
    ],
)  # fmt: skip
def test_literals_that_lance_cannot_represent_are_not_pushed(
    tree: dict[str, Any], expected: str | None
) -> None:
    assert to_lance(tree, SCHEMA) == expected


@pytest.mark.parametrize(
    ("word", "count"), [("AND", 2), ("AND", 60), ("AND", 150), ("OR", 2), ("OR", 60), ("OR", 600)]
)
def test_long_conditions(frame: Any, word: str, count: int) -> None:
    # Two columns, so that Spark does not rewrite them as IN.
    parts = [f"(id = {n} OR b = {100 + n})" for n in range(count)]
    if word == "AND":
        parts = [f"(id <> {n} AND b <> {100 + n})" for n in range(count)]
    found = frame.where(f" {word} ".join(parts)).select("id").toArrow().num_rows
    assert found == (count if word == "OR" else ROWS - count)


def test_deeply_nested_conditions() -> None:
    tree = compare("i8", "1", "byte")
    for number in range(10):
        tree = {"op": ("AND", "OR")[number % 2], "args": [tree, compare("i8", "2", "byte")]}
    assert to_lance(tree, SCHEMA) is not None
    for number in range(20):
        tree = {"op": ("AND", "OR")[number % 2], "args": [tree, compare("i8", "2", "byte")]}
    assert to_lance(tree, SCHEMA) is None


def test_many_threads_use_one_planner(frame: Any) -> None:
    def count(number: int) -> int:
        rows: int = frame.where(f"id < {number}").select("b").toArrow().num_rows
        return rows

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(count, range(1, 13))) == list(range(1, 13))
    assert len(planners(frame.sparkSession)) == 1


def test_a_planner_that_ends_is_replaced(frame: Any) -> None:
    (planner,) = planners(frame.sparkSession)
    planner.kill()
    planner.wait(30)
    assert frame.where("id < 3").select("b").toArrow().num_rows == 3
    (successor,) = planners(frame.sparkSession)
    assert successor.pid != planner.pid


def planners(spark: Any) -> list[psutil.Process]:
    driver = psutil.Process(spark.sparkContext._gateway.proc.pid)
    return [each for each in driver.children(recursive=True) if is_planner(each)]


def is_planner(process: psutil.Process) -> bool:
    try:
        return "lance_namespace_impls.spark.planner" in process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


def test_timestamps_in_every_session_time_zone(
    lake: Lake, spark: Any, set_zone: Callable[[str], None]
) -> None:
    noon = dt.datetime(2020, 2, 29, 12)
    moments = [noon + dt.timedelta(hours=n) for n in range(-24, 25)]
    lake.put(
        "t",
        pa.table({"t": pa.array(moments, pa.timestamp("us", "UTC")), "n": moments}),
    )
    for zone in ("UTC", "America/Los_Angeles", "Asia/Tokyo"):
        set_zone(zone)
        frame = lake.load("t")
        assert frame.where("t >= TIMESTAMP '2020-02-29 12:00:00 UTC'").count() == 25
        assert frame.where("n >= TIMESTAMP_NTZ '2020-02-29 12:00:00'").count() == 25
        assert "filter=" in only_scan(frame.where("t = TIMESTAMP '2020-02-29 12:00:00 UTC'"))


@pytest.fixture
def set_zone(spark: Any) -> Any:
    before = spark.conf.get("spark.sql.session.timeZone")
    yield lambda zone: spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.session.timeZone", before)
