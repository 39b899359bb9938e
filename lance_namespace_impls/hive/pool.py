"""A small pool of connections to a metastore, which threads share.

The metastore uses one thread per connection, so connections are limited in number and reused. Two
threads must not use the same Thrift client concurrently.
"""

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pymetastore.hive_metastore.ThriftHiveMetastore import Client
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TTransportException

from ..core.errors import first_line
from .access import OPEN, Access
from .config import Host

__all__ = ["Connection", "Pool", "UnreachableError"]

T = TypeVar("T")

# These errors are responses of the metastore, after which the connection remains usable. After
# other errors, the connection may still receive the response to an abandoned call.
_ANSWERED = (
    TApplicationException.UNKNOWN_METHOD,
    TApplicationException.MISSING_RESULT,
    TApplicationException.INTERNAL_ERROR,
)
_BROKEN = (TTransportException, TProtocolException, OSError, EOFError)


class UnreachableError(ConnectionError):
    """Raised if no metastore can be reached, or if the connection breaks during a call.

    Args:
        message: description of the failure.
        under_way: whether a change was sent that may still be applied.
    """

    def __init__(self, message: str, *, under_way: bool = False) -> None:
        super().__init__(message)
        self.under_way = under_way


class Connection:
    """A socket connected to a metastore, with a Thrift client; used by one thread at a time.

    Args:
        host: the metastore.
        connect_timeout: seconds to wait for the connection.
        read_timeout: seconds to wait for bytes during a call.
        access: TLS and login.

    Raises:
        OSError: the connection cannot be opened.
        TTransportException: the connection breaks during the login.
        UnauthenticatedError: code 16, the login fails.
    """

    def __init__(
        self, host: Host, connect_timeout: float, read_timeout: float, access: Access = OPEN
    ) -> None:
        opened = socket.create_connection((host.name, host.port), connect_timeout)
        if opened.getsockname() == opened.getpeername():
            # If nothing listens on a port in the system's ephemeral range, a socket can be
            # connected to itself. This is not a metastore, so the connection counts as refused.
            opened.close()
            raise ConnectionRefusedError("connection refused")
        opened.settimeout(read_timeout)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            self._transport = access.transport(opened, host)
        except BaseException:
            opened.close()
            raise
        self.host = host
        self.client: Any = Client(TBinaryProtocolAccelerated(self._transport))
        self.lacks: set[str] = set()
        """Names of calls that this metastore does not support."""
        self.has_catalogs: bool | None = None
        """Whether this metastore has catalogs; None until the first check."""
        self.has_answered = False
        """Whether a call has succeeded on this connection."""

    def is_open(self) -> bool:
        """Return whether the connection is still open, without a call to the metastore."""
        return bool(self._transport.isOpen())

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


class Pool:
    """A pool of at most `size` connections, which are opened on demand.

    Args:
        hosts: the metastores. A new connection uses the host of the last successful connection or,
            if that fails, the next host in order.
        size: maximum number of open connections; further callers wait until one is free.
        connect_timeout: seconds to wait for a connection.
        read_timeout: seconds to wait for bytes during a call.
        greet: called with each new connection before the connection is used.
        access: TLS and login of new connections.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        size: int,
        *,
        connect_timeout: float,
        read_timeout: float,
        greet: Callable[[Connection], None],
        access: Access = OPEN,
    ) -> None:
        self._hosts = list(hosts)
        self._size = size
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._greet = greet
        self._access = access
        self._closed = False
        self._reached = self._hosts[0]
        self._start_empty()
        _POOLS.add(self)

    def _start_empty(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._free = threading.BoundedSemaphore(self._size)

    def run(self, work: Callable[[Connection], T], *, repeatable: bool) -> T:
        """Run a function that has exclusive use of a connection.

        Args:
            work: calls the metastore.
            repeatable: whether `work` may safely run twice. If so, it is retried once on a new
                connection if the first connection breaks.

        Raises:
            UnreachableError: no metastore can be reached, or the connection broke during the call.
            TException: the metastore's error.
        """
        wait_seconds = self._connect_timeout + self._read_timeout
        free = self._free
        if not free.acquire(timeout=wait_seconds):
            raise UnreachableError(
                f"none of the {self._size} connections to the metastore became free within "
                f"{wait_seconds:g} s; raise client.pool-size, or make fewer concurrent requests"
            )
        try:
            connection = self._idle_connection() or self._open()
            try:
                return self._use(connection, work)
            except _BROKEN as error:
                if not repeatable or _is_timeout(error):
                    raise self._unreachable(connection, error, repeatable) from error
            connection = self._open()
            try:
                return self._use(connection, work)
            except _BROKEN as error:
                raise self._unreachable(connection, error, repeatable) from error
        finally:
            free.release()

    def close(self) -> None:
        """Close the connections; connections in use are closed when their call ends."""
        self._closed = True
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _idle_connection(self) -> Connection | None:
        """Return the most recently used idle connection; discard those that the metastore has
        closed.
        """
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.is_open():
                return connection
            connection.close()

    def _open(self) -> Connection:
        failures = []
        for host in sorted(self._hosts, key=lambda host: host != self._reached):
            try:
                connection = Connection(
                    host, self._connect_timeout, self._read_timeout, self._access
                )
            except _BROKEN as error:
                failures.append(f"{host}: {first_line(error)}{self._access.advice(error)}")
                continue
            try:
                self._greet(connection)
            except _BROKEN as error:
                connection.close()
                failures.append(f"{host}: {first_line(error)}{self._access.advice(error)}")
            except BaseException:
                connection.close()
                raise
            else:
                self._reached = host
                return connection
        raise UnreachableError(f"no metastore can be reached: {'; '.join(failures)}")

    def _use(self, connection: Connection, work: Callable[[Connection], T]) -> T:
        try:
            result = work(connection)
        except BaseException as error:
            if _is_response(error):
                self._keep(connection)
            else:
                connection.close()
            raise
        self._keep(connection)
        return result

    def _keep(self, connection: Connection) -> None:
        connection.has_answered = True
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _unreachable(
        self, connection: Connection, error: BaseException, repeatable: bool
    ) -> UnreachableError:
        if _is_timeout(error):
            what = f"did not respond for {self._read_timeout:g} s"
        else:
            what = f"closed the connection during the call ({first_line(error)})"
            if not connection.has_answered:
                what += self._access.advice(error)
        advice = (
            "" if repeatable else "; the change may have been applied: check before you retry it"
        )
        return UnreachableError(
            f"the metastore {connection.host} {what}{advice}", under_way=not repeatable
        )


def _is_response(error: BaseException) -> bool:
    if isinstance(error, TApplicationException):
        return error.type in _ANSWERED
    return isinstance(error, TException) and not isinstance(error, _BROKEN)


def _is_timeout(error: BaseException) -> bool:
    return isinstance(error, TimeoutError) or (
        isinstance(error, TTransportException) and error.type == TTransportException.TIMED_OUT
    )


_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()


def _forget_connections() -> None:
    """Drop all connections after a fork: the child must not use the connections of its parent."""
    for pool in _POOLS:
        pool._start_empty()


os.register_at_fork(after_in_child=_forget_connections)
