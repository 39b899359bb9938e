"""Of several concurrent drops of the same table, exactly one succeeds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError, TableNotFoundError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
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


@pytest.mark.parametrize("impl", ["dir", "catalog"])
def test_one_of_three_concurrent_drops_succeeds(tmp_path: Path, impl: str) -> None:
    root = str(tmp_path / "lake")

    def opened() -> Namespace:
        return connect("dir", {"path": root}) if impl == "dir" else Mixed(MemoryConfig(root=root))

    for _ in range(5):
        places = [opened() for _ in range(3)]
        places[0].create_table(T, ROWS)
        drops = [partial(outcome, namespace.drop_table, T) for namespace in places]
        assert sorted(at_once(drops)) == [-1, 4, 4]
        for namespace in places:
            namespace.close()


def test_a_drop_during_a_deletion_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Mixed(MemoryConfig(root=str(tmp_path))) for _ in range(2))
    first.create_table(T, ROWS)
    is_out, may_go_on = threading.Event(), threading.Event()
    delete = TableFolder.delete

    def slowly(folder: TableFolder) -> bool:
        is_out.set()
        assert may_go_on.wait(120)
        return delete(folder)

    monkeypatch.setattr(TableFolder, "delete", slowly)
    with ThreadPoolExecutor(2) as pool:
        dropping = pool.submit(outcome, first.drop_table, T)
        assert is_out.wait(120)
        late = pool.submit(outcome, second.drop_table, T)
        with pytest.raises(TimeoutError):
            late.result(0.3)
        may_go_on.set()
        assert (dropping.result(300), late.result(300)) == (-1, 4)


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
