"""What is left of tags and branches that were deleted does not keep a table from being dropped."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from lance_namespace_impls import connect

ROWS = pa.table({"x": [1]})


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


def test_an_empty_folder_of_someone_else_still_does(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        (tmp_path / "t.lance" / "_refs" / "mine").mkdir(parents=True)
        try:
            namespace.drop_table({"id": ["t"]})
        except Exception as error:  # noqa: BLE001 - looked at below
            assert "mine/" in str(error)
        else:
            raise AssertionError("it was dropped")
        assert namespace.count_table_rows({"id": ["t"]}).count == 1
