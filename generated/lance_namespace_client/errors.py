# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Error codes of the protocol and their exceptions."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar

__all__ = [
    "ConcurrentModificationError",
    "ErrorCode",
    "ForbiddenError",
    "InternalError",
    "InvalidInputError",
    "InvalidTableStateError",
    "LanceNamespaceError",
    "NamespaceAlreadyExistsError",
    "NamespaceNotEmptyError",
    "NamespaceNotFoundError",
    "PermissionDeniedError",
    "ServiceUnavailableError",
    "TableAlreadyExistsError",
    "TableBranchAlreadyExistsError",
    "TableBranchNotFoundError",
    "TableColumnNotFoundError",
    "TableIndexAlreadyExistsError",
    "TableIndexNotFoundError",
    "TableNotFoundError",
    "TableSchemaValidationError",
    "TableTagAlreadyExistsError",
    "TableTagNotFoundError",
    "TableVersionNotFoundError",
    "ThrottlingError",
    "TransactionNotFoundError",
    "UnauthenticatedError",
    "UnsupportedError",
    "error_for",
]


class ErrorCode(IntEnum):
    """Codes for all kinds of failures, as sent in error bodies."""

    UNSUPPORTED = 0
    """The server or its catalog does not support this operation, or not with these
    settings. ListOperations returns the supported operations; repeating the
    call does not help.
    """
    NAMESPACE_NOT_FOUND = 1
    """The namespace does not exist, or the parent in which an object is created or
    listed does not exist. Check the identifier and the delimiter, or create the
    namespace first.
    """
    NAMESPACE_ALREADY_EXISTS = 2
    """The name of the new namespace is already in use in its parent. Choose
    another name, or use the mode `ExistOk` or `Overwrite`.
    """
    NAMESPACE_NOT_EMPTY = 3
    """The namespace to drop or overwrite is not empty. Remove its contents first,
    or drop it with the behavior `Cascade`.
    """
    TABLE_NOT_FOUND = 4
    """The table or its namespace does not exist. Check the identifier and the
    delimiter.
    """
    TABLE_ALREADY_EXISTS = 5
    """The name for the table is already in use. Choose another name or, if the
    operation has one, a mode that allows an existing table.
    """
    TABLE_INDEX_NOT_FOUND = 6
    """The table has no index with that name. ListTableIndices lists its indexes."""
    TABLE_INDEX_ALREADY_EXISTS = 7
    """The table already has an index with that name. Choose another name, or drop
    the existing index first.
    """
    TABLE_TAG_NOT_FOUND = 8
    """The table has no tag with that name. ListTableTags lists its tags."""
    TABLE_TAG_ALREADY_EXISTS = 9
    """The table already has a tag with that name. Choose another name, or move the
    tag with UpdateTableTag.
    """
    TRANSACTION_NOT_FOUND = 10
    """The transaction does not exist, or the server no longer stores it. Check the
    identifier.
    """
    TABLE_VERSION_NOT_FOUND = 11
    """The table has no such version: it was never created, or was cleaned up.
    ListTableVersions lists the existing versions.
    """
    TABLE_COLUMN_NOT_FOUND = 12
    """A column in the request does not exist in the table's schema. Check the name
    or, for a nested column, the path. Servers may return InvalidInput (13)
    instead.
    """
    INVALID_INPUT = 13
    """The request is invalid or contradictory, for example because of a malformed
    identifier, an unknown mode, a page token from another listing, or an
    unreadable body. Correct the request as the message describes; repeating it
    unchanged does not help.
    """
    CONCURRENT_MODIFICATION = 14
    """Another client concurrently changed the same object, so this change was not
    made. Read the current state and try again.
    """
    PERMISSION_DENIED = 15
    """The caller is authenticated but lacks permission. Request the permission, or
    use other credentials.
    """
    UNAUTHENTICATED = 16
    """Credentials are missing, invalid or expired. Send valid ones in `x-api-key`
    or `Authorization`. Catalogs that use this code for denied access return it
    with HTTP status 403.
    """
    SERVICE_UNAVAILABLE = 17
    """The server or its catalog is unreachable or did not respond in time. Reads
    can be repeated after a pause; after a change, first check whether it took
    effect.
    """
    INTERNAL = 18
    """The server or its catalog failed in a way that no other code describes. The
    message and the detail contain what is known; if the failure persists,
    report it with the value of instance.
    """
    INVALID_TABLE_STATE = 19
    """The state of the table, or of the catalog entry with that name, does not
    allow the operation, for example because a name is ambiguous. The message
    states the reason.
    """
    TABLE_SCHEMA_VALIDATION_ERROR = 20
    """The schema of the data or the change does not match the table, or Lance
    cannot store it. Compare it with the schema that DescribeTable returns.
    """
    THROTTLING = 21
    """Too many requests were sent in a short time, and this one was not executed.
    Wait as long as `Retry-After` specifies, if it is sent, and retry at a lower
    rate.
    """
    TABLE_BRANCH_NOT_FOUND = 22
    """The table has no branch with that name. ListTableBranches lists its
    branches.
    """
    TABLE_BRANCH_ALREADY_EXISTS = 23
    """The table already has a branch with that name. Choose another name, or
    delete the existing branch first.
    """


