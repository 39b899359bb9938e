"""Files of a dataset, its manifests and its versions, on each kind of storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.file import LanceFileSession

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    TableVersionNotFoundError,
)
from lance_namespace_client.models import VersionRange
from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.tables import dataset as opening
from lance_namespace_impls.tables import refs, versions
from lance_namespace_impls.tables.clone import clone
from lance_namespace_impls.tables.dataset import table_uri
from lance_namespace_impls.tables.files import (
    delete_file,
    local_path,
    missing_files,
    read_file,
    read_small,
)
from lance_namespace_impls.tables.manifests import ManifestFolder, final_names, staged_name
from tests.servers.s3 import GuardedS3

ROWS = pa.table({"x": [1]})


# Files at file-object-store:// are found like those of an object store, with one listing.
@pytest.mark.parametrize("scheme", ["", "file://", "file-object-store://"])
def test_missing_files_are_found(tmp_path: Path, scheme: str) -> None:
    storage = TableStorage(location=f"{scheme}{tmp_path}", options={})
    assert missing_files(storage, "data", []) == []
    assert missing_files(storage, "data", ["a.lance"]) == ["a.lance"]
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.lance").touch()
    (folder / "b.lance").touch()
    assert missing_files(storage, "data", ["a.lance", "b.lance"]) == []
    assert missing_files(storage, "data", ["a.lance", "c.lance", "b.lance"]) == ["c.lance"]


@pytest.fixture(params=["", "file://", "file-object-store://"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> TableStorage:
    (tmp_path / "_versions").mkdir()
    return TableStorage(location=f"{request.param}{tmp_path}", options={})


def test_an_existing_file_is_read_and_deleted(storage: TableStorage, tmp_path: Path) -> None:
    session = LanceFileSession(storage.location)
    (tmp_path / "_versions" / "a").write_bytes(b"text")
    assert read_file(storage, "_versions/a") == read_small(session, "_versions/a") == b"text"
    assert delete_file(session, "_versions/a")
    assert read_file(storage, "_versions/a") is read_small(session, "_versions/a") is None
    assert not (tmp_path / "_versions" / "a").exists()


def test_a_failure_is_not_treated_as_a_missing_file() -> None:
    class Refusing:
        said = ""

        def __getattr__(self, name: str) -> Any:
            def refuse(*_: Any) -> None:
                raise OSError(self.said)

            return refuse

    session = Refusing()
    session.said = "the disk is full"
    for call in (read_small, delete_file):
        with pytest.raises(OSError, match="the disk is full"):
            call(session, "a")
    session.said = "Object at location a Not Found"
    assert read_small(session, "a") is None
    assert delete_file(session, "a") is False


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/lake/a b", "/lake/a b"),
        ("file:///lake/a%20b", "/lake/a b"),
        ("s3://lake/a", None),
        ("file-object-store:///lake", None),
    ],
)
def test_only_a_local_location_has_a_path(location: str, path: str | None) -> None:
    assert local_path(location) == path


@pytest.mark.parametrize(
    ("location", "uri"), [("/lake/a b", "file:///lake/a%20b"), ("s3://lake/a b", "s3://lake/a b")]
)
def test_a_location_has_a_uri(location: str, uri: str) -> None:
    assert table_uri(location) == uri


# --- manifests

NEWEST, STAGED = final_names(7)[0], f"{final_names(7)[0]}-some.one_else"


@pytest.mark.parametrize("branch", [None, "team/side"])
def test_a_staged_manifest_is_published(
    storage: TableStorage, tmp_path: Path, branch: str | None
) -> None:
    path = tmp_path.joinpath(*(("tree", "team", "side") if branch else ()), "_versions")
    path.mkdir(parents=True, exist_ok=True)
    folder = ManifestFolder(storage, branch)
    assert (folder.names(), folder.has(NEWEST)) == ([], False)
    with pytest.raises(InvalidInputError, match=f"the manifest {STAGED} does not exist"):
        folder.publish(STAGED)
    (path / STAGED).write_bytes(b"seven")
    (path / "latest_version_hint.json").touch()
    assert (folder.names(), folder.has(STAGED)) == ([], True)
    folder.publish(STAGED)
    assert (folder.names(), (path / NEWEST).read_bytes()) == ([NEWEST], b"seven")
    folder.publish(NEWEST)  # it already has its final name
    is_local = not storage.location.startswith("file-object")
    assert folder.size(NEWEST) == (5 if is_local else None)
    assert (path / STAGED).exists() is not is_local  # an object store cannot rename
    folder.delete(STAGED)
    folder.publish(STAGED)  # another client already published it
    folder.set_aside(NEWEST)
    folder.set_aside(NEWEST)
    assert folder.names() == []
    assert [each.name.startswith(f"{NEWEST}-") for each in path.glob("*.manifest*")] == [True]
    for name in (NEWEST, "1.manifest"):
        folder.delete(name)
        assert folder.size(name) is None


def test_a_manifest_with_its_final_name_is_not_moved(
    storage: TableStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a file is moved")

    monkeypatch.setattr(ManifestFolder, "_move", refuse)
    ManifestFolder(storage, None).publish(NEWEST)


def test_a_missing_folder_has_no_manifests(tmp_path: Path) -> None:
    for scheme in ("", "file://", "file-object-store://"):
        storage = TableStorage(location=f"{scheme}{tmp_path}/none", options={})
        assert ManifestFolder(storage, None).names() == []


@pytest.mark.parametrize(
    ("location", "branch", "folder", "is_at"),
    [
        ("s3://b/lake/t", None, "lake/t/_versions", True),
        ("s3://b/lake/t", None, "/lake/t/_versions", True),
        ("s3://b/lake/t", None, "b/lake/t/_versions", True),
        ("s3://b/lake/t/", None, "lake/t/_versions", True),
        ("s3://b/my%20lake/t", None, "my lake/t/_versions", True),
        ("s3://b/my lake/t", None, "my%20lake/t/_versions", True),
        ("s3://b/my lake/t", None, "my%2520lake/t/_versions", True),
        ("s3://b", None, "_versions", True),
        ("s3://b/lake/t", "side", "lake/t/tree/side/_versions", True),
        ("s3://b/lake/t", "side", "lake/t/_versions", False),
        ("s3://b/lake/t", None, "lake/u/_versions", False),
        ("s3://b/lake/t", None, "c/lake/t/_versions", False),
        ("s3://b/lake/t", None, "lake/t/x/../_versions", False),
        ("/lake/t", None, "/lake/t/_versions", True),
        ("/lake/t", None, "lake/t/_versions", True),
        ("file:///my%20lake/t", None, "my%20lake/t/_versions", True),
        ("/lake/t", "side", "/lake/t/tree/side/_versions", True),
        ("/lake/t", None, "/lake/x/../t/_versions", False),
        ("/lake/t", None, "/lake/./t/_versions", False),
        ("/lake/t", None, "/lake/t/\0/_versions", False),
        ("/lake/t", None, "/lake/t/_versions/deeper", False),
    ],
)
def test_valid_paths_of_staged_manifests(
    location: str, branch: str | None, folder: str, is_at: bool
) -> None:
    manifests = ManifestFolder(TableStorage(location=location, options={}), branch)
    assert manifests.is_at(folder) is is_at
    if is_at:
        assert staged_name(f"{folder}/{STAGED}", 7, "the commit", manifests) == STAGED
        assert staged_name(f"{folder}/7.manifest", 7, "the commit", manifests) == "7.manifest"
        with pytest.raises(InvalidInputError, match=r"the commit: .* is for version 7, not 8"):
            staged_name(f"{folder}/{STAGED}", 8, "the commit", manifests)
        for name in (
            "notes.txt",
            f"{NEWEST}-",
            f"{NEWEST}x",
            f"{NEWEST}-{'x' * 101}",
            "7.manifest-a/b",
        ):
            with pytest.raises(
                InvalidInputError, match=r"the commit: .* is not a valid manifest path"
            ):
                staged_name(f"{folder}/{name}", 7, "the commit", manifests)
    else:
        with pytest.raises(InvalidInputError, match="is not a valid manifest path"):
            staged_name(f"{folder}/{STAGED}", 7, "the commit", manifests)


def test_a_manifest_may_be_staged_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "lake" / "_versions").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "lake")
    storage = TableStorage(location=str(tmp_path / "lake"), options={})
    assert ManifestFolder(storage, None).is_at(f"{tmp_path}/link/_versions")


# --- versions


@pytest.fixture
def dataset(tmp_path: Path) -> Any:
    made = lance.write_dataset(ROWS, str(tmp_path / "t"))
    for _ in range(4):
        made.insert(ROWS)
    return made


@pytest.mark.parametrize(
    ("ranges", "found"),
    [
        ([], []),
        ([(1, 3)], [1, 2]),
        ([(1, 5)], [1, 2, 3, 4]),
        ([(3, 4), (1, 2), (3, 5)], [1, 3, 4]),
        ([(2, -1)], [2, 3, 4]),
        ([(5, -1)], []),
        ([(9, -1)], []),
        ([(40, 50)], []),
    ],
)
def test_versions_in_ranges_are_deleted(
    dataset: Any, ranges: list[tuple[int, int]], found: list[int]
) -> None:
    spans = [VersionRange(start_version=start, end_version=end) for start, end in ranges]
    doomed = versions.doomed(dataset, spans, None)
    assert doomed == found
    assert versions.delete(dataset, doomed) == len(found)
    assert [each["version"] for each in dataset.versions()] == sorted({1, 2, 3, 4, 5} - {*found})


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        (2, 2, "versions 2 to 2 are not a range; the end must be greater than the start"),
        (3, 2, "versions 3 to 2 are not a range"),
        (1, 6, "version 5 is the latest and cannot be deleted"),
    ],
)
def test_invalid_version_ranges_are_rejected(dataset: Any, start: int, end: int, said: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{said}"):
        versions.doomed(dataset, [VersionRange(start_version=start, end_version=end)], None)


@pytest.mark.parametrize("scheme", ["", "file://", "file-object-store://"])
def test_version_listings_are_the_same_on_any_storage(
    dataset: Any, scheme: str, tmp_path: Path
) -> None:
    dataset.create_branch("side").insert(ROWS)
    found = lance.dataset(f"{scheme}{tmp_path}/t")
    for branch, numbers in ((None, [1, 2, 3, 4, 5]), ("side", [5, 6])):
        listed = versions.Manifests(found, branch)
        assert listed.numbers() == numbers
        assert listed.numbers(descending=True) == numbers[::-1]
        assert (numbers[-1] in listed, 9 in listed) == (True, False)
        for number in numbers:
            version = listed.version(number)
            assert version is not None
            path = Path(str(version.manifest_path).removeprefix(scheme))
            assert path.parent == tmp_path.joinpath(
                "t", *(("tree", "side") if branch else ()), "_versions"
            )
            stat = path.stat()
            assert (version.version, version.manifest_size) == (number, stat.st_size)
            assert version.timestamp_millis == pytest.approx(stat.st_mtime * 1000, abs=1)
        assert versions.describe(found, None, branch).version == numbers[-1]
        with pytest.raises(TableVersionNotFoundError, match="version 9 does not exist"):
            versions.describe(found, 9, branch)


def test_a_version_deleted_during_listing_is_skipped(dataset: Any) -> None:
    listed = versions.Manifests(dataset, None)
    versions.delete(dataset, [2])
    assert 2 in listed
    assert listed.version(2) is None


# --- existence of a dataset

GONE = "Not found: /lake/t/_versions/1.manifest"


@pytest.mark.parametrize(
    ("said", "looks"),
    [([GONE], 2), ([GONE, "Invalid range 1..2 for object of 0 bytes"], 3), ([GONE] * 3, 4)],
)
def test_the_existence_check_is_retried_during_a_drop(
    said: list[str], looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, seen, paused = said[::-1], [], list[float]()

    def look(storage: TableStorage) -> bool:
        seen.append(storage)
        if left:
            raise OSError(left.pop())
        return True

    monkeypatch.setattr(opening, "_opens", look)
    monkeypatch.setattr(opening, "sleep", paused.append)
    assert opening.exists(TableStorage(location="/lake/t", options={}))
    assert len(seen) == looks
    assert paused == [0.01, 0.05, 0.2][: looks - 1]


@pytest.mark.parametrize(
    ("said", "kind"), [(GONE, InvalidTableStateError), ("the disk is full", OSError)]
)
def test_an_unreadable_dataset_is_reported(
    said: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(_: TableStorage) -> bool:
        raise OSError(said)

    monkeypatch.setattr(opening, "_opens", look)
    monkeypatch.setattr(opening, "sleep", lambda _: None)
    with pytest.raises(kind, match="/lake/t: a version is listed" if said is GONE else said):
        opening.exists(TableStorage(location="/lake/t", options={}))


def test_versions_at_a_location(dataset: Any, tmp_path: Path) -> None:
    there = TableStorage(location=str(tmp_path / "t"), options={})
    nowhere = TableStorage(location=str(tmp_path / "none"), options={})
    assert (opening.exists(there), opening.exists(nowhere)) == (True, False)
    assert opening.latest_version(there) == 5
    assert [opening.has_version(there, number) for number in (1, 5, 6)] == [True, True, False]
    assert not opening.has_version(nowhere, 1)
    with pytest.raises(
        InvalidTableStateError, match=r"none contains no Lance dataset: .* write rows to it"
    ):
        opening.open_dataset(nowhere)


@pytest.mark.s3
def test_an_object_store_is_accessed_with_the_options_of_the_table(s3: GuardedS3) -> None:
    options = s3.options()
    storage = TableStorage(location=f"s3://{s3.bucket}/lake/t", options=options)
    made = lance.write_dataset(ROWS, storage.location, storage_options=options)
    made.insert(ROWS)
    made.tags.create("first", 1)
    assert opening.exists(storage)
    assert refs.tag(storage, "first") == refs.tags(opening.open_dataset(storage))["first"]
    assert opening.open_dataset(storage, version="first").count_rows() == 1
    assert b'"version"' in (read_file(storage, "_refs/tags/first.json") or b"")
    assert read_file(storage, "_refs/tags/none.json") is None
    files = [file.path for each in made.get_fragments() for file in each.data_files()]
    assert missing_files(storage, "data", [*files, "none.lance"]) == ["none.lance"]
    listed = versions.Manifests(opening.open_dataset(storage), None)
    assert listed.numbers() == [1, 2]
    sizes = {name.rpartition("/")[2] for name in s3.objects() if "_versions" in name}
    manifests = ManifestFolder(storage, None)
    assert sorted(manifests.names()) == sorted(sizes & {final_names(n)[0] for n in (1, 2)})
    assert versions.describe(opening.open_dataset(storage), 1, None).manifest_size == (
        listed.version(1).manifest_size  # type: ignore[union-attr]
    )
    manifests.set_aside(final_names(2)[0])
    assert manifests.names() == [final_names(1)[0]]
    assert opening.latest_version(storage) == 1
    target = TableStorage(location=f"s3://{s3.bucket}/lake/new", options=options)
    assert clone(storage, target, version=None, is_shallow=False) > 0
    assert opening.open_dataset(target).count_rows() == 1


def test_a_dataset_is_opened_with_the_options_and_session_of_its_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = lance.Session()
    given = {"region": "eu"}
    storage = TableStorage(location=str(tmp_path), options=given, session=lambda: session)
    seen: list[Any] = []

    class Opened:
        version = 3

        def __init__(self, *args: Any, **more: Any) -> None:
            seen.append((*args, more))

    def refuse(*_: Any) -> None:
        raise AssertionError("it is opened twice")

    monkeypatch.setattr(lance, "LanceDataset", Opened)
    monkeypatch.setattr(opening, "checkout", refuse)
    for version in (None, 3):
        assert isinstance(opening.open_dataset(storage, version=version), Opened)
    with pytest.raises(AssertionError, match="opened twice"):
        opening.open_dataset(storage, version=2)
    assert seen[0][0] == str(tmp_path)
    assert seen[0][1]["storage_options"] == given
    assert seen[0][1]["session"] is session


def test_a_failure_to_open_is_not_reported_as_a_missing_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("an option is unknown")

    monkeypatch.setattr(lance, "LanceDataset", fail)
    with pytest.raises(ValueError, match="an option is unknown"):
        opening.open_dataset(TableStorage(location=str(tmp_path), options={}))


# --- clones


@pytest.mark.parametrize("is_shallow", [True, False])
@pytest.mark.parametrize(("version", "rows"), [(None, 5), (2, 2), ("third", 3)])
def test_a_clone_contains_the_requested_version(
    dataset: Any, tmp_path: Path, version: int | str | None, rows: int, is_shallow: bool
) -> None:
    dataset.tags.create("third", 3)
    source = TableStorage(location=str(tmp_path / "t"), options={})
    target = TableStorage(location=str(tmp_path / "new"), options={})
    made = clone(source, target, version=version, is_shallow=is_shallow)
    found = lance.dataset(str(tmp_path / "new"))
    assert (found.version, found.count_rows()) == (made, rows)
    assert (tmp_path / "new" / "data").exists() is not is_shallow


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Dataset already exists", ConcurrentModificationError),
        ("Commit conflict for version 1", ConcurrentModificationError),
        ("the disk is full", OSError),
    ],
)
def test_a_clone_to_a_location_written_concurrently(
    dataset: Any, said: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(said)

    monkeypatch.setattr(lance.LanceDataset, "shallow_clone", fail)
    source = TableStorage(location=dataset.uri, options={})
    with pytest.raises(kind):
        clone(source, TableStorage(location="/x", options={}), version=None, is_shallow=True)
