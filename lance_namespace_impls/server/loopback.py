"""Serves a namespace to a single caller on this machine, such as a Spark session in this process."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from ..catalog.loopback import LoopbackServer
from ..catalog.namespace import Namespace
from .options import ServerOptions
from .run import serving
from .security.authentication import Caller, Credentials

__all__ = ["serve_on_loopback"]


class _OneToken:
    """A caller source that recognizes one caller by a secret token."""

    waits = False

    def __init__(self, caller: str) -> None:
        self.token = secrets.token_urlsafe(32)
        self._caller = Caller(caller)

    def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller, if the token matches."""
        own = self.token.encode()
        given = (token.encode("utf-8", "surrogatepass") for token in credentials.tokens)
        return self._caller if any(hmac.compare_digest(each, own) for each in given) else None


@contextmanager
def serve_on_loopback(namespace: Namespace, caller: str) -> Iterator[LoopbackServer]:
    """Serve a namespace, including its storage options, to one caller with a newly created token.

    Raises:
        ServiceUnavailableError: code 17, the server did not start.
    """
    known = _OneToken(caller)
    options = ServerOptions(callers=(known,), vend_storage_options=True)
    with serving(namespace, options) as address:
        yield LoopbackServer(address, known.token)
