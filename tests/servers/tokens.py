"""A server that requires OAuth2 tokens, and issues tokens that live for seconds of a fake clock."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import httpx
from attrs import define, field

from .web import Answer, Asked, FaultProxy, WebServer

__all__ = ["CLIENT", "SECRET", "TOKENS", "Clock", "Issuer", "ProtectedProxy", "protected"]

CLIENT, SECRET = "me", "my:s+cret/"
TOKENS = "/oauth/token"


@define
class Clock:
    """Replaces the module `time` of the client; it advances only with `now`."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@define
class Issuer:
    """Issues tokens and rejects expired ones."""

    clock: Clock = field(factory=Clock)
    life: Any = 2.0
    delay: float = 0.0
    """Seconds of real time until a token is issued."""
    instead: Callable[[Asked], Answer] | None = None
    """Responds to requests for tokens, instead of a token."""
    issued: int = 0
    expired: int = 0
    """Number of requests with an expired or revoked token."""
    requests: list[tuple[dict[str, str], Asked]] = field(factory=list)
    """The forms of requests for tokens."""
    ends: dict[str, float] = field(factory=dict)
    lock: Any = field(factory=threading.Lock)

    def issue(self, asked: Asked) -> Answer:
        form = dict(parse_qsl(asked.content.decode(), strict_parsing=True))
        self.requests.append((form, asked))
        if self.instead is not None:
            return self.instead(asked)
        scheme, _, pair = asked.headers.get("authorization", "").partition(" ")
        if scheme == "Basic":
            client, _, secret = base64.b64decode(pair).decode().partition(":")
        else:
            client, secret = form.get("client_id", ""), form.get("client_secret", "")
        if (client, secret) != (CLIENT, SECRET) or form["grant_type"] != "client_credentials":
            return Answer(status=401, body={"error": "invalid_client"})
        time.sleep(self.delay)
        with self.lock:
            self.issued += 1
            token = f"issued-token-{self.issued}"
            self.ends[token] = self.clock.now + (self.life or float("inf"))
        return Answer(
            body={"access_token": token, "token_type": "bearer", "expires_in": self.life},
        )

    def refusal(self, asked: Asked) -> Answer | None:
        """Return the response to a request without a valid token; None if the token is valid."""
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        if scheme == "Bearer" and self.clock.now < self.ends.get(token, 0.0):
            return None
        self.expired += token in self.ends
        return Answer(status=401, body={"error": "the token is not valid", "code": 16})


def protected(issuer: Issuer, respond: Callable[[Asked], Answer]) -> WebServer:
    """Return a server that issues tokens and sends the responses of `respond` to requests with one."""

    def answer(asked: Asked) -> Answer:
        if asked.path == TOKENS:
            return issuer.issue(asked)
        return issuer.refusal(asked) or respond(asked)

    return WebServer(answer)


class ProtectedProxy(FaultProxy):
    """Forwards requests that `refusal` accepts to a real server.

    Args:
        upstream: address of the server.
        refusal: returns the response to a request that is not authenticated, otherwise None.
    """

    def __init__(self, upstream: str, refusal: Callable[[Asked], Answer | None]) -> None:
        super().__init__(upstream)
        self._refusal = refusal

    def respond(self, asked: Asked) -> Answer:
        return self._refusal(asked) or super().respond(asked)

    def _forward(self, asked: Asked) -> Answer:
        query = f"?{httpx.QueryParams(dict(asked.query))}" if asked.query else ""
        answer = self._client.request(
            asked.method,
            f"{self._upstream}{asked.path}{query}",
            headers={"content-type": asked.headers.get("content-type", "application/json")},
            content=asked.content or None,
        )
        kind = answer.headers.get("Content-Type", "application/json")
        return Answer(
            status=answer.status_code, body=answer.content, headers={"Content-Type": kind}
        )
