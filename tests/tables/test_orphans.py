"""Files that no version of a dataset refers to."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.file import LanceFileSession
from lance.fragment import write_fragments

from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.tables.orphans import Orphan, delete_orphans, find_orphans
from tests.servers.s3 import GuardedS3

ROWS = pa.table({"x": [1, 2]})
BLOBS = pa.table([lance.blob_array([b"x" * 100_000])], pa.schema([lance.blob_field("b")]))
ALWAYS, DAY = timedelta(0), timedelta(days=1)
JOB = "0a" * 16


@pytest.fixture(params=["local", pytest.param("S3", marks=pytest.mark.s3)])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> TableStorage:
    if request.param == "local":
        return TableStorage(location=str(tmp_path / "t"), options={})
    s3: GuardedS3 = request.getfixturevalue("s3")
    return TableStorage(location=f"s3://{s3.bucket}/{tmp_path.name}/t", options=s3.options())


def written(storage: TableStorage, rows: pa.Table) -> str:
    """Write a data file that is never committed, and return its path."""
    options = dict(storage.options) or None
    (lost,) = write_fragments(rows, storage.location, mode="append", storage_options=options)
    return f"data/{lost.files[0].path}"


@pytest.mark.parametrize("rows", [ROWS, BLOBS], ids=["plain", "blobs"])
def test_rows_that_were_never_committed_are_deleted(storage: TableStorage, rows: pa.Table) -> None:
    options = dict(storage.options) or None
    dataset = lance.write_dataset(rows, storage.location, storage_options=options)
    dataset.create_branch("side").insert(rows)
    assert find_orphans(dataset, ALWAYS) == []
    lost = written(storage, rows)
    found = find_orphans(dataset, ALWAYS)
    assert lost in [each.path for each in found]
    assert all(each.path.startswith(lost.removesuffix(".lance")) for each in found)
    assert len(found) == (1 if rows is ROWS else 2)
    assert all(abs(each.modified - datetime.now(UTC)) < DAY for each in found)
    assert find_orphans(dataset, DAY) == []
    size = sum(each.bytes for each in found)
    assert size > (0 if rows is ROWS else 100_000)
    assert delete_orphans(storage, found) == size
    assert find_orphans(dataset, ALWAYS) == []
    assert delete_orphans(storage, found) == 0  # they are already deleted
    assert dataset.checkout_version(("side", None)).count_rows() == 2 * rows.num_rows


def old_file(path: Path, name: str) -> str:
    """Create a file with an old modification time, and return its name."""
    (path / name).parent.mkdir(parents=True, exist_ok=True)
    (path / name).write_text("x")
    os.utime(path / name, (1, 1))
    return name


def test_only_files_that_versions_could_refer_to_are_orphans(tmp_path: Path) -> None:
    path = tmp_path / "t"
    dataset = lance.write_dataset(ROWS, str(path))
    dataset.create_branch("side")
    spread = f"{'01' * 12}{'0a' * 13}"
    uuid = "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"
    own = [
        f"data/{spread}.lance", "_deletions/0-1-2.arrow", f"_indices/{uuid}/index.idx",
        f"tree/side/data/{spread}.lance",
    ]  # fmt: skip
    others = [
        "data/mine.lance", "notes.txt", f"_transactions/3-{uuid}.txn", "_versions/9.manifest-x",
        f"tree/oak/data/{spread}.lance", "_refs/tags/x.txt", f"_transactions/{JOB}/.lance-reserved",
    ]  # fmt: skip
    for name in (*own, *others):
        old_file(path, name)
    young = path / f"data/{'10' * 12}{'0a' * 13}.lance"
    young.write_text("x")
    assert [each.path for each in find_orphans(dataset, DAY)] == sorted(own)


@pytest.mark.parametrize("is_busy", [False, True])
def test_files_recorded_by_a_job_remain_while_it_writes(tmp_path: Path, is_busy: bool) -> None:
    path = tmp_path / "t"
    dataset = lance.write_dataset(ROWS, str(path))
    file = f"{'01' * 12}{'0a' * 13}.lance"
    made = [old_file(path, f"_transactions/{JOB}/{name}") for name in ("open", file)]
    made.append(old_file(path, f"data/{file}"))
    if is_busy:
        os.utime(path / f"_transactions/{JOB}/open")
    found = find_orphans(dataset, DAY)
    assert [each.path for each in found] == ([] if is_busy else sorted(made))


@pytest.mark.parametrize("is_busy", [False, True])
def test_the_parts_of_an_index_stay_while_their_build_can_be_resumed(
    tmp_path: Path, is_busy: bool
) -> None:
    path = tmp_path / "t"
    dataset = lance.write_dataset(ROWS, str(path))
    recorded, lost = (f"{digit}{'0a' * 3}0-0a0a-0a0a-0a0a-{'0a' * 6}" for digit in "12")
    notes = [
        old_file(path, f"_transactions/{JOB}/{name}")
        for name in (f"{recorded}.json", "model.arrow")
    ]
    part = old_file(path, f"_indices/{recorded}/index.idx")
    rest = [old_file(path, f"_indices/{lost}/{name}") for name in ("index.idx", ".tmpAb3x")]
    if is_busy:
        os.utime(path / f"_transactions/{JOB}/model.arrow")
    found = [each.path for each in find_orphans(dataset, DAY)]
    assert found == sorted(rest if is_busy else [*notes, part, *rest])


def test_a_job_record_is_deleted_after_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"_transactions/{JOB}/open", "data/a.lance", f"_transactions/{JOB}/a", "data/b.lance"]
    for name in names:
        old_file(tmp_path, name)
    gone, delete = [], LanceFileSession.delete_file

    def note(self: Any, name: str) -> None:
        gone.append(name)
        delete(self, name)

    monkeypatch.setattr(LanceFileSession, "delete_file", note)
    moment = datetime.now(UTC)
    orphans = [Orphan(path=name, bytes=10, modified=moment) for name in (*names, "data/none.lance")]
    storage = TableStorage(location=str(tmp_path), options={})
    assert delete_orphans(storage, orphans) == 40
    assert gone == ["data/a.lance", "data/b.lance", names[0], names[2]]
