"""Calls that are over sooner than a thread would have begun."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import Action, Operation

from ..catalog.namespace import Namespace

__all__ = ["Shortcut", "on_local_disk"]

# Handing a call to a thread and its answer back takes several times as long as reading a few
# directory entries. Done on the event loop itself, one call may hold the others up for so long,
# and then the operation goes to threads for this many times as long: so no more than a part of the
# loop's time is lost to a disk that is slow.
LONGEST_SECONDS = 0.02
PAUSE_TIMES, LONGEST_PAUSE = 20.0, 5.0
# The first call of an operation loads what it needs, and any may meet a machine that is busy.
STRIKES = 3
# File systems that may keep a caller waiting for another machine or program.
_REMOTE = (
    "nfs",
    "cifs",
    "smb",
    "fuse",
    "ceph",
    "lustre",
    "9p",
    "afs",
    "glusterfs",
    "gpfs",
    "autofs",
)


class Shortcut:
    """Decides which calls are done on the event loop itself.

    They are those that read metadata, of a namespace on a local disk, as long as they are quick.

    Args:
        namespace: what is served.
    """

    def __init__(self, namespace: LanceNamespace) -> None:
        path = namespace.local_path if isinstance(namespace, Namespace) else None
        self._on = path is not None and on_local_disk(path)
        self._not_before: dict[str, float] = {}
        self._slow: dict[str, int] = {}

    def fits(self, operation: Operation[Any, Any], body: bytes) -> bool:
        """Return whether a call may be done at once.

        Args:
            operation: what is called, from any pool.
            body: its JSON body.
        """
        if not self._on or operation.action is not Action.READ:
            return False
        if operation.tag == "Data" and (operation.name != "CountTableRows" or len(body) > 2):
            return False
        if operation.tag not in ("Data", "Metadata", "Namespace", "Table"):
            return False
        return time.monotonic() >= self._not_before.get(operation.name, 0.0)

    def took(self, operation: Operation[Any, Any], seconds: float) -> None:
        """Note how long a call took."""
        name = operation.name
        if seconds <= LONGEST_SECONDS:
            self._slow.pop(name, None)
            return
        self._slow[name] = self._slow.get(name, 0) + 1
        if self._slow[name] >= STRIKES:
            pause = min(PAUSE_TIMES * seconds, LONGEST_PAUSE)
            self._not_before[name] = time.monotonic() + pause


def on_local_disk(path: str) -> bool:
    """Return whether a path is on a disk of this machine, as far as the system tells."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False  # only Linux tells
    real = os.path.realpath(path)
    found, kind = "", ""
    for line in mounts.splitlines():
        _, place, name, *_ = line.split(" ")
        place = place.encode("latin-1", "replace").decode("unicode_escape").rstrip("/")
        if len(place) >= len(found) and (real == place or real.startswith(f"{place}/")):
            found, kind = place, name
    return bool(kind) and not kind.startswith(_REMOTE)
