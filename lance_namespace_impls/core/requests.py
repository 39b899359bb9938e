"""Finds the secret values in a request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lance_namespace_client.wire import HEADER_PREFIX

from .options import is_secret_option, secret_parts

__all__ = ["secrets_in_headers", "secrets_in_request"]

STORAGE_PREFIX: Final = "storage."
# Words in the names of headers that contain credentials; tenants and trace contexts are not secret.
_TELLING: Final = re.compile(
    "auth|token|secret|key|password|credential|cookie|session|signature", re.IGNORECASE
)
# Shorter values occur too often in unrelated text.
_SHORTEST: Final = 4


def secrets_in_headers(headers: Mapping[str, str]) -> frozenset[str]:
    """Return the values of headers that contain credentials, and the parts of these values."""
    found: set[str] = set()
    for name, value in headers.items():
        if _TELLING.search(name):
            found |= {value, value.partition(" ")[2].strip()}
            if name.lower() == "cookie":
                found |= {part.partition("=")[2].strip() for part in value.split(";")}
    return _long(found)


def secrets_in_request(request: Any) -> frozenset[str]:
    """Return the values in a request that must not be shown.

    These are the caller's credentials, including those in headers, and object store options that
    are not known to be harmless.

    Args:
        request: the model of a request.
    """
    found = set(_credentials(request))
    context = getattr(request, "context", None) or {}
    headers = {
        key.removeprefix(HEADER_PREFIX): value
        for key, value in context.items()
        if key.startswith(HEADER_PREFIX)
    }
    found |= secrets_in_headers(headers)
    for key, value in (getattr(request, "storage_options", None) or {}).items():
        found |= {value} if is_secret_option(key) else secret_parts(value)
    for field in ("properties", "set_properties"):
        for key, value in (getattr(request, field, None) or {}).items():
            if key.startswith(STORAGE_PREFIX) and is_secret_option(
                key.removeprefix(STORAGE_PREFIX)
            ):
                found.add(value)
    return _long(found)


def _credentials(request: Any) -> Iterator[str]:
    identity = getattr(request, "identity", None)
    if identity is not None:
        yield from (each for each in (identity.api_key, identity.auth_token) if each)


def _long(values: set[str]) -> frozenset[str]:
    return frozenset(value for value in values if len(value) >= _SHORTEST and value != "true")
