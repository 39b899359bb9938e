"""Removes secrets from all printed and written output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field

__all__ = ["Redactor", "tells_secret"]

HIDDEN = "***"
SHORTEST = 4
"""Minimum length of secret values: shorter ones also occur in ordinary text."""
_SECRET_HEADERS = ("authorization", "x-api-key", "cookie", "set-cookie", "proxy-authorization")
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

    def text(self, text: str) -> str:
        """Return a text without the secret values."""
        for value in sorted(self.values, key=len, reverse=True):
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


def tells_secret(key: str) -> bool:
    """Return whether a key indicates that its value is secret."""
    key = key.lower()
    return key not in _PLAIN_KEYS and any(word in key for word in _SECRET_WORDS)
