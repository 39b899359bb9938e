"""The boundary between callers and implementations."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from lance_namespace_client.errors import (
    InternalError,
    LanceNamespaceError,
    error_for,
)
from lance_namespace_client.model import Model, RequestLike
from lance_namespace_client.operations import COMMON_CODES, OPERATIONS, Action, Operation

from ..core.errors import first_line
from ..core.forks import check_lance
from ..core.identifiers import SHOWN_DELIMITER, parse_identifier, subject_of
from .operation_cache import RESPONSES

if TYPE_CHECKING:
    from .capabilities import Capabilities

__all__ = ["listing", "operation"]


logger = logging.getLogger(__name__)


class Implementation(Protocol):
    """The part of a namespace that this module uses."""

    @property
    def capabilities(self) -> Capabilities: ...

    def check_identifier(self, operation: str, request: Any) -> None: ...

    def listings_changed(self) -> None: ...

    def reopen_after_fork(self) -> None: ...

    def translate(self, error: Exception, what: str) -> LanceNamespaceError: ...


Self_ = TypeVar("Self_", bound=Implementation)
Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")
Rest = ParamSpec("Rest")
Request_contra = TypeVar("Request_contra", bound=Model, contravariant=True)
Response_co = TypeVar("Response_co", covariant=True)

# Substitutes for error codes that an operation does not define: a missing tag or branch is reported
# as a missing version, a missing version as a missing table, and a wrong column or schema as
# invalid input.
_WIDER = {8: 11, 22: 11, 11: 4, 12: 20, 20: 13}

# Raised if pylance's Rust code panics. The class is not derived from Exception and cannot be
# imported.
PANIC = "PanicException"

_BY_METHOD = {row.method_name: row for row in OPERATIONS.values()}


def operation(
    method: Callable[Concatenate[Self_, Request, Rest], Response],
) -> Callable[Concatenate[Self_, Request | RequestLike, Rest], Response]:
    """Decorate a method that implements the operation with the same name.

    The request is converted to its model and its identifier is checked. An operation that the
    backend declares unsupported raises code 0. Every failure is raised as a `LanceNamespaceError`
    with a code that the operation defines.
    """
    row = _BY_METHOD[method.__name__]
    changes_listings = row.action is Action.MANAGE

    @functools.wraps(method)
    def call(self: Self_, request: Any = None, *args: Rest.args, **kwargs: Rest.kwargs) -> Response:
        coerced: Any = row.request_type.coerce(request)
        start = time.monotonic()
        before = SHOWN_DELIMITER.set(self.capabilities.shown_delimiter)
        outer = RESPONSES.set({})
        try:
            check_lance(lambda: _subject(row, coerced))
            self.reopen_after_fork()
            self.check_identifier(row.name, coerced)
            if self.capabilities.reason(row.name) is not None:
                raise self.capabilities.refusal(row.name)
            return method(self, coerced, *args, **kwargs)
        except BaseException as error:
            if (failure := _failure(self, row, coerced, error)) is error:
                raise
            raise failure from error
        finally:
            if changes_listings:
                self.listings_changed()
            RESPONSES.reset(outer)
            SHOWN_DELIMITER.reset(before)
            if logger.isEnabledFor(logging.INFO):
                spent = 1000 * (time.monotonic() - start)
                logger.info("%s took %.0f ms", _subject(row, coerced), spent)

    return cast("Callable[Concatenate[Self_, Request | RequestLike, Rest], Response]", call)


class BoundListing(Protocol[Request_contra, Response_co]):
    """A listing as callers see it; without a request, it returns the first page of the root."""

    def __call__(self, request: Request_contra | RequestLike | None = None) -> Response_co: ...


class Listing(Protocol[Request_contra, Response_co]):
    """A listing as defined in its class."""

    def __get__(
        self, instance: Any, owner: type | None = None
    ) -> BoundListing[Request_contra, Response_co]: ...


def listing(
    method: Callable[[Self_, Request], Response],
) -> Listing[Request, Response]:
    """Decorate a method like `operation`, for a listing whose request is optional."""
    return cast("Listing[Request, Response]", operation(method))


def _failure(
    self: Implementation, row: Operation[Any, Any], request: Any, error: BaseException
) -> BaseException:
    """Return the protocol error for a failure; return exceptions that end the program unchanged."""
    if isinstance(error, LanceNamespaceError):
        return _listed(error, row)
    if isinstance(error, Exception):
        return _listed(self.translate(error, _subject(row, request)), row)
    if type(error).__name__ != PANIC:
        return error
    return InternalError(f"pylance failed: {first_line(error)}", subject=_subject(row, request))


def _subject(row: Operation[Any, Any], request: Any) -> str:
    return subject_of(row.name, parse_identifier(getattr(request, "id", None)))


def _listed(error: LanceNamespaceError, row: Operation[Any, Any]) -> LanceNamespaceError:
    """Map an error to one with a code that the operation defines."""
    code = int(error.code)
    while code not in row.codes and code not in COMMON_CODES and code in _WIDER:
        code = _WIDER[code]
    if code == error.code:
        return error
    return error_for(
        code, error.text, subject=error.subject, detail=error.detail, instance=error.instance
    )
