"""From pylance's failures to protocol errors.

pylance raises Python's plain exceptions; what went wrong stands in the text.
"""

from __future__ import annotations

import re

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)

from ..core.errors import first_line

__all__ = ["from_lance", "plain_message"]

# First match wins: the pattern, and the error that it stands for.
_TABLE: tuple[tuple[str, type[LanceNamespaceError]], ...] = (
    (r"Dataset already exists", TableAlreadyExistsError),
    (r"_versions/\d+\.manifest.*not found|version \d+ .*(not found|does not exist)|"
     r"Not found: \S*_versions/\d+\.manifest", TableVersionNotFoundError),
    (r"tag \S+ does not exist", TableTagNotFoundError),
    (r"branch \S+ does not exist", TableBranchNotFoundError),
    (r"[Cc]ommit conflict|[Tt]oo many concurrent writers|Retryable commit conflict|Incompatible transaction",
     ConcurrentModificationError),
    (r"different schema|schema (does not|doesn't|did not) match|fields did not match|"
     r"Schema mismatch|contained null values even though the field is marked non-null",
     TableSchemaValidationError),
    (r"No field named|column \S+ does not exist|Column \S+ (does not exist|not found)|"
     r"Field \S+ (not found|does not exist)", TableColumnNotFoundError),
    (r"Permission ?denied|AccessDenied|Access Denied|\b403\b.*Forbidden|EACCES", PermissionDeniedError),
    (r"Connection refused|connection error|error sending request|timed? ?out|"
     r"\b503\b|dns error|Could not resolve host|SlowDown", ServiceUnavailableError),
    (r"Cleanup error: \d+ tagged version|Not found: .*/data/[^/]*\.lance", InvalidTableStateError),
    (r"Invalid user input|Ref is invalid|sql parser error|Error during planning|LanceError\(IO\).*truncated|"
     r"Expected to (be able to )?read|Invalid IPC|Invalid flatbuffers|Unexpected end of (file|stream)",
     InvalidInputError),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), kind) for pattern, kind in _TABLE)
# Storage holds something that opens like a dataset and is none.
_BROKEN = re.compile(
    r"file size is too small|does not have sufficient data|Invalid range \d+\.\.\d+ for object"
)
# pylance ends a message with the place in its Rust source.
_SOURCE = re.compile(r",? ?(location: )?/?(\S*/)?(rust|src)/\S+\.rs:\d+(:\d+)?")


def plain_message(error: BaseException) -> str:
    """Give pylance's message on one line, without the place in its source."""
    return first_line(Exception(_SOURCE.sub("", str(error))))


def from_lance(error: BaseException, what: str) -> LanceNamespaceError | None:
    """Translate a failure of pylance, or give None where it is not known.

    Args:
        error: the failure.
        what: the operation and its object, to open the message with.
    """
    text = str(error)
    if _BROKEN.search(text):
        return InvalidTableStateError(
            f"{what}: what is there does not follow the Lance format: {plain_message(error)}"
        )
    for pattern, kind in _PATTERNS:
        if pattern.search(text):
            return kind(f"{what}: {plain_message(error)}")
    if isinstance(error, ValueError):
        # pylance's Python layer checks arguments, and says so with a plain ValueError.
        return InvalidInputError(f"{what}: {plain_message(error)}")
    return None
