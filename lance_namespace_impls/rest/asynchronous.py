"""The REST backend for asynchronous programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from lance_namespace_client import async_rest
from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.model import Model, RequestLike

from ..catalog.namespace import Configured, page_request
from ..core.http import new_async_client, send_async
from ..core.request_auth import OPERATION
from .config import RestConfig
from .rules import Rules

if TYPE_CHECKING:
    import httpx

    from lance_namespace_client.arrow import AsyncArrowData
    from lance_namespace_client.operations import Operation

__all__ = ["AsyncRestNamespace"]

Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")


class AsyncRestNamespace(Configured, async_rest.AsyncRestNamespace):
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

    def __init__(self, config: RestConfig) -> None:
        Configured.__init__(self, config)
        self._rules = Rules(config)
        client = new_async_client(config, config.uri, self._rules.headers())
        async_rest.AsyncRestNamespace.__init__(self, client, config.uri, delimiter=config.delimiter)

    async def aclose(self) -> None:
        """Close the connections; later calls are rejected (code 13)."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def iter_namespaces(
        self, id: str | Sequence[str] | None = None, *, page_size: int | None = None
    ) -> AsyncIterator[str]:
        """Iterate over the names of the child namespaces; pages are requested on demand.

        Args:
            id: the parent; defaults to the root.
            page_size: maximum number of names per page; by default, the namespace chooses.

        Raises:
            NamespaceNotFoundError: code 1.
        """
        token: str | None = None
        while True:
            page = await self.list_namespaces(page_request(id, token, page_size))
            for name in page.namespaces:
                yield name
            if not (token := page.page_token):
                return

    async def iter_tables(
        self,
        id: str | Sequence[str] | None = None,
        *,
        include_declared: bool = True,
        page_size: int | None = None,
    ) -> AsyncIterator[str]:
        self.reopen_after_fork()
        """Iterate over the names of the tables in a namespace; pages are requested on demand.

        Args:
            id: the namespace; defaults to the root.
            include_declared: whether to include tables without data.
            page_size: maximum number of names per page; by default, the namespace chooses.

        Raises:
            NamespaceNotFoundError: code 1.
        self.reopen_after_fork()
        """
        token: str | None = None
        while True:
            request = page_request(id, token, page_size)
            page = await self.list_tables({**request, "include_declared": include_declared})
            for name in page.tables:
                yield name
            if not (token := page.page_token):
                return

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
        first = operation.request_type.coerce(request)
        return await self._in_either_case(partial(super()._call, operation), first)

    async def _call_with_rows(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike,
        data: AsyncArrowData,
    ) -> Response:
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
