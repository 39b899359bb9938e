"""Random partitioned namespaces through the Spark functions, compared with plain rows.

Each round draws a schema, partition fields and rows, and applies random writes and changes of the
fields. Reads, counts and joins must equal the same operations on a table without partitions. A
round is drawn from its seed alone. In-process rounds call the functions of the workers without a
session, so they are fast.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.distributed.columns import (
    cast_batch,
    spark_arrow_schema,
    to_spark_schema,
)
from lance_namespace_impls.distributed.partition_write import (
    commit_partitions,
    plan_partitions,
    write_partitions,
)
from lance_namespace_impls.distributed.target import PartitionedTarget, Target
from lance_namespace_impls.partitioned.spec import column_paths
from lance_namespace_impls.partitioned.store import keys_of
from lance_namespace_impls.spark import (
    count_rows,
    frame_from_arrow,
    join_partitions,
    partition_join,
    read_table,
    write_table,
)
from lance_namespace_impls.spark.read_plan import pin_rows, plan_tasks, read_pieces

SECONDS = float(os.environ.get("LANCE_NS_PARTITIONS_SECONDS", "120"))
SEED = int(os.environ.get("LANCE_NS_PARTITIONS_SEED", "0"))
UTC = dt.UTC
NAMES = ["a", "B", "a b", "ü", "日本", "select", "value", "x/y", "p%", "a,b", "_left", "d$"]
MOMENTS = [
    dt.datetime(1, 1, 1), dt.datetime(1883, 11, 18, 12, 3, 58), dt.datetime(1969, 12, 31, 23, 59, 59),
    dt.datetime(1970, 1, 1), dt.datetime(2024, 3, 31, 1, 30), dt.datetime(2024, 10, 27, 0, 30),
    dt.datetime(2024, 2, 29, 23), dt.datetime(9999, 12, 30),
]  # fmt: skip
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int8(): [-128, -1, 0, 1, 127],
    pa.int16(): [-32768, -5, 0, 5, 32767],
    pa.int32(): [-(2**31), -7, 0, 7, 2**31 - 1],
    pa.int64(): [-(2**63), -11, -10, 0, 9, 10, 2**63 - 1],
    pa.float64(): [0.0, -0.0, 1.5, -1.5, 1e300],
    pa.string(): ["", "a", "ab", "abc", "x/y", "100%", "a$b", "größe", "日本語", "NULL", " "],
    pa.binary(): [b"", b"\0", b"\xff\xfe", b"ab"],
    pa.bool_(): [True, False],
    pa.date32(): [each.date() for each in MOMENTS],
    pa.timestamp("us"): MOMENTS,
    pa.timestamp("us", "UTC"): [each.replace(tzinfo=UTC) for each in MOMENTS],
    pa.decimal128(6, 2): [Decimal(n).scaleb(-2) for n in (-999999, -150, -1, 0, 1, 150, 999999)],
}
JOINED = [kind for kind in VALUES if kind != pa.float64()]


def quoted(name: str) -> str:
    return f"`{name}`"


class Draw:
    """Generates random schemas, fields, rows and conditions.

    Args:
        seed: the seed for all random choices.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.next_id = 0

    def schema(self) -> pa.Schema:
        names = self.random.sample(NAMES, self.random.randint(2, 5))
        kinds = self.random.choices(list(VALUES), k=len(names))
        return pa.schema([("id", pa.int64()), *zip(names, kinds, strict=True)])

    def rows(self, schema: pa.Schema, most: int = 40) -> pa.Table:
        count = self.random.choice([0, 1, 3, 10, most])
        first, self.next_id = self.next_id, self.next_id + count
        columns: list[Any] = [pa.array(range(first, first + count), pa.int64())]
        for each in schema.remove(0):
            pool = [None, *self.random.sample(VALUES[each.type], k=min(4, len(VALUES[each.type])))]
            if pa.types.is_boolean(each.type):
                pool = [None, True, False]
            columns.append(pa.array(self.random.choices(pool, k=count), each.type))
        return pa.table(columns, schema=schema)

    def field(self, column: pa.Field) -> str:
        """Return a random partition field of a column."""
        name, kind, is_ = quoted(column.name), column.type, pa.types
        found = [name, f"identity({name})"]
        if not is_.is_floating(kind):
            found.append(f"bucket({self.random.choice([1, 3, 16])}, {name})")
            found.append(f"multi_bucket(4, {name}, `id`)")
        if is_.is_date(kind) or is_.is_timestamp(kind):
            found += [f"year({name})", f"month({name})", f"day({name})"]
        if is_.is_timestamp(kind):
            found.append(f"hour({name})")
        if is_.is_integer(kind) or is_.is_decimal(kind) or is_.is_string(kind):
            found.append(f"truncate({self.random.choice([1, 2, 10])}, {name})")
        if is_.is_string(kind):
            found.append(f"expression('upper(col0)', {name})")
        return self.random.choice(found)

    def fields(self, schema: pa.Schema) -> list[str]:
        columns = self.random.sample(list(schema.remove(0)), self.random.randint(1, 2))
        return [self.field(each) for each in columns]

    def condition(self, schema: pa.Schema) -> str:
        """Return a condition in the SQL of Spark; `lance_sql` translates it."""
        rand = self.random
        simple = [f"id < {rand.randrange(self.next_id + 1)}", "id % 3 = 1"]
        column = rand.choice(list(schema.remove(0)))
        name, kind, is_ = quoted(column.name), column.type, pa.types
        value = rand.choice(VALUES[kind])
        shown = None
        if is_.is_integer(kind) and value > -(2**63):
            shown = str(value)
        elif is_.is_string(kind):
            shown = f"'{value}'"
            simple.append(f"{name} LIKE '{rand.choice(['', 'a', 'x/', '日'])}%'")
        elif is_.is_date(kind):
            shown = f"date '{value.isoformat()}'"
        elif is_.is_timestamp(kind) and kind.tz is None:
            shown = f"timestamp_ntz '{value.isoformat(' ')}'"
        elif is_.is_decimal(kind):
            shown = f"CAST('{value}' AS DECIMAL(6, 2))"
        elif is_.is_boolean(kind):
            simple += [name, f"NOT {name}"]
        if shown is not None:
            operator = rand.choice(["=", "<>", "<", "<=", ">", ">="])
            simple += [f"{name} {operator} {shown}", f"{name} IN ({shown})"] * 2
        simple += [f"{name} IS NULL", f"{name} IS NOT NULL"]
        one, other = rand.choices(simple, k=2)
        return rand.choice([one, one, f"({one}) AND ({other})", f"({one}) OR NOT ({other})"])


