"""Manages the connections and transactions of one database."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, make_url, text
from sqlalchemy.exc import DBAPIError

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError

from .config import SqlConfig
from .errors import is_retryable
from .schema import REVISIONS

__all__ = ["Database"]

T = TypeVar("T")
TRIES = 10
OWNER_ALONE = 0o600
_WRITES = {"lance_writes": True}


class Database:
    """One database; each process opens its own connections to it.

    Args:
        config: the properties.
        create: whether to create a missing SQLite file.
    """

    def __init__(self, config: SqlConfig, *, create: bool = False) -> None:
        self._config = config
        self._create = create
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._process = 0
        self._is_current = False

    @property
    def engine(self) -> Engine:
        """The connections of this process; a forked process does not use those of its parent."""
        with self._lock:
            if self._engine is None or self._process != os.getpid():
                if self._engine is not None:
                    self._engine.dispose(close=False)
                self._engine, self._process = self._connected(), os.getpid()
            return self._engine

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._engine is not None and self._process == os.getpid():
                self._engine.dispose()
            self._engine = None

    def _connected(self) -> Engine:
        config = self._config
        common: dict[str, Any] = {
            "pool_size": config.pool_size,
            "max_overflow": 0,
            "pool_timeout": config.lock_timeout,
            "hide_parameters": True,
        }
        if not config.is_postgresql:
            engine = create_engine(
                "sqlite://", creator=self._open_file, poolclass=QueuePool, **common
            )
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        url = make_url(config.uri).set(drivername="postgresql+psycopg")
        if config.password is not None:
            url = url.set(password=config.password)
        wait = round(config.lock_timeout * 1000)
        arguments = {
            "connect_timeout": max(2, round(config.connect_timeout)),  # the minimum in libpq
            "application_name": "lance-namespace-kit",
            "options": f"-c lock_timeout={wait} -c client_encoding=UTF8",
            "keepalives_idle": 30,
        }
        arguments = {key: value for key, value in arguments.items() if key not in url.query}
        return create_engine(url, pool_pre_ping=True, connect_args=arguments, **common)

    def _open_file(self) -> sqlite3.Connection:
        if self._create:
            # The properties in it may contain credentials, so only the owner may read the file.
            # SQLite's auxiliary files get the same permissions.
            with suppress(OSError):  # it exists already, or SQLite reports the problem
                os.close(os.open(self._config.file, os.O_CREAT | os.O_EXCL, OWNER_ALONE))
        connection = sqlite3.connect(
            f"file:{quote(str(self._config.file))}?mode=rw",
            uri=True,
            timeout=self._config.lock_timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("pragma foreign_keys = on")
        if self._create:
            # This allows readers and a writer to run concurrently; the setting is stored in the
            # file.
            connection.execute("pragma journal_mode = wal")
        return connection

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run a read in one transaction and return its result; if the connection is lost, retry once."""
        self.require_current()
        for left in (1, 0):
            try:
                with self.engine.connect() as connection, connection.begin():
                    return work(connection)
            except DBAPIError as error:
                if not (left and error.connection_invalidated):
                    raise
        raise AssertionError("the last attempt returns or raises")

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run a change in one atomic transaction and return its result.

        The change is retried if the database has aborted it in favor of another transaction.
        """
        self.require_current()
        for left in reversed(range(TRIES)):
            try:
                with self.writing() as connection:
                    return work(connection)
            except DBAPIError as error:
                if not left or not is_retryable(error):
                    raise
            time.sleep(random.uniform(0, 0.02 * (TRIES - left)))
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a write transaction; an SQLite file allows only one at a time."""
        with (
            self.engine.connect().execution_options(**_WRITES) as connection,
            connection.begin(),
        ):
            yield connection

    def revision(self, connection: Connection) -> str | None:
        """Return the migration revision of the database, or None if the database has no catalog."""
        if not self.engine.dialect.has_table(connection, "alembic_version"):
            return None
        return connection.execute(text("select version_num from alembic_version")).scalar()

    def require_current(self) -> None:
        """Reject a database that this code cannot read.

        Raises:
            InvalidInputError: code 13, the database has no catalog, or the catalog is from an older
                or newer release.
        """
        if self._is_current:
            return
        if not self._config.is_postgresql and not self._config.file.exists():
            raise self._without_catalog()
        with self.engine.connect() as connection, connection.begin():
            found = self.revision(connection)
        if found is None:
            raise self._without_catalog()
        if found != REVISIONS[-1]:
            raise self.refusal(found)
        self._is_current = True

    def refusal(self, found: str) -> LanceNamespaceError:
        """Build the error (code 13) for a catalog that another release created."""
        where = self._config.shown_database
        if found in REVISIONS:
            return InvalidInputError(
                f"sql: the catalog in {where} was created by an older release (schema {found}, "
                f"this release uses {REVISIONS[-1]}): make a backup, then run 'lance-ns "
                "upgrade sql' with the same properties"
            )
        return InvalidInputError(
            f"sql: the catalog in {where} was created by a newer release (schema {found}, this "
            f"release uses {REVISIONS[-1]}): upgrade lance-namespace-kit"
        )

    def _without_catalog(self) -> LanceNamespaceError:
        return InvalidInputError(
            f"sql: {self._config.shown_database} has no catalog: check the property "
            "'uri', or run 'lance-ns init sql' with the same properties to create one"
        )


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction; writes wait here for other transactions, and never later."""
    writes = connection.get_execution_options().get("lance_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
