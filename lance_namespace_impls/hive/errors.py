"""Translates the metastore's failures to protocol errors.

The metastore reports many failures as a plain MetaException, and only its message describes the
cause. Callers handle missing and existing objects themselves, because the meaning of these
exceptions depends on the call.
"""

from __future__ import annotations

import re

from pymetastore.hive_metastore import ttypes
from thrift.Thrift import TApplicationException, TException

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    UnauthenticatedError,
    UnsupportedError,
)

from ..core.errors import first_line
from .pool import UnreachableError

__all__ = ["error_text", "from_metastore"]

# Exception class, pattern in its message, and protocol error; the first match wins.
_TABLE: tuple[tuple[type[BaseException], str, type[LanceNamespaceError]], ...] = (
    (UnreachableError, "", ServiceUnavailableError),
    (
        TException,
        r"AccessControlException|AccessDeniedException|[Pp]ermission denied|not authorized|"
        r"No privilege|does not have (the )?privilege|AuthorizationException",
        PermissionDeniedError,
    ),
    (TException, r"GSS initiate failed|[Uu]nauthenticated|Invalid (credentials|token)", UnauthenticatedError),
    (TException, r"has been modified", ConcurrentModificationError),
    (TException, r"Can not drop|cannot be moved|is not a valid object name", InvalidInputError),
    (TException, r"URISyntaxException", InvalidInputError),
    # The metastore cannot reach the store that contains a location.
    (TException, r"\bConnectException|UnknownHostException|SdkClientException", ServiceUnavailableError),
    (TException, r"Invalid method name|does not support the call", UnsupportedError),
    (ttypes.InvalidObjectException, "", InvalidInputError),
    (ttypes.InvalidInputException, "", InvalidInputError),
    (TException, "", InternalError),
)  # fmt: skip
# Hadoop's messages for schemes that are unknown or whose classes are not installed.
_NO_FILE_SYSTEM = re.compile(
    r"No FileSystem for scheme|ClassNotFoundException: Class \S+FileSystem"
)
# Messages of Hadoop's file systems for S3, Azure and Google Cloud.
_NO_BUCKET = re.compile(
    r"NoSuchBucket|UnknownStoreException|specified (bucket|container|filesystem) does not exist"
)
_PATTERNS = tuple((kind, re.compile(pattern), error) for kind, pattern, error in _TABLE)


def from_metastore(error: BaseException, what: str) -> LanceNamespaceError | None:
    """Translate a metastore failure; return None for other errors.

    Args:
        error: the failure.
        what: the operation and its object, as the start of the message.
    """
    text = error_text(error)
    if isinstance(error, TException) and _NO_FILE_SYSTEM.search(text):
        return InvalidInputError(
            f"{what}: the metastore has no file system for the location; choose a location that it "
            f"can open, such as s3a://, or add the file system to the metastore: {text}"
        )
    if isinstance(error, TException) and _NO_BUCKET.search(text):
        return InvalidInputError(
            f"{what}: the bucket of the location does not exist; create it, or choose another "
            f"location: {text}"
        )
    for kind, pattern, protocol_error in _PATTERNS:
        if isinstance(error, kind) and pattern.search(text):
            return protocol_error(f"{what}: {text}")
    return None


def error_text(error: BaseException) -> str:
    """Return the message of a metastore failure as a single line."""
    message = getattr(error, "message", None)
    if isinstance(error, TException) and not isinstance(error, TApplicationException) and message:
        return first_line(Exception(message))
    return first_line(error)
