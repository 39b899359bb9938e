"""Of several concurrent drops of the same table, exactly one succeeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError, TableNotFoundError
from lance_namespace_impls.catalog.services.folders import Folders
from lance_namespace_impls.tables.drop import TableFolder
from tests.behaviour.memory import MemoryConfig, Mixed
from tests.tables.calls import at_once

ROWS = pa.table({"x": [1, 2]})
T = {"id": ["t"]}


def outcome(call: Callable[..., Any], *args: Any) -> int:
    try:
        call(*args)
    except LanceNamespaceError as error:
        return int(error.code)
    return -1


def test_one_of_three_concurrent_drops_succeeds(tmp_path: Path) -> None:
    for _ in range(5):
        places = [Mixed(MemoryConfig(root=str(tmp_path))) for _ in range(3)]
        places[0].create_table(T, ROWS)
        drops = [partial(outcome, namespace.drop_table, T) for namespace in places]
        assert sorted(at_once(drops)) == [-1, 4, 4]
        for namespace in places:
            namespace.close()


def test_a_drop_that_another_process_completed_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = Mixed(MemoryConfig(root=str(tmp_path)))
    namespace.create_table(T, ROWS)
    entry = namespace.load_table(("t",))
    folder = TableFolder(namespace.storage_of(entry))
    folder.write_drop_marker(("t",))
    namespace.remove_table(entry)
    folder.mark_removed()
    looked = Folders.interrupted_drop

    def complete_the_drop(self: Folders, identifier: Any) -> Any:
        found = looked(self, identifier)
        assert found is not None
        assert TableFolder(self.catalog.storage_of(found)).delete()
        return found

    monkeypatch.setattr(Folders, "interrupted_drop", complete_the_drop)
    with pytest.raises(TableNotFoundError):
        namespace.drop_table(T)
