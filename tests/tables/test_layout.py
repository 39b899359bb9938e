"""File names that Lance assigns, and file names that it does not."""

from __future__ import annotations

import pytest

from lance_namespace_impls.tables.layout import (
    FOLDERS,
    MARKERS,
    branch_of,
    could_be_data,
    is_lance_file,
    is_marker,
)
from lance_namespace_impls.tables.manifests import LARGEST, final_name, final_names, version_of

UUID = "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"
SPREAD = f"{'01' * 12}{'0a' * 13}"
OWN = [
    "_versions/1.manifest",
    "_versions/18446744073709551614.manifest",
    f"_versions/7.manifest-{UUID}",
    "_versions/latest_version_hint.json",
    f"data/{SPREAD}.lance",
    f"data/{UUID}.lance",
    f"data/{UUID.replace('-', '')}.lance",
    f"data/{SPREAD}/0101.blob",
    "_deletions/0-1-234.arrow",
    "_deletions/12-1-9.bin",
    f"_transactions/3-{UUID}.txn",
    f"_transactions/{UUID}/open",
    f"_transactions/{UUID}/.lance-reserved",
    f"_transactions/{UUID}/{SPREAD}.lance",
    f"_transactions/{UUID}/{UUID}.json",
    f"_transactions/{UUID}/model.arrow",
    f"_indices/{UUID}/.tmpAb3x",
    f"_indices/{UUID}/staging/.tmpAb3x",
    f"_indices/{UUID}/index.idx",
    f"_indices/{UUID}/part/page_data.lance",
    "_refs/tags/v1.json",
    "_refs/branches/side.json",
    f"_mem_wal/{UUID}/manifest/0101.binpb",
    f"_mem_wal/{UUID}/manifest/version_hint.json",
    f"_mem_wal/{UUID}/wal/0101.arrow",
    f"_mem_wal/{UUID}/0a_gen_3/data/{UUID}.lance",
    "data/.tmp0-x.lance",
    "_versions/1.manifest#2",
    *(f"{folder}/.lance-reserved" for folder in sorted(FOLDERS)),
]
FOREIGN = [
    "_versions/notes.txt",
    "_versions/123456789012345678901.manifest",
    "_versions/1.manifest-mine",
    "data/chosen.lance",
    f"data/{SPREAD}.parquet",
    f"data/{SPREAD}/photo.blob",
    f"data/more/{SPREAD}.lance",
    f"_versions/{SPREAD}.lance",
    "_deletions/0-1.arrow",
    "_transactions/ledger.txn",
    f"_transactions/{UUID}/closed",
    "_indices/README.md",
    f"_indices/{UUID}/notes.txt",
    "_refs/tags/deeper/v1.json",
    "_refs/branches/side.txt",
    f"_mem_wal/{UUID}/users.db",
    "tree/.tmp0",
    f"tree/side/data/{UUID}.lance",
    f"data/{UUID}.lance#x",
    "readme.json",
]


@pytest.mark.parametrize("path", OWN)
def test_a_name_assigned_by_lance(path: str) -> None:
    assert is_lance_file(path)
    assert not is_lance_file(path.replace("_", "-").replace("data", "dada").replace("tree", "try"))


@pytest.mark.parametrize("path", FOREIGN)
def test_a_name_not_assigned_by_lance(path: str) -> None:
    assert not is_lance_file(path)


@pytest.mark.parametrize(
    ("path", "branches", "is_own"),
    [
        (f"tree/side/data/{UUID}.lance", ["other", "side"], True),
        (f"tree/team/side/data/{UUID}.lance", ["team/side"], True),
        (f"tree/team/side/data/{UUID}.lance", ["team"], False),
        (f"tree/side/data/{UUID}.lance", ["si"], False),
        ("tree/side/data/notes.txt", ["side"], False),
        (f"tree/side/tree/deeper/data/{UUID}.lance", ["side", "deeper"], False),
        (f"data/{UUID}.lance", ["side"], True),
    ],
)
def test_the_tree_contains_only_files_of_known_branches(
    path: str, branches: list[str], is_own: bool
) -> None:
    assert is_lance_file(path, branches) is is_own


@pytest.mark.parametrize("name", sorted(MARKERS))
def test_a_partially_written_marker_is_recognized(name: str) -> None:
    for own in (name, f"{name}.{'0a' * 16}", f"{name}#12"):
        assert is_marker(own)
    for other in (
        f"{name}x",
        f"x{name}",
        f"{name}.{'0a' * 15}",
        f"{name}#",
        name.replace(".", "x"),
    ):
        assert not is_marker(other)


@pytest.mark.parametrize(
    ("path", "branch"),
    [
        ("_refs/branches/side.json", "side"),
        ("_refs/branches/team%2Fside.json", "team/side"),
        ("_refs/branches/a.json.json", "a.json"),
        ("_refs/branches/side.txt", None),
        ("_refs/tags/side.json", None),
        ("readme.json", None),
    ],
)
def test_a_file_describes_a_branch(path: str, branch: str | None) -> None:
    assert branch_of(path) == branch


@pytest.mark.parametrize(
    ("path", "could"),
    [
        ("data/any name.lance", True),
        ("data/part/any.lance", True),
        ("data/users.db", False),
        ("_versions/any.lance", False),
        ("tree/side/data/any.lance", False),
    ],
)
def test_a_manifest_may_name_only_data_files(path: str, could: bool) -> None:
    assert could_be_data(path) is could


@pytest.mark.parametrize("version", [0, 1, 42, 10**9])
def test_a_version_has_two_final_names(version: int) -> None:
    newer, older = final_names(version)
    assert (newer, older) == (f"{LARGEST - version}.manifest", f"{version}.manifest")
    for name, other in ((newer, final_names(7)[0]), (older, "7.manifest")):
        assert version_of(name) == version
        for path in (name, f"a/_versions/{name}", f"{name}-{UUID}", f"_versions/{name}-{UUID}"):
            assert final_name(path) == name
            assert final_name(path, 7) == other
