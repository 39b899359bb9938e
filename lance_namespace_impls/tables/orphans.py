"""Files at a table's location that no version of it holds.

A writer that was killed leaves them. A writer that is still at work has such files too, until it
commits, so age alone tells the two apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import frozen

from ..core.imports import load
from ..core.storage import TableStorage
from .files import delete_file
from .layout import RESERVED, is_lance_file
from .refs import branches_of

__all__ = ["Orphan", "delete_orphans", "find_orphans"]

# What a version may hold. Manifests, transactions and references are Lance's own to clean up.
_HELD = re.compile(r"(?:tree/.+?/)?(?:data|_deletions|_indices)/")
# What tasks note of the data files that they finished: see `lance_namespace_impls.distributed.attempts`.
_NOTE = re.compile(r"_transactions/(?P<job>[0-9a-f]{32})/(?P<file>[^/]+)")
_PARENT = re.compile(r"(?P<file>.*data/[^/]+)/[^/]+\.blob")


@frozen(kw_only=True)
class Orphan:
    """A file that no version holds."""

    path: str
    """Where it is, relative to the table's location."""
    bytes: int
    """Its size."""
    modified: datetime
    """When it was written."""


def find_orphans(dataset: Any, older_than: timedelta) -> list[Orphan]:
    """Return the files that no version of any branch holds, and what dead jobs noted.

    A file that a job noted is left out while that job writes.

    Args:
        dataset: a ``lance.LanceDataset``.
        older_than: age that a file must have; it has to be longer than any write takes.

    Raises:
        OSError: storage cannot be listed.
    """
    limit = datetime.now(UTC) - older_than
    branches = list(branches_of(dataset))
    candidates = []
    notes: dict[str, list[Orphan]] = {}
    for row in _rows(dataset.all_files()):
        file = Orphan(path=row["path"], bytes=int(row["size_bytes"]), modified=row["last_modified"])
        note = _NOTE.fullmatch(file.path)
        if note is not None and note["file"] != RESERVED:
            notes.setdefault(note["job"], []).append(file)
        elif (
            _HELD.match(file.path) and file.modified < limit and is_lance_file(file.path, branches)
        ):
            candidates.append(file)
    dead: list[Orphan] = []
    busy: set[str] = set()
    for of_job in notes.values():
        if max(note.modified for note in of_job) < limit:
            dead += of_job
        else:
            busy.update("data/" + note.path.rpartition("/")[2] for note in of_job)
    # Looked at after the files: what was committed meanwhile is held.
    held = busy.union(_held_files(dataset)) if candidates else busy
    found = [file for file in candidates if not _is_held(file.path, held)]
    return sorted([*found, *dead], key=lambda each: each.path)


def _rows(reader: Any) -> Iterator[dict[str, Any]]:
    for batch in reader:
        yield from batch.to_pylist()


def _held_files(dataset: Any) -> Iterator[str]:
    """Return the paths of all files that versions hold, relative to the main branch's location."""
    root = dataset.uri.rstrip("/")
    yield from (row["path"] for row in _rows(dataset.tracked_files()))
    for branch in branches_of(dataset):
        for row in _rows(dataset.checkout_version((branch, None)).tracked_files()):
            base = str(row["base_uri"]).rstrip("/")
            inside = base.removeprefix(root).strip("/") if base.startswith(root) else ""
            yield f"{inside}/{row['path']}" if inside else row["path"]
            yield f"tree/{branch}/{row['path']}"


def _is_held(path: str, held: set[str]) -> bool:
    """Return whether a version holds a file, or the data file that it is a part of."""
    blob = _PARENT.fullmatch(path)
    return path in held or (blob is not None and f"{blob['file']}.lance" in held)


def delete_orphans(storage: TableStorage, orphans: Iterable[Orphan]) -> int:
    """Delete files and return their size together; one that has gone is passed over.

    Raises:
        OSError: one could not be deleted.
    """
    LanceFileSession = load("lance.file").LanceFileSession

    session = LanceFileSession(storage.location, storage_options=storage.lance_options())
    deleted = 0
    # A note goes after its file, so that a run that is cut short finds the rest again.
    for orphan in sorted(orphans, key=lambda each: each.path.startswith("_transactions/")):
        if session.contains(orphan.path) and delete_file(session, orphan.path):
            deleted += orphan.bytes
    return deleted
