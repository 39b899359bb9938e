"""Branches and tags of tables whose local paths have characters that Lance escapes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_client.errors import UnsupportedError
from lance_namespace_impls import connect

ROWS = pa.table({"x": [1]})


@pytest.mark.parametrize("name", ["če", "50%", "a%20b", "a#b", "a~b"])
def test_a_branch_is_refused_rather_than_written_beside_the_table(name: str, tmp_path: Path):
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": [name]}, ROWS)
        with pytest.raises(UnsupportedError, match="another folder"):
            namespace.create_table_branch({"id": [name], "name": "side"})
        with pytest.raises(UnsupportedError, match="another folder"):
            namespace.create_table_tag({"id": [name], "tag": "first", "version": 1})
        assert namespace.list_tables({}).tables == [name]
        assert [path.name for path in tmp_path.iterdir()] == [f"{name}.lance"]


@pytest.mark.parametrize("name", ["a b", "a.b", "a+b", "a$b", "a'b"])
def test_a_branch_of_another_path_is_made_inside_the_table(name: str, tmp_path: Path):
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": [name]}, ROWS)
        namespace.create_table_branch({"id": [name], "name": "side"})
        namespace.create_table_tag({"id": [name], "tag": "first", "version": 1})
        assert namespace.list_tables({}).tables == [name]
        assert namespace.count_table_rows({"id": [name], "branch": "side"}).count == 1
