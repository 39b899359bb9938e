"""Transfers protocol errors across Spark.

An exception in a Python worker reaches the caller only as text in one of Spark's exceptions. The
protocol error and its code are therefore encoded in that text and decoded from it.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import lance_namespace_client.errors as errors
from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableSchemaValidationError,
)

from ..core.errors import first_line, from_system_failure, scrub
from ..core.stores import store_failure
from ..tables.errors import from_lance, plain_message

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "coded",
    "decoded",
    "failure_result",
    "protocol_error",
    "protocol_error_in",
    "raise_failure",
]

_IN_TRACEBACK = re.compile(
    r"lance_namespace_client\.errors\.(?P<name>\w+): (?P<message>.*) \(code \d+\)$", re.MULTILINE
)


def protocol_error(
    error: Exception, what: str, secrets: Collection[str] = ()
) -> LanceNamespaceError:
    """Return the protocol error for a failure of storage or pylance; keep protocol errors
    unchanged.

    Args:
        error: the failure.
        what: the operation, as the start of the message.
        secrets: strings that the message must not contain.
    """
    if isinstance(error, LanceNamespaceError):
        return error
    if kind := store_failure(error):
        found: LanceNamespaceError = kind(f"{what}: {first_line(error)}")
    elif "LanceError(Schema)" in str(error):
        found = TableSchemaValidationError(f"{what}: {plain_message(error)}")
    else:
        found = from_lance(error, what) or from_system_failure(error, what)
    return type(found)(scrub(found.message, secrets))


@contextmanager
def coded(what: str, secrets: Collection[str] = ()) -> Iterator[None]:
    """Raise failures in a Python worker as protocol errors whose message contains the code.

    Args:
        what: the operation, as the start of the message.
        secrets: strings that the message must not contain.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 re-raised below
        found = protocol_error(error, what, secrets)
        # Use the class that belongs to the code, because `decoded` cannot look up custom subclasses
        # by name.
        text = f"{found.message} (code {int(found.code)})"
        shown = errors.error_for(int(found.code), text, status=found.status)
        # Spark shows the full traceback to the caller.
        trace = "".join(traceback.format_exception(error))
        raise shown from (None if any(secret in trace for secret in secrets) else error)


def protocol_error_in(error: BaseException) -> LanceNamespaceError | None:
    """Return the protocol error that made Spark fail, or None if the cause is something else.

    >>> try:  # doctest: +SKIP
    ...     spark.read.format("lance_namespace").options(**options).load("no_such_table")
    ... except PySparkException as error:
    ...     print(protocol_error_in(error).code)
    """
    if isinstance(error, LanceNamespaceError):
        return error
    matches = list(_IN_TRACEBACK.finditer(str(error)))
    if not matches:
        return None
    found = matches[-1]
    kind = getattr(errors, found["name"], LanceNamespaceError)
    protocol: LanceNamespaceError = kind(found["message"])
    return protocol


@contextmanager
def decoded() -> Iterator[None]:
    """Raise errors from `coded` on a worker as the original protocol errors on the driver.

    If Spark finds an error in the caller's DataFrame during the computation, that error has code
    13.
    """
    try:
        yield
    except LanceNamespaceError:
        raise
    except Exception as error:
        found = protocol_error_in(error) or _mistake(error)
        if found is None:
            raise
        raise found from error


def _mistake(error: Exception) -> LanceNamespaceError | None:
    """Return the protocol error if Spark cannot compute the caller's DataFrame, otherwise None.

    The SQLSTATE classes 22 (data) and 42 (names and types), and P0001 (raised by the query),
    indicate an error in the caller's DataFrame.
    """
    from pyspark.errors import PySparkException

    state = error.getSqlState() if isinstance(error, PySparkException) else None
    if not state or not state.startswith(("22", "42", "P0001")):
        return None
    return InvalidInputError(f"Spark cannot compute the DataFrame: {first_line(error)}")


def failure_result(error: LanceNamespaceError) -> dict[str, Any]:
    """Return a failure as the result of a task, so that the results of the other tasks are kept."""
    return {"failure": {**error.to_dict(), "status": error.status}}


def raise_failure(result: Mapping[str, Any]) -> None:
    """Raise the failure in the result of a task, if there is one."""
    if failure := result.get("failure"):
        raise errors.error_for(failure["code"], failure["error"], status=failure["status"])
