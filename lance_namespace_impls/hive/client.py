"""The calls of the metastore, for all supported releases.

Hive 4 has removed calls that Hive 2 and 3 rely on, and Hive 2 lacks their replacements. If a call
has two forms, the newer one is tried first; the connection remembers which calls the metastore does
not support.
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

# Writers spell the table type in any case. The metastore uses the EXTERNAL parameter to determine
# which tables are external; Hive 2 accepts only TRUE, and Hive 3 accepts any case.
TYPE = "hive_filter_field_params__table_type"
LANCE_FILTER = f'{TYPE} like "(?i)lance"'
EXTERNAL_FILTER = {
    False: 'hive_filter_field_params__EXTERNAL = "TRUE"',
    True: 'hive_filter_field_params__EXTERNAL like "(?i)true"',
}
USUAL_CASE_FILTER = f'{TYPE} = "lance"'
OTHER_CASE_FILTER = f'{LANCE_FILTER} and {TYPE} <> "lance"'

# Units of durations in the metastore's settings, each with its length in seconds.
_LENGTH_OF_TIME = re.compile(r"(\d+)\s*(ms|us|ns|d|h|m|s|)(?:ay|our|in|ec)?")
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1, "": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def settable(error: TException) -> TException:
    """Return a mutable copy of an exception of the Thrift bindings.

    The exceptions of the bindings are immutable, but context managers set the traceback of
    exceptions that pass through them.
    """
    kind: Any = type(error)
    object.__setattr__(error, "__class__", _mutable(kind))
    return error


@cache
def _mutable(kind: type[TException]) -> type[TException]:
    """Return a subclass of the exception class `kind` whose attributes can be set."""
    plain = {"__setattr__": Exception.__setattr__, "__delattr__": Exception.__delattr__}
    return type(kind.__name__, (kind,), {**plain, "__module__": kind.__module__})


class Metastore:
    """A Hive Metastore.

    Methods raise the metastore's Thrift exceptions, or `UnreachableError` if the metastore does not
    respond. A catalog of None means the metastore's default catalog.

    Args:
        config: address and connection settings.
        with_catalogs: whether calls specify catalogs. Hive 2 silently ignores catalogs, so a
            metastore without catalogs is then rejected.
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
            access=config.access(),
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

    def _read(self, work: Callable[[Connection], Any]) -> Any:
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
        """Return whether the metastore is Hive 3 or newer; Hive 2 has no call for catalogs."""
        return bool(self._read(_has_catalogs))

    def ping(self) -> None:
        """Raise an exception if the metastore does not respond."""
        self._read(lambda on: on.client.get_config_value("hive.metastore.uris", ""))

    # --- catalogs

    def catalog_names(self) -> list[str]:
        """List the catalogs."""
        return list(self._read(lambda on: on.client.get_catalogs()).names)

    def catalog(self, name: str) -> Catalog:
        """Return a catalog, or raise NoSuchObjectException."""
        return self._read(lambda on: on.client.get_catalog(GetCatalogRequest(name))).catalog

    def create_catalog(self, catalog: Catalog) -> None:
        """Create a catalog, or raise AlreadyExistsException."""
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
        """List the databases in a catalog; the list is empty if the catalog is missing."""
        if catalog is None:
            return list(self._read(lambda on: on.client.get_all_databases()))
        return list(self._read(lambda on: on.client.get_databases(_within(catalog, "*"))))

    def database(self, catalog: str | None, name: str) -> Database:
        """Return a database, or raise NoSuchObjectException."""
        return self._read(lambda on: on.client.get_database(_within(catalog, name)))

    def create_database(self, database: Database) -> None:
        """Create a database; raises AlreadyExistsException, or InvalidObjectException if its
        catalog is missing.
        """
        self._change(lambda client: client.create_database(database))

    def alter_database(self, catalog: str | None, database: Database) -> None:
        """Change a database; the whole record is overwritten."""
        name = _within(catalog, database.name)
        self._change(lambda client: client.alter_database(name, database))

    def drop_database(self, catalog: str | None, name: str, *, cascade: bool) -> None:
        """Drop a database but not its data; raises InvalidOperationException if the database is not
        empty.
        """
        self._change(lambda client: client.drop_database(_within(catalog, name), False, cascade))

    # --- tables

    def table_names(self, catalog: str | None, database: str) -> list[str]:
        """List all tables and views in a database; the list is empty if the database is missing."""
        return list(self._read(lambda on: on.client.get_all_tables(_within(catalog, database))))

    def lance_table_names(self, catalog: str | None, database: str) -> list[str] | None:
        """List the external tables with ``table_type=lance``; None if the metastore cannot filter."""
        name = _within(catalog, database)

        def filtered(on: Connection, filter: str) -> list[str]:
            return list(_first_supported(on, ("get_table_names_by_filter", (name, filter, -1))))

        def names(on: Connection) -> list[str]:
            external = EXTERNAL_FILTER[_has_catalogs(on)]
            if _has_catalogs(on):
                return filtered(on, f"{LANCE_FILTER} and {external}")
            # On Hive 2, a single filter for both conditions takes several times as long. Table
            # types in another case are rare, and checking for them is fast.
            matches = set(filtered(on, f"{USUAL_CASE_FILTER} and {external}"))
            if filtered(on, OTHER_CASE_FILTER):
                matches |= set(filtered(on, f"{OTHER_CASE_FILTER} and {external}"))
            return list(matches)

        try:
            return list(self._read(names))
        except (MetaException, InvalidOperationException):
            return None
        except TApplicationException as error:
            if error.type != TApplicationException.UNKNOWN_METHOD:
                raise
            return None

    def table(self, catalog: str | None, database: str, name: str) -> Table:
        """Return a table, or raise NoSuchObjectException."""
        request = GetTableRequest(database, name, catName=catalog)
        response = self._read(
            lambda on: _first_supported(
                on,
                ("get_table_req", (request,)),
                ("get_table", (_within(catalog, database), name)),
            )
        )
        return getattr(response, "table", response)

    def tables(self, catalog: str | None, database: str, names: Sequence[str]) -> list[Table]:
        """Return several tables, except missing ones (raises UnknownDBException)."""
        request = GetTablesRequest(dbName=database, tblNames=list(names), catName=catalog)
        response = self._read(
            lambda on: _first_supported(
                on,
                ("get_table_objects_by_name_req", (request,)),
                ("get_table_objects_by_name", (_within(catalog, database), list(names))),
            )
        )
        return list(getattr(response, "tables", response))

    def create_table(self, table: Table) -> None:
        """Create a table.

        Raises:
            AlreadyExistsException: the table exists.
            InvalidObjectException: its database does not exist.
        """
        self._change(lambda client: client.create_table(table))

    def alter_table(
        self,
        catalog: str | None,
        database: str,
        name: str,
        table: Table,
        expected: tuple[str, str] | None = None,
    ) -> None:
        """Change or rename a table; the whole record is overwritten.

        Args:
            catalog: the table's catalog.
            database: the table's database.
            name: the table's current name.
            table: the new record.
            expected: a parameter and the value that it must still have; otherwise, the metastore
                raises MetaException. Hive 2.3.10 and 4 check this; 3.1 does not.
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
        """Drop a table but not its data, or raise NoSuchObjectException."""
        self._change(lambda client: client.drop_table(_within(catalog, database), name, False))

    # --- locks

    def lock(self, place: tuple[str, str], holder: tuple[str, str], mark: str) -> LockResponse:
        """Request the exclusive lock on a table; the lock in the response may still be waiting.

        Args:
            place: database and table, which need not exist.
            holder: user and host, which other clients see.
            mark: name of the agent, which other clients see.
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
        """Return the current state of a requested lock, or raise NoSuchLockException."""
        return self._read(lambda on: on.client.check_lock(CheckLockRequest(number)))

    def heartbeat(self, number: int) -> None:
        """Report that a lock's holder is still alive, or raise NoSuchLockException."""
        self._read(lambda on: on.client.heartbeat(HeartbeatRequest(number)))

    def unlock(self, number: int) -> None:
        """Release a lock if it exists."""
        self._read(lambda on: on.client.unlock(UnlockRequest(number)))

    def locks(self, place: tuple[str, str]) -> list[ShowLocksResponseElement]:
        """List the locks on a table, both held and waiting."""
        waiting = self._read(lambda on: on.client.show_locks(ShowLocksRequest(*place))).locks
        return [each for each in waiting if (each.dbname, each.tablename) == place]

    def lock_seconds(self) -> float:
        """Return the number of seconds after which a lock expires without a heartbeat."""
        text = self._read(lambda on: on.client.get_config_value("hive.txn.timeout", "300s"))
        duration = _LENGTH_OF_TIME.fullmatch(text.strip().lower())
        if duration is None:
            raise UnsupportedError(f"the metastore's hive.txn.timeout={text!r} is not a duration")
        return float(duration[1]) * _SECONDS[duration[2]]


def _within(catalog: str | None, name: str) -> str:
    """Return a database name that includes the catalog, for calls that have no catalog field."""
    return name if catalog is None else f"@{catalog}#{name}"


def _has_catalogs(connection: Connection) -> bool:
    """Return whether the metastore is Hive 3 or newer; called once per connection."""
    if connection.has_catalogs is None:
        try:
            connection.client.get_catalogs()
            connection.has_catalogs = True
        except TApplicationException as error:
            if error.type != TApplicationException.UNKNOWN_METHOD:
                raise
            connection.has_catalogs = False
    return connection.has_catalogs


def _first_supported(connection: Connection, *forms: tuple[str, tuple[Any, ...]]) -> Any:
    """Call the first method that the metastore supports."""
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
        f"the metastore {connection.host} does not support the call {names}",
    )
