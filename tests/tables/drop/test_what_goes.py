"""DropTable deletes the table's own files, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import InternalError, TableNotFoundError
from lance_namespace_impls.tables.drop import DROP_MARKER, TableFolder
from lance_namespace_impls.tables.layout import FOLDERS
from tests.behaviour.home import make_home
from tests.behaviour.memory import MemoryConfig, MemoryNamespace, Mixed
from tests.iceberg.subject import iceberg_subject
from tests.servers.s3 import GuardedS3
from tests.tables.calls import code_of

from .conftest import ROWS, UNFINISHED, Killed, Lake, T, files_below, killed, put_file

pytestmark = pytest.mark.s3


# --- all files of the table, and no others


def everything(location: str, options: dict[str, str]) -> lance.LanceDataset:
    """Write a dataset with every kind of file that a dataset can have."""
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


def test_nothing_remains_of_a_dataset_with_every_kind_of_file(
    lake: Lake, ns: MemoryNamespace
) -> None:
    location = str(ns.declare_table({"id": ["ns", "all"]}).location)
    everything(location, lake.storage)
    roots = {name.split("/")[2] for name in lake.names() if name.startswith("ns/all/")}
    found = {"_versions", "_deletions", "_indices", "_refs", "_transactions", "data", "tree"}
    assert found <= roots <= FOLDERS
    before = {name for name in lake.names() if not name.startswith("ns/all/")}
    ns.drop_table({"id": ["ns", "all"]})
    assert lake.names() == before != set()
    if not lake.storage:
        assert not Path(location).exists()


FOREIGN = (
    "metadata/00000.metadata.json",
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
        put_file(lake, f"{location}/{folder}", name, "keep me")


def test_a_drop_keeps_files_that_lance_did_not_write(lake: Lake, ns: MemoryNamespace) -> None:
    location = str(ns.declare_table({"id": ["ns", "all"]}).location)
    everything(location, lake.storage)
    _foreign(lake, location)
    before = {name for name in lake.names() if not name.startswith("ns/all/")}
    ns.drop_table({"id": ["ns", "all"]})
    assert lake.names() - before == {f"ns/all/{path}" for path in FOREIGN}
    ns.create_table({"id": ["ns", "all"]}, ROWS)
    assert ns.count_table_rows({"id": ["ns", "all"]}).count == 10


def test_an_interrupted_drop_among_foreign_files_is_resumed(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    _foreign(lake, location)
    killed(monkeypatch, ns, TableFolder, "remove_drop_marker")
    assert f"ns/t/{DROP_MARKER}" in lake.names()
    ns.drop_table(T)
    assert lake.names() == {f"ns/t/{path}" for path in FOREIGN}


def _file_of_any_name(lake: Lake, location: str) -> None:
    """Append a fragment whose data file has a name chosen by its writer."""
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


def test_a_data_file_of_any_name_is_deleted_if_a_manifest_refers_to_it(
    lake: Lake, ns: MemoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(ns.describe_table(T).location)
    _file_of_any_name(lake, location)
    put_file(lake, f"{location}/data", "unknown.lance", "keep me")
    put_file(lake, location, ".lance-deregistered", "")
    killed(monkeypatch, ns, TableFolder, "remove_drop_marker")
    assert lake.names() == {f"ns/t/{DROP_MARKER}", "ns/t/data/unknown.lance"}


def test_a_referenced_file_is_deleted_even_if_the_manifests_are_already_deleted(
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
    lake = Lake(str(tmp_path / "lake"), {}, lambda: files_below(tmp_path / "lake"))
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


def test_tables_below_a_dropped_table_remain(lake: Lake, ns: MemoryNamespace) -> None:
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


def test_dropping_a_declared_table_leaves_files_at_its_location(
    lake: Lake, ns: MemoryNamespace
) -> None:
    location = f"{lake.root}/somebody"
    put_file(lake, f"{location}/data", "notes.txt", "keep me")
    ns.declare_table({"id": ["ns", "d"], "location": location})
    ns.drop_table({"id": ["ns", "d"]})
    assert "somebody/data/notes.txt" in lake.names()
    assert not any(name.endswith(DROP_MARKER) for name in lake.names())


def test_files_of_a_killed_first_write_are_deleted_with_the_table(
    lake: Lake, ns: MemoryNamespace
) -> None:
    location = ns.declare_table({"id": ["ns", "d"]}).location
    put_file(lake, f"{location}/data", UNFINISHED, "half of a file")
    ns.drop_table({"id": ["ns", "d"]})
    assert not any(name.startswith("ns/d/") for name in lake.names())


def test_a_damaged_dataset_can_be_dropped(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), {}, lambda: files_below(tmp_path))
    with lake.connect() as namespace:
        namespace.create_namespace({"id": ["ns"]})
        location = namespace.create_table(T, ROWS).location
        assert location is not None
        (manifest,) = Path(location, "_versions").glob("*.manifest")
        manifest.write_bytes(b"short")
        namespace.drop_table(T)
        assert lake.names() == set()


# --- storage that rejects requests, or is unavailable


def test_a_table_on_read_only_storage_is_not_dropped(s3: GuardedS3, tmp_path: Path) -> None:
    root = f"s3://{s3.bucket}/{tmp_path.name}"
    with Mixed(MemoryConfig(root=root, storage=s3.options())) as ns:
        ns.create_namespace({"id": ["ns"]})
        ns.create_table(T, ROWS)
        before = s3.objects()
        s3.refuses = lambda asked: asked.method != "GET" and asked.access_key == "testing"
        assert code_of(ns.drop_table, T) == 15
        assert ns.count_table_rows(T).count == 10
        assert s3.objects() == before


def test_a_failed_deletion_is_reported_and_completed_by_the_next_drop(
    s3: GuardedS3, tmp_path: Path
) -> None:
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


@pytest.mark.filterwarnings("ignore:.* cannot be (read|written to)")  # storage is unavailable
def test_unavailable_storage_is_reported_if_the_table_is_missing(s3: GuardedS3) -> None:
    options = s3.options() | {"aws_endpoint": "http://127.0.0.1:9", "client_max_retries": "0"}
    with Mixed(MemoryConfig(root="s3://away/lake", storage=options)) as ns:
        ns.create_namespace({"id": ["ns"]})
        with pytest.raises(TableNotFoundError, match="cannot be checked"):
            ns.drop_table(T)
        ns.declare_table(T)
        assert code_of(ns.drop_table, T) == 17
        with pytest.warns(UserWarning, match="cannot be read. If a drop"):
            ns.deregister_table(T)
        assert list(ns.iter_tables(["ns"])) == []


def test_a_drop_makes_few_calls(s3: GuardedS3, tmp_path: Path) -> None:
    with Mixed(MemoryConfig(root=f"s3://{s3.bucket}/calls", storage=s3.options())) as ns:
        ns.create_namespace({"id": ["ns"]})
        ns.create_table(T, ROWS)
        calls = {}
        for name in ("deregister_table", "drop_table"):
            s3.asked.clear()
            getattr(ns, name)(T)
            calls[name] = len(s3.asked)
            of_marker = [each.method for each in s3.asked if each.path.endswith(DROP_MARKER)]
            if name == "deregister_table":
                ns.register_table({**T, "location": f"s3://{s3.bucket}/calls/ns/t"})
        assert calls["deregister_table"] == 1
        assert calls["drop_table"] <= 25
        assert of_marker == ["PUT", "PUT", "HEAD"]  # S3 deletes in bulk
        s3.asked.clear()
        ns.declare_table(T)
        assert len(s3.asked) == 1  # checks whether the location is free
        s3.asked.clear()
        ns.describe_table(T)
        assert s3.asked == []
