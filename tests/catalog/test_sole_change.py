"""If several threads add, remove or rename the same object, one at a time reaches the catalog."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    LanceNamespaceError,
    TableAlreadyExistsError,
)
from lance_namespace_impls.memory import MemoryConfig, MemoryNamespace


class CheckThenRemove(MemoryNamespace):
    """A catalog that checks first and removes later, so concurrent removals could all succeed."""

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__(config)
        self.inside = 0
        self.most = 0
        self.counting = threading.Lock()

    def _slowly(self, remove, *arguments):
        with self.counting:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.02)
        try:
            return remove(*arguments)
        finally:
            with self.counting:
                self.inside -= 1

    def remove_namespace(self, identifier, cascade):
        return self._slowly(super().remove_namespace, identifier, cascade)

    def remove_table(self, entry):
        return self._slowly(super().remove_table, entry)

    def move_table(self, entry, new):
        return self._slowly(super().move_table, entry, new)


CALLS = {
    "drop_namespace": {"id": ["n"]},
    "drop_table": {"id": ["t"]},
    "deregister_table": {"id": ["t"]},
    "rename_table": {"id": ["t"], "new_table_name": "new"},
}


@pytest.mark.parametrize("calls", [[name] * 3 for name in CALLS] + [list(CALLS)[1:]])
def test_calls_run_one_at_a_time_and_one_succeeds(calls, tmp_path):
    namespace = CheckThenRemove(MemoryConfig(root=str(tmp_path)))
    namespace.create_namespace({"id": ["n"]})
    namespace.declare_table({"id": ["t"]})

    def call(name: str) -> bool:
        try:
            getattr(namespace, name)(CALLS[name])
        except LanceNamespaceError as error:
            assert error.code in (1, 4)
            return False
        return True

    with ThreadPoolExecutor(3) as threads:
        assert sum(threads.map(call, calls)) == 1
    assert namespace.most == 1


class SlowFirstAddition(MemoryNamespace):
    """A catalog whose first addition is slow, so that another thread can add and remove a table."""

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__(config)
        self.adds, self.goes_on = threading.Event(), threading.Event()

    def add_table(self, identifier, location, properties):
        if not self.adds.is_set():
            self.adds.set()
            self.goes_on.wait(0.3)  # times out if the other thread waits for this one
        return super().add_table(identifier, location, properties)


@pytest.mark.parametrize("make", ["declare_table", "create_table"])
def test_a_table_does_not_reuse_the_location_of_a_concurrent_table(make, tmp_path):
    namespace = SlowFirstAddition(MemoryConfig(root=str(tmp_path)))
    rows = [pa.table({"new": [1]})] if make == "create_table" else []
    with ThreadPoolExecutor(1) as threads:
        made = threads.submit(getattr(namespace, make), {"id": ["t"]}, *rows)
        assert namespace.adds.wait(300)
        try:
            namespace.create_table({"id": ["t"]}, pa.table({"old": [1]}))
        except TableAlreadyExistsError:
            assert make == "create_table"
        else:
            namespace.deregister_table({"id": ["t"]})
        namespace.goes_on.set()
        failure = made.exception()
    if make == "create_table" and failure is None:
        assert namespace.open_table(["t"]).schema.names == ["new"]
    else:
        # Its rows are written before or after the other's, or when the other table is deregistered.
        kinds = (TableAlreadyExistsError, ConcurrentModificationError)
        assert failure is None or isinstance(failure, kinds)
        assert namespace.list_tables({}).tables == []
