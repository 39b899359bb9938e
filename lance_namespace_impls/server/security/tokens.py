"""Authenticates callers with tokens that the operator issues; a file contains their digests."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import os
import re
import tomllib
from typing import Any

import attrs

from ...core.tokens import NewToken, new_token
from .authentication import Caller, Credentials
from .watched_file import Watched

__all__ = ["NewToken", "TokenFile", "new_token"]

_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_KEYS = {"name", "sha256", "groups", "expires"}


@attrs.frozen
class _Token:
    digest: bytes
    caller: Caller
    expires: datetime.datetime | None


class TokenFile:
    """Recognizes callers by the tokens in a TOML file, which is reloaded when it changes.

    Each token is a ``[[token]]`` table with ``name``, ``sha256`` (the digest of the token in
    hexadecimal digits), and optionally ``groups`` and ``expires``.

    Args:
        path: the file.

    Raises:
        InvalidInputError: code 13, the file cannot be read.
    """

    waits = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._tokens = Watched(path, _read, "the token file")

    def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller of a token, if it has not expired.

        All digests are compared in constant time, even after a match.
        """
        found: Caller | None = None
        now = datetime.datetime.now(datetime.UTC)
        known = self._tokens.get()
        for given in credentials.tokens:
            digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).digest()
            for token in known:
                fits = hmac.compare_digest(digest, token.digest)
                if fits and found is None and (token.expires is None or now < token.expires):
                    found = token.caller
        return found


def _read(text: str) -> tuple[_Token, ...]:
    data = tomllib.loads(text)
    if unknown := sorted(data.keys() - {"token"}):
        raise ValueError(f"unknown key {unknown[0]!r}; write each token as a [[token]] table")
    rows = data.get("token", [])
    if not isinstance(rows, list):
        raise ValueError("write [[token]], in double brackets, for each token")
    return tuple(_token(row, number) for number, row in enumerate(rows, 1))


def _token(row: dict[str, Any], number: int) -> _Token:
    what = f"token {number}"
    if unknown := sorted(row.keys() - _KEYS):
        raise ValueError(
            f"{what} has an unknown key {unknown[0]!r}; the accepted keys are "
            f"{', '.join(sorted(_KEYS))}"
        )
    name, digest, groups = row.get("name"), row.get("sha256"), row.get("groups", [])
    if not isinstance(name, str) or not name:
        raise ValueError(f"{what} has no name; add 'name'")
    if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
        raise ValueError(
            f"{what} ({name!r}) needs sha256, 64 hexadecimal digits; `lance-ns token new` "
            "generates it"
        )
    if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
        raise ValueError(f"{what} ({name!r}): groups must be a list of names")
    expires = row.get("expires")
    if expires is not None and not isinstance(expires, datetime.date):
        raise ValueError(f"{what} ({name!r}): expires must be a date such as 2030-01-31")
    if expires is not None and not isinstance(expires, datetime.datetime):
        expires = datetime.datetime(expires.year, expires.month, expires.day)
    if expires is not None and expires.tzinfo is None:
        expires = expires.replace(tzinfo=datetime.UTC)
    return _Token(bytes.fromhex(digest), Caller(name, frozenset(groups)), expires)
