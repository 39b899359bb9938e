"""Authenticates callers by the credentials in their requests."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable
from typing import Any, Protocol

import attrs

from lance_namespace_client.errors import ThrottlingError, UnauthenticatedError

from ..http.requests import Headers

__all__ = ["Authentication", "Caller", "CallerSource", "Certificates", "Credentials"]

# Number of failed attempts that are allowed per address in a burst, and number of attempts restored
# per second.
FAILURES, FAILURES_PER_SECOND = 20, 0.5
ADDRESSES = 10_000
MAX_CREDENTIAL_LENGTH = 16 << 10
# Maximum number of calls that wait for an issuer's keys; each of them keeps a connection open.
MAX_PREPARING = 64
RETRY_SECONDS = 1.0


@attrs.frozen
class Caller:
    """The identity of the client that sent a request."""

    name: str
    groups: frozenset[str] = frozenset()


@attrs.frozen(kw_only=True)
class Credentials:
    """The credentials of a request."""

    tokens: tuple[str, ...] = attrs.field(default=(), repr=False)
    """The bearer token and the API key, if present."""
    certificate: Any = attrs.field(default=None, repr=False)
    """The verified client certificate, in the form that ``ssl.SSLSocket.getpeercert`` returns."""

    @classmethod
    def of(cls, headers: Headers, certificate: Any = None) -> Credentials:
        """Return the credentials in a request's headers."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        found = [bearer.strip()] if scheme.lower() == "bearer" else []
        found.append(headers.get("x-api-key", "").strip())
        return cls(tokens=_usable(found), certificate=certificate)

    @classmethod
    def of_body(cls, body: bytes) -> Credentials:
        """Return the credentials in the ``identity`` of a request's JSON body, if present."""
        try:
            data = json.loads(body) if body.strip() else None
        except (ValueError, RecursionError):
            return cls()
        identity = data.get("identity") if isinstance(data, dict) else None
        if not isinstance(identity, dict):
            return cls()
        found = [identity.get("auth_token"), identity.get("api_key")]
        return cls(tokens=_usable(each for each in found if isinstance(each, str)))

    def __bool__(self) -> bool:
        return bool(self.tokens or self.certificate)


def _usable(tokens: Iterable[str]) -> tuple[str, ...]:
    return tuple(token for token in tokens if token and len(token) <= MAX_CREDENTIAL_LENGTH)


class CallerSource(Protocol):
    """A source of callers, such as a file of tokens.

    A source that never waits for external data sets ``waits = False``; other sources are called in
    a thread. A source that must fetch data first has a method ``prepare``, which returns None or a
    future that must complete before `find` is called. Waiting for this future does not block a
    thread.
    """

    def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller, or None if this source does not recognize the credentials."""


class Certificates:
    """Recognizes callers by TLS certificates that were verified in the handshake.

    The caller's name is the subject's common name or, if there is none, the first alternative name.
    The groups are the subject's organizational units.
    """

    waits = False

    def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller that the certificate names."""
        if not credentials.certificate:
            return None
        subject = [pair for part in credentials.certificate.get("subject", ()) for pair in part]
        names = [value for key, value in subject if key == "commonName"]
        names += [value for _, value in credentials.certificate.get("subjectAltName", ())]
        groups = frozenset(value for key, value in subject if key == "organizationalUnitName")
        return Caller(names[0], groups) if names and names[0] else None


class Authentication:
    """Authenticates callers, and throttles attempts to guess credentials.

    Args:
        sources: sources of callers; the first one that recognizes the credentials determines the
            caller.
    """

    def __init__(self, sources: Collection[CallerSource]) -> None:
        self._sources = tuple(sources)
        self._waits = any(getattr(source, "waits", True) for source in self._sources)
        self._preparing = 0
        self._failures: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def authenticate(self, credentials: Credentials, address: str) -> Caller:
        """Return the caller of a request; see `find` for the arguments and for further errors.

        Raises:
            ThrottlingError: code 21, too many calls are waiting for external data, or see `find`.
        """
        await self._prepare(credentials)
        if self._waits:
            return await asyncio.to_thread(self.find, credentials, address)
        return self.find(credentials, address)

    async def _prepare(self, credentials: Credentials) -> None:
        """Wait until the external data that `find` needs for the credentials is available."""
        for source in self._sources:
            begin = getattr(source, "prepare", None)
            begun = begin(credentials) if begin is not None else None
            if begun is None:
                continue
            if self._preparing >= MAX_PREPARING:
                raise ThrottlingError(
                    "too many requests are waiting for authentication; try again later",
                    retry_after=RETRY_SECONDS,
                )
            self._preparing += 1
            try:
                await asyncio.wait((asyncio.wrap_future(begun),))
            finally:
                self._preparing -= 1

    def find(self, credentials: Credentials, address: str) -> Caller:
        """Return the caller of a request.

        Args:
            credentials: the credentials of the request.
            address: the client address.

        Raises:
            UnauthenticatedError: code 16, no source recognizes the credentials.
            ThrottlingError: code 21, no source recognizes them, and this address has failed too
                often.
        """
        for source in self._sources:
            caller = source.find(credentials)
            if caller is not None:
                return caller
        if not credentials:
            raise UnauthenticatedError(
                "authentication required: send a token in the header Authorization (Bearer "
                "...) or x-api-key"
            )
        wait = self._count(address)
        if wait:
            raise ThrottlingError(
                "too many requests with invalid credentials from this address; correct the "
                "credentials and try again later",
                retry_after=wait,
            )
        raise UnauthenticatedError("the credentials are invalid or have expired; send valid ones")

    def _count(self, address: str) -> float:
        """Record a failure, and return how many seconds to wait if there have been too many."""
        now = time.monotonic()
        left, at = self._failures.pop(address, (float(FAILURES), now))
        left = min(FAILURES, left + (now - at) * FAILURES_PER_SECOND)
        self._failures[address] = (max(0.0, left - 1), now)
        while len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / FAILURES_PER_SECOND
