"""Several writers at one new table: one wins, and nobody's committed rows are lost."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import lance
import pyarrow as pa
import pytest

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    TableAlreadyExistsError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.catalog import CatalogNamespace
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.tables import write
from lance_namespace_impls.tables.drop import DROP_MARKER, TableFolder
from tests.behaviour.home import make_home
from tests.behaviour.memory import MemoryConfig, Mixed
from tests.behaviour.subject import Subject
from tests.iceberg.subject import iceberg_subject
from tests.servers.s3 import GuardedS3

pytestmark = pytest.mark.s3

WRITERS = 6
ROUNDS = 3
WAIT_SECONDS = 30
SCHEMA = pa.schema([("writer", pa.int64())])


def rows_of(writer: int) -> pa.Table:
    return pa.table({"writer": [writer]})


def stream_of(rows: pa.Table) -> RowStream:
    return RowStream(rows.schema, rows.to_batches())


@attrs.frozen
class Place:
    """A namespace to make tables in, and how to connect to it once more."""

    parent: list[str]
    connect: Callable[[], Any]
    storage: Mapping[str, str] = attrs.Factory(dict)

    def request(self, name: str, **more: Any) -> dict[str, Any]:
        return {"id": [*self.parent, name], **more}


def _in_memory(root: str, storage: Mapping[str, str]) -> Place:
    def connected() -> Mixed:
        return Mixed(MemoryConfig(root=root, storage=dict(storage)))

    with connected() as namespace:
        namespace.create_namespace({"id": ["ns"]})
    return Place(["ns"], connected, storage)


def _directory(path: str, storage: Mapping[str, str]) -> Place:
    properties = {f"storage.{key}": value for key, value in storage.items()}
    return Place([], lambda: connect("dir", {"path": path, **properties}), storage)


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    with iceberg_subject(tmp_path_factory.mktemp("iceberg")) as running:
        yield running


@pytest.fixture(params=["dir", "dir on S3", "memory", "memory on S3", "iceberg"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "iceberg":
        subject: Subject = request.getfixturevalue("iceberg")
        with subject.connect() as namespace:
            return Place(list(make_home(subject, namespace)), subject.connect)
    make = _in_memory if request.param.startswith("memory") else _directory
    if not request.param.endswith("S3"):
        return make(str(tmp_path / "lake"), {})
    s3: GuardedS3 = request.getfixturevalue("s3")
    return make(f"s3://{s3.bucket}/{tmp_path.name}", s3.options())


@pytest.fixture(params=[_directory, _in_memory], ids=["dir", "memory"])
def local(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    found: Place = request.param(str(tmp_path / "lake"), {})
    return found


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """Make calls in threads of their own, and give what they returned or raised."""
    outcomes: list[Any] = [None] * len(calls)
    start = threading.Barrier(len(calls), timeout=WAIT_SECONDS)

    def run(number: int) -> None:
        start.wait()
        try:
            outcomes[number] = calls[number]()
        except LanceNamespaceError as error:
            outcomes[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
    return outcomes


def create_at_once(namespace: Any, request: dict[str, Any]) -> list[Any]:
    """Let every writer create the table with its own rows."""
    return at_once(
        [partial(namespace.create_table, request, rows_of(writer)) for writer in range(WRITERS)]
    )


def winner_of(outcomes: list[Any]) -> int:
    """Give the one writer that succeeded."""
    winners = [n for n, each in enumerate(outcomes) if not isinstance(each, Exception)]
    assert len(winners) == 1, outcomes
    return winners[0]


def failures_of(outcomes: list[Any]) -> list[LanceNamespaceError]:
    return [each for each in outcomes if isinstance(each, LanceNamespaceError)]


# --- real races


def test_one_of_several_creates(place: Place) -> None:
    with place.connect() as namespace:
        for number in range(ROUNDS):
            request = place.request(f"t{number}")
            outcomes = create_at_once(namespace, request)
            winner = winner_of(outcomes)
            assert outcomes[winner].version == 1
            dataset = namespace.open_table(request["id"])
            assert (dataset.version, dataset.to_table()) == (1, rows_of(winner))
            failures = failures_of(outcomes)
            assert {int(each.code) for each in failures} <= {5, 14}, failures
            assert all(f"t{number}" in str(each) for each in failures), failures


def test_all_who_are_content_with_the_table_get_it(place: Place) -> None:
    with place.connect() as namespace:
        for number in range(ROUNDS):
            request = place.request(f"t{number}", mode="ExistOk")
            outcomes = create_at_once(namespace, request)
            assert [getattr(each, "version", each) for each in outcomes] == [1] * WRITERS
            assert namespace.count_table_rows({"id": request["id"]}).count == 1


# --- the first version


@pytest.fixture(params=["local", "S3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> TableStorage:
    if request.param == "local":
        return TableStorage(location=str(tmp_path / "t"), options={})
    s3: GuardedS3 = request.getfixturevalue("s3")
    return TableStorage(location=f"s3://{s3.bucket}/{tmp_path.name}/t", options=s3.options())


def data_files(storage: TableStorage) -> set[str]:
    from lance.file import LanceFileSession

    options = dict(storage.options) or None
    found = LanceFileSession(storage.location, storage_options=options).list("data")
    return {path.removeprefix("data/") for path in found}


def held_files(storage: TableStorage) -> set[str]:
    dataset = lance.dataset(storage.location, storage_options=dict(storage.options) or None)
    fragments = dataset.get_fragments()
    return {file.path for fragment in fragments for file in fragment.data_files()}


def test_of_writers_that_commit_at_once_one_wins(
    storage: TableStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have their rows in storage before the first commits."""
    commit = write.commit_onto
    written = threading.Barrier(WRITERS, timeout=WAIT_SECONDS)

    def commit_together(*args: Any) -> int:
        written.wait()
        return commit(*args)

    monkeypatch.setattr(write, "commit_onto", commit_together)
    outcomes = at_once(
        [
            partial(write.create, storage, stream_of(rows_of(writer)), overwrite=False)
            for writer in range(WRITERS)
        ]
    )
    winner = winner_of(outcomes)
    assert outcomes[winner] == 1
    assert {type(each) for n, each in enumerate(outcomes) if n != winner} == {
        TableAlreadyExistsError
    }
    dataset = lance.dataset(storage.location, storage_options=dict(storage.options) or None)
    assert (dataset.version, dataset.to_table()) == (1, rows_of(winner))
    assert data_files(storage) == held_files(storage)


