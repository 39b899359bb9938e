"""Tables whose versions the catalog manages: only commits through the catalog are visible."""

from __future__ import annotations

import shutil
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableVersionNotFoundError,
    TransactionNotFoundError,
    UnsupportedError,
)
from lance_namespace_client.models import AlterTransactionRequest
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.tables import write

from .staging import STORES, stage

ROWS = pa.table({"a": [1, 2, 3]})
PAST = "committed without the catalog"


@pytest.fixture(params=STORES)
def managed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    """A catalog that manages the versions of its tables."""
    properties = {"root": str(tmp_path / "tables"), **STORES[request.param]}
    with connect(request.param, properties) as found:
        yield found


def count(namespace: Namespace, *table: str) -> int:
    return int(namespace.count_table_rows({"id": list(table)}).count)


def numbers(namespace: Namespace, *table: str, **more: Any) -> list[int]:
    found = namespace.list_table_versions({"id": list(table), **more}).versions
    return [each.version for each in found]


def location(namespace: Namespace, *table: str) -> Path:
    return Path(str(namespace.describe_table({"id": list(table)}).location))


def test_a_managed_table_is_reported_as_managed(managed: Namespace) -> None:
    assert managed.declare_table({"id": ["d"]}).managed_versioning is True
    managed.create_table({"id": ["t"]}, ROWS)
    assert managed.describe_table({"id": ["t"]}).managed_versioning is True
    assert {"CreateTableVersion", "BatchCommitTables"} <= set(
        managed.list_operations({}).operations
    )


@pytest.mark.requirement("general-061")
def test_a_table_can_override_managed_versioning(managed: Namespace, tmp_path: Path) -> None:
    choice = {"managed_versioning": "false"}
    answer = managed.create_table({"id": ["t"], "properties": {"k": "v", **choice}}, ROWS)
    assert answer.properties == {"k": "v"}
    described = managed.describe_table({"id": ["t"]})
    assert (described.managed_versioning, described.properties) == (False, {"k": "v"})
    lance.dataset(answer.location).insert(ROWS, mode="append")
    assert count(managed, "t") == 6
    with pytest.raises(InvalidTableStateError, match="versions of table t are managed by storage"):
        managed.create_table_version(
            {"id": ["t"], "version": 3, "manifest_path": "t/_versions/3.manifest"}
        )
    with pytest.raises(InvalidInputError, match="'true' or 'false', not 'maybe'"):
        managed.declare_table({"id": ["u"], "properties": {"managed_versioning": "maybe"}})
    for change in ({"set_properties": choice}, {"unset_properties": ["managed_versioning"]}):
        with pytest.raises(InvalidInputError, match="set when a table is created"):
            managed.alter_table({"id": ["t"], **change})


def test_a_catalog_without_a_version_store_rejects_managed_tables(tmp_path: Path) -> None:
    with (
        connect("dir", {"path": str(tmp_path)}) as flat,
        pytest.raises(UnsupportedError, match="managed_versioning=true is not supported: "),
    ):
        flat.create_table({"id": ["t"], "properties": {"managed_versioning": "true"}}, ROWS)


@pytest.mark.requirement("general-062", "general-064")
def test_every_operation_creates_a_version_in_the_catalog(managed: Namespace) -> None:
    table = {"id": ["t"]}
    managed.create_table(table, ROWS)
    managed.insert_into_table(table, ROWS)
    managed.create_table({**table, "mode": "Overwrite"}, ROWS)
    managed.update_table({**table, "updates": [["a", "a + 1"]]})
    managed.delete_from_table({**table, "predicate": "a = 2"})
    managed.merge_insert_into_table({**table, "on": "a", "when_not_matched_insert_all": True}, ROWS)
    managed.alter_table_add_columns(
        {**table, "new_columns": [{"name": "b", "expression": "a + 1"}]}
    )
    managed.update_table({**table, "updates": [["a", "b"], ["b", "a"]]})
    managed.create_table_scalar_index({**table, "column": "a", "index_type": "BTREE"})
    managed.restore_table({**table, "version": 2})
    assert numbers(managed, "t") == list(range(1, 11))
    assert numbers(managed, "t", descending=True, limit=3) == [10, 9, 8]
    assert count(managed, "t") == 6
    assert managed.describe_table_version({**table}).version.version == 10
    assert managed.count_table_rows({**table, "version": 1}).count == 3
    assert sorted(f.name for f in (location(managed, "t") / "_versions").glob("*.manifest-*")) == []


