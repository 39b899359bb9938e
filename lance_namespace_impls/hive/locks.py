"""Acquires the metastore's locks, which are held from the read of a record to its write.

The metastore overwrites whole records, and its check for outdated records is not atomic. Its lock
service is atomic, and Hive and Iceberg use the same locks on tables. If a process is killed, its
lock expires after a timeout that the metastore defines, measured from the last heartbeat.
"""

from __future__ import annotations

import os
import random
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from attrs import define
from pymetastore.hive_metastore.ttypes import LockState, NoSuchLockException
from thrift.Thrift import TApplicationException, TException

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    UnsupportedError,
)

from .client import Metastore
from .config import HiveConfig
from .errors import error_text
from .pool import UnreachableError

__all__ = ["Lock", "Locks", "Place", "of_catalog", "of_database", "of_table"]

Place = tuple[str, str]
"""The name of a lock: a database and a table, as the metastore's lock service identifies it."""

AGENT = "lance-namespace"
FIRST_WAIT = 0.02
MAX_WAIT = 0.5
# Interval, in seconds, at which a waiting client looks for expired locks.
POLL_SECONDS = 2.0
# Errors if the lock service's tables are missing, or if the call is not supported.
_NO_SERVICE = (TApplicationException.INTERNAL_ERROR, TApplicationException.UNKNOWN_METHOD)
# Maximum length of names in the tables of the lock service; table names may be longer.
NAME_LENGTH = 128


def of_table(database: str, table: str) -> Place:
    """Return the lock name for changes to a table; locks do not distinguish catalogs."""
    if len(table) > NAME_LENGTH:
        # Tables may then have a common lock, which is harmless: their changes just wait for each
        # other.
        table = table[:NAME_LENGTH]
    return database, table


def of_database(database: str) -> Place:
    """Return the lock name for changes to a database.

    The name is not a valid table name. A lock on the database itself would have to wait for every
    query that reads from the database, and Hive itself acquires no such lock before it changes a
    database.
    """
    return database, "@"


def of_catalog(catalog: str) -> Place:
    """Return the lock name for changes to a catalog, which is not a valid table name."""
    return "@", catalog[:NAME_LENGTH]


@define
class Lock:
    """A lock that this process holds or waits for."""

    id: int
    what: str
    last_heartbeat: float
    """Time of the last heartbeat, from `time.monotonic`."""


