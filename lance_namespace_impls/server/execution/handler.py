"""The request handler: finds the operation, enforces the limits, and streams rows in both directions."""

from __future__ import annotations

import asyncio
import io
import logging
from concurrent.futures import Future
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.types import Message, Receive, Scope, Send

from lance_namespace_client.errors import (
    ServiceUnavailableError,
    ThrottlingError,
    UnsupportedError,
)
from lance_namespace_client.namespace import LanceNamespace

from ..http.bodies import ClientDisconnectedError, Incoming, Rows
from ..http.requests import Headers
from ..http.responses import Reply, error_reply, gather, wrong_method_reply
from ..http.routing import Found, RouteTable
from ..lancedb.dialect import Databases
from ..observability.observer import Observer, Outcome
from ..options import ServerOptions
from ..security.authentication import Authentication, Credentials
from ..security.origin import check_content_type
from .context import Call, over
from .executor import Executor
from .failures import Failures
from .limits import RETRY_SECONDS, HeadersTooLargeError, Meter, Pools, out_of_time

__all__ = ["Service", "raw_path"]

logger = logging.getLogger("lance_namespace_impls.server")

T = TypeVar("T")

READ_BYTES = 1 << 20
SENT_BYTES = 64 << 10
# Maximum size of a body that is searched for credentials on the event loop; larger ones are
# searched in a thread.
QUICK_BYTES = 16 << 10
# Limits for reading the rest of a body once the response is ready. A small remainder is read before
# the response is sent, so that the connection can be reused. A larger one is read afterwards, so
# that the client receives the response.
LEFT_BYTES, LEFT_SECONDS = 1 << 20, 0.25
LOOK_SECONDS = 0.05
LINGER_BYTES, LINGER_SECONDS = 64 << 20, 5.0


