"""Calls functions that depend on external services, at a limited rate and with retries."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa
from attrs import frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    TableSchemaValidationError,
)

from ..core.errors import first_line
from ..core.imports import load
from ..core.stores import store_failure

__all__ = ["Calls", "Pace", "require_columns"]

T = TypeVar("T")

MAX_BACKOFF_SECONDS = 60.0


@frozen(kw_only=True)
class Calls:
    """How a job calls a function.

    Args:
        per_second: maximum number of calls per second across the job, including repeated calls;
            None means no limit.
        attempts: maximum number of calls for one input.
        backoff_seconds: pause after the first failed call. Each further pause is twice as long, up
            to `MAX_BACKOFF_SECONDS`, plus jitter.
        retry_on: exceptions after which the call is repeated.

    Raises:
        InvalidInputError: code 13, an argument is invalid.
    """

    per_second: float | None = None
    attempts: int = 1
    backoff_seconds: float = 1.0
    retry_on: tuple[type[Exception], ...] = (Exception,)

    def __attrs_post_init__(self) -> None:
        """Reject invalid arguments."""
        if self.per_second is not None and not 0 < self.per_second < float("inf"):
            raise InvalidInputError(
                f"calls_per_second must be greater than 0, not {self.per_second}; omit it for no "
                "limit"
            )
        if isinstance(self.attempts, bool) or self.attempts < 1:
            raise InvalidInputError(
                f"attempts must be a whole number of 1 or more, not {self.attempts}"
            )
        if not 0 <= self.backoff_seconds < float("inf"):
            raise InvalidInputError(
                f"backoff_seconds must be 0 or more, not {self.backoff_seconds}"
            )
        if not self.retry_on or not all(
            isinstance(kind, type) and issubclass(kind, Exception) for kind in self.retry_on
        ):
            raise InvalidInputError("retry_on must be an exception class, or a tuple of them")

    def pace(self, tasks: int) -> Pace:
        """Return the pace of one of several concurrent tasks that share the limit."""
        return Pace(None if self.per_second is None else tasks / self.per_second)

    def call(self, function: Callable[[Any], T], value: Any, what: str, pace: Pace) -> T:
        """Return the result of the function.

        Args:
            function: the function.
            value: its argument.
            what: description of the argument, as the start of an error message.
            pace: limits how often the task calls the function.

        Raises:
            ServiceUnavailableError: code 17, the last attempt failed to reach a service.
            InvalidInputError: code 13, the last attempt failed with another exception.
            LanceNamespaceError: the last attempt raised this error.
        """
        tenacity = load("tenacity")

        calls_made = 0

        def attempt() -> T:
            nonlocal calls_made
            pace.wait()
            calls_made += 1
            return function(value)

        try:
            found: T = tenacity.Retrying(
                stop=tenacity.stop_after_attempt(self.attempts),
                wait=tenacity.wait_exponential(self.backoff_seconds, MAX_BACKOFF_SECONDS)
                + tenacity.wait_random(0, min(1.0, self.backoff_seconds)),
                retry=tenacity.retry_if_exception_type(self.retry_on),
                reraise=True,
            )(attempt)
        except Exception as error:
            raise _failure(error, what, calls_made, self.attempts) from error
        return found


def _failure(error: Exception, what: str, attempt: int, attempts: int) -> LanceNamespaceError:
    text = f"{what}, attempt {attempt} of {attempts}: "
    if isinstance(error, LanceNamespaceError):
        return type(error)(text + error.message)
    kind = store_failure(error)
    if kind is None and isinstance(error, ConnectionError | TimeoutError):
        kind = ServiceUnavailableError
    return (kind or InvalidInputError)(f"{text}{type(error).__name__}: {first_line(error)}")


def require_columns(result: object, schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return the columns that a function computed, after checking that they are complete.

    Args:
        result: the result of the function.
        schema: the expected columns.
        rows: the expected number of rows.

    Raises:
        InvalidInputError: code 13, the result is not a batch, or has a different number of rows.
        TableSchemaValidationError: code 20, the result has different columns.
    """
    if not isinstance(result, pa.RecordBatch):
        raise InvalidInputError(
            f"the function returned a {type(result).__name__}, not a pyarrow.RecordBatch"
        )
    if result.num_rows != rows:
        raise InvalidInputError(
            f"the function returned {result.num_rows} rows for {rows} rows; it must return one "
            "for each"
        )
    if set(result.schema.names) != set(schema.names):
        raise TableSchemaValidationError(
            f"the function returned the columns {', '.join(result.schema.names)}, but types= "
            f"specifies {', '.join(schema.names)}"
        )
    return result


class Pace:
    """Limits how often a task calls a function.

    Args:
        seconds: minimum time between two calls; None means no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._next = 0.0

    def wait(self) -> None:
        """Wait until the next call is allowed."""
        if self._seconds is None:
            return
        now = time.monotonic()
        if self._next > now:
            time.sleep(self._next - now)
        self._next = max(now, self._next) + self._seconds
