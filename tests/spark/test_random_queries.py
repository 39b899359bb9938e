"""Random queries of random tables, with pushdown, compared with Spark alone on the same rows.

``LANCE_NS_QUERY_SEED`` sets the first seed, ``LANCE_NS_QUERY_ROUNDS`` the number of tables and
``LANCE_NS_QUERY_COUNT`` the number of queries of each.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_impls.distributed.columns import (
    cast_batch,
    spark_arrow_schema,
    to_spark_schema,
)
from lance_namespace_impls.spark import frame_from_arrow
from tests.spark.conftest import Lake

pytestmark = [pytest.mark.xdist_group("spark two"), pytest.mark.usefixtures("pushing")]

SEED = int(os.environ.get("LANCE_NS_QUERY_SEED", "1"))
ROUNDS = int(os.environ.get("LANCE_NS_QUERY_ROUNDS", "0"))
QUERIES = int(os.environ.get("LANCE_NS_QUERY_COUNT", "25"))
ZONES = ["UTC", "America/Los_Angeles", "Asia/Tokyo"]
NAMES = [
    "a b", "ä", "select", "a'b", 'q"x', "x/y", "1st", " s", "CamelCase", "UPPER", "count", "*",
    "_id", "a,b", "filter", "\U0001f600", "日本", "value", "c1", "true", "null", "a\\b",
]  # fmt: skip
NAN = float("nan")
NEGATIVE_NAN = -float("nan")
DAYS = [
    dt.date(1, 1, 1), dt.date(1582, 10, 10), dt.date(1969, 12, 31), dt.date(2020, 2, 29),
    dt.date(9999, 12, 31),
]  # fmt: skip
MOMENTS = [
    dt.datetime(1, 1, 2), dt.datetime(1582, 10, 10, 12), dt.datetime(1969, 12, 31, 23, 59, 59),
    dt.datetime(1970, 1, 1), dt.datetime(2020, 2, 29, 12, 30, 15), dt.datetime(9999, 12, 30),
]  # fmt: skip
EXACT = [*MOMENTS, dt.datetime(2020, 2, 29, 12, 30, 15, 123456)]
# Timestamps in nanoseconds end in 2262.
NEAR = [*MOMENTS[2:5], EXACT[-1]]
TEXTS = ["", "a", "b", "ab", "a'b", "ä%_", "a ", " a", "A", "\U0001f600", "a\\b", '"', "a\nb", "%"]
REALS = [0.0, -0.0, 0.5, -1.5, 0.1, 1e30, NAN, NEGATIVE_NAN, float("inf"), float("-inf")]


def _ints(bits: int, *, signed: bool = True) -> list[int]:
    first, last = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return [0, 1, 2, 7, last - 1, last, first, first + 1]


def _decimals(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


# Each type with its column values, which also serve as literals.
KINDS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False]),
    *((kind, _ints(kind.bit_width)) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    *(
        (kind, _ints(kind.bit_width, signed=False))
        for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    ),
    (pa.float16(), [0.0, -0.0, 0.5, -1.5, NAN, NEGATIVE_NAN, float("inf")]),
    (pa.float32(), [*REALS, 16777217.0]),
    (pa.float64(), [*REALS, 5e-324, 2.0**53]),
    (pa.decimal128(10, 2), _decimals("0.00", "0.10", "-2.99", "99999999.99")),
    (pa.decimal128(38, 10), _decimals("0", "0.1", "1234567890123456789012345678.9012345678")),
    (pa.decimal256(20, 3), _decimals("0", "0.001", "-12345678901234567.890")),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.binary(), [b"", b"a", b"\0\xff"]),
    (pa.binary(2), [b"ab", b"\0\xff"]),
    (pa.date32(), DAYS),
    (pa.date64(), DAYS),
    (pa.timestamp("us"), EXACT),
    (pa.timestamp("us", "UTC"), EXACT),
    (pa.timestamp("s"), MOMENTS),
    (pa.timestamp("ms", "UTC"), MOMENTS),
    (pa.timestamp("ns"), NEAR),
    (pa.timestamp("ns", "UTC"), NEAR),
    (pa.timestamp("us", "Europe/Berlin"), EXACT[1:-2]),
    (pa.time64("us"), [dt.time(0), dt.time(12, 30, 15, 123456)]),
    (pa.duration("us"), [dt.timedelta(0), dt.timedelta(days=-1, microseconds=1)]),
    (pa.list_(pa.int32()), [[], [1, None], [2]]),
    (pa.list_(pa.float32(), 2), [[0.0, 1.0], [2.0, 0.5]]),
    (pa.struct([("a", pa.int64()), ("b c", pa.string())]), [{"a": 1, "b c": "x"}, {"a": None}]),
    (pa.dictionary(pa.int32(), pa.string()), ["a", "b", "ab"]),
]


class Column:
    """A column of a random table and how queries refer to it."""

    def __init__(self, name: str, kind: pa.DataType, values: list[Any]) -> None:
        self.name = name
        self.kind = kind
        self.values = values
        self.sql = "`" + name + "`"


class Tables:
    """Generates random tables and queries.

    Args:
        chance: the source of randomness.
    """

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        names = chance.sample(NAMES, chance.randint(1, 7))
        self.columns = [Column("id", pa.int64(), list(range(40)))]
        for name in names:
            kind, values = chance.choice(KINDS)
            self.columns.append(Column(name, kind, values))

    def rows(self, count: int) -> pa.Table:
        """Return random rows, with the row numbers in the column `id`."""
        arrays = [pa.array(range(count), pa.int64())]
        for column in self.columns[1:]:
            picked = [self._chance.choice([*column.values, None]) for _ in range(count)]
            if pa.types.is_dictionary(column.kind):
                arrays.append(pa.array(picked, pa.string()).dictionary_encode())
            else:
                arrays.append(pa.array(picked, column.kind))
        return pa.table(arrays, names=[column.name for column in self.columns])

    def condition(self, depth: int = 2) -> str:
        kind = self._chance.randrange(5) if depth else 4
        if kind < 2:
            word = ("AND", "OR")[kind]
            return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"
        return f"NOT ({self.condition(depth - 1)})" if kind == 2 else self._leaf()

    def _leaf(self) -> str:
        column = self._chance.choice(self.columns)
        name, kind = column.sql, column.kind
        null = f"{name} IS {self._chance.choice(['', 'NOT '])}NULL"
        if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
            return self._chance.choice(
                [null, f"size({name}) = 2", f"try_element_at({name}, 1) >= 1"]
            )
        if pa.types.is_struct(kind):
            return self._chance.choice(
                [null, f"{name}.a = 1", f"{name}.`b c` = 'x'", f"{name}.a IS NULL"]
            )
        literal, other = self._literal(column), self._literal(column)
        operator = self._chance.choice(["=", "<", "<=", ">", ">=", "<>", "<=>"])
        choices = [
            null,
            f"{name} {operator} {literal}",
            f"{name} {operator} {literal}",
            f"{literal} {operator} {name}",
            f"{name} IN ({literal}, {other})",
            f"{name} NOT IN ({literal}, {other})",
            f"{name} IN ({literal}, NULL)",
            f"{name} BETWEEN {literal} AND {other}",
            f"coalesce({name}, {literal}) = {other}",
        ]
        if pa.types.is_integer(kind):
            choices += [f"{name} > {self._chance.choice(['1.5', '300', '-1', '1e3D'])}"] * 2
        if pa.types.is_floating(kind):
            choices += [f"{name} > {self._chance.choice(['1', '0.1D', '0', '1.5BD'])}"] * 2
        if pa.types.is_boolean(kind):
            choices += [name, f"NOT {name}"]
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            part = self._chance.choice(["a", "a ", "\\\\%", "\\\\_", "%", "_b", "ä", "", "''"])
            choices += [
                f"{name} LIKE '{part}%'",
                f"{name} LIKE '%{part}'",
                f"{name} LIKE '%{part}%'",
                f"{name} LIKE '{part}'",
                f"startswith({name}, '{part}')",
                f"upper({name}) = 'A'",
                f"{name} COLLATE UTF8_LCASE = 'a'",
                f"rtrim({name}) = 'a'",
            ]
        return self._chance.choice(choices)

    def _literal(self, column: Column) -> str:
        value = self._chance.choice([*column.values, *column.values, None])
        kind = column.kind
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return str(value).lower()
        if pa.types.is_integer(kind):
            return f"{value}BD" if value >= 1 << 63 else str(value)
        if pa.types.is_floating(kind):
            plain = {NAN: "NaN"}.get(value, repr(value))
            word = "double" if pa.types.is_float64(kind) else "float"
            return f"{word}('{plain}')"
        if isinstance(value, Decimal):
            return f"{value:f}BD"
        if isinstance(value, bytes):
            return f"X'{value.hex()}'"
        if isinstance(value, str):
            escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
            return f"'{escaped}'"
        if isinstance(value, dt.datetime):
            text = f"{value.year:04}-{value:%m-%d %H:%M:%S.%f}"
            return f"TIMESTAMP '{text} UTC'" if kind.tz else f"TIMESTAMP_NTZ '{text}'"
        if isinstance(value, dt.date):
            return f"DATE '{value.year:04}-{value:%m-%d}'"
        if isinstance(value, dt.time):
            return f"TIME '{value:%H:%M:%S.%f}'"
        assert isinstance(value, dt.timedelta)
        return f"INTERVAL '{int(value.total_seconds())}' SECOND"

    def aggregates(self) -> str:
        picked = [self._chance.choice(self.columns) for _ in range(self._chance.randint(0, 3))]
        found = ["count(*)"]
        for column in picked:
            nested = pa.types.is_nested(column.kind)
            name = column.sql
            function = self._chance.choice(["count", "min", "max", "count(DISTINCT "])
            if nested or function == "count":
                found.append(f"count({name})")
            elif function[0] == "m":
                # Negative zero equals zero: which one Spark returns depends on the order.
                zero = " + 0" if pa.types.is_floating(column.kind) else ""
                found.append(f"{function}({name}{zero})")
            else:
                found.append(f"count(DISTINCT {name})")
        return ", ".join(f"{each} AS a{number}" for number, each in enumerate(found))

    def query(self) -> tuple[str, int | None]:
        """Return a query of the view {t}, and its limit if any subset of the rows is correct."""
        pick = self._chance.choice
        some = [
            each.sql
            for each in self._chance.sample(self.columns[1:], min(2, len(self.columns) - 1))
        ]
        p, q = self.condition(), self.condition()
        match self._chance.randrange(9):
            case 0:
                return f"SELECT {', '.join(some)} FROM {{t}} WHERE {p}", None
            case 1:
                return f"SELECT * FROM {{t}} WHERE {p}", None
            case 2:
                return f"SELECT {self.aggregates()} FROM {{t}}", None
            case 3:
                return f"SELECT {self.aggregates()} FROM {{t}} WHERE {p}", None
            case 4:
                limit = pick([0, 1, 3, 20, 1000])
                where = pick(["", f" WHERE {p}"])
                return f"SELECT {some[0]} FROM {{t}}{where}", limit
            case 5:
                return (
                    f"SELECT id, {some[0]} FROM {{t}} WHERE {p} UNION ALL "
                    f"SELECT id, {some[0]} FROM {{t}} WHERE {q}"
                ), None
            case 6:
                join, chosen = pick(
                    [("JOIN", some[-1]), ("LEFT JOIN", some[-1]), ("LEFT SEMI JOIN", None)]
                )
                both = "a.id" if chosen is None else f"a.id, b.{chosen}"
                return (
                    f"SELECT {both} FROM (SELECT * FROM {{t}} WHERE {p}) a {join} "
                    f"(SELECT * FROM {{t}} WHERE {q}) b ON a.id = b.id"
                ), None
            case 7:
                return (
                    f"SELECT id % 3 AS g, {self.aggregates()} FROM {{t}} WHERE {p} GROUP BY id % 3"
                ), None
            case _:
                return (
                    f"SELECT id FROM {{t}} WHERE id > (SELECT count(*) / 2 FROM {{t}} WHERE {p})",
                    None,
                )


def comparable(table: pa.Table) -> Counter[str]:
    """Return the rows as texts, in which NaN equals NaN and -0.0 differs from 0.0."""
    return Counter(repr(row).replace("-nan", "nan") for row in table.to_pylist())


class Case:
    """A random table, stored in Lance and as a plain DataFrame."""

    def __init__(self, lake: Lake, spark: Any, seed: int) -> None:
        self._spark = spark
        self._chance = random.Random(seed)
        self.tables = Tables(self._chance)
        count = self._chance.choice([0, 1, 1, 40, 40, 200])
        rows = self.tables.rows(count)
        size = self._chance.choice([1, 7, 30, 1000]) if count <= 40 else 60
        nested = any(pa.types.is_struct(column.kind) for column in self.tables.columns)
        # Version 2.0 cannot store null structs.
        version = "2.1" if nested else self._chance.choice(["2.0", "2.1"])
        dataset = lake.put("t", rows, max_rows_per_file=size, data_storage_version=version)
        if count > 1 and self._chance.random() < 0.5:
            first = self._chance.randrange(count)
            dataset.delete(f"id >= {first} AND id < {first + self._chance.choice([1, 10, 50])}")
        self._index(dataset)
        lake.load("t", splits=self._chance.choice(["1", "2", "3"])).createOrReplaceTempView("lance")
        stored = lance.dataset(lake.path("t")).to_table()
        self._plain = frame_from_arrow(spark, as_spark(stored))
        self._check_reference(stored)
        self._plain.createOrReplaceTempView("plain")

    def _index(self, dataset: Any) -> None:
        for column in self.tables.columns:
            kind = column.kind
            is_text = pa.types.is_string(kind)
            sorts = pa.types.is_float32(kind) or pa.types.is_float64(kind)
            sorts = sorts or pa.types.is_date32(kind) or pa.types.is_timestamp(kind)
            if not column.name.isidentifier() or self._chance.random() < 0.6:
                continue
            if pa.types.is_signed_integer(kind) or is_text:
                dataset.create_scalar_index(column.name, self._chance.choice(["BTREE", "BITMAP"]))
            elif sorts:
                dataset.create_scalar_index(column.name, "BTREE")

    def _check_reference(self, stored: pa.Table) -> None:
        """Check that the plain rows equal those of the table, before any query is compared."""
        found = self._plain.toArrow()
        assert found.num_rows == stored.num_rows
        assert comparable(found) == comparable(as_spark(stored))

    def check(self) -> None:
        query, limit = self.tables.query()
        zone = self._chance.choice(ZONES)
        self._spark.conf.set("spark.sql.session.timeZone", zone)
        plain = comparable(self._spark.sql(query.replace("{t}", "plain")).toArrow())
        frame = self._spark.sql(query.replace("{t}", "lance"))
        if limit is None:
            assert comparable(frame.toArrow()) == plain, query
            return
        found = comparable(frame.limit(limit).toArrow())
        assert found.total() == min(limit, plain.total()), (query, limit)
        assert not found - plain, (query, limit)


def as_spark(table: pa.Table) -> pa.Table:
    """Return the rows with the types that the data source returns."""
    target = spark_arrow_schema(to_spark_schema(table.schema))
    batches = [cast_batch(each, target, cut_fractions=True) for each in table.to_batches()]
    return pa.Table.from_batches(batches, target)


@pytest.fixture
def settings(spark: Any) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("seed", range(SEED, SEED + (ROUNDS or 3)))
def test_random_queries(lake: Lake, spark: Any, settings: None, seed: int) -> None:
    case = Case(lake, spark, seed)
    for _ in range(QUERIES):
        case.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_five_thousand_random_queries(lake: Lake, spark: Any, settings: None, seed: int) -> None:
    case = Case(lake, spark, seed)
    for _ in range(25):
        case.check()
