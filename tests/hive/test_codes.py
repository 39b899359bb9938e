"""The translation of a metastore's failures, and the requests sent to it; no server is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pymetastore.hive_metastore import ttypes
from pymetastore.hive_metastore.ttypes import Catalog, Database, EnvironmentContext, Table
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TTransportException

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableNotFoundError,
    UnauthenticatedError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.hive import HiveConfig, base, records
from lance_namespace_impls.hive.client import Metastore, settable
from lance_namespace_impls.hive.errors import error_text, from_metastore
from lance_namespace_impls.hive.locks import Lock, Locks
from lance_namespace_impls.hive.pool import UnreachableError

UNKNOWN = TApplicationException.UNKNOWN_METHOD


def meta(text: str) -> TException:
    return ttypes.MetaException(text)


ANSWERS: list[tuple[BaseException, type[LanceNamespaceError], str]] = [
    (UnreachableError("nobody there"), ServiceUnavailableError, "nobody there"),
    *(
        (meta(text), PermissionDeniedError, text)
        for text in (
            "org.apache.hadoop.security.AccessControlException: no", "Permission denied: user=ann",
            "permission denied", "ann is not authorized", "No privilege 'Select' found",
            "ann does not have privilege", "ann does not have the privilege",
            "AuthorizationException: no",
        )
    ),
    *(
        (meta(text), UnauthenticatedError, text)
        for text in ("GSS initiate failed", "Unauthenticated", "unauthenticated", "Invalid credentials",
                     "Invalid token")
    ),
    (meta("The table has been modified."), ConcurrentModificationError, "The table has been modified."),
    *(
        (meta(text), InvalidInputError, text)
        for text in ("Can not drop hive catalog", "Tables cannot be moved", "t is not a valid object name",
                     "java.net.URISyntaxException: x")
    ),
    # The beginnings of messages from metastore 2.3.10 about a table on S3.
    (meta("Got exception: java.nio.file.AccessDeniedException s3://b/t: getFileStatus on s3://b/t"),
     PermissionDeniedError,
     "Got exception: java.nio.file.AccessDeniedException s3://b/t: getFileStatus on s3://b/t"),
    (meta("Got exception: java.net.ConnectException getFileStatus on s3://b/t: Connection refused"),
     ServiceUnavailableError,
     "Got exception: java.net.ConnectException getFileStatus on s3://b/t: Connection refused"),
    (TApplicationException(UNKNOWN, "Invalid method name: 'x'"), UnsupportedError,
     "Invalid method name: 'x'"),
    (TApplicationException(UNKNOWN, "m does not support the call x"), UnsupportedError,
     "m does not support the call x"),
    (ttypes.InvalidObjectException("odd"), InvalidInputError, "odd"),
    (ttypes.InvalidInputException("odd"), InvalidInputError, "odd"),
    (ttypes.InvalidOperationException("odd"), InternalError, "odd"),
    (meta("two\nlines"), InternalError, "two lines"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "kind", "text"), ANSWERS, ids=[row[2] for row in ANSWERS])
def test_errors_of_a_metastore_are_translated(
    error: BaseException, kind: type[LanceNamespaceError], text: str
) -> None:
    found = from_metastore(error, "DescribeTable d$t")
    assert type(found) is kind
    assert found.message == f"DescribeTable d$t: {text}"
    assert error_text(error) == text


@pytest.mark.parametrize("error", [KeyError("has been modified"), OSError("Permission denied")])
def test_errors_from_elsewhere_are_not_translated(error: Exception) -> None:
    assert from_metastore(error, "x") is None


def test_an_error_without_text_is_named_by_its_type() -> None:
    found = from_metastore(ttypes.InvalidObjectException(), "x")
    assert isinstance(found, InvalidInputError)
    assert "InvalidObjectException" in found.message


# --- changes, on a fake metastore

NAMESPACE = {"hive2": "d", "hive3": "c"}


class Told:
    """Replaces the metastore's responses and records the order of the calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.refusals: list[TException] = []
        self.expected: list[object] = []
        self.is_there = True
        self._monkeypatch = monkeypatch
        self.answer("table", lambda *_: self._table())
        self.answer("alter_table", self._alter_table)
        self.answer("has_catalogs", lambda: True)
        home = {"locationUri": "file:/lake/d", "parameters": {}}
        self.answer("database", lambda *_: Database(name="d", **home))
        self.answer("alter_database", lambda *_: None)
        self.answer("catalog", lambda *_: Catalog(name="c", locationUri="file:/lake/c"))
        self.answer("alter_catalog", lambda *_: None)

    def answer(self, call: str, how: Callable[..., Any]) -> None:
        def answered(client: Metastore, *given: Any, **named: Any) -> Any:
            self.asked.append(call)
            return how(*given, **named)

        self._monkeypatch.setattr(Metastore, call, answered)

    def _table(self) -> Table:
        if not self.is_there:
            raise settable(ttypes.NoSuchObjectException("t"))
        table = records.new_table(None, "d", "t", "/lake/d/t", {"old": "1"}, None)
        table.parameters[records.CHANGED] = "17"
        return table

    def _alter_table(self, *given: Any) -> None:
        self.expected.append(given[4] if len(given) > 4 else None)
        if self.refusals:
            raise self.refusals.pop(0)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    return Told(monkeypatch)


