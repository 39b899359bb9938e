"""Requirements of the general specification for directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
)
from lance_namespace_impls import connect

ROWS = pa.table({"a": pa.array([1, 2, 3], pa.int64())})


@pytest.mark.requirement("general-076")
def test_a_directory_has_one_level_of_tables(tmp_path: Path) -> None:
    with connect("dir", {"path": tmp_path}) as directory:
        directory.declare_table({"id": ["t"]})
        assert directory.list_namespaces({}).namespaces == []
        for call, request in (
            (directory.create_namespace, {"id": ["ns"]}),
            (directory.list_tables, {"id": ["t"]}),
            (directory.namespace_exists, {"id": ["t"]}),
            (directory.declare_table, {"id": ["ns", "t"]}),
        ):
            with pytest.raises(InvalidInputError) as refused:
                call(request)
            assert refused.value.code == 13
        assert list(directory.iter_tables()) == ["t"]


@pytest.mark.requirement("general-077", "general-078", "general-079")
def test_a_directory_requires_only_its_path(tmp_path: Path) -> None:
    place = tmp_path / "not" / "made" / "yet"
    with connect("dir", {"path": place}) as directory:
        directory.create_table({"id": ["t"]}, ROWS)
        assert directory.open_table(["t"]).to_table() == ROWS
    assert [child.name for child in place.iterdir()] == ["t.lance"]


@pytest.mark.requirement("general-080", "general-081", "general-082", "general-083")
def test_the_example_of_a_directory(tmp_path: Path) -> None:
    root = tmp_path / "my" / "dir1"
    lance.write_dataset(ROWS, root / "table1")
    stored = lance.dataset(root / "table1")
    stored.create_scalar_index("a", "BTREE")
    stored.delete("a = 2")
    (root / "table2").mkdir()
    (root / "table3").mkdir()
    inside = {child.name for child in (root / "table1").iterdir()}
    assert {"data", "_versions", "_indices", "_deletions"} <= inside

    with connect("dir", {"path": root}) as directory:
        assert directory.list_tables({}).tables == ["table1", "table2", "table3"]
        for name in ("table1", "table2", "table3"):
            assert directory.describe_table({"id": [name]}).location == str(root / name)
        assert directory.open_table(["table1"]).to_table()["a"].to_pylist() == [1, 3]


@pytest.mark.requirement("general-079")
def test_files_and_hidden_directories_are_not_tables(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / ".hidden").mkdir()
    with connect("dir", {"path": tmp_path}) as directory:
        assert list(directory.iter_tables()) == ["t"]


@pytest.mark.requirement("general-084", "general-085")
@pytest.mark.parametrize("text", ["file://{}", "file://localhost{}", "file:{}"])
def test_a_directory_by_uri(tmp_path: Path, text: str) -> None:
    place = tmp_path / "with space"
    (place / "t").mkdir(parents=True)
    encoded = str(place).replace(" ", "%20")
    with connect("dir", {"path": text.format(encoded)}) as directory:
        assert list(directory.iter_tables()) == ["t"]


@pytest.mark.requirement("general-078", "general-084", "general-086")
def test_a_directory_by_absolute_path(tmp_path: Path) -> None:
    with connect("dir", {"path": f"{tmp_path}/my/dir"}) as directory:
        assert directory.declare_table({"id": ["t"]}).location == f"{tmp_path}/my/dir/t.lance"


@pytest.mark.requirement("general-084", "general-087", "general-088")
@pytest.mark.parametrize(("path", "place"), [("my/dir2", "my/dir2"), ("./my/dir3", "my/dir3")])
def test_a_directory_by_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with connect("dir", {"path": path}) as directory:
        monkeypatch.chdir("/")  # only the current folder at connect counts
        assert directory.declare_table({"id": ["t"]}).location == f"{tmp_path}/{place}/t.lance"
    assert (tmp_path / place / "t.lance").is_dir()


def _nothing(place: Path) -> None:
    place.mkdir()


def _foreign(place: Path) -> None:
    place.mkdir()
    (place / "part-0.csv").write_text("a,b\n1,2\n")


def _uncommitted(place: Path) -> None:
    (place / "data").mkdir(parents=True)
    (place / "data" / "x.lance").write_bytes(b"rows that no version has")


def _no_versions(place: Path) -> None:
    (place / "_versions").mkdir(parents=True)


def _no_manifest(place: Path) -> None:
    (place / "_versions").mkdir(parents=True)
    (place / "_versions" / "1.manifest").write_text("nothing that Lance wrote" * 100)


def _empty_manifest(place: Path) -> None:
    (place / "_versions").mkdir(parents=True)
    (place / "_versions" / "1.manifest").touch()


def _cut_manifest(place: Path) -> None:
    lance.write_dataset(ROWS, place)
    (manifest,) = (place / "_versions").glob("*.manifest")
    manifest.write_bytes(manifest.read_bytes()[:-40])


CONTENTS = [
    _nothing, _foreign, _uncommitted, _no_versions, _no_manifest, _empty_manifest, _cut_manifest
]  # fmt: skip


@pytest.mark.requirement("general-089", "general-090", "general-091", "general-092")
@pytest.mark.parametrize("name", ["t", "t.lance"])
@pytest.mark.parametrize("fill", CONTENTS, ids=lambda fill: fill.__name__.strip("_"))
def test_a_directory_is_a_table_with_any_content(tmp_path: Path, fill: Any, name: str) -> None:
    fill(tmp_path / name)
    with connect("dir", {"path": tmp_path}) as directory:
        assert directory.list_tables({}).tables == ["t"]
        assert directory.list_all_tables({}).tables == ["t"]
        directory.table_exists({"id": ["t"]})
        assert directory.describe_table({"id": ["t"]}).location == str(tmp_path / name)


@pytest.mark.requirement("general-093")
@pytest.mark.parametrize("fill", CONTENTS, ids=lambda fill: fill.__name__.strip("_"))
def test_an_invalid_dataset_cannot_be_loaded_and_the_error_explains_why(
    tmp_path: Path, fill: Any
) -> None:
    fill(tmp_path / "t")
    with connect("dir", {"path": tmp_path}) as directory:
        for load_it in (
            lambda: directory.describe_table({"id": ["t"], "load_detailed_metadata": True}),
            lambda: directory.open_table(["t"]),
            lambda: directory.count_table_rows({"id": ["t"]}),
        ):
            with pytest.raises(
                InvalidTableStateError, match="not follow the Lance format"
            ) as failed:
                load_it()
            assert failed.value.code == 19
