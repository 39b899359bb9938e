"""Reports failures: one line on stderr, and an exit status.

Source: protocol semantics, "Errors".
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from lance_namespace_client.errors import ErrorCode, LanceNamespaceError

from ..core.profiles import ProfileError
from .choice import UsageError
from .signals import stopped_by

__all__ = [
    "MissingPackageError",
    "Report",
    "Status",
    "UsageError",
    "needs",
    "one_line",
    "status_of",
]


class Status(IntEnum):
    """Exit statuses of ``lance-ns``; the help shows the `meaning` of each member."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Status:
        """Create a status with its meaning."""
        status = int.__new__(cls, value)
        status._value_ = value
        status.meaning = meaning
        return status

    OK = 0, "done"
    NOT_DONE = 1, "negative result, or a package is missing"
    USAGE = 2, "invalid command line or configuration file"
    NOT_FOUND = 3, "not found"
    EXISTS = 4, "already exists"
    INVALID = 5, "invalid input"
    DENIED = 6, "permission denied, or not authenticated"
    UNAVAILABLE = 7, "unreachable or overloaded; retry later"
    UNSUPPORTED = 8, "not supported by this catalog"
    CONFLICT = 9, "not empty, changed concurrently, or in an invalid state"
    INTERNAL = 10, "internal error; --debug shows the traceback"
    INTERRUPTED = 130, "interrupted (Ctrl-C)"
    BROKEN_PIPE = 141, "the reader closed the output"
    TERMINATED = 143, "terminated (SIGTERM)"


_STATUS = {
    ErrorCode.UNSUPPORTED: Status.UNSUPPORTED,
    ErrorCode.NAMESPACE_NOT_EMPTY: Status.CONFLICT,
    ErrorCode.INVALID_INPUT: Status.INVALID,
    ErrorCode.CONCURRENT_MODIFICATION: Status.CONFLICT,
    ErrorCode.PERMISSION_DENIED: Status.DENIED,
    ErrorCode.UNAUTHENTICATED: Status.DENIED,
    ErrorCode.SERVICE_UNAVAILABLE: Status.UNAVAILABLE,
    ErrorCode.INTERNAL: Status.INTERNAL,
    ErrorCode.INVALID_TABLE_STATE: Status.CONFLICT,
    ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR: Status.INVALID,
    ErrorCode.THROTTLING: Status.UNAVAILABLE,
}


def status_of(code: ErrorCode) -> Status:
    """Return the exit status for an error code; the default is `Status.INTERNAL`."""
    if code.name.endswith("_NOT_FOUND"):
        return Status.NOT_FOUND
    if code.name.endswith("_ALREADY_EXISTS"):
        return Status.EXISTS
    return _STATUS.get(code, Status.INTERNAL)


class MissingPackageError(Exception):
    """Raised if a command needs a package that is not installed."""


@contextmanager
def needs(command: str, extra: str) -> Iterator[None]:
    """If an import in the block fails, raise an error that names the extra to install.

    Args:
        command: the command, such as ``serve``.
        extra: the extra of this distribution that contains the imported packages.

    Raises:
        MissingPackageError: a package is not installed.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "lance_namespace_impls", "lance_namespace_client"):
            raise
        raise MissingPackageError(
            f"lance-ns {command} needs {package}: pip install 'lance-namespace-kit[{extra}]'"
        ) from error


def one_line(text: str) -> str:
    """Return a string on one line, without terminal control characters."""
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


class Report:
    """Reports the failure of a run as a line on stderr and an exit status.

    Args:
        as_json: whether the line is a JSON object.
        debug: whether to also show the traceback.
    """

    def __init__(self, *, as_json: bool, debug: bool) -> None:
        self.as_json = as_json
        self.debug = debug
        self.secrets: frozenset[str] = frozenset()
        """Values that must not be shown."""

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Report a failure in the block, and exit with its status."""
        try:
            yield
            sys.stdout.flush()
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt as error:
            raise self._stopped(error) from None
        except BrokenPipeError:
            _let_go_of_output()
            raise typer.Exit(Status.BROKEN_PIPE) from None
        except Exception as error:
            if stopped_by() is None:
                raise self._failed(error) from error
            # An extension module may have replaced the exception, for example that of a failed
            # import.
            raise self._stopped(error) from error

    def _failed(self, error: Exception) -> typer.Exit:
        if isinstance(error, ProfileError):
            return self._exit(error, Status.USAGE, error.message)
        if isinstance(error, LanceNamespaceError):
            return self._exit(error, status_of(error.code), error.message, error.code)
        if isinstance(error, MissingPackageError):
            return self._exit(error, Status.NOT_DONE, str(error))
        if isinstance(error, UsageError):
            return self._exit(error, Status.USAGE, str(error))
        if isinstance(error, _UsageOfTyper):
            return self._exit(error, Status.USAGE, _usage_message(error))
        return self._exit(error, Status.INTERNAL, _unforeseen(error), ErrorCode.INTERNAL)

    def _stopped(self, error: BaseException) -> typer.Exit:
        if stopped_by() == signal.SIGTERM:
            return self._exit(error, Status.TERMINATED, "terminated")
        return self._exit(error, Status.INTERRUPTED, "interrupted")

    def _exit(
        self, error: BaseException, status: Status, message: str, code: ErrorCode | None = None
    ) -> typer.Exit:
        name = _name(code) if code is not None else None
        message = self.without_secrets(message)
        if self.debug:
            shown = "".join(traceback.format_exception(error))
            sys.stderr.write(self.without_secrets(shown))
        if self.as_json:
            detail = getattr(error, "detail", None)
            document = {
                "error": message,
                "code": None if code is None else int(code),
                "name": name,
                "detail": detail and self.without_secrets(detail),
                "instance": getattr(error, "instance", None),
                "status": int(status),
            }
            line = json.dumps(document)
        else:
            head = "error" if code is None else f"error {int(code)} {name}"
            line = f"{head}: {one_line(message)}"
        try:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        except BrokenPipeError:
            _let_go_of_output()
        return typer.Exit(status)

    def without_secrets(self, text: str) -> str:
        """Return a string in which the secrets of the run are hidden."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


# Typer does not export the base class of its usage errors, but only a subclass.
_UsageOfTyper: type[Exception] = typer.BadParameter.__mro__[1]


def _suggestion(found: re.Match[str]) -> str:
    return f"; did you mean {' or '.join(found[1].split(', '))}?"


def _usage_message(error: Exception) -> str:
    message: str = error.format_message() if hasattr(error, "format_message") else str(error)
    message = message.strip().rstrip(".")
    context: typer.Context | None = getattr(error, "ctx", None)
    if context is None:
        return message
    message = f"{message[:1].lower()}{message[1:]}"
    # Typer formats suggestions in two ways; use the same form for both.
    message = re.sub(r" \(Possible options: ([^)]+)\)", _suggestion, message)
    message = message.replace(". Did you mean ", "; did you mean ")
    link = " See" if message.endswith("?") else "; see"
    return f"{message}{link} {context.command_path} --help"


def _unforeseen(error: Exception) -> str:
    text = str(error) or "no message"
    return f"{type(error).__name__}: {text} (--debug shows the traceback)"


def _name(code: ErrorCode) -> str:
    return "".join(part.title() for part in code.name.split("_"))


def _let_go_of_output() -> None:
    """Redirect stdout and stderr to the null device, so that the last flush at exit succeeds."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nothing, stream.fileno())
    os.close(nothing)
