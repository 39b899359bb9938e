"""Writing the first rows of a table, and writing to a dataset that was dropped concurrently."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    PermissionDeniedError,
    TableAlreadyExistsError,
    TableSchemaValidationError,
)
from lance_namespace_impls.core.modes import InsertMode
from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.tables import write
from lance_namespace_impls.tables.lineage import LocationState, OpenedVersion, open_version

ROWS = pa.table({"x": [1, 2]})


def stream(rows: pa.Table = ROWS) -> RowStream:
    return RowStream(rows.schema, rows.to_batches())


@pytest.fixture
def storage(tmp_path: Path) -> TableStorage:
    return TableStorage(location=str(tmp_path / "my t"), options={})


def data(storage: TableStorage) -> list[str]:
    return sorted(path.name for path in Path(storage.location, "data").iterdir())


@pytest.mark.parametrize(
    ("said", "is_overtaken"),
    [
        ("Dataset already exists: /t", True),
        ("Dataset at path t/_versions/0.manifest was not found", True),
        ("Dataset at path t/_versions/18446744073709551615.manifest was not found", True),
        ("Commit conflict for version 1", True),
        ("version 0 does not exist", True),
        ("Permission denied (os error 13)", False),
        ("the disk is full", False),
    ],
)
def test_errors_caused_by_a_faster_writer(said: str, is_overtaken: bool) -> None:
    assert write.is_overtaken(OSError(said)) is is_overtaken


@pytest.mark.parametrize("overwrite", [False, True])
def test_first_rows_are_version_one(storage: TableStorage, overwrite: bool) -> None:
    order = []

    @contextmanager
    def committing() -> Iterator[None]:
        order.append(Path(storage.location, "_versions").exists())
        yield
        order.append(Path(storage.location, "_versions").exists())

    made = write.create(storage, stream(), overwrite=overwrite, committing=committing())
    assert (made, order) == (1, [False, True])
    assert lance.dataset(storage.location).to_table() == ROWS


def test_rows_replace_others_only_if_requested(
    storage: TableStorage,
) -> None:
    write.create(storage, stream(), overwrite=False)
    other = pa.table({"y": ["a"]})
    with pytest.raises(TableAlreadyExistsError):
        write.create(storage, stream(other), overwrite=False)
    assert (lance.dataset(storage.location).to_table(), len(data(storage))) == (ROWS, 1)
    assert write.create(storage, stream(other), overwrite=True) == 2
    assert lance.dataset(storage.location).to_table() == other
    assert lance.dataset(storage.location, version=1).to_table() == ROWS


def test_create_alone_writes_version_one(storage: TableStorage) -> None:
    assert write.create_unshared(storage, stream()) == 1
    assert lance.dataset(storage.location).to_table() == ROWS


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_rejected_commit_creates_no_version(storage: TableStorage, overwrite: bool) -> None:
    @contextmanager
    def refusing() -> Iterator[None]:
        raise PermissionDeniedError("not now")
        yield

    with pytest.raises(PermissionDeniedError):
        write.create(storage, stream(), overwrite=overwrite, committing=refusing())
    assert not Path(storage.location, "_versions").exists()


@pytest.mark.parametrize("overwrite", [False, True])
def test_first_rows_deleted_concurrently_are_not_committed(
    storage: TableStorage, overwrite: bool
) -> None:
    @contextmanager
    def losing() -> Iterator[None]:
        for name in data(storage):
            Path(storage.location, "data", name).unlink()
        yield

    with pytest.raises(
        ConcurrentModificationError, match="were deleted while the rows were written"
    ):
        write.create(storage, stream(), overwrite=overwrite, committing=losing())
    assert not Path(storage.location, "_versions").exists()


def test_only_the_named_data_files_are_deleted(storage: TableStorage) -> None:
    blobs = pa.table([lance.blob_array([b"x" * 100_000])], pa.schema([lance.blob_field("b")]))
    files = []
    for mode in ("create", "append"):
        dataset = lance.write_dataset(blobs, storage.location, mode=mode)
        files = [file.path for each in dataset.get_fragments() for file in each.data_files()]
    first, second = files
    assert sum(path.is_file() for path in Path(storage.location, "data").rglob("*")) == 4
    write.delete_data_files(storage, ["none.lance", first])
    left = [path for path in Path(storage.location, "data").rglob("*") if path.is_file()]
    assert len(left) == 2
    assert all(second.removesuffix(".lance") in str(path) for path in left)


@pytest.mark.parametrize("mode", InsertMode)
@pytest.mark.parametrize("there", [LocationState.OTHER, LocationState.NOTHING])
def test_rows_for_a_dropped_dataset_are_deleted(
    storage: TableStorage, mode: InsertMode, there: LocationState, monkeypatch: pytest.MonkeyPatch
) -> None:
    lance.write_dataset(ROWS, storage.location)
    before = data(storage)
    monkeypatch.setattr(OpenedVersion, "state", lambda self: there)
    sent_again = pytest.raises(ConcurrentModificationError, match="send the rows again")
    with open_version(storage) as (dataset, opened), sent_again:
        write.insert(dataset, stream(), mode, opened)
    assert (data(storage), lance.dataset(storage.location).version) == (before, 1)


@pytest.mark.parametrize(
    ("mode", "rows"), [(InsertMode.APPEND, [1, 2, 1, 2]), (InsertMode.OVERWRITE, [1, 2])]
)
@pytest.mark.parametrize("error", [None, OSError, ValueError])
def test_rows_are_added_if_the_location_is_unchanged_or_unreadable(
    storage: TableStorage, mode: InsertMode, rows: list[int], error: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    lance.write_dataset(ROWS, storage.location)

    def unread(self: OpenedVersion) -> LocationState:
        raise error("the store is away")

    if error is not None:
        monkeypatch.setattr(OpenedVersion, "state", unread)
    with open_version(storage) as (dataset, opened):
        write.insert(dataset, stream(), mode, opened)
        assert (dataset.version, dataset.to_table()["x"].to_pylist()) == (2, rows)
    assert lance.dataset(storage.location).version == 2


def test_rows_that_replace_others_need_valid_column_names(storage: TableStorage) -> None:
    lance.write_dataset(ROWS, storage.location)
    refused = pytest.raises(TableSchemaValidationError, match="a dot")
    with open_version(storage) as (dataset, opened), refused:
        write.insert(dataset, stream(pa.table({"a.b": [1]})), InsertMode.OVERWRITE, opened)
    assert len(data(storage)) == 1
