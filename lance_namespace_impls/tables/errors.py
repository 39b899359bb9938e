"""Translates pylance's failures to protocol errors.

pylance raises Python's built-in exceptions; only the message identifies the cause.
"""

from __future__ import annotations

import re
from typing import Any

from lance_namespace_client import errors
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
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
    ThrottlingError,
)

from ..core.errors import excerpt, first_line

__all__ = ["from_lance", "is_missing_bucket", "may_be_committed", "plain_message"]

_UNKNOWN = r"Commit result for version \d+ is unknown"
# Patterns and the errors that they indicate; the first match wins.
_TABLE: tuple[tuple[str, type[LanceNamespaceError]], ...] = (
    (r"Dataset already exists", TableAlreadyExistsError),
    (r"_versions/\d+\.manifest.*not found|version \d+ .*(not found|does not exist)|"
     r"Not found: \S*_versions/\d+\.manifest", TableVersionNotFoundError),
    (r"tag \S+ does not exist", TableTagNotFoundError),
    (r"branch \S+ does not exist", TableBranchNotFoundError),
    (_UNKNOWN, ConcurrentModificationError),
    (r"[Cc]ommit conflict|[Tt]oo many concurrent writers|Retryable commit conflict|Incompatible transaction",
     ConcurrentModificationError),
    (r"different schema|schema (does not|doesn't|did not) match|fields did not match|"
     r"Schema mismatch|contained null values even though the field is marked non-null|"
     r"cannot be made non-nullable|Cannot cast column|Cast error: ",
     TableSchemaValidationError),
    (r"No field named|column \S+ does not exist|Column \S+ (does not exist|not found)|"
     r"Field \S+ (not found|does not exist)|FTS field path \S+ does not exist|"
     r"[Cc]olumn \S+ is not in the dataset", TableColumnNotFoundError),
    (r"LanceError\(Schema\)", TableSchemaValidationError),
    (r"Permission ?denied|AccessDenied|Access Denied|\b403\b.*Forbidden|EACCES", PermissionDeniedError),
    (r"Generic \w+ error\b(?s:.*)(SlowDown|Slow Down|reduce your request rate|TooManyRequests|"
     r"429 Too Many|[Tt]hrottl|RequestLimitExceeded)", ThrottlingError),
    (r"NoSuchBucket|The specified bucket does not exist|ContainerNotFound", InvalidInputError),
    (r"Generic \w+ error\b.*(response body|Got invalid list response|before message completed)",
     ServiceUnavailableError),
    (r"Connection refused|connection error|error sending request|timed? ?out|"
     r"\b503\b|dns error|Could not resolve host", ServiceUnavailableError),
    (r"Cleanup error: \d+ tagged version|Not found: .*/data/[^/]*\.lance", InvalidTableStateError),
    (r"Invalid user input|Ref is invalid|sql parser error|Error during planning|LanceError\(IO\).*truncated|"
     r"Expected to (be able to )?read|Invalid IPC|Invalid flatbuffers|Unexpected end of "
     r"(file|stream)|"
     r"WKT error|PQ: num_sub_vectors|Divide by zero error|Arithmetic overflow", InvalidInputError),
    # An expression fails for some rows, or an index does not support the column's values.
    (r"(Query Execution error: (Error applying filter expression to batch: )?(Execution|Arrow) error|"
     r"LanceError\(Arrow\): (Parser|Compute|Invalid argument) error): (?!.*panicked)|"
     r"array_resize: failed to convert|Construct GeoArrowArray|recursion limit exceeded",
     InvalidInputError),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), kind) for pattern, kind in _TABLE)
