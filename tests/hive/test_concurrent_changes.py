"""Acknowledged changes are stored, even with concurrent writers."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pymetastore.hive_metastore.ttypes import (
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    ShowLocksRequest,
    UnlockRequest,
)

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    ServiceUnavailableError,
    TableNotFoundError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.core.locks import object_lock
from tests.servers.hive import RELEASES, Metastore
from tests.servers.proxy import Proxy
from tests.writers import CHANGES, Work, change_from_everywhere, processes

from .conftest import FORMS, SECURE_FORMS, Form, parameters, unused

# One form per release is enough: both send the same calls.
RELEASE_FORMS = [form for form in FORMS if form[1] == "hive2" and form not in SECURE_FORMS]
# docs/hive.md documents a limit of Hive 4.0.1 on Derby: its lock service stalls if several machines
# request locks concurrently. One call holds a lock of the service and waits for a database row.
# Another call has written that row and waits for the service's lock. These tests use Derby, which
# is not a database for production.
MACHINE_FORMS = [form for form in RELEASE_FORMS if form[0] != "4.0"]
# The numbers of processes and of threads per process; the number of writers is always the same.
WRITERS = [(1, 4), (2, 2), (4, 1)]
ROUNDS = 20
HOLDER = """
import os, signal, sys
from lance_namespace_impls import connect
with connect("hive2", {"uri": sys.argv[1], "read_timeout": "5", "connect_timeout": "0.5"}) as hive:
    with hive._locked_for_change("AlterTable", (sys.argv[2], "t"), (sys.argv[2], "t")):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module", params=["processes"])
def writers(request: pytest.FixtureRequest) -> Iterator[ProcessPoolExecutor]:
    """Processes on one machine, or processes that act as if each ran on its own machine."""
    with processes(as_machines=request.param == "machines") as started:
        yield started


def held(form: Form, database: str) -> list[tuple[str, str]]:
    """Return the locks in a database."""
    found = form.metastore.connect().show_locks(ShowLocksRequest(database)).locks
    return [(each.dbname, each.tablename) for each in found if each.dbname == database]


def with_short_lock_timeout(namespace: Any) -> Any:
    """Return a namespace that waits only three seconds for a lock; other timeouts are unchanged."""
    namespace._locks._lock_timeout = 3.0
    return namespace


def take_lock(metastore: Metastore, database: str, table: str) -> int:
    """Take an exclusive lock on a table, as Hive does."""
    wanted = LockComponent(
        type=LockType.EXCLUSIVE, level=LockLevel.TABLE, dbname=database, tablename=table
    )
    answer = metastore.connect().lock(LockRequest([wanted], None, "hive", "elsewhere", "query 7"))
    return int(answer.lockid)


def work_on(form: Form, database: list[str], kind: str, round_: int = 0) -> Work:
    properties = form.metastore.properties(form.root)
    identifier = [*database, "t"] if kind == "table" else database
    return Work(form.impl, properties, f"alter_{kind}", identifier, round_)


def properties_of(form: Form, database: list[str], kind: str) -> set[str]:
    found: Any
    if kind == "table":
        found = form.namespace.describe_table({"id": [*database, "t"]})
    else:
        found = form.namespace.describe_namespace({"id": database})
    return set(found.properties or {})


@pytest.mark.parametrize("place", [("db", "t"), ("db",), ("cat", "db", "t")], ids=len)
def test_a_change_waits_for_local_changes_of_the_same_object(
    place: tuple[str, ...],
) -> None:
    """Hive ignores the case of names. No server is called before the local lock is acquired."""
    uri = "thrift://127.0.0.1:1"
    with connect("hive2", {"uri": uri, "read_timeout": "50ms", "locks": "false"}) as hive:
        other_case = tuple(name.upper() for name in place)
        with (
            object_lock(hive.config.uri[0], other_case),
            pytest.raises(ConcurrentModificationError, match=re.escape("$".join(place))),
            hive._locked_for_change("AlterTable", place, place),
        ):
            pytest.fail("two change it")
        with (
            object_lock(hive.config.uri[0], (*place[:-1], "other")),
            object_lock("thrift://127.0.0.1:2", place),
            hive._locked_for_change("AlterTable", place, place),
        ):
            pass


