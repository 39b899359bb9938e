"""The metastore's own locks, held while a record is read and written back.

The metastore writes a whole record, and its check that the record is not out of date is not atomic.
Its lock service is: Hive and Iceberg take the same locks on tables. A holder that is killed leaves
its lock behind; it counts for as long as the metastore says, from the last sign of life.
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
"""What is locked: a database and a table, as the metastore's locks name them."""

AGENT = "lance-namespace"
FIRST_WAIT = 0.02
MAX_WAIT = 0.5
# How often one who waits looks for locks whose holders are gone.
POLL_SECONDS = 2.0
# The lock service answers these where its tables are not there, and where it has no such call.
_NO_SERVICE = (TApplicationException.INTERNAL_ERROR, TApplicationException.UNKNOWN_METHOD)
# Most characters of a name in the tables of the lock service; a table's may be longer.
NAME_LENGTH = 128


def of_table(database: str, table: str) -> Place:
    """Return what is locked to change a table; its catalog is none of the locks' matters."""
    if len(table) > NAME_LENGTH:
        # Tables that share a lock merely wait for each other.
        table = table[:NAME_LENGTH]
    return database, table


def of_database(database: str) -> Place:
    """Return what is locked to change a database.

    It is the lock of a table that cannot be. That of the database would wait for every query that
    reads in it, and Hive takes none to change a database.
    """
    return database, "@"


def of_catalog(catalog: str) -> Place:
    """Return what is locked to change a catalog: the lock of a table that cannot be."""
    return "@", catalog[:NAME_LENGTH]


@define
class Lock:
    """A lock that is held, or waited for."""

    id: int
    what: str
    seen: float
    """When the metastore last heard of its holder, by the clock `time.monotonic`."""


class Locks:
    """Locks of one metastore.

    Args:
        metastore: it.
        config: says how long to wait, and in whose name.
    """

    def __init__(self, metastore: Metastore, config: HiveConfig) -> None:
        self._metastore = metastore
        self._lock_timeout = config.read_timeout
        self._longest_change = 2 * (config.connect_timeout + config.read_timeout)
        self._user = (config.user() or (AGENT,))[0]
        self._lasts: float | None = None
        self._works = False

    @contextmanager
    def held(self, what: str, place: Place) -> Iterator[Lock]:
        """Hold a lock, which no one else then has.

        It stays where a change was sent and not answered: that may be under way, and would undo what
        the next one writes. It then expires.

        Args:
            what: the operation and its object, to open messages with.
            place: what to lock.

        Raises:
            ConcurrentModificationError: code 14, someone else holds it all the time.
            UnsupportedError: code 0, the metastore has no lock service.
            InvalidInputError: code 13, a change may take longer than a lock lasts.
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
        self._release(lock)  # not where a change was interrupted

    def renew(self, lock: Lock) -> None:
        """Renew the lock, right before a change, so that it lasts until its end.

        Raises:
            ConcurrentModificationError: code 14, it has expired.
        """
        now = time.monotonic()
        if now - lock.seen < self._expires_after() / 10:
            return
        with _not_gone(lock.what):
            self._metastore.heartbeat(lock.id)
        lock.seen = now

    def _check_timeouts(self, what: str) -> None:
        if self._longest_change >= self._expires_after():
            raise InvalidInputError(
                f"{what}: with this connect_timeout and read_timeout a change may take "
                f"{self._longest_change:g} s, and the metastore keeps a lock for "
                f"{self._expires_after():g} s (hive.txn.timeout); lower those or raise this"
            )

    def _expires_after(self) -> float:
        if self._lasts is None:
            self._lasts = self._metastore.lock_seconds()
        return self._lasts

    def _acquire(self, what: str, place: Place) -> Lock:
        mark = f"{AGENT} {os.getpid()} {uuid.uuid4().hex}"
        asked = time.monotonic()
        try:
            answer = self._metastore.lock(place, (self._user, socket.gethostname()), mark)
        except TApplicationException as error:
            if error.type not in _NO_SERVICE or self._works:
                raise
            raise UnsupportedError(
                f"{what}: the metastore's lock service fails ({error_text(error)}), and without it changes "
                "of two writers can be lost; create its transaction tables (schematool -initSchema), or set "
                "locks=false where no other process changes tables"
            ) from error
        except UnreachableError:
            with suppress(UnreachableError, TException):  # it then expires
                self._withdraw(place, mark)
            raise
        self._works = True
        lock = Lock(answer.lockid, what, asked)
        try:
            self._wait(lock, place, answer.state)
        except BaseException:
            self._release(lock)
            raise
        return lock

    def _wait(self, lock: Lock, place: Place, state: int) -> None:
        """Wait until the lock is held; being asked for it is a sign of life too."""
        wait = FIRST_WAIT
        ends = lock.seen + self._lock_timeout
        poll_at = lock.seen + min(POLL_SECONDS, self._lock_timeout / 2)
        while state == LockState.WAITING:
            if lock.seen >= ends:
                raise ConcurrentModificationError(
                    f"{lock.what}: {self._holder(lock, place)} for {self._lock_timeout:g} s; try again"
                )
            if lock.seen >= poll_at:
                self._remove_expired(lock, place)
                poll_at = lock.seen + POLL_SECONDS
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(wait * 2, MAX_WAIT)
            asked = time.monotonic()
            with _not_gone(lock.what):
                state = self._metastore.check_lock(lock.id).state
            lock.seen = asked
        if state != LockState.ACQUIRED:
            raise ConcurrentModificationError(
                f"{lock.what}: the metastore ended its lock; try again"
            )

    def _remove_expired(self, lock: Lock, place: Place) -> None:
        """Remove locks of this package that have expired: not every metastore does so by itself.

        All times are the metastore's own.
        """
        found = self._metastore.locks(place)
        now = next((each.lastheartbeat for each in found if each.lockid == lock.id), None)
        if now is None:
            return
        lasts = timedelta(seconds=self._expires_after())
        for each in found:
            silent = timedelta(milliseconds=now - each.lastheartbeat)
            if (each.agentInfo or "").startswith(AGENT) and silent > lasts:
                self._metastore.unlock(each.lockid)

    def _holder(self, lock: Lock, place: Place) -> str:
        others = [each for each in self._metastore.locks(place) if each.lockid != lock.id]
        if not others:
            return "someone else has held its lock in the metastore"
        first = min(others, key=lambda each: each.lockid)
        who = f"{first.user} on {first.hostname} ({first.agentInfo})"
        return f"{who} has held its lock {first.lockid} in the metastore"

    def _withdraw(self, place: Place, mark: str) -> None:
        """Release a lock whose number was never answered."""
        for each in self._metastore.locks(place):
            if each.agentInfo == mark:
                self._metastore.unlock(each.lockid)

    def _release(self, lock: Lock) -> None:
        # What was changed is changed, whether or not the lock goes at once; else it expires.
        with suppress(UnreachableError, TException):
            self._metastore.unlock(lock.id)


@contextmanager
def _not_gone(what: str) -> Iterator[None]:
    try:
        yield
    except NoSuchLockException as error:
        raise ConcurrentModificationError(
            f"{what}: its lock in the metastore has expired; try again"
        ) from error