def test_branches_have_separate_versions(managed: Namespace) -> None:
    managed.create_table({"id": ["t"]}, ROWS)
    for _ in range(2):  # a second branch with the same name starts without versions
        managed.create_table_branch({"id": ["t"], "name": "b"})
        managed.insert_into_table({"id": ["t"], "branch": "b"}, ROWS)
        assert numbers(managed, "t", branch="b") == [1, 2]
        assert managed.count_table_rows({"id": ["t"], "branch": "b"}).count == 6
        assert numbers(managed, "t") == [1]
        managed.delete_table_branch({"id": ["t"], "name": "b"})
        assert numbers(managed, "t", branch="b") == []
    managed.create_table_branch({"id": ["t"], "name": "b"})
    managed.open_table(["t"]).branches.delete("b")  # bypasses the catalog
    managed.create_table_branch({"id": ["t"], "name": "b"})
    managed.insert_into_table({"id": ["t"], "branch": "b"}, ROWS)
    assert numbers(managed, "t", branch="b") == [1, 2]


@pytest.mark.requirement("general-065")
@pytest.mark.parametrize("name", ["t", "d"])
def test_a_commit_that_bypasses_the_catalog_is_ignored(managed: Namespace, name: str) -> None:
    if name == "t":
        managed.create_table({"id": [name]}, ROWS)
    else:
        managed.declare_table({"id": [name]})
    place = str(location(managed, name))
    before = 3 if name == "t" else 0
    lance.write_dataset(pa.table({"a": [7]}), place, mode="append")
    with pytest.warns(UserWarning, match=PAST):
        managed.insert_into_table({"id": [name]}, ROWS)
    assert count(managed, name) == before + 3
    lance.dataset(place).insert(pa.table({"a": [7]}), mode="append")
    with pytest.warns(UserWarning, match=PAST):
        assert count(managed, name) == before + 3
    assert len(managed.open_table([name]).versions()) == len(numbers(managed, name))
    managed.insert_into_table({"id": [name]}, ROWS)
    assert count(managed, name) == before + 6


@pytest.mark.requirement("general-065")
def test_a_commit_onto_one_that_bypassed_the_catalog_is_rejected(managed: Namespace) -> None:
    managed.create_table({"id": ["t"]}, ROWS)
    handle = managed.open_table(["t"])
    lance.dataset(str(location(managed, "t"))).insert(pa.table({"a": [7]}), mode="append")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(OSError, match="Commit result for version 3 is unknown"):
            handle.insert(ROWS, mode="append")
    assert numbers(managed, "t") == [1]
    handle.insert(ROWS, mode="append")
    assert numbers(managed, "t") == [1, 2]
    assert count(managed, "t") == 6


