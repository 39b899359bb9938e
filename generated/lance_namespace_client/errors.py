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
    """Code of each kind of failure, as in an error body."""

    UNSUPPORTED = 0
    """The server or its catalog cannot do this operation, or not with these
    settings, now or later. Ask ListOperations what it can do; repeating the
    call does not help.
    """
    NAMESPACE_NOT_FOUND = 1
    """The namespace, or the parent in which something should be made or listed,
    does not exist. Check the identifier and the delimiter, or create the
    namespace first.
    """
    NAMESPACE_ALREADY_EXISTS = 2
    """A namespace should be created under a name that is taken in its parent.
    Choose another name, or the mode `ExistOk` or `Overwrite`.
    """
    NAMESPACE_NOT_EMPTY = 3
    """A namespace that still holds something should be dropped or overwritten.
    Remove what is in it first, or drop it with the behavior `Cascade`.
    """
    TABLE_NOT_FOUND = 4
    """The table, or the namespace that it should be in, does not exist. Check the
    identifier and the delimiter.
    """
    TABLE_ALREADY_EXISTS = 5
    """A table should be created, declared, registered or renamed to a name that is
    taken. Choose another name, or a mode that allows it where the operation has
    one.
    """
    TABLE_INDEX_NOT_FOUND = 6
    """The table has no index of that name. See ListTableIndices for those it has."""
    TABLE_INDEX_ALREADY_EXISTS = 7
    """The table already has an index of that name. Choose another name, or drop
    the old index first.
    """
    TABLE_TAG_NOT_FOUND = 8
    """The table has no tag of that name. See ListTableTags for those it has."""
    TABLE_TAG_ALREADY_EXISTS = 9
    """The table already has a tag of that name. Choose another name, or move the
    tag with UpdateTableTag.
    """
    TRANSACTION_NOT_FOUND = 10
    """The server does not know the transaction, or no longer keeps it. Check the
    identifier.
    """
    TABLE_VERSION_NOT_FOUND = 11
    """The table has no such version, because it was never made or was cleaned up.
    See ListTableVersions for those it has.
    """
    TABLE_COLUMN_NOT_FOUND = 12
    """A column that the request names is not in the table's schema. Check the
    name, and the path of a nested column. Servers may count it as InvalidInput
    (13) instead.
    """
    INVALID_INPUT = 13
    """The request cannot be understood or contradicts itself: a bad identifier, an
    unknown mode, a page token of another listing, a body that cannot be read
    and the like. Correct it as the message says; repeating it unchanged does
    not help.
    """
    CONCURRENT_MODIFICATION = 14
    """Someone else changed the same thing meanwhile, so this change was not made.
    Read the present state and try again.
    """
    PERMISSION_DENIED = 15
    """The caller is known but may not do this. Ask for the right, or use other
    credentials.
    """
    UNAUTHENTICATED = 16
    """Credentials are missing, wrong or expired. Send valid ones in `x-api-key` or
    `Authorization`; a catalog that counts denied access as this code answers it
    with HTTP status 403.
    """
    SERVICE_UNAVAILABLE = 17
    """The server or the catalog behind it cannot be reached or did not answer in
    time. A read may be repeated after a pause; after a change, look first
    whether it took effect.
    """
    INTERNAL = 18
    """Something failed in the server or its catalog that no other code fits. The
    message and detail say what is known; report it with the instance value if
    it stays.
    """
    INVALID_TABLE_STATE = 19
    """The table, or the catalog entry under that name, is in a state that does not
    allow the operation, for example an ambiguous name. The message says what is
    in the way.
    """
    TABLE_SCHEMA_VALIDATION_ERROR = 20
    """The schema of the data or of the change does not fit the table, or cannot be
    stored by Lance. Compare it with the schema that DescribeTable gives.
    """
    THROTTLING = 21
    """Too many requests came in a short time and this one was not carried out.
    Wait as long as `Retry-After` says, where it is sent, and try again more
    slowly.
    """
    TABLE_BRANCH_NOT_FOUND = 22
    """The table has no branch of that name. See ListTableBranches for those it
    has.
    """
    TABLE_BRANCH_ALREADY_EXISTS = 23
    """The table already has a branch of that name. Choose another name, or delete
    the old branch first.
    """


