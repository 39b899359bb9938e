"""Several clients create one object concurrently: one succeeds, and its data is kept."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pymetastore.hive_metastore.ttypes import (
    Database,
    InvalidObjectException,
    MetaException,
    NoSuchObjectException,
    Table,
)
from thrift.Thrift import TApplicationException

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    TableAlreadyExistsError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.hive.client import Metastore as Client
from lance_namespace_impls.hive.client import settable
from tests.servers.s3 import GuardedS3

from .conftest import Form

CREATORS = 6
ANSWERS = [
    settable(MetaException("JDODataStoreException: Insert of object failed, told by the test")),
    TApplicationException(TApplicationException.INTERNAL_ERROR, "told by the test"),
]
Make = Callable[..., Any]


def creatable_objects(form: Form) -> list[tuple[str, Make, list[str]]]:
    """Return each kind of object to create: the client's call, the operation, an identifier."""
    name = f"n{uuid.uuid4().hex}"
    found: list[tuple[str, Make, list[str]]] = [
        ("create_table", form.namespace.declare_table, [*form.database(), name]),
        ("create_database", form.namespace.create_namespace, [*form.above, name]),
    ]
    if form.above:
        found.append(("create_catalog", form.namespace.create_namespace, [name]))
    return found


def at_once(make: Callable[[int], object]) -> tuple[list[int], list[LanceNamespaceError]]:
    """Run a call in several threads concurrently; return the winners and the others' errors."""
    together = threading.Barrier(CREATORS)
    winners: list[int] = []
    failures: list[LanceNamespaceError] = []

    def run(number: int) -> None:
        together.wait(300)
        try:
            make(number)
        except LanceNamespaceError as error:
            failures.append(error)
        else:
            winners.append(number)

    threads = [threading.Thread(target=run, args=[number]) for number in range(CREATORS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return winners, failures


def test_one_client_declares_a_table_and_keeps_its_data(form: Form) -> None:
    database = form.database()
    with form.connect(**{"client.pool-size": str(CREATORS)}) as namespace:

        def declare_and_write(number: int) -> None:
            place = namespace.declare_table({"id": [*database, "t"]}).location
            Path(str(place), "row").write_text(str(number))

        winners, failures = at_once(declare_and_write)
    (winner,) = winners
    assert [type(each) for each in failures] == [TableAlreadyExistsError] * (CREATORS - 1)
    assert form.root.joinpath(*database, "t", "row").read_text() == str(winner)


def test_one_client_creates_a_table_and_keeps_its_rows(form: Form) -> None:
    table = {"id": [*form.database(), "t"]}
    with form.connect(**{"client.pool-size": str(CREATORS)}) as namespace:
        winners, failures = at_once(
            lambda number: namespace.create_table(table, pa.table({"x": [number] * (number + 1)}))
        )
    (winner,) = winners
    assert [type(each) for each in failures] == [TableAlreadyExistsError] * (CREATORS - 1)
    assert form.namespace.count_table_rows(table).count == winner + 1


def test_one_client_creates_a_namespace_and_keeps_its_data(form: Form) -> None:
    for _, create, identifier in creatable_objects(form)[1:]:

        def make_and_write(number: int, make: Make = create, names: list[str] = identifier) -> None:
            make({"id": names})
            form.root.joinpath(*names, "row").write_text(str(number))

        winners, failures = at_once(make_and_write)
        (winner,) = winners
        assert [type(each) for each in failures] == [NamespaceAlreadyExistsError] * (CREATORS - 1)
        assert form.root.joinpath(*identifier, "row").read_text() == str(winner)


def test_the_folder_is_created_before_the_metastore_is_called(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    for client_call, create, identifier in creatable_objects(form):
        folder = form.root.joinpath(*identifier)
        seen: list[bool] = []

        def look(
            client: Client, record: object, folder: Path = folder, seen: list[bool] = seen
        ) -> None:
            seen.append(folder.is_dir())
            raise settable(InvalidObjectException("refused by the test"))

        monkeypatch.setattr(Client, client_call, look)
        with pytest.raises(InvalidInputError, match="refused by the test"):
            create({"id": identifier})
        assert seen == [True]
        assert not folder.exists()
        monkeypatch.undo()


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_concurrently_created_object_already_exists(
    form: Form, answer: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    for client_call, create, identifier in creatable_objects(form):
        store = getattr(Client, client_call)

        def lose_the_race(client: Client, record: object, store: Make = store) -> None:
            store(client, record)
            raise answer

        monkeypatch.setattr(Client, client_call, lose_the_race)
        is_table = client_call == "create_table"
        with pytest.raises(TableAlreadyExistsError if is_table else NamespaceAlreadyExistsError):
            create({"id": identifier})
        assert form.root.joinpath(*identifier).is_dir()
        monkeypatch.undo()


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_failed_creation_reports_its_error(
    form: Form, answer: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(client: Client, record: object) -> None:
        raise answer

    for client_call, create, identifier in creatable_objects(form):
        monkeypatch.setattr(Client, client_call, fail)
        with pytest.raises(InternalError, match="told by the test"):
            create({"id": identifier})
        monkeypatch.undo()


def test_an_existing_table_gets_no_second_folder(form: Form) -> None:
    table = [*form.database(), "t"]
    form.namespace.declare_table({"id": table, "location": str(form.root / "elsewhere")})
    with pytest.raises(TableAlreadyExistsError):
        form.namespace.declare_table({"id": table})
    assert not form.root.joinpath(*table).exists()


@pytest.fixture
def s3() -> Iterator[GuardedS3]:
    with GuardedS3() as running:
        yield running


@pytest.mark.s3
def test_a_reservation_creates_the_folder_on_an_object_store(
    s3: GuardedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the metastore, a folder exists if an object is stored in it."""
    stored: list[Table] = []
    there: list[set[str]] = []

    def store(client: Client, table: Table) -> None:
        there.append(s3.objects())
        stored.append(table)

    def look_up(client: Client, *name: object) -> Table:
        if not stored:
            raise NoSuchObjectException("t")
        return stored[0]

    home = Database(name="d", locationUri=f"s3a://{s3.bucket}/d", parameters={})
    monkeypatch.setattr(Client, "database", lambda client, catalog, name: home)
    monkeypatch.setattr(Client, "table", look_up)
    monkeypatch.setattr(Client, "create_table", store)
    monkeypatch.setattr(Client, "drop_table", lambda client, *name: stored.clear())
    options = {f"storage.{key}": value for key, value in s3.options().items()}
    with connect("hive2", {"root": "/none", **options}) as namespace:
        namespace.create_table({"id": ["d", "t"]}, pa.table({"x": [1, 2]}))
        assert there == [{"d/t/.lance-reserved"}]
        assert namespace.count_table_rows({"id": ["d", "t"]}).count == 2
        with pytest.raises(LanceNamespaceError) as raised:
            namespace.create_table({"id": ["d", "t"]}, pa.table({"x": [3]}))
        assert raised.value.code == 5
        namespace.drop_table({"id": ["d", "t"]})
        assert s3.objects() == set()


# --- names


def test_the_longest_names(form: Form) -> None:
    database = [*form.above, "d" * 128]
    form.namespace.create_namespace({"id": database})
    table = [*database, "t" * 256]
    form.namespace.declare_table({"id": table, "location": str(form.root / "t")})
    assert form.namespace.list_tables({"id": database}).tables == ["t" * 256]
    form.namespace.drop_namespace({"id": database, "behavior": "CASCADE"})
    if form.above:
        form.namespace.create_namespace(
            {
                "id": ["c" * 256],
                "properties": {"catalog.location-uri": str(form.root / "c")},
            }
        )
        form.namespace.drop_namespace({"id": ["c" * 256]})


def test_longer_names_are_rejected_before_the_metastore_is_called(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(client: Client, work: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(Client, "_read", never)
    monkeypatch.setattr(Client, "_change", never)
    database = [*form.above, "d"]
    long_table, long_database = "t" * 257, "d" * 129
    calls: list[tuple[Callable[[Any], Any], dict[str, Any]]] = [
        (form.namespace.create_namespace, {"id": [*form.above, long_database]}),
        (form.namespace.declare_table, {"id": [*database, long_table]}),
        (form.namespace.describe_table, {"id": [*form.above, long_database, "t"]}),
        (form.namespace.rename_table, {"id": [*database, "t"], "new_table_name": long_table}),
    ]
    if form.above:
        calls.append((form.namespace.create_namespace, {"id": ["c" * 257]}))
    for call, request in calls:
        with pytest.raises(InvalidInputError, match=r"has (129|257) characters") as raised:
            call(request)
        assert raised.value.code == 13
