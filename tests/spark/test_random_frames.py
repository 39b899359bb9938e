"""Random tables and operations through the Spark functions, compared with plain Spark.

Each round draws a schema and rows, and applies random operations to a Lance table and to a plain
DataFrame. A round is drawn from its seed alone. A failure prints the seed and the operations.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import random
import re
import shutil
import string
import time
import warnings
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from lance_namespace_impls import connect
from lance_namespace_impls.maintenance import Upkeep, maintain
from lance_namespace_impls.spark import (
    add_columns,
    count_rows,
    delete,
    frame_from_arrow,
    merge_into,
    read_table,
    update,
    write_table,
)
from tests.spark.conftest import Lake

SECONDS = float(os.environ.get("LANCE_NS_FRAMES_SECONDS", "120"))
SEED = int(os.environ.get("LANCE_NS_FRAMES_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
OPERATIONS = 8
# A Python worker may fail to start: Spark times out after ten seconds, or reads the end of the
# daemon's stream. The same exception from a worker's runner means that a running worker died, which
# is a failure.
NOT_STARTED = re.compile(
    r"Python worker failed to connect back"
    r"|java\.io\.EOFException(?:\s+at (?:java\.base/)?java\.\S+)*"
    r"\s+at org\.apache\.spark\.api\.python\.PythonWorkerFactory\."
)

NAMES = [
    "a", "B", "a b", 'a"b', "a'b", "ü", "日本", "select", "value", "key", "element", "numbers", "*",
    "x/y", "a[0]", "a,b", " s", "1a", "a:b", "${x}", "%s", "a\tb", "a\\b", "_x", "c0", "c1", "\U0001f600",
]  # fmt: skip
INNER = ["a", "b c", "ü", "Key", "select"]
TEXTS = [
    "",
    " ",
    "x",
    "ü",
    "日本語",
    "\U0001f600",
    "a\0b",
    "a'b",
    'a"b',
    "\n\r\t",
    "NULL",
    "x" * 40_000,
]
FLOATS = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -1e-30, 3.0e38, 2.0**-149]
UTC = dt.UTC
WIDE = Context(prec=60)
MOMENTS = [
    dt.datetime(1, 1, 1), dt.datetime(1582, 10, 4, 23), dt.datetime(1883, 11, 18, 12, 3, 58),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(1970, 1, 1),
    dt.datetime(2024, 3, 31, 2, 30), dt.datetime(9999, 12, 30, 23, 59, 59, 999_999),
]  # fmt: skip
ID = t.StructField("id", t.LongType(), True)


class Draw:
    """Generates random schemas, rows, conditions and expressions.

    Args:
        seed: the seed for all random choices.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.next_id = 0

    def scalar(self) -> t.DataType:
        digits = self.random.choice([1, 5, 9, 18, 19, 38])
        return self.random.choice(
            [
                t.BooleanType(),
                t.ByteType(),
                t.ShortType(),
                t.IntegerType(),
                t.LongType(),
                t.FloatType(),
                t.DoubleType(),
                t.StringType(),
                t.BinaryType(),
                t.DateType(),
                t.TimestampType(),
                t.TimestampNTZType(),
                t.DecimalType(digits, self.random.randint(0, digits)),
                t.DayTimeIntervalType(0, 3),
            ]
        )

    def type(self, depth: int = 2) -> t.DataType:
        if not depth or self.random.random() < 0.65:
            return self.scalar()
        kind = self.random.randrange(3)
        if kind == 0:
            return t.ArrayType(self.type(depth - 1))
        if kind == 1:
            keys: Sequence[t.DataType] = [t.StringType(), t.IntegerType(), t.DateType()]
            return t.MapType(self.random.choice(keys), self.type(depth - 1))
        names = self.random.sample(INNER, self.random.randint(1, 3))
        return t.StructType([t.StructField(name, self.type(depth - 1)) for name in names])

    def fields(self, count: int, without: Sequence[str] = ()) -> list[t.StructField]:
        free = [name for name in NAMES if name.lower() not in {each.lower() for each in without}]
        return [t.StructField(name, self.type()) for name in self.random.sample(free, count)]

    def value(self, kind: t.DataType) -> Any:
        rand = self.random
        if rand.random() < 0.15:
            return None
        match kind:
            case t.BooleanType():
                return rand.random() < 0.5
            case t.ByteType() | t.ShortType() | t.IntegerType() | t.LongType():
                bits = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}[kind.simpleString()]
                low, high = -(2**bits), 2**bits - 1
                return rand.choice(
                    [0, 1, -1, low, high, rand.randint(low, high), rand.randint(0, 9)]
                )
            case t.FloatType():
                return pa.scalar(rand.choice([*FLOATS, rand.gauss(0, 1e3)]), pa.float32()).as_py()
            case t.DoubleType():
                return rand.choice([*FLOATS, 1e300, 5e-324, rand.gauss(0, 1e9)])
            case t.StringType():
                return rand.choice(
                    [*TEXTS, "".join(rand.choices(string.printable, k=rand.randint(1, 30)))]
                )
            case t.BinaryType():
                return bytearray(rand.randbytes(rand.choice([0, 1, 3, 16, 300])))
            case t.DateType():
                return rand.choice(
                    [
                        *(each.date() for each in MOMENTS),
                        dt.date.fromordinal(rand.randint(1, 3_652_059)),
                    ]
                )
            case t.TimestampType():
                return self.moment().replace(tzinfo=UTC)
            case t.TimestampNTZType():
                return self.moment()
            case t.DecimalType():
                digits = rand.choice([1, kind.precision])
                whole = rand.choice(
                    [0, 10**digits - 1, rand.randint(-(10**digits) + 1, 10**digits - 1)]
                )
                return Decimal(whole).scaleb(-kind.scale, context=WIDE)
            case t.DayTimeIntervalType():
                return dt.timedelta(
                    days=rand.randint(-(10**6), 10**6), microseconds=rand.randint(0, 10**9)
                )
            case t.ArrayType():
                return [self.value(kind.elementType) for _ in range(rand.choice([0, 1, 2, 5]))]
            case t.MapType():
                keys = (self.value(kind.keyType) for _ in range(rand.choice([0, 1, 3])))
                return {key: self.value(kind.valueType) for key in keys if key is not None}
            case t.StructType():
                return tuple(self.value(field.dataType) for field in kind)
        raise AssertionError(kind)

    def moment(self) -> dt.datetime:
        rand = self.random
        span = dt.timedelta(
            days=rand.randint(0, 3_652_000), microseconds=rand.randint(0, 86_399_999_999)
        )
        return rand.choice([*MOMENTS, dt.datetime(1, 1, 1) + span])

    def rows(self, schema: t.StructType, count: int) -> list[tuple[Any, ...]]:
        first, self.next_id = self.next_id, self.next_id + count
        ids = self.random.sample(range(first, first + count), count)
        return [
            (each, *(self.value(field.dataType) for field in schema.fields[1:])) for each in ids
        ]

    def count(self) -> int:
        return self.random.choice([0, 1, 2, 3, 10, 40])

    def condition(self, schema: t.StructType) -> str:
        """Return a condition that means the same in the SQL of Lance and of Spark."""
        rand = self.random
        top = self.next_id + 1
        simple = [
            f"id < {rand.randrange(top)}",
            f"id % {rand.randint(2, 4)} = 1",
            f"id IN ({rand.randrange(top)}, {rand.randrange(top)})",
            f"id BETWEEN {rand.randrange(top)} AND {rand.randrange(top)}",
            "id > 1000000",
            "true",
        ]
        field = rand.choice(schema.fields)
        name = f"`{field.name}`"
        match field.dataType:
            case t.StringType():
                simple += [f"{name} >= 'b'", f"{name} = ''", f"length({name}) = 1"]
            case t.BooleanType():
                simple += [name, f"NOT {name}"]
            case t.ByteType() | t.ShortType() | t.IntegerType() | t.LongType():
                simple += [f"{name} > 0", f"{name} <> 1"]
            case t.DecimalType():
                simple += [f"{name} > 0"]  # not every decimal type can represent 1
            case t.DateType():
                simple += [f"{name} < date '1969-12-31'"]
            case t.TimestampNTZType():
                simple += [f"{name} <= timestamp_ntz '1970-01-01 00:00:00'"]
        simple += [f"{name} IS NULL", f"{name} IS NOT NULL"]
        if rand.random() < 0.3:
            return (
                f"({rand.choice(simple)}) {rand.choice(['AND', 'OR'])} NOT ({rand.choice(simple)})"
            )
        return rand.choice(simple)

    def expression(self, kind: t.DataType, name: str) -> str:
        options = ["NULL", f"`{name}`"]
        match kind:
            case t.StringType():
                options += ["'new'", f"`{name}` || '!'", "'it''s'"]
            case t.LongType() | t.DoubleType():
                options += ["id", "id * 2", "id % 2 + 7"]  # Lance has no CASE
            case t.BooleanType():
                options += ["id > 2", f"NOT `{name}`", "true"]
        return self.random.choice(options)


