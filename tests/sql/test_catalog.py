"""Requirements for a catalog in a database that the behavior suite does not cover."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy import delete, insert, update

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableNotFoundError,
    TransactionNotFoundError,
)
from lance_namespace_impls.sql import SqlNamespace, initialize, versions
from lance_namespace_impls.sql.database import Database
from lance_namespace_impls.sql.schema import objects, transactions

from ..behaviour import cut_off
from ..catalog.staging import stage

ROWS = pa.table({"a": [1]})

# Run in a separate process, because the test process has threads and a fork of it may hang.
FORKED = """
import json, os, signal, sys
from lance_namespace_impls.sql import SqlNamespace

with SqlNamespace.from_properties(json.loads(sys.argv[1])) as catalog:
    catalog.create_namespace({"id": ["ns"]})
    engine = catalog._database.engine
    kept = engine.pool.checkedin()
    assert kept
    for closes_first in (True, False):
        child = os.fork()
        if child == 0:
            signal.alarm(300)
            if closes_first:
                catalog.close()
                assert engine.pool.checkedin() == kept
            assert catalog._database.engine is not engine
            assert catalog.list_namespaces({}).namespaces == ["ns"]
            catalog.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert catalog.list_namespaces({}).namespaces == ["ns"]
        assert catalog._database.engine is engine
