"""Add a manifest to a flat directory in use, and remove it if no information is lost."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import lance
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.directory import DirectoryNamespace
from lance_namespace_impls.directory.manifest import Manifest
from tests.servers.s3 import GuardedS3

from .lakes import ROWS, Peer, manifest_rows

TABLES = 300
SECONDS = 300


def lake(root: Path, **properties: str) -> DirectoryNamespace:
    return DirectoryNamespace.from_properties({"root": str(root), **properties})


def test_migration_to_a_manifest_and_back(tmp_path: Path) -> None:
    with lake(tmp_path) as namespace:
        namespace.create_table({"id": ["t"], "properties": {"k": "v"}}, ROWS)
        namespace.declare_table({"id": ["d"]})
        namespace.create_table({"id": ["gone"]}, ROWS)
        namespace.deregister_table({"id": ["gone"]})
        (tmp_path / "plain").mkdir()
        before = {
            name: namespace.describe_table({"id": [name]}).location
            for name in namespace.iter_tables()
        }
        shown = namespace.migrate("manifest", dry_run=True)
        assert (shown.tables, shown.done) == (["d", "plain", "t"], False)
        assert not (tmp_path / "__manifest").exists()
        assert namespace.migrate("manifest").tables == ["d", "plain", "t"]
        assert namespace.migrate("manifest").tables == []
        assert Peer.at(tmp_path).tables([]) == ["d", "t"]
        assert manifest_rows(tmp_path)["plain"]["location"] == "plain"
        assert {
            name: namespace.describe_table({"id": [name]}).location
            for name in namespace.iter_tables()
        } == before
        assert namespace.describe_table({"id": ["t"]}).properties == {"k": "v"}
        namespace.create_table({"id": ["new"], "properties": {"k": "w"}}, ROWS)
        namespace.create_namespace({"id": ["n"]})
        with pytest.raises(InvalidTableStateError, match="only the manifest stores 'n'"):
            namespace.migrate("flat")
        namespace.drop_namespace({"id": ["n"]})
        assert namespace.migrate("flat", dry_run=True).tables == ["d", "new", "plain", "t"]
        assert (tmp_path / "__manifest").exists()
        assert namespace.migrate("flat").done
        assert not (tmp_path / "__manifest").exists()
        assert list(namespace.iter_tables()) == ["d", "new", "plain", "t"]
        assert namespace.describe_table({"id": ["new"]}).properties == {"k": "w"}
        assert namespace.open_table(["t"]).to_table() == ROWS
        with pytest.raises(NamespaceNotFoundError, match="no manifest"):
            namespace.migrate("flat")


def test_properties_written_by_pylance_are_migrated(tmp_path: Path) -> None:
    Peer.at(tmp_path).create_table(["t"], properties={"k": "v"})
    with lake(tmp_path) as namespace:
        namespace.migrate("flat")
        assert namespace.describe_table({"id": ["t"]}).properties == {"k": "v"}


def test_a_directory_that_would_become_a_table_prevents_the_migration(tmp_path: Path) -> None:
    with lake(tmp_path, manifest="true") as namespace:
        namespace.create_namespace({"id": ["n"]})
        namespace.create_table({"id": ["n", "t"]}, ROWS)
        location = namespace.deregister_table({"id": ["n", "t"]}).location
        namespace.drop_namespace({"id": ["n"]})
        assert location is not None
        with pytest.raises(InvalidTableStateError, match=Path(location).name.replace("$", r"\$")):
            namespace.migrate("flat")
        assert list(namespace.iter_tables()) == []


def test_a_name_that_a_manifest_cannot_store(tmp_path: Path) -> None:
    with lake(tmp_path) as namespace:
        namespace.declare_table({"id": ["a$b"]})
        with pytest.raises(InvalidInputError, match="rename 'a\\$b'"):
            namespace.migrate("manifest")
        assert not (tmp_path / "__manifest").exists()
        assert list(namespace.iter_tables()) == ["a$b"]


def _read(root: str, started: Any, stop: Any, results: Any) -> None:
    expected = sorted(f"t{number:04}" for number in range(TABLES))
    listings, faults = 0, []
    with connect("dir", {"root": root}) as namespace:
        while not stop.is_set() or not listings:
            try:
                found = list(namespace.iter_tables(page_size=None if listings % 2 else 100))
            except LanceNamespaceError as error:
                faults.append(str(error))
            else:
                if found != expected:
                    faults.append(f"{len(found)} names")
            listings += 1
            started.set()
    results.put((listings, faults))


def test_no_name_is_missing_at_any_time(tmp_path: Path) -> None:
    """300 tables are migrated to a manifest and back while two other processes list them."""
    for number in range(TABLES):
        (tmp_path / (f"t{number:04}" + (".lance" if number % 2 else ""))).mkdir()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "lance_namespace_impls.directory", "pyarrow.fs"])
    stop, results = context.Event(), context.Queue()
    started = [context.Event() for _ in range(2)]
    readers = [
        context.Process(target=_read, args=(str(tmp_path), each, stop, results)) for each in started
    ]
    for reader in readers:
        reader.start()
    try:
        for each in started:
            assert each.wait(SECONDS)
        with lake(tmp_path) as namespace:
            for _ in range(2):
                assert len(namespace.migrate("manifest").tables) == TABLES
                assert len(namespace.migrate("flat").tables) == TABLES
            assert len(namespace.migrate("manifest").tables) == TABLES
    finally:
        stop.set()
    seen = [results.get(timeout=SECONDS) for _ in readers]
    for reader in readers:
        reader.join(SECONDS)
    assert all(listings > 1 for listings, _ in seen), seen
    assert [faults for _, faults in seen] == [[], []], seen
    assert len(manifest_rows(tmp_path)) == TABLES


def test_tables_created_during_the_migration_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Manifest.create

    def create(self: Manifest, rows: list[Any]) -> None:
        real(self, rows)
        (tmp_path / "late").mkdir()
        with lake(tmp_path) as other:
            other.create_table({"id": ["made"], "properties": {"k": "v"}}, ROWS)

    with lake(tmp_path) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        monkeypatch.setattr(Manifest, "create", create)
        assert namespace.migrate("manifest").tables == ["late", "made", "t"]
        assert list(namespace.iter_tables()) == ["late", "made", "t"]
        assert namespace.describe_table({"id": ["made"]}).properties == {"k": "v"}
    assert manifest_rows(tmp_path)["late"]["location"] == "late"


def test_a_manifest_that_is_deleted_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lake(tmp_path) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        namespace.migrate("manifest")
    opens, tried = lance.LanceDataset, 0

    def gone_first(uri: str, *args: Any, **more: Any) -> Any:
        nonlocal tried
        tried += uri.endswith("__manifest")
        if tried == 1:
            monkeypatch.setattr(lance, "LanceDataset", opens)
            with lake(tmp_path) as other:
                other.migrate("flat")
            raise ValueError(f"LanceError(IO): Generic N/A error: Not found: {uri}/_versions/1")
        return opens(uri, *args, **more)

    with lake(tmp_path) as namespace:
        monkeypatch.setattr(lance, "LanceDataset", gone_first)
        assert namespace.list_tables({}).tables == ["t"]
    assert tried == 1


@pytest.mark.s3
def test_migration_in_an_object_store_and_back(s3: GuardedS3) -> None:
    options = {f"storage.{key}": value for key, value in s3.options().items()}
    properties = {"root": f"s3://{s3.bucket}/lake", **options}
    with DirectoryNamespace.from_properties(properties) as namespace:
        namespace.create_table({"id": ["t"], "properties": {"k": "v"}}, ROWS)
        assert namespace.migrate("manifest").tables == ["t"]
        namespace.create_namespace({"id": ["n"]})
        namespace.create_table({"id": ["n", "t"]}, ROWS)
        namespace.rename_table({"id": ["n", "t"], "new_table_name": "u"})
        assert namespace.list_all_tables({}).tables == ["n$u", "t"]
        namespace.drop_table({"id": ["n", "u"]})
        namespace.drop_namespace({"id": ["n"]})
        assert namespace.migrate("flat").tables == ["t"]
    with DirectoryNamespace.from_properties(properties) as namespace:
        assert list(namespace.iter_namespaces()) == []
        assert namespace.describe_table({"id": ["t"]}).properties == {"k": "v"}
