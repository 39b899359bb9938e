"""Partitioned namespaces in a directory, through their public interface."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import lance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.maintenance import Upkeep, maintain
from lance_namespace_impls.partitioned.namespace import PartitionedNamespace
from lance_namespace_impls.partitioned.spec import new_spec, parse_field
from lance_namespace_impls.server import serving
from tests.servers.s3 import GuardedS3

from .cases import SCHEMA, Condition, conditions, kept_by_lance, specs, tables

EVENTS = pa.schema(
    [
        ("id", pa.int64()),
        ("tenant", pa.string()),
        ("ts", pa.timestamp("us")),
        ("v", pa.list_(pa.float32(), 2)),
    ]
)


def events(first: int, count: int, tenants: int = 3) -> pa.Table:
    ids = range(first, first + count)
    start = datetime(2026, 1, 1)
    columns: dict[str, Any] = {
        "id": list(ids),
        "tenant": [f"t{n % tenants}" if n % 7 else None for n in ids],
        "ts": [start + timedelta(hours=n) for n in ids],
        "v": [[float(n), 0.0] for n in ids],
    }
    return pa.table(columns, schema=EVENTS)


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    return connect("dir", {"path": str(tmp_path / "lake"), "manifest": "true"})


def ids(reader: pa.RecordBatchReader) -> list[int]:
    return sorted(reader.read_all()["id"].to_pylist())


def tables_of(namespace: PartitionedNamespace) -> list[str]:
    return [each.location for each in namespace.partitions()]


def test_rows_are_written_to_partitions_and_read_back(lake: Any) -> None:
    made = lake.create_partitioned("events", EVENTS, ["tenant", "day(ts)"])
    assert made.schema == EVENTS
    assert made.partition_by == ["tenant", "day(ts)"]
    assert made.scan().read_all() == EVENTS.empty_table()
    result = made.write(events(0, 60))
    assert result.rows == 60 and result.partitions == len(made.partitions()) == 12
    there = lake.partitioned("events")
    assert ids(there.scan()) == list(range(60))
    assert there.count_rows() == 60 and there.count_rows("id < 10") == 10
    found = there.scan("tenant = 't1' AND ts < timestamp '2026-01-02'", columns=["id"]).read_all()
    assert found.schema == pa.schema([("id", pa.int64())])
    assert sorted(found["id"].to_pylist()) == [1, 4, 10, 13, 16, 19, 22]
    (one,) = there.partitions("tenant IS NULL AND ts = timestamp '2026-01-01 07:00:00'")
    assert one.values == {"tenant": None, "ts_day": 1}


def test_partitions_are_appended_to_and_overwritten(lake: Any) -> None:
    made = lake.create_partitioned("events", EVENTS, ["tenant"])
    made.write(events(0, 21))
    made.write(events(21, 21))
    assert ids(made.scan()) == list(range(42))
    assert len(made.partitions()) == 4
    made.write([{"id": 100, "tenant": "t1"}, {"id": 101, "tenant": "new"}], "overwrite_partitions")
    assert ids(made.scan("tenant = 't1'")) == [100]
    assert ids(made.scan("tenant = 't2'")) == [n for n in range(42) if n % 3 == 2 and n % 7]
    assert ids(made.scan("tenant = 'new'")) == [101]
    assert made.write(EVENTS.empty_table()).partitions == 0


def test_a_vector_search_merges_the_matching_partitions(lake: Any) -> None:
    made = lake.create_partitioned("events", EVENTS, ["bucket(4, id)"])
    made.write(events(0, 50))
    found = made.search([20.2, 0.0], "id <> 20", k=3, columns=["id"])
    assert found["id"].to_pylist() == [21, 19, 22]
    assert found.column_names == ["id", "_distance"]
    assert made.search([1.0, 0.0], "id = 7")["id"].to_pylist() == [7]
    with pytest.raises(InvalidInputError):
        made.search("words")


def test_a_spec_evolves_and_keeps_existing_rows(lake: Any) -> None:
    made = lake.create_partitioned("events", EVENTS, ["year(ts)", "tenant"])
    made.write(events(0, 10))
    before = tables_of(made)
    assert made.evolve(["bucket(2, tenant)", "year(ts)"]) == ["bucket(2, tenant)", "year(ts)"]
    made.write(events(10, 10))
    assert made.specs == {1: ["year(ts)", "tenant"], 2: ["bucket(2, tenant)", "year(ts)"]}
    assert set(before) < set(tables_of(made))
    assert ids(made.scan()) == list(range(20))
    assert ids(made.scan("tenant = 't1'")) == [n for n in range(20) if n % 3 == 1 and n % 7]
    # The same sources and transform always have the same field, even after a spec without it.
    made.evolve(["tenant"])
    assert {key for each in made.partitions() for key in each.values} == {
        "ts_year",
        "tenant",
        "tenant_bucket",
    }
    with pytest.raises(InvalidInputError, match="already partitioned"):
        made.evolve(["tenant"])
    made.evolve([])
    made.write(events(20, 1))
    assert ids(made.scan()) == list(range(21))


def test_one_of_two_concurrent_evolutions_succeeds(lake: Any) -> None:
    made = lake.create_partitioned("events", EVENTS, ["tenant"])
    state = made._store.load()
    numbered = state.schema
    one, other = (
        new_spec(numbered, [parse_field(field)], state.specs) for field in ("day(ts)", "year(ts)")
    )
    made._store.evolve(one)
    with pytest.raises(ConcurrentModificationError):
        made._store.evolve(other)
    assert made.partition_by == ["day(ts)"]


def test_protocol_operations_list_namespaces_and_tables(lake: Any) -> None:
    made = lake.create_partitioned("events", EVENTS, ["tenant"])
    made.write(events(0, 5, tenants=1))
    below = connect("dir", {"path": f"{lake.config.root}/events"})
    assert list(below.iter_namespaces()) == ["v1"]
    names = list(below.iter_namespaces(["v1"]))
    assert len(names) == 2 and all(len(name) == 16 for name in names)
    (found,) = [n for n in names if below.table(["v1", n, "dataset"]).count_rows() == 4]
    assert ids(below.table(["v1", found, "dataset"]).to_batches()) == [1, 2, 3, 4]
    assert ids(below.partitioned().scan()) == [0, 1, 2, 3, 4]
    assert list(lake.iter_tables()) == []


def test_describe_shows_the_spec_and_the_values_of_each_level(lake: Any) -> None:
    made = lake.create_partitioned("events", EVENTS, ["tenant", "day(ts)"])
    made.write([{"id": 1, "tenant": "a", "ts": datetime(2026, 1, 31)}, {"id": 2}])

    def properties(*names: str) -> dict[str, str]:
        return made.namespace.describe_namespace({"id": list(names)}).properties or {}

    assert set(properties()) == {"schema", "partition_spec_v1"}
    assert properties("v1") == {"partition_spec": properties()["partition_spec_v1"]}
    found = {}
    for outer in made.namespace.iter_namespaces(["v1"]):
        for inner in made.namespace.iter_namespaces(["v1", outer]):
            found |= {str(properties("v1", outer)): properties("v1", outer, inner)}
    assert found == {"{'partition.tenant': 'a'}": {"partition.ts_day": "31"}, "{}": {}}
    (outer,) = [each for each in made.namespace.iter_namespaces(["v1"]) if properties("v1", each)]
    with serving(made.namespace) as uri:
        assert "partition_spec" in httpx.get(f"{uri}/ui", params={"id": "v1"}).text
        shown = httpx.get(f"{uri}/ui", params={"id": ["v1", outer]}).text
        assert "partition.tenant" in shown


def test_errors(lake: Any, tmp_path: Path) -> None:
    with pytest.raises(NamespaceNotFoundError):
        lake.partitioned("events").scan()
    with pytest.raises(TableColumnNotFoundError):
        lake.create_partitioned("events", EVENTS, ["day(no)"])
    for field in (
        "days(ts)",
        "bucket(ts)",
        "bucket(x, id)",
        "1",
        "truncate(2)",
        "day(ts, 3)",
        "a +",
    ):
        with pytest.raises(InvalidInputError):
            lake.create_partitioned("events", EVENTS, [field])
    made = lake.create_partitioned("events", EVENTS, ["tenant"])
    with pytest.raises(NamespaceAlreadyExistsError):
        lake.create_partitioned("events", EVENTS, ["tenant"])
    with pytest.raises(InvalidInputError, match="twice"):
        made.evolve(["day(ts)", "day(ts)"])
    with pytest.raises(InvalidInputError, match="unknown mode"):
        made.write(events(0, 1), "overwrite")
    with pytest.raises(TableSchemaValidationError, match="no column 'x'"):
        made.write([{"x": 1}])
    with pytest.raises(TableSchemaValidationError):
        made.write(pa.table({"id": ["no number"]}))
    with pytest.raises(TableColumnNotFoundError):
        made.scan("no = 1")
    with pytest.raises(InvalidInputError):
        made.scan("id = ")
    lake.table("letters").create(pa.table({"x": [1]}))
    with pytest.raises(NamespaceAlreadyExistsError):
        lake.create_partitioned("letters", EVENTS, ["tenant"])
    flat = connect("dir", {"path": str(tmp_path / "flat")})
    with pytest.raises(UnsupportedError, match="every folder"):
        flat.create_partitioned("events", EVENTS, ["tenant"])
    with pytest.raises(UnsupportedError, match="partition values"):
        connect(
            "sql", {"uri": f"sqlite:///{tmp_path}/x.db", "root": str(tmp_path / "s")}
        ).partitioned("a")


def left_behind(made: PartitionedNamespace) -> set[str]:
    root = Path(made._store.nested.directory.root)
    return {path.name for path in root.iterdir()} - {Path(each).name for each in tables_of(made)}


def test_a_failed_write_leaves_no_files(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = lake.create_partitioned("events", EVENTS, ["tenant"])
    made.write(events(0, 4))
    before = left_behind(made)
    files = {str(p) for each in tables_of(made) for p in Path(each).glob("data/*")}

    def fail(*args: object) -> None:
        raise ConcurrentModificationError("others were first")

    with monkeypatch.context() as patched:
        patched.setattr(made._store.manifest, "change", fail)
        with pytest.raises(ConcurrentModificationError):
            made.write(events(4, 10))
    assert left_behind(made) == before
    assert {str(p) for each in tables_of(made) for p in Path(each).glob("data/*")} == files
    assert ids(made.scan()) == [0, 1, 2, 3]


def test_a_partition_created_by_two_writers_becomes_one(lake: Any) -> None:
    made = lake.create_partitioned("events", EVENTS, ["tenant", "day(ts)"])
    store = made._store
    state = store.load()
    one, other = (store.begin(state, state.spec) for _ in range(2))
    from lance_namespace_impls.partitioned.spec import column_paths
    from lance_namespace_impls.partitioned.store import WriteMode
    from lance_namespace_impls.partitioned.writer import Router

    for write, rows in ((one, events(0, 30)), (other, events(30, 30))):
        Router(write, state.spec, column_paths(state.schema)).run(rows.to_batches())
    one.publish(WriteMode.APPEND)
    assert ids(made.scan()) == list(range(30))
    other.publish(WriteMode.APPEND)
    assert ids(made.scan()) == list(range(60))
    assert len({tuple(each.values.items()) for each in made.partitions()}) == len(made.partitions())
    levels = list(made.namespace.iter_namespaces(["v1"]))
    assert len(levels) == 4  # three tenants and null
    assert left_behind(made) <= {"__manifest"}


def test_unpublished_versions_remain_invisible(lake: Any) -> None:
    made = lake.create_partitioned("events", EVENTS, ["tenant"])
    made.write(events(1, 5))
    (partition, *_) = made.partitions()
    before = ids(made.scan())
    # A writer was killed between its commit to a table and that of the manifest.
    lance.write_dataset(events(1000, 1), partition.location, mode="append")
    assert ids(made.scan()) == before
    made.write(events(10, 5))
    assert ids(made.scan()) == sorted([*before, *range(10, 15)])


def test_maintenance_removes_killed_writes_and_keeps_visible_rows(lake: Any) -> None:
    made = lake.create_partitioned("events", EVENTS, ["tenant"])
    for number in range(5):
        made.write(events(number * 10, 10))
    killed = made._store.begin(made._store.load(), made._store.load().spec)
    killed.add(("gone",), (pa.scalar("gone"),), events(500, 3).to_batches())
    (partition, *_) = made.partitions()
    lance.write_dataset(events(1000, 2), partition.location, mode="append")
    assert left_behind(made) - {"__manifest"}
    now = timedelta(0)
    rows = maintain(made.namespace, upkeep=Upkeep(cleanup_older_than=now, orphans_older_than=now))
    assert [row.problem for row in rows if row.problem] == []
    assert left_behind(made) <= {"__manifest"}
    assert ids(made.scan()) == list(range(50))
    for each in made.partitions():
        dataset = lance.dataset(each.location)
        assert dataset.version == each.version
        assert len(dataset.get_fragments()) == 1  # compacted, and readers use the result
        assert not dataset.tags.list()
        assert max(dataset.to_table()["id"].to_pylist()) < 50
    made.write(events(50, 10))
    assert ids(made.scan()) == list(range(60))


@pytest.mark.s3
def test_a_partitioned_namespace_on_an_object_store() -> None:
    with GuardedS3() as server:
        options = {f"storage.{key}": value for key, value in server.options().items()}
        there = connect(
            "dir", {"path": f"s3://{server.bucket}/lake", "manifest": "true", **options}
        )
        made = there.create_partitioned("events", EVENTS, ["tenant"])
        made.write(events(1, 6))
        made.write(events(7, 6))
        killed = made._store.begin(made._store.load(), made._store.load().spec)
        killed.add(("gone",), (pa.scalar("gone"),), events(500, 3).to_batches())
        now = timedelta(0)
        rows = maintain(
            made.namespace, upkeep=Upkeep(cleanup_older_than=now, orphans_older_than=now)
        )
        assert [row.problem for row in rows if row.problem] == []
        assert [row.orphans_deleted for row in rows if row.table == ()] == [1]
        assert ids(made.scan()) == list(range(1, 13))
        assert ids(made.scan("tenant = 't1'")) == [1, 4, 10]


QUICK = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


def check_scan(
    root: Path, table: pa.Table, fields: list[str], evolved: list[str], condition: Condition
) -> None:
    import shutil

    shutil.rmtree(root, ignore_errors=True)
    made = connect("dir", {"path": str(root), "manifest": "true"}).create_partitioned(
        None, SCHEMA, fields
    )
    half = table.num_rows // 2
    made.write(table.slice(0, half))
    if evolved != fields:
        made.evolve(evolved)
    made.write(table.slice(half))
    assert ids(made.scan()) == list(range(table.num_rows))
    wanted = kept_by_lance(table, condition.sql)
    assert set(ids(made.scan(condition.sql))) == wanted
    if condition.exact:
        found = made.scan(condition.sql).read_all().sort_by("id")
        assert found.drop_columns("f") == condition.rows(table).drop_columns("f")


@QUICK
@given(table=tables(12), fields=specs, evolved=specs, condition=conditions)
def test_a_scan_equals_a_filter_of_all_rows(
    tmp_path_factory: pytest.TempPathFactory,
    table: pa.Table,
    fields: list[str],
    evolved: list[str],
    condition: Condition,
) -> None:
    check_scan(tmp_path_factory.getbasetemp() / "scan", table, fields, evolved, condition)


@pytest.mark.slow
@settings(QUICK, max_examples=300)
@given(table=tables(), fields=specs, evolved=specs, condition=conditions)
def test_many_scans_equal_a_filter_of_all_rows(
    tmp_path_factory: pytest.TempPathFactory,
    table: pa.Table,
    fields: list[str],
    evolved: list[str],
    condition: Condition,
) -> None:
    check_scan(tmp_path_factory.getbasetemp() / "scan", table, fields, evolved, condition)
