"""The ASGI application: the protocol's routes, health checks and metrics."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, NoMatchFound, Route
from starlette.types import Receive, Scope, Send

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.namespace import LanceNamespace

from .execution.context import CERTIFICATE
from .execution.handler import Service, raw_path
from .http.requests import Headers
from .http.responses import error_reply
from .observability.health import Readiness
from .options import ServerOptions
from .security.authentication import Credentials
from .ui.explorer import Explorer

__all__ = ["create_app"]

FOUND = "lance_namespace.found"


def create_app(
    namespace: LanceNamespace,
    options: ServerOptions | None = None,
) -> Starlette:
    """Create the server application for a namespace.

    The application runs under any ASGI server, standalone or mounted in another application, and
    applies the same protections as `serve`. Only the time limit for headers and the limits on idle
    connections must be enforced by the ASGI server.

    Args:
        namespace: any namespace; the application does not close it.
        options: server options; the defaults are safe.

    Returns:
        a Starlette application to run or mount.
    """
    options = options or ServerOptions()
    service = Service(namespace, options)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    operations = _Operations(service)
    explorer = Explorer(
        operations.ask,
        options.access,
        service.unknown,
        asks_who_calls=service.authentication is not None,
    )
    pages = explorer.routes() if options.ui else []
    health = _Health(service, namespace, options)
    app = _App(
        service,
        routes=[
            operations,
            Route("/healthz", health.healthz),
            Route("/readyz", health.readyz),
            Route("/metrics", health.metrics),
            Route("/openapi.json", _openapi),
            *pages,
        ],
        middleware=list(options.middleware),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.router.default = service.unknown
    return app


class _App(Starlette):
    """A Starlette application that handles operations directly, without Starlette's middleware
    stack, unless the user has added middleware.
    """

    def __init__(self, service: Service, **options: Any) -> None:
        super().__init__(**options)
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self.user_middleware:
            found = self._service.routes.find(raw_path(scope))
            if found is not None:
                await self._service.handle(found, scope, receive, send)
                return
        await super().__call__(scope, receive, send)


async def _openapi(request: Request) -> Response:
    document = resources.files("lance_namespace_client").joinpath("openapi.json")
    return Response(document.read_bytes(), media_type="application/json")


class _Health:
    """Health and metrics endpoints.

    Liveness and readiness are public: the response is a single word. Metrics reveal the server's
    activity and require an authenticated caller.
    """

    def __init__(self, service: Service, namespace: LanceNamespace, options: ServerOptions) -> None:
        self._service = service
        self._options = options
        self._readiness = Readiness(namespace)

    async def healthz(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        if await self._readiness.get():
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "the catalog does not respond"}, 503, {"retry-after": "5"})

    async def metrics(self, request: Request) -> Response:
        headers = Headers(request.scope["headers"])
        authentication = self._service.authentication
        try:
            self._options.access.check(headers)
            if authentication is not None and not self._options.open_metrics:
                shown = Credentials.of(headers, request.scope.get(CERTIFICATE))
                address = request.client.host if request.client else ""
                await authentication.authenticate(shown, address)
        except LanceNamespaceError as error:
            answer = error_reply(error)
            return Response(
                answer.body,
                answer.status,
                {name.decode(): value.decode() for name, value in answer.headers},
            )
        metrics = self._service.observer.metrics
        text = await asyncio.to_thread(metrics.text)
        return Response(text, media_type=metrics.content_type)


class _Operations(BaseRoute):
    """A single route for all operations; the protocol's route table matches the path."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        found = self._service.routes.find(raw_path(scope))
        return (Match.FULL, {FOUND: found}) if found is not None else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._service.handle(scope[FOUND], scope, receive, send)

    async def ask(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request from the server's own web pages to an operation."""
        found = self._service.routes.find(raw_path(scope))
        assert found is not None
        await self._service.handle(found, scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: Any) -> Any:
        raise NoMatchFound(name, path_params)
