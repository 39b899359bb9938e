"""Queries of one DataFrame return their own rows, independent of the filters of other queries."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lance_namespace_client.errors import ErrorCode
from tests.spark.conftest import Lake, failure_of

pytestmark = pytest.mark.xdist_group("spark two")

SETTING = "spark.sql.python.filterPushdown.enabled"
# Statistics of Parquet files omit NaN, so Spark loses such rows if it relies on the statistics.
TRUSTED = "spark.sql.parquet.filterPushdown"
ZONES = ["UTC", "America/Los_Angeles", "Asia/Tokyo"]
FILTER = "i >= 3 AND d < date '9999-12-31'"
LAST = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
MOMENTS = [
    dt.datetime(1, 1, 2),
    dt.datetime(1582, 10, 4, 23),
    dt.datetime(1582, 10, 10, 12),
    dt.datetime(1582, 10, 15),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(2020, 2, 29, 12, 30, 15, 123456),
    dt.datetime(9999, 12, 30),
    dt.datetime(9999, 12, 31, 15),
    LAST,
    None,
]


def rows(count: int = 1000) -> pa.Table:
    chance = random.Random(1)
    moments = [chance.choice(MOMENTS) for _ in range(count)]
    days = [chance.choice(MOMENTS) for _ in range(count)]
    reals = (0.0, -0.0, 0.5, float("nan"), float("-inf"), None)
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "i": pa.array([chance.choice([*range(7), None]) for _ in range(count)], pa.int32()),
            "x": pa.array([chance.choice(reals) for _ in range(count)], pa.float64()),
            "s": pa.array([chance.choice(["", "a", "a'b", "ä%_", None]) for _ in range(count)]),
            "b": pa.array([chance.choice([True, False, None]) for _ in range(count)]),
            "p": pa.array([Decimal(n % 300) / 100 for n in range(count)], pa.decimal128(10, 2)),
            "t": pa.array(moments, pa.timestamp("us", "UTC")),
            "n": pa.array(moments[::-1], pa.timestamp("us")),
            "d": pa.array([day and day.date() for day in days], pa.date32()),
        }
    )


class QueryGenerator:
    """Generates random conditions and queries.

    Args:
        chance: the source of randomness.
        late: whether timestamps may be after the year 9999 in UTC.
    """

    def __init__(self, chance: random.Random, *, late: bool) -> None:
        self._chance = chance
        self._moments = [m for m in MOMENTS if m and (late or m < dt.datetime(9999, 12, 31))]

    def condition(self, depth: int = 2) -> str:
        kind = self._chance.randrange(4) if depth else 3
        if kind < 2:
            word = ("AND", "OR")[kind]
            return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"
        return f"NOT {self.condition(depth - 1)}" if kind == 2 else self._leaf()

    def _leaf(self) -> str:
        column = self._chance.choice(["id", "i", "x", "s", "b", "p", "t", "n", "d"])
        literal = self._literal(column)
        operator = self._chance.choice(["=", "<", "<=", ">", ">=", "<>", "<=>"])
        return self._chance.choice(
            [
                f"{column} {operator} {literal}",
                f"{column} {operator} {literal}",
                f"{column} IN ({literal}, {self._literal(column)}, NULL)",
                f"{column} IS NULL",
                f"{column} IS NOT NULL",
                f"s LIKE '{self._chance.choice(['a', '%b', '%', 'ä'])}%'",
            ]
        )

    def _literal(self, column: str) -> str:
        pick = self._chance.choice
        match column:
            case "s":
                return pick(["''", "'a'", "'a\\'b'", "'ä%_'"])
            case "x":
                return pick(["0D", "-0D", "0.5D", "double('NaN')", "1e300D"])
            case "b":
                return pick(["true", "false"])
            case "p":
                return pick(["0.10", "2.99", "1", "0.001"])
            case "t":
                return f"TIMESTAMP '{pick(self._moments)}'"
            case "n":
                return f"TIMESTAMP_NTZ '{pick(MOMENTS[:-1])}'"
            case "d":
                return f"DATE '{pick(MOMENTS[:-1]):%4Y-%m-%d}'".replace("' ", "'0")
            case _:
                return str(self._chance.randrange(1000 if column == "id" else 8))

    def part(self) -> str:
        """Return a query with one row: the number of matching rows, and sums that identify them."""
        p, q, view = self.condition(), self.condition(), self._chance.choice(["{all}", "{some}"])
        source = self._chance.choice(
            [
                f"{view} WHERE {p}",
                f"{view} WHERE {p}",
                view,
                f"(SELECT * FROM {view} WHERE {p} UNION ALL SELECT * FROM {view} WHERE {q})",
                f"(SELECT * FROM {view} WHERE {p} UNION ALL SELECT * FROM {view})",
                f"(SELECT a.id, b.i FROM (SELECT * FROM {view} WHERE {p}) a "
                f"JOIN (SELECT * FROM {view} WHERE {q}) b ON a.id = b.id)",
                f"(SELECT a.id, b.i FROM {view} a LEFT JOIN (SELECT * FROM {view} WHERE {q}) b "
                "ON a.id = b.id)",
                f"{view} WHERE id IN (SELECT id FROM {view} WHERE {p})",
                f"{view} WHERE id > (SELECT count(*) FROM {view} WHERE {p})",
                f"{{all}} WHERE {p} AND EXISTS (SELECT 1 FROM {{some}} c WHERE c.id = {{all}}.id)",
            ]
        )
        return f"SELECT count(*) AS c, sum(id) AS s, count(i) AS k FROM {source}"

    def query(self, parts: int = 10) -> str:
        return " UNION ALL ".join(f"SELECT {n} AS n, * FROM ({self.part()})" for n in range(parts))


@pytest.fixture(scope="module")
def asked(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Yield a function that runs a query on the Lance table or on the same rows in Parquet."""
    folder = tmp_path_factory.mktemp("queries")
    lake = Lake(folder / "lake", spark)
    lake.put("t", rows(), max_rows_per_file=150)
    pq.write_table(rows(), folder / "t.parquet")
    lake.load("t", splits="2").createOrReplaceTempView("lance_all")
    lake.load("t", filter=FILTER, splits="2").createOrReplaceTempView("lance_some")
    same = spark.read.parquet(str(folder / "t.parquet"))
    same.createOrReplaceTempView("parquet_all")
    same.where(FILTER).createOrReplaceTempView("parquet_some")

    def ask(query: str, where: str) -> list[tuple[Any, ...]]:
        text = query.replace("{all}", f"{where}_all").replace("{some}", f"{where}_some")
        return sorted(tuple(row) for row in spark.sql(text).collect())

    yield ask
    for view in ("lance_all", "lance_some", "parquet_all", "parquet_some"):
        spark.catalog.dropTempView(view)


