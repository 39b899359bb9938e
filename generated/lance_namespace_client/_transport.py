# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""How `RestNamespace` talks HTTP: routes, bodies, answers and failures."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

import httpx

from . import errors
from ._model import Model, RequestLike
from ._operation import Body, Operation
from .errors import InternalError, InvalidInputError, LanceNamespaceError, ServiceUnavailableError

if TYPE_CHECKING:
    import pyarrow as pa

    from ._arrow import ArrowData

__all__ = ["DEFAULT_DELIMITER", "Transport", "escape", "join_identifier"]

Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")

DEFAULT_DELIMITER = "$"
STREAM_TYPE = "application/vnd.apache.arrow.stream"
HEADER_PREFIX = "header."


def escape(text: str) -> str:
    """Percent-encode text for one path segment; a dot too, since clients fold ``/./`` away."""
    return quote(text, safe="").replace(".", "%2E")


def join_identifier(names: Sequence[str] | None, delimiter: str = DEFAULT_DELIMITER) -> str:
    """Write an identifier as a string; the root is the delimiter alone.

    Raises:
        InvalidInputError: code 13, a name is empty or contains the delimiter.
    """
    if isinstance(names, str):
        raise InvalidInputError(f"an identifier is a list of names, not the string {names!r}")
    if not names:
        return delimiter
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidInputError(
                f"identifier {list(names)!r} has a name that is empty or not a string"
            )
        if delimiter in name:
            raise InvalidInputError(
                f"name {name!r} contains the delimiter {delimiter!r}: choose another 'delimiter'"
            )
    return delimiter.join(names)


class Transport:
    """Sends operations over an ``httpx.Client``.

    Args:
        client: an ``httpx.Client`` that carries the timeouts and headers.
        uri: the server's address, such as ``http://localhost:2333``.
        delimiter: joins the names of an identifier on a route.
    """

    def __init__(
        self, client: httpx.Client, uri: str, *, delimiter: str = DEFAULT_DELIMITER
    ) -> None:
        if not delimiter:
            raise InvalidInputError("the delimiter must not be empty")
        self._client = client
        self._uri = uri.rstrip("/")
        self._delimiter = delimiter
        self._delimiter_query = "delimiter=" + quote(delimiter, safe="")

    def namespace_id(self) -> str:
        """Tell this namespace from others: its kind and address."""
        return f"{type(self).__name__} {self._uri}"

    def _send(
        self, request: httpx.Request, operation: Operation[Any, Any], stream: bool
    ) -> httpx.Response:
        """Send a request once; a subclass may send it again where `operation` allows."""
        return self._client.send(request, stream=stream)

    def _call(
        self, operation: Operation[Request, Response], request: Request | RequestLike
    ) -> Response:
        return self._exchange(operation, operation.request_type.coerce(request), None)

    def _call_with_rows(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike,
        data: ArrowData,
    ) -> Response:
        from ._arrow import stream_chunks, to_reader

        coerced = operation.request_type.coerce(request)
        return self._exchange(operation, coerced, stream_chunks(to_reader(data)))

    def _exchange(
        self,
        operation: Operation[Request, Response],
        request: Request,
        rows: Iterator[bytes] | None,
    ) -> Response:
        stream = operation.answer is Body.ARROW
        try:
            http_request = self._build(operation, request, rows)
            response = self._send(http_request, operation, stream)
        except httpx.InvalidURL as error:
            raise InvalidInputError(f"{self._uri!r} is not an address: {error}") from error
        except httpx.UnsupportedProtocol as error:
            raise InvalidInputError(f"{self._uri!r} must start with http:// or https://") from error
        except httpx.TransportError as error:
            raise self._away(operation, error) from error
        if response.status_code >= 400 or response.status_code in (301, 302, 303, 307, 308):
            if stream:
                self._read(response, operation)
            raise failure(operation, response)
        return self._answer(operation, request, response)

    def _away(self, operation: Operation[Any, Any], error: Exception) -> LanceNamespaceError:
        cause = " ".join(str(error).split()) or type(error).__name__
        return ServiceUnavailableError(
            f"{operation.name}: no answer from {self._uri} ({cause}); is the server running?"
        )

    def _read(self, response: httpx.Response, operation: Operation[Any, Any]) -> None:
        try:
            response.read()
        except httpx.TransportError as error:
            raise self._away(operation, error) from error
        finally:
            response.close()

    def _build(
        self, operation: Operation[Any, Any], request: Model, rows: Iterator[bytes] | None
    ) -> httpx.Request:
        path = operation.path
        for field in operation.path_fields:
            value = getattr(request, field)
            if field == "id":
                text = join_identifier(value, self._delimiter)
            elif value:
                text = value
            else:
                raise InvalidInputError(f"{operation.name} needs {field}")
            path = path.replace("{" + field + "}", escape(text))
        query = self._delimiter_query
        sent = request.to_dict() if operation.query or operation.body is not Body.ARROW else {}
        for parameter in operation.query:
            value = sent.get(parameter.field)
            if value is not None:
                query += f"&{parameter.name}={quote(_query_text(value), safe='')}"
            elif parameter.required:
                raise InvalidInputError(f"{operation.name} needs {parameter.field}")
        headers = _request_headers(request)
        content: bytes | Iterator[bytes] | None = None
        if rows is not None:
            headers["Content-Type"] = STREAM_TYPE
            content = rows
        elif operation.body is Body.JSON:
            headers["Content-Type"] = "application/json"
            content = json.dumps(sent, separators=(",", ":"), ensure_ascii=False).encode()
        elif operation.body_field is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(sent.get(operation.body_field) or {}).encode()
        return self._client.build_request(
            operation.http_method, f"{self._uri}{path}?{query}", headers=headers, content=content
        )

    def _answer(
        self, operation: Operation[Request, Response], request: Request, response: httpx.Response
    ) -> Response:
        if operation.answer is Body.ARROW:
            return cast("Response", _rows(response, self, operation))
        context = {HEADER_PREFIX + name: value for name, value in response.headers.items()}
        data: Any = {}
        if operation.answer is not Body.NONE and response.content:
            try:
                data = json.loads(response.content)
            except ValueError as error:
                raise InternalError(
                    f"{operation.name}: {self._uri} answered {response.status_code} "
                    "with a body that is not JSON"
                ) from error
        if operation.answer is Body.FIELD:
            data = {operation.answer_field: data}
        response_type: Any = operation.response_type
        try:
            answer = response_type.from_dict(data)
        except InvalidInputError as error:
            raise InternalError(
                f"{operation.name}: {self._uri} answered wrongly: {error}"
            ) from error
        answer.context = {**context, **(answer.context or {})}
        return cast("Response", answer)


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
            headers["Authorization"] = f"Bearer {request.identity.auth_token}"
    return headers