@pytest.mark.requirement("general-063")
def test_a_losing_commit_reports_the_winner_and_is_deleted(managed: Namespace) -> None:
    managed.create_table({"id": ["t"]}, ROWS)
    first, second = stage(managed, "t"), stage(managed, "t")
    answer = managed.create_table_version(first)
    assert answer.version.version == 2
    assert answer.version.manifest_path.endswith("/_versions/18446744073709551613.manifest")
    winner = first["manifest_path"].rpartition("/")[2]
    with pytest.raises(ConcurrentModificationError, match=f"version 2 is the latest.* by {winner}"):
        managed.create_table_version(second)
    assert not Path("/" + second["manifest_path"]).exists()
    assert numbers(managed, "t") == [1, 2] and count(managed, "t") == 6
    assert (
        managed.create_table_version(first).version == answer.version
    )  # a retry after a lost response
    assert numbers(managed, "t") == [1, 2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 9}, "is for version 2, not 9"),
        ({"manifest_path": "elsewhere/2.manifest"}, "is not a valid manifest path"),
        ({"manifest_path": "t/_versions/../../x/_versions/x"}, "is not a valid manifest path"),
        (
            {"manifest_path": "t/_versions/18446744073709551613.manifest-0"},
            "is not a valid manifest path",
        ),
        ({"manifest_path": "{folder}/18446744073709551613.manifest-0"}, "does not exist"),
        ({"naming_scheme": "V3"}, "must be V1 or V2"),
        ({"manifest_size": 1}, "bytes, not 1"),
    ],
)
def test_an_invalid_commit_is_rejected(
    managed: Namespace, change: dict[str, Any], said: str
) -> None:
    managed.create_table({"id": ["t"]}, ROWS)
    request = stage(managed, "t")
    if str(change.get("manifest_path")).startswith("{folder}"):
        folder = request["manifest_path"].rpartition("/")[0]
        change = {"manifest_path": change["manifest_path"].format(folder=folder)}
    with pytest.raises(InvalidInputError, match=said):
        managed.create_table_version({**request, **change})
    assert numbers(managed, "t") == [1]
    managed.create_table_version(request)
    assert numbers(managed, "t") == [1, 2]


