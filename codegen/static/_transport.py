"""The HTTP transport of `RestNamespace`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpx

from ._operation import Body, Operation
from ._wire import HttpWire, failure, is_refused
from .decoding import MAX_ANSWER_BYTES, bound
from .model import Model, RequestLike

if TYPE_CHECKING:
    from .arrow import ArrowData

__all__ = ["Transport"]

Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")


class Transport(HttpWire):
    """Sends operations over an ``httpx.Client``; see `HttpWire` for the arguments."""

    _client: httpx.Client

    def _send(
        self, request: httpx.Request, operation: Operation[Any, Any], stream: bool
    ) -> httpx.Response:
        """Send a request once; subclasses may retry it if `operation` allows.

        The body of the response may still be unread, even if the response is not streamed.
        """
        return self._client.send(request, stream=True)

    def _call(
        self, operation: Operation[Request, Response], request: Request | RequestLike | None
    ) -> Response:
        return self._exchange(operation, operation.request_type.coerce(request), None)

    def _call_with_rows(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike,
        data: ArrowData,
    ) -> Response:
        from .arrow import RowStream, stream_chunks

        coerced = operation.request_type.coerce(request)
        rows = RowStream.of(data, infer_vectors=operation.creates_table)
        with rows.guarded(operation.name):
            return self._exchange(operation, coerced, stream_chunks(rows.reader()))

    def _exchange(
        self,
        operation: Operation[Request, Response],
        request: Request,
        rows: Iterator[bytes] | None,
    ) -> Response:
        stream = operation.answer is Body.ARROW
        with self._exchanging(operation):
            response = self._send(self._build(operation, request, rows), operation, stream)
            refused = is_refused(response)
            whole = refused or not stream
            bound(response, MAX_ANSWER_BYTES if whole else None)
            if whole:
                with contextlib.closing(response):
                    response.read()
        if refused:
            raise failure(operation, response)
        if not stream:
            return self._decode_response(operation, request, response)
        return cast("Response", self._rows(operation, response.iter_raw(), response.close))
