"""The metastore's calls, on whichever release answers.

Hive 4 has dropped calls that Hive 2 and 3 rely on, and Hive 2 lacks those that took their place.
Where a call has two forms, the newer one is tried first; that a metastore does not know it is
remembered for its connection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pymetastore.hive_metastore.ttypes import (
    AlterCatalogRequest,
    Catalog,
    CheckLockRequest,
    CreateCatalogRequest,
    Database,
    DataOperationType,
    DropCatalogRequest,
    EnvironmentContext,
    GetCatalogRequest,
    GetTableRequest,
    GetTablesRequest,
    HeartbeatRequest,
    InvalidOperationException,
    LockComponent,
    LockLevel,
    LockRequest,
    LockResponse,
    LockType,
    MetaException,
    ShowLocksRequest,
    ShowLocksResponseElement,
    Table,
    UnlockRequest,
)
from thrift.Thrift import TApplicationException, TException

from lance_namespace_client.errors import UnsupportedError

from ..core.instrumentation import upstream_call
from .config import HiveConfig
from .pool import Connection, Pool
from .records import NO_STATISTICS

__all__ = ["Metastore", "settable"]

# Writers use any case for the type. Which tables are external the metastore decides by their
# parameter when it stores them: Hive 2 takes TRUE alone, Hive 3 any case.
TYPE = "hive_filter_field_params__table_type"
LANCE_FILTER = f'{TYPE} like "(?i)lance"'
EXTERNAL_FILTER = {
    False: 'hive_filter_field_params__EXTERNAL = "TRUE"',
    True: 'hive_filter_field_params__EXTERNAL like "(?i)true"',
}
USUAL_CASE_FILTER = f'{TYPE} = "lance"'
OTHER_CASE_FILTER = f'{LANCE_FILTER} and {TYPE} <> "lance"'

# Lengths of time as the metastore's settings have them, with their units in seconds.
_LENGTH_OF_TIME = re.compile(r"(\d+)\s*(ms|us|ns|d|h|m|s|)(?:ay|our|in|ec)?")
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1, "": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def settable(error: TException) -> TException:
    """Return an exception of the bindings, which takes attributes from now on.

    Theirs take none, and a context manager that one passes through sets its traceback.
    """
    kind: Any = type(error)
    object.__setattr__(error, "__class__", _mutable(kind))
    return error


@cache
def _mutable(kind: type[TException]) -> type[TException]:
    """Return a class of exceptions like `kind` whose attributes can be set."""
    plain = {"__setattr__": Exception.__setattr__, "__delattr__": Exception.__delattr__}
    return type(kind.__name__, (kind,), {**plain, "__module__": kind.__module__})


class Metastore:
    """A Hive Metastore.

    Methods raise the Thrift exceptions that the metastore answers with, and `UnreachableError`
    where it does not answer. A catalog of None is the metastore's default one.

    Args:
        config: where it is and how to talk to it.
        with_catalogs: whether catalogs are going to be named. Hive 2 ignores them without a word,
            so a metastore that has none is refused then.
    """

    def __init__(self, config: HiveConfig, *, with_catalogs: bool) -> None:
        self._user = config.user()
        self._with_catalogs = with_catalogs
        self._pool = Pool(
            config.hosts(),
            config.pool_size,
            connect_timeout=config.connect_timeout,
            read_timeout=config.read_timeout,
            greet=self._greet,
        )

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _greet(self, connection: Connection) -> None:
        if self._user is not None:
            connection.client.set_ugi(*self._user)
        if self._with_catalogs and not _has_catalogs(connection):
            raise UnsupportedError(
                f"the metastore {connection.host} is older than Hive 3 and has no catalogs; "
                "use impl hive2"
            )

    def _ask(self, work: Callable[[Connection], Any]) -> Any:
        return self._run(work, repeatable=True)

    def _change(self, work: Callable[[Any], Any]) -> None:
        self._run(lambda connection: work(connection.client), repeatable=False)

    def _run(self, work: Callable[[Connection], Any], *, repeatable: bool) -> Any:
        with upstream_call("hive", "read" if repeatable else "change"):
            try:
                return self._pool.run(work, repeatable=repeatable)
            except TException as error:
                settable(error)
                raise

    def has_catalogs(self) -> bool:
        """Return whether it is Hive 3 or newer; Hive 2 does not know the call for catalogs."""
        return bool(self._ask(_has_catalogs))

    def ping(self) -> None:
        """Raise unless it answers."""
        self._ask(lambda on: on.client.get_config_value("hive.metastore.uris", ""))

    # --- catalogs

    def catalog_names(self) -> list[str]:
        """List the catalogs."""
        return list(self._ask(lambda on: on.client.get_catalogs()).names)

    def catalog(self, name: str) -> Catalog:
        """Look a catalog up (NoSuchObjectException)."""
        return self._ask(lambda on: on.client.get_catalog(GetCatalogRequest(name))).catalog

    def create_catalog(self, catalog: Catalog) -> None:
        """Create a catalog (AlreadyExistsException)."""
        self._change(lambda client: client.create_catalog(CreateCatalogRequest(catalog)))

    def alter_catalog(self, catalog: Catalog) -> None:
        """Change a catalog's description and location."""
        self._change(
            lambda client: client.alter_catalog(AlterCatalogRequest(catalog.name, catalog))
        )

    def drop_catalog(self, name: str) -> None:
        """Drop a catalog; the metastore deletes its location and its database ``default``."""
        self._change(lambda client: client.drop_catalog(DropCatalogRequest(name)))

    # --- databases

    def database_names(self, catalog: str | None) -> list[str]:
        """List the databases; of a catalog that is not there, none."""
        if catalog is None:
            return list(self._ask(lambda on: on.client.get_all_databases()))
        return list(self._ask(lambda on: on.client.get_databases(_within(catalog, "*"))))

    def database(self, catalog: str | None, name: str) -> Database:
        """Look a database up (NoSuchObjectException)."""
        return self._ask(lambda on: on.client.get_database(_within(catalog, name)))

    def create_database(self, database: Database) -> None:
        """Create a database (AlreadyExistsException; InvalidObjectException without its catalog)."""
        self._change(lambda client: client.create_database(database))

    def alter_database(self, catalog: str | None, database: Database) -> None:
        """Change a database; all of it is written."""
        name = _within(catalog, database.name)
        self._change(lambda client: client.alter_database(name, database))

    def drop_database(self, catalog: str | None, name: str, *, cascade: bool) -> None:
        """Drop a database and leave all data (InvalidOperationException: it is not empty)."""
        self._change(lambda client: client.drop_database(_within(catalog, name), False, cascade))

    # --- tables

    def table_names(self, catalog: str | None, database: str) -> list[str]:
        """List everything in a database that is a table or view; of a missing database, nothing."""
        return list(self._ask(lambda on: on.client.get_all_tables(_within(catalog, database))))

    def lance_table_names(self, catalog: str | None, database: str) -> list[str] | None:
        """List the external tables with ``table_type=lance``; None where it cannot filter."""
        name = _within(catalog, database)

        def filtered(on: Connection, wanted: str) -> list[str]:
            return list(_first_known(on, ("get_table_names_by_filter", (name, wanted, -1))))

        def names(on: Connection) -> list[str]:
            external = EXTERNAL_FILTER[_has_catalogs(on)]
            if _has_catalogs(on):
                return filtered(on, f"{LANCE_FILTER} and {external}")
            # Hive 2 takes several times as long where one question holds both. Hardly ever is there
            # a type in another case, and that is quickly known.
            found = set(filtered(on, f"{USUAL_CASE_FILTER} and {external}"))
            if filtered(on, OTHER_CASE_FILTER):
                found |= set(filtered(on, f"{OTHER_CASE_FILTER} and {external}"))
            return list(found)

        try:
            return list(self._ask(names))
        except (MetaException, InvalidOperationException):
            return None
        except TApplicationException as error:
            if error.type != TApplicationException.UNKNOWN_METHOD:
                raise
            return None

    def table(self, catalog: str | None, database: str, name: str) -> Table:
        """Look a table up (NoSuchObjectException)."""
        request = GetTableRequest(database, name, catName=catalog)
        answer = self._ask(
            lambda on: _first_known(
                on,
                ("get_table_req", (request,)),
                ("get_table", (_within(catalog, database), name)),
            )
        )
        return getattr(answer, "table", answer)

    def tables(self, catalog: str | None, database: str, names: Sequence[str]) -> list[Table]:
        """Look several tables up; those that are not there are left out (UnknownDBException)."""
        request = GetTablesRequest(dbName=database, tblNames=list(names), catName=catalog)
        answer = self._ask(
            lambda on: _first_known(
                on,
                ("get_table_objects_by_name_req", (request,)),
                ("get_table_objects_by_name", (_within(catalog, database), list(names))),
            )
        )
        return list(getattr(answer, "tables", answer))

    def create_table(self, table: Table) -> None:
        """Create a table (AlreadyExistsException; InvalidObjectException without its database)."""
        self._change(lambda client: client.create_table(table))

    def alter_table(
        self,
        catalog: str | None,
        database: str,
        name: str,
        table: Table,
        expected: tuple[str, str] | None = None,
    ) -> None:
        """Change or rename a table; all of it is written.

        Args:
            catalog: the table's catalog.
            database: the table's database.
            name: the table's name until now.
            table: what it becomes.
            expected: a parameter that must still have this value, else MetaException. Hive 2.3.10
                and 4 look at it, 3.1 does not.
        """
        properties = {NO_STATISTICS: "true"}
        if expected is not None:
            properties["expected_parameter_key"], properties["expected_parameter_value"] = expected
        context = EnvironmentContext(properties=properties)
        where = _within(catalog, database)
        self._change(
            lambda client: client.alter_table_with_environment_context(where, name, table, context)
        )

    def drop_table(self, catalog: str | None, database: str, name: str) -> None:
        """Drop a table and leave its data (NoSuchObjectException)."""
        self._change(lambda client: client.drop_table(_within(catalog, database), name, False))

    # --- locks

    def lock(self, place: tuple[str, str], holder: tuple[str, str], mark: str) -> LockResponse:
        """Ask for the lock that excludes all others from a table; it may have to be waited for.

        Args:
            place: database and table, which need not be there.
            holder: user and host, to be shown to others.
            mark: agent, to be shown to others.
        """
        component = LockComponent(
            type=LockType.EXCLUSIVE,
            level=LockLevel.TABLE,
            dbname=place[0],
            tablename=place[1],
            operationType=DataOperationType.NO_TXN,
        )
        request = LockRequest([component], None, *holder, mark)
        return self._pool.run(lambda on: on.client.lock(request), repeatable=False)

    def check_lock(self, number: int) -> LockResponse:
        """Ask whether a lock is held by now (NoSuchLockException)."""
        return self._ask(lambda on: on.client.check_lock(CheckLockRequest(number)))

    def heartbeat(self, number: int) -> None:
        """Report that a lock's holder is alive (NoSuchLockException)."""
        self._ask(lambda on: on.client.heartbeat(HeartbeatRequest(number)))

    def unlock(self, number: int) -> None:
        """Release a lock, if it is there."""
        self._ask(lambda on: on.client.unlock(UnlockRequest(number)))

    def locks(self, place: tuple[str, str]) -> list[ShowLocksResponseElement]:
        """List those who hold a table's lock or wait for it."""
        found = self._ask(lambda on: on.client.show_locks(ShowLocksRequest(*place))).locks
        return [each for each in found if (each.dbname, each.tablename) == place]

    def lock_seconds(self) -> float:
        """Ask how long a lock lasts after the last that was heard of its holder."""
        text = self._ask(lambda on: on.client.get_config_value("hive.txn.timeout", "300s"))
        found = _LENGTH_OF_TIME.fullmatch(text.strip().lower())
        if found is None:
            raise UnsupportedError(
                f"the metastore's hive.txn.timeout={text!r} is no length of time"
            )
        return float(found[1]) * _SECONDS[found[2]]


def _within(catalog: str | None, name: str) -> str:
    """Write the name of a database as calls without a field for the catalog take it."""
    return name if catalog is None else f"@{catalog}#{name}"


def _has_catalogs(connection: Connection) -> bool:
    """Ask, once a connection, whether the metastore is Hive 3 or newer."""
    if connection.has_catalogs is None:
        try:
            connection.client.get_catalogs()
            connection.has_catalogs = True
        except TApplicationException as error:
            if error.type != TApplicationException.UNKNOWN_METHOD:
                raise
            connection.has_catalogs = False
    return connection.has_catalogs


def _first_known(connection: Connection, *forms: tuple[str, tuple[Any, ...]]) -> Any:
    """Call the first of several methods that the metastore knows."""
    for method, arguments in forms:
        if method in connection.lacks:
            continue
        try:
            return getattr(connection.client, method)(*arguments)
        except TApplicationException as error:
            if error.type != TApplicationException.UNKNOWN_METHOD:
                raise
            connection.lacks.add(method)
    names = " or ".join(method for method, _ in forms)
    raise TApplicationException(
        TApplicationException.UNKNOWN_METHOD,
        f"the metastore {connection.host} does not know the call {names}",
    )
