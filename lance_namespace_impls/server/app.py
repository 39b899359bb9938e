"""The ASGI application: routes requests to a namespace's methods and streams rows both ways."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import traceback
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import Any, BinaryIO, TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, NoMatchFound, Route
from starlette.types import Message, Receive, Scope, Send

from lance_namespace_client._arrow import to_reader
from lance_namespace_client.errors import (
    ErrorCode,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    UnsupportedError,
)
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import Body

from ..core.errors import scrub
from ..core.namespace import Namespace
from ..tables.write import RowCount
from .answers import Reply, error_reply, gather, reply
from .bodies import ClientGoneError, Incoming, Rows
from .reach import Reach
from .requests import Headers, check_content_type, read_request
from .routes import Endpoint, Found, RouteTable

__all__ = ["create_app"]

logger = logging.getLogger("lance_namespace_impls.server")

T = TypeVar("T")

FOUND = "lance_namespace.found"
READ_BYTES = 1 << 20
# What is left of a body when the answer is there already: a little is read before the answer, so
# that the connection can be used again; more is read after it, so that the client gets to see it.
LEFT_BYTES, LEFT_SECONDS = 1 << 20, 0.25
LINGER_BYTES, LINGER_SECONDS = 64 << 20, 5.0
LONGEST_REQUEST_ID = 128


def create_app(
    namespace: LanceNamespace,
    *,
    vend_storage_options: bool = False,
    threads: int = 40,
    upload_threads: int = 16,
    max_json_bytes: int = 32 << 20,
    allow_storage_options: Iterable[str] = (),
    allow_locations: Iterable[str] = (),
) -> Starlette:
    """Build the server of a namespace.

    Args:
        namespace: any namespace; it is not closed with the application.
        vend_storage_options: whether answers carry the secrets among the storage options.
        threads: operations that run at once.
        upload_threads: operations that take rows at once, beside those.
        max_json_bytes: size of the largest JSON body that is read.
        allow_storage_options: storage options that callers may set, without ``storage.``.
        allow_locations: paths and URIs below which callers may put tables, beside the namespace's
            own places.

    Returns:
        a Starlette application, to be run or mounted.
    """
    reach = Reach(storage_options=allow_storage_options, locations=allow_locations)
    service = _Service(
        namespace, vend_storage_options, threads, upload_threads, max_json_bytes, reach
    )

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    app = Starlette(
        routes=[
            _Operations(service),
            Route("/healthz", _healthz),
            Route("/openapi.json", _openapi),
        ],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.router.default = service.unknown
    return app


async def _healthz(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _openapi(request: Request) -> Response:
    document = resources.files("lance_namespace_client").joinpath("openapi.json")
    return Response(document.read_bytes(), media_type="application/json")


class _Operations(BaseRoute):
    """All operations as one route: the table finds a path without trying one after the other."""

    def __init__(self, service: _Service) -> None:
        self._service = service

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        found = self._service.routes.find(_raw_path(scope))
        return (Match.FULL, {FOUND: found}) if found is not None else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._service.handle(scope[FOUND], scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: Any) -> Any:
        raise NoMatchFound(name, path_params)


def _raw_path(scope: Scope) -> str:
    """Give the path as it was sent, below the path that the application is mounted at."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    return str(raw.decode("latin-1")).removeprefix(quote(scope.get("root_path", "")))


