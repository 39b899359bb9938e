"""Inline calls: calls that finish sooner than a thread would start."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import unquote_to_bytes

from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import Operation

from ...catalog.namespace import Namespace
from ...core.disks import on_local_disk

__all__ = ["Shortcut"]

# Handing a call to a thread and its response back takes several times as long as reading a few
# directory entries. A call on the event loop may delay the others for this long. After a longer
# call, the operation runs in threads for this many times as long. This bounds the share of the
# loop's time that is lost to a slow disk or to a very large table.
LONGEST_SECONDS = 0.02
PAUSE_TIMES, LONGEST_PAUSE = 20.0, 3600.0
# The first call of an operation imports modules, and any call may run on a busy machine.
STRIKES = 3
# No busy machine explains this: one such call is enough, unless it is the first.
FAR_TOO_LONG_SECONDS = 1.0
# Operations that read only names, locations and small files. Some requests make them open a table.
_LOOKS = frozenset(
    (
        *("DescribeNamespace", "ListNamespaces", "NamespaceExists"),
        *("DescribeTable", "ListAllTables", "ListTables", "TableExists"),
    )
)
# Matches other spellings too: JSON may escape characters with backslashes.
_OPENS = re.compile(rb"version|tag|branch|detailed|declared|\\")


class Shortcut:
    """Decides which calls run on the event loop itself.

    These are calls that read names and small files on a local disk, as long as they stay quick.

    Args:
        namespace: the served namespace.
    """

    def __init__(self, namespace: LanceNamespace) -> None:
        self._namespace: Any = namespace
        path = namespace.local_path if isinstance(namespace, Namespace) else None
        self.is_on = path is not None and on_local_disk(path)
        """Whether the whole catalog is on a local disk."""
        self._not_before: dict[str, float] = {}
        self._slow: dict[str, int] = {}

    def fits(self, operation: Operation[Any, Any], body: bytes, query: bytes = b"") -> bool:
        """Return whether a call may run on the event loop.

        Args:
            operation: the operation, of any pool.
            body: the JSON body.
            query: the query string of the URI.
        """
        if not self.is_on or operation.name not in _LOOKS:
            return False
        # Lance opens files of any kind, and waits forever if one is a pipe.
        if _OPENS.search(body) or _OPENS.search(unquote_to_bytes(query)):
            return False
        return self._namespace.local_path is not None and self.is_open(operation)

    def is_open(self, operation: Operation[Any, Any]) -> bool:
        """Return whether the disk is local and recent calls of an operation were quick."""
        return self.is_on and time.monotonic() >= self._not_before.get(operation.name, 0.0)

    def took(self, operation: Operation[Any, Any], seconds: float) -> None:
        """Record the duration of a call."""
        name = operation.name
        is_first = name not in self._slow
        slow = self._slow.setdefault(name, 0)
        if seconds <= LONGEST_SECONDS:
            # Decrease by one only: otherwise a quick call between slow ones would reset the count
            # forever.
            self._slow[name] = max(0, slow - 1)
            return
        at_once = seconds >= FAR_TOO_LONG_SECONDS and not is_first
        slow = self._slow[name] = STRIKES if at_once else min(slow + 1, STRIKES)
        if slow >= STRIKES:
            pause = min(PAUSE_TIMES * seconds, LONGEST_PAUSE)
            self._not_before[name] = time.monotonic() + pause