def test_a_loser_deletes_its_blobs_too(
    storage: TableStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = write.commit_onto

    def overtaken(*args: Any) -> int:
        assert len(data_files(storage)) == 2
        lance.write_dataset(
            rows_of(1), storage.location, storage_options=dict(storage.options) or None
        )
        return commit(*args)

    monkeypatch.setattr(write, "commit_onto", overtaken)
    blobs = pa.table([lance.blob_array([b"x" * 100_000])], pa.schema([lance.blob_field("b")]))
    with pytest.raises(TableAlreadyExistsError):
        write.create(storage, stream_of(blobs), overwrite=False)
    assert data_files(storage) == held_files(storage) != set()


def test_a_commit_whose_answer_was_lost_is_no_loss(
    storage: TableStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store's client sends a request again, and then meets the file that it has made itself."""
    commit = lance.LanceDataset.commit

    def commit_twice(*args: Any, **more: Any) -> Any:
        commit(*args, **more)
        return commit(*args, **more)

    monkeypatch.setattr(lance.LanceDataset, "commit", commit_twice)
    assert write.create(storage, stream_of(rows_of(1)), overwrite=False) == 1
    assert data_files(storage) == held_files(storage) != set()


def test_what_a_loser_cannot_delete_is_named(
    storage: TableStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError("read-only")

    commit = write.commit_onto

    def overtaken(*args: Any) -> int:
        monkeypatch.setattr("lance.file.LanceFileSession.delete_file", refuse)
        lance.write_dataset(
            rows_of(1), storage.location, storage_options=dict(storage.options) or None
        )
        return commit(*args)

    monkeypatch.setattr(write, "commit_onto", overtaken)
    with (
        pytest.warns(UserWarning, match=r"unused data files .*\.lance: read-only"),
        pytest.raises(TableAlreadyExistsError),
    ):
        write.create(storage, stream_of(rows_of(2)), overwrite=False)


BLOB = {"lance-encoding:blob": "true"}
KEY = {"lance-schema:unenforced-primary-key": "true"}
SHAPES = {
    "plain": pa.table({"a": [1, 2]}),
    "no rows": pa.table({"a": pa.array([], pa.int64())}),
    "metadata": pa.table(
        {"a": [1]}, pa.schema([pa.field("a", pa.int64(), False, {"x": "y"})], {"k": "v"})
    ),
    "primary key": pa.table({"a": [1]}, pa.schema([pa.field("a", pa.int64(), False, KEY)])),
    "blob": pa.table({"b": [b"x"]}, pa.schema([pa.field("b", pa.large_binary(), True, BLOB)])),
    "blob of the second kind": pa.table(
        [lance.blob_array([b"x", b"y" * 100_000])], pa.schema([lance.blob_field("b")])
    ),
    "nested": pa.table(
        {"s": pa.array([{"a": [{"b": 1}]}]), "v": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))}
    ),
    "dictionary": pa.table({"d": pa.array(["a", "b", "a"]).dictionary_encode()}),
    "json": pa.table({"j": pa.array(['{"a": 1}'], pa.json_())}),
}


def _look(dataset: Any) -> dict[str, Any]:
    fragments = [fragment.metadata.to_json() for fragment in dataset.get_fragments()]
    for fragment in fragments:
        for file in fragment["files"]:
            del file["path"]
    root = Path(dataset.uri)
    return {
        "version": dataset.version,
        "schema": dataset.schema,
        "metadata": dataset.schema.metadata,
        "of fields": [field.metadata for field in dataset.schema],
        "fragments": fragments,
        "stable row ids": dataset.has_stable_row_ids,
        "format": dataset.data_storage_version,
        "manifests": sorted(path.name for path in (root / "_versions").iterdir()),
        "folders": sorted(path.name for path in root.iterdir()),
        "rows": dataset.to_table().to_pydict(),
    }


@pytest.mark.parametrize("rows", SHAPES.values(), ids=SHAPES)
def test_a_first_version_is_what_pylance_makes(tmp_path: Path, rows: pa.Table) -> None:
    theirs = lance.write_dataset(rows, str(tmp_path / "theirs"))
    ours = TableStorage(location=str(tmp_path / "ours"), options={})
    assert write.create(ours, stream_of(rows), overwrite=False) == 1
    assert _look(lance.dataset(ours.location)) == _look(theirs)


# --- what is taken back, and what is not


def interrupted(rows: pa.Table, meanwhile: Callable[[], Any], end: str = "") -> Any:
    """Give the rows as a stream in whose middle something happens; it breaks off with `end`."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows.to_batches()
        meanwhile()
        if end:
            raise OSError(end)

    return pa.RecordBatchReader.from_batches(rows.schema, batches())


def test_rows_that_others_committed_outlive_a_create_that_breaks_off(place: Place) -> None:
    request = place.request("t")
    with place.connect() as namespace:

        def fill() -> None:
            location = namespace.describe_table(request).location
            lance.write_dataset(rows_of(7), location, storage_options=dict(place.storage) or None)

        with pytest.raises(InvalidInputError, match="went away"):
            namespace.create_table(request, interrupted(rows_of(1), fill, "the client went away"))
        assert namespace.open_table(request["id"]).to_table() == rows_of(7)


def test_rows_that_others_are_writing_outlive_a_create_that_breaks_off(
    s3: GuardedS3, tmp_path: Path
) -> None:
    """An object store keeps nobody out, so files may be those of a commit that is yet to come."""
    place = _directory(f"s3://{s3.bucket}/{tmp_path.name}", s3.options())
    request, options = place.request("t"), s3.options()
    with place.connect() as namespace:
        transactions = []

        def fill() -> None:
            from lance.fragment import write_fragments

            location = namespace.describe_table(request).location
            transactions.append(
                write_fragments(
                    rows_of(7),
                    location,
                    mode="create",
                    return_transaction=True,
                    storage_options=options,
                )
            )

        with (
            pytest.warns(UserWarning, match="table t stays without data"),
            pytest.raises(InvalidInputError, match="went away"),
        ):
            namespace.create_table(request, interrupted(rows_of(1), fill, "the client went away"))
        location = namespace.describe_table(request).location
        lance.LanceDataset.commit(location, transactions[0], storage_options=options)
        assert namespace.open_table(["t"]).to_table() == rows_of(7)


def test_a_create_that_breaks_off_alone_leaves_nothing(place: Place) -> None:
    request = place.request("t")
    with place.connect() as namespace:
        with pytest.raises(InvalidInputError, match="went away"):
            namespace.create_table(
                request, interrupted(rows_of(1), lambda: None, "the client went away")
            )
        assert list(namespace.iter_tables(place.parent)) == []


def after_adding(
    monkeypatch: pytest.MonkeyPatch, namespace: CatalogNamespace, then: Callable[[], Any]
) -> None:
    """Let something happen when the namespace has added a table and not looked at it yet."""
    add = namespace.add_table_for

    def add_and_pause(*args: Any) -> TableEntry:
        entry = add(*args)
        then()
        return entry

    monkeypatch.setattr(namespace, "add_table_for", add_and_pause)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("Create", rows_of(7)), ("ExistOk", rows_of(7)), ("Overwrite", rows_of(1))],
)
def test_who_fills_a_table_that_was_just_added_keeps_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, mode: str, expected: pa.Table
) -> None:
    with place.connect() as namespace, place.connect() as other:
        request = place.request("t", mode=mode)

        def fill() -> None:
            other.create_table(place.request("t"), rows_of(7))

        after_adding(monkeypatch, namespace, fill)
        if mode == "Create":
            with pytest.raises(TableAlreadyExistsError, match="another writer"):
                namespace.create_table(request, rows_of(1))
        else:
            namespace.create_table(request, rows_of(1))
        assert other.open_table(request["id"]).to_table() == expected
        assert list(other.iter_tables(place.parent, include_declared=False)) == ["t"]


def test_a_table_that_is_dropped_before_its_first_rows_is_said(
    local: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local.connect() as namespace, local.connect() as other:
        request = local.request("t")

        def lose(*args: Any) -> int:
            other.drop_table(request)
            raise OSError("the data has gone")

        if local.parent:
            monkeypatch.setattr(write, "commit_onto", lose)
        else:
            after_adding(monkeypatch, namespace, lambda: other.drop_table(request))
        with pytest.raises(ConcurrentModificationError, match=r"table (ns\$)?t was dropped"):
            namespace.create_table(request, rows_of(1))
        assert list(other.iter_tables(local.parent)) == []
        monkeypatch.undo()


def test_a_slip_while_taking_back_is_not_swallowed(
    local: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slip(*_: Any) -> None:
        raise AttributeError("no such thing")

    with local.connect() as namespace:
        monkeypatch.setattr(namespace, "withdraw_table", slip)
        broken = interrupted(rows_of(1), lambda: None, "the client went away")
        with pytest.raises(InternalError, match="no such thing") as caught:
            namespace.create_table(local.request("t"), broken)
    assert isinstance(caught.value.__cause__, AttributeError)


def test_a_failure_to_take_back_does_not_hide_the_first(
    local: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError("the catalog hung up")

    with local.connect() as namespace:
        monkeypatch.setattr(namespace, "withdraw_table", refuse)
        broken = interrupted(rows_of(1), lambda: None, "the client went away")
        with (
            pytest.warns(UserWarning, match=r"t stays without data; drop it: .*hung up"),
            pytest.raises(InvalidInputError, match="went away"),
        ):
            namespace.create_table(local.request("t"), broken)


# --- two that drop


def test_a_mark_that_went_meanwhile_is_none(storage: TableStorage) -> None:
    write.create(storage, stream_of(rows_of(1)), overwrite=False)
    TableFolder(storage).write_drop_marker(("t",))
    folder = TableFolder(storage)
    assert not folder.is_empty
    TableFolder(storage).remove_drop_marker()
    assert not folder.has_drop_marker(("t",))


def test_files_that_another_drop_took_are_no_failure(storage: TableStorage) -> None:
    write.create(storage, stream_of(rows_of(1)), overwrite=False)
    TableFolder(storage).write_drop_marker(("t",))
    folder = TableFolder(storage)
    assert not folder.is_empty
    TableFolder(storage).delete()
    with warnings.catch_warnings(action="error"):
        folder.delete()
    assert TableFolder(storage).is_empty


# On local storage files go one by one, and who finds none is not hindered.
@pytest.mark.parametrize("storage", ["S3"], indirect=True)
def test_a_drop_in_the_middle_of_another_is_said(
    storage: TableStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    write.create(storage, stream_of(rows_of(1)), overwrite=False)
    # The other deletes the file that makes pylance drop the folder.
    real = TableFolder._write

    def write_and_lose(self: TableFolder, name: str, content: bytes) -> None:
        if name == DROP_MARKER:
            real(self, name, content)

    monkeypatch.setattr(TableFolder, "_write", write_and_lose)
    with pytest.raises(ConcurrentModificationError, match="someone else deletes"):
        TableFolder(storage).delete()


def test_creating_against_dropping(place: Place) -> None:
    """Whatever comes first, every outcome says so, and the table is whole or not there."""
    with place.connect() as namespace, place.connect() as other:
        for number in range(ROUNDS):
            request = place.request(f"t{number}")
            with warnings.catch_warnings(action="ignore"):
                outcomes = at_once(
                    [
                        partial(namespace.create_table, request, rows_of(1)),
                        partial(other.drop_table, request),
                        partial(other.create_table, request, rows_of(2)),
                        partial(namespace.drop_table, request),
                    ]
                )
            assert {int(each.code) for each in failures_of(outcomes)} <= {4, 5, 14}, outcomes