CHANGE = {"id": ["d", "t"], "set_properties": {"new": "2"}}
MODIFIED = "The table has been modified. The parameter value is 'x'"


@pytest.mark.parametrize("times", [0, 1, 9])
def test_a_conflicting_change_is_retried(told: Told, times: int) -> None:
    told.refusals = [settable(meta(MODIFIED)) for _ in range(times)]
    with connect("hive2", {"locks": "false"}) as namespace:
        answer = namespace.alter_table(CHANGE)
    assert answer.properties == {"old": "1", "new": "2", "table_type": "lance"}
    assert told.expected == [(records.CHANGED, "17")] * (times + 1)


def test_a_change_that_always_conflicts_fails(told: Told) -> None:
    told.refusals = [settable(meta(MODIFIED)) for _ in range(99)]
    with (
        connect("hive2", {"locks": "false"}) as namespace,
        pytest.raises(ConcurrentModificationError, match="has been modified"),
    ):
        namespace.alter_table(CHANGE)
    assert len(told.expected) == base.ALTER_TRIES == 10


@pytest.mark.parametrize("kind", [ttypes.MetaException, ttypes.InvalidOperationException])
def test_a_rejected_change_is_not_retried(told: Told, kind: type[TException]) -> None:
    told.refusals = [settable(kind("no such thing"))]
    with (
        connect("hive2", {"locks": "false"}) as namespace,
        pytest.raises(InternalError, match="no such thing"),
    ):
        namespace.alter_table(CHANGE)
    assert len(told.expected) == 1


def test_a_table_deleted_before_a_change_is_missing(told: Told) -> None:
    def alter(*given: Any) -> None:
        told.is_there = False
        raise settable(meta("no such table"))

    told.answer("alter_table", alter)
    with connect("hive2", {"locks": "false"}) as namespace, pytest.raises(TableNotFoundError):
        namespace.alter_table(CHANGE)


@pytest.mark.parametrize("goes", [True, False])
def test_a_database_deleted_before_a_change_is_missing(told: Told, goes: bool) -> None:
    here = Database(name="d", locationUri="file:/lake/d", parameters={})
    gone = settable(ttypes.NoSuchObjectException("d"))

    def database(*_: Any) -> Database:
        if goes and "alter_database" in told.asked:
            raise gone
        return here

    def alter(*_: Any) -> None:
        raise settable(meta("the warehouse is full"))

    told.answer("database", database)
    told.answer("alter_database", alter)
    expected = NamespaceNotFoundError if goes else InternalError
    said = "namespace d does not exist" if goes else "the warehouse is full"
    with connect("hive2", {"locks": "false"}) as namespace, pytest.raises(expected, match=said):
        namespace.alter_namespace({"id": ["d"], "set_properties": {"k": "v"}})


