"""Changes of a manifest, and the errors that are reported if it cannot be read or changed."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lance
import pytest

from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.directory import DirectoryNamespace, manifest, sweep
from lance_namespace_impls.directory.manifest import Change, Manifest
from lance_namespace_impls.directory.nested import NestedTables
from lance_namespace_impls.tables.drop import DROP_MARKER

from .lakes import ROWS, Peer, add_row, code_of, manifest_rows, ours

ALONE = {"manifest": "true", "dir_listing_enabled": "false"}
IN_NONE = {"id": ["n", "t"]}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[DirectoryNamespace]:
    """A directory with a manifest that contains a namespace."""
    with ours(tmp_path) as found:
        found.create_namespace({"id": ["n"], "properties": {"k": "v"}})
        yield found


# --- a directory without a manifest

GONE = TableEntry(id=("n", "t"), location="", properties={})
ON_NOTHING: dict[str, tuple[int, Callable[[Any, TableEntry], Any]]] = {
    "drop a namespace": (1, lambda lake, entry: lake.drop_namespace({"id": ["n"]})),
    "alter a namespace": (
        1,
        lambda lake, entry: lake.alter_namespace({"id": ["n"], "set_properties": {"k": "v"}}),
    ),
    "describe a namespace": (1, lambda lake, entry: lake.describe_namespace({"id": ["n"]})),
    "list its tables": (1, lambda lake, entry: lake.list_tables({"id": ["n"]})),
    "list its namespaces": (1, lambda lake, entry: lake.list_namespaces({"id": ["n"]})),
    "drop a table": (4, lambda lake, entry: lake.drop_table(IN_NONE)),
    "describe a table": (4, lambda lake, entry: lake.describe_table(IN_NONE)),
    "deregister a table": (4, lambda lake, entry: lake.deregister_table(IN_NONE)),
    "declare a table": (1, lambda lake, entry: lake.declare_table(IN_NONE)),
    "create a table": (1, lambda lake, entry: lake.create_table(IN_NONE, ROWS)),
    "drop one that was there": (4, lambda lake, entry: lake.remove_table_and_data(entry)),
    "remove one that was there": (4, lambda lake, entry: lake.remove_table(entry)),
    "change one that was there": (4, lambda lake, entry: lake.change_table(entry, {"k": "v"}, [])),
}


@pytest.mark.parametrize("properties", [{}, ALONE], ids=["listed", "alone"])
@pytest.mark.parametrize("name", ON_NOTHING)
def test_a_call_that_changes_nothing_creates_no_manifest(
    tmp_path: Path, name: str, properties: dict[str, str]
) -> None:
    code, call = ON_NOTHING[name]
    entry = TableEntry(id=("n", "t"), location=f"{tmp_path}/01234567_n$t", properties={})
    with ours(tmp_path, **properties) as lake:
        assert code_of(lambda: call(lake, entry))[0] == code
        assert list(lake.iter_namespaces()) == list(lake.iter_tables()) == []
        assert lake.describe_namespace({"id": []}).properties == {}
    assert not (tmp_path / "__manifest").exists()


# --- concurrent changes

OTHERS_FIRST = 6


def test_retries_of_a_change_back_off_exponentially(
    lake: DirectoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[tuple[float, float]] = []
    real, lost = Manifest._commit, [None] * OTHERS_FIRST
    monkeypatch.setattr(Manifest, "_commit", lambda *given: lost.pop() if lost else real(*given))

    def chosen(least: float, most: float) -> float:
        waits.append((least, most))
        return most

    slept: list[float] = []
    monkeypatch.setattr(manifest, "random", SimpleNamespace(uniform=chosen))
    monkeypatch.setattr(manifest, "time", SimpleNamespace(**vars(time) | {"sleep": slept.append}))
    lake.create_namespace({"id": ["new"]})
    assert slept == [most for _, most in waits]
    assert [least for least, _ in waits] == [0] * OTHERS_FIRST
    assert slept == [slept[0] * 2**n for n in range(OTHERS_FIRST)]
    lost += [None] * 12
    lake.create_namespace({"id": ["newer"]})
    assert max(slept) == slept[-1] == 0.5


def test_a_deleted_manifest_is_not_changed(lake: DirectoryNamespace, tmp_path: Path) -> None:
    def decide(snapshot: Any) -> Change:
        raise AssertionError("there is nothing to decide on")

    shutil.rmtree(tmp_path / "__manifest")
    code, said = code_of(lambda: lake._manifest.change_locked(decide))
    assert (code, "was deleted concurrently; try again" in said) == (14, True)
    assert not (tmp_path / "__manifest").exists()


def test_a_failed_cleanup_of_old_versions_is_a_warning(
    lake: DirectoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(manifest, "CLEAN_EVERY", 1)
    monkeypatch.setattr(lance.LanceDataset, "cleanup_old_versions", denied)
    with pytest.warns(
        UserWarning, match=r"old versions of the manifest could not be deleted: .*denied"
    ):
        lake.create_namespace({"id": ["new"]})
    assert list(lake.iter_namespaces()) == ["n", "new"]


def test_a_change_without_effect_creates_no_version(
    lake: DirectoryNamespace, tmp_path: Path
) -> None:
    lake.create_table({"id": ["n", "t"], "properties": {"a": "b"}}, ROWS)
    before = lance.dataset(f"{tmp_path}/__manifest").version
    lake.alter_namespace({"id": ["n"], "set_properties": {"k": "v"}, "unset_properties": ["no"]})
    lake.alter_table({"id": ["n", "t"], "set_properties": {"a": "b"}})
    assert lance.dataset(f"{tmp_path}/__manifest").version == before
    changed = lake.alter_table({"id": ["n", "t"], "unset_properties": ["a", "no"]})
    assert changed.properties == {}
    assert lance.dataset(f"{tmp_path}/__manifest").version == before + 1


# --- rows written by other clients


@pytest.mark.parametrize("location", [None, "", "/", "../out", "a/../../out", "s3://bucket/t"])
def test_a_location_outside_the_directory_is_not_followed(
    lake: DirectoryNamespace, tmp_path: Path, location: str | None
) -> None:
    add_row(tmp_path, object_id="n$t", object_type="table", location=location)
    for call in (lake.describe_table, lake.drop_table, lake.deregister_table):
        code, said = code_of(lambda call=call: call(IN_NONE))  # type: ignore[misc]
        assert (code, "outside the directory" in said) == (19, True)
    assert list(lake.iter_tables(["n"])) == ["t"]


@pytest.mark.parametrize("metadata", ["{", "[1]", '"text"', ""])
def test_metadata_that_is_not_an_object_is_reported(
    lake: DirectoryNamespace, tmp_path: Path, metadata: str
) -> None:
    add_row(tmp_path, object_id="n$t", object_type="table", location="x", metadata=metadata)
    add_row(tmp_path, object_id="m", object_type="namespace", metadata=metadata)
    for call in (
        lambda: lake.describe_table(IN_NONE),
        lambda: lake.alter_table({**IN_NONE, "set_properties": {"a": "b"}}),
        lambda: lake.describe_namespace({"id": ["m"]}),
    ):
        code, said = code_of(call)
        assert (code, "metadata that is not a JSON object" in said) == (19, True)
    assert list(lake.iter_tables(["n"])) == ["t"]


def test_properties_that_are_not_text_are_returned_as_json(
    lake: DirectoryNamespace, tmp_path: Path
) -> None:
    metadata = json.dumps({"text": "ü", "number": 1, "none": None, "list": ["a"]})
    add_row(tmp_path, object_id="m", object_type="namespace", metadata=metadata)
    assert lake.describe_namespace({"id": ["m"]}).properties == {
        "text": "ü", "number": "1", "none": "null", "list": '["a"]',
    }  # fmt: skip


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"manifest_path": "x", "timestamp_millis": "soon"}']
)
def test_an_unreadable_version_is_reported(tmp_path: Path, content: str) -> None:
    with ours(tmp_path, **ALONE, table_version_tracking_enabled="true") as lake:
        lake.create_table({"id": ["t"]}, ROWS)
        add_row(tmp_path, object_id="t$9", object_type="table_version", metadata=content)
        code, said = code_of(lambda: lake.describe_table_version({"id": ["t"]}))
        assert (code, "the row 't$9' in the manifest is not a readable version" in said) == (
            19,
            True,
        )


def test_a_row_whose_name_is_not_a_number_is_not_a_version(tmp_path: Path) -> None:
    with ours(tmp_path, **ALONE, table_version_tracking_enabled="true") as lake:
        lake.create_table({"id": ["t"]}, ROWS)
        for name in ("t$x", "t$²", "t$b$7"):
            add_row(tmp_path, object_id=name, object_type="table_version", metadata="{}")
        add_row(tmp_path, object_id="t$5", object_type="other", metadata="{}")
        versions = lake.list_table_versions({"id": ["t"]}).versions
        assert [each.version for each in versions] == [1]


# --- invalid requests


def test_a_change_of_the_wrong_kind_of_object_is_rejected(
    lake: DirectoryNamespace, tmp_path: Path
) -> None:
    lake.create_table({"id": ["n", "t"]}, ROWS)
    lake.create_namespace({"id": ["n", "m"]})
    before = manifest_rows(tmp_path)
    changed = {"set_properties": {"k": "w"}}
    for code, call in (
        (1, lambda: lake.alter_namespace({**IN_NONE, **changed})),
        (1, lambda: lake.alter_namespace({"id": ["none"], **changed})),
        (1, lambda: lake.drop_namespace(IN_NONE)),
        (1, lambda: lake.describe_namespace(IN_NONE)),
        (1, lambda: lake.list_tables(IN_NONE)),
        (4, lambda: lake.alter_table({"id": ["n", "m"], **changed})),
        (4, lambda: lake.drop_table({"id": ["n", "m"]})),
        (4, lambda: lake.describe_table({"id": ["n", "m"]})),
    ):
        assert code_of(call)[0] == code
    assert manifest_rows(tmp_path) == before


@pytest.mark.parametrize(
    "change",
    [
        {"set_properties": {"managed_versioning": "true"}},
        {"unset_properties": ["managed_versioning"]},
    ],
)
def test_managed_versioning_cannot_be_changed(
    lake: DirectoryNamespace, change: dict[str, Any]
) -> None:
    lake.create_table({"id": ["n", "t"]}, ROWS)
    for call in (
        lambda: lake.alter_namespace({"id": ["n"], **change}),
        lambda: lake.alter_table({"id": ["n", "t"], **change}),
    ):
        code, said = code_of(call)
        assert (code, "cannot be changed" in said) == (13, True)
    entry = lake.load_table(("n", "t"))
    code, _ = code_of(lambda: lake.change_table(entry, {"managed_versioning": "true"}, []))
    assert code == 13


@pytest.mark.parametrize("location", ["x", "x/", "{root}/x", "{root}/x/", "file://{root}/x"])
def test_a_location_below_the_directory_can_be_absolute(
    lake: DirectoryNamespace, tmp_path: Path, location: str
) -> None:
    lance.write_dataset(ROWS, tmp_path / "x")
    asked = location.format(root=tmp_path)
    made = lake.register_table({**IN_NONE, "location": asked, "properties": {"a": "b"}})
    assert made.location == f"{tmp_path}/x"
    assert manifest_rows(tmp_path)["n$t"]["location"] == "x"
    assert lake.describe_table(IN_NONE).properties == {"a": "b"}
    assert lake.count_table_rows(IN_NONE).count == 3


def test_a_new_table_in_a_namespace_cannot_choose_its_location(
    lake: DirectoryNamespace, tmp_path: Path
) -> None:
    request = {**IN_NONE, "location": f"{tmp_path}/mine"}
    code, said = code_of(lambda: lake.declare_table(request))
    assert (code, "gets its own directory; omit the location" in said) == (13, True)
    assert list(lake.iter_tables(["n"])) == []


@pytest.mark.parametrize("make", ["declare", "create"])
def test_an_existing_directory_is_not_reused(
    lake: DirectoryNamespace, tmp_path: Path, make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda count: "0" * 2 * count)
    taken = tmp_path / "00000000_n$t"
    taken.mkdir()
    (taken / "kept").touch()
    rows = () if make == "declare" else (ROWS,)
    code, said = code_of(lambda: getattr(lake, f"{make}_table")(IN_NONE, *rows))
    assert (code, "already exists" in said) == (5 if make == "declare" else 18, True)
    assert set(manifest_rows(tmp_path)) == {"n"}
    assert {path.name for path in tmp_path.iterdir()} == {"__manifest", taken.name}
    assert [path.name for path in taken.iterdir()] == ["kept"]


def test_a_failed_batch_leaves_no_directories(tmp_path: Path) -> None:
    with ours(tmp_path, **ALONE, table_version_tracking_enabled="true") as lake:
        lake.create_table({"id": ["t"]}, ROWS)
        lake.declare_table({"id": ["d"]})
        before = {path.name for path in tmp_path.iterdir()}
        for code, last in ((1, {"declare_table": {"id": ["none", "t"]}}),
                           (5, {"declare_table": {"id": ["t"]}})):  # fmt: skip
            steps = [{"declare_table": {"id": ["new"]}}, {"deregister_table": {"id": ["d"]}}, last]
            request = {"operations": steps}
            assert code_of(lambda request=request: lake.batch_commit_tables(request))[0] == code  # type: ignore[misc]
        assert {path.name for path in tmp_path.iterdir()} == before
        assert list(lake.iter_tables()) == ["d", "t"]


def test_create_fails_if_the_declared_table_was_dropped(
    lake: DirectoryNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.declare_table(IN_NONE)
    lock = DirectoryNamespace.initial_write_lock

    def late(self: Any, entry: TableEntry, *, wait: bool) -> Any:
        monkeypatch.undo()
        with ours(tmp_path) as other:
            other.drop_table(IN_NONE)
            other.declare_table(IN_NONE)
        return lock(self, entry, wait=wait)

    monkeypatch.setattr(DirectoryNamespace, "initial_write_lock", late)
    code, said = code_of(lambda: lake.create_table(IN_NONE, ROWS))
    assert (code, "was dropped or renamed before its first rows" in said) == (14, True)
    assert lake.describe_table({**IN_NONE, "check_declared": True}).is_only_declared


# --- interrupted drops


class Killed(BaseException):
    """Ends a call as if its process had been killed at this point."""


def kill(*_: Any) -> None:
    raise Killed


@pytest.mark.parametrize("cut", ["the row", "the directory"])
def test_an_interrupted_drop_is_finished_by_a_later_one(
    lake: DirectoryNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    for name in ("t", "u", "v"):
        lake.create_table({"id": ["n", name]}, ROWS)
    location = Path(lake.describe_table(IN_NONE).location or "")
    with monkeypatch.context() as patch:
        patch.setattr(NestedTables, "remove_row" if cut == "the row" else "_discard", kill)
        with pytest.raises(Killed):
            lake.drop_table(IN_NONE)
    is_listed = cut == "the row"
    assert (location / DROP_MARKER).exists() is not is_listed
    assert list(lake.iter_tables(["n"])) == (["t"] if is_listed else []) + ["u", "v"]
    with ours(tmp_path) as other:  # this client has not swept yet
        other.drop_table({"id": ["n", "u"]})
    assert location.exists() is is_listed, "what has a row stays, and what has none goes"
    if is_listed:
        assert lake.open_table(["n", "t"]).to_table() == ROWS
        lake.deregister_table(IN_NONE)
        assert not (location / DROP_MARKER).exists(), "a later drop would delete it"
        lake.drop_table({"id": ["n", "v"]})
        assert lance.dataset(str(location)).count_rows() == 3


@pytest.mark.parametrize("cut", ["remove_row", "_discard"])
def test_data_that_pylance_deregisters_after_an_interrupted_drop_is_kept(
    lake: DirectoryNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    for name in ("t", "u"):
        lake.create_table({"id": ["n", name]}, ROWS)
    location = Path(lake.describe_table(IN_NONE).location or "")
    with monkeypatch.context() as patch:
        patch.setattr(NestedTables, cut, kill)
        with pytest.raises(Killed):
            lake.drop_table(IN_NONE)
    peer = Peer.at(tmp_path)
    if cut == "_discard":
        # The row is removed. A client registers the table again and changes it.
        peer.register(["n", "t"], location.name)
        lance.write_dataset(ROWS, str(location), mode="append")
    peer.deregister(["n", "t"])
    before = lance.dataset(str(location)).count_rows()
    with ours(tmp_path) as other:
        other.drop_table({"id": ["n", "u"]})
    assert lance.dataset(str(location)).count_rows() == before


@pytest.mark.parametrize("rescue", ["register", "sweep"])
def test_registration_after_an_interrupted_drop_removes_the_mark(
    lake: DirectoryNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rescue: str
) -> None:
    for name in ("t", "u", "v"):
        lake.create_table({"id": ["n", name]}, ROWS)
    location = Path(lake.describe_table(IN_NONE).location or "")
    with monkeypatch.context() as patch:
        patch.setattr(NestedTables, "_discard", kill)
        with pytest.raises(Killed):
            lake.drop_table(IN_NONE)
    peer = Peer.at(tmp_path)
    if rescue == "register":
        lake.register_table({**IN_NONE, "location": location.name})
    else:
        peer.register(["n", "t"], location.name)
        with ours(tmp_path) as other:
            other.drop_table({"id": ["n", "v"]})
    peer.deregister(["n", "t"])
    with ours(tmp_path) as other:
        other.drop_table({"id": ["n", "u"]})
    assert lance.dataset(str(location)).count_rows() == 3


def test_a_failed_drop_leaves_no_mark(
    lake: DirectoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("the manifest cannot be written")

    lake.create_table(IN_NONE, ROWS)
    location = Path(lake.describe_table(IN_NONE).location or "")
    with monkeypatch.context() as patch:
        patch.setattr(NestedTables, "remove_row", fail)
        assert "cannot be written" in code_of(lambda: lake.drop_table(IN_NONE))[1]
    assert not (location / DROP_MARKER).exists()
    assert lake.open_table(["n", "t"]).to_table() == ROWS


def test_interrupted_drops_are_swept_periodically(
    lake: DirectoryNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("t", "u", "v"):
        lake.create_table({"id": ["n", name]}, ROWS)
    lake.drop_table(IN_NONE)
    left = tmp_path / "01234567_n$w"
    (left / "data").mkdir(parents=True)
    (left / DROP_MARKER).touch()
    unmarked = tmp_path / "01234567_n$x"
    unmarked.mkdir()
    lake.drop_table({"id": ["n", "u"]})
    assert left.exists()
    monkeypatch.setattr(sweep, "SWEEP_SECONDS", 0.0)
    lake.drop_table({"id": ["n", "v"]})
    assert not left.exists() and unmarked.exists()


@pytest.mark.parametrize("properties", [{}, ALONE], ids=["listed", "alone"])
def test_an_outdated_entry_changes_nothing(tmp_path: Path, properties: dict[str, str]) -> None:
    """The table was renamed after the entry was loaded, or its name has a new location."""
    with ours(tmp_path, **properties) as lake:
        lake.create_namespace({"id": ["n"]})
        lake.create_table(IN_NONE, ROWS)
        old = lake.load_table(("n", "t"))
        lake.rename_table({**IN_NONE, "new_table_name": "u"})
        for again in (False, True):
            if again:
                lake.declare_table(IN_NONE)
            before = manifest_rows(tmp_path)
            for call in (
                lambda: lake.remove_table(old),
                lambda: lake.remove_table_and_data(old),
                lambda: lake.move_table(old, ("n", "v")),
                lambda: lake.move_table(old, ("v",)),
            ):
                assert code_of(call)[0] == 4
            assert manifest_rows(tmp_path) == before
            assert lake.open_table(["n", "u"]).to_table() == ROWS