def test_an_interrupted_commit_is_finished_by_the_next_reader(
    managed: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lance_namespace_impls.tables.manifests import ManifestFolder

    managed.create_table({"id": ["t"]}, ROWS)
    request = stage(managed, "t")
    with monkeypatch.context() as patched:

        def broken(self: ManifestFolder, staged: str) -> None:
            raise OSError("no space left on device")

        patched.setattr(ManifestFolder, "publish", broken)
        with pytest.warns(UserWarning, match="version 2 is committed, but its manifest .* final"):
            managed.create_table_version(request)
    assert Path("/" + request["manifest_path"]).exists()
    assert count(managed, "t") == 6
    assert not Path("/" + request["manifest_path"]).exists()
    assert (
        managed.describe_table_version({"id": ["t"], "version": 2}).version.manifest_path[-1] == "t"
    )


def test_a_staged_manifest_is_deleted_if_the_store_only_copied_it(
    managed: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lance_namespace_impls.tables.manifests import ManifestFolder

    def move(self: ManifestFolder, old: str, new: str, *, keep: bool) -> None:
        assert keep and self._local is not None
        shutil.copyfile(self._local / old, self._local / new)

    managed.create_table({"id": ["t"]}, ROWS)
    request = stage(managed, "t")
    monkeypatch.setattr(ManifestFolder, "_move", move)
    answer = managed.create_table_version(request)
    assert not Path("/" + request["manifest_path"]).exists()
    assert Path("/" + answer.version.manifest_path).exists()
    assert count(managed, "t") == 6


def test_deleted_versions_are_not_listed(managed: Namespace) -> None:
    managed.create_table({"id": ["t"]}, ROWS)
    for _ in range(4):
        managed.insert_into_table({"id": ["t"]}, ROWS)
    spans = [{"start_version": 2, "end_version": 4}]
    assert managed.batch_delete_table_versions({"id": ["t"], "ranges": spans}).deleted_count == 2
    assert numbers(managed, "t") == [1, 4, 5]
    managed.open_table(["t"]).cleanup_old_versions(versions=[4])  # bypasses the catalog
    assert numbers(managed, "t") == [1, 5]
    with pytest.raises(TableVersionNotFoundError, match="table t has no version 4"):
        managed.describe_table_version({"id": ["t"], "version": 4})
    with pytest.raises(InvalidInputError, match="is the latest"):
        managed.batch_delete_table_versions(
            {"id": ["t"], "ranges": [{"start_version": 5, "end_version": 6}]}
        )


def test_a_registered_table_keeps_its_versions(managed: Namespace, tmp_path: Path) -> None:
    place = str(tmp_path / "tables" / "data")
    for _ in range(3):
        lance.write_dataset(ROWS, place, mode="append")
    managed.register_table({"id": ["r"], "location": place})
    assert numbers(managed, "r") == [1, 2, 3]
    assert managed.count_table_rows({"id": ["r"], "version": 2}).count == 6
    managed.insert_into_table({"id": ["r"]}, ROWS)
    managed.rename_table({"id": ["r"], "new_table_name": "s"})
    assert numbers(managed, "s") == [1, 2, 3, 4]
    managed.deregister_table({"id": ["s"]})
    assert lance.dataset(place).count_rows() == 12


def test_concurrent_writers_lose_nothing(managed: Namespace) -> None:
    managed.create_table({"id": ["t"]}, ROWS)
    failures: list[Exception] = []

    def write() -> None:
        try:
            for _ in range(5):
                managed.insert_into_table({"id": ["t"]}, ROWS)
        except Exception as error:  # noqa: BLE001 any failure
            failures.append(error)

    writers = [threading.Thread(target=write) for _ in range(4)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert failures == []
    assert count(managed, "t") == 63
    assert numbers(managed, "t") == list(range(1, 22))


def test_only_one_writer_of_the_first_rows_wins(
    managed: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer commits when the rows of the first one are already in storage."""
    managed.declare_table({"id": ["t"]})
    commit = write.commit_onto

    def overtaken(*args: Any) -> int:
        managed.create_table_version(stage(managed, "t"))
        return commit(*args)

    monkeypatch.setattr(write, "commit_onto", overtaken)
    with pytest.raises(TableAlreadyExistsError, match="another writer created the table first"):
        managed.create_table({"id": ["t"]}, pa.table({"a": [9]}))
    assert count(managed, "t") == 3 and numbers(managed, "t") == [1]
    place = location(managed, "t")
    assert len(list((place / "data").iterdir())) == 1, "the loser's rows are still there"


# --- several tables in one commit


def test_a_batch_of_versions_is_atomic(managed: Namespace) -> None:
    for name in ("s", "t"):
        managed.create_table({"id": [name]}, ROWS)
    entries = [stage(managed, "s"), stage(managed, "t")]
    managed.insert_into_table({"id": ["t"]}, ROWS)
    with pytest.raises(ConcurrentModificationError, match="table t: version 2"):
        managed.batch_create_table_versions({"entries": entries})
    assert [Path("/" + entry["manifest_path"]).exists() for entry in entries] == [True, False]
    assert numbers(managed, "s") == [1]
    entries = [entries[0], stage(managed, "t")]
    answer = managed.batch_create_table_versions({"entries": entries})
    assert [each.version for each in answer.versions] == [2, 3]
    if "DescribeTransaction" in managed.list_operations({}).operations:
        assert managed.describe_transaction({"id": [answer.transaction_id]}).status == "Succeeded"
    with pytest.raises(InvalidInputError, match="table s occurs twice"):
        managed.batch_create_table_versions({"entries": [entries[0], entries[0]]})


def test_a_commit_of_several_tables_applies_every_step(managed: Namespace) -> None:
    managed.create_namespace({"id": ["ns"]})
    managed.create_table({"id": ["t"]}, ROWS)
    managed.insert_into_table({"id": ["t"]}, ROWS)
    managed.create_table({"id": ["old"]}, ROWS)
    answer = managed.batch_commit_tables(
        {
            "operations": [
                {"create_table_version": stage(managed, "t")},
                {
                    "delete_table_versions": {
                        "id": ["t"],
                        "ranges": [{"start_version": 1, "end_version": 2}],
                    }
                },
                {"deregister_table": {"id": ["old"]}},
                {"declare_table": {"id": ["ns", "new"], "properties": {"k": "v"}}},
            ]
        }
    )
    results = answer.results
    assert results[0].create_table_version.version.version == 3
    assert results[1].delete_table_versions.deleted_count == 1
    assert results[2].deregister_table.id == ["old"]
    assert results[3].declare_table.managed_versioning is True
    assert numbers(managed, "t") == [2, 3]
    assert list(managed.iter_tables()) == ["t"] and list(managed.iter_tables(["ns"])) == ["new"]
    assert managed.describe_table({"id": ["ns", "new"]}).properties == {"k": "v"}


@pytest.mark.parametrize(
    ("last", "error"),
    [
        ({"deregister_table": {"id": ["missing"]}}, TableNotFoundError),
        ({"create_table_version": {"id": ["s"], "version": 2, "manifest_path": "x"}}, InvalidInputError),
        ({"declare_table": {"id": ["no", "t"]}}, Exception),
        ({}, InvalidInputError),
    ],
)  # fmt: skip
def test_a_commit_of_several_tables_that_fails_changes_nothing(
    managed: Namespace, last: dict[str, Any], error: type[Exception]
) -> None:
    managed.create_table({"id": ["s"]}, ROWS)
    managed.create_table({"id": ["t"]}, ROWS)
    first = [
        {"create_table_version": stage(managed, "s")},
        {"declare_table": {"id": ["new"]}},
        {"deregister_table": {"id": ["t"]}},
    ]
    with pytest.raises(error):
        managed.batch_commit_tables({"operations": [*first, last]})
    assert list(managed.iter_tables()) == ["s", "t"]
    assert numbers(managed, "s") == [1]
    managed.batch_commit_tables({"operations": first})
    assert list(managed.iter_tables()) == ["new", "s"]
    assert numbers(managed, "s") == [1, 2]


@pytest.mark.requirement("general-066")
@pytest.mark.parametrize("managed", ["memory"], indirect=True)  # a manifest stores no transactions
def test_a_transaction_has_properties(managed: Namespace) -> None:
    managed.create_table({"id": ["t"]}, ROWS)
    name = managed.create_table_version(stage(managed, "t")).transaction_id
    set_owner = {"setPropertyAction": {"key": "owner", "value": "a"}}
    both = {"id": [name], "actions": [set_owner, {"setStatusAction": {"status": "succeeded"}}]}
    assert managed.alter_transaction(both).properties == {"owner": "a"}
    fail = {"setPropertyAction": {"key": "owner", "value": "b", "mode": "Fail"}}
    more = {"setPropertyAction": {"key": "more", "value": "b"}}
    with pytest.raises(ConcurrentModificationError, match="'owner' is already set"):
        managed.alter_transaction({"id": [name], "actions": [more, fail]})
    with pytest.raises(
        ConcurrentModificationError, match="has already ended with status Succeeded"
    ):
        managed.alter_transaction(
            {"id": [name], "actions": [{"setStatusAction": {"status": "Failed"}}]}
        )
    for wrong, said in (
        ([{}], "an action specifies no field; specify exactly one of setStatusAction, "),
        ([{**set_owner, **more, "setStatusAction": {"status": "succeeded"}}], "exactly one of"),
        ([{"setStatusAction": {"status": "Odd"}}], "unknown status 'Odd'; use one of Queued, "),
        ([{"setStatusAction": {}}], "unknown status None; use one of"),
        ([{"setPropertyAction": {}}], "has no property key"),
        ([{"unsetPropertyAction": {"key": ""}}], "has no property key"),
        ([{"setPropertyAction": {"key": "k"}}], "'k' has no value"),
        (
            [{"setPropertyAction": {"key": "k", "value": "", "mode": "Odd"}}],
            "unknown mode 'Odd'; use one of",
        ),
        (
            [{"unsetPropertyAction": {"key": "k", "mode": "Overwrite"}}],
            "unknown mode 'Overwrite'; use one of",
        ),
        ([more, {}], "an action specifies no field"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            managed.alter_transaction({"id": [name], "actions": wrong})
    with pytest.raises(InvalidInputError, match="at least one action"):
        managed.alter_transaction(AlterTransactionRequest(id=[name], actions=[]))
    for names in ([], [name, name]):
        with pytest.raises(InvalidInputError, match="is not a transaction identifier"):
            managed.alter_transaction({"id": names, "actions": [more]})
        with pytest.raises(InvalidInputError, match="is not a transaction identifier"):
            managed.describe_transaction({"id": names})
    assert managed.describe_transaction({"id": [name]}).properties == {"owner": "a"}
    kept = {"setPropertyAction": {"key": "owner", "value": "c", "mode": "Skip"}}
    assert managed.alter_transaction({"id": [name], "actions": [kept]}).properties == {"owner": "a"}
    again = {"setPropertyAction": {"key": "owner", "value": "d"}}
    changed = managed.alter_transaction({"id": [name], "actions": [again, more]})
    assert changed.properties == {"owner": "d", "more": "b"}
    assert changed.status == "Succeeded"
    gone = {"unsetPropertyAction": {"key": "more", "mode": "fail"}}
    managed.alter_transaction({"id": [name], "actions": [gone]})
    gone = {"unsetPropertyAction": {"key": "owner"}}
    assert managed.alter_transaction({"id": [name], "actions": [gone, gone]}).properties == {}
    never_there = {"unsetPropertyAction": {"key": "owner", "mode": "Fail"}}
    with pytest.raises(ConcurrentModificationError, match="'owner' is not set"):
        managed.alter_transaction({"id": [name], "actions": [never_there]})
    with pytest.raises(TransactionNotFoundError, match="transaction no does not exist"):
        managed.describe_transaction({"id": ["no"]})


@pytest.mark.parametrize("way", ["create_table_version", "batch_create_table_versions", "commit"])
def test_the_e_tag_and_metadata_of_a_commit_are_stored(managed: Namespace, way: str) -> None:
    managed.create_table({"id": ["t"]}, ROWS)
    version = stage(managed, "t") | {"e_tag": "e1", "metadata": {"k": "v"}}
    if way == "create_table_version":
        managed.create_table_version(version)
    elif way == "batch_create_table_versions":
        managed.batch_create_table_versions({"entries": [version]})
    else:
        declared = {"id": ["u"], "vend_credentials": False}
        steps = [{"create_table_version": version}, {"declare_table": declared}]
        answer = managed.batch_commit_tables({"operations": steps})
        assert answer.results[1].declare_table.storage_options is None
    found = managed.describe_table_version({"id": ["t"], "version": 2}).version
    assert (found.e_tag, found.metadata["k"]) == ("e1", "v")
    first = managed.describe_table_version({"id": ["t"], "version": 1}).version
    assert first.e_tag != "e1"
    assert "k" not in (first.metadata or {})


def test_a_commit_returns_the_response_of_each_operation(managed: Namespace) -> None:
    managed.create_table({"id": ["t"], "properties": {"k": "v"}}, ROWS)
    location = managed.describe_table({"id": ["t"]}).location
    steps = [
        {"declare_table": {"id": ["u"], "properties": {"of": "u"}}},
        {"deregister_table": {"id": ["t"]}},
    ]
    declared, deregistered = managed.batch_commit_tables({"operations": steps}).results
    there = managed.describe_table({"id": ["u"]})
    found = declared.declare_table
    assert (found.location, found.properties) == (there.location, {"of": "u"})
    assert (found.managed_versioning, there.managed_versioning) == (True, True)
    gone = deregistered.deregister_table
    assert (gone.id, gone.location, gone.properties) == (["t"], location, {"k": "v"})


def test_a_missing_version_is_not_found(managed: Namespace) -> None:
    managed.create_table({"id": ["t"]}, ROWS)
    for call in (
        lambda: managed.describe_table({"id": ["t"], "version": 3}),
        lambda: managed.count_table_rows({"id": ["t"], "version": 3}),
        lambda: managed.restore_table({"id": ["t"], "version": 3}),
    ):
        with pytest.raises(TableVersionNotFoundError, match="table t has no version 3"):
            call()
    with pytest.raises(TableNotFoundError, match="has no version 3"):
        managed.table_exists({"id": ["t"], "version": 3})