def raw_path(scope: Scope) -> str:
    """Return the path as sent, relative to the mount point of the application."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    return str(raw.decode("latin-1")).removeprefix(quote(scope.get("root_path", "")))


class Service:
    """Handles requests by calling a namespace's methods in worker threads."""

    def __init__(self, namespace: LanceNamespace, options: ServerOptions) -> None:
        self.routes = RouteTable()
        self._options = options
        self._limits = options.limits
        self._pools = Pools(options.limits)
        self.authentication = Authentication(options.sources) if options.sources else None
        """Authenticates callers; None if there is no authentication."""
        self.observer = Observer(self._pools)
        self._databases = Databases(namespace, options.lancedb_databases)
        self._failures = Failures(namespace)
        self._executor = Executor(namespace, options, self.observer, self._failures)
        self._unsent = self._under_way = 0

    def close(self) -> None:
        """Reject new operations; let running operations finish."""
        self._pools.close()
        self.observer.close()

    async def handle(self, found: Found, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request to a known path.

        Args:
            found: the result of the route lookup.
            scope: the ASGI scope of the request.
            receive: returns the parts of the body.
            send: sends the parts of the response.
        """
        method = scope["method"]
        headers = Headers(scope["headers"])
        incoming = Incoming(receive, may_wait="expect" in headers)
        outcome = Outcome()
        endpoint = found.methods.get(method)
        if endpoint is None:
            response = wrong_method_reply(method, found)
            await self._send(response, incoming, receive, send, outcome)
            self.observer.completed(None, outcome, incoming.bytes)
            return
        dialect = self._databases.dialect(headers)
        call = Call(endpoint, found.segments, scope, headers, dialect)
        incoming.ended = endpoint.operation.http_method == "GET" and not endpoint.by_name
        self.observer.begin(call)
        self._under_way += 1
        try:
            response = await self._respond(call, incoming, receive)
            await self._send(response, incoming, receive, send, outcome, call)
        except ClientDisconnectedError:
            return
        finally:
            self._under_way -= 1
            call.leave()
            self.observer.completed(call, outcome, incoming.bytes)

    async def _respond(self, call: Call, incoming: Incoming, receive: Receive) -> Reply:
        try:
            if not call.is_bounded:
                self._check_bounds(call)
            self._options.access.check(call.headers)
            await self._authenticate(call)
            return await self._execute(call, incoming, receive)
        except ClientDisconnectedError:
            raise
        except Exception as error:  # noqa: BLE001 - every failure becomes a protocol error
            return self._failures.reply(error, call)

    def _check_bounds(self, call: Call) -> None:
        """Reject a request that `serve` would have rejected at the connection level."""
        size = sum(len(name) + len(value) for name, value in call.headers.items())
        if size > self._limits.header_bytes:
            raise HeadersTooLargeError(
                f"the headers are larger than {self._limits.header_bytes} bytes"
            )
        if self._under_way > self._limits.connections:
            raise ThrottlingError(
                "the server has reached its limit of concurrent requests; try again later",
                retry_after=RETRY_SECONDS,
            )

    async def unknown(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request to an unknown path; close web sockets.

        The code is 0, because an unknown operation counts as unsupported. Clients that can do
        without the operation rely on this code.
        """
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": ""})
            return
        method, path = scope["method"], raw_path(scope)
        near = self.routes.nearest(method, path)
        hint = f"; similar routes: {', '.join(near)}" if near else ""
        error = _NoRouteError(
            f"unknown route {method} {path[:200]}; GET /openapi.json lists the routes: each "
            f"operation has a /v1 route and POST /<name>{hint}"
        )
        incoming, outcome = Incoming(receive), Outcome()
        try:
            await self._send(error_reply(error), incoming, receive, send, outcome)
        finally:
            self.observer.completed(None, outcome, incoming.bytes)

    async def _authenticate(self, call: Call, body: bytes | None = None) -> None:
        """Authenticate the caller, and reject an operation that it may not call on any object.

        This happens before the body is read. If the body may contain the credentials, it happens
        after the body has been read, but before the call gets a slot in a pool.

        Raises:
            UnauthenticatedError: code 16.
            PermissionDeniedError: code 15.
        """
        if body is not None and (self.authentication is None or call.caller is not None):
            return  # already done before the body was read
        if self.authentication is not None and call.caller is None:
            credentials = Credentials.of(call.headers, call.certificate)
            if not credentials and call.may_name_caller:
                if body is None:
                    return
                parse = Credentials.of_body
                is_long = len(body) > QUICK_BYTES
                credentials = await asyncio.to_thread(parse, body) if is_long else parse(body)
            call.caller = await self.authentication.authenticate(credentials, call.address)
        self._executor.check_allowed(call.endpoint.operation, call.caller)

    async def _execute(self, call: Call, incoming: Incoming, receive: Receive) -> Reply:
        pool = self._pools.of(call.endpoint.operation)
        if pool is self._pools.uploads:
            return await self._receive_rows(call, incoming)
        body = await incoming.read(self._limits.json_bytes, self._limits.json_seconds)
        if body.strip() and not call.dialect.accepts(call.endpoint.operation, call.headers):
            check_content_type(call.endpoint, call.headers)
        await self._authenticate(call, body)
        await call.enter(pool)
        if pool is self._pools.metadata:
            return await _done(call.start(self._executor.run, call, body))
        return await self._query(call, body, receive)

    async def _query(self, call: Call, body: bytes, receive: Receive) -> Reply:
        """Run a query, and cancel it at its deadline or if the client disconnects."""
        started = call.start(self._executor.run, call, body)
        # Most queries finish within this time, so the client's connection need not be monitored.
        if await over(started, min(LOOK_SECONDS, self._limits.query_seconds)):
            return started.result()
        work = asyncio.wrap_future(started)
        disconnect = asyncio.create_task(_until_disconnected(receive))
        try:
            await asyncio.wait(
                (work, disconnect),
                timeout=self._limits.query_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            disconnect.cancel()
            await asyncio.wait((disconnect,))
        if work.done():
            return work.result()
        call.abandon()
        if not disconnect.cancelled():
            raise ClientDisconnectedError("the client closed the connection before the response")
        raise out_of_time(call.endpoint.operation.name, self._limits.query_seconds)

    async def _receive_rows(self, call: Call, incoming: Incoming) -> Reply:
        check_content_type(call.endpoint, call.headers)
        rows = Rows(incoming, self._limits)
        filling = asyncio.create_task(rows.fill())
        try:
            # An upload gets a slot only once its rows are arriving.
            await rows.started()
            await call.enter(self._pools.uploads)
            file = io.BufferedReader(rows, READ_BYTES)
            return await _done(call.start(self._executor.run, call, b"", file))
        finally:
            filling.cancel()
            await asyncio.wait((filling,))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _send(
        self,
        response: Reply,
        incoming: Incoming,
        receive: Receive,
        send: Send,
        outcome: Outcome,
        call: Call | None = None,
    ) -> None:
        headers = response.headers
        ended = incoming.ended or await incoming.drain(LEFT_BYTES, LEFT_SECONDS)
        if not ended:
            headers = [*headers, (b"connection", b"close")]
        outcome.status, outcome.code = response.status, response.code
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        if response.rest is not None and call is not None:
            with self.observer.open_query():
                await self._stream(response, receive, send, call, outcome)
            return
        if ended:
            await send(_part(response.body, more=False))
        else:
            await send(_part(response.body, more=True))
            await incoming.drain(LINGER_BYTES, LINGER_SECONDS)
            await send(_part(b"", more=False))
        outcome.sent, outcome.whole = len(response.body), True

    async def _stream(
        self, response: Reply, receive: Receive, send: Send, call: Call, outcome: Outcome
    ) -> None:
        """Send rows, and read the next rows while the current ones are being sent.

        After the response has started, a failure can only be reported by closing the connection,
        which leaves the response incomplete.
        """
        rest: Any = response.rest
        name = call.endpoint.operation.name
        body, more = response.body, True
        disconnect = asyncio.create_task(_until_disconnected(receive))
        meter = Meter(self._limits.least_rate, self._limits.reader_seconds)
        left = self._limits.query_seconds - (self._now() - call.started)
        ahead: asyncio.Future[tuple[bytes, bool]] | None = None
        unsent = 0
        try:
            async with asyncio.timeout(self._limits.answer_seconds):
                while True:
                    unsent = len(body)
                    self._unsent += unsent
                    # If too much unsent data is queued, send the current rows before reading the
                    # next ones.
                    if more and self._unsent < self._limits.unsent_bytes:
                        ahead = asyncio.wrap_future(call.start(gather, rest))
                    await _send_part(send, body, meter)
                    self._unsent, unsent, outcome.sent = (
                        self._unsent - unsent,
                        0,
                        outcome.sent + unsent,
                    )
                    if not more or disconnect.done():
                        break
                    if ahead is None:
                        ahead = asyncio.wrap_future(call.start(gather, rest))
                    before = self._now()
                    await asyncio.wait(
                        (ahead, disconnect),
                        timeout=max(0.0, left),
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                    left -= self._now() - before
                    if disconnect.done():
                        break
                    if not ahead.done():
                        raise out_of_time(name, self._limits.query_seconds)
                    (body, more), ahead = ahead.result(), None
            if not disconnect.done():
                await send(_part(b"", more=False))
                outcome.whole = True
        except (TimeoutError, ServiceUnavailableError) as error:
            why = str(error) or "the client did not read the response in time"
            logger.warning(
                "request %s: %s was interrupted while rows were being sent: %s", call.id, name, why
            )
            call.cut()
        except Exception as error:  # noqa: BLE001 - logged; no caller is left to raise it to
            self._failures.log_interrupted(error, call)
        finally:
            self._unsent -= unsent
            disconnect.cancel()
            call.finally_do(rest.close)


class _NoRouteError(UnsupportedError):
    http_status = 404


def _part(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def _send_part(send: Send, body: bytes, meter: Meter) -> None:
    """Send a part of a response in pieces that even a slow client can receive in time."""
    for at in range(0, len(body), SENT_BYTES):
        piece = body[at : at + SENT_BYTES] if len(body) > SENT_BYTES else body
        async with meter.waiting():
            await send(_part(piece, more=True))
        meter.moved(len(piece))


async def _done(work: Future[T]) -> T:
    return await asyncio.wrap_future(work)


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
