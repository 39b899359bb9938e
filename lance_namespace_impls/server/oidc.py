"""Callers with tokens of an OpenID Connect issuer.

Source: OpenID Connect Discovery 1.0; RFC 7519 (JWT) and RFC 8725, its best current practices.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from typing import Any

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from lance_namespace_client.errors import InvalidInputError, ServiceUnavailableError

from ..core.errors import first_line
from .access import is_loopback
from .callers import Caller, Credentials

__all__ = ["OidcIssuer"]

logger = logging.getLogger("lance_namespace_impls.server")

# Signatures by a private key alone: with a shared secret, the public key would do for one.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA",
)  # fmt: skip
KEY_TYPES = ("RSA", "EC", "OKP")
LEEWAY_SECONDS = 60
FETCH_SECONDS = 10.0
# Keys are fetched anew this often, so that one that was withdrawn is not believed for long, and
# where a token names one that is not known, but not more often than this.
KEEP_SECONDS = 300.0
MIN_SECONDS = 5.0
MAX_BYTES = 1 << 20


class OidcIssuer:
    """Knows callers by tokens (JWT) that an issuer has signed for an audience.

    The issuer's keys are found by its discovery document, and fetched again as they change.

    Args:
        issuer: its URL, as in the tokens' ``iss``; https, unless it is on this machine.
        audience: what the tokens' ``aud`` has to hold.
        name_claim: the claim that is the caller's name.
        groups_claim: the claim that lists the caller's groups.

    Raises:
        InvalidInputError: code 13, the issuer is not such a URL, or the audience is empty.
    """

    waits = True

    def __init__(
        self, issuer: str, audience: str, *, name_claim: str = "sub", groups_claim: str = "groups"
    ) -> None:
        url = httpx.URL(issuer)
        if url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.host)):
            raise InvalidInputError(f"the issuer {issuer[:100]!r} must be a https URL")
        if not audience:
            raise InvalidInputError(
                "an issuer needs an audience: other services' tokens are not ours"
            )
        self._issuer = issuer
        self._audience = audience
        self._name_claim = name_claim
        self._groups_claim = groups_claim
        self._lock = threading.Lock()
        self._keys: dict[str | None, Any] = {}
        self._fetched = -KEEP_SECONDS
        self._tried = -MIN_SECONDS

    def __reduce__(self) -> tuple[Any, ...]:
        claims = {"name_claim": self._name_claim, "groups_claim": self._groups_claim}
        return partial(OidcIssuer, **claims), (self._issuer, self._audience)

    def find(self, credentials: Credentials) -> Caller | None:
        """Return whose token it is; None where it is none of the issuer's, or no good any more.

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
        except (JoseError, ValueError, TypeError, KeyError):
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
        """Return the key that a token names; one that names none has the issuer's only one."""
        name = guest.headers().get("kid")
        keys = self._current(name)
        found = keys.get(name) if name is not None or len(keys) != 1 else next(iter(keys.values()))
        if found is None:
            raise ValueError("a key that the issuer does not have")
        return found

    def _current(self, name: str | None) -> dict[str | None, Any]:
        with self._lock:
            now = time.monotonic()
            due = now - self._fetched >= KEEP_SECONDS or (
                name is not None and name not in self._keys
            )
            if due and now - self._tried >= MIN_SECONDS:
                self._tried = now
                try:
                    self._keys = self._fetch()
                    self._fetched = now
                except (httpx.HTTPError, JoseError, ValueError, KeyError, TypeError) as error:
                    logger.error("the keys of %s: %s", self._issuer, first_line(error))
            if not self._keys:
                raise ServiceUnavailableError(
                    f"the keys of the issuer {self._issuer} cannot be fetched; try again later"
                )
            return self._keys

    def _fetch(self) -> dict[str | None, Any]:
        with httpx.Client(timeout=FETCH_SECONDS) as client:
            place = self._issuer.rstrip("/") + "/.well-known/openid-configuration"
            document = self._get(client, place)
            if document["issuer"] != self._issuer:
                raise ValueError(f"its document is of {str(document['issuer'])[:100]!r}")
            listed = self._get(client, document["jwks_uri"])["keys"]
        # A kind of key that is not known here is none that a token can be checked with.
        usable = [
            key for key in listed if key.get("kty") in KEY_TYPES and key.get("use", "sig") == "sig"
        ]
        return {key.kid: key for key in KeySet.import_key_set({"keys": usable}).keys}

    @staticmethod
    def _get(client: httpx.Client, uri: str) -> Any:
        answer = client.get(uri)
        answer.raise_for_status()
        if len(answer.content) > MAX_BYTES:
            raise ValueError(f"{uri} is larger than {MAX_BYTES} bytes")
        return answer.json()
