"""Of several threads that remove or rename one object, one at a time reaches the catalog."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.memory import MemoryConfig, MemoryNamespace


class Careless(MemoryNamespace):
    """A catalog that looks first and removes later, as real ones do, so that all of several succeed."""

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
def test_one_at_a_time_and_one_succeeds(calls, tmp_path):
    namespace = Careless(MemoryConfig(root=str(tmp_path)))
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
