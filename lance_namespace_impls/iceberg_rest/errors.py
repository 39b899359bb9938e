"""Translates failures of the Iceberg REST API to protocol errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lance_namespace_client.errors import ErrorCode

from ..core.json_api import FailureTable, HttpFailure

__all__ = [
    "FAILURES",
    "is_bucket_missing",
    "is_conflict",
    "is_location_in_use",
    "is_store_denied",
    "is_store_unknown",
    "is_missing",
    "is_missing_warehouse",
    "is_no_route",
    "is_not_empty",
    "read_failure",
]

NOT_EMPTY = "NamespaceNotEmptyException"
EXISTS = "AlreadyExistsException"
FILE_MISSING = "NotFoundException"
# Messages of the Iceberg project's own server and of Apache Polaris.
NO_ROUTE = ("No route", "HTTP 404 Not Found")

FAILURES = FailureTable(
    kinds={
        # The server's credentials do not allow it to use the store of a location.
        "AccessDeniedException": ErrorCode.PERMISSION_DENIED,
        "AuthenticationTimeoutException": ErrorCode.UNAUTHENTICATED,
        "BadRequestException": ErrorCode.INVALID_INPUT,
        "CommitFailedException": ErrorCode.CONCURRENT_MODIFICATION,
        "ForbiddenException": ErrorCode.PERMISSION_DENIED,
        "IllegalArgumentException": ErrorCode.INVALID_INPUT,
        "NotAuthorizedException": ErrorCode.UNAUTHENTICATED,
        # The server cannot reach the store of a location.
        "SdkClientException": ErrorCode.SERVICE_UNAVAILABLE,
        "ServiceUnavailableException": ErrorCode.SERVICE_UNAVAILABLE,
        "SlowDownException": ErrorCode.THROTTLING,
        "UnprocessableEntityException": ErrorCode.INVALID_INPUT,
        "UnsupportedOperationException": ErrorCode.UNSUPPORTED,
        "ValidationException": ErrorCode.INVALID_INPUT,
        "invalid_client": ErrorCode.UNAUTHENTICATED,
        "unauthorized_client": ErrorCode.UNAUTHENTICATED,
    },
)


def read_failure(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the error type and message from an Iceberg or OAuth2 error body."""
    error = body.get("error")
    if isinstance(error, Mapping):
        return str(error.get("type") or ""), str(error.get("message") or "")
    return str(error or ""), str(body.get("error_description") or body.get("message") or "")


def is_missing(failure: HttpFailure) -> bool:
    """Return whether the catalog itself, not a proxy in front of it, reports a missing object.

    Missing files do not count: in that case, the table exists but cannot be read.
    """
    return (
        failure.status == 404
        and failure.kind not in ("", FILE_MISSING)
        and not is_no_route(failure)
    )


def is_no_route(failure: HttpFailure) -> bool:
    """Return whether the server has no such route, whether or not the object exists."""
    return failure.status in (400, 404) and failure.message.startswith(NO_ROUTE)


def is_missing_warehouse(failure: HttpFailure) -> bool:
    """Return whether the catalog has no such warehouse; servers have no specific error for this."""
    return is_missing(failure) or (
        failure.status == 404 and failure.kind == FILE_MISSING and not is_no_route(failure)
    )


def is_conflict(failure: HttpFailure) -> bool:
    """Return whether an object with this name already exists."""
    return failure.kind == EXISTS or (failure.status == 409 and failure.kind not in FAILURES.kinds)


def is_not_empty(failure: HttpFailure) -> bool:
    """Return whether a namespace cannot be dropped because it is not empty."""
    return failure.kind == NOT_EMPTY or failure.status == 409


def is_store_unknown(failure: HttpFailure) -> bool:
    """Return whether the server has no file system for the requested location."""
    return failure.status == 500 and "Failed to get file system for path" in failure.message


def is_bucket_missing(failure: HttpFailure) -> bool:
    """Return whether the bucket of the requested location does not exist."""
    return failure.kind == "NoSuchBucketException"


def is_store_denied(failure: HttpFailure) -> bool:
    """Return whether the server's own credentials may not use the requested location."""
    return failure.kind == "AccessDeniedException"


def is_location_in_use(failure: HttpFailure) -> bool:
    """Return whether another table or namespace uses the location, based on Polaris's message."""
    return failure.status == 403 and "conflicts with existing table or namespace" in failure.message
