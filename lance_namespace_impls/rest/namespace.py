"""The REST backend: the generated client with configuration, retries and redacted errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from lance_namespace_client import rest
from lance_namespace_client.errors import InvalidInputError, UnauthenticatedError
from lance_namespace_client.model import Model, RequestLike

from ..catalog.capabilities import Capabilities
from ..catalog.namespace import Namespace
from ..core.http import new_client, send
from ..core.imports import load
from ..core.oauth import client_credentials
from ..core.request_auth import OPERATION
from .config import RestConfig
from .rules import Rules

if TYPE_CHECKING:
    import httpx

    from lance_namespace_client.arrow import ArrowData
    from lance_namespace_client.operations import Operation

    from ..objects.async_namespace import AsyncNamespace

__all__ = ["RestConfig", "RestNamespace"]

Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")


class RestNamespace(Namespace, rest.RestNamespace):
    """A namespace behind a REST server; every operation is forwarded to it.

    A repeatable call is retried if the connection fails, times out or breaks, and after HTTP status
    429, 502, 503 or 504. Any other call is retried only if the server cannot have executed it.
    After the last attempt, the error is `ServiceUnavailableError` (code 17) if the server is
    unavailable, or `ThrottlingError` (code 21) if the server throttles calls.

    ``storage.*`` properties are added to the storage options that the server returns, which take
    precedence. A client can thereby supply credentials that the server does not reveal.

    Source: the general specification, "Lance REST Namespace".
    """

    config_type = RestConfig
    config: RestConfig
    # The server determines what its catalog supports, so nothing is rejected here.
    capabilities = Capabilities(namespace_depth=None, cascade=True, rename_across=True)

    def __init__(self, config: RestConfig) -> None:
        Namespace.__init__(self, config)
        self._rules = Rules(config)
        self._credentials = client_credentials(config, config.uri)
        client = new_client(config, config.uri, self._rules.headers(), self._credentials)
        rest.RestNamespace.__init__(self, client, config.uri, delimiter=config.delimiter)

    def close(self) -> None:
        """Close the connections; later calls are rejected (code 13)."""
        self._client.close()
        if self._credentials is not None:
            self._credentials.close()

    def asynchronous(self) -> AsyncNamespace:
        """Return a namespace for asynchronous programs, with connections of its event loop; this
        one is closed.
        """
        # Each of the two classes can create the other, so only one of the modules imports the other.
        kind = load("lance_namespace_impls.rest.asynchronous").AsyncRestNamespace
        self.close()
        found: AsyncNamespace = kind(self.config)
        return found

    def _send(
        self, request: httpx.Request, operation: Operation[Any, Any], stream: bool
    ) -> httpx.Response:
        retry = self._rules.retry(self._client, operation)
        request.extensions[OPERATION] = operation.method_name
        return send(self._client, request, retry, stream=stream)

    def _exchange(
        self,
        operation: Operation[Request, Response],
        request: Request,
        rows: Iterator[bytes] | None,
    ) -> Response:
        with self._rules.checked(request):
            return super()._exchange(operation, request, rows)

    def _call(
        self, operation: Operation[Request, Response], request: Request | RequestLike | None
    ) -> Response:
        self.reopen_after_fork()
        first = operation.request_type.coerce(request)
        return self._in_either_case(partial(super()._call, operation), first)

    def _call_with_rows(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike,
        data: ArrowData,
    ) -> Response:
        self.reopen_after_fork()
        first = operation.request_type.coerce(request)
        call = partial(super()._call_with_rows, operation, data=data)
        return self._in_either_case(call, first, data)

    def _in_either_case(
        self,
        call: Callable[[Request], Response],
        request: Request,
        data: ArrowData | None = None,
    ) -> Response:
        """Send a request; repeat it once if the server may require the mode in snake case."""
        first = self._rules.first_attempt(request)
        try:
            return call(first)
        except UnauthenticatedError:
            # The rejected token is not used again, and streamed rows are sent again only here.
            if not self._rules.may_send_again(data):
                raise
            return call(first)
        except InvalidInputError as refused:
            second = self._rules.second_attempt(first, data)
            if second is None:
                raise
            with self._rules.second_result(refused):
                return call(second)

    def _decode_response(
        self, operation: Operation[Request, Response], request: Request, response: httpx.Response
    ) -> Response:
        result = super()._decode_response(operation, request, response)
        self._rules.process_response(operation, request, result)
        return result
