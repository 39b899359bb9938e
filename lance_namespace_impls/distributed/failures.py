"""Protocol errors across Spark.

An exception of a Python worker reaches the caller as text in one of Spark's own. The protocol
error is written into that text with its code, and read out of it again.
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
    "failure_answer",
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
    """Turn a failure of storage or of pylance into a protocol error; one of those stays.

    Args:
        error: the failure.
        what: what was done, to open the message with.
        secrets: texts that the message must not hold.
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
    """Let failures leave a Python worker as protocol errors that show their code.

    Args:
        what: what is done, to open the message with.
        secrets: texts that the message must not hold.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 raised again below
        found = protocol_error(error, what, secrets)
        # By its code, since a class of its own is not found again in the text.
        text = f"{found.message} (code {int(found.code)})"
        shown = errors.error_for(int(found.code), text, status=found.status)
        # Spark shows the caller all of the traceback.
        told = "".join(traceback.format_exception(error))
        raise shown from (None if any(secret in told for secret in secrets) else error)


def protocol_error_in(error: BaseException) -> LanceNamespaceError | None:
    """Return the protocol error that made Spark fail, or None where it was something else.

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
    """Let what `coded` raised on a worker leave the driver as the protocol error that it was.

    A mistake in the caller's DataFrame, which Spark finds when it computes it, is code 13.
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
    """Return the protocol error of a frame that Spark cannot compute, or None for another failure.

    The SQL states 22 (data), 42 (names and types) and P0001 (raised by the query) are mistakes in the
    caller's frame.
    """
    from pyspark.errors import PySparkException

    state = error.getSqlState() if isinstance(error, PySparkException) else None
    if not state or not state.startswith(("22", "42", "P0001")):
        return None
    return InvalidInputError(f"Spark cannot compute the DataFrame: {first_line(error)}")


def failure_answer(error: LanceNamespaceError) -> dict[str, Any]:
    """Return a failure as the answer of a task: so it comes back beside the answers of others."""
    return {"failure": {**error.to_dict(), "status": error.status}}


def raise_failure(answer: Mapping[str, Any]) -> None:
    """Raise the failure that is the answer of a task, if it is one."""
    if failure := answer.get("failure"):
        raise errors.error_for(failure["code"], failure["error"], status=failure["status"])