CHANGES: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "a table": ("hive2", lambda ns: ns.alter_table(CHANGE), "alter_table"),
    "a database": (
        "hive2",
        lambda ns: ns.alter_namespace({"id": ["d"], "set_properties": {"k": "v"}}),
        "alter_database",
    ),
    "a catalog": (
        "hive3",
        lambda ns: ns.alter_namespace({"id": ["c"], "set_properties": {"catalog.description": "v"}}),
        "alter_catalog",
    ),
    "a name": (
        "hive2",
        lambda ns: ns.move_table(ns.load_table(("d", "t")), ("d", "u")),
        "alter_table",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_lock_is_renewed_right_before_a_change(
    told: Told, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Reading may take long, and the lock must last until the change is made."""
    impl: Any
    impl, change, call = CHANGES[what]

    @contextmanager
    def acquired(locks: Locks, what: str, place: object) -> Iterator[Lock]:
        told.asked.append("lock")
        yield Lock(7, what, 0.0)
        told.asked.append("unlock")

    monkeypatch.setattr(Locks, "acquired", acquired)
    monkeypatch.setattr(Locks, "renew", lambda locks, lock: told.asked.append(f"renew {lock.id}"))
    with connect(impl, {}) as namespace:
        change(namespace)
    at = told.asked.index(call)
    assert told.asked[at - 1] == "renew 7"
    assert "lock" in told.asked[: at - 1]
    assert "unlock" in told.asked[at:]


def test_a_failed_catalog_drop_restores_the_default_database(told: Told) -> None:
    left = ["default"]
    made: list[Database] = []
    places: list[str] = []
    told.answer("database_names", lambda *_: list(left))
    told.answer("drop_database", lambda *_, **__: left.clear())
    told.answer("table_names", lambda *_: [])
    told.answer("alter_catalog", lambda catalog: places.append(catalog.locationUri))
    told.answer("create_database", made.append)

    def fail(name: str) -> None:
        raise settable(meta("it cannot be"))

    told.answer("drop_catalog", fail)
    with connect("hive3", {}) as namespace, pytest.raises(InternalError, match="it cannot be"):
        namespace.drop_namespace({"id": ["c"]})
    assert places[0].startswith("file:/lake/c/.dropped-")
    assert places[1:] == ["file:/lake/c"]
    (database,) = made
    assert (database.name, database.catalogName) == ("default", "c")
    assert (database.locationUri, database.parameters) == ("file:/lake/c", {})
    assert database.description == "Default database for catalog c"


@pytest.mark.parametrize("behavior", ["RESTRICT", "CASCADE"])
@pytest.mark.parametrize(
    "answer", [None, ttypes.NoSuchObjectException, ttypes.MetaException, ttypes.InvalidOperationException]
)  # fmt: skip
def test_a_cascade_drops_each_table_before_the_database(
    told: Told, behavior: str, answer: type[TException] | None
) -> None:
    """A table that no longer exists, or that a view depends on, does not stop the cascade."""
    dropped: list[tuple[Any, ...]] = []

    def drop_table(*given: Any) -> None:
        dropped.append(given)
        if answer is not None:
            raise settable(answer("told by the test"))

    told.answer("table_names", lambda *_: ["t", "u"])
    told.answer("drop_table", drop_table)
    told.answer("drop_database", lambda *given, cascade: dropped.append((*given, cascade)))
    with connect("hive2", {}) as namespace:
        namespace.drop_namespace({"id": ["d"], "behavior": behavior})
    is_cascade = behavior == "CASCADE"
    tables = [(None, "d", "t"), (None, "d", "u")] if is_cascade else []
    assert dropped == [*tables, (None, "d", is_cascade)]


# --- requests


@pytest.mark.parametrize("expected", [None, ("transient_lastDdlTime", "17")])
@pytest.mark.parametrize(("catalog", "where"), [(None, "d"), ("c", "@c#d")])
def test_request_of_a_table_change(
    monkeypatch: pytest.MonkeyPatch,
    expected: tuple[str, str] | None,
    catalog: str | None,
    where: str,
) -> None:
    sent: list[Any] = []

    class Client:
        def alter_table_with_environment_context(self, *given: Any) -> None:
            sent.extend(given)

    monkeypatch.setattr(Metastore, "_change", lambda metastore, work: work(Client()))
    table = records.new_table(catalog, "d", "u", "/lake/d/t", {}, None)
    metastore = Metastore(HiveConfig.from_properties({}), with_catalogs=False)
    metastore.alter_table(catalog, "d", "t", table, expected)
    context = {"DO_NOT_UPDATE_STATS": "true"}
    if expected is not None:
        context |= {"expected_parameter_key": expected[0], "expected_parameter_value": expected[1]}
    assert sent == [where, "t", table, EnvironmentContext(properties=context)]


@pytest.mark.parametrize(
    ("error", "is_told"),
    [
        (TApplicationException(UNKNOWN, "Invalid method name"), True),
        (TApplicationException(TApplicationException.INTERNAL_ERROR, "out of memory"), False),
        (TApplicationException(TApplicationException.MISSING_RESULT, "nothing"), False),
    ],
)
def test_only_an_unknown_call_means_no_catalogs(
    monkeypatch: pytest.MonkeyPatch, error: TApplicationException, is_told: bool
) -> None:
    class Connection:
        has_catalogs: bool | None = None
        asked = 0

        @property
        def client(self) -> Connection:
            return self

        def get_catalogs(self) -> None:
            self.asked += 1
            raise error

    connection = Connection()
    monkeypatch.setattr(Metastore, "_read", lambda metastore, work: work(connection))
    metastore = Metastore(HiveConfig.from_properties({}), with_catalogs=False)
    for _ in range(2):
        if is_told:
            assert metastore.has_catalogs() is False
        else:
            with pytest.raises(TApplicationException):
                metastore.has_catalogs()
    assert connection.asked == (1 if is_told else 2)


@pytest.mark.parametrize(
    ("error", "is_unable"),
    [
        (ttypes.MetaException("no filter"), True),
        (ttypes.InvalidOperationException("no filter"), True),
        (TApplicationException(UNKNOWN, "Invalid method name"), True),
        (TApplicationException(TApplicationException.INTERNAL_ERROR, "out of memory"), False),
        (ttypes.UnknownDBException("d"), False),
        (TTransportException(TTransportException.END_OF_FILE), False),
        (TProtocolException(TProtocolException.BAD_VERSION), False),
    ],
)
def test_only_a_rejected_filter_disables_filtering(
    monkeypatch: pytest.MonkeyPatch, error: TException, is_unable: bool
) -> None:
    def ask(metastore: Metastore, work: object) -> None:
        raise settable(error)

    monkeypatch.setattr(Metastore, "_read", ask)
    metastore = Metastore(HiveConfig.from_properties({}), with_catalogs=False)
    if is_unable:
        assert metastore.lance_table_names(None, "d") is None
    else:
        with pytest.raises(type(error)):
            metastore.lance_table_names(None, "d")
