"""The context of a request to an operation, from its arrival to the end of the response."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote

from starlette.types import Scope

from lance_namespace_client.operations import Body

from ..http.bodies import ClientDisconnectedError
from ..http.dialect import Dialect
from ..http.requests import Headers
from ..http.responses import Reply
from ..http.routing import Endpoint
from ..observability.tracing import Span
from ..security.authentication import Caller
from .limits import Pool

__all__ = ["ABORT", "CALLER", "CERTIFICATE", "Call", "network_of", "new_id", "over"]

T = TypeVar("T")

# Keys that the server sets in the ASGI scope of a request.
ABORT = "lance_namespace.abort"
CERTIFICATE = "lance_namespace.certificate"
CALLER = "lance_namespace.caller"
"""Scope key under which middleware stores the `Caller` if it has authenticated the request."""
MAX_REQUEST_ID_LENGTH = 128
# The system's random number generator is several times slower, and request ids may be predictable.
_ids = random.Random(os.urandom(32))


class Call:
    """One request to an operation, with its slot in a pool."""

    __slots__ = (
        "_abort", "_id", "_owner", "_pool", "_work", "address", "caller", "certificate", "dialect",
        "endpoint", "headers", "identifier", "query_string", "segments", "span", "started",
    )  # fmt: skip

    def __init__(
        self,
        endpoint: Endpoint,
        segments: tuple[str, ...],
        scope: Scope,
        headers: Headers,
        dialect: Dialect,
    ) -> None:
        self.endpoint = endpoint
        self.segments = segments
        self.dialect = dialect
        self.query_string: bytes = scope["query_string"]
        self.headers = headers
        self.started = asyncio.get_running_loop().time()
        self.address: str = (scope.get("client") or ("",))[0]
        self.certificate: Any = scope.get(CERTIFICATE)
        self.caller: Caller | None = scope.get(CALLER)
        self.identifier: Sequence[str] | None = None
        """Identifier of the object, once it has been decoded."""
        self.span: Span | None = None
        self._abort: Callable[[], None] | None = scope.get(ABORT)
        self._id: str | None = None
        self._pool: Pool | None = None
        self._owner = ""
        self._work: Future[Any] | None = None

    @property
    def owner(self) -> str:
        """Key for sharing slots fairly: the caller, or the client address if there is no caller."""
        if self.caller is not None:
            return f"caller {self.caller.name}"
        return f"address {network_of(self.address)}"

    @property
    def is_bounded(self) -> bool:
        """Whether the HTTP protocol class enforces the limits on connections and headers."""
        return self._abort is not None

    @property
    def may_name_caller(self) -> bool:
        """Whether the body can contain credentials in the protocol's field ``identity``."""
        body = self.endpoint.operation.body
        return body is Body.JSON or (self.endpoint.by_name and body is not Body.ARROW)

    def identifier_of_path(self, delimiter: str) -> list[str]:
        """Return the identifier in the path, for a request whose body has not been read."""
        found = parse_qs(self.query_string.decode("latin-1")).get("delimiter", [delimiter])[-1]
        text = unquote(self.segments[0]) if self.segments else ""
        return [name for name in text.split(found or delimiter) if name]

    async def enter(self, pool: Pool) -> None:
        """Acquire a slot in a pool until the response is sent and all threads have finished.

        Raises:
            ThrottlingError: code 21, there is no free slot.
        """
        # The caller may be authenticated later, but the slot remains assigned to its first owner.
        self._owner = self.owner
        await pool.enter(self._owner)
        self._pool = pool

    def start(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Run a function in a thread of the pool."""
        assert self._pool is not None
        work = self._pool.start(function, *arguments)
        self._work = work
        return work

    def leave(self) -> None:
        """Release the slot once the thread has finished."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        if self._work is None or self._work.done():
            pool.leave(self._owner)
            return
        loop = asyncio.get_running_loop()
        leave = partial(pool.leave, self._owner)
        self._work.add_done_callback(lambda _: _call_soon(loop, leave))

    def abandon(self) -> None:
        """Close the response that a thread is still producing when the client stops waiting."""

        def close(work: Future[Any]) -> None:
            if not work.cancelled() and isinstance(work.result(), Reply):
                rest: Any = work.result().rest
                if rest is not None:
                    rest.close()

        assert self._work is not None
        self._work.add_done_callback(close)

    def finally_do(self, function: Callable[[], None]) -> None:
        """Call a function as soon as no thread works on the call."""
        if self._work is None:
            function()
        else:
            self._work.add_done_callback(lambda _: function())

    def cut(self) -> None:
        """Close the connection before the response is complete, and discard unsent data."""
        if self._abort is not None:
            self._abort()
        else:
            raise ClientDisconnectedError("the response was interrupted")

    @property
    def id(self) -> str:
        """Id of the request in the log: the client's ``x-request-id`` or a generated id."""
        if self._id is None:
            self._id = self.client_id or new_id()
        return self._id

    @property
    def client_id(self) -> str | None:
        """The request id from the client, if it is valid."""
        text = self.headers.get("x-request-id", "")
        return text if text.isprintable() and len(text) <= MAX_REQUEST_ID_LENGTH else None


def network_of(address: str) -> str:
    """Return an IPv4 address unchanged, and the network of an IPv6 address.

    A single machine can use every address in its IPv6 network.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4 or found.is_loopback:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


def new_id() -> str:
    """Return a new request id, for a request that does not specify one."""
    return f"{_ids.getrandbits(128):032x}"


async def over(work: Future[Any], seconds: float) -> bool:
    """Wait at most `seconds` for a thread to finish; return whether it has finished.

    The functions of asyncio need several more iterations of the event loop, and each iteration may
    have to wait for the GIL.
    """
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    timer = loop.call_later(seconds, wake)
    work.add_done_callback(lambda _: _call_soon(loop, wake))
    try:
        await waiter
    finally:
        timer.cancel()
    return work.done()


def _call_soon(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the server has stopped
        loop.call_soon_threadsafe(function)
