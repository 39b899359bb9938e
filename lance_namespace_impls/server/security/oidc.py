"""Authenticates callers with tokens from an OpenID Connect issuer.

Source: OpenID Connect Discovery 1.0; RFC 7519 (JWT); RFC 8725 (JWT best current practices).
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from functools import partial
from typing import Any

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from lance_namespace_client.errors import InvalidInputError, ServiceUnavailableError

from ...core.errors import first_line
from .authentication import Caller, Credentials
from .origin import is_loopback

__all__ = ["OidcIssuer"]

logger = logging.getLogger("lance_namespace_impls.server")

# Asymmetric algorithms only: with HMAC, an attacker could sign with the public key.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA",
)  # fmt: skip
KEY_TYPES = ("RSA", "EC", "OKP")
LEEWAY_SECONDS = 60
# Time limit, in seconds, for fetching the issuer's discovery document and its keys together.
FETCH_SECONDS = 10.0
# Keys are fetched again after this time, so that revoked keys are soon rejected. They are also
# fetched when a token references an unknown key, but only once per `MIN_SECONDS`.
KEEP_SECONDS = 300.0
MIN_SECONDS = 5.0
# A key that the issuer does not have triggers no further fetch for this time.
ABSENT_SECONDS, MAX_ABSENT = 60.0, 1000
MAX_BYTES = 1 << 20


class OidcIssuer:
    """Recognizes callers by tokens (JWT) that an issuer has signed for a specific audience.

    The issuer's keys are located through its discovery document, and refreshed when they change.

    Args:
        issuer: URL of the issuer, as in the tokens' ``iss``; must be https, unless it is on this
            machine.
        audience: audience (``aud``) that tokens must contain.
        name_claim: claim with the caller's name.
        groups_claim: claim with the list of the caller's groups.

    Raises:
        InvalidInputError: code 13, the issuer is not such a URL, or the audience is empty.
    """

    waits = True

    def __init__(
        self, issuer: str, audience: str, *, name_claim: str = "sub", groups_claim: str = "groups"
    ) -> None:
        if not _is_safe(httpx.URL(issuer)):
            raise InvalidInputError(f"the issuer {issuer[:100]!r} must be an https URL")
        if not audience:
            raise InvalidInputError(
                "an issuer requires an audience, because tokens for other services would be "
                "accepted otherwise; set it"
            )
        self._issuer = issuer
        self._audience = audience
        self._name_claim = name_claim
        self._groups_claim = groups_claim
        self._lock = threading.Lock()
        self._keys: dict[str | None, Any] = {}
        self._fetched = -KEEP_SECONDS
        self._tried = -MIN_SECONDS
        self._fetching: Future[None] | None = None
        self._has_failed = False
        """Whether the last fetch failed."""
        self._absent: OrderedDict[str, float] = OrderedDict()
        """Keys that the issuer does not have, each with the time at which this was determined."""

    def __reduce__(self) -> tuple[Any, ...]:
        claims = {"name_claim": self._name_claim, "groups_claim": self._groups_claim}
        return partial(OidcIssuer, **claims), (self._issuer, self._audience)

    def prepare(self, credentials: Credentials) -> Future[None] | None:
        """Start fetching the keys that the tokens need, if a fetch is due.

        Returns:
            a future that must complete before `find` is called, or None if no token has to wait.
            The future completes within `FETCH_SECONDS`, even if the keys have not arrived.
        """
        waits: Future[None] | None = None
        for token in credentials.tokens:
            if token.count(".") == 2 and (header := _header(token)) is not None:
                waits = self._refresh(header.get("kid")) or waits
        return waits

    def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller of a token, or None if the token is not a valid token of this issuer.

        This method never waits; if a token has an unknown key, `prepare` must be called first.

        Raises:
            ServiceUnavailableError: code 17, the issuer's keys cannot be fetched.
        """
        for token in credentials.tokens:
            if token.count(".") == 2:
                caller = self._caller(token)
                if caller is not None:
                    return caller
        return None

    def _caller(self, token: str) -> Caller | None:
        try:
            claims = jwt.decode(token, self._key, algorithms=list(ALGORITHMS)).claims
            jwt.JWTClaimsRegistry(
                leeway=LEEWAY_SECONDS,
                iss={"essential": True, "value": self._issuer},
                exp={"essential": True},
            ).validate(claims)
        except (JoseError, ValueError, TypeError, KeyError, RecursionError):
            return None
        audience = claims.get("aud")
        if self._audience not in (audience if isinstance(audience, list) else [audience]):
            return None
        name = claims.get(self._name_claim)
        groups = claims.get(self._groups_claim) or ()
        if not isinstance(name, str) or not name or not isinstance(groups, (list, tuple)):
            return None
        return Caller(name, frozenset(each for each in groups if isinstance(each, str)))

    def _key(self, guest: Any) -> Any:
        """Return the key that a token references, or the only key if the token references none."""
        name = guest.headers().get("kid")
        keys = self._keys
        found = keys.get(name) if name is not None or len(keys) != 1 else next(iter(keys.values()))
        if found is not None:
            return found
        if not keys or self._has_failed:
            raise ServiceUnavailableError(
                f"the keys of the issuer {self._issuer} cannot be fetched; try again later"
            )
        raise ValueError("the issuer does not have the key of the token")

    def _refresh(self, name: str | None) -> Future[None] | None:
        """Start fetching the keys if necessary; return the fetch if a token must wait for it."""
        with self._lock:
            now = time.monotonic()
            is_known = bool(self._keys) and (name is None or name in self._keys)
            due = now - self._fetched >= KEEP_SECONDS or not (
                is_known or self._is_absent(name, now)
            )
            if due and self._fetching is None and now - self._tried >= MIN_SECONDS:
                self._tried = now
                self._fetching = Future()
                # Canceling one waiting call must not cancel the fetch for other calls.
                self._fetching.set_running_or_notify_cancel()
                threading.Thread(
                    target=self._fetch,
                    args=(self._fetching, name),
                    name="lance-ns-oidc",
                    daemon=True,
                ).start()
            return None if is_known or self._is_absent(name, now) else self._fetching

    def _is_absent(self, name: str | None, now: float) -> bool:
        at = self._absent.get(name) if name is not None else None
        return at is not None and now - at < ABSENT_SECONDS

    def _fetch(self, fetching: Future[None], name: str | None) -> None:
        """Fetch the keys in a thread; `name` is the key that a token references."""
        keys: dict[str | None, Any] | None = None
        try:
            keys = asyncio.run(asyncio.wait_for(self._read(), FETCH_SECONDS))
        except TimeoutError:
            logger.error("the keys of %s: no response within %g s", self._issuer, FETCH_SECONDS)
        except Exception as error:  # noqa: BLE001 - logged; calls that need the keys fail
            logger.error("the keys of %s: %s", self._issuer, first_line(error))
        with self._lock:
            self._has_failed = keys is None
            if keys is not None:
                self._keys = keys
                self._fetched = self._tried
                if name is not None and name not in keys:
                    self._absent.pop(name, None)
                    self._absent[name] = self._tried
                    while len(self._absent) > MAX_ABSENT:
                        self._absent.popitem(last=False)
            self._fetching = None
        fetching.set_result(None)

    async def _read(self) -> dict[str | None, Any]:
        # A compressed response could be small on the network and large in memory.
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        async with httpx.AsyncClient(timeout=FETCH_SECONDS, headers=headers) as client:
            place = self._issuer.rstrip("/") + "/.well-known/openid-configuration"
            document = await _get(client, place)
            if document["issuer"] != self._issuer:
                raise ValueError(f"its discovery document is for {str(document['issuer'])[:100]!r}")
            if not _is_safe(httpx.URL(document["jwks_uri"])):
                raise ValueError("its jwks_uri must be an https URL")
            listed = (await _get(client, document["jwks_uri"]))["keys"]
        keys = {}
        for entry in listed:
            # Skip kinds of keys that cannot verify a token.
            if entry.get("kty") in KEY_TYPES and entry.get("use", "sig") == "sig":
                try:
                    key: Any = KeySet.import_key_set({"keys": [entry]}).keys[0]
                except (JoseError, ValueError, TypeError, KeyError) as error:
                    logger.warning("a key of %s is skipped: %s", self._issuer, first_line(error))
                else:
                    keys[key.kid] = key
        if not keys:
            raise ValueError("it has no usable signing key")
        return keys


async def _get(client: httpx.AsyncClient, uri: str) -> Any:
    body = bytearray()
    async with client.stream("GET", uri) as answer:
        answer.raise_for_status()  # redirects are not followed
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise ValueError(f"{uri} returned an encoding that was not requested")
        async for part in answer.aiter_raw():
            body += part
            if len(body) > MAX_BYTES:
                raise ValueError(f"{uri} is larger than {MAX_BYTES} bytes")
    return json.loads(body)


def _header(token: str) -> dict[str, Any] | None:
    """Return the unverified header of a token, or None if the token is malformed."""
    text = token.partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or header.get("alg") not in ALGORITHMS:
        return None
    return header if isinstance(header.get("kid"), str | None) else None


def _is_safe(url: httpx.URL) -> bool:
    return url.scheme == "https" or (url.scheme == "http" and is_loopback(url.host))
