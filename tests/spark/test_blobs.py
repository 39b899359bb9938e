"""Read blobs as references, and resolve the references on workers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
    TableVersionNotFoundError,
)
from lance_namespace_impls.distributed.columns import spark_arrow_schema, to_spark_schema
from lance_namespace_impls.distributed.type_names import parse_types
from lance_namespace_impls.spark import read_table, resolve_blobs, write_table
from lance_namespace_impls.spark.blobs import _Resolver
from lance_namespace_impls.spark.read_plan import REFERENCE, pin, plan_tasks, read_pieces
from tests.spark.conftest import Lake, failure_of

pytestmark = pytest.mark.xdist_group("spark two")

CONTENTS = [None if n % 7 == 3 else b"" if n == 8 else bytes([n]) * (n * 5000) for n in range(20)]


def put(lake: Lake, kind: str) -> None:
    """Write a table with blobs in either of Lance's encodings, in several fragments."""
    if kind == "v1":
        field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
        blobs = pa.array(CONTENTS, pa.large_binary())
        version = "2.1"
    else:
        field, blobs, version = lance.blob_field("b"), lance.blob_array(CONTENTS), "2.2"
    schema = pa.schema([pa.field("id", pa.int64()), field])
    rows = pa.table({"id": range(20), "b": blobs}, schema=schema)
    lake.put("t", rows, max_rows_per_file=6, data_storage_version=version)
    lake.dataset("t").delete("id IN (0, 7)")


def references(lake: Lake, **more: Any) -> list[pa.RecordBatch]:
    """Read the table in this process, as Spark's workers do."""
    pinned = pin(lake.target(), blobs="references", **more)
    schema = spark_arrow_schema(to_spark_schema(pinned.schema))
    tasks = plan_tasks(pinned, 2)
    return [batch for task in tasks for batch in read_pieces(pinned, task, schema, 4)]


def resolved(
    lake: Lake, batches: list[pa.RecordBatch], function: Any = None, types: str = "", most: int = 1
) -> list[dict[str, Any]]:
    made = pa.schema(list(parse_types(types).items())) if types else pa.schema([("b", pa.binary())])
    schema = batches[0].schema
    if function is None:
        wanted = schema.set(schema.get_field_index("b"), pa.field("b", pa.binary()))
    else:
        wanted = pa.schema([*schema, *made])
    place = schema.get_field_index("b")
    resolver = _Resolver(lake.target(), place, function, made, wanted, most)
    return [row for batch in resolver(iter(batches)) for row in batch.to_pylist()]


@pytest.mark.parametrize("kind", ["v1", "v2"])
def test_references_have_sizes_and_resolve_to_the_contents(quiet_lake: Lake, kind: str) -> None:
    put(quiet_lake, kind)
    batches = references(quiet_lake)
    assert batches[0].schema.field("b").type == REFERENCE
    rows = [row for batch in batches for row in batch.to_pylist()]
    kept = [n for n in range(20) if n not in (0, 7)]
    assert [row["id"] for row in rows] == kept
    for row in rows:
        content = CONTENTS[row["id"]]
        if content is None:
            assert row["b"] is None
        else:
            assert (row["b"]["size"], row["b"]["column"]) == (len(content), "b")
            assert row["b"]["version"] == 2
    for most in (1, 100_000, 1 << 30):
        found = resolved(quiet_lake, batches, most=most)
        assert found == [{"id": n, "b": CONTENTS[n]} for n in kept]


def test_references_stay_valid_when_the_table_changes(quiet_lake: Lake) -> None:
    put(quiet_lake, "v2")
    batches = references(quiet_lake)
    quiet_lake.dataset("t").delete("id < 10")
    quiet_lake.dataset("t").optimize.compact_files()
    expected = [{"id": n, "b": CONTENTS[n]} for n in range(20) if n not in (0, 7)]
    assert resolved(quiet_lake, batches) == expected
    quiet_lake.dataset("t").cleanup_old_versions(timedelta(0))
    with pytest.raises(TableVersionNotFoundError):
        resolved(quiet_lake, batches)


def digest(contents: Sequence[bytes | None]) -> pa.RecordBatch:
    digests = [None if each is None else hashlib.sha256(each).hexdigest() for each in contents]
    return pa.record_batch(
        {"digest": pa.array(digests, pa.string()), "n": [len(contents)] * len(contents)}
    )