def lance_sql(text: str) -> str:
    """Return a condition in Lance's SQL, whose timestamp literals have no time zone."""
    return text.replace("timestamp_ntz ", "timestamp ")


def plain(value: Any) -> Any:
    """Return a value in a form that distinguishes -0.0 from 0.0 and compares NaN as equal."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else repr(value)
        case bytes() | bytearray():
            return bytes(value)
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case dt.datetime():
            return (
                value.isoformat()
                if value.tzinfo is None
                else f"{value.replace(tzinfo=None).isoformat()}Z"
            )
        case list() | tuple():
            parts = [plain(each) for each in value]
            # Entries of a map have no order.
            is_map = bool(value) and all(isinstance(each, tuple) for each in value)
            return sorted(parts, key=repr) if is_map else parts
    return value


def content(table: pa.Table) -> list[str]:
    """Return the rows of a table in an order that does not depend on how they are read."""
    names = sorted(table.column_names)
    columns = [[plain(each) for each in table[name].to_pylist()] for name in names]
    return sorted(repr(list(row)) for row in zip(*columns, strict=True))


def rows_of(rows: list[tuple[Any, ...]], schema: t.StructType) -> list[str]:
    """Return rows of Python values in the form that `content` returns."""

    def shown(value: Any, kind: t.DataType) -> Any:
        if value is None:
            return None
        match kind:
            case t.StructType():
                return {g.name: shown(v, g.dataType) for g, v in zip(kind, value, strict=True)}
            case t.ArrayType():
                return [shown(each, kind.elementType) for each in value]
            case t.MapType():
                return [(k, shown(v, kind.valueType)) for k, v in value.items()]
            case t.DecimalType():
                return value.quantize(Decimal(1).scaleb(-kind.scale), context=WIDE)
        return value

    order = sorted(range(len(schema)), key=lambda number: schema[number].name)
    return sorted(repr([plain(shown(row[n], schema[n].dataType)) for n in order]) for row in rows)


class Round:
    """A Lance table, and the plain DataFrame that it must equal.

    Args:
        spark: the session.
        root: the folder of the tables.
        seed: the seed for all random choices.
    """

    def __init__(self, spark: Any, root: Path, seed: int) -> None:
        self.spark = spark
        self.draw = Draw(seed)
        self.lake = Lake(root, spark)
        self.namespace = connect("dir", self.lake.properties)
        self.log: list[str] = []
        self.older: list[tuple[int, list[str]]] = []
        rand = self.draw.random
        self.schema = t.StructType([ID, *self.draw.fields(rand.randint(1, 5))])
        self.log.append(f"schema {self.schema.simpleString()}")
        self.rows: DataFrame = self.frame(self.draw.rows(self.schema, self.draw.count()))

    def frame(self, rows: list[tuple[Any, ...]], schema: t.StructType | None = None) -> DataFrame:
        """Return rows as a plain DataFrame, after a check that it contains all of them."""
        schema = schema or self.schema
        frame = self.spark.createDataFrame(rows, schema)
        assert content(frame.toArrow()) == rows_of(rows, schema), "the reference lost rows"
        return frame

    def settle(self, frame: DataFrame) -> None:
        """Store a DataFrame as the reference, without the plan that computes it."""
        path = self.lake.root / f"reference-{len(self.log)}"
        numbered = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
        numbered.write.parquet(str(path))
        kept = self.spark.read.schema(numbered.schema).parquet(str(path))
        self.rows = kept.toDF(*frame.columns)
        self.schema = frame.schema

    def spread(self, frame: DataFrame) -> DataFrame:
        return frame.repartition(self.draw.random.choice([1, 2, 5])) if self.lucky(0.5) else frame

    def lucky(self, chance: float) -> bool:
        return self.draw.random.random() < chance

    def run(self) -> None:
        self.write_new()
        steps = [
            self.append, self.append, self.overwrite, self.read, self.read, self.load, self.update,
            self.delete, self.merge, self.add, self.stream, self.arrow, self.compact, self.travel,
        ]  # fmt: skip
        for _ in range(OPERATIONS):
            self.draw.random.choice(steps)()
            self.check()

    def check(self) -> None:
        expected = content(self.rows.toArrow())
        assert content(self.lake.dataset("t").to_table()) == expected, "pylance"
        found = read_table(self.spark, self.namespace, "t")
        assert found.columns == self.schema.names
        assert content(found.toArrow()) == expected, "read_table"
        assert found.count() == len(expected), "count"
        self.older.append((self.lake.dataset("t").version, expected))

    def write_new(self) -> None:
        frame = self.spread(self.rows)
        files = self.draw.random.choice([1, 3, 1 << 20])
        if self.lucky(0.5):
            self.log.append(f"write_table create, rows_per_file={files}")
            write_table(frame, self.namespace, "t", rows_per_file=files)
        else:
            self.log.append(f"save to a new table, rows_per_file={files}")
            self.lake.save(frame, "t", rows_per_file=str(files))
        self.check()

    def append(self) -> None:
        rand = self.draw.random
        kept = [field for field in self.schema.fields[1:] if self.lucky(0.8)]
        part = t.StructType([ID, *kept])
        more = self.frame(self.draw.rows(part, self.draw.count()), part)
        shuffled = self.spread(more.select(*map(quoted, rand.sample(part.names, len(part)))))
        by_source = self.lucky(0.5)
        self.log.append(f"append {shuffled.columns} {'save' if by_source else 'write_table'}")
        if by_source:
            self.lake.save(shuffled, "t")
        else:
            write_table(
                shuffled, self.namespace, "t", "append", rows_per_file=rand.choice([2, 100])
            )
        self.settle(self.rows.unionByName(more, allowMissingColumns=True))

    def overwrite(self) -> None:
        rand = self.draw.random
        self.schema = t.StructType([ID, *self.draw.fields(rand.randint(1, 4))])
        frame = self.frame(self.draw.rows(self.schema, self.draw.count()))
        by_source = self.lucky(0.5)
        self.log.append(f"overwrite {self.schema.simpleString()} {by_source=}")
        if by_source:
            self.lake.save(self.spread(frame), "t", "overwrite")
        else:
            write_table(self.spread(frame), self.namespace, "t", "overwrite")
        self.settle(frame)

    def read(self) -> None:
        rand = self.draw.random
        columns = rand.sample(self.schema.names, rand.randint(1, len(self.schema)))
        where = self.draw.condition(self.schema) if self.lucky(0.6) else None
        more = {"splits": rand.choice([None, 1, 7]), "batch_rows": rand.choice([None, 1, 3])}
        self.log.append(f"read_table {columns} where {where} {more}")
        found = read_table(
            self.spark,
            self.namespace,
            "t",
            columns=columns,
            filter=where and lance_sql(where),
            **more,
        )
        kept = self.rows.where(where) if where else self.rows
        expected = content(kept.select(*map(quoted, columns)).toArrow())
        assert found.columns == columns
        assert content(found.toArrow()) == expected
        assert found.count() == len(expected)
        counted = count_rows(self.namespace, "t", filter=where and lance_sql(where))
        assert counted == len(expected)

    def load(self) -> None:
        rand = self.draw.random
        where, wanted = self.draw.condition(self.schema), rand.choice(self.schema.names)
        self.log.append(f"load where {where}, select, limit, groupBy {wanted!r}")
        loaded = self.lake.load("t", splits=str(rand.choice([1, 3])))
        assert loaded.schema.simpleString() == self.schema.simpleString()
        both = [(loaded, "found"), (self.rows, "expected")]
        assert equal(frame.where(where) for frame, _ in both), "where"
        assert equal(frame.select(quoted(wanted)) for frame, _ in both), "select"
        limit = rand.randrange(12)
        assert len({frame.limit(limit).count() for frame, _ in both}) == 1, "limit"
        assert len({frame.count() for frame, _ in both}) == 1, "count"
        kind = self.schema[wanted].dataType
        if not isinstance(kind, (t.MapType, t.ArrayType, t.StructType)):
            grouped = [
                frame.groupBy(quoted(wanted)).agg(f.count("*").alias("n")) for frame, _ in both
            ]
            assert equal(grouped), "groupBy"
        filtered = self.lake.load("t", filter=lance_sql(where))
        assert equal([filtered, self.rows.where(where)]), "filter"

    def update(self) -> None:
        rand = self.draw.random
        fields = rand.sample(self.schema.fields[1:], rand.randint(1, len(self.schema) - 1))
        values = {each.name: self.draw.expression(each.dataType, each.name) for each in fields}
        where = self.draw.condition(self.schema) if self.lucky(0.8) else None
        self.log.append(f"update {values} where {where}")
        change = update(self.spark, self.namespace, "t", values, where and lance_sql(where))
        test = f.coalesce(f.expr(where or "true"), f.lit(False))
        assert change.updated == self.rows.where(test).count()
        self.settle(
            self.rows.select(
                *(
                    f.when(test, f.expr(values[each.name]).cast(each.dataType))
                    .otherwise(f.col(quoted(each.name)))
                    .alias(each.name)
                    if each.name in values
                    else f.col(quoted(each.name))
                    for each in self.schema
                )
            )
        )

    def delete(self) -> None:
        where = self.draw.condition(self.schema)
        self.log.append(f"delete where {where}")
        change = delete(self.spark, self.namespace, "t", lance_sql(where))
        test = f.coalesce(f.expr(where), f.lit(False))
        assert change.deleted == self.rows.where(test).count()
        self.settle(self.rows.where(~test))

    def merge(self) -> None:
        rand = self.draw.random
        ways = {
            "when_matched": rand.choice(["update", "delete", "keep"]),
            "when_not_matched": rand.choice(["insert", "ignore"]),
            "when_not_matched_by_source": rand.choice(["keep", "keep", "delete"]),
        }
        source = self.draw.rows(self.schema, self.draw.count())
        held = [row.id for row in self.rows.select("id").collect()]
        known = rand.sample(held, rand.randint(0, len(held)))
        rows = [(known.pop() if known and self.lucky(0.6) else row[0], *row[1:]) for row in source]
        self.log.append(f"merge {len(rows)} rows {ways}")
        frame = self.frame(rows)
        change = merge_into(self.spread(frame), self.namespace, "t", "id", **ways)
        matched = self.rows.join(frame.select("id"), "id", "left_semi")
        parts = [self.rows.limit(0)]
        parts.append(
            {
                "update": frame.join(self.rows.select("id"), "id", "left_semi"),
                "delete": self.rows.limit(0),
                "keep": matched,
            }[ways["when_matched"]]
        )
        new = frame.join(self.rows.select("id"), "id", "left_anti")
        if ways["when_not_matched"] == "insert":
            parts.append(new)
        rest = self.rows.join(frame.select("id"), "id", "left_anti")
        if ways["when_not_matched_by_source"] == "keep":
            parts.append(rest)
        assert change.inserted == (new.count() if ways["when_not_matched"] == "insert" else 0)
        assert change.updated == (matched.count() if ways["when_matched"] == "update" else 0)
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.unionByName(part)
        self.settle(whole.select(*map(quoted, self.schema.names)))

    def add(self) -> None:
        rand = self.draw.random
        [field] = self.draw.fields(1, self.schema.names)
        way = rand.choice(["expression", "function", "frame"])
        self.log.append(f"add_columns {field.simpleString()} by {way}")
        if way == "frame":
            schema = t.StructType([ID, field])
            ids = [row.id for row in self.rows.select("id").collect() if self.lucky(0.6)]
            values = [(each, self.draw.value(field.dataType)) for each in ids]
            frame = self.frame(values, schema)
            add_columns(self.spark, self.namespace, "t", self.spread(frame), on="id")
            self.settle(
                self.rows.join(frame, "id", "left").select(
                    *map(quoted, [*self.schema.names, field.name])
                )
            )
            return
        if way == "expression":
            add_columns(self.spark, self.namespace, "t", {field.name: "id * 2 + 1"})
        else:
            name = field.name

            def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
                ids = batch.column(0).to_pylist()
                return pa.record_batch([pa.array([2 * n + 1 for n in ids], pa.int64())], [name])

            # `types` cannot express a name with a comma or a colon.
            if not set(name) & set(",: \t"):
                self.log.append("by function")
                add_columns(
                    self.spark, self.namespace, "t", doubled, types=f"{name}:int64", reads=["id"]
                )
            else:
                add_columns(self.spark, self.namespace, "t", {name: "id * 2 + 1"})
        self.settle(
            self.rows.select("`id`", *map(quoted, self.schema.names[1:]), doubled_id(field))
        )

    def stream(self) -> None:
        target = f"s{len(self.log)}"
        expected = self.older[-1][1]
        limit = max(1, len(expected) // self.draw.random.choice([1, 3]))
        self.log.append(f"stream to {target}, {limit} rows a batch")
        options = {"impl": "dir", "root": str(self.lake.root)}
        checkpoint = str(self.lake.root / f"checkpoint-{target}")
        query = (
            self.spark.readStream.format("lance_namespace")
            .options(**options, maxRowsPerTrigger=str(limit))
            .load("t")
            .writeStream.format("lance_namespace")
            .options(**options, table=target, checkpointLocation=checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        if expected:
            assert content(self.lake.load(target).toArrow()) == expected
        else:
            assert not Path(self.lake.path(target)).exists()

    def arrow(self) -> None:
        self.log.append("frame_from_arrow and createDataFrame, with empty chunks")
        table = read_table(self.spark, self.namespace, "t").toArrow()
        cut = self.draw.random.randint(0, table.num_rows)
        pieces = [table.slice(0, cut), table.slice(0, 0), table.slice(cut), table.slice(0, 0)]
        whole = pa.concat_tables(pieces)
        frame = frame_from_arrow(self.spark, whole)
        assert frame.schema.simpleString() == self.schema.simpleString()
        assert equal([frame, self.rows])
        assert self.spark.createDataFrame(whole).count() == whole.num_rows

    def compact(self) -> None:
        self.log.append("maintain")
        rows = maintain(self.namespace, upkeep=Upkeep(), state=self.lake.root.parent / "state")
        assert [row.problem for row in rows if row.problem] == []

    def travel(self) -> None:
        version, expected = self.draw.random.choice(self.older)
        self.log.append(f"read version {version}")
        found = read_table(self.spark, self.namespace, "t", version=version)
        assert content(found.toArrow()) == expected


def doubled_id(field: t.StructField) -> Any:
    return (f.col("id") * 2 + 1).cast("bigint").alias(field.name)


def quoted(name: str) -> str:
    return f"`{name}`"


def equal(frames: Iterator[DataFrame] | Sequence[DataFrame]) -> bool:
    one, other = (content(frame.toArrow()) for frame in frames)
    return one == other


def whole_round(spark: Any, root: Path, seed: int) -> None:
    """Run one round.

    Raises:
        AssertionError: the round failed; the message says how to repeat it.
    """
    for attempt in range(5):
        one = Round(spark, root / f"{seed}-{attempt}", seed)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                one.run()
        except BaseException as error:
            if NOT_STARTED.search(str(error)):
                continue
            steps = "\n".join(one.log)
            raise AssertionError(
                f"LANCE_NS_FRAMES_SEED={seed} LANCE_NS_FRAMES_SECONDS=0 repeats it:\n{steps}"
            ) from error
        return
    raise AssertionError("Spark could not start a Python worker")


EOF = "Caused by: java.io.EOFException\n\tat java.base/java.io.DataInputStream.readInt(D.java:381)\n\tat "


@pytest.mark.parametrize(
    ("text", "repeated"),
    [
        (
            f"{EOF}org.apache.spark.api.python.PythonWorkerFactory.createThroughDaemon(F.scala:1)",
            True,
        ),
        ("SparkException: Python worker failed to connect back.", True),
        (
            "SparkException: Python worker exited unexpectedly (crashed)\n"
            f"{EOF}org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(R.scala:1)\n"
            "\tat org.apache.spark.api.python.PythonWorkerFactory.create(F.scala:1)",
            False,
        ),
        (f"{EOF}org.apache.spark.sql.execution.python.PythonPlannerRunner.run(P.scala:1)", False),
    ],
)
def test_only_a_worker_that_did_not_start_is_repeated(text: str, repeated: bool) -> None:
    assert bool(NOT_STARTED.search(text)) == repeated


@pytest.mark.slow
def test_random_operations_leave_what_plain_spark_has(spark: Any, tmp_path: Path) -> None:
    end, seed = time.monotonic() + SECONDS, SEED
    print(f"first seed {seed}", flush=True)
    # Conditions contain names such as ${x}, which Spark would treat as a variable.
    spark.conf.set("spark.sql.variable.substitute", "false")
    while seed == SEED or time.monotonic() < end:
        whole_round(spark, tmp_path, seed)
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        seed += 1
    spark.conf.unset("spark.sql.variable.substitute")
    print(f"{seed - SEED} rounds")
