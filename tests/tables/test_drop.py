"""DropTable deletes what is the table's, and goes on where it was broken off."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InternalError,
    LanceNamespaceError,
    TableNotFoundError,
)
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.tables.drop import DROP_MARKER, TableFolder
from lance_namespace_impls.tables.layout import FOLDERS
from tests.behaviour.home import make_home
from tests.behaviour.memory import MemoryConfig, MemoryNamespace, Mixed, catalog
from tests.iceberg.subject import iceberg_subject
from tests.servers.s3 import GuardedS3

pytestmark = pytest.mark.s3

ROWS = pa.table({"x": list(range(10))})
UNFINISHED = f"{'01' * 12}{'0a' * 13}.lance"
"""A data file as Lance names it."""
T = {"id": ["ns", "t"]}


class Killed(BaseException):
    """What ends a call as if its process had been killed there."""


@attrs.frozen
class Lake:
    """A storage root, on a local disk or in the bucket, and how to look into it."""

    root: str
    storage: dict[str, str]
    names: Callable[[], set[str]]
    """Gives the paths of all files below the root."""

    def connect(self, cls: type[MemoryNamespace] = Mixed) -> MemoryNamespace:
        return cls(MemoryConfig(root=self.root, storage=self.storage))


@pytest.fixture(params=["local", "s3"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    if request.param == "local":
        local = tmp_path / "lake"
        return Lake(str(local), {}, lambda: _below(local))
    s3: GuardedS3 = request.getfixturevalue("s3")
    root = f"s3://{s3.bucket}/some lake/{tmp_path.name}"
    return Lake(root, s3.options(), lambda: {key.split("/", 2)[2] for key in s3.objects()})


def _below(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def ns(lake: Lake) -> Iterator[MemoryNamespace]:
    with lake.connect() as found:
        found.create_namespace({"id": ["ns"]})
        found.create_table(T, ROWS)
        yield found


def killed(
    monkeypatch: pytest.MonkeyPatch, namespace: MemoryNamespace, owner: type, name: str
) -> None:
    """Start to drop the table, and die when a method is reached."""

    def die(*args: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, die)
        with pytest.raises(Killed):
            namespace.drop_table(T)


def code_of(call: Callable[..., Any], *args: Any) -> int:
    with pytest.raises(LanceNamespaceError) as caught:
        call(*args)
    return int(caught.value.code)


# --- all of it, and nothing else


def everything(location: str, options: dict[str, str]) -> lance.LanceDataset:
    """Write a dataset with one of everything that a dataset can have."""
    rows = pa.table({"x": list(range(300)), "s": ["some text"] * 300})
    dataset = lance.write_dataset(rows, location, storage_options=options)
    dataset.insert(rows)
    dataset.delete("x = 3")
    dataset.create_scalar_index("x", "BTREE")
    dataset.create_scalar_index("s", "INVERTED")
    dataset.tags.create("first", 1)
    dataset.create_branch("side")
    dataset.add_columns({"y": "x + 1"})
    return dataset


def test_nothing_is_left_of_a_dataset_with_one_of_everything(
    lake: Lake, ns: MemoryNamespace
) -> None:
    location = str(ns.declare_table({"id": ["ns", "all"]}).location)
    everything(location, lake.storage)
    roots = {name.split("/")[2] for name in lake.names() if name.startswith("ns/all/")}
    assert roots <= FOLDERS
    assert {
        "_versions",
        "_deletions",
        "_indices",
        "_refs",
        "_transactions",
        "data",
        "tree",
    } <= roots
    before = {name for name in lake.names() if not name.startswith("ns/all/")}
    ns.drop_table({"id": ["ns", "all"]})
    assert lake.names() == before != set()
    if not lake.storage:
        assert not Path(location).exists()


def test_what_others_keep_there_stays(lake: Lake, ns: MemoryNamespace) -> None:
    location = str(ns.declare_table({"id": ["ns", "all"]}).location)
    everything(location, lake.storage)
    _put(lake, f"{location}/metadata", "00000.metadata.json", "{}")
    before = {name for name in lake.names() if not name.startswith("ns/all/")}
    ns.drop_table({"id": ["ns", "all"]})
    assert lake.names() - before == {"ns/all/metadata/00000.metadata.json"}
    ns.create_table({"id": ["ns", "all"]}, ROWS)
    assert ns.count_table_rows({"id": ["ns", "all"]}).count == 10


FOREIGN = (
    "data/users.db",
    "data/photos/cat.jpg",
    "data/lookup.lance",
    "_versions/notes.txt",
    "_indices/README.md",
    "_deletions/list.csv",
    "_transactions/ledger.txn",
    "_refs/tags/readme.txt",
    "tree/oak.txt",
    f"tree/oak/data/{UNFINISHED}",
)


def _foreign(lake: Lake, location: str) -> None:
    for path in FOREIGN:
        folder, _, name = path.rpartition("/")
        _put(lake, f"{location}/{folder}", name, "keep me")


def test_files_that_lance_did_not_write_stay_among_its_own(lake: Lake, ns: MemoryNamespace) -> None:
    location = str(ns.declare_table({"id": ["ns", "all"]}).location)
    everything(location, lake.storage)
    _foreign(lake, location)
    before = {name for name in lake.names() if not name.startswith("ns/all/")}
    ns.drop_table({"id": ["ns", "all"]})
    assert lake.names() - before == {f"ns/all/{path}" for path in FOREIGN}


def test_what_is_broken_off_among_foreign_files_is_gone_on_with(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    _foreign(lake, location)
    killed(monkeypatch, ns, TableFolder, "remove_drop_marker")
    assert f"ns/t/{DROP_MARKER}" in lake.names()
    ns.drop_table(T)
    assert lake.names() == {f"ns/t/{path}" for path in FOREIGN}


def _file_of_any_name(lake: Lake, location: str) -> None:
    """Append a fragment whose data file has a name that a writer chose."""
    from lance.file import LanceFileWriter

    with LanceFileWriter(
        f"{location}/data/chosen.lance", ROWS.schema, storage_options=lake.storage
    ) as writer:
        writer.write_batch(ROWS)
    dataset = lance.dataset(location, storage_options=lake.storage)
    data_file = lance.fragment.DataFile("chosen.lance", [0], [0], 2, 0)
    fragment = lance.FragmentMetadata(0, [data_file], ROWS.num_rows)
    lance.LanceDataset.commit(
        location,
        lance.LanceOperation.Append([fragment]),
        read_version=dataset.version,
        storage_options=lake.storage,
    )


def test_a_data_file_of_any_name_goes_where_a_manifest_names_it(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    _file_of_any_name(lake, location)
    _put(lake, f"{location}/data", "unknown.lance", "keep me")
    killed(monkeypatch, ns, TableFolder, "remove_drop_marker")
    assert lake.names() == {f"ns/t/{DROP_MARKER}", "ns/t/data/unknown.lance"}


def test_a_named_file_goes_where_the_manifests_are_gone_already(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    _file_of_any_name(lake, location)
    delete_folder = TableFolder._delete_folder

    def die_after_the_manifests(self: TableFolder, name: str, paths: Sequence[str]) -> None:
        delete_folder(self, name, paths)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(TableFolder, "_delete_folder", die_after_the_manifests)
        with pytest.raises(Killed):
            ns.drop_table(T)
    assert "ns/t/data/chosen.lance" in lake.names()
    ns.drop_table(T)
    assert lake.names() == set()


def test_nothing_is_deleted_through_a_link(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"), {}, lambda: _below(tmp_path / "lake"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / UNFINISHED).write_text("keep me")
    with lake.connect() as namespace:
        namespace.create_namespace({"id": ["ns"]})
        location = Path(str(namespace.create_table(T, ROWS).location))
        (location / "data" / "more").symlink_to(elsewhere)
        (location / "_indices").symlink_to(elsewhere)
        namespace.drop_table(T)
        assert (elsewhere / UNFINISHED).read_text() == "keep me"
        assert sorted(path.name for path in location.iterdir()) == ["_indices", "data"]


def test_tables_below_a_table_stay(lake: Lake, ns: MemoryNamespace) -> None:
    lance.write_dataset(ROWS, f"{lake.root}/ns", storage_options=lake.storage)
    ns.register_table({"id": ["ns", "above"], "location": f"{lake.root}/ns"})
    ns.drop_table({"id": ["ns", "above"]})
    assert ns.count_table_rows(T).count == 10
    assert all(name.startswith("ns/t/") for name in lake.names())


def test_iceberg_tables_share_a_location(tmp_path: Path) -> None:
    with iceberg_subject(tmp_path) as subject, subject.connect() as namespace:
        home = list(make_home(subject, namespace))
        first, second = {"id": [*home, "first"]}, {"id": [*home, "second"]}
        location = namespace.create_table(first, ROWS).location
        namespace.register_table({**second, "location": location})
        namespace.drop_table(first)
        assert namespace.describe_table({**second, "check_declared": True}).is_only_declared
        assert {path.name for path in Path(str(location)).iterdir()} == {"metadata"}
        namespace.create_table(second, ROWS)
        assert namespace.count_table_rows(second).count == 10


def _put(lake: Lake, folder: str, name: str, content: str) -> None:
    from tempfile import TemporaryDirectory

    from lance.file import LanceFileSession

    with TemporaryDirectory() as temporary:
        Path(temporary, name).write_text(content)
        session = LanceFileSession(folder, storage_options=lake.storage)
        session.upload_file(Path(temporary, name), name)


def test_a_declared_table_leaves_what_is_at_its_location(lake: Lake, ns: MemoryNamespace) -> None:
    location = f"{lake.root}/somebody"
    _put(lake, f"{location}/data", "notes.txt", "keep me")
    ns.declare_table({"id": ["ns", "d"], "location": location})
    ns.drop_table({"id": ["ns", "d"]})
    assert "somebody/data/notes.txt" in lake.names()
    assert not any(name.endswith(DROP_MARKER) for name in lake.names())


def test_what_a_killed_first_write_left_goes_with_the_table(
    lake: Lake, ns: MemoryNamespace
) -> None:
    location = ns.declare_table({"id": ["ns", "d"]}).location
    _put(lake, f"{location}/data", UNFINISHED, "half of a file")
    ns.drop_table({"id": ["ns", "d"]})
    assert not any(name.startswith("ns/d/") for name in lake.names())


def test_a_damaged_dataset_can_be_dropped(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), {}, lambda: _below(tmp_path))
    with lake.connect() as namespace:
        namespace.create_namespace({"id": ["ns"]})
        location = namespace.create_table(T, ROWS).location
        assert location is not None
        (manifest,) = Path(location, "_versions").glob("*.manifest")
        manifest.write_bytes(b"short")
        namespace.drop_table(T)
        assert lake.names() == set()


# --- broken off before the catalog


def test_a_drop_that_never_came_to_the_catalog_changes_nothing(
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
    marker = TableFolder(ns.storage_of(ns.load_table(("ns", "t"))))._read_drop_marker()
    assert marker is not None
    lance.LanceDataset.drop(location, options)
    lance.write_dataset(ROWS, location, storage_options=options)
    content = json.dumps({"id": ["ns", "t"], "version": 9, "written": marker[1].written})
    _put(Lake("", options, set), location, DROP_MARKER, content)
    del catalog(ns.config.root).tables["ns", "t"]


def _written_with_a_clock_behind(ns: MemoryNamespace) -> None:
    content = json.dumps({"id": ["ns", "t"], "version": 1, "written": 2**60})
    _put(
        Lake("", dict(ns.config.storage), set),
        str(ns.describe_table(T).location),
        DROP_MARKER,
        content,
    )
    _taken_out_by_other_tools(ns)


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
def test_data_that_is_kept_afterwards_is_never_taken(
    lake: Lake,
    ns: MemoryNamespace,
    monkeypatch: pytest.MonkeyPatch,
    keep: Callable[[MemoryNamespace], None],
) -> None:
    killed(monkeypatch, ns, Mixed, "remove_table")
    location = str(ns.describe_table(T).location)
    keep(ns)
    before = lake.names()
    assert code_of(ns.drop_table, T) == 4
    assert ns.create_table(T, ROWS).location != location
    assert lake.names() >= before
    assert lance.dataset(location, storage_options=lake.storage).count_rows() >= 10


def test_a_mark_of_another_table_or_of_nobody_is_none(lake: Lake, ns: MemoryNamespace) -> None:
    location = str(ns.deregister_table(T).location)
    for content in ('{"id": ["ns", "u"], "version": 9, "written": 9999999999999999}', "[]", "?"):
        _put(lake, location, DROP_MARKER, content)
        assert code_of(ns.drop_table, T) == 4
        assert ns.create_table(T, ROWS).location != location
        ns.deregister_table(T)
    assert lance.dataset(location, storage_options=lake.storage).count_rows() == 10


class Stubborn(Mixed):
    """Fails to take a table out; `after` says whether it is out all the same."""

    after = False

    def remove_table(self, entry: TableEntry) -> None:
        if self.after:
            super().remove_table(entry)
        raise ConnectionError("the catalog hung up")


@pytest.mark.parametrize("after", [False, True])
def test_a_catalog_that_fails(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    with lake.connect(Stubborn) as stubborn, monkeypatch.context() as patched:
        patched.setattr(Stubborn, "after", after)
        assert code_of(stubborn.drop_table, T) == 17
    # The marker stays where the table is out after all, and the next run needs it.
    assert (f"ns/t/{DROP_MARKER}" in lake.names()) is after
    ns.drop_table(T)
    assert lake.names() == set()


# --- broken off after the catalog


def test_the_next_drop_goes_on(
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
def test_creating_it_anew_goes_on(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    old = lake.names()
    killed(monkeypatch, ns, TableFolder, "delete")
    assert ns.create_table({**T, "mode": mode}, pa.table({"y": [1]})).version == 1
    assert ns.open_table(["ns", "t"]).to_table() == pa.table({"y": [1]})
    # A manifest's name is its version; all else has names of its own.
    assert {name for name in lake.names() & old if "_versions" not in name} == set()
    assert f"ns/t/{DROP_MARKER}" not in lake.names()


def test_manifests_go_first_and_the_mark_last(
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


def test_manifests_that_are_half_gone_are_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(str(tmp_path), {}, lambda: _below(tmp_path))
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


def test_the_mark_outlives_every_other_file(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    _put(lake, location, ".lance-deregistered", "")
    killed(monkeypatch, ns, TableFolder, "remove_drop_marker")
    assert lake.names() == {f"ns/t/{DROP_MARKER}"}
    ns.drop_table(T)
    assert lake.names() == set()


def test_half_deleted_data_is_no_table(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    killed(monkeypatch, ns, TableFolder, "remove_drop_marker")
    _put(lake, f"{location}/data", UNFINISHED, "what was left")
    ns.declare_table(T)
    assert ns.describe_table({**T, "check_declared": True}).is_only_declared
    assert list(ns.iter_tables(["ns"], include_declared=False)) == []
    ns.drop_table(T)
    assert lake.names() == set()


def test_data_that_was_rescued_stays(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    killed(monkeypatch, ns, TableFolder, "delete")
    ns.register_table({"id": ["ns", "rescued"], "location": location})
    assert code_of(ns.drop_table, T) == 4
    assert ns.create_table(T, ROWS).location != location
    assert ns.count_table_rows({"id": ["ns", "rescued"]}).count == 10


# --- storage that refuses, or is away


def test_storage_that_cannot_be_written_keeps_the_table(s3: GuardedS3, tmp_path: Path) -> None:
    root = f"s3://{s3.bucket}/{tmp_path.name}"
    with Mixed(MemoryConfig(root=root, storage=s3.options())) as ns:
        ns.create_namespace({"id": ["ns"]})
        ns.create_table(T, ROWS)
        before = s3.objects()
        s3.refuses = lambda asked: asked.method != "GET" and asked.access_key == "testing"
        assert code_of(ns.drop_table, T) == 15
        assert ns.count_table_rows(T).count == 10
        assert s3.objects() == before


def test_what_cannot_be_deleted_is_said_and_goes_next_time(s3: GuardedS3, tmp_path: Path) -> None:
    options = s3.options()
    with Mixed(MemoryConfig(root=f"s3://{s3.bucket}/{tmp_path.name}", storage=options)) as ns:
        ns.create_namespace({"id": ["ns"]})
        location = ns.create_table(T, ROWS).location
        s3.refuses = lambda asked: asked.path.endswith("/data/.lance-reserved")
        with pytest.raises(InternalError, match="not all data") as caught:
            ns.drop_table(T)
        assert str(location) in str(caught.value)
        assert list(ns.iter_tables(["ns"])) == []
        s3.refuses = lambda asked: False
        assert ns.drop_table(T).location == location
        assert s3.objects() == set()


@pytest.mark.filterwarnings("ignore:.* cannot be (read|written to)")  # as it is away
def test_storage_that_is_away_is_said_where_the_table_is_missing(s3: GuardedS3) -> None:
    options = s3.options() | {"aws_endpoint": "http://127.0.0.1:9", "client_max_retries": "0"}
    with Mixed(MemoryConfig(root="s3://away/lake", storage=options)) as ns:
        ns.create_namespace({"id": ["ns"]})
        with pytest.raises(TableNotFoundError, match="cannot be seen"):
            ns.drop_table(T)
        ns.declare_table(T)
        assert code_of(ns.drop_table, T) == 17
        with pytest.warns(UserWarning, match="cannot be read: if a drop"):
            ns.deregister_table(T)
        assert list(ns.iter_tables(["ns"])) == []


def test_it_takes_few_calls(s3: GuardedS3, tmp_path: Path) -> None:
    with Mixed(MemoryConfig(root=f"s3://{s3.bucket}/calls", storage=s3.options())) as ns:
        ns.create_namespace({"id": ["ns"]})
        ns.create_table(T, ROWS)
        calls = {}
        for name in ("deregister_table", "drop_table"):
            s3.asked.clear()
            getattr(ns, name)(T)
            calls[name] = len(s3.asked)
            if name == "deregister_table":
                ns.register_table({**T, "location": f"s3://{s3.bucket}/calls/ns/t"})
        assert calls["deregister_table"] == 1
        assert calls["drop_table"] <= 25
        s3.asked.clear()
        ns.declare_table(T)
        assert len(s3.asked) == 1  # is the place free?
        s3.asked.clear()
        ns.describe_table(T)
        assert s3.asked == []