"""


def test_names_are_compared_exactly(catalog: SqlNamespace) -> None:
    names = [
        *("A", "a", "a ", " a", "ä", "a\u0308", "Z", "z", "_", "%", "ß", "SS"),
        "\U0001f600",
        "\uffff",
    ]
    for name in names:
        catalog.create_namespace({"id": [name]})
        catalog.declare_table({"id": [name, name]})
    assert list(catalog.iter_namespaces(page_size=3)) == sorted(names)
    for name in names:
        assert list(catalog.iter_tables([name])) == [name]
    with pytest.raises(NamespaceNotFoundError):
        catalog.describe_namespace({"id": ["A "]})


@pytest.mark.parametrize("name", ["nul\0", "half\ud800"])
def test_names_that_a_database_cannot_store_are_rejected(catalog: SqlNamespace, name: str) -> None:
    for call in (
        lambda: catalog.create_namespace({"id": [name]}),
        lambda: catalog.declare_table({"id": [name]}),
        lambda: catalog.rename_table({"id": ["t"], "new_table_name": name}),
        lambda: catalog.rename_table(
            {"id": ["t"], "new_namespace_id": [name], "new_table_name": "u"}
        ),
    ):
        with pytest.raises(InvalidInputError, match="a database cannot store the name"):
            call()


def test_a_long_name_is_stored_or_rejected(catalog: SqlNamespace) -> None:
    name = "".join(f"{number:x}" for number in range(20000))
    try:
        catalog.create_namespace({"id": [name]})
    except InvalidInputError as error:
        assert "too long" in str(error)
    else:
        assert list(catalog.iter_namespaces()) == [name]


def test_namespaces_can_be_nested_to_any_depth(catalog: SqlNamespace) -> None:
    path: list[str] = []
    for level in range(100):
        path.append(f"n{level}")
        catalog.create_namespace({"id": path})
    catalog.declare_table({"id": [*path, "t"]})
    assert catalog.list_all_tables({}).tables == ["$".join([*path, "t"])]
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace({"id": path[:1]})
    catalog.drop_namespace({"id": path[:1], "behavior": "Cascade"})
    assert list(catalog.iter_namespaces()) == []
    with pytest.raises(TableNotFoundError):
        catalog.describe_table({"id": [*path, "t"]})


def test_a_closed_catalog_can_be_used_again(catalog: SqlNamespace) -> None:
    catalog.create_namespace({"id": ["ns"]})
    for _ in range(2):
        catalog.close()
        catalog.close()
        assert catalog.list_namespaces({}).namespaces == ["ns"]


def test_a_forked_process_connects_for_itself(properties: dict[str, str]) -> None:
    """It closes its own connections, but not those of its parent process."""
    subprocess.run([sys.executable, "-c", FORKED, json.dumps(properties)], check=True, timeout=600)


@pytest.mark.parametrize("depth", [1, 6, 7, 12, 13])
def test_a_table_has_no_children_at_any_depth(catalog: SqlNamespace, depth: int) -> None:
    path = [f"n{level}" for level in range(depth)]
    for level in range(1, depth):
        catalog.create_namespace({"id": path[:level]})
    catalog.declare_table({"id": path})
    assert catalog.describe_table({"id": path}).table == path[-1]
    for below in ([*path, "x"], [*path, "x", "y"]):
        with pytest.raises(TableNotFoundError):
            catalog.describe_table({"id": below})
        with pytest.raises(NamespaceNotFoundError):
            catalog.create_namespace({"id": below})
        with pytest.raises(NamespaceNotFoundError):
            catalog.list_tables({"id": below})


@pytest.mark.parametrize("count", [199, 200, 201])
def test_a_listing_read_in_pages_is_complete(tmp_path: Path, count: int) -> None:
    """Pages have 200 rows, then four times as many."""
    properties = {"uri": str(tmp_path / "catalog.db")}
    initialize(properties)
    names = [f"n{number:04}" for number in range(count)]
    with SqlNamespace.from_properties(properties) as catalog:
        rows = [
            {"parent_id": 1, "name": name, "kind": "n", "managed": False, "properties": "{}"}
            for name in names
        ]
        with catalog._database.writing() as connection:
            connection.execute(insert(objects), rows)
        assert catalog.list_namespaces({}).namespaces == names
        assert list(catalog.iter_namespaces(page_size=67)) == names


def at_once(count: int, call: Any) -> list[Any]:
    """Call a function from several threads simultaneously; return the results or error codes."""
    answers: list[Any] = []
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        gate.wait()
        try:
            answers.append(call(number))
        except LanceNamespaceError as error:
            answers.append(int(error.code))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return answers


def test_one_of_several_creations_of_a_name_succeeds(catalog: SqlNamespace) -> None:
    for number in range(5):
        name = [f"n{number}"]
        found = at_once(
            6,
            lambda turn, name=name: (
                catalog.create_namespace({"id": name})
                if turn % 2
                else catalog.declare_table({"id": name})
            ),
        )
        assert sum(not isinstance(each, int) for each in found) == 1
        assert {each for each in found if isinstance(each, int)} <= {2, 5}


def test_nothing_remains_in_a_namespace_dropped_concurrently(catalog: SqlNamespace) -> None:
    for _ in range(8):
        catalog.create_namespace({"id": ["ns"]})

        def act(turn: int) -> Any:
            if turn == 0:
                return catalog.drop_namespace({"id": ["ns"]})
            return catalog.declare_table({"id": ["ns", f"t{turn}"]})

        found = at_once(4, act)
        codes = {each for each in found if isinstance(each, int)}
        assert codes <= {1, 3}
        left = list(catalog.iter_namespaces())
        if 1 in codes:
            assert left == [] and catalog.list_all_tables({}).tables == []
        catalog.drop_namespace({"id": ["ns"], "behavior": "Cascade", "mode": "Skip"})


def test_no_change_of_properties_is_lost(catalog: SqlNamespace) -> None:
    catalog.create_namespace({"id": ["ns"]})
    catalog.declare_table({"id": ["ns", "t"]})
    at_once(
        8,
        lambda turn: (
            catalog.alter_namespace({"id": ["ns"], "set_properties": {str(turn): "x"}}),
            catalog.alter_table({"id": ["ns", "t"], "set_properties": {str(turn): "x"}}),
        ),
    )
    wanted = {str(turn): "x" for turn in range(8)}
    assert catalog.describe_namespace({"id": ["ns"]}).properties == wanted
    assert catalog.describe_table({"id": ["ns", "t"]}).properties == wanted


def test_the_location_of_a_managed_table_is_not_shared(properties: dict[str, str]) -> None:
    with SqlNamespace.from_properties({**properties, "managed": "true"}) as catalog:
        place = catalog.create_table({"id": ["t"]}, ROWS).location
        for choice in ("true", "false"):
            request = {"id": ["u"], "location": place, "properties": {"managed_versioning": choice}}
            with pytest.raises(InvalidInputError, match="the table 't' uses that location"):
                catalog.register_table(request)
        catalog.rename_table({"id": ["t"], "new_table_name": "u"})
        catalog.insert_into_table({"id": ["u"]}, ROWS)
        assert catalog.count_table_rows({"id": ["u"]}).count == 2


def test_old_transactions_are_deleted(properties: dict[str, str]) -> None:
    with SqlNamespace.from_properties({**properties, "managed": "true"}) as catalog:
        catalog.create_table({"id": ["t"]}, ROWS)
        old = catalog.create_table_version(stage(catalog, "t")).transaction_id
        young = catalog.create_table_version(stage(catalog, "t")).transaction_id
        month = 30 * 86_400_000
        for transaction, days in ((old, month + 60_000), (young, month - 600_000)):
            change = update(transactions).where(transactions.c.id == transaction)
            values = {"created_millis": transactions.c.created_millis - days}
            with catalog._database.writing() as connection:
                connection.execute(change.values(values))
        assert catalog.describe_transaction({"id": [old]}).status == "Succeeded"
        catalog.insert_into_table({"id": ["t"]}, ROWS)
        assert catalog.describe_transaction({"id": [young]}).status == "Succeeded"
        with pytest.raises(TransactionNotFoundError):
            catalog.describe_transaction({"id": [old]})


def test_only_the_owner_can_access_a_new_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        initialize({"uri": str(tmp_path / "catalog.db")})
        with SqlNamespace.from_properties({"uri": str(tmp_path / "catalog.db")}) as catalog:
            catalog.create_namespace({"id": ["ns"]})
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["catalog.db", "catalog.db-shm", "catalog.db-wal"], 0o600)


def test_tables_need_a_location(properties: dict[str, str]) -> None:
    bare = {"uri": properties["uri"]}
    with SqlNamespace.from_properties(bare) as catalog:
        if "://" not in bare["uri"]:
            assert catalog.declare_table({"id": ["t"]}).location.endswith("/catalog.tables/t")
            return
        with pytest.raises(
            InvalidInputError, match=r"needs a location: specify one, or set .* 'root'"
        ):
            catalog.declare_table({"id": ["t"]})


def test_a_commit_has_exclusive_access_to_an_existing_table(properties: dict[str, str]) -> None:
    with SqlNamespace.from_properties(properties | {"managed": "true"}) as catalog:
        catalog.create_table({"id": ["t"]}, ROWS)
        entry = catalog.load_table(("t",))
        store = catalog.version_store
        assert store is not None
        entered = threading.Event()

        def commit_as_well() -> None:
            with store.exclusively(entry):
                entered.set()

        other = threading.Thread(target=commit_as_well, daemon=True)
        with store.exclusively(entry):
            other.start()
            assert not entered.wait(0.3), "two had it at once"
        other.join(300)
        assert entered.is_set()
        catalog.drop_table({"id": ["t"]})
        with pytest.raises(TableNotFoundError), store.exclusively(entry):
            pytest.fail("the table is gone")


@pytest.mark.parametrize("count", [1, 2, 5])
def test_versions_are_complete_and_ordered_across_pages(
    properties: dict[str, str], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(versions, "_PAGE", 2)
    with SqlNamespace.from_properties(properties | {"managed": "true"}) as catalog:
        catalog.create_table({"id": ["t"]}, ROWS)
        for _ in range(count - 1):
            catalog.insert_into_table({"id": ["t"]}, ROWS)
        entry, store = catalog.load_table(("t",)), catalog.version_store
        assert store is not None

        def numbers(after: int | None, descending: bool) -> list[int]:
            return [each.version for each in store.versions(entry, None, after, descending)]

        every = list(range(1, count + 1))
        assert numbers(None, False) == every
        assert numbers(None, True) == every[::-1]
        for after in every:
            assert numbers(after, False) == every[after:]
            assert numbers(after, True) == every[: after - 1][::-1]


def test_the_revision_of_a_database_is_read_once(
    properties: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    revision = Database.revision

    def noted(database: Database, connection: Any) -> str | None:
        asked.append(database)
        return revision(database, connection)

    monkeypatch.setattr(Database, "revision", noted)
    with SqlNamespace.from_properties(properties) as catalog:
        for _ in range(3):
            catalog.list_tables({"id": []})
    assert len(asked) == 1


# --- drops that are killed


def remove_row(catalog: SqlNamespace) -> None:
    """Delete the row of a table with plain SQL."""
    statement = delete(objects).where(objects.c.name == "t")
    with catalog._database.engine.begin() as connection:
        assert connection.execute(statement).rowcount == 1


@pytest.mark.parametrize("cut", cut_off.CUTS)
def test_data_remains_if_sql_deletes_a_table_whose_drop_was_killed(
    catalog: SqlNamespace, cut: str
) -> None:
    cut_off.check_data_is_kept(catalog, ["t"], cut, lambda: remove_row(catalog))


def test_a_killed_deletion_is_resumed(catalog: SqlNamespace) -> None:
    cut_off.check_drop_is_resumed(catalog, ["t"], lambda: remove_row(catalog))