def test_a_function_receives_contents_of_bounded_size(quiet_lake: Lake) -> None:
    put(quiet_lake, "v2")
    seen: list[int] = []

    def function(contents: Sequence[bytes | None]) -> pa.RecordBatch:
        seen.append(sum(len(each or b"") for each in contents))
        return digest(contents)

    found = resolved(
        quiet_lake, references(quiet_lake), function, "digest:string, n:int64", 150_000
    )
    expected = {
        n: None if CONTENTS[n] is None else hashlib.sha256(CONTENTS[n] or b"").hexdigest()
        for n in range(20)
        if n not in (0, 7)
    }
    assert {row["id"]: row["digest"] for row in found} == expected
    assert max(seen) <= 150_000
    assert len(seen) < len(found)


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (lambda contents: [1], InvalidInputError),
        (lambda contents: pa.record_batch({"n": [1] * (len(contents) + 1)}), InvalidInputError),
        (lambda contents: pa.record_batch({"m": [1] * len(contents)}), TableSchemaValidationError),
    ],
)
def test_other_results_of_a_function_are_rejected(
    quiet_lake: Lake, made: Any, kind: type[Exception]
) -> None:
    put(quiet_lake, "v2")
    with pytest.raises(kind):
        resolved(quiet_lake, references(quiet_lake), made, "n:int64")


def test_references_to_another_table_are_rejected(quiet_lake: Lake) -> None:
    put(quiet_lake, "v2")
    batches = references(quiet_lake)
    lance.dataset(quiet_lake.path("t")).delete("true")
    quiet_lake.put("t", pa.table({"id": [1]}), mode="overwrite")
    schema = batches[0].schema
    other = [
        {"id": 1, "b": {"column": "b", "version": 2, "address": 99 << 32, "size": 1}},
    ]
    with pytest.raises(InvalidInputError, match="non-existent fragment: 99"):
        resolved(quiet_lake, [pa.RecordBatch.from_pylist(other, schema)])


def test_frames_have_references_and_workers_resolve_them(lake: Lake, spark: Any) -> None:
    put(lake, "v2")
    frame = read_table(spark, lake.namespace, "t", blobs="references")
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema}
    assert kinds["b"] == "struct<column:string,version:bigint,address:bigint,size:bigint>"
    large = frame.where("b.size > 50000")
    found = resolve_blobs(large, lake.namespace, "t", "b")
    expected = {
        n: each for n, each in enumerate(CONTENTS) if each and len(each) > 50_000 and n != 7
    }
    assert {row.id: bytes(row.b) for row in found.collect()} == expected
    plain = lake.load("t", blobs="references").where("id > 15").drop("id")
    made = resolve_blobs(plain, lake.namespace, "t", "b", digest, types="digest:string, n:int64")
    assert made.columns == ["b", "digest", "n"]
    assert {row.digest for row in made.collect()} == {
        None if CONTENTS[n] is None else hashlib.sha256(CONTENTS[n] or b"").hexdigest()
        for n in range(16, 20)
    }
    failure = failure_of(lambda: lake.load("t", blobs="other").collect())
    assert isinstance(failure, InvalidInputError)
    for column, function, types, kind in (
        ("z", None, None, TableColumnNotFoundError),
        ("id", None, None, InvalidInputError),
        ("b", digest, None, InvalidInputError),
        ("b", None, "n:int64", InvalidInputError),
        ("b", digest, "id:int64", InvalidInputError),
    ):
        with pytest.raises(kind):
            resolve_blobs(frame, lake.namespace, "t", column, function, types=types)


def test_types_declare_a_blob_column(lake: Lake, spark: Any) -> None:
    frame = spark.createDataFrame([(1, bytearray(b"x" * 70_000)), (2, None)], "id long, b binary")
    write_table(frame, lake.namespace, "t", types="b:blob")
    dataset = lake.dataset("t")
    assert dataset.schema.field("b").type == lance.blob_field("b").type
    found = dict(zip(
        dataset.to_table(columns=["id"])["id"].to_pylist(),
        [content for _, content in dataset.read_blobs("b", indices=[0, 1])],
        strict=True,
    ))  # fmt: skip
    assert found == {1: b"x" * 70_000, 2: None}
    with pytest.raises((InvalidInputError, TableSchemaValidationError)):
        write_table(frame, lake.namespace, "u", types="b:blob", data_storage_version="2.1")
    with pytest.raises(TableSchemaValidationError):
        write_table(frame, lake.namespace, "u", types="id:blob")
    with pytest.raises(InvalidInputError):
        write_table(frame, lake.namespace, "u", types="b:list<blob>")
