"""Concurrent merges insert each new key once; handling of null and repeated keys."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from lance_namespace_impls.sql import initialize
from lance_namespace_impls.tables import merge as merging
from tests.servers.s3 import GuardedS3
from tests.tables.calls import WAIT_SECONDS, at_once

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
T = {"id": ["users"]}
UPSERT = {**T, "on": ["id"], "when_matched_update_all": True, "when_not_matched_insert_all": True}
WRITERS = 6
PROCESSES = 2


def rows_of(*pairs: tuple[int | None, str]) -> pa.Table:
    return pa.table([list(column) for column in zip(*pairs, strict=True)], schema=SCHEMA)


def pairs_of(namespace: Any) -> list[tuple[int | None, str]]:
    found = namespace.query_table({**T, "k": 0, "vector": {}}).read_all().to_pylist()
    return sorted(((row["id"], row["name"]) for row in found), key=str)


def settings_of(kind: str, path: Path) -> tuple[str, dict[str, str]]:
    root = str(path / "lake")
    return {
        "dir": ("dir", {"path": root}),
        "manifest": ("dir", {"path": root, "manifest": "true"}),
        "manifest, managed": (
            "dir",
            {
                "path": root,
                "manifest": "true",
                "dir_listing_enabled": "false",
                "table_version_tracking_enabled": "true",
            },
        ),
        "sql": ("sql", {"uri": str(path / "catalog.db"), "root": root}),
        "sql, managed": ("sql", {"uri": str(path / "catalog.db"), "root": root, "managed": "true"}),
        "memory": ("memory", {"root": root}),
    }[kind]


def connected(kind: str, path: Path) -> Any:
    """Return a new namespace."""
    impl, settings = settings_of(kind, path)
    if impl == "sql":
        initialize(settings)
    return connect(impl, settings)


KINDS = ["dir", "manifest", "manifest, managed", "sql", "sql, managed"]
ALL = [*KINDS, "memory", "rest", "dir on S3"]
SOME = ["sql, managed", "rest"]
# For tests of what is the same for each catalog and storage: comparing keys, and running a merge
# that lost a race again.
FEW = pytest.mark.parametrize("lake", SOME, indirect=True)


@pytest.fixture(params=ALL)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A namespace of each kind, in process or over REST."""
    if request.param == "dir on S3":
        s3: GuardedS3 = request.getfixturevalue("s3")
        options = {f"storage.{key}": value for key, value in s3.options().items()}
        with connect("dir", {"path": f"s3://{s3.bucket}/lake", **options}) as namespace:
            yield namespace
        return
    kind = "dir" if request.param == "rest" else request.param
    with ExitStack() as stack:
        namespace = stack.enter_context(connected(kind, tmp_path))
        if request.param == "rest":
            uri = stack.enter_context(serving(namespace))
            settings = {"uri": uri, "read_timeout": "600s"}
            namespace = stack.enter_context(connect("rest", settings))
        yield namespace


def upsert(lake: Any, number: int, **more: Any) -> Any:
    return lake.merge_insert_into_table({**UPSERT, **more}, rows_of((7, f"writer {number}")))


@pytest.mark.parametrize(
    ("lake", "rows"),
    [*((kind, 1) for kind in ALL), *((kind, 0) for kind in SOME)],
    indirect=["lake"],
)
def test_concurrent_merges_insert_a_new_key_once(lake: Any, rows: int) -> None:
    lake.create_table(T, rows_of((0, "zero")).slice(0, rows))
    answers = at_once([lambda n=n: upsert(lake, n) for n in range(WRITERS)])  # type: ignore[misc]
    done = [each for each in answers if not isinstance(each, ConcurrentModificationError)]
    assert sorted(each.num_inserted_rows for each in done) == [0] * (len(done) - 1) + [1]
    assert sum(each.num_updated_rows for each in done) == len(done) - 1
    assert len({each.version for each in done}) == len(done)
    assert lake.count_table_rows({**T, "predicate": "id = 7"}).count == 1


@FEW
def test_concurrent_merges_into_a_branch_insert_a_new_key_once(lake: Any) -> None:
    lake.create_table(T, rows_of((0, "zero")))
    lake.create_table_branch({**T, "name": "side"})
    at_once([lambda n=n: upsert(lake, n, branch="side") for n in range(WRITERS)])  # type: ignore[misc]
    on_side = {**T, "predicate": "id = 7", "branch": "side"}
    assert lake.count_table_rows(on_side).count == 1
    assert lake.count_table_rows({**T, "predicate": "id = 7"}).count == 0