class LanceNamespaceError(Exception):
    """A failure with a protocol code; the base class of all exceptions that namespaces raise.

    Args:
        message: one line that states the problem and the fix. It names the object, unless
            `subject` does.
        subject: subject of the message, which precedes it.
        status: HTTP status; defaults to that of the code.
        detail: more information about the cause, for logs.
        instance: the request or object that failed, if the server reports it.
    """

    code: ErrorCode = ErrorCode.INTERNAL
    http_status: ClassVar[int] = 500

    def __init__(
        self,
        message: str,
        *,
        subject: str | None = None,
        status: int | None = None,
        detail: str | None = None,
        instance: str | None = None,
    ) -> None:
        super().__init__(message)
        self.text = message
        self.subject = subject
        self.status = status if status is not None else self.http_status
        self.detail = detail
        self.instance = instance

    @property
    def message(self) -> str:
        """The text, preceded by the subject if there is one."""
        return f"{self.subject}: {self.text}" if self.subject else self.text

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.text, dict(self.__dict__)))

    def to_dict(self) -> dict[str, Any]:
        """Return the error body: ``error``, ``code`` and, if known, ``detail`` and ``instance``."""
        body: dict[str, Any] = {"error": self.message, "code": int(self.code)}
        if self.detail is not None:
            body["detail"] = self.detail
        if self.instance is not None:
            body["instance"] = self.instance
        return body


def _rebuild(
    cls: type[LanceNamespaceError], text: str, state: dict[str, Any]
) -> LanceNamespaceError:
    error = cls(text)
    error.__dict__.update(state)
    return error


class UnsupportedError(LanceNamespaceError):
    """The server or its catalog does not support this operation, or not with these
    settings. ListOperations returns the supported operations; repeating the
    call does not help.
    """

    code = ErrorCode.UNSUPPORTED
    http_status = 406


class NamespaceNotFoundError(LanceNamespaceError):
    """The namespace does not exist, or the parent in which an object is created or
    listed does not exist. Check the identifier and the delimiter, or create the
    namespace first.
    """

    code = ErrorCode.NAMESPACE_NOT_FOUND
    http_status = 404


class NamespaceAlreadyExistsError(LanceNamespaceError):
    """The name of the new namespace is already in use in its parent.

    Choose another name, or use the mode `ExistOk` or `Overwrite`.
    """

    code = ErrorCode.NAMESPACE_ALREADY_EXISTS
    http_status = 409


class NamespaceNotEmptyError(LanceNamespaceError):
    """The namespace to drop or overwrite is not empty.

    Remove its contents first, or drop it with the behavior `Cascade`.
    """

    code = ErrorCode.NAMESPACE_NOT_EMPTY
    http_status = 409