def lance_sql(text: str) -> str:
    """Return a condition in Lance's SQL, whose timestamp literals have no time zone."""
    return text.replace("timestamp_ntz ", "timestamp ")


def matching(rows: pa.Table, condition: str) -> pa.Table:
    """Return the matching rows according to Lance, without partitions."""
    dataset = lance.write_dataset(rows, f"memory://all-{uuid.uuid4().hex}")
    return dataset.to_table(filter=lance_sql(condition))


def content(rows: pa.Table) -> list[str]:
    """Return the rows in Spark's types, in a fixed order."""
    schema = spark_arrow_schema(to_spark_schema(rows.schema))
    batches = [cast_batch(each, schema) for each in rows.to_batches()]
    columns = pa.Table.from_batches(batches, schema)
    return sorted(map(repr, zip(*(column.to_pylist() for column in columns), strict=True)))


class Way(ABC):
    """One of the ways to write and read partitioned namespaces."""

    def __init__(self, root: Path, draw: Draw) -> None:
        self.root = root
        self.namespace = connect("dir", {"path": str(root), "manifest": "true"})
        self.draw = draw

    @abstractmethod
    def write(self, name: str, rows: pa.Table, mode: str, fields: list[str] | None) -> int:
        """Write rows and return their number."""

    @abstractmethod
    def read(self, name: str, condition: str | None) -> list[pa.Table]:
        """Return the matching rows, in each way of reading them."""

    @abstractmethod
    def join(self, keys: list[str], how: str) -> pa.Table:
        """Return the join of the namespaces left and right."""


