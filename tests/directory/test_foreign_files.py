"""A directory that contains files that Lance did not write is not dropped and stays unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import attrs
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InternalError,
    InvalidTableStateError,
    LanceNamespaceError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.directory.filesystem import Directory
from lance_namespace_impls.directory.local import OpenTree
from tests.servers.s3 import GuardedS3

pytestmark = pytest.mark.s3

ROWS = pa.table({"x": [1, 2, 3]})
T = {"id": ["t"]}


@attrs.frozen
class Place:
    """A root, on a local disk or in the bucket."""

    namespace: Namespace
    put: Callable[[str], None]
    """Writes a third-party file at a path below the root."""
    names: Callable[[], set[str]]
    """Returns the paths of all files below the root."""


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "local":

        def put(path: str) -> None:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text("keep me")

        def names() -> set[str]:
            return {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}

        with connect("dir", {"path": str(tmp_path)}) as namespace:
            yield Place(namespace, put, names)
        return
    s3: GuardedS3 = request.getfixturevalue("s3")

    def put_object(path: str) -> None:
        s3.client().put_object(Bucket=s3.bucket, Key=f"root/{path}", Body=b"keep me")

    def objects() -> set[str]:
        # pyarrow creates an empty object for a directory.
        return {key.removeprefix("root/") for key in s3.objects() if not key.endswith("/")}

    storage = {f"storage.{key}": value for key, value in s3.options().items()}
    with connect("dir", {"path": f"s3://{s3.bucket}/root", **storage}) as namespace:
        yield Place(namespace, put_object, objects)


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(InvalidTableStateError) as caught:
        call()
    assert caught.value.code == 19
    return caught.value.message


@pytest.mark.parametrize(
    "path",
    [
        "users.db",
        "photos/cat.jpg",
        "data/users.db",
        "data/more/0.lance",
        "_versions/notes.txt",
        "_indices/notes.txt",
        "tree/oak.txt",
        "metadata/00000.metadata.json",
        ".lance-properties.bak",
    ],
)
def test_a_table_with_a_foreign_file_is_not_dropped(place: Place, path: str) -> None:
    place.namespace.create_table(T, ROWS)
    place.put(f"t.lance/{path}")
    before = place.names()
    message = refused(lambda: place.namespace.drop_table(T))
    assert "t.lance/" in message
    assert place.names() == before
    assert place.namespace.count_table_rows(T).count == 3


def test_a_folder_of_photos_is_kept_when_all_tables_are_dropped(place: Place) -> None:
    place.put("photos/cat.jpg")
    place.put("photos/2026/dog.jpg")
    for name in place.namespace.iter_tables():
        refused(lambda name=name: place.namespace.drop_table({"id": [name]}))
    assert place.names() == {"photos/cat.jpg", "photos/2026/dog.jpg"}


def test_tables_with_similar_names_are_kept(place: Place) -> None:
    others = ["t2", "t-1", "tt", "T2"]
    for name in ["t", *others]:
        place.namespace.create_table({"id": [name]}, ROWS)
    place.put("t.lance.bak/data/0.lance")
    kept = {path for path in place.names() if not path.startswith("t.lance/")}
    place.namespace.drop_table(T)
    assert place.names() == kept
    assert all(place.namespace.count_table_rows({"id": [name]}).count == 3 for name in others)


def test_a_dataset_with_every_feature_is_dropped_completely(place: Place) -> None:
    place.namespace.create_table({**T, "properties": {"k": "v"}}, ROWS)
    dataset = place.namespace.open_table(["t"])
    dataset.delete("x = 1")
    dataset.create_scalar_index("x", "BTREE")
    dataset.tags.create("first", 1)
    dataset.create_branch("a/b").insert(ROWS)
    place.namespace.alter_table({**T, "set_properties": {"k": "w"}})
    place.namespace.drop_table(T)
    assert place.names() == set()
    assert list(place.namespace.iter_tables()) == []


def test_the_rollback_of_a_first_write_keeps_foreign_files(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place.namespace, "create_table_at_once", lambda *_: None)
    schema = pa.schema([("x", pa.int64())])

    def rows() -> Iterator[pa.RecordBatch]:
        place.put("t.lance/photos/cat.jpg")
        raise RuntimeError("the source gave up")
        yield

    with (
        pytest.warns(UserWarning, match="remains without data"),
        pytest.raises(LanceNamespaceError),
    ):
        place.namespace.create_table(T, pa.RecordBatchReader.from_batches(schema, rows()))
    assert "t.lance/photos/cat.jpg" in place.names()


def test_an_empty_foreign_directory_is_also_rejected(tmp_path: Path) -> None:
    (tmp_path / "t" / "photos").mkdir(parents=True)
    (tmp_path / "u" / "data" / "photos").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        assert "t/photos/" in refused(lambda: namespace.drop_table({"id": ["t"]}))
        assert "u/data/photos/" in refused(lambda: namespace.drop_table({"id": ["u"]}))
        namespace.drop_table({"id": ["empty"]})
        assert list(namespace.iter_tables()) == ["t", "u"]
        assert (tmp_path / "t" / "photos").is_dir()


@pytest.mark.parametrize("link", ["t.lance/data/more", "t.lance/more", "t.lance/_indices"])
def test_a_link_in_a_table_is_not_followed(tmp_path: Path, link: str) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "cat.jpg").write_text("keep me")
    with connect("dir", {"path": str(root)}) as namespace:
        namespace.create_table(T, ROWS)
        (root / link).symlink_to(elsewhere)
        refused(lambda: namespace.drop_table(T))
        assert namespace.count_table_rows(T).count == 3
        assert (elsewhere / "cat.jpg").exists()


def test_a_file_created_between_the_check_and_the_drop_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_to_trash = Directory.move_to_trash

    def late(self: Directory, folder: str) -> str:
        (tmp_path / folder / "late.txt").write_text("keep me")
        return move_to_trash(self, folder)

    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table(T, ROWS)
        monkeypatch.setattr(Directory, "move_to_trash", late)
        refused(lambda: namespace.drop_table(T))
        assert (tmp_path / "t.lance" / "late.txt").exists()
        assert namespace.count_table_rows(T).count == 3


@pytest.mark.parametrize("folders", [1, 40], ids=["held open", "too many to be held open"])
def test_lance_files_created_between_the_check_and_the_drop_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: int
) -> None:
    move_to_trash = Directory.move_to_trash

    def late(self: Directory, folder: str) -> str:
        for _ in range(folders):
            index = tmp_path / folder / "_indices" / str(uuid4())
            index.mkdir(parents=True)
            (index / "page.lance").write_bytes(b"")
        return move_to_trash(self, folder)

    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table(T, ROWS)
        monkeypatch.setattr(Directory, "move_to_trash", late)
        namespace.drop_table(T)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_concurrently_replaces_a_file_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is that of a file from Lance. A drop deletes only files that its check has found."""

    def late(opened: OpenTree) -> bool:
        (data,) = tmp_path.glob(".dropped-*/data")
        (file,) = data.iterdir()
        file.unlink()
        file.mkdir()
        (file / "cat.jpg").write_text("keep me")
        return True

    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table(T, ROWS)
        monkeypatch.setattr(OpenTree, "has_same_entries", late)
        with pytest.raises(InternalError, match=r"could not be deleted .*; delete it"):
            namespace.drop_table(T)
    (left,) = tmp_path.rglob("cat.jpg")
    assert left.read_text() == "keep me"


