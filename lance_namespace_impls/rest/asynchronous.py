"""The REST backend for asynchronous programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from lance_namespace_client import async_rest
from lance_namespace_client.errors import InvalidInputError, UnauthenticatedError
from lance_namespace_client.model import Model, RequestLike

from ..catalog.namespace import Configured
from ..core.http import new_async_client, send_async
from ..core.oauth import client_credentials
from ..core.request_auth import OPERATION
from ..objects.async_namespace import AsyncNamespace
from .config import RestConfig
from .namespace import RestNamespace
from .rules import Rules

if TYPE_CHECKING:
    import httpx

    from lance_namespace_client.arrow import AsyncArrowData
    from lance_namespace_client.operations import Operation

__all__ = ["AsyncRestNamespace"]

Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")


class AsyncRestNamespace(Configured, async_rest.AsyncRestNamespace, AsyncNamespace):
    """A namespace behind a REST server, with asynchronous operations.

    Properties, retries and errors are the same as for `RestNamespace`. An object must be used from
    a single asyncio event loop.

    Examples:
        >>> async with AsyncRestNamespace.from_properties({"uri": uri}) as namespace:
        ...     await namespace.describe_table({"id": ["db", "events"]})  # doctest: +SKIP

    Source: the general specification, "Lance REST Namespace".
    """

    config_type = RestConfig
    config: RestConfig
    user_methods: ClassVar[frozenset[str]] = AsyncNamespace.user_methods | {
        "config",
        "from_properties",
        "properties",
    }

    def __init__(self, config: RestConfig) -> None:
        Configured.__init__(self, config)
        self._rules = Rules(config)
        self._credentials = client_credentials(config, config.uri)
        client = new_async_client(config, config.uri, self._rules.headers(), self._credentials)
        async_rest.AsyncRestNamespace.__init__(self, client, config.uri, delimiter=config.delimiter)

    @cached_property
    def synchronous(self) -> RestNamespace:
        """The same namespace for blocking calls, over separate connections."""
        return RestNamespace(self.config)

    async def aclose(self) -> None:
        """Close the connections; later calls are rejected (code 13)."""
        await self._client.aclose()
        if self._credentials is not None:
            self._credentials.close()
        if "synchronous" in vars(self):
            self.synchronous.close()

    async def _send(
        self, request: httpx.Request, operation: Operation[Any, Any], stream: bool
    ) -> httpx.Response:
        retry = self._rules.retry(self._client, operation)
        request.extensions[OPERATION] = operation.method_name
        return await send_async(self._client, request, retry, stream=stream)

    async def _exchange(
        self,
        operation: Operation[Request, Response],
        request: Request,
        rows: AsyncIterator[bytes] | None,
    ) -> Response:
        with self._rules.checked(request):
            return await super()._exchange(operation, request, rows)

    async def _call(
        self, operation: Operation[Request, Response], request: Request | RequestLike | None
    ) -> Response:
        self.reopen_after_fork()
        first = operation.request_type.coerce(request)
        return await self._in_either_case(partial(super()._call, operation), first)

    async def _call_with_rows(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike,
        data: AsyncArrowData,
    ) -> Response:
        self.reopen_after_fork()
        first = operation.request_type.coerce(request)
        call = partial(super()._call_with_rows, operation, data=data)
        return await self._in_either_case(call, first, data)

    async def _in_either_case(
        self,
        call: Callable[[Request], Awaitable[Response]],
        request: Request,
        data: AsyncArrowData | None = None,
    ) -> Response:
        """Send a request; repeat it once if the server may require the mode in snake case."""
        first = self._rules.first_attempt(request)
        try:
            return await call(first)
        except UnauthenticatedError:
            # The rejected token is not used again, and streamed rows are sent again only here.
            if not self._rules.may_send_again(data):
                raise
            return await call(first)
        except InvalidInputError as refused:
            second = self._rules.second_attempt(first, data)
            if second is None:
                raise
            with self._rules.second_result(refused):
                return await call(second)

    def _decode_response(
        self, operation: Operation[Request, Response], request: Request, response: httpx.Response
    ) -> Response:
        result = super()._decode_response(operation, request, response)
        self._rules.process_response(operation, request, result)
        return result
