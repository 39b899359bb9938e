"""The REST backend: the generated client with configuration, retries and redacted errors."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from lance_namespace_client import rest
from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError
from lance_namespace_client.model import Model, RequestLike
from lance_namespace_client.operations import Body

from ..catalog.capabilities import Capabilities
from ..catalog.namespace import Namespace
from ..core.errors import scrub
from ..core.http import Retries, new_client, send
from ..core.identifiers import check_new_name
from ..core.requests import secrets_in_request

if TYPE_CHECKING:
    import httpx

    from lance_namespace_client.arrow import ArrowData
    from lance_namespace_client.operations import Operation

from .config import RestConfig

__all__ = ["RestConfig", "RestNamespace"]

Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")


class RestNamespace(Namespace, rest.RestNamespace):
    """A namespace behind a REST server; every operation is forwarded to it.

    A call that may be repeated without harm is sent again where the connection fails, times out
    or is cut, and after HTTP status 429, 502, 503 and 504; any other only where the server cannot
    have carried it out. After the last try a server that does not answer is
    `ServiceUnavailableError` (code 17), one that wants fewer calls `ThrottlingError` (21).

    ``storage.*`` properties are added to the storage options that the server gives, whose own
    values win: so a client brings the credentials that a server keeps to itself.

    Source: the general specification, "Lance REST Namespace".
    """

    config_type = RestConfig
    config: RestConfig
    # What the catalog behind the server can do is for the server to say; nothing is refused here.
    capabilities = Capabilities(namespace_depth=None, cascade=True, rename_across=True)

    def __init__(self, config: RestConfig) -> None:
        api_key = {"x-api-key": config.api_key} if config.api_key is not None else None
        Namespace.__init__(self, config)
        rest.RestNamespace.__init__(
            self, new_client(config, config.uri, api_key), config.uri, delimiter=config.delimiter
        )
        self._retries = Retries(config)
        self._snake_case_modes = False

    def close(self) -> None:
        """Close the connections; a call after it is refused (code 13)."""
        self._client.close()

    def _send(
        self, request: httpx.Request, operation: Operation[Any, Any], stream: bool
    ) -> httpx.Response:
        if self._client.is_closed:
            raise InvalidInputError(f"{operation.name}: this namespace is closed; connect again")
        if operation.body is Body.ARROW:
            retry = self._retries.unsent
        elif operation.repeatable:
            retry = self._retries.repeatable
        else:
            retry = self._retries.unprocessed
        return send(self._client, request, retry, stream=stream)

    def _exchange(
        self,
        operation: Operation[Request, Response],
        request: Request,
        rows: Iterator[bytes] | None,
    ) -> Response:
        check_new_name(request, self.config.delimiter)
        try:
            return super()._exchange(operation, request, rows)
        except LanceNamespaceError as error:
            self._redact(error, request)
            raise

    def _call(
        self, operation: Operation[Request, Response], request: Request | RequestLike | None
    ) -> Response:
        return self._in_known_case(operation, request, super()._call)

    def _call_with_rows(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike,
        data: ArrowData,
    ) -> Response:
        call = super()._call_with_rows
        return self._in_known_case(
            operation,
            request,
            lambda operation, request: call(operation, request, data),
            may_repeat=_is_rereadable(data),
        )

    def _in_known_case(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike | None,
        call: Callable[[Operation[Request, Response], Request], Response],
        *,
        may_repeat: bool = True,
    ) -> Response:
        """Call with a mode as the server writes it.

        A server that refuses ``ExistOk`` is asked once more, for ``exist_ok``; where it takes that,
        the next calls begin with it.
        """
        coerced = operation.request_type.coerce(request)
        other = _in_snake_case(coerced)
        if other is None:
            return call(operation, coerced)
        if self._snake_case_modes:
            return call(operation, other)
        try:
            return call(operation, coerced)
        except InvalidInputError as refused:
            if not may_repeat:
                raise
            try:
                answer = call(operation, other)
            except LanceNamespaceError as error:
                if isinstance(error, InvalidInputError):
                    raise refused from None
                self._snake_case_modes = error.status in (404, 409)
                raise
            self._snake_case_modes = True
            return answer

    def _redact(self, error: LanceNamespaceError, request: Any) -> None:
        """Take secrets out of a failure, should the server repeat what it was sent."""
        secrets = self.config.secrets() | secrets_in_request(request)
        error.text = scrub(error.text, secrets)
        error.subject = error.subject and scrub(error.subject, secrets)
        error.args = (error.text,)
        error.detail = error.detail and scrub(error.detail, secrets)
        error.instance = error.instance and scrub(error.instance, secrets)

    def _answer(
        self, operation: Operation[Request, Response], request: Request, response: httpx.Response
    ) -> Response:
        answer = super()._answer(operation, request, response)
        if self.config.storage and hasattr(answer, "storage_options"):
            answer.storage_options = {**self.config.storage, **(answer.storage_options or {})}
        return answer


def _in_snake_case(request: Request) -> Request | None:
    """Return the request with its mode in snake case; None where that is the mode given."""
    mode = getattr(request, "mode", None)
    if not isinstance(mode, str):
        return None
    written = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", mode).lower()
    if written == mode.lower():
        return None
    model: Any = request
    changed: Request = attrs.evolve(model, mode=written)
    return changed


def _is_rereadable(data: ArrowData) -> bool:
    """Return whether rows can be sent twice."""
    import pyarrow as pa

    return isinstance(data, pa.Table | pa.RecordBatch | pa.Buffer | bytes | bytearray | memoryview)


class _HideStorageOptions(logging.Filter):
    """Keeps storage options out of the HTTP log; they are query parameters of CreateTable, as such or
    among the properties."""

    _VALUE = re.compile(r"\b((?:storage_options|properties)=)[^&\s'\")]+")

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if self._VALUE.search(text):
            record.msg, record.args = self._VALUE.sub(r"\1***", text), ()
        return True


for _name in ("httpx", "httpx_retries.transport"):
    logging.getLogger(_name).addFilter(_HideStorageOptions())
