"""Translates Unity Catalog's failures to protocol errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lance_namespace_client.errors import ErrorCode

from ..core.json_api import FailureTable, HttpFailure

__all__ = [
    "FAILURES",
    "is_changed_meanwhile",
    "is_conflict",
    "is_duplicate",
    "is_missing",
    "is_not_empty",
    "is_too_long",
    "read_failure",
]

FAILURES = FailureTable(
    kinds={
        "ABORTED": ErrorCode.CONCURRENT_MODIFICATION,
        "BAD_REQUEST": ErrorCode.INVALID_INPUT,
        "DEADLINE_EXCEEDED": ErrorCode.SERVICE_UNAVAILABLE,
        "INVALID_ARGUMENT": ErrorCode.INVALID_INPUT,
        "INVALID_PARAMETER_VALUE": ErrorCode.INVALID_INPUT,
        "MALFORMED_REQUEST": ErrorCode.INVALID_INPUT,
        "OUT_OF_RANGE": ErrorCode.INVALID_INPUT,
        "PERMISSION_DENIED": ErrorCode.PERMISSION_DENIED,
        "REQUEST_LIMIT_EXCEEDED": ErrorCode.THROTTLING,
        "RESOURCE_CONFLICT": ErrorCode.CONCURRENT_MODIFICATION,
        "RESOURCE_EXHAUSTED": ErrorCode.THROTTLING,
        "TEMPORARILY_UNAVAILABLE": ErrorCode.SERVICE_UNAVAILABLE,
        "UNAUTHENTICATED": ErrorCode.UNAUTHENTICATED,
        "UNAVAILABLE": ErrorCode.SERVICE_UNAVAILABLE,
        "UNIMPLEMENTED": ErrorCode.UNSUPPORTED,
    },
)

_NOT_EMPTY = ("FAILED_PRECONDITION", "SCHEMA_NOT_EMPTY", "INVALID_STATE")
# Messages of the open-source server's databases: H2, PostgreSQL, MySQL.
_TOO_LONG = re.compile(r"(value|data) too long for (column|type)", re.IGNORECASE)
_OTHER_CONFLICTS = ("ABORTED", "RESOURCE_CONFLICT")


def read_failure(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the error code and the message in an error body."""
    kind = body.get("error_code") or body.get("errorCode") or "UNKNOWN"
    return str(kind), str(body.get("message") or "")


def is_conflict(failure: HttpFailure) -> bool:
    """Return whether an object with this name already exists: HTTP 409 or a corresponding code."""
    if failure.kind.endswith("ALREADY_EXISTS"):
        return True
    return failure.status == 409 and failure.kind not in _OTHER_CONFLICTS


def is_missing(failure: HttpFailure) -> bool:
    """Return whether the API itself, not a proxy in front of it, reports a missing object."""
    return failure.kind.endswith(("NOT_FOUND", "DOES_NOT_EXIST")) or (
        failure.status == 404 and failure.kind != ""
    )


def is_not_empty(failure: HttpFailure) -> bool:
    """Return whether a schema cannot be dropped because it is not empty."""
    return failure.kind in _NOT_EMPTY or (failure.status == 409 and not is_missing(failure))


def is_too_long(failure: HttpFailure) -> bool:
    """Return whether a string is too long for the server's database."""
    return failure.status == 500 and _TOO_LONG.search(failure.message) is not None


def is_duplicate(failure: HttpFailure) -> bool:
    """Return whether a name has several entries; the server then returns none of them."""
    return failure.status == 500 and "did not return a unique result" in failure.message


def is_changed_meanwhile(failure: HttpFailure) -> bool:
    """Return whether the object changed concurrently."""
    return failure.status == 500 and (
        "Row was updated or deleted by another transaction" in failure.message
    )
