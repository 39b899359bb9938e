"""Who calls: from a request's credentials to a name."""

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

# Failures that an address may have at once, and how many a second it gets back.
FAILURES, FAILURES_PER_SECOND = 20, 0.5
ADDRESSES = 10_000
MAX_CREDENTIAL_LENGTH = 16 << 10
# Calls that wait for an issuer's keys; each holds a connection.
MAX_PREPARING = 64
RETRY_SECONDS = 1.0


@attrs.frozen
class Caller:
    """Who a request comes from."""

    name: str
    groups: frozenset[str] = frozenset()


@attrs.frozen(kw_only=True)
class Credentials:
    """What a request has to show who it comes from."""

    tokens: tuple[str, ...] = attrs.field(default=(), repr=False)
    """The bearer token and the API key, as far as there are any."""
    certificate: Any = attrs.field(default=None, repr=False)
    """The client's certificate as ``ssl.SSLSocket.getpeercert`` gives it, checked already."""

    @classmethod
    def of(cls, headers: Headers, certificate: Any = None) -> Credentials:
        """Return the credentials in a request's headers."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        found = [bearer.strip()] if scheme.lower() == "bearer" else []
        found.append(headers.get("x-api-key", "").strip())
        return cls(tokens=_usable(found), certificate=certificate)

    @classmethod
    def of_body(cls, body: bytes) -> Credentials:
        """Return the credentials in the ``identity`` of a request's JSON body, if it has any."""
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
    """Knows some callers.

    One that never waits for anything outside has ``waits = False``; any other is asked in a thread.
    One that has to fetch something first has a method ``prepare``, which returns a future to wait
    for before `find`, or None: no thread waits for it.
    """

    def find(self, credentials: Credentials) -> Caller | None:
        """Return who a request comes from; None where it is nobody that is known here."""


class Certificates:
    """Knows callers by their TLS certificates, which the handshake has checked.

    The name is the subject's common name, or the first alternative name without one; its
    organisational units are the groups.
    """

    waits = False

    def find(self, credentials: Credentials) -> Caller | None:
        """Return who the certificate names."""
        if not credentials.certificate:
            return None
        subject = [pair for part in credentials.certificate.get("subject", ()) for pair in part]
        names = [value for key, value in subject if key == "commonName"]
        names += [value for _, value in credentials.certificate.get("subjectAltName", ())]
        groups = frozenset(value for key, value in subject if key == "organizationalUnitName")
        return Caller(names[0], groups) if names and names[0] else None


class Authentication:
    """Finds out who calls, and slows down those who guess.

    Args:
        sources: what knows callers; the first that knows one decides.
    """

    def __init__(self, sources: Collection[CallerSource]) -> None:
        self._sources = tuple(sources)
        self.waits = any(getattr(source, "waits", True) for source in self._sources)
        self._preparing = 0
        self._failures: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def prepare(self, credentials: Credentials) -> None:
        """Wait until `find` can decide on credentials, as far as that needs something from outside.

        Raises:
            ThrottlingError: code 21, too many calls wait for it already.
        """
        for source in self._sources:
            begin = getattr(source, "prepare", None)
            begun = begin(credentials) if begin is not None else None
            if begun is None:
                continue
            if self._preparing >= MAX_PREPARING:
                raise ThrottlingError(
                    "too many calls wait until their credentials can be checked; try again later",
                    retry_after=RETRY_SECONDS,
                )
            self._preparing += 1
            try:
                await asyncio.wait((asyncio.wrap_future(begun),))
            finally:
                self._preparing -= 1

    def find(self, credentials: Credentials, address: str) -> Caller:
        """Return who a request comes from.

        Args:
            credentials: what it has to show for it.
            address: where it comes from.

        Raises:
            UnauthenticatedError: code 16, nothing in it is known.
            ThrottlingError: code 21, the same, and too often from this address.
        """
        caller = self.known(credentials)
        if caller is not None:
            return caller
        if not credentials:
            raise UnauthenticatedError(
                "the server wants to know who calls: send a token in the header Authorization "
                "(Bearer ...) or x-api-key"
            )
        wait = self._count(address)
        if wait:
            raise ThrottlingError(
                "too many calls with credentials that are not valid came from this address",
                retry_after=wait,
            )
        raise UnauthenticatedError("the credentials are not valid, or have expired")

    def known(self, credentials: Credentials) -> Caller | None:
        """Return who a request comes from; None, which counts as no failure, if that is not known."""
        for source in self._sources:
            caller = source.find(credentials)
            if caller is not None:
                return caller
        return None

    def _count(self, address: str) -> float:
        """Note a failure; return the seconds to wait where there were too many."""
        now = time.monotonic()
        left, at = self._failures.pop(address, (float(FAILURES), now))
        left = min(FAILURES, left + (now - at) * FAILURES_PER_SECOND)
        self._failures[address] = (max(0.0, left - 1), now)
        while len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / FAILURES_PER_SECOND
