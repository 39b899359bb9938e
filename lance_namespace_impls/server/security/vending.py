"""Vends temporary credentials for one table, from a role on AWS or on a store with a compatible
STS.

Source: AWS Security Token Service API Reference, AssumeRole; IAM User Guide, session policies.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

import attrs

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
)

from ...core.errors import first_line
from ...core.locks import exclusive_lock
from ...core.options import redact
from ...core.storage import EXPIRES_AT_MILLIS

__all__ = ["AssumeRole", "Rights"]

Rights: TypeAlias = Literal["read", "write"]

_ROLE = re.compile(r"arn:([a-z0-9-]+):iam::[^:]*:(role|user)/.+|arn:[\w+=/,.@:-]+")
_PLACE = re.compile(r"s3a?://([^/]+)/(.+)", re.IGNORECASE)
# Characters with a special meaning in IAM resources and values.
_SPECIAL = re.compile(r"[*?$]")
_NOT_IN_SESSION_NAME = re.compile(r"[^\w+=,.@-]", re.ASCII)
LEAST_SECONDS, MOST_SECONDS = 900, 43_200
# Credentials are reused while at least this fraction of their lifetime remains.
KEPT_PART = 0.25
MOST_KEPT = 10_000
READS = ("s3:GetObject",)
WRITES = (
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:AbortMultipartUpload",
    "s3:ListMultipartUploadParts",
)
_KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")


@attrs.frozen
class _CachedCredentials:
    options: dict[str, str] = attrs.field(repr=False)
    until: float
    """Time at which to request new credentials, in seconds since 1970."""


class AssumeRole:
    """Vends S3 credentials that are limited to one table.

    A session policy restricts the role's credentials to the objects below the table's location, for
    reading or for writing. The credentials are cached per caller and table until only a quarter of
    their lifetime remains. Requires boto3: ``pip install 'lance-namespace-kit[glue]'``.

    Args:
        role_arn: the role; it must have all permissions that callers may receive, and the server
            must be allowed to assume it.
        seconds: lifetime of the credentials, 900 to 43,200; the role may impose a lower limit.
        endpoint: URL of the token service; defaults to the AWS endpoint in the region.

    Raises:
        InvalidInputError: code 13, an argument is invalid.
        ImportError: boto3 is missing.
    """

    def __init__(self, role_arn: str, *, seconds: int = 3600, endpoint: str | None = None) -> None:
        if _ROLE.fullmatch(role_arn) is None:
            raise InvalidInputError(
                f"{role_arn[:200]!r} is not the ARN of a role; use the form "
                "arn:aws:iam::ACCOUNT:role/NAME"
            )
        if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
            raise InvalidInputError(
                f"vended credentials are valid for {LEAST_SECONDS} to {MOST_SECONDS} seconds, "
                f"not {seconds}"
            )
        try:
            import botocore.session  # noqa: F401
        except ModuleNotFoundError as error:
            raise ImportError(
                "vending credentials needs boto3: pip install 'lance-namespace-kit[glue]'",
                name="boto3",
            ) from error
        self._role = role_arn
        self._seconds = seconds
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._clients: dict[tuple[str | None, ...], Any] = {}
        self._entries: OrderedDict[tuple[str, ...], _CachedCredentials] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._role, self._seconds, self._endpoint)

    @staticmethod
    def harmless(options: dict[str, str]) -> dict[str, str]:
        """Return storage options without credentials and their expiration time."""
        return {
            key: value
            for key, value in redact(options).items()
            if value == options[key] and key != EXPIRES_AT_MILLIS
        }

    def vend(
        self, location: str, options: dict[str, str], rights: Rights, caller: str
    ) -> dict[str, str]:
        """Return the storage options for a table, with credentials and their expiration time.

        Args:
            location: location of the table.
            options: its storage options with the server's own credentials, which are removed.
            rights: the caller's rights on the table.
            caller: name of the caller, which appears in AWS's logs with the credentials.

        Raises:
            InternalError: code 18, the role cannot be assumed.
            ServiceUnavailableError: code 17, the token service does not respond.
        """
        shown = self.harmless(options)
        found = _PLACE.fullmatch(location.rstrip("/"))
        if found is None:
            return shown
        key = (location, rights, caller, *sorted(f"{k}={v}" for k, v in options.items()))
        with exclusive_lock(("vending", id(self), key)):
            with self._lock:
                kept = self._entries.get(key)
            if kept is None or time.time() >= kept.until:
                kept = self._assume(found[1], found[2], options, rights, caller)
                with self._lock:
                    self._entries[key] = kept
                    self._entries.move_to_end(key)
                    while len(self._entries) > MOST_KEPT:
                        self._entries.popitem(last=False)
        return {**shown, **kept.options}

    def _assume(
        self, bucket: str, prefix: str, options: dict[str, str], rights: Rights, caller: str
    ) -> _CachedCredentials:
        from botocore.exceptions import BotoCoreError, ClientError

        name = _NOT_IN_SESSION_NAME.sub("-", f"lance-ns-{caller}")[:64]
        try:
            given = self._client(options).assume_role(
                RoleArn=self._role,
                RoleSessionName=name,
                DurationSeconds=self._seconds,
                Policy=self.policy(bucket, unquote(prefix), rights),
            )["Credentials"]
        except (BotoCoreError, ClientError) as error:
            raise _failure(error) from error
        expires = given["Expiration"].timestamp()
        return _CachedCredentials(
            {
                "aws_access_key_id": given["AccessKeyId"],
                "aws_secret_access_key": given["SecretAccessKey"],
                "aws_session_token": given["SessionToken"],
                EXPIRES_AT_MILLIS: str(int(expires * 1000)),
            },
            expires - self._seconds * KEPT_PART,
        )

    def policy(self, bucket: str, prefix: str, rights: Rights) -> str:
        """Return the session policy for the objects below a prefix in a bucket."""
        partition = self._role.split(":")[1]
        place = f"arn:{partition}:s3:::{_literal(bucket)}"
        below = _literal(prefix)
        statements = [
            {
                "Effect": "Allow",
                "Action": [*READS, *(WRITES if rights == "write" else ())],
                "Resource": f"{place}/{below}/*",
            },
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": place,
                "Condition": {"StringLike": {"s3:prefix": [f"{below}/*"]}},
            },
        ]
        return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))

    def _client(self, options: dict[str, str]) -> Any:
        keys = tuple(options.get(key) for key in _KEYS)
        region = options.get("aws_region") or options.get("region")
        with self._lock:
            client = self._clients.get((*keys, region))
            if client is None:
                import botocore.session

                given = dict(zip(_KEYS, keys, strict=True)) if keys[0] else {}
                client = botocore.session.get_session().create_client(
                    "sts", region_name=region, endpoint_url=self._endpoint, **given
                )
                self._clients[(*keys, region)] = client
        return client


def _again(role: str, seconds: int, endpoint: str | None) -> AssumeRole:
    return AssumeRole(role, seconds=seconds, endpoint=endpoint)


def _literal(text: str) -> str:
    """Escape a string so that IAM interprets it literally; a table may be called ``*``."""
    return _SPECIAL.sub(lambda found: f"${{{found[0]}}}", text)


def _failure(error: Exception) -> LanceNamespaceError:
    from botocore.exceptions import ClientError

    code = error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
    if isinstance(error, ClientError) and code not in ("Throttling", "ServiceUnavailable"):
        return InternalError(
            f"the server is not allowed to obtain credentials for the table ({code}); ask the "
            "operator to check the role"
        )
    return ServiceUnavailableError(
        f"credentials for the table are currently unavailable; try again later: "
        f"{first_line(error)[:100]}"
    )
