"""The format of requests and responses: the protocol's own format, with hooks for dialects."""

from __future__ import annotations

from typing import Any

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.operations import Operation

from .requests import Headers, read_request
from .responses import Reply, Vend, error_reply, reply
from .routing import Endpoint

__all__ = ["PROTOCOL", "Dialect"]


class Dialect:
    """Decodes one request and encodes its response, by default in the protocol's format.

    A dialect for other clients overrides the methods for which its format differs.
    """

    def accepts(self, operation: Operation[Any, Any], headers: Headers) -> bool:
        """Return whether the body's content type is one that only this dialect accepts."""
        return False

    def decode(
        self,
        endpoint: Endpoint,
        segments: tuple[str, ...],
        query_string: bytes,
        headers: Headers,
        body: bytes,
    ) -> tuple[Operation[Any, Any], Any]:
        """Return the operation to execute and its request; see `read_request` for the arguments.

        Raises:
            InvalidInputError: code 13, a part cannot be read.
        """
        return endpoint.operation, read_request(endpoint, segments, query_string, headers, body)

    def check_target(self) -> None:
        """Raise an error if the target of the request does not exist.

        Called after the caller has been authorized.
        """

    def encode(
        self, operation: Operation[Any, Any], request: Any, response: Any, vend: Vend | None
    ) -> Reply:
        """Encode the result of an operation; see `reply` for the arguments.

        Raises:
            LanceNamespaceError: the first rows cannot be read, or a part of the response cannot be
                determined.
        """
        return reply(operation, response, vend=vend)

    def encode_error(self, error: LanceNamespaceError) -> Reply:
        """Encode a failure."""
        return error_reply(error)


PROTOCOL = Dialect()
"""The protocol's own format."""
