"""Creates tokens for the callers of a server; the server's file contains only their digests."""

from __future__ import annotations

import datetime
import hashlib
import secrets

import attrs

from lance_namespace_client.errors import InvalidInputError

__all__ = ["NewToken", "new_token"]

TOKEN_BYTES = 32
PREFIX = "lns_"


@attrs.frozen
class NewToken:
    """A new token, and its entry for the server's file."""

    token: str = attrs.field(repr=False)
    entry: str
    """TOML that must be appended to the file."""


def new_token(
    name: str, groups: tuple[str, ...] = (), expires: datetime.datetime | None = None
) -> NewToken:
    """Create a token of 256 random bits.

    Args:
        name: name of the caller.
        groups: groups of the caller.
        expires: expiration time; by default, the token does not expire.

    Raises:
        InvalidInputError: code 13, the name or a group is empty or contains control characters.
    """
    for text in (name, *groups):
        if not text or not text.isprintable():
            raise InvalidInputError(
                "a token needs a name; the name and the groups must be non-empty and must not "
                "contain control characters"
            )
    token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    lines = ["[[token]]", f"name = {_quoted(name)}"]
    lines.append(f'sha256 = "{hashlib.sha256(token.encode()).hexdigest()}"')
    if groups:
        lines.append(f"groups = [{', '.join(map(_quoted, groups))}]")
    if expires is not None:
        if expires.tzinfo is None:
            expires = expires.replace(tzinfo=datetime.UTC)
        lines.append(f"expires = {expires.isoformat()}")
    return NewToken(token, "\n".join(lines) + "\n")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
