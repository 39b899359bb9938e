"""Translates Glue failures into protocol errors.

Source: the AWS Glue specification, "Error Handling" for each operation; the Glue API reference,
"Errors" and "Common errors".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore import exceptions as boto

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    ForbiddenError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)
from lance_namespace_client.wire import retry_after_seconds

from ..core.errors import first_line

__all__ = ["code_of", "from_aws", "is_denied", "translating", "was_repeated"]

NOT_FOUND = "EntityNotFoundException"
EXISTS = ("AlreadyExistsException", "FederatedResourceAlreadyExistsException")
CHANGED = (
    "ConcurrentModificationException",
    "ConditionCheckFailureException",
    "VersionMismatchException",
)
# Codes that are returned by metastores that implement the Glue API without catalogs.
NO_SUCH_CALL = ("UnknownOperationException", "InvalidAction", "NotImplementedException")

_DENIED = dict.fromkeys(
    ("AccessDeniedException", "AccessDenied", "UnauthorizedOperation", "NotAuthorized", "403"),
    ForbiddenError,
)
_BAD_CREDENTIALS = dict.fromkeys(
    (
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "OptInRequired",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
        "UnrecognizedClientException",
        "401",
    ),
    UnauthenticatedError,
)
_THROTTLED = dict.fromkeys(
    (
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "429",
    ),
    ThrottlingError,
)
_AWAY = dict.fromkeys(
    (
        "FederationSourceRetryableException",
        "OperationTimeoutException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ResourceNotReadyException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "502",
        "503",
        "504",
    ),
    ServiceUnavailableError,
)
_REFUSED = dict.fromkeys(
    (
        "InvalidInputException",
        "InvalidParameterValue",
        "SerializationException",
        "ValidationError",
        "ValidationException",
    ),
    InvalidInputError,
)
_INTERNAL = dict.fromkeys(
    ("FederationSourceException", "GlueEncryptionException", "InternalServiceException"),
    InternalError,
)
_BY_CODE: dict[str, type[LanceNamespaceError]] = {
    **_DENIED,
    **_BAD_CREDENTIALS,
    **_THROTTLED,
    **_AWAY,
    **_REFUSED,
    **_INTERNAL,
    **dict.fromkeys(CHANGED, ConcurrentModificationError),
    NOT_FOUND: NamespaceNotFoundError,
}

# Exceptions that botocore itself raises; the first match wins.
_BEFORE_SENDING: tuple[tuple[tuple[type[Exception], ...], type[LanceNamespaceError], str], ...] = (
    ((boto.NoRegionError,), InvalidInputError, "set 'region', or AWS_DEFAULT_REGION"),
    (
        (boto.NoCredentialsError, boto.PartialCredentialsError),
        UnauthenticatedError,
        "set 'access_key_id' and 'secret_access_key', 'profile_name', or the AWS environment",
    ),
    (
        (
            boto.CredentialRetrievalError,
            boto.NoAuthTokenError,
            boto.RefreshWithMFAUnsupportedError,
            boto.SSOError,
            boto.TokenRetrievalError,
            boto.UnauthorizedSSOTokenError,
        ),
        UnauthenticatedError,
        "sign in again",
    ),
    ((boto.ProfileNotFound,), InvalidInputError, "set another 'profile_name'"),
    ((boto.HTTPClientError, boto.ConnectionError), ServiceUnavailableError, ""),
    (
        (
            boto.ConfigNotFound,
            boto.ConfigParseError,
            boto.EndpointProviderError,
            boto.InvalidConfigError,
            boto.InvalidRetryConfigurationError,
            boto.ParamValidationError,
            boto.UnknownEndpointError,
            boto.ValidationError,
        ),
        InvalidInputError,
        "",
    ),
)


def code_of(error: BaseException) -> str:
    """Return AWS's code for a failure, or "" if the failure is not a response from a service."""
    if not isinstance(error, boto.ClientError):
        return ""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_denied(error: BaseException) -> bool:
    """Return whether the call failed because the caller lacks permission."""
    return isinstance(error, boto.ClientError) and _kind(error) is ForbiddenError


def was_repeated(error: boto.ClientError) -> bool:
    """Return whether the failure occurred on a retry of the call."""
    return bool(error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0))


@contextmanager
def translating(
    *, missing: LanceNamespaceError, exists: LanceNamespaceError | None = None
) -> Iterator[None]:
    """Translate Glue's "not found" and "already exists" failures to the specified protocol errors."""
    try:
        yield
    except boto.ClientError as error:
        code = code_of(error)
        if code == NOT_FOUND:
            raise missing from error
        if code in EXISTS and exists is not None:
            raise exists from error
        raise


def from_aws(error: Exception, what: str) -> LanceNamespaceError | None:
    """Translate a failure of boto3, or return None if the error is not from boto3.

    Args:
        error: the failure.
        what: the operation and its object, as the start of the message.
    """
    if isinstance(error, boto.ClientError):
        return _from_response(error, what)
    for kinds, protocol_error, advice in _BEFORE_SENDING:
        if isinstance(error, kinds):
            return protocol_error(f"{what}: {_advised(first_line(error), advice)}")
    if isinstance(error, ValueError) and str(error).startswith("Invalid endpoint"):
        return InvalidInputError(f"{what}: {first_line(error)}; set another 'endpoint'")
    if isinstance(error, boto.BotoCoreError):
        return InternalError(f"{what}: {type(error).__name__}: {first_line(error)}")
    return None


def _advised(message: str, advice: str) -> str:
    return f"{message.rstrip('.')}; {advice}" if advice else message


def _kind(error: boto.ClientError) -> type[LanceNamespaceError]:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    by_status = _BY_CODE.get(str(status), InternalError)
    return _BY_CODE.get(code_of(error), by_status)


def _from_response(error: boto.ClientError, what: str) -> LanceNamespaceError:
    kind = _kind(error)
    message = f"{what}: {first_line(error)}"
    if kind is ThrottlingError:
        return ThrottlingError(message, retry_after=_wait(error))
    return kind(message)


def _wait(error: boto.ClientError) -> float:
    """Return the seconds to wait: Retry-After, or the longest delay before botocore's next retry."""
    metadata: dict[str, Any] = error.response.get("ResponseMetadata", {})
    requested = retry_after_seconds(metadata.get("HTTPHeaders", {}).get("retry-after"))
    return (
        requested
        if requested is not None
        else float(min(2 ** metadata.get("RetryAttempts", 0), 20))
    )
