"""Rules that the REST backend adds to the generated clients: configuration, retries, redacted errors."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from lance_namespace_client.errors import InternalError, InvalidInputError, LanceNamespaceError
from lance_namespace_client.model import Model
from lance_namespace_client.operations import Body

from ..core.errors import scrub
from ..core.http import Retries
from ..core.identifiers import check_new_name
from ..core.options import overlaid
from ..core.requests import secrets_in_request
from .config import RestConfig

if TYPE_CHECKING:
    import httpx
    from httpx_retries import Retry

    from lance_namespace_client.arrow import ArrowData
    from lance_namespace_client.operations import Operation

__all__ = ["Rules"]

Request = TypeVar("Request", bound=Model)


class Rules:
    """Processes a call before it is sent and after its response arrives.

    Args:
        config: the typed properties.
    """

    def __init__(self, config: RestConfig) -> None:
        self._config = config
        self._retries = Retries(config)
        self._snake_case_modes = False

    def headers(self) -> Mapping[str, str] | None:
        """Return the headers that this backend adds to every request."""
        key = self._config.api_key
        return {"x-api-key": key} if key is not None else None

    def retry(
        self, client: httpx.Client | httpx.AsyncClient, operation: Operation[Any, Any]
    ) -> Retry:
        """Return the retry policy for requests of an operation.

        Raises:
            InvalidInputError: code 13, the client is closed.
        """
        if client.is_closed:
            raise InvalidInputError(f"{operation.name}: this namespace is closed; connect again")
        if operation.body is Body.ARROW:
            return self._retries.unsent
        return self._retries.repeatable if operation.repeatable else self._retries.unprocessed

    @contextmanager
    def checked(self, request: Any) -> Iterator[None]:
        """Reject names that cannot be sent, and redact secrets in failures.

        A server's error message may repeat parts of the request.
        """
        check_new_name(request, self._config.delimiter)
        try:
            yield
        except LanceNamespaceError as error:
            secrets = self._config.secrets() | secrets_in_request(request)
            error.text = scrub(error.text, secrets)
            error.subject = error.subject and scrub(error.subject, secrets)
            error.args = (error.text,)
            error.detail = error.detail and scrub(error.detail, secrets)
            error.instance = error.instance and scrub(error.instance, secrets)
            raise

    def process_response(self, operation: Operation[Any, Any], request: Any, response: Any) -> None:
        """Add the client's storage options to a response that contains storage options.

        A page is rejected if its next page is the page itself, because the listing would never end.

        Raises:
            InternalError: code 18, the next page has the same token as this page.
        """
        token = getattr(response, "page_token", None)
        if token and token == getattr(request, "page_token", None):
            raise InternalError(
                f"{operation.name}: {self._config.uri} returned the page token {token[:40]!r} "
                "twice, so the listing would never end"
            )
        if self._config.storage and hasattr(response, "storage_options"):
            response.storage_options = overlaid(
                self._config.storage, response.storage_options or {}
            )

    def may_send_again(self, data: ArrowData | None) -> bool:
        """Return whether rows can be sent again with a new token, after code 16."""
        return data is not None and self._config.has_oauth_client and _is_rereadable(data)

    def first_attempt(self, request: Request) -> Request:
        """Return a request whose mode has the spelling that the server is known to accept."""
        other = _in_snake_case(request) if self._snake_case_modes else None
        return request if other is None else other

    def second_attempt(self, request: Request, data: ArrowData | None = None) -> Request | None:
        """Return the request to send after code 13, for servers that use snake case for modes.

        Return None if a second attempt would make no difference.

        Args:
            request: the rejected request.
            data: the rows sent with the request.
        """
        if self._snake_case_modes or not (data is None or _is_rereadable(data)):
            return None
        return _in_snake_case(request)

    @contextmanager
    def second_result(self, refused: InvalidInputError) -> Iterator[None]:
        """Remember which case the server accepts, based on the result of the second attempt.

        Raises:
            InvalidInputError: code 13, `refused`, because the case was not the reason.
        """
        try:
            yield
        except InvalidInputError:
            raise refused from None
        except LanceNamespaceError as error:
            self._snake_case_modes = error.status in (404, 409)
            raise
        self._snake_case_modes = True


def _in_snake_case(request: Request) -> Request | None:
    """Return the request with its mode in snake case, or None if that changes nothing."""
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
    """Redacts the storage options in the HTTP log; CreateTable sends them as query parameters."""

    _VALUE = re.compile(r"\b((?:storage_options|properties)=)[^&\s'\")]+")

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if self._VALUE.search(text):
            record.msg, record.args = self._VALUE.sub(r"\1***", text), ()
        return True


for _name in ("httpx", "httpx_retries.transport"):
    logging.getLogger(_name).addFilter(_HideStorageOptions())