def test_the_first_merges_of_a_declared_table_insert_a_new_key_once(lake: Any) -> None:
    lake.declare_table(T)
    answers = at_once([lambda n=n: upsert(lake, n) for n in range(WRITERS)])  # type: ignore[misc]
    assert [e for e in answers if isinstance(e, LanceNamespaceError) and e.code != 14] == []
    assert lake.count_table_rows({**T, "predicate": "id = 7"}).count == 1


@FEW
def test_merges_among_other_changes_insert_a_new_key_once(lake: Any) -> None:
    lake.create_table(T, rows_of((0, "zero"), (1, "one"), (2, "two")))
    others: list[Callable[[], Any]] = [
        lambda: lake.insert_into_table(T, rows_of((50, "new"))),
        lambda: lake.delete_from_table({**T, "predicate": "id = 1"}),
        lambda: lake.update_table({**T, "updates": [["name", "'x'"]], "predicate": "id = 2"}),
    ]
    merges = [lambda n=n: upsert(lake, n) for n in range(3)]  # type: ignore[misc]
    answers = at_once(merges + others)
    assert [e for e in answers if isinstance(e, LanceNamespaceError) and e.code != 14] == []
    ids = [pair[0] for pair in pairs_of(lake)]
    assert ids.count(7) == 1
    assert ids.count(50) == 1


@FEW
def test_merges_of_different_keys_all_succeed(lake: Any) -> None:
    lake.create_table(T, rows_of((0, "zero")))

    def add(number: int) -> Any:
        return lake.merge_insert_into_table(UPSERT, rows_of((number, "new")))

    answers = at_once([lambda n=n: add(n) for n in range(1, WRITERS)])  # type: ignore[misc]
    assert [each.num_inserted_rows for each in answers] == [1] * (WRITERS - 1)
    assert [pair[0] for pair in pairs_of(lake)] == list(range(WRITERS))


def test_a_merge_that_always_conflicts_has_code_14_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect("dir", {"path": str(tmp_path / "lake")}) as lake:
        lake.create_table(T, rows_of((0, "zero")))
        real = merging._commit

        def overtaken(dataset: Any, transaction: Any, **more: Any) -> Any:
            monkeypatch.setattr(merging, "_commit", real)
            lake.merge_insert_into_table(UPSERT, rows_of((len(pairs_of(lake)), "other")))
            monkeypatch.setattr(merging, "_commit", overtaken)
            return real(dataset, transaction, **more)

        monkeypatch.setattr(merging, "_commit", overtaken)
        monkeypatch.setattr(merging, "TRIES", 3)
        with pytest.raises(ConcurrentModificationError, match=r"users.*send the rows again"):
            upsert(lake, 1)
        assert pairs_of(lake) == [(0, "zero"), (1, "other"), (2, "other"), (3, "other")]
        data = {each.name for each in (tmp_path / "lake" / "users.lance" / "data").iterdir()}
        held = {
            file.path
            for fragment in lake.open_table(["users"]).get_fragments()
            for file in fragment.data_files()
        }
        assert data == held


def _merge_in_a_process(impl: str, settings: Mapping[str, str], start: Any, number: int) -> None:
    with connect(impl, settings) as lake:
        start.wait(WAIT_SECONDS)
        for key in range(1, 6):
            lake.merge_insert_into_table(UPSERT, rows_of((key, f"writer {number}")))


@pytest.mark.parametrize(
    "kind",
    [kind if kind == "dir" else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS],
)
def test_concurrent_processes_insert_each_new_key_once(tmp_path: Path, kind: str) -> None:
    impl, settings = settings_of(kind, tmp_path)
    with connected(kind, tmp_path) as lake:
        lake.create_table(T, rows_of((0, "zero")))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "lance"])
    start = context.Barrier(PROCESSES)
    processes = [
        context.Process(target=_merge_in_a_process, args=(impl, settings, start, number))
        for number in range(PROCESSES)
    ]
    try:
        for process in processes:
            process.start()
        for process in processes:
            process.join(WAIT_SECONDS)
        assert [process.exitcode for process in processes] == [0] * PROCESSES
    finally:
        for process in processes:
            process.kill()
    with connect(impl, settings) as lake:
        assert [pair[0] for pair in pairs_of(lake)] == list(range(6))


# --- null and repeated keys

BEFORE = rows_of((1, "one"), (None, "none"))


