"""Answers that are given again to the very same request, as long as they are true.

Clients ask where a table is, and how many rows it has, over and over, and most of the work is to find
out what is asked. What is the same byte for byte asks the same with the same credentials: its answer
goes out again without being made again, once it is certain that nothing that it depends on has
changed, and that its caller may still have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import attrs

from ...core.file_stamps import Stamp
from .responses import RawHeaders, Reply

__all__ = [
    "END_OF_HEAD",
    "KEEP",
    "MAX_REQUEST_BYTES",
    "Keep",
    "Repeat",
    "Repeats",
    "Seen",
    "may_repeat",
]

KEEP = "lance_namespace.keep"
"""Where the server puts into a request's scope what keeps its answer, if that may be worth it."""

END_OF_HEAD = b"\r\n\r\n"
MAX_REQUEST_BYTES, MAX_ANSWER_BYTES = 8 << 10, 64 << 10
MAX_BYTES = 16 << 20
OVERHEAD_BYTES = 4 << 10
"""What an answer takes beside its bytes: the request as it was read, the stamp, and so on."""
MAX_SEEN = 1 << 14
"""What is remembered of requests: one that never comes again, as with an id of its own, is not kept."""
# Headers by which a request is more than its bytes, or its connection is not used again.
_SPECIAL = frozenset((b"expect", b"upgrade"))


@attrs.frozen(eq=False)
class Repeat:
    """An answer that may be given again."""

    answer: Reply
    stamp: Stamp
    """What it depends on."""
    is_allowed: Callable[[], bool]
    """Return whether its caller may still have it."""
    note: Callable[[str, float], None]
    """Note that it was given to an address, in so many seconds."""
    raw: bytes = attrs.field(init=False, repr=False)
    """It as it is sent, behind the headers that the server has of its own."""

    def __attrs_post_init__(self) -> None:
        lines = [b"%s: %s\r\n" % header for header in self.answer.headers]
        object.__setattr__(self, "raw", b"".join([*lines, b"\r\n", self.answer.body]))

    def is_true(self) -> bool:
        """Return whether it can be given now."""
        return self.stamp.is_current() and self.is_allowed()


Keep = Callable[[Repeat], None]


class Seen:
    """Reports what comes again; what came long ago is forgotten."""

    def __init__(self) -> None:
        self._marks: dict[int, None] = {}

    def before(self, *parts: bytes) -> bool:
        """Return whether something came before, and note that it has come."""
        mark = hash(parts)
        if mark in self._marks:
            return True
        self._marks[mark] = None
        if len(self._marks) > MAX_SEEN:
            del self._marks[next(iter(self._marks))]
        return False


class Repeats:
    """The answers of one server, by the bytes of their requests; the oldest go first."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Repeat] = {}
        self._bytes = 0
        self._heads: Counter[bytes] = Counter()
        self.seen = Seen()
        """Heads of requests."""

    def find(self, request: bytes) -> Repeat | None:
        """Return the answer to a request, true or not."""
        return self._kept.get(request)

    def is_head(self, data: bytes) -> bool:
        """Return whether it is the head of a request with an answer, all but the body."""
        return data in self._heads

    def put(self, request: bytes, repeat: Repeat) -> None:
        """Keep the answer to a request, unless one of them is too long, or has line ends behind it."""
        if len(request) > MAX_REQUEST_BYTES or len(repeat.raw) > MAX_ANSWER_BYTES:
            return
        head = _head(request)
        body = request[len(head) :]
        if body and not body.strip(b"\r\n"):
            return  # line ends behind a request without a body: its head is whole by itself
        self.forget(request)
        self._kept[request] = repeat
        self._heads[head] += 1
        self._bytes += _size(request, repeat)
        while self._bytes > MAX_BYTES:
            self.forget(next(iter(self._kept)))

    def forget(self, request: bytes) -> None:
        """Drop the answer to a request."""
        found = self._kept.pop(request, None)
        if found is None:
            return
        self._bytes -= _size(request, found)
        head = _head(request)
        self._heads[head] -= 1
        if not self._heads[head]:
            del self._heads[head]


def _size(request: bytes, repeat: Repeat) -> int:
    return len(request) + len(repeat.raw) + OVERHEAD_BYTES


def _head(request: bytes) -> bytes:
    return request[: request.index(END_OF_HEAD) + len(END_OF_HEAD)]


def may_repeat(version: str, headers: RawHeaders) -> bool:
    """Return whether a request leaves its connection as it was, and is all that it seems to be."""
    if version != "1.1":
        return False
    return not any(
        name in _SPECIAL or (name == b"connection" and value.lower() != b"keep-alive")
        for name, value in headers
    )
