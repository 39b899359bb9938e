"""Every Arrow type between Lance and Spark: its rule, and a round trip of its values."""

from __future__ import annotations

import datetime as dt
import uuid
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import types as is_

from lance_namespace_client.errors import LanceNamespaceError, TableSchemaValidationError
from lance_namespace_impls import connect
from lance_namespace_impls.distributed import write_plan
from lance_namespace_impls.distributed.columns import (
    cast_batch,
    spark_arrow_schema,
    to_spark_schema,
)
from lance_namespace_impls.distributed.write_plan import Target
from lance_namespace_impls.spark import read_table, write_table
from lance_namespace_impls.spark.read_plan import pin, plan_tasks, read_pieces
from lance_namespace_impls.spark.type_rules import ARROW_TYPES, Rule, type_rules
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark two")

RULES = dict(zip(map(str, ARROW_TYPES), type_rules(), strict=True))


def field_of(kind: pa.DataType, name: str = "c") -> pa.Field:
    if getattr(kind, "extension_name", None) == "lance.blob.v2":
        return lance.blob_field(name)
    return pa.field(name, kind)


@pytest.mark.parametrize("kind", ARROW_TYPES, ids=str)
def test_lance_stores_the_types_of_the_rules(kind: pa.DataType, tmp_path: Path) -> None:
    """A type that Lance does not store is rejected before anything is written."""
    rule = RULES[str(kind)]
    if isinstance(kind, pa.BaseExtensionType):
        nulls = pa.ExtensionArray.from_storage(kind, pa.nulls(2, kind.storage_type))
    else:
        nulls = pa.nulls(2, kind)
    rows = pa.table([nulls], schema=pa.schema([field_of(kind)]))
    try:
        lance.write_dataset(rows, str(tmp_path / "t"), data_storage_version="2.2")
        stored = True
    except OSError:
        stored = False
    assert stored == rule.lance
    if not stored:
        nested = pa.schema([("a", pa.struct([("b", kind)]))])
        for schema in (rows.schema, nested):
            with pytest.raises(TableSchemaValidationError, match="Lance does not support type"):
                write_plan.check_schema(schema, "table t")


def whole(low: int, high: int) -> st.SearchStrategy[Any]:
    return st.integers(low, high)


