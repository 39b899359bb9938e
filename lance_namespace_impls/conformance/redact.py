"""Removes secrets from all printed and written output."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field

__all__ = ["HIDDEN", "Redactor", "tells_secret"]

HIDDEN = "***"
RECENT_VALUES = 200
"""Number of computed header values that are remembered: a run may use many tokens."""
SHORTEST = 4
"""Minimum length of secret values: shorter ones also occur in ordinary text."""
_SECRET_HEADERS = (
    "authorization", "x-api-key", "cookie", "set-cookie", "proxy-authorization",
    "x-amz-security-token",
)  # fmt: skip
_SIGNATURE = "AWS4-HMAC-SHA256"
_SECRET_WORDS = ("secret", "token", "password", "credential", "access_key", "account_key", "sas")
_PLAIN_KEYS = ("page_token",)


@define
class Redactor:
    """Replaces secret values wherever they occur.

    Args:
        values: values that are secret, such as the caller's token.
        headers: names of headers with secret values, in addition to the usual ones.
    """

    values: set[str] = field(factory=set)
    headers: set[str] = field(factory=set)
    _recent: dict[str, None] = field(factory=dict, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False, eq=False, repr=False)

    def text(self, text: str) -> str:
        """Return a text without the secret values."""
        for value in sorted({*self.values, *self._recent}, key=len, reverse=True):
            text = text.replace(value, HIDDEN)
        return text

    def header_map(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return headers without secrets."""
        secret = {*_SECRET_HEADERS, *(name.lower() for name in self.headers)}
        return {
            name: HIDDEN if name.lower() in secret else self.text(value)
            for name, value in headers.items()
        }

    def value(self, value: Any, key: str = "") -> Any:
        """Return a JSON value without secrets: known values, and values of secret keys."""
        if isinstance(value, Mapping):
            return {k: self.value(v, str(k)) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(entry, key) for entry in value]
        if isinstance(value, str):
            return HIDDEN if value and tells_secret(key) else self.text(value)
        return value

    def learn(self, values: Iterable[str]) -> None:
        """Treat more values as secret."""
        self.values |= {value for value in values if len(value) >= SHORTEST}

    def learn_computed(self, headers: Mapping[str, str]) -> None:
        """Treat headers that were computed for one request as secret; thread-safe.

        Signatures are hidden by the name of their header, because each is valid for one request only.
        """
        values = []
        for value in headers.values():
            if not value.startswith(_SIGNATURE):
                _, _, token = value.partition("Bearer ")
                values.append(token or value)
        with self._lock:
            # Other threads iterate over these collections, so they are replaced.
            self.headers = {*self.headers, *headers}
            recent = {**self._recent, **{v: None for v in values if len(v) >= SHORTEST}}
            self._recent = dict.fromkeys(list(recent)[-RECENT_VALUES:])


def tells_secret(key: str) -> bool:
    """Return whether a key indicates that its value is secret."""
    key = key.lower()
    return key not in _PLAIN_KEYS and any(word in key for word in _SECRET_WORDS)
