"""Of several concurrent creations or drops of a table, one succeeds and loses no rows."""

from __future__ import annotations

import threading
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import ConcurrentModificationError, TableAlreadyExistsError
from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.tables import write
from lance_namespace_impls.tables.drop import DROP_MARKER, TableFolder
from tests.servers.s3 import GuardedS3
from tests.tables.calls import WAIT_SECONDS, at_once

from .conftest import (
    ROUNDS,
    WRITERS,
    Place,
    create_concurrently,
    failures_of,
    rows_of,
    stream_of,
    winner_of,
)

pytestmark = pytest.mark.s3


# --- real races


def test_one_of_several_creations_succeeds(place: Place) -> None:
    with place.connect() as namespace:
        for number in range(ROUNDS):
            request = place.request(f"t{number}")
            outcomes = create_concurrently(namespace, request)
            winner = winner_of(outcomes)
            assert outcomes[winner].version == 1
            dataset = namespace.open_table(request["id"])
            assert (dataset.version, dataset.to_table()) == (1, rows_of(winner))
            failures = failures_of(outcomes)
            assert {int(each.code) for each in failures} <= {5, 14}, failures
            assert all(f"t{number}" in str(each) for each in failures), failures


def test_all_creations_with_exist_ok_succeed(place: Place) -> None:
    with place.connect() as namespace:
        for number in range(ROUNDS):
            request = place.request(f"t{number}", mode="ExistOk")
            outcomes = create_concurrently(namespace, request)
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


def test_one_of_several_simultaneous_commits_succeeds(
    storage: TableStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All writers have stored their rows before the first one commits."""
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


def test_a_writer_that_loses_deletes_its_blobs_too(
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


def test_a_commit_whose_response_was_lost_succeeds(
    storage: TableStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object store's client repeats a request, then finds the file that it created itself."""
    commit = lance.LanceDataset.commit

    def commit_twice(*args: Any, **more: Any) -> Any:
        commit(*args, **more)
        return commit(*args, **more)

    monkeypatch.setattr(lance.LanceDataset, "commit", commit_twice)
    assert write.create(storage, stream_of(rows_of(1)), overwrite=False) == 1
    assert data_files(storage) == held_files(storage) != set()


def test_files_that_a_losing_writer_cannot_delete_are_named(
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
def test_a_first_version_equals_that_of_pylance(tmp_path: Path, rows: pa.Table) -> None:
    theirs = lance.write_dataset(rows, str(tmp_path / "theirs"))
    ours = TableStorage(location=str(tmp_path / "ours"), options={})
    assert write.create(ours, stream_of(rows), overwrite=False) == 1
    assert _look(lance.dataset(ours.location)) == _look(theirs)


# --- two concurrent drops


def test_a_marker_deleted_concurrently_is_ignored(storage: TableStorage) -> None:
    write.create(storage, stream_of(rows_of(1)), overwrite=False)
    dropping = TableFolder(storage)
    dropping.write_drop_marker(("t",))
    dropping.mark_removed()
    folder = TableFolder(storage)
    assert not folder.is_empty
    TableFolder(storage).remove_drop_marker()
    assert not folder.has_drop_marker(("t",))


def test_files_deleted_by_another_drop_are_not_a_failure(storage: TableStorage) -> None:
    write.create(storage, stream_of(rows_of(1)), overwrite=False)
    TableFolder(storage).write_drop_marker(("t",))
    folder = TableFolder(storage)
    assert not folder.is_empty
    TableFolder(storage).delete()
    with warnings.catch_warnings(action="error"):
        folder.delete()
    assert TableFolder(storage).is_empty


# On local storage files are deleted one by one, and a file that is already deleted is no error.
@pytest.mark.parametrize("storage", ["S3"], indirect=True)
def test_a_drop_during_another_drop_is_reported(
    storage: TableStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    write.create(storage, stream_of(rows_of(1)), overwrite=False)
    # The other drop deletes the file that makes pylance drop the folder.
    real = TableFolder._write

    def write_and_lose(self: TableFolder, name: str, content: bytes) -> None:
        if name == DROP_MARKER:
            real(self, name, content)

    monkeypatch.setattr(TableFolder, "_write", write_and_lose)
    with pytest.raises(ConcurrentModificationError, match="another process is deleting"):
        TableFolder(storage).delete()


def test_creating_against_dropping(place: Place) -> None:
    """In any order, every outcome is reported correctly, and the table is complete or missing."""
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