@pytest.mark.parametrize("kind", ["table", "namespace"])
@pytest.mark.parametrize(
    ("form", "writers"),
    [
        pytest.param(*each.values, writers, marks=each.marks, id=f"{each.id}-{writers}")
        for writers, forms in (("processes", FORMS), ("machines", MACHINE_FORMS))
        for each in parameters(forms)
    ],
    indirect=True,
)
def test_no_concurrent_change_is_lost(form: Form, writers: ProcessPoolExecutor, kind: str) -> None:
    database = form.database()
    form.namespace.declare_table({"id": [*database, "t"]})
    changed = change_from_everywhere(writers, work_on(form, database, kind))
    assert changed <= properties_of(form, database, kind)
    assert held(form, database[-1]) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "namespace"])
@pytest.mark.parametrize(
    ("form", "count", "threads", "as_machines"),
    [
        pytest.param(
            *form.values, *writers, apart, marks=form.marks, id=f"{form.id}-{writers[0]}-{where}"
        )
        for form in parameters(RELEASE_FORMS)
        for writers in WRITERS
        for where, apart in (("processes", False), ("machines", True))
        if not apart or (form.values[0] in MACHINE_FORMS and writers[0] > 1)
    ],
    indirect=["form"],
)
def test_no_change_is_lost_in_many_rounds(
    form: Form, kind: str, count: int, threads: int, as_machines: bool
) -> None:
    lost: list[int] = []
    with processes(count, as_machines=as_machines) as started:
        for round_ in range(ROUNDS):
            database = form.database()
            form.namespace.declare_table({"id": [*database, "t"]})
            work = work_on(form, database, kind, round_)
            changed = change_from_everywhere(started, work, count=count, threads=threads)
            lost.append(len(changed - properties_of(form, database, kind)))
    changes = count * threads * CHANGES
    print(
        f"\nHive {form.release}, {kind}, {count} {'machines' if as_machines else 'processes'} of "
        f"{threads} threads: {ROUNDS} rounds of "
        f"{changes} acknowledged changes, lost {sum(lost)} {lost}"
    )
    assert lost == [0] * ROUNDS


@pytest.mark.parametrize("form", parameters(RELEASE_FORMS), indirect=True)
def test_a_rename_loses_no_change(form: Form, writers: ProcessPoolExecutor) -> None:
    """A rename also writes the whole record."""
    database = form.database()
    names = ["t", "u"]
    form.namespace.declare_table({"id": [*database, "t"]})
    done: set[str] = set()
    ended = threading.Event()

    def rename() -> None:
        with form.connect() as other:
            while not ended.is_set():
                other.rename_table({"id": [*database, names[0]], "new_table_name": names[1]})
                names.reverse()

    renaming = threading.Thread(target=rename)
    renaming.start()
    try:
        for step in range(4):
            for name in ("t", "u") * 50:
                with suppress(TableNotFoundError):
                    request = {"id": [*database, name], "set_properties": {f"k{step}": "v"}}
                    form.namespace.alter_table(request)
                    done.add(f"k{step}")
                    break
    finally:
        ended.set()
        renaming.join(120)
    found = form.namespace.describe_table({"id": [*database, names[0]]}).properties or {}
    assert done
    assert done <= set(found)


@pytest.mark.parametrize("form", parameters(RELEASE_FORMS), indirect=True)
def test_a_change_waits_for_another_clients_lock(form: Form) -> None:
    database = form.database()
    table = {"id": [*database, "t"]}
    form.namespace.declare_table(table)
    change = {**table, "set_properties": {"k": "v"}}
    number = take_lock(form.metastore, database[-1], "t")
    with with_short_lock_timeout(form.connect()) as impatient:
        with pytest.raises(ConcurrentModificationError, match=r"hive on elsewhere \(query 7\)"):
            impatient.alter_table(change)
        with pytest.raises(ConcurrentModificationError, match=f"its lock {number} in"):
            impatient.rename_table({**table, "new_table_name": "u"})
    assert held(form, database[-1]) == [(database[-1], "t")]
    waiting = threading.Thread(target=form.namespace.alter_table, args=[change])
    waiting.start()
    while len(held(form, database[-1])) < 2:
        time.sleep(0.02)
    assert "k" not in properties_of(form, database, "table")
    form.metastore.connect().unlock(UnlockRequest(number))
    waiting.join(120)
    assert "k" in properties_of(form, database, "table")
    assert held(form, database[-1]) == []


