"""Requirements that every answer must meet, for any call.

Source: rest.yaml, the response schemas; protocol semantics, "Errors".
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import NamedTuple

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.operations import COMMON_CODES, OPERATIONS, Body

from .exchange import Reply, shown_body
from .invariants import broken_invariants
from .requirement import Level, observed

__all__ = ["STATUSES", "Violation", "says_unsupported", "violations"]

STATUSES: dict[int, tuple[int, ...]] = {
    0: (406,), 1: (404,), 2: (409,), 3: (409,), 4: (404,), 5: (409,), 6: (404,), 7: (409,),
    8: (404,), 9: (409,), 10: (404,), 11: (404,), 12: (404,), 13: (400,), 14: (409,), 15: (403,),
    16: (401, 403), 17: (503,), 18: (500,), 19: (409,), 20: (400,), 21: (429,), 22: (404,),
    23: (409,),
}  # fmt: skip
"""HTTP statuses of each error code; a forbidden caller may be code 16 with 403."""

_ERRORS = 'protocol semantics, "Errors"'

observed(
    "LN-ERROR-001",
    "The body of a failure is a JSON object with a numeric code of the protocol.",
    f"{_ERRORS}; rest.yaml, ErrorResponse",
    http=True,
)
observed(
    "LN-ERROR-002",
    "The HTTP status of a failure matches its code.",
    _ERRORS,
    http=True,
)
observed(
    "LN-ERROR-003", "An operation fails only with codes that the protocol allows for it.", _ERRORS
)
observed(
    "LN-ERROR-004",
    "A failure has a message.",
    "rest.yaml, ErrorResponse",
    level=Level.SHOULD,
)
observed("LN-ERROR-005", "Every call receives a readable response.", "rest.yaml")
observed(
    "LN-ERROR-006",
    "Operations that the server or its catalog does not support fail with code 0.",
    f"{_ERRORS}; rest.yaml, ErrorResponse",
)
observed(
    "LN-ANSWER-001",
    "The HTTP status of a success is the declared one of the operation.",
    "rest.yaml, the responses of the operations",
    http=True,
)
observed(
    "LN-ANSWER-002",
    "The content type of a success is the declared one of the operation.",
    "rest.yaml, the responses of the operations",
    http=True,
)
observed(
    "LN-ANSWER-003",
    "JSON does not start with a byte order mark.",
    "RFC 8259, section 8.1",
    http=True,
)
observed(
    "LN-ERROR-008",
    "The content type of a failure is JSON.",
    "rest.yaml, ErrorResponse",
    http=True,
)
observed(
    "LN-ERROR-009",
    "The message of a failure contains no stack trace.",
    "rest.yaml, ErrorResponse: a short message for people, safe to show in a log",
    level=Level.SHOULD,
)
for _number, _operation in enumerate(OPERATIONS.values(), start=1):
    if _operation.answer is Body.JSON:
        observed(
            f"LN-SCHEMA-{_number:03}",
            f"An answer to {_operation.name} has every required field, each of its declared type.",
            f"rest.yaml, {_operation.response}",
        )
_SCHEMA_IDS = {name: f"LN-SCHEMA-{n:03}" for n, name in enumerate(OPERATIONS, start=1)}
_UNSUPPORTED = re.compile(r"not (yet )?(supported|implemented)|unsupported", re.IGNORECASE)


class Violation(NamedTuple):
    """A deviation of an answer from one requirement."""

    id: str
    expected: str
    got: str


def says_unsupported(reply: Reply) -> bool:
    """Return whether the message of a server error with another code means unsupported."""
    return reply.code == 18 and _UNSUPPORTED.search(reply.message) is not None


def forbids_location(reply: Reply) -> bool:
    """Return whether the catalog forbids the location in a call (code 15)."""
    return reply.code == 15 and reply.step.request.get("location") is not None


_TRACE = re.compile(r"Traceback \(most recent call last\)|^\s+at [\w.$]+\(.*\)$", re.MULTILINE)
"""A stack trace of Python, or of a JVM."""


def violations(reply: Reply) -> Iterator[Violation]:
    """Return the violations of an answer, regardless of other calls."""
    operation = OPERATIONS[reply.step.operation]
    if reply.exchange is not None and reply.exchange.body.startswith(BOM_UTF8):
        yield Violation(
            "LN-ANSWER-003", "no byte order mark", shown_body(reply.exchange.body)[:200]
        )
    if reply.broken is not None:
        yield Violation("LN-ERROR-005", "a readable response", reply.broken)
        return
    if reply.code is not None:
        yield from _of_failure(reply)
        return
    exchange = reply.exchange
    if exchange is not None:
        if exchange.status != operation.status:
            yield Violation("LN-ANSWER-001", f"HTTP {operation.status}", f"HTTP {exchange.status}")
        wanted = {Body.JSON: "json", Body.FIELD: "json", Body.ARROW: "arrow"}.get(operation.answer)
        kind = exchange.headers.get("content-type", "")
        if wanted is not None and wanted not in kind.lower():
            yield Violation("LN-ANSWER-002", f"a content type of {wanted}", repr(kind))
    if operation.answer is Body.JSON and reply.answer is not None:
        try:
            operation.response_type.from_dict(reply.answer)
        except LanceNamespaceError as error:
            yield Violation(
                _SCHEMA_IDS[operation.name], f"a {operation.response}", f"{error.message}"
            )
            return
    for id, expected, got in broken_invariants(reply):
        yield Violation(id, expected, got)


def _of_failure(reply: Reply) -> Iterator[Violation]:
    operation = OPERATIONS[reply.step.operation]
    exchange = reply.exchange
    code = reply.code if reply.code is not None else 18
    if reply.no_route:
        return
    if exchange is not None:
        try:
            body = json.loads(exchange.body)
        except ValueError:
            body = None
        given = body.get("code") if isinstance(body, dict) else None
        if not isinstance(given, int) or isinstance(given, bool) or given not in STATUSES:
            yield Violation(
                "LN-ERROR-001",
                "a JSON object with a code from 0 to 23",
                f"HTTP {exchange.status} with {shown_body(exchange.body)[:200]!r}",
            )
            return
        if not isinstance(body.get("error", ""), str | None):
            yield Violation("LN-ERROR-004", "a message that is a string", repr(body["error"])[:200])
        if "json" not in exchange.headers.get("content-type", "").lower():
            found = exchange.headers.get("content-type", "none")
            yield Violation("LN-ERROR-008", "the content type of JSON", found)
        if exchange.status not in STATUSES[code]:
            due = " or ".join(map(str, STATUSES[code]))
            yield Violation(
                "LN-ERROR-002", f"HTTP {due} for code {code}", f"HTTP {exchange.status}"
            )
    if says_unsupported(reply):
        yield Violation("LN-ERROR-006", "code 0", reply.outcome())
    may = {*COMMON_CODES, *operation.codes}
    if any(key in reply.step.request for key in ("branch", "from_branch")):
        may |= {11, 22}
    if any(key in reply.step.request for key in ("version", "from_version", "query")):
        may.add(11)
    if operation.name == "MergeInsertIntoTable":
        may.add(20)  # its meaning in rest.yaml also covers rows that do not fit the schema
    if code not in may:
        allowed = ", ".join(map(str, sorted(may)))
        yield Violation(
            "LN-ERROR-003",
            f"{operation.name} to fail with one of the codes {allowed}",
            reply.outcome(),
        )
    if not reply.message.strip():
        yield Violation("LN-ERROR-004", "a message", "none")
    if _TRACE.search(reply.message):
        yield Violation("LN-ERROR-009", "a message without a stack trace", reply.message[:200])