class LanceNamespaceError(Exception):
    """A failure with a protocol code; the base class of all exceptions of a namespace.

    Args:
        message: one line that states the problem and the fix. It names the object, unless
            `subject` does.
        subject: subject of the message, which is shown before it.
        status: HTTP status; defaults to that of the code.
        detail: more about the cause, for a log.
        instance: the failed request or object, if the server reports it.
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
        """Return the error body: ``error``, ``code``; ``detail`` and ``instance`` if known."""
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
    """The server or its catalog cannot do this operation, or not with these
    settings, now or later. Ask ListOperations what it can do; repeating the
    call does not help.
    """

    code = ErrorCode.UNSUPPORTED
    http_status = 406


class NamespaceNotFoundError(LanceNamespaceError):
    """The namespace, or the parent in which something should be made or listed,
    does not exist. Check the identifier and the delimiter, or create the
    namespace first.
    """

    code = ErrorCode.NAMESPACE_NOT_FOUND
    http_status = 404


class NamespaceAlreadyExistsError(LanceNamespaceError):
    """A namespace should be created under a name that is taken in its parent.

    Choose another name, or the mode `ExistOk` or `Overwrite`.
    """

    code = ErrorCode.NAMESPACE_ALREADY_EXISTS
    http_status = 409


class NamespaceNotEmptyError(LanceNamespaceError):
    """A namespace that still holds something should be dropped or overwritten.

    Remove what is in it first, or drop it with the behavior `Cascade`.
    """

    code = ErrorCode.NAMESPACE_NOT_EMPTY
    http_status = 409


class TableNotFoundError(LanceNamespaceError):
    """The table, or the namespace that it should be in, does not exist.

    Check the identifier and the delimiter.
    """

    code = ErrorCode.TABLE_NOT_FOUND
    http_status = 404


class TableAlreadyExistsError(LanceNamespaceError):
    """A table should be created, declared, registered or renamed to a name that is
    taken. Choose another name, or a mode that allows it where the operation has
    one.
    """

    code = ErrorCode.TABLE_ALREADY_EXISTS
    http_status = 409


class TableIndexNotFoundError(LanceNamespaceError):
    """The table has no index of that name.

    See ListTableIndices for those it has.
    """

    code = ErrorCode.TABLE_INDEX_NOT_FOUND
    http_status = 404


class TableIndexAlreadyExistsError(LanceNamespaceError):
    """The table already has an index of that name.

    Choose another name, or drop the old index first.
    """

    code = ErrorCode.TABLE_INDEX_ALREADY_EXISTS
    http_status = 409


class TableTagNotFoundError(LanceNamespaceError):
    """The table has no tag of that name.

    See ListTableTags for those it has.
    """

    code = ErrorCode.TABLE_TAG_NOT_FOUND
    http_status = 404


class TableTagAlreadyExistsError(LanceNamespaceError):
    """The table already has a tag of that name.

    Choose another name, or move the tag with UpdateTableTag.
    """

    code = ErrorCode.TABLE_TAG_ALREADY_EXISTS
    http_status = 409


class TransactionNotFoundError(LanceNamespaceError):
    """The server does not know the transaction, or no longer keeps it.

    Check the identifier.
    """

    code = ErrorCode.TRANSACTION_NOT_FOUND
    http_status = 404


class TableVersionNotFoundError(LanceNamespaceError):
    """The table has no such version, because it was never made or was cleaned up.
    See ListTableVersions for those it has.
    """

    code = ErrorCode.TABLE_VERSION_NOT_FOUND
    http_status = 404


class TableColumnNotFoundError(LanceNamespaceError):
    """A column that the request names is not in the table's schema.

    Check the name, and the path of a nested column. Servers may count it as
    InvalidInput (13) instead.
    """

    code = ErrorCode.TABLE_COLUMN_NOT_FOUND
    http_status = 404


class InvalidInputError(LanceNamespaceError):
    """The request cannot be understood or contradicts itself: a bad identifier, an
    unknown mode, a page token of another listing, a body that cannot be read
    and the like. Correct it as the message says; repeating it unchanged does
    not help.
    """

    code = ErrorCode.INVALID_INPUT
    http_status = 400


class ConcurrentModificationError(LanceNamespaceError):
    """Someone else changed the same thing meanwhile, so this change was not made.
    Read the present state and try again.
    """

    code = ErrorCode.CONCURRENT_MODIFICATION
    http_status = 409


class PermissionDeniedError(LanceNamespaceError):
    """The caller is known but may not do this.

    Ask for the right, or use other credentials.
    """

    code = ErrorCode.PERMISSION_DENIED
    http_status = 403


class UnauthenticatedError(LanceNamespaceError):
    """Credentials are missing, wrong or expired.

    Send valid ones in `x-api-key` or `Authorization`; a catalog that counts
    denied access as this code answers it with HTTP status 403.
    """

    code = ErrorCode.UNAUTHENTICATED
    http_status = 401


class ServiceUnavailableError(LanceNamespaceError):
    """The server or the catalog behind it cannot be reached or did not answer in
    time. A read may be repeated after a pause; after a change, look first
    whether it took effect.
    """

    code = ErrorCode.SERVICE_UNAVAILABLE
    http_status = 503

    def __init__(
        self, message: str, *, retry_after: float | None = None, **more: Any
    ) -> None:
        """Like other errors, with `retry_after`: seconds to wait before a retry, if known."""
        super().__init__(message, **more)
        self.retry_after = retry_after


class InternalError(LanceNamespaceError):
    """Something failed in the server or its catalog that no other code fits.

    The message and detail say what is known; report it with the instance value
    if it stays.
    """

    code = ErrorCode.INTERNAL
    http_status = 500


class InvalidTableStateError(LanceNamespaceError):
    """The table, or the catalog entry under that name, is in a state that does not
    allow the operation, for example an ambiguous name. The message says what is
    in the way.
    """

    code = ErrorCode.INVALID_TABLE_STATE
    http_status = 409


class TableSchemaValidationError(LanceNamespaceError):
    """The schema of the data or of the change does not fit the table, or cannot be
    stored by Lance. Compare it with the schema that DescribeTable gives.
    """

    code = ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR
    http_status = 400


class ThrottlingError(LanceNamespaceError):
    """Too many requests came in a short time and this one was not carried out.

    Wait as long as `Retry-After` says, where it is sent, and try again more
    slowly.
    """

    code = ErrorCode.THROTTLING
    http_status = 429

    def __init__(
        self, message: str, *, retry_after: float | None = None, **more: Any
    ) -> None:
        """Like other errors, with `retry_after`: seconds to wait before a retry, if known."""
        super().__init__(message, **more)
        self.retry_after = retry_after


class TableBranchNotFoundError(LanceNamespaceError):
    """The table has no branch of that name.

    See ListTableBranches for those it has.
    """

    code = ErrorCode.TABLE_BRANCH_NOT_FOUND
    http_status = 404


class TableBranchAlreadyExistsError(LanceNamespaceError):
    """The table already has a branch of that name.

    Choose another name, or delete the old branch first.
    """

    code = ErrorCode.TABLE_BRANCH_ALREADY_EXISTS
    http_status = 409


class ForbiddenError(PermissionDeniedError):
    """The catalog refused the caller, and its own protocol numbers that refusal
    16; ask for the missing right. Told apart from Unauthenticated by its HTTP
    status.
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
    """Build the exception for a code; if two share the code, the HTTP status decides.

    An unknown code results in an `InternalError` that contains it.
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
