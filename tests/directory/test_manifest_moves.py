"""A move whose note was not removed is finished once, and commits are retried as configured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import ConcurrentModificationError
from lance_namespace_impls import connect
from lance_namespace_impls.directory import manifest
from lance_namespace_impls.directory.filesystem import Directory
from lance_namespace_impls.directory.manifest import Manifest
from lance_namespace_impls.directory.mirrored import MOVING

ROWS = pa.table({"id": [1, 2, 3]})


def opened(root: Path, **more: str) -> Any:
    return connect("dir", {"path": str(root), "manifest": "true", **more})


@pytest.mark.parametrize(
    ("old", "new"),
    [(["t"], ["new"]), (["t"], ["n", "new"]), (["n", "t"], ["new"])],
    ids=["in the root", "into a namespace", "into the root"],
)
def test_a_move_is_finished_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: list[str], new: list[str]
) -> None:
    real = Directory.remove_marker
    with opened(tmp_path) as lake, monkeypatch.context() as patch:
        lake.create_namespace({"id": ["n"]})
        lake.create_table({"id": old, "properties": {"k": "v"}}, ROWS)
        # Simulate a process that ends immediately before it removes the note.
        patch.setattr(
            Directory,
            "remove_marker",
            lambda self, path: None if path == MOVING else real(self, path),
        )
        lake.rename_table({"id": old, "new_namespace_id": new[:-1], "new_table_name": new[-1]})
        assert (tmp_path / MOVING).exists()
    with opened(tmp_path) as later:
        for _ in range(2):
            assert later.list_all_tables({}).tables == ["$".join(new)]
            assert later.open_table(new).to_table() == ROWS
            assert later.describe_table({"id": new}).properties == {"k": "v"}
            later.alter_table({"id": new, "set_properties": {"k": "v"}})
    assert not (tmp_path / MOVING).exists()


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_commit_is_retried_as_often_as_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int
) -> None:
    tried = []
    with opened(tmp_path, commit_retries=str(retries)) as lake:
        lake.create_namespace({"id": ["n"]})
        with monkeypatch.context() as patch:
            patch.setattr(Manifest, "_commit", lambda *given: tried.append(given))
            with pytest.raises(ConcurrentModificationError, match="keep changing the manifest"):
                lake.create_namespace({"id": ["new"]})
        assert len(tried) == retries + 1
        assert lake.list_namespaces({}).namespaces == ["n"]


def test_a_commit_succeeds_after_several_conflicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost = Manifest._commit, [None] * 3

    def commit(self: Manifest, *given: Any) -> Any:
        return lost.pop() if lost else real(self, *given)

    monkeypatch.setattr(Manifest, "_commit", commit)
    with opened(tmp_path, commit_retries="3") as lake:
        lake.create_namespace({"id": ["n"]})
        assert lake.list_namespaces({}).namespaces == ["n"]


def test_by_default_a_commit_is_retried_for_some_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    with opened(tmp_path) as lake:
        lake.create_namespace({"id": ["n"]})
        monkeypatch.setattr(manifest, "RETRY_SECONDS", 0.2)
        monkeypatch.setattr(Manifest, "_commit", lambda *given: tried.append(given))
        with pytest.raises(ConcurrentModificationError, match="keep changing the manifest"):
            lake.create_namespace({"id": ["new"]})
    assert len(tried) > 1
