"""`sync` mirrors the tables of one catalog in another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.capabilities import Capabilities
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.maintenance import Mirror, Selection, SyncRow, sync
from lance_namespace_impls.memory import MemoryConfig, MemoryNamespace
from tests.cli.lakes import run
from tests.spark.jobs.lakes import nested, put

TEN = pa.table({"a": range(10), "s": ["x"] * 10})


@attrs.define(kw_only=True)
class NarrowConfig(MemoryConfig):
    impl: ClassVar[str] = "narrow"


class NarrowNamespace(MemoryNamespace):
    """A catalog with one level and lower-case names, which cannot alter a table."""

    config_type = NarrowConfig
    capabilities = Capabilities(
        namespace_depth=1,
        table_depth=1,
        lowercase_names=True,
        unsupported={"AlterTable": "it has no way"},
    )


@pytest.fixture
def source(tmp_path: Path) -> Namespace:
    namespace = nested(tmp_path / "source")
    put(namespace, ["plain"], TEN)
    put(namespace, ["sales", "orders"], TEN)
    namespace.alter_table({"id": ["sales", "orders"], "set_properties": {"owner": "ana"}})
    namespace.create_namespace({"id": ["sales", "eu"], "properties": {"region": "eu"}})
    namespace.declare_table({"id": ["sales", "eu", "later"]})
    return namespace


@pytest.fixture
def target(tmp_path: Path) -> Namespace:
    return nested(tmp_path / "target")


def steps(rows: Any) -> dict[str, str]:
    return {"$".join(row.id): row.step for row in rows}


def problems(rows: Any) -> list[str]:
    return [row.problem for row in rows if row.problem is not None]


def test_tables_are_registered_and_a_second_run_has_nothing_to_do(
    source: Namespace, target: Namespace
) -> None:
    expected = {
        "sales": "create_namespace",
        "sales$eu": "create_namespace",
        "plain": "register",
        "sales$orders": "register",
        "sales$eu$later": "declare",
    }
    assert steps(sync(source, target, dry_run=True)) == expected
    assert list(target.iter_namespaces()) == list(target.iter_tables()) == []
    rows = sync(source, target)
    assert steps(rows) == expected
    assert all(row.done and row.problem is None for row in rows)
    for table in (["plain"], ["sales", "orders"], ["sales", "eu", "later"]):
        ours, theirs = (each.describe_table({"id": table}) for each in (source, target))
        assert (ours.location, ours.properties) == (theirs.location, theirs.properties)
    assert target.describe_namespace({"id": ["sales", "eu"]}).properties == {"region": "eu"}
    again = sync(source, target)
    assert set(steps(again).values()) == {"none"}
    assert not any(row.done for row in again)


def test_differing_tables_are_altered_moved_and_pruned(
    source: Namespace, target: Namespace, tmp_path: Path
) -> None:
    sync(source, target)
    target.alter_table({"id": ["sales", "orders"], "set_properties": {"owner": "bob", "own": "1"}})
    target.deregister_table({"id": ["plain"]})
    elsewhere = put(nested(tmp_path / "other"), ["plain"], TEN)
    target.register_table({"id": ["plain"], "location": elsewhere.uri})
    put(target, ["sales", "theirs"], TEN)
    rows = sync(source, target)
    assert steps(rows) == {
        "plain": "move",
        "sales$orders": "alter",
        "sales$eu$later": "none",
        "sales$theirs": "only_at_target",
    }
    assert problems(rows) == []
    assert target.describe_table({"id": ["sales", "orders"]}).properties == {
        "owner": "ana",
        "own": "1",
    }
    pruned = sync(source, target, Mirror(prune=True))
    assert steps(pruned)["sales$theirs"] == "deregister"
    assert sorted(target.iter_tables(["sales"])) == ["orders"]
    theirs = tmp_path / "target" / "sales" / "theirs"
    assert list(theirs.parent.glob("theirs*/data/*.lance")), "pruning deleted data"


def test_a_selection_is_synced_into_a_namespace_of_the_target(
    source: Namespace, target: Namespace
) -> None:
    put(target, ["main", "orders2"], TEN)
    mirror = Mirror(
        selection=Selection(under=["sales"], patterns=["sales$or*"]), into=["main"], prune=True
    )
    assert steps(sync(source, target, mirror)) == {
        "main$orders": "register",
        "main$orders2": "deregister",
    }
    assert list(target.iter_tables(["main"])) == ["orders"]
    with pytest.raises(NamespaceNotFoundError):
        sync(source, target, Mirror(selection=Selection(under=["nowhere"])))


def test_losses_are_reported_before_any_change(source: Namespace, tmp_path: Path) -> None:
    put(source, ["sales", "eu", "Orders"], TEN)
    narrow = NarrowNamespace.from_properties({"root": str(tmp_path / "narrow")})
    plain = sync(source, narrow, dry_run=True)
    assert {"$".join(row.id): row.problem is not None for row in plain} == {
        "sales": False,
        "plain": True,
        "sales$orders": False,
        "sales$eu$later": True,
        "sales$eu$orders": True,
    }
    assert all("namespace levels above a table" in problem for problem in problems(plain))
    mirror = Mirror(flatten="_", into=["lake"])
    found = {row.source: row for row in sync(source, narrow, mirror, dry_run=True)}
    assert found["plain",].lost == ()
    assert found["sales", "eu", "Orders"].id == ("lake", "sales_eu_orders")
    assert found["sales", "eu", "Orders"].lost == (
        "uppercase letters in lake$sales$eu$Orders",
        "namespace levels of lake$sales$eu$orders",
    )
    with pytest.raises(InvalidInputError, match=r"3 tables would lose.*nothing was changed"):
        sync(source, narrow, mirror)
    assert list(narrow.iter_namespaces()) == []
    rows = sync(source, narrow, mirror, accept_losses=True)
    assert problems(rows) == []
    assert sorted(narrow.iter_tables(["lake"])) == [
        "plain",
        "sales_eu_later",
        "sales_eu_orders",
        "sales_orders",
    ]
    assert set(steps(sync(source, narrow, mirror)).values()) == {"none"}


def test_two_tables_with_one_name_are_both_rejected(source: Namespace, tmp_path: Path) -> None:
    put(source, ["sales", "ORDERS"], TEN)
    narrow = NarrowNamespace.from_properties({"root": str(tmp_path / "narrow")})
    mirror = Mirror(selection=Selection(patterns=["sales$?????s", "sales$?????S"]))
    rows = sync(source, narrow, mirror, accept_losses=True)
    both = {("sales", "orders"), ("sales", "ORDERS")}
    assert [row.step for row in rows if row.source in both] == ["refuse", "refuse"]
    assert "2 tables would have this name" in problems(rows)[0]
    assert list(narrow.iter_tables(["sales"])) == []


def test_a_catalog_that_cannot_alter_a_table_registers_it_again(
    source: Namespace, tmp_path: Path
) -> None:
    narrow = NarrowNamespace.from_properties({"root": str(tmp_path / "narrow")})
    mirror = Mirror(selection=Selection(patterns=["sales$orders"]))
    sync(source, narrow, mirror)
    source.alter_table({"id": ["sales", "orders"], "set_properties": {"owner": "eve"}})
    with pytest.raises(UnsupportedError):
        narrow.alter_table({"id": ["sales", "orders"], "set_properties": {"owner": "x"}})
    rows = sync(source, narrow, mirror)
    assert (steps(rows), problems(rows)) == ({"sales$orders": "alter"}, [])
    assert narrow.describe_table({"id": ["sales", "orders"]}).properties == {"owner": "eve"}


def test_data_is_copied_with_its_indices_and_stays_independent(
    source: Namespace, tmp_path: Path
) -> None:
    dataset = source.open_table(["plain"])
    dataset.create_scalar_index("a", "BTREE")
    dataset.tags.create("first", 1)
    flat = connect("dir", {"path": str(tmp_path / "flat")})
    refused = sync(source, flat, Mirror(selection=Selection(patterns=["plain"])), dry_run=True)
    assert "copy the data" in problems(refused)[0]
    mirror = Mirror(copy_data=True, flatten=".")
    with pytest.raises(InvalidInputError, match="tags first"):
        sync(source, flat, Mirror(selection=Selection(patterns=["plain"]), copy_data=True))
    rows = sync(source, flat, mirror, accept_losses=True)
    assert (sorted(set(steps(rows).values())), problems(rows)) == (["copy", "declare"], [])
    copied = flat.open_table(["plain"])
    assert copied.count_rows() == 10
    assert [index.name for index in copied.describe_indices()] == ["a_idx"]
    assert str(tmp_path / "flat") in copied.uri
    assert set(steps(sync(source, flat, mirror)).values()) == {"none"}
    source.open_table(["plain"]).delete("a = 1")
    assert flat.open_table(["plain"]).count_rows() == 10
    stale = sync(source, flat, mirror)
    assert "drop the table in the target to copy it again" in problems(stale)[0]
    assert flat.open_table(["plain"]).count_rows() == 10


def test_a_copy_fills_a_table_that_is_only_declared(
    source: Namespace, target: Namespace, tmp_path: Path
) -> None:
    target.declare_table({"id": ["plain"]})
    mirror = Mirror(selection=Selection(patterns=["plain"]), copy_data=True)
    rows = sync(source, target, mirror)
    assert (steps(rows), problems(rows)) == ({"plain": "copy"}, [])
    assert target.open_table(["plain"]).to_table() == TEN
    assert str(tmp_path / "target") in target.open_table(["plain"]).uri


def test_a_copy_that_fails_leaves_no_table(
    source: Namespace, target: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import lance

    def fail(self: Any, path: str, *args: Any, **more: Any) -> Any:
        Path(path, "data").mkdir(parents=True)
        raise OSError("the disk is full")

    monkeypatch.setattr(lance.LanceDataset, "deep_clone", fail)
    mirror = Mirror(selection=Selection(patterns=["plain"]), copy_data=True)
    rows = sync(source, target, mirror)
    assert "the disk is full" in problems(rows)[0]
    assert list(target.iter_tables()) == []
    monkeypatch.undo()
    assert problems(sync(source, target, mirror)) == []


def test_a_failed_table_does_not_block_the_others(
    source: Namespace, target: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = type(target).register_table

    def register(self: Namespace, request: Any) -> Any:
        if request["id"] == ["plain"]:
            raise TableAlreadyExistsError("plain was made by someone else")
        return real(self, request)

    monkeypatch.setattr(type(target), "register_table", register)
    rows: dict[tuple[str, ...], SyncRow] = {row.id: row for row in sync(source, target)}
    assert rows["plain",].code == 5 and not rows["plain",].done
    assert rows["sales", "orders"].done
    monkeypatch.undo()
    assert steps(sync(source, target))["plain"] == "register"


def test_the_check_finds_a_concurrent_change(
    source: Namespace, target: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = type(target).register_table

    def register(self: Namespace, request: Any) -> Any:
        answer = real(self, request)
        self.alter_table({"id": request["id"], "unset_properties": ["owner"]})
        return answer

    monkeypatch.setattr(type(target), "register_table", register)
    rows = {row.id: row for row in sync(source, target)}
    assert rows["sales", "orders"].code == 14
    assert "alter" in str(rows["sales", "orders"].problem)


def test_the_command_shows_the_difference_and_ends_with_1_on_problems(
    source: Namespace, tmp_path: Path
) -> None:
    options = ["--impl", "memory", "-p", f"root={tmp_path / 'source'}"]
    to = ["--to-impl", "memory", "-P", f"root={tmp_path / 'target'}"]
    dry = run("sync", *options, *to, "--dry-run").stdout
    assert "5 to do" in dry and dry.endswith("nothing was changed (--dry-run)\n")
    done = json.loads(run("sync", *options, *to, "--json").stdout)
    assert done["summary"] == {
        "as_it_should_be": 0,
        "only_at_target": 0,
        "done": 5,
        "to_do": 0,
        "problems": 0,
    }
    assert run("sync", *options, *to).stdout.startswith("3 as it should be")
    assert "--to-impl" in run("sync", *options, status=2).stderr
    flat = ["--to-impl", "dir", "-P", f"path={tmp_path / 'flat'}"]
    refused = CliRunner().invoke(app, ["sync", *options, *flat])
    assert refused.exit_code == Status.NOT_DONE
    assert "13: a directory catalog contains only tables below its own path" in refused.stdout
