"""Calls about one version or one tag read only that version or tag, however large the table is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import TableTagNotFoundError, TableVersionNotFoundError
from lance_namespace_impls import connect

T = {"id": ["t"]}


@pytest.fixture
def namespace(tmp_path: Path) -> Any:
    found = connect("dir", {"path": str(tmp_path)})
    found.create_table(T, pa.table({"x": [1]}))
    for number in range(5):
        found.insert_into_table(T, pa.table({"x": [number]}))
    return found


@pytest.fixture
def no_wide_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("every file of the table is listed")

    monkeypatch.setattr(lance.LanceDataset, "all_files", refuse)


@pytest.mark.usefixtures("no_wide_reads")
def test_versions_are_read_from_their_folder(namespace: Any) -> None:
    assert [v.version for v in namespace.list_table_versions(T).versions] == [1, 2, 3, 4, 5, 6]
    assert namespace.describe_table_version({**T, "version": 3}).version.version == 3
    assert namespace.describe_table_version(T).version.version == 6
    with pytest.raises(TableVersionNotFoundError):
        namespace.describe_table_version({**T, "version": 30})


def test_one_tag_is_read_without_the_dataset(
    namespace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace.create_table_tag({**T, "tag": "a", "version": 2})
    monkeypatch.delattr(lance, "LanceDataset")
    assert namespace.get_table_tag_version({**T, "tag": "a"}).version == 2


@pytest.mark.usefixtures("no_wide_reads")
def test_a_call_about_one_tag_does_not_list_tags(
    namespace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unlisted:
        def __init__(self, tags: Any) -> None:
            self._tags = tags

        def list(self) -> Any:
            raise AssertionError("every tag is read")

        def __getattr__(self, name: str) -> Any:
            return getattr(self._tags, name)

    tags = lance.LanceDataset.tags.fget
    monkeypatch.setattr(lance.LanceDataset, "tags", property(lambda self: Unlisted(tags(self))))
    namespace.create_table_tag({**T, "tag": "a", "version": 2})
    assert namespace.get_table_tag_version({**T, "tag": "a"}).version == 2
    namespace.update_table_tag({**T, "tag": "a", "version": 4})
    assert namespace.describe_table({**T, "tag": "a"}).version == 4
    namespace.delete_table_tag({**T, "tag": "a"})
    with pytest.raises(TableTagNotFoundError, match="'a' does not exist"):
        namespace.get_table_tag_version({**T, "tag": "a"})
    with pytest.raises(TableVersionNotFoundError, match="tag 'a' does not exist"):
        namespace.describe_table({**T, "tag": "a"})
