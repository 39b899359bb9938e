"""Joins two partitioned namespaces partition by partition, without a shuffle.

Spark can join two sources without a shuffle if both report the same partitioning. It looks up the
function of a partition field, such as `bucket`, in the catalog of the table, and tables that are
loaded by format have no catalog. Spark also compares its own `bucket` only with other sources'
functions of the same name, while the parts of a time (`year`, `month`) differ from its functions.
Therefore, this function divides the join itself: each task reads the partitions with the same
values from both sides and joins them with Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve, frozen
from pyarrow import types as is_

from lance_namespace_client.errors import InvalidInputError, UnsupportedError

from ..distributed.columns import batches_of_bounded_size, cast_batch, spark_arrow_schema
from ..distributed.failures import coded
from ..distributed.secrets import map_in_arrow
from ..partitioned.namespace import matching_partitions
from ..partitioned.spec import column_paths
from .dataframe_reader import target_of
from .extra import require_pyspark
from .read_plan import PinnedPartitions, pin_rows, projection

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..catalog.namespace import Namespace
    from ..partitioned.store import Partition

__all__ = ["join_partitions"]

_KINDS = {
    "inner": "inner",
    "left": "left outer",
    "right": "right outer",
    "full": "full outer",
}


@frozen(kw_only=True)
class Side:
    """One side of the join."""

    pinned: PinnedPartitions
    groups: Mapping[tuple[object, ...], Sequence[Partition]]
    """The partitions, by the values of the common partition fields."""

    def rows(self, key: tuple[object, ...]) -> pa.Table:
        """Return the rows of the partitions with these values."""
        schema = self.pinned.schema
        names = projection(schema.names)
        tables = [schema.empty_table()]
        for partition in self.groups.get(key, ()):
            dataset = self.pinned.dataset(partition)
            found = dataset.scanner(columns=names, filter=self.pinned.filter).to_table()
            tables.append(found.cast(schema))
        return pa.concat_tables(tables)


def join_partitions(
    spark: SparkSession,
    namespace: Namespace,
    left: str | Sequence[str],
    right: str | Sequence[str],
    *,
    on: str | Sequence[str],
    how: str = "inner",
    left_columns: Sequence[str] | None = None,
    right_columns: Sequence[str] | None = None,
    left_filter: str | None = None,
    right_filter: str | None = None,
) -> DataFrame:
    """Return the join of two partitioned namespaces, without a shuffle.

    Each task reads the partitions of both sides that have the same values of the common partition
    fields, and holds their rows in memory. Null keys match no row.

    Args:
        spark: the session.
        namespace: the catalog.
        left: identifier of the left side, as ``"db.orders"`` or a list of names.
        right: identifier of the right side.
        on: key columns, which both sides have with the same type. At least one partition field must
            be the same on both sides and use only key columns.
        how: ``inner``, ``left``, ``right`` or ``full``.
        left_columns: columns of the left side; defaults to all.
        right_columns: columns of the right side; defaults to all. Key columns are returned once.
        left_filter: condition in Lance's SQL for the rows of the left side; defaults to all.
        right_filter: condition in Lance's SQL for the rows of the right side; defaults to all.

    Raises:
        UnsupportedError: code 0, a side is not partitioned, or a key has a type that cannot be
            joined.
        TableNotFoundError: code 4, a side does not exist.
        TableColumnNotFoundError: code 12, a column does not exist.
        InvalidInputError: code 13, the sides have no common partition field with these keys, the
            types of a key differ, or both sides have another column with the same name.
    """
    require_pyspark()
    from ..distributed.columns import to_spark_schema

    keys = [on] if isinstance(on, str) else list(dict.fromkeys(on))
    if how not in _KINDS:
        raise InvalidInputError(f"how must be one of {', '.join(_KINDS)}, not {how!r}")
    sides = (
        _pinned(namespace, left, keys, left_columns, left_filter),
        _pinned(namespace, right, keys, right_columns, right_filter),
    )
    _check(sides[0], sides[1], keys)
    found = [_values(each) for each in sides]
    common = [
        name for name in found[0][0] if name in found[1][0] and found[0][0][name] <= set(keys)
    ]
    if not common:
        raise InvalidInputError(
            f"{sides[0].target.name} is partitioned by {', '.join(found[0][0])}, and "
            f"{sides[1].target.name} by {', '.join(found[1][0])}: no common field uses only the keys "
            f"{', '.join(keys)}; read both with read_table and join them in Spark"
        )
    both = [
        Side(pinned=each, groups=_grouped(rows, common))
        for each, (_, rows) in zip(sides, found, strict=True)
    ]
    groups = _joined_groups(both[0].groups, both[1].groups, how)
    schema = pa.schema([*sides[0].schema, *(f for f in sides[1].schema if f.name not in keys)])
    if how != "inner":
        schema = pa.schema([each.with_nullable(True) for each in schema])
    result = to_spark_schema(schema)
    target = spark_arrow_schema(result)
    numbers = spark.range(0, len(groups), 1, max(1, len(groups)))

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        name = both[0].pinned.target.name
        with coded(f"joining {name}", both[0].pinned.target.namespace.config.secrets()):
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    rows = [side.rows(groups[number]) for side in both]
                    for each in _joined(rows[0], rows[1], keys, how, schema):
                        cast = cast_batch(each, target, cut_fractions=True)
                        yield from batches_of_bounded_size(cast)

    return map_in_arrow(numbers, work, result)


def _pinned(
    namespace: Namespace,
    table: str | Sequence[str],
    keys: Sequence[str],
    columns: Sequence[str] | None,
    filter: str | None,
) -> PinnedPartitions:
    """Pin one side; the keys are its first columns."""
    target = target_of(namespace, table)
    pinned = pin_rows(target, columns=keys, filter=filter)
    if not isinstance(pinned, PinnedPartitions):
        raise UnsupportedError(
            f"{target.name} is not partitioned: read it with read_table and join it in Spark"
        )
    stored = pinned.stored_schema()
    chosen = stored.names if columns is None else list(columns)
    names = [*keys, *(name for name in chosen if name not in keys)]
    return pin_rows(target, columns=names, filter=filter)  # type: ignore[return-value]


def _check(left: PinnedPartitions, right: PinnedPartitions, keys: Sequence[str]) -> None:
    for key in keys:
        kinds = [side.schema.field(key).type for side in (left, right)]
        if kinds[0] != kinds[1]:
            raise InvalidInputError(
                f"the key {key} is {kinds[0]} in {left.target.name} and {kinds[1]} in "
                f"{right.target.name}; join them in Spark, with a cast"
            )
        if is_.is_nested(kinds[0]) or is_.is_floating(kinds[0]):
            raise UnsupportedError(
                f"the key {key} is {kinds[0]}: join by integers, decimals, text, binary, dates or "
                "times, or join in Spark"
            )
    others = {name for name in left.schema.names if name not in keys}
    if twice := sorted(others.intersection(right.schema.names)):
        raise InvalidInputError(
            f"both sides have the column {twice[0]}: name the columns to return with left_columns "
            "and right_columns"
        )


def _values(
    pinned: PinnedPartitions,
) -> tuple[dict[str, set[str]], list[tuple[dict[str, object], Partition]]]:
    """Return the partition fields with their columns, and the values and partitions.

    Only fields of all specs that have partitions are returned.
    """
    store = pinned.target.store()
    state = store.load(pinned.version)
    paths = column_paths(state.schema)
    partitions = matching_partitions(store, state, pinned.filter)
    used = {each.spec for each in partitions} or {state.spec.id}
    names = {
        number: {field.id: field.shown(paths) for field in state.specs[number].fields}
        for number in used
    }
    common = set.intersection(*(set(each.values()) for each in names.values()))
    columns = {
        field.shown(paths): {".".join(paths.get(source, ("",))) for source in field.sources}
        for number in sorted(used)
        for field in state.specs[number].fields
        if field.shown(paths) in common
    }
    rows = [
        (
            {
                names[each.spec][id]: "nan" if value != value else value
                for id, value in each.values.items()
            },
            evolve(each, values={}),
        )
        for each in partitions
    ]
    return columns, rows


def _grouped(
    rows: Sequence[tuple[dict[str, object], Partition]], fields: Sequence[str]
) -> dict[tuple[object, ...], list[Partition]]:
    groups: dict[tuple[object, ...], list[Partition]] = {}
    for values, partition in rows:
        groups.setdefault(tuple(values[name] for name in fields), []).append(partition)
    return groups


def _joined_groups(left: Mapping[Any, Any], right: Mapping[Any, Any], how: str) -> list[Any]:
    """Return the values for which a task is needed."""
    if how == "inner":
        return [each for each in left if each in right]
    if how == "left":
        return list(left)
    if how == "right":
        return list(right)
    return [*left, *(each for each in right if each not in left)]


def _joined(
    left: pa.Table, right: pa.Table, keys: Sequence[str], how: str, schema: pa.Schema
) -> list[pa.RecordBatch]:
    """Join two tables; Arrow joins only the keys, because it cannot join nested columns."""
    # Names that no key has.
    rows = [f"{side}{''.join(keys)}" for side in ("left", "right")]
    numbered = [
        side.select(keys).append_column(name, pa.array(range(len(side)), pa.int64()))
        for side, name in zip((left, right), rows, strict=True)
    ]
    found = numbered[0].join(numbered[1], keys=list(keys), join_type=_KINDS[how])
    columns = [
        *(found[key] for key in keys),
        *(left[name].take(found[rows[0]]) for name in left.column_names if name not in keys),
        *(right[name].take(found[rows[1]]) for name in right.column_names if name not in keys),
    ]
    table = pa.Table.from_arrays(columns, schema=schema)
    return list(table.combine_chunks().to_batches())
