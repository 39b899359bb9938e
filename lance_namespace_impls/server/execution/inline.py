"""Calls that are over sooner than a thread would have begun."""

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

# Handing a call to a thread and its answer back takes several times as long as reading a few
# directory entries. Done on the event loop itself, one call may hold the others up for so long,
# and then the operation goes to threads for this many times as long: so no more than a part of the
# loop's time is lost to a disk that is slow, or to a table with very much to read.
LONGEST_SECONDS = 0.02
PAUSE_TIMES, LONGEST_PAUSE = 20.0, 3600.0
# The first call of an operation loads what it needs, and any may meet a machine that is busy.
STRIKES = 3
# No machine is as busy as that: one such call is enough, unless it is the first.
FAR_TOO_LONG_SECONDS = 1.0
# What looks at names, places and small files alone, and what has it open a table.
_LOOKS = frozenset(
    (
        *("DescribeNamespace", "ListNamespaces", "NamespaceExists"),
        *("DescribeTable", "ListAllTables", "ListTables", "TableExists"),
    )
)
# It may be written in other ways, with backslashes, in JSON.
_OPENS = re.compile(rb"version|tag|branch|detailed|declared|\\")


class Shortcut:
    """Decides which calls are done on the event loop itself.

    They are those that look at names and small files of a local disk, as long as they are quick.

    Args:
        namespace: what is served.
    """

    def __init__(self, namespace: LanceNamespace) -> None:
        self._namespace: Any = namespace
        path = namespace.local_path if isinstance(namespace, Namespace) else None
        self.is_on = path is not None and on_local_disk(path)
        """Whether all that there is to read is on a local disk."""
        self._not_before: dict[str, float] = {}
        self._slow: dict[str, int] = {}

    def fits(self, operation: Operation[Any, Any], body: bytes, query: bytes = b"") -> bool:
        """Return whether a call may be done at once.

        Args:
            operation: what is called, from any pool.
            body: its JSON body.
            query: the query of its URI.
        """
        if not self.is_on or operation.name not in _LOOKS:
            return False
        # Lance opens its files as they are, and waits for ever for one that is a pipe.
        if _OPENS.search(body) or _OPENS.search(unquote_to_bytes(query)):
            return False
        return self._namespace.local_path is not None and self.is_open(operation)

    def is_open(self, operation: Operation[Any, Any]) -> bool:
        """Return whether the disk is local, and calls of an operation were not slow of late."""
        return self.is_on and time.monotonic() >= self._not_before.get(operation.name, 0.0)

    def took(self, operation: Operation[Any, Any], seconds: float) -> None:
        """Note how long a call took."""
        name = operation.name
        is_first = name not in self._slow
        slow = self._slow.setdefault(name, 0)
        if seconds <= LONGEST_SECONDS:
            # One at a time: else a quick call between slow ones would let these go on for ever.
            self._slow[name] = max(0, slow - 1)
            return
        at_once = seconds >= FAR_TOO_LONG_SECONDS and not is_first
        slow = self._slow[name] = STRIKES if at_once else min(slow + 1, STRIKES)
        if slow >= STRIKES:
            pause = min(PAUSE_TIMES * seconds, LONGEST_PAUSE)
            self._not_before[name] = time.monotonic() + pause
