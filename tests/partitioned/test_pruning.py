"""Pruning keeps every partition with a matching row."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings

from lance_namespace_impls.partitioned.pruning import Pruning
from lance_namespace_impls.partitioned.spec import (
    column_paths,
    new_spec,
    parse_field,
    with_ids,
)
from lance_namespace_impls.partitioned.writer import divided

from .cases import SCHEMA, Condition, conditions, kept_by_lance, specs, tables


def partitioned(table: pa.Table, fields: list[str], schema: pa.Schema = SCHEMA) -> tuple:
    """Partition rows in memory; return the schema, the spec, the partitions, and their row ids."""
    numbered = with_ids(schema)
    spec = new_spec(numbered, [parse_field(each) for each in fields], {})
    values: list[list[pa.Scalar]] = [[] for _ in fields]
    ids: list[set[int]] = []
    for batch in table.combine_chunks().to_batches():
        for part in divided(batch, spec, column_paths(numbered)):
            for column, value in zip(values, part.values, strict=True):
                column.append(value)
            ids.append(set(part.rows["id"].to_pylist()))
    columns = {
        field.column: pa.array(column, field.type)
        for field, column in zip(spec.fields, values, strict=True)
    }
    partitions = pa.table({"place": pa.array(range(len(ids)), pa.int64()), **columns})
    return numbered, spec, partitions, ids


def kept(
    table: pa.Table, fields: list[str], sql: str, schema: pa.Schema = SCHEMA
) -> tuple[set[int], int]:
    """Return the ids in the partitions that a condition keeps, and the number of partitions."""
    numbered, spec, partitions, ids = partitioned(table, fields, schema)
    mask = Pruning(sql, numbered).mask(spec, partitions)
    found = partitions if mask is None else partitions.filter(mask)
    return set().union(*(ids[place] for place in found["place"].to_pylist())), found.num_rows


QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
THOROUGH = settings(QUICK, max_examples=3000)


def check_pruning(table: pa.Table, fields: list[str], condition: Condition) -> None:
    wanted = kept_by_lance(table, condition.sql)
    assert wanted <= kept(table, fields, condition.sql)[0]
    if condition.exact:
        assert wanted == set(condition.rows(table)["id"].to_pylist())


test_pruning_never_loses_a_row = QUICK(given(tables(25), specs, conditions)(check_pruning))
test_pruning_never_loses_a_row_of_many = pytest.mark.slow(
    THOROUGH(given(tables(), specs, conditions)(check_pruning))
)


@settings(QUICK, max_examples=30)
@given(tables(25), specs)
@example(SCHEMA.empty_table(), ["n"])
def test_every_row_is_in_one_partition(table: pa.Table, fields: list[str]) -> None:
    numbered, spec, partitions, ids = partitioned(table, fields)
    assert sorted(each for part in ids for each in part) == list(range(table.num_rows))
    for field in spec.fields:
        expected = field.values(table, column_paths(numbered))
        for place, part in enumerate(ids):
            (value,) = {repr(expected[id].as_py()) for id in part} or {None}
            assert value == repr(partitions[field.column][place].as_py()) or "0.0" in value


def moments(*texts: str) -> pa.Table:
    from datetime import datetime

    at = [datetime.fromisoformat(text) for text in texts]
    return pa.table({"id": pa.array(range(len(at))), "t": pa.array(at, pa.timestamp("us"))})


@pytest.mark.parametrize(
    ("fields", "sql", "partitions"),
    [
        (["year(t)"], "t >= timestamp '2021-01-01' AND t < timestamp '2021-12-31'", 3),
        (["day(t)"], "t = timestamp '2020-05-05 10:00:00'", 1),
        (["month(t)"], "t BETWEEN timestamp '2020-05-01' AND timestamp '2020-05-20'", 2),
        (["hour(t)"], "t >= timestamp '2020-05-05 10:00:00' AND t < timestamp '2020-05-05 10:30:00'", 1),
        (["hour(t)"], "t >= timestamp '2020-05-05 10:00:00'", 3),
        (["t"], "t > timestamp '2021-01-01'", 2),
        (["bucket(64, id)"], "id = 1", 1),
        (["bucket(64, id)"], "id IN (1, 2)", 2),
        (["bucket(64, id)"], "NOT (id <> 1)", 1),
        (["bucket(64, id)"], "id > 1", 4),
        (["bucket(64, id)"], "id = 1 OR id = 3", 2),
        (["bucket(64, id)"], "id = 1 OR t IS NULL", 4),
        (["multi_bucket(64, id, t)"], "id = 1", 4),
        (["multi_bucket(64, id, t)"], "id = 0 AND t = timestamp '2020-05-05 10:00:00'", 1),
        (["truncate(2, id)"], "id >= 2", 1),
        (["truncate(2, id)"], "id < 2", 2),
        (["id"], "id = 1 AND id = 2", 0),
        (["id"], "id IS NULL", 0),
        (["expression('col0 % 2', id)"], "id = 3", 2),
        (["expression('col0 % 2', id)"], "id > 3", 4),
    ],
)  # fmt: skip
def test_partitions_without_matches_are_pruned(
    fields: list[str], sql: str, partitions: int
) -> None:
    table = moments(
        "2020-05-05 10:00:00", "2020-06-06 11:00:00", "2021-07-07 12:00:00", "2022-05-05 10:00:00"
    )
    schema = table.schema
    wanted = kept_by_lance(table, sql)
    ids, count = kept(table, fields, sql, schema)
    assert wanted <= ids
    assert count <= partitions