class Locks:
    """The lock service of a metastore.

    Args:
        metastore: the metastore.
        config: its read timeout limits the wait for a lock; its user is the lock holder.
    """

    def __init__(self, metastore: Metastore, config: HiveConfig) -> None:
        self._metastore = metastore
        self._lock_timeout = config.read_timeout
        self._longest_change = 2 * (config.connect_timeout + config.read_timeout)
        self._user = (config.user() or (AGENT,))[0]
        self._lock_seconds: float | None = None
        self._service_works = False

    @contextmanager
    def acquired(self, what: str, place: Place) -> Iterator[Lock]:
        """Hold a lock exclusively.

        If a change was sent but received no response, the lock is not released, but left to expire.
        The change may still be running, and could otherwise overwrite the next change.

        Args:
            what: the operation and its object, as the start of messages.
            place: name of the lock.

        Raises:
            ConcurrentModificationError: code 14, another client still held the lock after the
                timeout.
            UnsupportedError: code 0, the metastore has no lock service.
            InvalidInputError: code 13, a change may take longer than a lock remains valid.
        """
        self._check_timeouts(what)
        lock = self._acquire(what, place)
        try:
            yield lock
        except UnreachableError as error:
            if not error.under_way:
                self._release(lock)
            raise
        except Exception:
            self._release(lock)
            raise
        self._release(lock)  # skipped if the change was interrupted

    def renew(self, lock: Lock) -> None:
        """Renew a lock immediately before a change, so that it does not expire during the change.

        Raises:
            ConcurrentModificationError: code 14, the lock has expired.
        """
        now = time.monotonic()
        if now - lock.last_heartbeat < self._expires_after() / 10:
            return
        with _translated_expiry(lock.what):
            self._metastore.heartbeat(lock.id)
        lock.last_heartbeat = now

    def _check_timeouts(self, what: str) -> None:
        if self._longest_change >= self._expires_after():
            raise InvalidInputError(
                f"{what}: with this connect_timeout and read_timeout, a change may take "
                f"{self._longest_change:g} s, but the metastore keeps a lock for only "
                f"{self._expires_after():g} s; lower the timeouts or raise hive.txn.timeout"
            )

    def _expires_after(self) -> float:
        if self._lock_seconds is None:
            self._lock_seconds = self._metastore.lock_seconds()
        return self._lock_seconds

    def _acquire(self, what: str, place: Place) -> Lock:
        mark = f"{AGENT} {os.getpid()} {uuid.uuid4().hex}"
        requested_at = time.monotonic()
        try:
            response = self._metastore.lock(place, (self._user, socket.gethostname()), mark)
        except TApplicationException as error:
            if error.type not in _NO_SERVICE or self._service_works:
                raise
            raise UnsupportedError(
                f"{what}: the metastore's lock service is not working ({error_text(error)}), so "
                "concurrent changes could be lost; create its transaction tables (schematool "
                "-initSchema), or set locks=false if no other process changes tables"
            ) from error
        except UnreachableError:
            with suppress(UnreachableError, TException):  # if this fails, the lock expires
                self._withdraw(place, mark)
            raise
        self._service_works = True
        lock = Lock(response.lockid, what, requested_at)
        try:
            self._wait(lock, place, response.state)
        except BaseException:
            self._release(lock)
            raise
        return lock

    def _wait(self, lock: Lock, place: Place, state: int) -> None:
        """Wait until the lock is acquired; each check also counts as a heartbeat."""
        wait = FIRST_WAIT
        ends = lock.last_heartbeat + self._lock_timeout
        poll_at = lock.last_heartbeat + min(POLL_SECONDS, self._lock_timeout / 2)
        while state == LockState.WAITING:
            if lock.last_heartbeat >= ends:
                raise ConcurrentModificationError(
                    f"{lock.what}: {self._holder(lock, place)} for {self._lock_timeout:g} s; try "
                    f"again"
                )
            if lock.last_heartbeat >= poll_at:
                self._remove_expired(lock, place)
                poll_at = lock.last_heartbeat + POLL_SECONDS
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(wait * 2, MAX_WAIT)
            requested_at = time.monotonic()
            with _translated_expiry(lock.what):
                state = self._metastore.check_lock(lock.id).state
            lock.last_heartbeat = requested_at
        if state != LockState.ACQUIRED:
            raise ConcurrentModificationError(
                f"{lock.what}: the metastore canceled its lock; try again"
            )

    def _remove_expired(self, lock: Lock, place: Place) -> None:
        """Remove expired locks of this package, because not every metastore does so. All times are
        those of the metastore's clock.
        """
        locks = self._metastore.locks(place)
        now = next((each.lastheartbeat for each in locks if each.lockid == lock.id), None)
        if now is None:
            return
        lifetime = timedelta(seconds=self._expires_after())
        for each in locks:
            silent = timedelta(milliseconds=now - each.lastheartbeat)
            if (each.agentInfo or "").startswith(AGENT) and silent > lifetime:
                self._metastore.unlock(each.lockid)

    def _holder(self, lock: Lock, place: Place) -> str:
        others = [each for each in self._metastore.locks(place) if each.lockid != lock.id]
        if not others:
            return "another client has held its lock in the metastore"
        first = min(others, key=lambda each: each.lockid)
        who = f"{first.user} on {first.hostname} ({first.agentInfo})"
        return f"{who} has held its lock {first.lockid} in the metastore"

    def _withdraw(self, place: Place, mark: str) -> None:
        """Release a lock whose id is unknown because the request for it received no response."""
        for each in self._metastore.locks(place):
            if each.agentInfo == mark:
                self._metastore.unlock(each.lockid)

    def _release(self, lock: Lock) -> None:
        # The change is complete even if the lock cannot be released; it then expires.
        with suppress(UnreachableError, TException):
            self._metastore.unlock(lock.id)


@contextmanager
def _translated_expiry(what: str) -> Iterator[None]:
    try:
        yield
    except NoSuchLockException as error:
        raise ConcurrentModificationError(
            f"{what}: its lock in the metastore has expired; try again"
        ) from error
