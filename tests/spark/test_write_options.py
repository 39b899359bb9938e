"""Options of writes: size of files, format version, stable row ids and new columns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    TableSchemaValidationError,
)
from lance_namespace_impls.distributed import write_plan
from lance_namespace_impls.distributed.write_plan import FileOptions, Mode, plan_write, write_rows
from lance_namespace_impls.ingest.file_import import import_files
from lance_namespace_impls.spark import write_table
from tests.spark.conftest import Lake, failure_of

pytestmark = pytest.mark.xdist_group("spark two")

ROWS = pa.table({"id": range(10), "s": [f"s{n}" for n in range(10)]})


def write(
    lake: Lake, table: pa.Table, mode: Mode = Mode.CREATE, *, merge: bool = False, **files: Any
) -> int:
    """Write rows as a worker does, and commit them as the driver does."""
    plan = plan_write(
        lake.target(), table.schema, mode, files=FileOptions(**files), merge_schema=merge
    )
    assert plan is not None
    from lance_namespace_impls.distributed.columns import cast_batch

    batches = [cast_batch(batch, plan.schema) for batch in table.to_batches(max_chunksize=100)]
    try:
        return write_plan.commit(plan, write_rows(plan, batches))
    except BaseException:
        write_plan.abort(plan, [])
        raise


def test_files_have_a_maximum_size_in_bytes(quiet_lake: Lake) -> None:
    rows = pa.table({"b": [os.urandom(1000) for _ in range(30_000)]})
    write(quiet_lake, rows, bytes=5_000_000)
    fragments = quiet_lake.dataset("t").get_fragments()
    sizes = [file.file_size_bytes for each in fragments for file in each.data_files()]
    assert len(sizes) == 6
    assert max(sizes) < 5_200_000  # Lance begins a new file after the batch that exceeds the limit
    assert quiet_lake.dataset("t").to_table() == rows


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_a_new_table_has_the_format_version(quiet_lake: Lake, version: str) -> None:
    write(quiet_lake, ROWS, data_storage_version=version)
    assert quiet_lake.dataset("t").data_storage_version == version
    write(quiet_lake, ROWS, Mode.APPEND)
    write(quiet_lake, ROWS, Mode.APPEND, data_storage_version=version)
    files = [file for each in quiet_lake.dataset("t").get_fragments() for file in each.data_files()]
    assert {f"{f.file_major_version}.{f.file_minor_version}" for f in files} == {version}
    assert quiet_lake.dataset("t").count_rows() == 30
    other = "2.0" if version != "2.0" else "2.1"
    for mode in (Mode.APPEND, Mode.OVERWRITE):
        with pytest.raises(InvalidInputError, match=f"has the data storage version {version}"):
            write(quiet_lake, ROWS, mode, data_storage_version=other)
    assert quiet_lake.dataset("t").version == 3


@pytest.mark.parametrize("stable", [True, False, None])
def test_a_new_table_has_stable_row_ids_or_not(quiet_lake: Lake, stable: bool | None) -> None:
    write(quiet_lake, ROWS, stable_row_ids=stable)
    dataset = quiet_lake.dataset("t")
    assert dataset.has_stable_row_ids is bool(stable)
    dataset.update({"s": "'u'"}, "id = 3")
    after = quiet_lake.dataset("t").to_table(with_row_id=True, filter="id = 3")["_rowid"]
    assert after.to_pylist() == ([3] if stable else [1 << 32])
    with pytest.raises(InvalidInputError, match="stable row ids: omit stable_row_ids"):
        write(quiet_lake, ROWS, Mode.APPEND, stable_row_ids=not stable)
    write(quiet_lake, ROWS, Mode.APPEND)
    write(quiet_lake, ROWS, Mode.OVERWRITE)
    assert quiet_lake.dataset("t").has_stable_row_ids is bool(stable)


def test_an_append_adds_new_columns_if_allowed(quiet_lake: Lake) -> None:
    write(quiet_lake, ROWS)
    more = pa.table({"v": [[1.0, 2.0]], "id": [10], "n": [{"a": 1}]}).cast(
        pa.schema(
            [
                pa.field("v", pa.list_(pa.float32(), 2)),
                pa.field("id", pa.int64()),
                pa.field("n", pa.struct({"a": pa.int32()}), nullable=False),
            ]
        )
    )
    with pytest.raises(TableSchemaValidationError, match="has no column v, n"):
        write(quiet_lake, more, Mode.APPEND)
    write(quiet_lake, more, Mode.APPEND, merge=True)
    found = quiet_lake.dataset("t").to_table()
    assert found.schema.names == ["id", "s", "v", "n"]
    assert all(field.nullable for field in found.schema)
    assert found.slice(10).to_pylist() == [{"id": 10, "s": None, "v": [1.0, 2.0], "n": {"a": 1}}]
    assert found["v"].to_pylist()[:10] == [None] * 10
    assert found.select(["id", "s"]).slice(0, 10).to_pylist() == ROWS.to_pylist()
    # Rows without new columns change nothing else.
    version = quiet_lake.dataset("t").version
    assert write(quiet_lake, ROWS, Mode.APPEND, merge=True) == version + 1
    # Other types of columns that exist are not merged.
    with pytest.raises(TableSchemaValidationError):
        write(quiet_lake, pa.table({"id": ["text"], "w": [1]}), Mode.APPEND, merge=True)
    assert quiet_lake.dataset("t").version == version + 1


def test_a_failed_write_drops_the_columns_that_it_added(quiet_lake: Lake) -> None:
    write(quiet_lake, ROWS)
    plan = plan_write(
        quiet_lake.target(),
        pa.schema([("id", pa.int64()), ("w", pa.int8())]),
        Mode.APPEND,
        merge_schema=True,
    )
    assert plan is not None
    assert quiet_lake.dataset("t").schema.names == ["id", "s", "w"]
    write_plan.abort(plan, [])
    assert quiet_lake.dataset("t").schema.names == ["id", "s"]
    # Another writer may already use the column.
    plan = plan_write(
        quiet_lake.target(), pa.schema([("w", pa.int8())]), Mode.APPEND, merge_schema=True
    )
    assert plan is not None
    quiet_lake.put(
        "t", pa.table({"id": [1], "s": ["x"], "w": pa.array([1], pa.int8())}), mode="append"
    )
    write_plan.abort(plan, [])
    assert quiet_lake.dataset("t").to_table()["w"].to_pylist()[-1] == 1


def test_two_writers_that_add_a_column_lose_nothing(quiet_lake: Lake) -> None:
    write(quiet_lake, ROWS)
    rows = pa.table({"id": [10], "w": [1]})
    plans = [
        plan_write(quiet_lake.target(), rows.schema, Mode.APPEND, merge_schema=True)
        for _ in range(2)
    ]
    for plan in plans:
        assert plan is not None
        from lance_namespace_impls.distributed.columns import cast_batch

        batches = [cast_batch(batch, plan.schema) for batch in rows.to_batches()]
        write_plan.commit(plan, write_rows(plan, batches))
    assert quiet_lake.dataset("t").to_table()["w"].to_pylist()[10:] == [1, 1]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"rows": 0}, "rows_per_file must be a whole number"),
        ({"bytes": 0}, "bytes_per_file must be a whole number"),
        ({"data_storage_version": "9"}, "data_storage_version must be one of"),
        ({"data_storage_version": "legacy"}, "data_storage_version must be one of"),
    ],
)
def test_invalid_options_are_rejected_and_declare_nothing(
    quiet_lake: Lake, files: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        write(quiet_lake, ROWS, **files)
    assert not Path(quiet_lake.path("t")).exists()


def test_an_import_has_the_same_options(quiet_lake: Lake, tmp_path: Path) -> None:
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    pq.write_table(ROWS, first)
    pq.write_table(pa.table({"id": [10], "w": [0.5]}), second)

    def bring(file: Path, mode: str, **options: str) -> Any:
        return import_files(
            None,
            impl="dir",
            properties=quiet_lake.properties,
            table="t",
            sources=[str(file)],
            mode=mode,
            options=options,
        )

    made = {"data_storage_version": "2.1", "stable_row_ids": "true", "rows_per_file": "4"}
    bring(first, "create", **made)
    dataset = quiet_lake.dataset("t")
    assert (dataset.data_storage_version, dataset.has_stable_row_ids) == ("2.1", True)
    assert [each.count_rows() for each in dataset.get_fragments()] == [4, 4, 2]
    with pytest.raises(TableSchemaValidationError, match="no column w"):
        bring(second, "append", missing="null")
    bring(second, "append", missing="null", merge_schema="true", types="w:float32")
    found = quiet_lake.dataset("t").to_table()
    assert found.schema.field("w").type == pa.float32()
    assert found.to_pylist()[-1] == {"id": 10, "s": None, "w": 0.5}
    with pytest.raises(InvalidInputError, match="has stable row ids"):
        bring(first, "append", stable_row_ids="false", missing="null")
    with pytest.raises(LanceNamespaceError):
        bring(first, "append", data_storage_version="9")


def test_frames_have_the_same_options(lake: Lake, spark: Any) -> None:
    frame = spark.createDataFrame([(n, f"s{n}") for n in range(10)], "id long, s string")
    write_table(
        frame.coalesce(1), lake.namespace, "t", rows_per_file=4, stable_row_ids=True,
        data_storage_version="2.1",
    )  # fmt: skip
    dataset = lake.dataset("t")
    assert (dataset.data_storage_version, dataset.has_stable_row_ids) == ("2.1", True)
    wider = spark.createDataFrame([(10, 1.5)], "id long, w double")
    write_table(wider, lake.namespace, "t", "append", merge_schema=True)
    lake.save(spark.createDataFrame([(11, True)], "id long, b boolean"), "t", mergeSchema="true")
    rows = {row["id"]: row for row in lake.dataset("t").to_table().to_pylist()}
    assert rows[10] == {"id": 10, "s": None, "w": 1.5, "b": None}
    assert rows[11] == {"id": 11, "s": None, "w": None, "b": True}
    assert len(rows) == 12
    lake.save(frame, "u", dataStorageVersion="2.0", stableRowIds="true", bytesPerFile="1000000")
    dataset = lake.dataset("u")
    assert (dataset.data_storage_version, dataset.has_stable_row_ids) == ("2.0", True)
    failure = failure_of(lambda: lake.save(frame, "u", stableRowIds="false"))
    assert isinstance(failure, InvalidInputError)
    assert dataset.version == lake.dataset("u").version
    failure = failure_of(lambda: lake.save(frame, "u", dataStorageVersion="7"))
    assert isinstance(failure, InvalidInputError)


def test_a_first_append_to_a_table_with_other_row_ids_is_a_conflict(quiet_lake: Lake) -> None:
    target = quiet_lake.target()
    plan = plan_write(
        target, ROWS.schema, Mode.APPEND, makes_table=True, files=FileOptions(stable_row_ids=True)
    )
    assert plan is not None
    fragments = write_rows(plan, ROWS.to_batches())
    quiet_lake.put("t", ROWS)
    with pytest.raises(ConcurrentModificationError):
        write_plan.commit(plan, fragments)
    assert quiet_lake.dataset("t").to_table() == ROWS
    assert quiet_lake.data_files("t") == quiet_lake.used_files()