@pytest.mark.parametrize("level", [1, -1], ids=["catalog", "database"])
@pytest.mark.parametrize("form", parameters([("3.1", "hive3")]), indirect=True)
def test_a_change_returns_its_own_result(
    form: Form, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    identifier = form.database()[: level if level > 0 else None]
    key = "catalog.description" if level > 0 else "k"
    bare: Any = form.namespace
    changing = bare._locked_for_change

    @contextmanager
    def then_change_again(*where: Any) -> Iterator[Any]:
        with changing(*where) as last:
            yield last
        monkeypatch.undo()
        with form.connect() as other:
            other.alter_namespace({"id": identifier, "set_properties": {key: "another's"}})

    monkeypatch.setattr(bare, "_locked_for_change", then_change_again)
    answer = form.namespace.alter_namespace({"id": identifier, "set_properties": {key: "mine"}})
    assert (answer.properties or {})[key] == "mine"
    assert (form.namespace.describe_namespace({"id": identifier}).properties or {})[
        key
    ] == "another's"


@pytest.mark.parametrize("form", parameters(RELEASE_FORMS), indirect=True)
def test_a_rejected_change_releases_its_lock(form: Form) -> None:
    database = form.database()
    table = {"id": [*database, "t"]}
    form.namespace.declare_table(table)
    with pytest.raises(InvalidInputError):
        form.namespace.alter_table({**table, "set_properties": {"EXTERNAL": "no"}})
    with pytest.raises(TableNotFoundError):
        form.namespace.alter_table({"id": [*database, "x"], "set_properties": {"k": "v"}})
    unset = ["database.location-uri"]
    with pytest.raises(InvalidInputError):
        form.namespace.alter_namespace({"id": database, "unset_properties": unset})
    assert held(form, database[-1]) == []


def test_names_longer_than_lock_names(form: Form) -> None:
    database = form.database()
    for name in ("t" * 256, "t" * 255 + "u"):
        place = f"{form.root}/{name[-1]}"
        form.namespace.declare_table({"id": [*database, name], "location": place})
        change = {"id": [*database, name], "set_properties": {"k": "v"}}
        assert (form.namespace.alter_table(change).properties or {})["k"] == "v"


def test_a_change_with_a_lost_response_keeps_its_lock(way: Proxy, tmp_path: Path) -> None:
    """The change may still be under way and could overwrite a later one."""
    root = {"root": str(tmp_path)}
    with (
        connect("hive2", {"uri": way.uri, **root}) as namespace,
        with_short_lock_timeout(
            connect("hive2", {"uri": f"thrift://127.0.0.1:{way.target}", **root})
        ) as other,
    ):
        database = unused("lost")
        table = {"id": [database, "t"]}
        namespace.create_namespace({"id": [database]})
        namespace.declare_table(table)
        bare: Any = namespace
        alter = bare._metastore.alter_table

        def lose(*arguments: Any) -> None:
            way.lose_replies = 1
            alter(*arguments)

        bare._metastore.alter_table = lose
        with pytest.raises(ServiceUnavailableError, match="the change may have been applied"):
            namespace.alter_table({**table, "set_properties": {"a": "1"}})
        with pytest.raises(ConcurrentModificationError, match="lance-namespace"):
            other.alter_table({**table, "set_properties": {"b": "1"}})
        other.alter_namespace({"id": [database], "set_properties": {"b": "1"}})


# --- locks that expire, and metastores without locks


@pytest.fixture(scope="module", params=["2.3", pytest.param("4.2", marks=pytest.mark.slow)])
def forgetful(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Metastore]:
    """A metastore whose locks expire after twelve seconds, and that does not remove them."""
    folder = tmp_path_factory.mktemp("forgetful")
    settings = {"hive.txn.timeout": "12s"}
    with Metastore(RELEASES[request.param], folder, settings=settings) as metastore:
        yield metastore


def with_short_timeouts(metastore: Metastore, root: Path, **more: str) -> Namespace:
    timeouts = {"read_timeout": "5", "connect_timeout": "0.5"}
    return connect("hive2", {"uri": metastore.uri, "root": str(root), **timeouts, **more})


def test_only_locks_of_killed_holders_are_removed(forgetful: Metastore, tmp_path: Path) -> None:
    """Other programs' locks are kept, even after they have expired."""
    plain = {"uri": forgetful.uri, "root": str(tmp_path)}
    database, foreign = unused("killed"), unused("foreign")
    with connect("hive2", {**plain, "locks": "false"}) as namespace:
        for each in (database, foreign):
            namespace.create_namespace({"id": [each]})
            namespace.declare_table({"id": [each, "t"]})
    number = take_lock(forgetful, foreign, "t")
    holder = [sys.executable, "-c", HOLDER, forgetful.uri, database]
    assert subprocess.run(holder, check=False).returncode == -signal.SIGKILL
    change = {"id": [database, "t"], "set_properties": {"k": "v"}}
    with with_short_timeouts(forgetful, tmp_path) as namespace:
        refused = 0
        deadline = time.monotonic() + 120
        while True:
            try:
                namespace.alter_table(change)
            except ConcurrentModificationError:
                refused += 1
                assert time.monotonic() < deadline
            else:
                break
        assert (namespace.describe_table({"id": [database, "t"]}).properties or {})["k"] == "v"
        # The other lock is older, so it has expired too.
        with pytest.raises(ConcurrentModificationError, match="query 7"):
            namespace.alter_table({"id": [foreign, "t"], "set_properties": {"k": "v"}})
    assert refused > 0
    for name, kept in ((database, []), (foreign, [number])):
        found = forgetful.connect().show_locks(ShowLocksRequest(name)).locks
        assert [each.lockid for each in found if each.dbname == name] == kept


def test_a_change_that_may_outlast_its_lock_is_rejected(
    forgetful: Metastore, tmp_path: Path
) -> None:
    database = unused("slow")
    said = r"keeps a lock for only 12 s; .*hive.txn.timeout"
    with with_short_timeouts(forgetful, tmp_path, read_timeout="60") as namespace:
        namespace.create_namespace({"id": [database]})
        namespace.declare_table({"id": [database, "t"]})
        with pytest.raises(InvalidInputError, match=said):
            namespace.alter_table({"id": [database, "t"], "set_properties": {"k": "v"}})
        with pytest.raises(InvalidInputError, match=said):
            namespace.alter_namespace({"id": [database], "set_properties": {"k": "v"}})


@pytest.mark.parametrize("release", ["2.3", pytest.param("4.2", marks=pytest.mark.slow)])
def test_a_metastore_without_a_lock_service(release: str, tmp_path: Path) -> None:
    root = str(tmp_path / "lake")
    with Metastore(RELEASES[release], tmp_path, locks=False) as metastore:
        with connect("hive2", {"uri": metastore.uri, "root": root}) as namespace:
            namespace.create_namespace({"id": ["d"]})
            namespace.declare_table({"id": ["d", "t"], "properties": {"before": "1"}})
            change = {"set_properties": {"k": "v"}}
            for call in (
                lambda: namespace.alter_table({"id": ["d", "t"], **change}),
                lambda: namespace.alter_namespace({"id": ["d"], **change}),
                lambda: namespace.rename_table({"id": ["d", "t"], "new_table_name": "u"}),
            ):
                with pytest.raises(UnsupportedError, match=r"schematool.*locks=false") as refused:
                    call()
                assert "\n" not in str(refused.value)
            kept = namespace.describe_table({"id": ["d", "t"]}).properties
            assert kept == {"before": "1", "table_type": "lance"}
        with connect("hive2", {"uri": metastore.uri, "root": root, "locks": "false"}) as alone:
            alone.alter_namespace({"id": ["d"], **change})
            assert (alone.alter_table({"id": ["d", "t"], **change}).properties or {})["k"] == "v"
            alone.rename_table({"id": ["d", "t"], "new_table_name": "u"})
            alone.table_exists({"id": ["d", "u"]})