class InProcess(Way):
    """Calls the functions of the workers in this process."""

    def write(self, name: str, rows: pa.Table, mode: str, fields: list[str] | None) -> int:
        target = PartitionedTarget(namespace=self.namespace, table=(name,))
        plan = plan_partitions(target, rows.schema, mode, fields)
        assert plan is not None
        files = []
        cut = self.draw.random.randint(0, rows.num_rows)
        for part in (rows.slice(0, cut), rows.slice(cut)):
            for _ in range(self.draw.random.choice([1, 1, 2])):  # Spark repeats some tasks
                done = write_partitions(plan, part.to_batches())
            files += done
        return commit_partitions(plan, files)[0].rows

    def read(self, name: str, condition: str | None) -> list[pa.Table]:
        where = None if condition is None else lance_sql(condition)
        pinned = pin_rows(Target(namespace=self.namespace, table=(name,)), filter=where)
        schema = spark_arrow_schema(to_spark_schema(pinned.schema))
        tasks = plan_tasks(pinned, self.draw.random.choice([1, 2, 7]))
        batches = [each for task in tasks for each in read_pieces(pinned, task, schema, None)]
        return [pa.Table.from_batches(batches, schema)]

    def join(self, keys: list[str], how: str) -> pa.Table:
        class Session:
            def range(self, start: int, end: int, *_: int) -> list[pa.RecordBatch]:
                return [pa.record_batch({"id": pa.array([n], pa.int64())}) for n in range(end)]

        def run(
            numbers: list[pa.RecordBatch],
            work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
            schema: Any,
        ) -> pa.Table:
            return pa.Table.from_batches(list(work(iter(numbers))), spark_arrow_schema(schema))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(partition_join, "map_in_arrow", run)
            session: Any = Session()
            found: Any = join_partitions(session, self.namespace, "left", "right", on=keys, how=how)
        return found


class Sparks(Way):
    """Uses a Spark session."""

    def __init__(self, root: Path, draw: Draw, spark: Any) -> None:
        super().__init__(root, draw)
        self.spark = spark
        self.options = {"impl": "dir", "root": str(root), "manifest": "true"}

    def write(self, name: str, rows: pa.Table, mode: str, fields: list[str] | None) -> int:
        frame = frame_from_arrow(self.spark, rows).repartition(self.draw.random.choice([1, 2, 3]))
        return write_table(frame, self.namespace, name, mode, partitioned_by=fields).rows

    def read(self, name: str, condition: str | None) -> list[pa.Table]:
        where = None if condition is None else lance_sql(condition)
        found = read_table(self.spark, self.namespace, name, filter=where)
        loaded = self.spark.read.format("lance_namespace").options(**self.options).load(name)
        if condition is not None:
            loaded = loaded.where(condition)
        first = found.toArrow()
        assert loaded.count() == first.num_rows
        return [first, loaded.toArrow()]

    def join(self, keys: list[str], how: str) -> pa.Table:
        return join_partitions(
            self.spark, self.namespace, "left", "right", on=keys, how=how
        ).toArrow()


def joined(left: pa.Table, right: pa.Table, keys: list[str], how: str) -> pa.Table:
    """Return the join of two tables, row by row."""
    own = [name for name in left.column_names if name not in keys]
    others = [name for name in right.column_names if name not in keys]
    rows, matched = [], set()
    rights = list(enumerate(right.to_pylist()))
    for row in left.to_pylist():
        key = [row[name] for name in keys]
        found = [
            (number, other)
            for number, other in rights
            if None not in key and key == [other[name] for name in keys]
        ]
        matched.update(number for number, _ in found)
        rows += [{**row, **other} for _, other in found]
        if not found and how in ("left", "full"):
            rows.append({**row, **dict.fromkeys(others)})
    if how in ("right", "full"):
        rows += [{**dict.fromkeys(own), **o} for number, o in rights if number not in matched]
    kinds = [left.schema.field(name) for name in [*keys, *own]]
    schema = pa.schema([*kinds, *(right.schema.field(name) for name in others)])
    return pa.Table.from_pylist(rows, schema)


def round_of(way: Way, log: list[str]) -> None:
    """Run one round; `log` receives its operations."""
    draw = way.draw
    schema = draw.schema()
    fields = draw.fields(schema)
    log.append(f"{schema}\n{fields}")
    rows = draw.rows(schema)
    assert way.write("left", rows, "create", fields) == rows.num_rows
    there = way.namespace.partitioned("left")
    model, places = rows, places_of(there, rows)
    for _ in range(draw.random.randint(1, 4)):
        kind = draw.random.choice(["append", "append", "overwrite_partitions", "evolve"])
        if kind == "evolve":
            changed = draw.fields(schema)
            if not there.is_partitioned_by(changed):
                log.append(f"evolve {changed}")
                there.evolve(changed)
            continue
        new = draw.rows(schema)
        log.append(f"{kind} {new.num_rows}")
        assert way.write("left", new, kind, None) == new.num_rows
        own = places_of(there, new)
        if kind == "overwrite_partitions":
            kept = [n for n, place in enumerate(places) if place not in set(own)]
            model, places = model.take(pa.array(kept, pa.int64())), [places[n] for n in kept]
        model, places = pa.concat_tables([model, new]), [*places, *own]
    assert count_rows(way.namespace, "left") == model.num_rows
    for condition in (None, *(draw.condition(schema) for _ in range(4))):
        log.append(f"read {condition}")
        wanted = content(model if condition is None else matching(model, condition))
        for found in way.read("left", condition):
            assert content(found) == wanted
        if condition is not None:
            assert count_rows(way.namespace, "left", filter=lance_sql(condition)) == len(wanted)
    check_join(way, schema, model, log)


