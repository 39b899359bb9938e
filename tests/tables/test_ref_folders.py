"""The folders in which branches and tags are stored."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError, UnsupportedError
from lance_namespace_impls import connect

ROWS = pa.table({"x": [1]})


@pytest.mark.parametrize("name", ["če", "50%", "a%20b", "a#b", "a~b"])
def test_a_branch_that_would_be_written_outside_the_table_is_rejected(name: str, tmp_path: Path):
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": [name]}, ROWS)
        with pytest.raises(UnsupportedError, match="another folder"):
            namespace.create_table_branch({"id": [name], "name": "side"})
        with pytest.raises(UnsupportedError, match="another folder"):
            namespace.create_table_tag({"id": [name], "tag": "first", "version": 1})
        assert namespace.list_tables({}).tables == [name]
        assert [path.name for path in tmp_path.iterdir()] == [f"{name}.lance"]


@pytest.mark.parametrize("name", ["a b", "a.b", "a+b", "a$b", "a'b"])
def test_a_branch_is_created_inside_the_table(name: str, tmp_path: Path):
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": [name]}, ROWS)
        namespace.create_table_branch({"id": [name], "name": "side"})
        namespace.create_table_tag({"id": [name], "tag": "first", "version": 1})
        assert namespace.list_tables({}).tables == [name]
        assert namespace.count_table_rows({"id": [name], "branch": "side"}).count == 1


def test_a_table_that_had_tags_and_branches_is_dropped(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        namespace.create_table_tag({"id": ["t"], "tag": "first", "version": 1})
        namespace.delete_table_tag({"id": ["t"], "tag": "first"})
        for name in ("dev", "of/someone"):
            namespace.create_table_branch({"id": ["t"], "name": name})
            namespace.delete_table_branch({"id": ["t"], "name": name})
        refs = tmp_path / "t.lance" / "_refs"
        assert sorted(path.name for path in refs.iterdir()) == ["branches", "tags"]
        namespace.drop_table({"id": ["t"]})
        assert list(tmp_path.iterdir()) == []
        namespace.create_table({"id": ["t"]}, ROWS)


def test_a_foreign_empty_folder_prevents_the_drop_of_a_table(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        (tmp_path / "t.lance" / "_refs" / "mine").mkdir(parents=True)
        with pytest.raises(LanceNamespaceError, match="mine/"):
            namespace.drop_table({"id": ["t"]})
        assert namespace.count_table_rows({"id": ["t"]}).count == 1
