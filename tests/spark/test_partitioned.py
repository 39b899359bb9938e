"""Partitioned namespaces in Spark: partitioned writes, and reads of only the matching partitions."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.directory.manifest import Manifest
from lance_namespace_impls.distributed.columns import to_spark_schema
from lance_namespace_impls.distributed.options import field_list
from lance_namespace_impls.distributed.partition_write import (
    abort_partitions,
    commit_partitions,
    plan_partitions,
    write_partitions,
)
from lance_namespace_impls.distributed.target import PartitionedTarget, Target
from lance_namespace_impls.maintenance import Upkeep, maintain
from lance_namespace_impls.spark import (
    count_rows,
    frame_from_arrow,
    join_partitions,
    read_table,
    write_table,
)
from lance_namespace_impls.spark.catalog_operations import call
from lance_namespace_impls.spark.datasource import LanceNamespaceDataSource
from lance_namespace_impls.spark.read_plan import pin_rows

FIELDS = ["year(ts)", "bucket(4, tenant)"]
TENANTS = ("a", "b", None, "größe", "x/y")


def rows(start: int = 0, count: int = 100) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "tenant": pa.array([TENANTS[n % len(TENANTS)] for n in numbers]),
            "ts": pa.array(
                [datetime(2024 + n % 3, 1 + n % 12, 1) for n in numbers], pa.timestamp("us")
            ),
        }
    )


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    with connect("dir", {"path": str(tmp_path / "lake"), "manifest": "true"}) as namespace:
        yield namespace


def ids(found: pa.Table) -> list[int]:
    return sorted(found["id"].to_pylist())


def load(spark: Any, tmp_path: Path, **options: str) -> Any:
    reader = spark.read.format("lance_namespace").option("manifest", "true")
    return reader.options(impl="dir", root=str(tmp_path / "lake"), **options).load("events")


def data_files(tmp_path: Path) -> set[Path]:
    return set((tmp_path / "lake" / "events").glob("*dataset/data/*.lance"))


def test_a_frame_is_written_to_its_partitions_and_read_back(spark: Any, lake: Any) -> None:
    frame = frame_from_arrow(spark, rows()).repartition(3)
    written = write_table(frame, lake, "events", partitioned_by=FIELDS)
    assert written.rows == 100
    events = lake.partitioned("events")
    assert events.partition_by == FIELDS
    assert written.version == events._store.load().version
    # All tasks write to the same table of a new partition.
    values = [tuple(each.values.values()) for each in events.partitions()]
    assert len(values) == len(set(values)) == 9
    assert events.scan().read_all().sort_by("id").equals(rows())
    assert read_table(spark, lake, "events").toArrow().sort_by("id").equals(rows())
    assert count_rows(lake, "events") == 100


def test_appended_rows_join_their_partitions(spark: Any, lake: Any) -> None:
    write_table(frame_from_arrow(spark, rows()), lake, "events", partitioned_by=FIELDS)
    partitions = {p.table for p in lake.partitioned("events").partitions()}
    write_table(frame_from_arrow(spark, rows(100)), lake, "events", "append")
    write_table(frame_from_arrow(spark, rows(200)), lake, "events", "append", partitioned_by=FIELDS)
    assert {p.table for p in lake.partitioned("events").partitions()} == partitions
    assert ids(lake.partitioned("events").scan().read_all()) == list(range(300))


def test_only_the_partitions_that_receive_rows_are_replaced(spark: Any, lake: Any) -> None:
    write_table(frame_from_arrow(spark, rows()), lake, "events", partitioned_by=["year(ts)"])
    new = rows(1000, 30).slice(0, 1)  # only 2025
    year = new["ts"][0].as_py().year
    write_table(frame_from_arrow(spark, new), lake, "events", "overwrite_partitions")
    kept = [n for n in range(100) if 2024 + n % 3 != year]
    assert ids(lake.partitioned("events").scan().read_all()) == [*kept, 1000]


def test_reads_open_only_matching_partitions(
    spark: Any, lake: Any, tmp_path: Path, pushing: None
) -> None:
    write_table(frame_from_arrow(spark, rows()), lake, "events", partitioned_by=["year(ts)"])
    frame = load(spark, tmp_path)
    query = frame.where("ts >= timestamp_ntz '2026-01-01'").select("id")
    expected = [n for n in range(100) if n % 3 == 2]
    assert sorted(row.id for row in query.collect()) == expected
    assert frame.count() == 100
    assert frame.where("ts < timestamp_ntz '2025-01-01'").count() == 34
    assert frame.agg({"id": "max"}).first()[0] == 99
    assert len(frame.limit(7).collect()) == 7
    # The data of partitions that cannot match is not needed.
    events = lake.partitioned("events")
    needed = {each.table for each in events.partitions("ts >= timestamp '2026-01-01'")}
    unused = [each for each in events.partitions() if each.table not in needed]
    assert (len(needed), len(unused)) == (1, 2)
    for partition in unused:
        for file in Path(partition.location).glob("data/*.lance"):
            file.unlink()
    assert sorted(row.id for row in query.collect()) == expected
    found = read_table(spark, lake, "events", filter="ts >= timestamp '2026-01-01'", columns=["id"])
    assert sorted(row.id for row in found.collect()) == expected


def test_a_frame_reads_the_version_that_it_loaded(spark: Any, lake: Any, tmp_path: Path) -> None:
    write_table(frame_from_arrow(spark, rows()), lake, "events", partitioned_by=FIELDS)
    frames = [load(spark, tmp_path), read_table(spark, lake, "events")]
    lake.partitioned("events").write(rows(100).to_pylist())
    lake.partitioned("events").evolve(["tenant"])
    lake.partitioned("events").write(rows(200).to_pylist())
    assert [ids(frame.toArrow()) for frame in frames] == [list(range(100))] * 2
    assert ids(load(spark, tmp_path).toArrow()) == list(range(300))


def save(frame: Any, tmp_path: Path, mode: str = "append", **options: str) -> None:
    writer = frame.write.format("lance_namespace").mode(mode).option("manifest", "true")
    writer.options(impl="dir", root=str(tmp_path / "lake"), **options).save("events")


def test_the_data_source_writes_partitions(spark: Any, lake: Any, tmp_path: Path) -> None:
    save(frame_from_arrow(spark, rows()), tmp_path, partitionedBy="year(ts), bucket(4, tenant)")
    assert lake.partitioned("events").partition_by == FIELDS
    save(frame_from_arrow(spark, rows(100)), tmp_path)
    assert ids(load(spark, tmp_path).toArrow()) == list(range(200))
    with pytest.raises(Exception, match="partitionOverwriteMode"):
        save(frame_from_arrow(spark, rows(300)), tmp_path, "overwrite")
    with pytest.raises(Exception, match="rows_per_file is not supported"):
        save(frame_from_arrow(spark, rows(300)), tmp_path, rowsPerFile="10")
    new = rows(300, 1)
    events = lake.partitioned("events")
    [replaced] = events.partitions("tenant = 'a' AND ts = timestamp '2024-01-01'")
    dropped = set(ids(lake.partitioned("events")._store.open(replaced).to_table()))
    assert new["tenant"].to_pylist() == ["a"]
    assert 0 < len(dropped) < 200
    save(frame_from_arrow(spark, new), tmp_path, "overwrite", partitionOverwriteMode="dynamic")
    assert ids(load(spark, tmp_path).toArrow()) == sorted({*range(200), 300} - dropped)


def test_rejected_writes_change_nothing(spark: Any, lake: Any) -> None:
    frame = frame_from_arrow(spark, rows())
    with pytest.raises(NamespaceNotFoundError):
        write_table(frame, lake, "events", "append", partitioned_by=FIELDS)
    with pytest.raises(TableNotFoundError):
        write_table(frame, lake, "events", "append")
    with pytest.raises(InvalidInputError):
        write_table(frame, lake, "events", partitioned_by=["year(tenant)"])
    write_table(frame, lake, "events", partitioned_by=FIELDS)
    before = lake.partitioned("events")._store.load().version
    with pytest.raises(NamespaceAlreadyExistsError):
        write_table(frame, lake, "events", partitioned_by=FIELDS)
    assert write_table(frame, lake, "events", "exist_ok", partitioned_by=FIELDS).rows == 0
    with pytest.raises(InvalidInputError, match="is partitioned by year"):
        write_table(frame, lake, "events", "append", partitioned_by=["tenant"])
    with pytest.raises(UnsupportedError, match="overwrite_partitions"):
        write_table(frame, lake, "events", "overwrite", partitioned_by=FIELDS)
    with pytest.raises(UnsupportedError, match="if_version"):
        write_table(frame, lake, "events", "append", if_version=1)
    with pytest.raises(TableSchemaValidationError):
        write_table(frame.withColumnRenamed("id", "other"), lake, "events", "append")
    assert lake.partitioned("events")._store.load().version == before


def test_a_failed_job_leaves_no_files(spark: Any, lake: Any, tmp_path: Path) -> None:
    write_table(frame_from_arrow(spark, rows()), lake, "events", partitioned_by=FIELDS)
    before = data_files(tmp_path)
    frame = frame_from_arrow(spark, rows(100, 10_000)).repartition(2)
    broken = frame.selectExpr("if(id = 9000, raise_error('broken'), id) as id", "tenant", "ts")
    with pytest.raises(Exception, match="broken"):
        write_table(broken, lake, "events", "append")
    assert data_files(tmp_path) == before
    assert not list((tmp_path / "lake" / "events" / "__manifest" / "_transactions").glob("*/"))


def plan(lake: Any) -> Any:
    target = PartitionedTarget(namespace=lake, table=("events",))
    return plan_partitions(target, rows().schema, "append", FIELDS, creates_missing=True)


def test_repeated_attempts_leave_no_files(lake: Any, tmp_path: Path) -> None:
    started = plan(lake)
    batches = rows().to_batches()
    write_partitions(started, batches)  # its result is lost, and Spark repeats the task
    used = write_partitions(started, batches)
    result, _ = commit_partitions(started, used)
    assert result.rows == 100
    assert len(data_files(tmp_path)) == sum(len(each.paths) for each in used)
    assert ids(lake.partitioned("events").scan().read_all()) == list(range(100))
    before = data_files(tmp_path)
    with pytest.raises(ConcurrentModificationError, match="the write ended"):
        write_partitions(started, batches)
    assert data_files(tmp_path) == before


def test_an_aborted_write_leaves_no_files(lake: Any, tmp_path: Path) -> None:
    started = plan(lake)
    write_partitions(started, rows().to_batches())
    abort_partitions(started)
    assert not data_files(tmp_path)
    assert lake.partitioned("events").partitions() == []


def test_a_partition_that_another_writer_creates_meanwhile_is_joined(lake: Any) -> None:
    started = plan(lake)
    first = write_partitions(started, rows(0, 50).to_batches())
    lake.partitioned("events").write(rows(200, 50).to_pylist())
    second = write_partitions(started, rows(50, 50).to_batches())
    commit_partitions(started, [*first, *second])
    found = lake.partitioned("events")
    assert ids(found.scan().read_all()) == [*range(100), *range(200, 250)]
    keys = [tuple(each.values.values()) for each in found.partitions()]
    assert len(keys) == len(set(keys))


def test_several_tasks_join_a_partition_that_another_writer_creates(lake: Any) -> None:
    started = plan(lake)
    early = [write_partitions(started, rows(n, 50).to_batches()) for n in (0, 50)]
    lake.partitioned("events").write(rows(200, 50).to_pylist())
    late = write_partitions(started, rows(100, 50).to_batches())
    commit_partitions(started, [*early[0], *late, *early[1]])
    found = lake.partitioned("events")
    assert ids(found.scan().read_all()) == [*range(150), *range(200, 250)]
    keys = [tuple(each.values.values()) for each in found.partitions()]
    assert len(keys) == len(set(keys))


def test_rows_are_kept_that_the_commit_moves_to_the_folder_of_a_lost_attempt(lake: Any) -> None:
    started = plan(lake)
    own = rows().filter(pc.equal(rows()["tenant"], "a"))
    used = write_partitions(started, own.to_batches())
    # Another writer creates the namespaces of the years, but other partitions.
    lake.partitioned("events").write(rows().filter(pc.equal(rows()["tenant"], "größe")))
    write_partitions(started, own.to_batches())  # its result is lost
    commit_partitions(started, used)
    assert ids(lake.partitioned("events").scan().read_all()) == [
        n for n in range(100) if TENANTS[n % len(TENANTS)] in ("a", "größe")
    ]


def test_a_failed_commit_leaves_no_files(
    lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = plan(lake)
    lake.partitioned("events").write(rows(0, 3).to_pylist())
    before = data_files(tmp_path)
    written = write_partitions(started, rows(100).to_batches())
    assert {each.is_new for each in written} == {True, False}

    def fail(*_: object) -> None:
        raise ConcurrentModificationError("another writer was faster")

    with monkeypatch.context() as patch:
        patch.setattr(Manifest, "change", fail)
        with pytest.raises(ConcurrentModificationError, match="was faster"):
            commit_partitions(started, written)
    assert data_files(tmp_path) == before
    assert not list((tmp_path / "lake" / "events" / "__manifest" / "_transactions").glob("*/"))
    assert ids(lake.partitioned("events").scan().read_all()) == [0, 1, 2]


def test_a_write_to_a_namespace_that_was_dropped_leaves_no_files(lake: Any, tmp_path: Path) -> None:
    started = plan(lake)
    written = write_partitions(started, rows().to_batches())
    shutil.rmtree(tmp_path / "lake" / "events" / "__manifest")
    for act in (
        lambda: write_partitions(started, rows().to_batches()),
        lambda: commit_partitions(started, written),
    ):
        with pytest.raises(ConcurrentModificationError, match="dropped during the write"):
            act()
    lake.create_partitioned("events", rows().schema, ["tenant"])
    for act in (
        lambda: write_partitions(started, rows().to_batches()),
        lambda: commit_partitions(started, written),
    ):
        with pytest.raises(ConcurrentModificationError, match=r"ended|dropped during the write"):
            act()
    assert lake.partitioned("events").partitions() == []


def test_a_write_to_a_namespace_whose_record_was_lost_leaves_no_files(
    lake: Any, tmp_path: Path
) -> None:
    started = plan(lake)
    written = write_partitions(started, rows().to_batches())
    [folder] = (tmp_path / "lake" / "events" / "__manifest" / "_transactions").glob("*/")
    (folder / "open").unlink()
    with pytest.raises(ConcurrentModificationError, match="dropped during the write"):
        commit_partitions(started, written)
    assert not data_files(tmp_path)


@pytest.mark.parametrize(
    ("column", "fields", "same"),
    [
        ("tenant", ["bucket(4, tenant)", "year(ts)"], ["bucket(4,tenant)", "YEAR( ts )"]),
        ("tenant", ["identity(tenant)"], ["tenant"]),
        ("the tenant", ["truncate(2, `the tenant`)"], ["truncate(2,`the tenant`)"]),
        ("x/y %", ["`x/y %`", "bucket(4, `x/y %`)"], ["`x/y %`", "bucket(4, `x/y %`)"]),
        ("select", ["`select`"], ["`select`"]),
    ],
)
def test_the_same_fields_in_another_form_are_accepted(
    lake: Any, column: str, fields: list[str], same: list[str]
) -> None:
    target = PartitionedTarget(namespace=lake, table=("events",))
    schema = rows().rename_columns(["id", column, "ts"]).schema
    plan_partitions(target, schema, "create", fields)
    plan_partitions(target, schema, "append", same)
    there = lake.partitioned("events")
    assert there.is_partitioned_by(there.partition_by)
    assert not there.is_partitioned_by([*fields, "id"])
    with pytest.raises(InvalidInputError, match="must be a list"):
        plan_partitions(target, schema, "append", fields[0])


def test_maintenance_removes_the_files_of_a_killed_driver(lake: Any, tmp_path: Path) -> None:
    started = plan(lake)
    lake.partitioned("events").write(rows(0, 3).to_pylist())
    before = data_files(tmp_path)
    write_partitions(started, rows(100).to_batches())  # then the driver is killed
    marks = tmp_path / "lake" / "events" / "__manifest" / "_transactions"
    assert len(list(marks.glob("*/*"))) == 2
    events = lake.partitioned("events")
    for age, dry_run in ((timedelta(hours=1), False), (timedelta(0), True)):
        maintain(events.namespace, upkeep=Upkeep(orphans_older_than=age), dry_run=dry_run)
        assert len(data_files(tmp_path)) > len(before)
        assert len(list(marks.glob("*/*"))) == 2
    maintain(events.namespace, upkeep=Upkeep(compact=False, orphans_older_than=timedelta(0)))
    assert data_files(tmp_path) == before
    assert not list(marks.glob("*/*"))
    assert ids(lake.partitioned("events").scan().read_all()) == [0, 1, 2]
    with pytest.raises(ConcurrentModificationError):
        commit_partitions(started, write_partitions(started, rows(100).to_batches()))


def test_a_missing_table_with_a_name_that_no_directory_can_have_is_not_found(lake: Any) -> None:
    with pytest.raises(TableNotFoundError):
        pin_rows(Target(namespace=lake, table=("a/b",)))


@pytest.mark.parametrize("version", [0, 1, "tag"])
def test_older_versions_are_rejected(lake: Any, version: int | str) -> None:
    lake.create_partitioned("events", rows().schema, FIELDS)
    with pytest.raises(UnsupportedError, match="version is not supported"):
        pin_rows(Target(namespace=lake, table=("events",)), version=version)


def source(tmp_path: Path, table: str = "events", **options: str) -> LanceNamespaceDataSource:
    place = {"impl": "dir", "root": str(tmp_path / "lake"), "manifest": "true"}
    return LanceNamespaceDataSource({**place, "table": table, **options})


def test_streams_of_partitioned_namespaces_are_rejected(lake: Any, tmp_path: Path) -> None:
    lake.create_partitioned("events", rows().schema, FIELDS)
    before = sorted(path.name for path in (tmp_path / "lake").iterdir())
    schema = to_spark_schema(rows().schema)
    with pytest.raises(UnsupportedError, match="streams cannot read partitioned namespaces"):
        source(tmp_path).streamReader(schema)
    with pytest.raises(UnsupportedError, match="streams cannot write to partitioned namespaces"):
        source(tmp_path).streamWriter(schema, False)
    with pytest.raises(UnsupportedError, match="streams cannot write to partitioned namespaces"):
        source(tmp_path, "new", partitionedBy="tenant").streamWriter(schema, False)
    with pytest.raises(TableNotFoundError):
        source(tmp_path, "new").streamReader(schema)
    assert sorted(path.name for path in (tmp_path / "lake").iterdir()) == before


def test_a_dynamic_overwrite_keeps_the_rows_of_a_table(lake: Any, tmp_path: Path) -> None:
    lake.table("events").create(rows())
    schema = to_spark_schema(rows().schema)
    for name in ("events", "new"):
        with pytest.raises(NamespaceNotFoundError, match="there is no partitioned namespace"):
            source(tmp_path, name, partitionOverwriteMode="dynamic").writer(schema, True)
    frame: Any = SimpleNamespace(schema=schema)
    for mode in ("overwrite_partitions", "OverwritePartitions"):
        with pytest.raises(NamespaceNotFoundError):
            write_table(frame, lake, "events", mode)
    assert count_rows(lake, "events") == 100


@pytest.mark.parametrize("fields", [["tenant"], ["year(ts)", "bucket(4, tenant)"]])
def test_concurrent_jobs_create_the_same_partitions(lake: Any, fields: list[str]) -> None:
    lake.create_partitioned("events", rows().schema, fields)
    target = PartitionedTarget(namespace=lake, table=("events",))
    ready = Barrier(3)

    def job(number: int) -> int:
        started = plan_partitions(target, rows().schema, "append")
        assert started is not None
        ready.wait()
        files = [
            each
            for task in range(2)
            for each in write_partitions(started, rows(number * 100 + task * 50, 50).to_batches())
        ]
        return commit_partitions(started, files)[0].rows

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(job, range(3))) == [100] * 3
    found = lake.partitioned("events")
    assert ids(found.scan().read_all()) == list(range(300))
    keys = [tuple(each.values.values()) for each in found.partitions()]
    assert len(keys) == len(set(keys))


def test_a_partition_that_is_dropped_during_the_job(lake: Any, tmp_path: Path) -> None:
    lake.create_partitioned("events", rows().schema, ["tenant"])
    events = lake.partitioned("events")
    events.write(rows(0, 5).to_pylist())
    target = PartitionedTarget(namespace=lake, table=("events",))
    started = plan_partitions(target, rows().schema, "append")
    assert started is not None
    files = write_partitions(started, rows(100).to_batches())
    events.evolve(["year(ts)"])
    dropped = events.partitions("tenant = 'a'")[0]
    events.namespace.drop_table({"id": list(dropped.table)})
    left = data_files(tmp_path) - {
        tmp_path / "lake" / "events" / each.folder / "data" / path
        for each in files
        for path in each.paths
    }
    with pytest.raises(ConcurrentModificationError, match="was dropped during the write"):
        commit_partitions(started, files)
    assert ids(events.scan().read_all()) == [1, 2, 3, 4]
    assert data_files(tmp_path) == left


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("day(ts), bucket(16, user)", ("day(ts)", "bucket(16, user)")),
        ("`a,b`, `c(d`, e", ("`a,b`", "`c(d`", "e")),
        ("expression('a('',''b)', a), b", ("expression('a('',''b)', a)", "b")),
        (" a ,, b, ", ("a", "b")),
    ],
)
def test_the_option_separates_fields_at_commas(text: str, fields: tuple[str, ...]) -> None:
    assert field_list(text) == fields


def test_a_catalog_of_spark_sql_rejects_partitioned_namespaces(lake: Any, tmp_path: Path) -> None:
    lake.create_partitioned("events", rows().schema, FIELDS)
    options = {"impl": "dir", "root": str(tmp_path / "lake"), "manifest": "true"}
    request = {"catalog": options, "name": "lake", "version": None, "timestamp": None}
    with pytest.raises(UnsupportedError, match=r"events is a partitioned namespace.*read_table"):
        call("load_table", {**request, "id": ["events"]})
    with pytest.raises(TableNotFoundError):
        call("load_table", {**request, "id": ["missing"]})


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_a_join_by_partitions_equals_sparks(spark: Any, lake: Any, how: str) -> None:
    users = pa.table(
        {
            "tenant": ["a", "b", "b", None, "new"],
            "limits": pa.array([[1.0], [2.0], None, [4.0], []], pa.list_(pa.float32())),
        }
    )
    write_table(frame_from_arrow(spark, rows()), lake, "events", partitioned_by=FIELDS)
    write_table(frame_from_arrow(spark, users), lake, "users", partitioned_by=["bucket(4, tenant)"])
    lake.partitioned("users").evolve(["bucket(4, tenant)", "tenant"])
    lake.partitioned("users").write([{"tenant": "x/y", "limits": [5.0]}])
    found = join_partitions(spark, lake, "events", "users", on="tenant", how=how)
    wanted = read_table(spark, lake, "events").join(read_table(spark, lake, "users"), "tenant", how)
    assert "Exchange" not in found._jdf.queryExecution().executedPlan().toString()
    assert found.columns == ["tenant", "id", "ts", "limits"]
    every = [sorted(map(repr, frame.select(*found.columns).collect())) for frame in (found, wanted)]
    assert every[0] == every[1]
    assert len(every[0]) > 40


def test_joins_that_need_a_shuffle_are_rejected(spark: Any, lake: Any) -> None:
    write_table(frame_from_arrow(spark, rows()), lake, "events", partitioned_by=FIELDS)
    other = rows().rename_columns(["number", "tenant", "time"])
    write_table(frame_from_arrow(spark, other), lake, "other", partitioned_by=["bucket(8, tenant)"])
    lake.table("plain").create(rows())
    with pytest.raises(InvalidInputError, match="no common field"):
        join_partitions(spark, lake, "events", "other", on="tenant")
    with pytest.raises(UnsupportedError, match="not partitioned"):
        join_partitions(spark, lake, "events", "plain", on="tenant")
    with pytest.raises(TableNotFoundError):
        join_partitions(spark, lake, "events", "missing", on="tenant")
    with pytest.raises(InvalidInputError, match="both sides have the column id"):
        join_partitions(spark, lake, "events", "events", on="tenant")
