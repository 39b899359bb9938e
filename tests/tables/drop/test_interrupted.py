"""An interrupted drop is resumed, or has changed nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import InternalError
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.tables.drop import DROP_MARKER, TableFolder
from tests.behaviour import cut_off
from tests.behaviour.memory import MemoryNamespace, Mixed, catalog
from tests.tables.calls import code_of

from .conftest import ROWS, UNFINISHED, Lake, T, files_below, killed, put_file

pytestmark = pytest.mark.s3


# --- interrupted before the entry is removed from the catalog


def test_a_drop_that_does_not_reach_the_catalog_changes_nothing(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(monkeypatch, ns, Mixed, "remove_table")
    assert f"ns/t/{DROP_MARKER}" in lake.names()
    assert ns.count_table_rows(T).count == 10
    assert code_of(ns.create_table, T, ROWS) == 5
    ns.drop_table(T)
    assert lake.names() == set()


def _deregister(ns: MemoryNamespace) -> None:
    ns.deregister_table(T)


def _rename(ns: MemoryNamespace) -> None:
    ns.rename_table({**T, "new_table_name": "kept"})


def _move(ns: MemoryNamespace) -> None:
    ns.create_namespace({"id": ["other"]})
    ns.rename_table({**T, "new_namespace_id": ["other"], "new_table_name": "t"})


def _taken_out_by_other_tools(ns: MemoryNamespace) -> None:
    ns.insert_into_table(T, ROWS)
    del catalog(ns.config.root).tables["ns", "t"]


def _made_anew_by_other_tools(ns: MemoryNamespace) -> None:
    location = str(ns.describe_table(T).location)
    options = dict(ns.config.storage)
    marker = TableFolder(ns.storage_of(ns.load_table(("ns", "t"))))._drop_marker
    assert marker is not None
    lance.LanceDataset.drop(location, options)
    lance.write_dataset(ROWS, location, storage_options=options)
    written = marker.state.written
    content = json.dumps({"id": ["ns", "t"], "version": 9, "written": written, "removed": True})
    put_file(Lake("", options, set), location, DROP_MARKER, content)
    del catalog(ns.config.root).tables["ns", "t"]


def _written_with_a_clock_behind(ns: MemoryNamespace) -> None:
    content = json.dumps({"id": ["ns", "t"], "version": 1, "written": 2**60, "removed": True})
    put_file(
        Lake("", dict(ns.config.storage), set),
        str(ns.describe_table(T).location),
        DROP_MARKER,
        content,
    )
    _taken_out_by_other_tools(ns)


@pytest.mark.parametrize("was_removed", [False, True])
@pytest.mark.parametrize(
    "keep",
    [
        _deregister,
        _rename,
        _move,
        _taken_out_by_other_tools,
        _made_anew_by_other_tools,
        _written_with_a_clock_behind,
    ],
)
def test_data_kept_after_an_interrupted_drop_is_never_deleted(
    lake: Lake,
    ns: MemoryNamespace,
    monkeypatch: pytest.MonkeyPatch,
    keep: Callable[[MemoryNamespace], None],
    was_removed: bool,
) -> None:
    location = str(ns.describe_table(T).location)
    entry = ns.load_table(("ns", "t"))
    killed(monkeypatch, ns, *((TableFolder, "delete") if was_removed else (Mixed, "remove_table")))
    if was_removed:  # other tools add the entry again
        catalog(ns.config.root).tables["ns", "t"] = entry
    keep(ns)
    before = lake.names()
    assert code_of(ns.drop_table, T) == 4
    assert ns.create_table(T, ROWS).location != location
    assert lake.names() >= before
    assert lance.dataset(location, storage_options=lake.storage).count_rows() >= 10


def test_a_marker_of_another_table_or_an_invalid_marker_is_ignored(
    lake: Lake, ns: MemoryNamespace
) -> None:
    location = str(ns.deregister_table(T).location)
    other = {"id": ["ns", "u"], "version": 9, "written": 9999999999999999, "removed": True}
    for content in (json.dumps(other), "[]", "?"):
        put_file(lake, location, DROP_MARKER, content)
        assert code_of(ns.drop_table, T) == 4
        assert ns.create_table(T, ROWS).location != location
        ns.deregister_table(T)
    assert lance.dataset(location, storage_options=lake.storage).count_rows() == 10


class FailingCatalog(Mixed):
    """A catalog that fails to remove a table, either before or after the removal (`after`)."""

    after = False

    def remove_table(self, entry: TableEntry) -> None:
        if self.after:
            super().remove_table(entry)
        raise ConnectionError("the catalog hung up")


@pytest.mark.parametrize("after", [False, True])
def test_a_catalog_that_fails_to_remove_a_table(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    with lake.connect(FailingCatalog) as stubborn, monkeypatch.context() as patched:
        patched.setattr(FailingCatalog, "after", after)
        assert code_of(stubborn.drop_table, T) == 17
    # The marker remains if the table was removed nevertheless, because the next drop needs it.
    assert (f"ns/t/{DROP_MARKER}" in lake.names()) is after
    ns.drop_table(T)
    assert lake.names() == set()


@pytest.mark.parametrize("cut", cut_off.CUTS)
@pytest.mark.parametrize("data", ["whole", "remains"])
def test_data_remains_until_the_drop_has_removed_the_entry(
    lake: Lake, ns: MemoryNamespace, cut: str, data: str
) -> None:
    location = str(ns.describe_table(T).location)
    if data == "remains":
        lance.LanceDataset.drop(location, lake.storage)
        put_file(lake, f"{location}/data", UNFINISHED, "half of a file")
    before = {name for name in lake.names() if DROP_MARKER not in name}
    cut_off.cut_off(ns, ["ns", "t"], cut)
    if cut != "mark_removed":
        del catalog(ns.config.root).tables["ns", "t"]
    for _ in range(2):
        assert code_of(ns.drop_table, T) == 4
        assert before <= lake.names()
    created = ns.create_table(T, ROWS)
    # Files that no manifest refers to do not occupy a location, and neither does their marker.
    assert (created.location != location) is (data == "whole")
    assert before <= lake.names()
    assert ns.count_table_rows(T).count == ROWS.num_rows


def test_an_entry_that_another_tool_removes_during_a_drop_authorizes_nothing(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lake.names()
    remove_table = Mixed.remove_table

    def late(self: Mixed, entry: TableEntry) -> None:
        del catalog(ns.config.root).tables["ns", "t"]
        remove_table(self, entry)

    with monkeypatch.context() as patched:
        patched.setattr(Mixed, "remove_table", late)
        assert code_of(ns.drop_table, T) == 4
    assert lake.names() == before, "the marker is withdrawn"
    assert code_of(ns.drop_table, T) == 4
    assert lake.names() == before


def test_the_data_remains_if_the_marker_cannot_be_updated(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    before = lake.names()
    write = TableFolder._write
    written: list[str] = []

    def fail_late(self: TableFolder, name: str, content: bytes) -> None:
        written.append(name)
        if len(written) == 2:
            raise OSError("the disk is full")
        write(self, name, content)

    with monkeypatch.context() as patched:
        patched.setattr(TableFolder, "_write", fail_late)
        with pytest.raises(InternalError, match=r"remains.*register the table.*disk is full"):
            ns.drop_table(T)
    assert written == [DROP_MARKER, DROP_MARKER]
    assert before <= lake.names()
    assert code_of(ns.drop_table, T) == 4
    ns.register_table({**T, "location": location})
    ns.drop_table(T)
    assert lake.names() == set()


# --- interrupted after the entry was removed from the catalog


def test_the_next_drop_resumes_an_interrupted_drop(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = ns.describe_table(T).location
    killed(monkeypatch, ns, TableFolder, "delete")
    assert list(ns.iter_tables(["ns"])) == []
    answer = ns.drop_table(T)
    assert (answer.id, answer.location) == (["ns", "t"], location)
    assert lake.names() == set()
    assert code_of(ns.drop_table, T) == 4


@pytest.mark.parametrize("mode", ["Create", "ExistOk", "Overwrite"])
def test_creating_the_table_again_resumes_an_interrupted_drop(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    old = lake.names()
    killed(monkeypatch, ns, TableFolder, "delete")
    assert ns.create_table({**T, "mode": mode}, pa.table({"y": [1]})).version == 1
    assert ns.open_table(["ns", "t"]).to_table() == pa.table({"y": [1]})
    # The name of a manifest is its version; all other files have unique names.
    assert {name for name in lake.names() & old if "_versions" not in name} == set()
    assert f"ns/t/{DROP_MARKER}" not in lake.names()


def test_manifests_are_deleted_first_and_the_marker_last(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete_folder = TableFolder._delete_folder
    seen: list[set[str]] = []

    def delete_and_look(self: TableFolder, name: str, paths: Sequence[str]) -> None:
        delete_folder(self, name, paths)
        seen.append({path.split("/")[2] for path in lake.names()})

    monkeypatch.setattr(TableFolder, "_delete_folder", delete_and_look)
    ns.drop_table(T)
    assert "data" in seen[0]
    assert all(DROP_MARKER in names and "_versions" not in names for names in seen)
    assert lake.names() == set()


def test_an_interrupted_deletion_of_manifests_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(str(tmp_path), {}, lambda: files_below(tmp_path))
    with lake.connect() as ns:
        ns.create_namespace({"id": ["ns"]})
        ns.create_table(T, ROWS)
        ns.insert_into_table(T, ROWS)
        killed(monkeypatch, ns, TableFolder, "delete")
        latest, _ = sorted((tmp_path / "ns/t/_versions").glob("*.manifest"))
        latest.unlink()
        assert lance.dataset(str(tmp_path / "ns/t")).count_rows() == 10
        ns.drop_table(T)
        assert lake.names() == set()


def test_partially_deleted_data_is_not_a_table(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    killed(monkeypatch, ns, TableFolder, "remove_drop_marker")
    put_file(lake, f"{location}/data", UNFINISHED, "what was left")
    ns.declare_table(T)
    assert ns.describe_table({**T, "check_declared": True}).is_only_declared
    assert list(ns.iter_tables(["ns"], include_declared=False)) == []
    ns.drop_table(T)
    assert lake.names() == set()


def test_data_registered_as_another_table_remains(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    killed(monkeypatch, ns, TableFolder, "delete")
    ns.register_table({"id": ["ns", "rescued"], "location": location})
    assert code_of(ns.drop_table, T) == 4
    assert ns.create_table(T, ROWS).location != location
    assert ns.count_table_rows({"id": ["ns", "rescued"]}).count == 10


def test_many_tables_are_checked_concurrently_for_use_of_the_data(
    ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(monkeypatch, ns, TableFolder, "delete")
    for number in range(4):
        ns.declare_table({"id": ["ns", f"other{number}"]})
    load_table, together = Mixed.load_table, threading.Barrier(4)

    def load(self: Mixed, identifier: tuple[str, ...]) -> TableEntry:
        if identifier[-1].startswith("other"):
            together.wait(120)
        return load_table(self, identifier)

    monkeypatch.setattr(Mixed, "load_table", load)
    ns.drop_table(T)
    assert not together.broken