class TableNotFoundError(LanceNamespaceError):
    """The table or its namespace does not exist.

    Check the identifier and the delimiter.
    """

    code = ErrorCode.TABLE_NOT_FOUND
    http_status = 404


class TableAlreadyExistsError(LanceNamespaceError):
    """The name for the table is already in use.

    Choose another name or, if the operation has one, a mode that allows an
    existing table.
    """

    code = ErrorCode.TABLE_ALREADY_EXISTS
    http_status = 409


class TableIndexNotFoundError(LanceNamespaceError):
    """The table has no index with that name.

    ListTableIndices lists its indexes.
    """

    code = ErrorCode.TABLE_INDEX_NOT_FOUND
    http_status = 404


class TableIndexAlreadyExistsError(LanceNamespaceError):
    """The table already has an index with that name.

    Choose another name, or drop the existing index first.
    """

    code = ErrorCode.TABLE_INDEX_ALREADY_EXISTS
    http_status = 409


class TableTagNotFoundError(LanceNamespaceError):
    """The table has no tag with that name.

    ListTableTags lists its tags.
    """

    code = ErrorCode.TABLE_TAG_NOT_FOUND
    http_status = 404


class TableTagAlreadyExistsError(LanceNamespaceError):
    """The table already has a tag with that name.

    Choose another name, or move the tag with UpdateTableTag.
    """

    code = ErrorCode.TABLE_TAG_ALREADY_EXISTS
    http_status = 409


class TransactionNotFoundError(LanceNamespaceError):
    """The transaction does not exist, or the server no longer stores it.

    Check the identifier.
    """

    code = ErrorCode.TRANSACTION_NOT_FOUND
    http_status = 404


class TableVersionNotFoundError(LanceNamespaceError):
    """The table has no such version: it was never created, or was cleaned up.

    ListTableVersions lists the existing versions.
    """

    code = ErrorCode.TABLE_VERSION_NOT_FOUND
    http_status = 404


class TableColumnNotFoundError(LanceNamespaceError):
    """A column in the request does not exist in the table's schema.

    Check the name or, for a nested column, the path. Servers may return
    InvalidInput (13) instead.
    """

    code = ErrorCode.TABLE_COLUMN_NOT_FOUND
    http_status = 404


class InvalidInputError(LanceNamespaceError):
    """The request is invalid or contradictory, for example because of a malformed
    identifier, an unknown mode, a page token from another listing, or an
    unreadable body. Correct the request as the message describes; repeating it
    unchanged does not help.
    """

    code = ErrorCode.INVALID_INPUT
    http_status = 400


class ConcurrentModificationError(LanceNamespaceError):
    """Another client concurrently changed the same object, so this change was not
    made. Read the current state and try again.
    """

    code = ErrorCode.CONCURRENT_MODIFICATION
    http_status = 409


class PermissionDeniedError(LanceNamespaceError):
    """The caller is authenticated but lacks permission.

    Request the permission, or use other credentials.
    """

    code = ErrorCode.PERMISSION_DENIED
    http_status = 403


class UnauthenticatedError(LanceNamespaceError):
    """Credentials are missing, invalid or expired.

    Send valid ones in `x-api-key` or `Authorization`. Catalogs that use this
    code for denied access return it with HTTP status 403.
    """

    code = ErrorCode.UNAUTHENTICATED
    http_status = 401


class ServiceUnavailableError(LanceNamespaceError):
    """The server or its catalog is unreachable or did not respond in time.

    Reads can be repeated after a pause; after a change, first check whether it
    took effect.
    """

    code = ErrorCode.SERVICE_UNAVAILABLE
    http_status = 503

    def __init__(
        self, message: str, *, retry_after: float | None = None, **more: Any
    ) -> None:
        """Like other errors, plus `retry_after`: the seconds to wait before a retry, if known."""
        super().__init__(message, **more)
        self.retry_after = retry_after