# The object in storage is opened as a dataset but is not one.
_BROKEN = re.compile(
    r"file size is too small|does not have sufficient data|Invalid range \d+\.\.\d+ for object"
)
# Local storage, S3.
_LONG = re.compile(r"[Ff]ile name too long|KeyTooLong")
# pylance appends the position in its Rust source to messages. The pattern matches a path only at
# the beginning of a word; a match at every character would take seconds for malicious input.
_SOURCE = re.compile(
    r"(?:,? ?location: |, ?| )?(?<![^\s,])(?:[^\s,]*/)?(?:rust|src)/[^\s,]+\.rs:\d+(?::\d+)?"
)
# pylance also appends whole schemas to messages, with all fields of each struct.
_DUMP = re.compile(r"(:| in (dataset )?schema:)?\s*Schema \{.*", re.DOTALL)
# The namespace's own error, if pylance called the namespace to manage the versions of a table.
_OF_NAMESPACE = re.compile(r"Python error in \w+: (\w+Error): (.*)", re.DOTALL)
# The query engine's messages for a missing column. The columns listed after "Valid fields are"
# belong to one step of its plan, not to the table.
_NO_FIELD = re.compile(
    r"(?:No field named|Field) (?P<name>\S{1,200}?)(?: not found)?\."
    r"(?: Did you mean (?P<near>'[^']{1,200}')\?)?(?=[. ]|$)"
    r"|(?:FTS field path|[Cc]olumn) (?P<column>\S{1,200}) (?:does not exist|is not in the dataset)"
)
_NO_BUCKET = re.compile(r"NoSuchBucket(?s:.{0,300}?)<BucketName>([^<]{1,255})</BucketName>")
_PREFIXES = re.compile(r"^(?:Invalid user input: )+")
# The cause follows a long description of how Lance wrote a small file.
_WRITTEN = re.compile(r"single PUT of .{1,500}? failed after \S{1,40} \([^()]{1,200}\): ")
_OF_LANCE = re.compile(r"LanceError\(|Please file a bug report at \S*lance")


def is_missing_bucket(error: BaseException) -> bool:
    """Return whether pylance failed because the bucket does not exist."""
    return _NO_BUCKET.search(_error_text(error)) is not None


def plain_message(error: BaseException) -> str:
    """Return pylance's message on one line, without source positions and schema dumps."""
    text = _WRITTEN.sub("", _SOURCE.sub("", _error_text(error)))
    message = first_line(Exception(_DUMP.sub("", text)))
    if (bucket := _NO_BUCKET.search(text)) is not None:
        return f"the bucket {bucket[1]!r} does not exist; create it, or correct the address"
    if (missing := _NO_FIELD.search(message)) is not None:
        hint = f"; did you mean {missing['near']}?" if missing["near"] else ""
        name = (missing["name"] or missing["column"]).strip("\"'")
        return f"column {name!r} does not exist{hint}"
    return _PREFIXES.sub("", message)


def _error_text(error: BaseException) -> str:
    """Return the message of an exception; the middle of a very long message is omitted.

    The length is limited because messages repeat the caller's input, and most patterns in this
    module take quadratic time. pylance splits some messages into two parts, which would print as a
    tuple.
    """
    parts = error.args
    if isinstance(error, TypeError) and len(parts) > 1 and all(isinstance(p, str) for p in parts):
        text = "".join(parts)
    else:
        text = str(error)
    return excerpt(text)


def from_lance(error: BaseException, what: str) -> LanceNamespaceError | None:
    """Return the protocol error for a failure of pylance, or None if the failure is unknown.

    Args:
        error: the failure.
        what: the operation and its object, as the start of the message.
    """
    text = _error_text(error)
    if (found := _OF_NAMESPACE.search(text)) is not None:
        own = getattr(errors, found[1], None)
        if isinstance(own, type) and issubclass(own, LanceNamespaceError):
            answered: type[LanceNamespaceError] = own
            return answered(f"{what}: {plain_message(Exception(found[2]))}")
    if _BROKEN.search(text):
        return InvalidTableStateError(
            f"the data at the location does not follow the Lance format: {plain_message(error)}",
            subject=what,
        )
    if _LONG.search(text):
        return InvalidInputError(
            "the location is too long for its storage; use shorter names, or specify a "
            f"location: {plain_message(error)}",
            subject=what,
        )
    for pattern, kind in _PATTERNS:
        if pattern.search(text):
            return kind(plain_message(error), subject=what)
    if isinstance(error, ValueError):
        # pylance's Python layer validates arguments and raises a plain ValueError.
        return InvalidInputError(plain_message(error), subject=what)
    if isinstance(error, OverflowError) and _is_raised_by_lance(error):
        return InvalidInputError(
            f"a number is too large for Lance ({plain_message(error)}); use a smaller one",
            subject=what,
        )
    if isinstance(error, TypeError) and _is_raised_by_lance(error):
        return InvalidInputError(plain_message(error), subject=what)
    if _OF_LANCE.search(text) or _SOURCE.search(text):
        return InternalError(plain_message(error), subject=what)
    return None


def may_be_committed(error: BaseException) -> bool:
    """Return whether a commit may have taken effect, because its response was lost.

    In that case, the commit must not be repeated, and the files that it references must not be
    deleted.
    """
    return re.search(_UNKNOWN, _error_text(error)) is not None


def _is_raised_by_lance(error: BaseException) -> bool:
    """Return whether pylance rejected an argument; if not, the error is a bug in this package."""
    trace: Any = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] == "lance"