def failure(operation: Operation[Any, Any], response: httpx.Response) -> LanceNamespaceError:
    """Read the protocol error out of an HTTP failure.

    A body without a code, say from a proxy, is given the code that its HTTP status stands for.
    """
    body: Any = None
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    status = response.status_code
    retry_after = _seconds(response.headers.get("Retry-After"))
    if isinstance(body, dict) and isinstance(body.get("code"), int):
        return errors.error_for(
            body["code"],
            str(body.get("error") or body.get("detail") or f"HTTP {status}"),
            status=status,
            detail=body.get("detail"),
            instance=body.get("instance"),
            retry_after=retry_after,
        )
    hint = (
        "" if status >= 500 or status in (401, 403, 429) else "; is this a Lance namespace server?"
    )
    return errors.error_for(
        _code_for_status(operation, status),
        f"{operation.name}: {response.request.url} answered HTTP {status} without an error code{hint}",
        status=status,
        retry_after=retry_after,
    )


def _code_for_status(operation: Operation[Any, Any], status: int) -> int:
    known = {400: 13, 401: 16, 403: 15, 406: 0, 409: 14, 429: 21, 502: 17, 503: 17, 504: 17}
    if status == 404:
        return next((code for code in (4, 1, 10) if code in operation.codes), 18)
    return known.get(status, 18 if status >= 500 or status < 400 else 13)


def _seconds(retry_after: str | None) -> float | None:
    try:
        return float(retry_after) if retry_after is not None else None
    except ValueError:
        return None


class _BodyFile(io.RawIOBase):
    """The body of a streamed response as a file."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._chunks = (
            response.iter_raw()
            if not response.headers.get("Content-Encoding")
            else response.iter_bytes()
        )
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
            self._response.close()
        super().close()


def _rows(
    response: httpx.Response, transport: Transport, operation: Operation[Any, Any]
) -> pa.RecordBatchReader:
    import pyarrow as pa

    from ._arrow import read_file_stream

    body = _BodyFile(response)
    try:
        reader = read_file_stream(cast("Any", io.BufferedReader(body, 1 << 20)))
    except (pa.ArrowException, OSError) as error:
        body.close()
        raise InternalError(
            f"{operation.name}: the answer is not an Arrow IPC file: {error}"
        ) from error
    except httpx.TransportError as error:
        body.close()
        raise transport._away(operation, error) from error

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except httpx.TransportError as error:
            raise transport._away(operation, error) from error
        except (pa.ArrowException, OSError) as error:
            raise InternalError(f"{operation.name}: the answer broke off: {error}") from error
        finally:
            body.close()

    return pa.RecordBatchReader.from_batches(reader.schema, batches())
