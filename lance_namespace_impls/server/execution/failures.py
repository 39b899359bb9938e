"""Builds the responses for failures, and logs internal errors."""

from __future__ import annotations

import logging
import traceback

from lance_namespace_client.errors import ErrorCode, InternalError, LanceNamespaceError
from lance_namespace_client.namespace import LanceNamespace

from ...catalog.namespace import Namespace
from ...core.errors import scrub
from ...core.requests import secrets_in_headers
from ..http.responses import Reply
from .context import Call

__all__ = ["Failures"]

logger = logging.getLogger("lance_namespace_impls.server")


class Failures:
    """Encodes and logs failures, without the secrets of the namespace or the caller.

    Args:
        namespace: the served namespace.
    """

    def __init__(self, namespace: LanceNamespace) -> None:
        self._namespace = namespace

    def reply(self, error: Exception, call: Call) -> Reply:
        """Encode a failure; log internal errors with the request's id."""
        secrets = self._secrets(call)
        if isinstance(error, LanceNamespaceError):
            error.text = scrub(error.text, secrets)
            error.subject = error.subject and scrub(error.subject, secrets)
            error.detail = error.detail and scrub(error.detail, secrets)
            if error.http_status < 500:
                return call.dialect.encode_error(error)
        name = call.endpoint.operation.name
        if not isinstance(error, LanceNamespaceError):
            found: LanceNamespaceError = InternalError(
                f"{name} failed with an internal error; see the server's log for the cause "
                f"(request {call.id})"
            )
            found.__cause__ = error
        else:
            found = error
        found.instance = found.instance or call.id
        if found.code is ErrorCode.INTERNAL:
            _log(found.__cause__ or found, f"request {call.id}: {name} failed", secrets)
        else:
            logger.warning("request %s: %s: %s", call.id, name, found.message)
        return call.dialect.encode_error(found)

    def log_interrupted(self, error: Exception, call: Call) -> None:
        """Log a failure while rows are sent, when the response can no longer report it."""
        name = call.endpoint.operation.name
        what = f"request {call.id}: {name} was interrupted while rows were being sent"
        _log(error, what, self._secrets(call))

    def _secrets(self, call: Call) -> frozenset[str]:
        own = self._namespace.config.secrets() if isinstance(self._namespace, Namespace) else set()
        return secrets_in_headers(call.headers).union(own)


def _log(error: BaseException, what: str, secrets: frozenset[str]) -> None:
    lines = "".join(traceback.format_exception(error))
    logger.error("%s\n%s", what, scrub(lines, secrets))
