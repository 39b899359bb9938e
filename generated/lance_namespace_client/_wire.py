# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
# pyarrow has no type information.
# mypy: disable-error-code="import-untyped"

"""The parts of protocol clients without I/O: routes, bodies, responses and failures."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast
from urllib.parse import quote

import httpx

from . import errors
from ._operation import Body, Operation
from .decoding import ACCEPTED_ENCODINGS
from .errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
)
from .identifiers import DEFAULT_DELIMITER, join_identifier
from .model import Model
from .wire import (
    HEADER_NAME,
    HEADER_PREFIX,
    HEADER_VALUE,
    STREAM_TYPE,
    path_segment,
    retry_after_seconds,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["HttpWire", "failure", "is_refused"]

Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")
Rows: TypeAlias = Iterator[bytes] | AsyncIterator[bytes]


class HttpWire:
    """Builds the requests of operations and parses their responses.

    Args:
        client: provides the timeouts and headers.
        uri: URL of the server, such as ``http://localhost:2333``.
        delimiter: separator between the levels of an identifier in a URL.
    """

    def __init__(
        self,
        client: httpx.Client | httpx.AsyncClient,
        uri: str,
        *,
        delimiter: str = DEFAULT_DELIMITER,
    ) -> None:
        if not delimiter:
            raise InvalidInputError("the delimiter must not be empty")
        self._client = client
        self._uri = uri.rstrip("/")
        self._delimiter = delimiter
        self._delimiter_query = "delimiter=" + quote(delimiter, safe="")

    def namespace_id(self) -> str:
        """Return a string that identifies this namespace: its kind and URL."""
        return f"{type(self).__name__} {self._uri}"

    @contextmanager
    def _exchanging(self, operation: Operation[Any, Any]) -> Iterator[None]:
        """Translate exceptions of the HTTP library to protocol errors."""
        try:
            yield
        except httpx.InvalidURL as error:
            advice = (
                "; set fewer or shorter properties" if "too long" in str(error) else ""
            )
            raise InvalidInputError(
                f"{operation.name} cannot be sent to {self._uri!r}: {error}{advice}"
            ) from error
        except httpx.UnsupportedProtocol as error:
            raise InvalidInputError(
                f"{self._uri!r} must start with http:// or https://"
            ) from error
        except UnicodeEncodeError:
            raise InvalidInputError(
                f"{operation.name}: a name or value in the request is not valid Unicode"
            ) from None
        except httpx.RequestError as error:
            raise self._away(operation, error) from error

    def _away(
        self, operation: Operation[Any, Any], error: Exception
    ) -> LanceNamespaceError:
        cause = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, httpx.LocalProtocolError):
            return InvalidInputError(
                f"{operation.name} cannot be sent over HTTP: {cause}"
            )
        if isinstance(error, httpx.DecodingError):
            return InternalError(
                f"{operation.name}: {self._uri} returned an unreadable response: {cause}"
            )
        return ServiceUnavailableError(
            f"{operation.name}: no response from {self._uri} ({cause}); check that the server is "
            f"running"
        )

    def _build(
        self, operation: Operation[Any, Any], request: Any, rows: Rows | None
    ) -> httpx.Request:
        sent = (
            request.to_dict()
            if operation.query or operation.body is not Body.ARROW
            else {}
        )
        path, query = (
            self._path(operation, request),
            self._query(operation, request, sent),
        )
        headers = _request_headers(request)
        content: bytes | Rows | None = None
        if rows is not None:
            headers["Content-Type"] = STREAM_TYPE
            content = rows
        elif operation.body is Body.JSON:
            headers["Content-Type"] = "application/json"
            content = json.dumps(
                sent, separators=(",", ":"), ensure_ascii=False
            ).encode()
        elif operation.body_field is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(sent.get(operation.body_field) or {}).encode()
        return self._request(
            operation.http_method, f"{self._uri}{path}?{query}", headers, content
        )

    def _path(self, operation: Operation[Any, Any], request: Any) -> str:
        path = operation.path
        for field in operation.path_fields:
            value = getattr(request, field)
            if field == "id":
                value = join_identifier(value, self._delimiter)
            elif not value:
                raise InvalidInputError(f"{operation.name} needs {field}")
            path = path.replace("{" + field + "}", path_segment(value))
        return path

    def _query(
        self, operation: Operation[Any, Any], request: Any, sent: dict[str, Any]
    ) -> str:
        query = self._delimiter_query
        if (
            "id" not in operation.path_fields
            and request.context
            and "delimiter" in request.context
        ):
            # The delimiter affects only the names in the response, so the caller may choose another
            # one.
            query = "delimiter=" + quote(request.context["delimiter"], safe="")
        for parameter in operation.query:
            value = sent.get(parameter.field)
            if value is not None:
                for item in value if isinstance(value, list) else [value]:
                    query += f"&{parameter.name}={quote(_query_text(item), safe='')}"
            elif parameter.required:
                raise InvalidInputError(f"{operation.name} needs {parameter.field}")
        return query

    def _request(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        content: bytes | Rows | None,
    ) -> httpx.Request:
        """Build a request in half the time of ``httpx.Client.build_request``."""
        merged = self._client.headers.copy()
        if "," in merged.get(
            "Accept-Encoding", ""
        ):  # the library's default, which may include other encodings
            merged["Accept-Encoding"] = ACCEPTED_ENCODINGS
        merged.update(headers)
        return httpx.Request(
            method,
            _url(url),
            headers=merged,
            cookies=self._client.cookies,
            content=content,
            extensions={"timeout": self._client.timeout.as_dict()},
        )

    def _decode_response(
        self,
        operation: Operation[Request, Response],
        request: Request,
        response: httpx.Response,
    ) -> Response:
        """Parse a response without rows; its body has already been read."""
        context = {
            HEADER_PREFIX + name: value for name, value in response.headers.items()
        }
        data: Any = {}
        if operation.answer is not Body.NONE and response.content:
            try:
                data = json.loads(response.content)
            except (ValueError, RecursionError) as error:
                deep = isinstance(error, RecursionError)
                raise InternalError(
                    f"{operation.name}: {self._uri} returned HTTP {response.status_code} with "
                    f"{'JSON that is nested too deeply' if deep else 'a body that is not JSON'}"
                ) from error
        if operation.answer is Body.FIELD:
            data = {operation.answer_field: data}
        response_type: Any = operation.response_type
        try:
            answer = response_type.from_dict(data)
        except InvalidInputError as error:
            raise InternalError(
                f"{operation.name}: {self._uri} returned an invalid response: {error}"
            ) from error
        answer.context = {**context, **(answer.context or {})}
        return cast("Response", answer)

    def _rows(
        self,
        operation: Operation[Any, Any],
        chunks: Iterator[bytes],
        close: Callable[[], None],
    ) -> pa.RecordBatchReader:
        """Return the rows of a response, which are read from the server on demand.

        Args:
            operation: the called operation.
            chunks: the body, an Arrow IPC file.
            close: called once, after the last row or a failure.

        Raises:
            InternalError: code 18, the response is not an Arrow IPC file; also raised while batches
                are read.
            ServiceUnavailableError: code 17, the connection breaks; also raised while batches are
                read.
        """
        import pyarrow as pa

        from .arrow import read_file_stream

        body = _BodyFile(chunks, close)
        source = io.BufferedReader(body, 1 << 20)
        with self._exchanging(operation):
            try:
                reader = read_file_stream(cast("Any", source))
            except BaseException as error:
                body.close()
                if not isinstance(error, pa.ArrowException | OSError):
                    raise
                raise InternalError(
                    f"{operation.name}: the response is not an Arrow IPC file: {error}"
                ) from error

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                with self._exchanging(operation):
                    yield from reader
                    while source.read(1 << 16):
                        pass  # read the footer too: only then can the connection be reused
            except (pa.ArrowException, OSError) as error:
                raise InternalError(
                    f"{operation.name}: the response was truncated: {error}"
                ) from error
            finally:
                body.close()

        return pa.RecordBatchReader.from_batches(reader.schema, batches())


@functools.lru_cache(maxsize=1024)
def _url(text: str) -> httpx.URL:
    """Parse a URL; results are cached, because programs access the same tables repeatedly."""
    return httpx.URL(text)


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(value)


def _request_headers(request: Any) -> dict[str, str]:
    headers: dict[str, str] = {}
    for key, value in (request.context or {}).items():
        if key.startswith(HEADER_PREFIX):
            headers[key[len(HEADER_PREFIX) :]] = value
    if request.identity is not None:
        if request.identity.api_key:
            headers["x-api-key"] = request.identity.api_key
        if request.identity.auth_token:
            _check_value("Authorization", request.identity.auth_token)
            headers["Authorization"] = f"Bearer {request.identity.auth_token}"
    for name, value in headers.items():
        if HEADER_NAME.fullmatch(name) is None:
            raise InvalidInputError(
                f"context entry 'header.{name}': this is not a valid header name"
            )
        _check_value(name, value)
    return headers


def _check_value(name: str, value: str) -> None:
    if HEADER_VALUE.fullmatch(value) is None:
        # The value may be a secret, and the library's message would include it.
        raise InvalidInputError(
            f"header {name!r}: the value contains characters other than printable ASCII, or "
            f"starts or ends with a space"
        )


def is_refused(response: httpx.Response) -> bool:
    """Return whether a response is a failure; this includes redirects, which are not followed."""
    return response.status_code >= 400 or response.status_code in (
        301,
        302,
        303,
        307,
        308,
    )


def failure(
    operation: Operation[Any, Any], response: httpx.Response
) -> LanceNamespaceError:
    """Convert an HTTP failure to a protocol error.

    If the body has no protocol code, for example because it comes from a proxy, the HTTP status
    determines the code.
    """
    body: Any = None
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        body = None
    status = response.status_code
    retry_after = retry_after_seconds(response.headers.get("Retry-After"))
    if not isinstance(body, dict):
        body = {}
    code = body.get("code")
    text, detail = _error_text(body)
    known = type(code) is int and code in _CODES
    if not known:
        code = _CODE_FOR_STATUS.get(status, 18 if status >= 500 or status < 400 else 13)
        if not text or "code" not in body:
            text = _without_code(operation, response)
    return errors.error_for(
        code,
        text or f"HTTP {status}",
        status=status,
        detail=detail,
        instance=body.get("instance"),
        retry_after=retry_after,
    )


_CODES = frozenset(map(int, errors.ErrorCode))
# An unknown path means that the server does not support the operation.
_CODE_FOR_STATUS = {
    400: 13,
    401: 16,
    403: 15,
    404: 0,
    405: 0,
    406: 0,
    409: 14,
    429: 21,
    501: 0,
    502: 17,
    503: 17,
    504: 17,
}


def _error_text(body: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the message in an error body on one line, and the detail."""
    text, detail = (
        str(body.get("error") or body.get("detail") or ""),
        body.get("detail"),
    )
    line, _, rest = text.strip().partition("\n")
    return line.strip(), text if rest and detail is None else detail


def _without_code(operation: Operation[Any, Any], response: httpx.Response) -> str:
    status = response.status_code
    hint = "; check that this is a Lance namespace server"
    if status == 413:
        hint = "; the request is too large for the server, so send smaller parts"
    elif status in (404, 405, 501):
        hint = "; the server does not have this operation, or is not a Lance namespace server"
    elif status >= 500 or status in (401, 403, 429):
        hint = ""
    # The query is omitted, because it may contain storage options, which may be secret.
    url = response.request.url.copy_with(query=None)
    return f"{operation.name}: {url} returned HTTP {status} without an error code{hint}"


class _BodyFile(io.RawIOBase):
    """A file object for the body of a streamed response."""

    def __init__(self, chunks: Iterator[bytes], close: Callable[[], None]) -> None:
        self._chunks = chunks
        self._close = close
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        if not self.closed:
            self._close()
        super().close()