def moments(kind: pa.DataType, limit: dt.timedelta) -> st.SearchStrategy[Any]:
    """Return timestamps or durations as integers, in Spark's range and in whole microseconds."""
    a_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    most = int(limit.total_seconds()) * a_second
    step = 1000 if kind.unit == "ns" else 1
    return st.integers(-most // step, most // step).map(lambda count: count * step)


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Return values of a type that Spark represents without loss."""
    if isinstance(kind, pa.BaseExtensionType):
        name = kind.extension_name
        if name == "arrow.uuid":
            return st.binary(min_size=16, max_size=16)
        if name == "arrow.bool8":
            return whole(0, 1)
        if name == "arrow.json":
            return st.sampled_from(['{"a":1}', "[1,2]", "null", '"x"'])
        return st.binary(max_size=20)
    if is_.is_dictionary(kind):
        return values(kind.value_type)
    if is_.is_null(kind):
        return st.none()
    if is_.is_boolean(kind):
        return st.booleans()
    if is_.is_integer(kind):
        bits = kind.bit_width - is_.is_signed_integer(kind)
        return whole(-(2**bits) if is_.is_signed_integer(kind) else 0, 2**bits - 1)
    if is_.is_floating(kind):
        return st.floats(width=kind.bit_width, allow_nan=False)
    if is_.is_decimal(kind):
        digits = min(kind.precision, 38)
        return whole(-(10**digits) + 1, 10**digits - 1).map(
            lambda number: Decimal(f"{number}e-{kind.scale}")
        )
    if is_.is_fixed_size_binary(kind):
        return st.binary(min_size=kind.byte_width, max_size=kind.byte_width)
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
    if is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_binary_view(kind):
        return st.binary(max_size=20)
    if is_.is_date(kind):
        return st.dates(dt.date(1, 1, 1))
    if is_.is_time(kind):
        most = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit] * 86_400
        return whole(0, most - 1)
    if is_.is_timestamp(kind):
        return moments(kind, dt.timedelta(days=365 * 200))
    if is_.is_duration(kind):
        return moments(kind, dt.timedelta(days=100_000))
    if is_.is_fixed_size_list(kind):
        size = kind.list_size
        return st.lists(values(kind.value_type), min_size=size, max_size=size)
    if is_.is_list(kind) or is_.is_large_list(kind):
        return st.lists(nullable(kind.value_type), max_size=4)
    if is_.is_map(kind):
        keys = st.lists(values(kind.key_type), max_size=4, unique_by=str)
        return keys.flatmap(
            lambda found: st.tuples(*(nullable(kind.item_type) for _ in found)).map(
                lambda items: list(zip(found, items, strict=True))
            )
        )
    if is_.is_struct(kind):
        return st.fixed_dictionaries({child.name: nullable(child.type) for child in kind})
    raise AssertionError(f"no values for {kind}")


def nullable(kind: pa.DataType) -> st.SearchStrategy[Any]:
    return st.none() | values(kind)


def array_of(items: list[Any], kind: pa.DataType) -> Any:
    if getattr(kind, "extension_name", None) == "lance.blob.v2":
        return cast_batch(
            pa.record_batch({"c": pa.array(items, pa.binary())}), pa.schema([field_of(kind)])
        ).column(0)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, pa.array(items, kind.storage_type))
    return pa.array(items, kind)


def shrunk(kind: pa.DataType) -> pa.DataType:
    """Return a type with vectors of three numbers instead of many."""
    if is_.is_fixed_size_list(kind):
        return pa.list_(kind.value_type, 3)
    if is_.is_list(kind):
        return pa.list_(shrunk(kind.value_type))
    return kind


CROSSING = [shrunk(kind) for kind in ARROW_TYPES if RULES[str(kind)].rule is not Rule.REFUSED]
SIMPLE = [kind for kind in CROSSING if not isinstance(kind, pa.BaseExtensionType)]
NESTED = st.recursive(
    st.sampled_from([kind for kind in SIMPLE if not is_.is_null(kind)]),
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda kind: pa.struct([("x", kind), ("y", pa.int32())])),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
    ),
    max_leaves=3,
)


def check_round_trip(folder: Path, table: pa.Table) -> None:
    """Check that rows are unchanged after a read with Spark's types and another write."""
    path = folder / f"{uuid.uuid4().hex}.lance"
    dataset = lance.write_dataset(table, str(path), data_storage_version="2.2")
    with connect("dir", {"path": str(folder)}) as namespace:
        pinned = pin(Target(namespace=namespace, table=(path.stem,)))
        spark = spark_arrow_schema(to_spark_schema(pinned.schema))
        (task,) = plan_tasks(pinned, 1)
        batches = list(read_pieces(pinned, task, spark, None))
    assert all(batch.schema == spark for batch in batches)
    back = [cast_batch(batch, dataset.schema) for batch in batches]
    again = lance.write_dataset(
        pa.Table.from_batches(back, dataset.schema), str(folder / f"{uuid.uuid4().hex}.lance"),
        data_storage_version="2.2",
    )  # fmt: skip
    first, second = (
        each.scanner(blob_handling="all_binary").to_table() for each in (dataset, again)
    )
    assert first.equals(second), f"{first}\n{second}"


@pytest.mark.parametrize("kind", CROSSING, ids=str)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_values_of_each_type_make_a_round_trip(
    kind: pa.DataType, data: st.DataObject, tmp_path: Path
) -> None:
    items = data.draw(st.lists(nullable(kind), min_size=1, max_size=5))
    schema = pa.schema([field_of(kind)])
    check_round_trip(tmp_path, pa.table([array_of(items, kind)], schema=schema))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_nested_values_make_a_round_trip(data: st.DataObject, tmp_path: Path) -> None:
    kind = data.draw(NESTED)
    items = data.draw(st.lists(nullable(kind), min_size=1, max_size=4))
    check_round_trip(tmp_path, pa.table({"c": pa.array(items, kind)}))


def test_all_types_make_a_round_trip_through_spark(lake: Lake, spark: Any) -> None:
    """Examples of each type pass through the JVM into a table of the same types."""
    fields, arrays = [], []
    for number, kind in enumerate(CROSSING):
        items = [None, *_examples(kind)]
        fields.append(field_of(kind, f"c{number}"))
        arrays.append(array_of(items[:3], kind))
    table = pa.table(arrays, schema=pa.schema(fields))
    lake.put("t", table, data_storage_version="2.2")
    lake.put("back", table.slice(0, 0), data_storage_version="2.2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about digits that may be lost
        write_table(read_table(spark, lake.namespace, "t"), lake.namespace, "back", "append")
    found = [
        lake.dataset(name).scanner(blob_handling="all_binary").to_table() for name in ("t", "back")
    ]
    for name in table.schema.names:
        one, other = (each.column(name).to_pylist() for each in found)
        assert one == other, f"{name}: {table.schema.field(name).type}"


def _examples(kind: pa.DataType) -> list[Any]:
    from hypothesis import find

    simplest = find(values(kind), lambda value: True)
    return [simplest, simplest]


def test_rejections_name_the_column_before_work_starts() -> None:
    for kind in ARROW_TYPES:
        rule = RULES[str(kind)]
        if rule.rule is not Rule.REFUSED:
            continue
        schema = pa.schema([field_of(kind, "price")])
        refuse = (
            to_spark_schema if rule.lance else (lambda s: write_plan.check_schema(s, "table t"))
        )
        with pytest.raises(LanceNamespaceError, match="price"):
            refuse(schema)