def places_of(there: Any, rows: pa.Table) -> list[tuple[object, ...]]:
    """Return the number of the current spec and the partition values of each row."""
    state = there._store.load()
    paths = column_paths(state.schema)
    columns = [each.values(rows, paths) for each in state.spec.fields]
    return [(state.spec.id, *key) for key in keys_of(columns, rows.num_rows)]


def check_join(way: Way, schema: pa.Schema, model: pa.Table, log: list[str]) -> None:
    draw = way.draw
    named = [each for each in schema.remove(0) if each.type in JOINED]
    if not named:
        return
    keys = draw.random.sample(named, draw.random.randint(1, min(2, len(named))))
    names = [each.name for each in keys]
    field = f"bucket(3, {quoted(names[0])})"
    other = draw.rows(pa.schema([("id", pa.int64()), *keys])).rename_columns(["other", *names])
    # The earlier fields may have none in common with the right side, so all rows are written again.
    (way.root / "left").rename(way.root / "earlier")
    way.write("left", model, "create", list(dict.fromkeys([field, draw.fields(schema)[0]])))
    way.write("right", other, "create", [field])
    how = draw.random.choice(["inner", "left", "right", "full"])
    log.append(f"join {how} on {names}")
    assert content(way.join(names, how)) == content(joined(model, other, names, how))


def run_rounds(make: Callable[[Path, Draw], Way], root: Path, seed: int, rounds: int) -> None:
    for each in range(seed, seed + rounds):
        log: list[str] = []
        way = make(root / str(each), Draw(each))
        try:
            round_of(way, log)
        except BaseException as error:
            steps = "\n".join(log)
            raise AssertionError(f"LANCE_NS_PARTITIONS_SEED={each} repeats it:\n{steps}") from error
        finally:
            way.namespace.close()


def start() -> int:
    return SEED or random.SystemRandom().randrange(1, 10**9)


def test_random_partitions_in_process(tmp_path: Path) -> None:
    run_rounds(InProcess, tmp_path, start(), 5)


def test_random_partitions_in_a_session(spark: Any, tmp_path: Path) -> None:
    run_rounds(lambda root, draw: Sparks(root, draw, spark), tmp_path, start(), 1)


def test_keys_of_a_join_may_have_any_name_and_occur_twice(tmp_path: Path) -> None:
    way = InProcess(tmp_path, Draw(1))
    left = pa.table({"_left": ["a", "b"], "_right": [1, 2], "id": [1, 2]})
    way.write("left", left, "create", ["_left"])
    way.write("right", left.rename_columns(["_left", "_right", "other"]), "create", ["_left"])
    found = way.join(["_left", "_right", "_left"], "inner")
    assert found.column_names == ["_left", "_right", "id", "other"]
    assert content(found) == ["('a', 1, 1, 1)", "('b', 2, 2, 2)"]


def test_partitions_of_nan_are_joined(tmp_path: Path) -> None:
    way = InProcess(tmp_path, Draw(1))
    fields = ["expression('cast(col0 as double)', s)"]
    left = pa.table({"s": ["nan", "1", "2"], "id": [1, 2, 3]})
    right = pa.table({"s": ["nan", "2"], "other": [4, 5]})
    way.write("left", left, "create", fields)
    way.write("right", right, "create", fields)
    assert content(way.join(["s"], "inner")) == content(joined(left, right, ["s"], "inner"))


@pytest.mark.slow
def test_random_partitions_in_a_session_for_some_time(spark: Any, tmp_path: Path) -> None:
    end, seed, rounds = time.monotonic() + SECONDS, start(), 0
    while not rounds or (time.monotonic() < end and not SEED):
        run_rounds(lambda root, draw: Sparks(root, draw, spark), tmp_path, seed + rounds, 1)
        rounds += 1
    print(f"{rounds} rounds from seed {seed}")


@pytest.mark.slow
def test_random_partitions_in_process_for_some_time(tmp_path: Path) -> None:
    end, seed, rounds = time.monotonic() + SECONDS, start(), 0
    while not rounds or (time.monotonic() < end and not SEED):
        run_rounds(InProcess, tmp_path, seed + rounds, 1)
        rounds += 1
    print(f"{rounds} rounds from seed {seed}")
