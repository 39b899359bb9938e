# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Who is calling, for servers that ask for credentials."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from .._model import Model, Wire, string

__all__ = ["Identity"]


@define(kw_only=True)
class Identity(Model):
    """Who is calling, for servers that ask for credentials. Over HTTP the credentials travel
    as headers, and a header wins over the same value in the body; missing or bad ones give
    code 16 (Unauthenticated).
    """

    api_key: str | None = None
    """API key of the caller, a secret; it travels as the x-api-key header."""
    auth_token: str | None = None
    """Bearer token of the caller without the word Bearer, a secret; it travels as the
    Authorization header.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("api_key", "api_key", string),
        Wire("auth_token", "auth_token", string),
    )