class InternalError(LanceNamespaceError):
    """The server or its catalog failed in a way that no other code describes.

    The message and the detail contain what is known; if the failure persists,
    report it with the value of instance.
    """

    code = ErrorCode.INTERNAL
    http_status = 500


class InvalidTableStateError(LanceNamespaceError):
    """The state of the table, or of the catalog entry with that name, does not
    allow the operation, for example because a name is ambiguous. The message
    states the reason.
    """

    code = ErrorCode.INVALID_TABLE_STATE
    http_status = 409


class TableSchemaValidationError(LanceNamespaceError):
    """The schema of the data or the change does not match the table, or Lance
    cannot store it. Compare it with the schema that DescribeTable returns.
    """

    code = ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR
    http_status = 400


class ThrottlingError(LanceNamespaceError):
    """Too many requests were sent in a short time, and this one was not executed.
    Wait as long as `Retry-After` specifies, if it is sent, and retry at a lower
    rate.
    """

    code = ErrorCode.THROTTLING
    http_status = 429

    def __init__(
        self, message: str, *, retry_after: float | None = None, **more: Any
    ) -> None:
        """Like other errors, plus `retry_after`: the seconds to wait before a retry, if known."""
        super().__init__(message, **more)
        self.retry_after = retry_after


class TableBranchNotFoundError(LanceNamespaceError):
    """The table has no branch with that name.

    ListTableBranches lists its branches.
    """

    code = ErrorCode.TABLE_BRANCH_NOT_FOUND
    http_status = 404


class TableBranchAlreadyExistsError(LanceNamespaceError):
    """The table already has a branch with that name.

    Choose another name, or delete the existing branch first.
    """

    code = ErrorCode.TABLE_BRANCH_ALREADY_EXISTS
    http_status = 409


class ForbiddenError(PermissionDeniedError):
    """The catalog denied access, and its own protocol uses code 16 for that;
    request the missing permission. The HTTP status distinguishes this from
    Unauthenticated.
    """

    code = ErrorCode.UNAUTHENTICATED
    http_status = 403


_BY_CODE: dict[int, type[LanceNamespaceError]] = {
    0: UnsupportedError,
    1: NamespaceNotFoundError,
    2: NamespaceAlreadyExistsError,
    3: NamespaceNotEmptyError,
    4: TableNotFoundError,
    5: TableAlreadyExistsError,
    6: TableIndexNotFoundError,
    7: TableIndexAlreadyExistsError,
    8: TableTagNotFoundError,
    9: TableTagAlreadyExistsError,
    10: TransactionNotFoundError,
    11: TableVersionNotFoundError,
    12: TableColumnNotFoundError,
    13: InvalidInputError,
    14: ConcurrentModificationError,
    15: PermissionDeniedError,
    16: UnauthenticatedError,
    17: ServiceUnavailableError,
    18: InternalError,
    19: InvalidTableStateError,
    20: TableSchemaValidationError,
    21: ThrottlingError,
    22: TableBranchNotFoundError,
    23: TableBranchAlreadyExistsError,
}
_BY_CODE_AND_STATUS: dict[tuple[int, int], type[LanceNamespaceError]] = {
    (16, 403): ForbiddenError,
}


def error_for(
    code: int,
    message: str,
    *,
    subject: str | None = None,
    status: int | None = None,
    detail: str | None = None,
    instance: str | None = None,
    retry_after: float | None = None,
) -> LanceNamespaceError:
    """Build the exception for a code; if two classes share the code, the HTTP status decides.

    For an unknown code, return an `InternalError` whose message contains it.
    """
    cls = _BY_CODE_AND_STATUS.get((code, status or 0)) or _BY_CODE.get(code)
    if cls is None:
        cls, message = InternalError, f"{message} (unknown error code {code})"
    more: dict[str, Any] = {
        "subject": subject,
        "status": status,
        "detail": detail,
        "instance": instance,
    }
    if issubclass(cls, ThrottlingError | ServiceUnavailableError):
        more["retry_after"] = retry_after
    return cls(message, **more)