class _Service:
    """Answers requests with a namespace's methods, which run in worker threads."""

    def __init__(
        self,
        namespace: LanceNamespace,
        vend_storage_options: bool,
        threads: int,
        upload_threads: int,
        max_json_bytes: int,
        reach: Reach,
    ) -> None:
        self.routes = RouteTable()
        self._namespace = namespace
        self._vend = vend_storage_options
        self._calls = ThreadPoolExecutor(threads, "lance-ns-call")
        # An upload holds its thread as long as the client takes; others must not wait for it.
        self._uploads = ThreadPoolExecutor(upload_threads, "lance-ns-upload")
        self._max_json_bytes = max_json_bytes
        self._reach = reach

    def close(self) -> None:
        """Let no new operation start; those that run come to their end."""
        self._calls.shutdown(wait=False, cancel_futures=True)
        self._uploads.shutdown(wait=False, cancel_futures=True)

    async def handle(self, found: Found, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to a known path."""
        method = scope["method"]
        headers = Headers(scope["headers"])
        incoming = Incoming(receive, may_wait="expect" in headers)
        endpoint = found.methods.get(method)
        call = None
        if endpoint is None:
            answer = _wrong_method(method, found)
        else:
            call = _Call(endpoint, found.segments, scope["query_string"], headers)
            incoming.ended = endpoint.operation.http_method == "GET" and not endpoint.by_name
            try:
                answer = await self._answer(call, incoming)
            except ClientGoneError:
                return
            except LanceNamespaceError as error:
                answer = self._failed(error, call)
        await self._send(answer, incoming, receive, send, call)

    async def unknown(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to a path that no operation has.

        The code is 0: what the server does not know it does not support, and a client that can
        do without an operation tells the two cases by the code alone.
        """
        method, path = scope["method"], _raw_path(scope)
        near = self.routes.nearest(method, path)
        hint = f"; near to it: {', '.join(near)}" if near else ""
        error = _NoRouteError(
            f"there is no {method} {path[:200]}: operations have their /v1 route and POST /<name>, "
            f"see GET /openapi.json{hint}"
        )
        await self._send(error_reply(error), Incoming(receive), receive, send)

    async def _answer(self, call: _Call, incoming: Incoming) -> Reply:
        if call.endpoint.operation.body is Body.ARROW:
            return await self._take_rows(call, incoming)
        body = await incoming.read(self._max_json_bytes)
        return await _in(self._calls, self._perform, call, body)

    async def _take_rows(self, call: _Call, incoming: Incoming) -> Reply:
        check_content_type(call.endpoint, call.headers)
        rows = Rows(incoming)
        filling = asyncio.create_task(rows.fill())
        try:
            file = io.BufferedReader(rows, READ_BYTES)
            return await _in(self._uploads, self._perform, call, b"", file)
        finally:
            filling.cancel()
            await asyncio.wait((filling,))

    def _perform(self, call: _Call, body: bytes, rows: BinaryIO | None = None) -> Reply:
        """Do an operation; runs in a worker thread, from reading the request to writing the answer."""
        operation = call.endpoint.operation
        try:
            request: Any = read_request(
                call.endpoint, call.segments, call.query_string, call.headers, body
            )
            self._reach.check(operation, request, self._namespace)
            method = getattr(self._namespace, operation.method_name)
            with self._reach.bounds():
                answer = method(request) if rows is None else _with_rows(method, request, rows)
            vend = self._vend and getattr(request, "vend_credentials", None) is not False
            return reply(operation, answer, vend_secrets=vend)
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a protocol error
            return self._failed(error, call)

    def _failed(self, error: Exception, call: _Call) -> Reply:
        """Write a failure; what is the server's own fault goes to the log under the request's id."""
        if isinstance(error, LanceNamespaceError) and error.http_status < 500:
            return error_reply(error)
        name = call.endpoint.operation.name
        if not isinstance(error, LanceNamespaceError):
            found: LanceNamespaceError = InternalError(
                f"{name} failed in the server; its log has the cause under request {call.id}"
            )
            found.__cause__ = error
        else:
            found = error
        found.instance = found.instance or call.id
        if found.code is ErrorCode.INTERNAL:
            self._log_cause(found.__cause__ or found, f"request {call.id}: {name} failed")
        else:
            logger.warning("request %s: %s: %s", call.id, name, found.message)
        return error_reply(found)

    def _log_cause(self, error: BaseException, what: str) -> None:
        lines = "".join(traceback.format_exception(error))
        if isinstance(self._namespace, Namespace):
            lines = scrub(lines, self._namespace.config.secrets())
        logger.error("%s\n%s", what, lines)

    async def _send(
        self,
        answer: Reply,
        incoming: Incoming,
        receive: Receive,
        send: Send,
        call: _Call | None = None,
    ) -> None:
        headers = answer.headers
        ended = incoming.ended or await incoming.drain(LEFT_BYTES, LEFT_SECONDS)
        if not ended:
            headers = [*headers, (b"connection", b"close")]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        if answer.rest is not None and call is not None:
            await self._stream(answer, receive, send, call)
        elif ended:
            await send(_part(answer.body, more=False))
        else:
            await send(_part(answer.body, more=True))
            await incoming.drain(LINGER_BYTES, LINGER_SECONDS)
            await send(_part(b"", more=False))

    async def _stream(self, answer: Reply, receive: Receive, send: Send, call: _Call) -> None:
        """Send rows; the next ones are read while some go out.

        A failure in the middle can only cut the connection: the answer then lacks its end.
        """
        rest: Any = answer.rest
        body, more = answer.body, True
        gone = asyncio.create_task(_until_gone(receive))
        ahead = self._calls.submit(gather, rest)
        try:
            while True:
                await send(_part(body, more=True))
                if not more or gone.done():
                    break
                body, more = await asyncio.wrap_future(ahead)
                if more:
                    ahead = self._calls.submit(gather, rest)
            await send(_part(b"", more=False))
        except Exception as error:  # noqa: BLE001 - logged; there is no one to raise it to
            name = call.endpoint.operation.name
            self._log_cause(error, f"request {call.id}: {name} was cut in the middle of its rows")
        finally:
            gone.cancel()
            ahead.add_done_callback(lambda _: rest.close())


class _Call:
    """One request to an operation."""

    __slots__ = ("_id", "endpoint", "headers", "query_string", "segments")

    def __init__(
        self, endpoint: Endpoint, segments: tuple[str, ...], query_string: bytes, headers: Headers
    ) -> None:
        self.endpoint = endpoint
        self.segments = segments
        self.query_string = query_string
        self.headers = headers
        self._id: str | None = None

    @property
    def id(self) -> str:
        """What to find the request by in the log: the client's ``x-request-id``, or a new one."""
        if self._id is None:
            given = self.headers.get("x-request-id", "")
            usable = 0 < len(given) <= LONGEST_REQUEST_ID and given.isprintable()
            self._id = given if usable else uuid.uuid4().hex
        return self._id


class _NoRouteError(UnsupportedError):
    http_status = 404


class _WrongMethodError(InvalidInputError):
    http_status = 405


def _with_rows(method: Callable[..., Any], request: Any, file: BinaryIO) -> Any:
    """Call an operation that takes rows; whatever becomes of a broken stream, it is code 13."""
    rows = RowCount(to_reader(file))
    with rows.blaming_stream():
        return method(request, rows.reader())


def _wrong_method(method: str, found: Found) -> Reply:
    allowed = ", ".join(sorted(found.methods))
    name = next(iter(found.methods.values())).operation.name
    error = _WrongMethodError(f"{name} is called with {allowed}, not {method}")
    return error_reply(error, [(b"allow", allowed.encode())])


def _part(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def _in(pool: ThreadPoolExecutor, function: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