def test_only_directories_that_a_drop_moved_are_swept(tmp_path: Path) -> None:
    (tmp_path / ".dropped-photos").mkdir()
    (tmp_path / ".dropped-photos" / "cat.jpg").write_text("keep me")
    (tmp_path / f".dropped-{'0' * 32}").mkdir()
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table(T, ROWS)
        namespace.drop_table(T)
    assert [path.name for path in tmp_path.iterdir()] == [".dropped-photos"]


def test_a_foreign_file_is_not_swept(tmp_path: Path) -> None:
    """A drop that is killed before its second check leaves a foreign file that it has not seen."""
    left = tmp_path / f".dropped-{'0' * 32}"
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        for name in ("t", "of_others"):
            namespace.create_table({"id": [name]}, ROWS)
        (tmp_path / "of_others.lance").rename(left)
        (left / "photos").mkdir()
        (left / "photos" / "cat.jpg").write_text("keep me")
        before = sorted(left.rglob("*"))
        with pytest.warns(UserWarning, match=f"Lance did not write .*{left.name}/photos/"):
            namespace.drop_table(T)
    assert list(tmp_path.iterdir()) == [left]
    assert sorted(left.rglob("*")) == before


def test_a_foreign_file_is_not_swept_with_a_manifest(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path), "manifest": "true"}) as namespace:
        namespace.create_namespace({"id": ["n"]})
        for name in ("t", "u"):
            namespace.create_table({"id": ["n", name]}, ROWS)
        (left,) = tmp_path.glob("*_n$u")
        namespace.deregister_table({"id": ["n", "u"]})
        (left / ".lance-dropped").touch()  # as left by a drop that is killed right after that
        (left / "cat.jpg").write_text("keep me")
        before = sorted(left.rglob("*"))
        with pytest.warns(UserWarning, match=r"not referenced .* Lance did not write .*cat\.jpg"):
            namespace.drop_table({"id": ["n", "t"]})
    assert sorted(left.rglob("*")) == before


def test_directories_in_use_by_another_process_are_not_swept(tmp_path: Path) -> None:
    """A dropped directory may be moved back, or be added long after its drop."""
    directory = Directory(str(tmp_path), {})
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        for name in ("t", "u"):
            namespace.create_table({"id": [name]}, ROWS)
        with directory.staged() as staged, directory.opened("u.lance"):
            os.utime(tmp_path / staged, (0, 0))
            dropped = directory.move_to_trash("u.lance")
            namespace.drop_table(T)
            assert {path.name for path in tmp_path.iterdir()} == {staged, dropped}
            assert (tmp_path / dropped / "data").exists()


def test_a_directory_staged_by_a_killed_process_is_swept(tmp_path: Path) -> None:
    left = tmp_path / f".adding-{'0' * 32}"
    (left / "data").mkdir(parents=True)
    os.utime(left, (0, 0))
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table(T, ROWS)
        namespace.drop_table(T)
    assert list(tmp_path.iterdir()) == []