@pytest.fixture
def set_up(spark: Any) -> Iterator[Any]:
    """Yield a function that changes Spark's settings until the test ends."""
    before = {key: spark.conf.get(key) for key in ("spark.sql.session.timeZone", SETTING, TRUSTED)}

    def use(zone: str, pushes: str) -> None:
        spark.conf.set("spark.sql.session.timeZone", zone)
        spark.conf.set(SETTING, pushes)
        spark.conf.set(TRUSTED, "false")

    yield use
    for key, value in before.items():
        spark.conf.set(key, value)


def compare_queries(asked: Callable[..., Any], asker: QueryGenerator, queries: int) -> None:
    for _ in range(queries):
        query = asker.query()
        assert asked(query, "lance") == asked(query, "parquet"), query


@pytest.mark.parametrize("pushes", ["false", "true"])
@pytest.mark.parametrize("zone", ZONES)
def test_queries_of_one_view_are_independent(
    asked: Callable[..., Any], set_up: Any, zone: str, pushes: str
) -> None:
    set_up(zone, pushes)
    # If the setting is on, Spark itself cannot pass timestamps after the year 9999 in UTC.
    compare_queries(
        asked, QueryGenerator(random.Random(f"{zone}{pushes}"), late=pushes == "false"), 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("zone", ZONES)
def test_two_thousand_queries(asked: Callable[..., Any], set_up: Any, zone: str) -> None:
    chance = random.Random(zone)
    for pushes in ("false", "true"):
        set_up(zone, pushes)
        compare_queries(asked, QueryGenerator(chance, late=pushes == "false"), 34)


@pytest.mark.parametrize("pushes", ["false", "true"])
def test_one_frame_counted_cached_joined_and_written(
    lake: Lake, spark: Any, set_up: Any, pushes: str
) -> None:
    set_up("UTC", pushes)
    numbers = pa.table({"id": range(1000), "b": [n % 7 for n in range(1000)]})
    lake.put("t", numbers, max_rows_per_file=100)
    frame = lake.load("t")
    assert frame.where("id < 10").count() == 10
    assert frame.count() == 1000
    assert frame.where("b = 1 OR b = 2").count() == 286
    few, many = frame.where("id < 10"), frame.where("id >= 100")
    assert few.union(many).count() == 910
    assert many.union(few).union(frame).count() == 1910
    assert few.alias("f").join(frame.alias("a"), "b").count() == 10 * 143 - 1
    cached = frame.where("id < 10").cache()
    assert (cached.count(), frame.count(), cached.where("id > 4").count()) == (10, 1000, 5)
    cached.unpersist()
    frame.where("id = 5").count()
    lake.save(frame, "copy")
    assert lake.dataset("copy").count_rows() == 1000
    lake.save(few.union(frame.where("id >= 990")), "copy", "overwrite")
    assert lake.dataset("copy").count_rows() == 20


def test_timestamps_after_the_year_9999_and_days_missing_from_the_julian_calendar(
    lake: Lake, spark: Any, set_up: Any
) -> None:
    days = [dt.date(1582, 10, day) for day in (4, 5, 10, 14, 15)]
    lake.put("t", pa.table({"t": pa.array([LAST] * 5, pa.timestamp("us", "UTC")), "d": days}))
    for zone in ZONES:
        set_up(zone, "false")
        frame = lake.load("t")
        assert frame.where("d = DATE '1582-10-10'").count() == 1
        assert frame.where("d < DATE '1582-10-15'").count() == 4
        assert lake.load("t", filter="d < date '1582-10-15'").count() == 4
        assert frame.where(f"t = TIMESTAMP '{LAST} UTC'").count() == 5
        assert frame.where("t < TIMESTAMP '9999-12-31 23:00:00 -08:00'").count() == 5
        assert lake.load("t", filter=f"t = timestamp '{LAST}'").count() == 5


def test_a_filter_by_option_is_applied_by_lance(lake: Lake) -> None:
    lake.put("t", pa.table({"a": range(100), "s": ["x", "y"] * 50}), max_rows_per_file=10)
    frame = lake.load("t", filter="a >= 90 AND s = 'y'", columns="a")
    assert sorted(row.a for row in frame.collect()) == [91, 93, 95, 97, 99]
    assert frame.where("a < 95").count() == 2
    assert frame.count() == 5


@pytest.mark.parametrize("bad", ["z = 1", "a ==== 1", "a = 'x'", "a"])
def test_an_invalid_filter_is_rejected_before_any_read(lake: Lake, bad: str) -> None:
    lake.put("t", pa.table({"a": [1]}))
    error = failure_of(lambda: lake.load("t", filter=bad))
    assert error.code in (ErrorCode.INVALID_INPUT, ErrorCode.TABLE_COLUMN_NOT_FOUND)
    assert "t" in error.message


def test_the_same_path_with_and_without_a_filter(lake: Lake, tmp_path: Path) -> None:
    lake.put("t", pa.table({"a": range(100)}))
    some, every = lake.load("t", filter="a < 10"), lake.load("t")
    some.cache()
    assert (some.count(), every.count(), some.union(every).count()) == (10, 100, 110)
    some.unpersist()
    assert every.exceptAll(some).count() == 90
