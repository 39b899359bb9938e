# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `Identity`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, string

__all__ = ["Identity"]


@define(kw_only=True)
class Identity(Model):
    """Identity of the caller, for servers that require credentials.

    Over HTTP the credentials are sent as headers, and a header takes precedence
    over the same value in the body; missing or invalid credentials result in
    Unauthenticated (16).
    """

    api_key: str | None = None
    """API key of the caller, a secret; it is sent as the `x-api-key` header."""

    auth_token: str | None = None
    """Bearer token of the caller without the word Bearer, a secret; it is sent as
    the `Authorization` header.
    """


Identity._wire = (
    Wire("api_key", "api_key", string),
    Wire("auth_token", "auth_token", string),
)