@FEW
@pytest.mark.parametrize("index", [False, True], ids=["no index", "index"])
def test_a_null_key_matches_no_row(lake: Any, index: bool) -> None:
    lake.create_table(T, BEFORE)
    if index:
        request = {**T, "column": "id", "index_type": "BTREE"}
        lake.create_table_scalar_index(request)
    answer = lake.merge_insert_into_table(UPSERT, rows_of((None, "a"), (None, "b"), (1, "c")))
    assert (answer.num_inserted_rows, answer.num_updated_rows) == (2, 1)
    assert pairs_of(lake) == [(1, "c"), (None, "a"), (None, "b"), (None, "none")]


@FEW
def test_a_row_with_a_null_key_is_deleted_as_not_matched_by_source(lake: Any) -> None:
    lake.create_table(T, BEFORE)
    request = {**UPSERT, "when_not_matched_by_source_delete": True}
    answer = lake.merge_insert_into_table(request, rows_of((None, "a"), (1, "c")))
    counts = (answer.num_inserted_rows, answer.num_updated_rows, answer.num_deleted_rows)
    assert counts == (1, 1, 1)
    assert pairs_of(lake) == [(1, "c"), (None, "a")]


@FEW
def test_a_key_with_a_null_part_matches_no_row(lake: Any) -> None:
    lake.create_table(T, BEFORE)
    answer = lake.merge_insert_into_table({**UPSERT, "on": ["id", "name"]}, BEFORE)
    assert (answer.num_inserted_rows, answer.num_updated_rows) == (1, 1)


@FEW
@pytest.mark.parametrize("held", [rows_of((7, "there")), rows_of((0, "zero")), None])
def test_two_rows_with_one_key_have_code_13_and_change_nothing(
    lake: Any, held: pa.Table | None
) -> None:
    if held is None:
        lake.declare_table(T)
    else:
        lake.create_table(T, held)
    twice = rows_of((5, "x"), (7, "a"), (7, "b"))
    for action in (
        "when_matched_update_all",
        "when_not_matched_insert_all",
        "when_not_matched_by_source_delete",
    ):
        with pytest.raises(InvalidInputError, match=r"users.*id = 7; send only one row per key"):
            lake.merge_insert_into_table({**T, "on": ["id"], action: True}, twice)
        if held is not None:
            assert pairs_of(lake) == sorted(zip(*held.to_pydict().values(), strict=True)), action


@FEW
def test_a_row_updates_all_rows_with_its_key(lake: Any) -> None:
    lake.create_table(T, rows_of((1, "a"), (1, "b"), (2, "c")))
    answer = lake.merge_insert_into_table(UPSERT, rows_of((1, "new")))
    assert (answer.num_inserted_rows, answer.num_updated_rows) == (0, 2)
    assert pairs_of(lake) == [(1, "new"), (1, "new"), (2, "c")]


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.int64()), pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.binary(2)],
    ids=str,
)
def test_keys_of_every_type_are_compared(tmp_path: Path, kind: pa.DataType) -> None:
    values = {"list": [[1], [2]], "fixed": [b"aa", b"bb"]}.get(
        str(kind)[:5].rstrip("<"), ["a", "b"]
    )
    with connect("dir", {"path": str(tmp_path / "lake")}) as lake:
        keys = pa.array([values[0], values[1]], kind)
        lake.create_table(T, pa.table({"key": keys}))
        request = {**T, "on": ["key"], "when_not_matched_insert_all": True}
        assert lake.merge_insert_into_table(request, pa.table({"key": keys})).num_inserted_rows == 0
        twice = pa.table({"key": pa.array([values[0], values[0]], kind)})
        with pytest.raises(InvalidInputError, match="key = "):
            lake.merge_insert_into_table(request, twice)


def test_rows_buffered_in_a_file_are_merged_again_after_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_BYTES_IN_MEMORY", 100)
    with connect("dir", {"path": str(tmp_path / "lake")}) as lake:
        lake.create_table(T, rows_of((0, "zero")))

        def add(number: int) -> Any:
            pairs = [(key, f"writer {number}") for key in range(1, 2000)]
            batches = rows_of(*pairs).to_batches(max_chunksize=100)
            return lake.merge_insert_into_table(
                UPSERT, pa.RecordBatchReader.from_batches(SCHEMA, batches)
            )

        answers = at_once([lambda n=n: add(n) for n in range(3)])  # type: ignore[misc]
        assert sorted(each.num_inserted_rows for each in answers) == [0, 0, 1999]
        assert lake.count_table_rows(T).count == 2000
