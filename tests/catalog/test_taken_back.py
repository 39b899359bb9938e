"""An operation that fails halfway rolls back its changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.core.identifiers import Identifier
from tests.behaviour.memory import (
    MemoryNamespace,
)

from .memory import ROWS, broken_rows, code_of, connected

# --- rollback of failed operations


def test_a_failed_create_leaves_no_entry(some: MemoryNamespace) -> None:
    assert code_of(lambda: some.create_table({"id": ["ns", "t"]}, broken_rows()))[0] == 13
    assert code_of(lambda: some.table_exists({"id": ["ns", "t"]}))[0] == 4
    some.create_table({"id": ["ns", "t"]}, ROWS)


def test_a_failed_overwrite_changes_nothing(some: MemoryNamespace) -> None:
    some.alter_table({"id": ["ns", "a"], "set_properties": {"k": "v"}})
    request = {"id": ["ns", "a"], "mode": "Overwrite", "properties": {"k": "w"}}
    assert code_of(lambda: some.create_table(request, broken_rows()))[0] == 13
    assert some.open_table(["ns", "a"]).to_table() == ROWS
    assert some.describe_table({"id": ["ns", "a"]}).properties == {"k": "v"}


def test_data_of_a_deregistered_table_is_not_lost(some: MemoryNamespace) -> None:
    location = some.deregister_table({"id": ["ns", "a"]}).location
    for mode in ("Create", "ExistOk", "Overwrite"):
        new = some.create_table({"id": ["ns", "a"], "mode": mode}, ROWS.slice(0, 1)).location
        assert new != location
        some.drop_table({"id": ["ns", "a"]})
    some.register_table({"id": ["ns", "b"], "location": location})
    assert some.open_table(["ns", "b"]).to_table() == ROWS


class LosesFirstWrite(MemoryNamespace):
    """A catalog in which another client always writes a table's first rows before the caller."""

    def initial_write_lock(self, entry: TableEntry, *, wait: bool) -> Any:
        import lance

        lance.write_dataset(pa.table({"x": [9]}), entry.location)
        return super().initial_write_lock(entry, wait=wait)


def test_a_create_that_loses_a_race_keeps_the_other_table(tmp_path: Path) -> None:
    with connected(LosesFirstWrite, tmp_path) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        assert code_of(lambda: namespace.create_table({"id": ["ns", "t"]}, ROWS))[0] == 5
        assert namespace.count_table_rows({"id": ["ns", "t"]}).count == 1


class Refusing(MemoryNamespace):
    """A catalog that registers a table at one location, but then removes it and fails."""

    def adopt_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        entry = super().adopt_table(identifier, location, properties)
        if location.endswith("refused"):
            self.remove_table(entry)
            raise RuntimeError("not there")
        return entry


def test_a_failed_registration_restores_the_old_table(tmp_path: Path) -> None:
    with connected(Refusing, tmp_path) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        namespace.create_table({"id": ["ns", "t"], "properties": {"k": "v"}}, ROWS)
        request = {"id": ["ns", "t"], "location": "/refused", "mode": "Overwrite"}
        assert code_of(lambda: namespace.register_table(request))[0] == 18
        assert namespace.describe_table({"id": ["ns", "t"]}).properties == {"k": "v"}
        assert namespace.open_table(["ns", "t"]).to_table() == ROWS


@pytest.mark.parametrize("operation", ["declare_table", "register_table"])
def test_an_empty_location_is_rejected(some: MemoryNamespace, operation: str) -> None:
    request = {"id": ["ns", "t"], "location": ""}
    code, message = code_of(lambda: getattr(some, operation)(request))
    assert (code, "location is empty" in message) == (13, True)


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_leads_out_of_the_root_requires_a_location(
    some: MemoryNamespace, name: str, tmp_path: Path
) -> None:
    code, message = code_of(lambda: some.declare_table({"id": ["ns", name]}))
    assert (code, "specify a location" in message) == (13, True)
    some.declare_table({"id": ["ns", name], "location": f"{tmp_path}/dots"})
    assert name in list(some.iter_tables(["ns"]))
