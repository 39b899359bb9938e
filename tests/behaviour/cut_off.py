"""Drops that are interrupted, and later actions of another tool on the table."""

from __future__ import annotations

from collections.abc import Callable

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import TableNotFoundError
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.tables.drop import TableFolder

__all__ = ["CUTS", "check_data_is_kept", "check_drop_is_resumed", "cut_off"]

ROWS = pa.table({"x": [1, 2, 3]})
CUTS = ("write_drop_marker", "remove_table", "mark_removed")
"""Methods before the deletion starts. A drop killed at one of them must not delete data later."""


class Killed(BaseException):
    """Ends a call as if its process had been killed."""


def cut_off(namespace: Namespace, table: list[str], method: str) -> None:
    """Start to drop a table, and raise `Killed` at a method of the table's folder or catalog."""

    def die(*_: object, **__: object) -> None:
        raise Killed

    owner = TableFolder if hasattr(TableFolder, method) else type(namespace)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, method, die)
        with pytest.raises(Killed):
            namespace.drop_table({"id": table})


def check_data_is_kept(
    namespace: Namespace, table: list[str], cut: str, remove: Callable[[], object]
) -> None:
    """Kill a drop, have another tool remove the entry, and require that no call deletes the data.

    Args:
        namespace: the catalog.
        table: a table that can be created.
        cut: the method at which the drop is killed.
        remove: removes the entry through the catalog's own client.
    """
    location = str(namespace.create_table({"id": table}, ROWS).location)
    cut_off(namespace, table, cut)
    if cut == "mark_removed":
        with pytest.raises(TableNotFoundError):
            namespace.describe_table({"id": table})
    else:
        assert namespace.count_table_rows({"id": table}).count == ROWS.num_rows
        remove()
    with pytest.raises(TableNotFoundError):
        namespace.drop_table({"id": table})
    assert lance.dataset(location).to_table() == ROWS
    created = namespace.create_table({"id": table}, pa.table({"y": ["a"]}))
    assert created.location != location
    namespace.drop_table({"id": table})
    assert lance.dataset(location).to_table() == ROWS
    # The data is still usable.
    namespace.register_table({"id": table, "location": location})
    assert namespace.count_table_rows({"id": table}).count == ROWS.num_rows
    namespace.drop_table({"id": table})
    with pytest.raises(ValueError, match="was not found"):
        lance.dataset(location)


def check_drop_is_resumed(
    namespace: Namespace, table: list[str], remove: Callable[[], object]
) -> None:
    """Kill a drop during the deletion, and require that a later call resumes it.

    If the table is registered again in between, another tool that removes its entry keeps the data.
    """
    location = str(namespace.create_table({"id": table}, ROWS).location)
    cut_off(namespace, table, "delete")
    namespace.register_table({"id": table, "location": location})
    remove()
    with pytest.raises(TableNotFoundError):
        namespace.drop_table({"id": table})
    assert lance.dataset(location).to_table() == ROWS
    namespace.register_table({"id": table, "location": location})
    cut_off(namespace, table, "delete")
    assert namespace.drop_table({"id": table}).location == location
    with pytest.raises(ValueError, match="was not found"):
        lance.dataset(location)
