"""Finds and deletes files at a table's location that no version references.

Writers that are killed leave such files behind. The files of an active writer are also unreferenced
until the writer commits; only the age of a file distinguishes the two cases.
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

# Folders of files that a version may reference. Lance itself cleans up manifests, transactions and
# refs.
_HELD = re.compile(r"(?:tree/.+?/)?(?:data|_deletions|_indices)/")
# Records of the data files and index parts that tasks have completed; see
# `lance_namespace_impls.distributed.attempts`.
_NOTE = re.compile(r"_transactions/(?P<job>[0-9a-f]{32})/(?P<file>[^/]+)")
_PARENT = re.compile(r"(?P<file>.*data/[^/]+)/[^/]+\.blob")


@frozen(kw_only=True)
class Orphan:
    """A file that no version references."""

    path: str
    """Path relative to the table's location."""
    bytes: int
    """Size in bytes."""
    modified: datetime
    """Time at which the file was written."""


def find_orphans(dataset: Any, older_than: timedelta) -> list[Orphan]:
    """Return the files that no version of any branch references, and the records of dead jobs.

    Files that a job has recorded are omitted as long as the job is writing or can be resumed.

    Args:
        dataset: a ``lance.LanceDataset``.
        older_than: minimum age of the files; it must exceed the duration of any write.

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
            names = [note.path.rpartition("/")[2] for note in of_job]
            busy.update("data/" + name for name in names)
            busy.update("_indices/" + name.removesuffix(".json") for name in names)
    # Read this after listing the files, so that files committed in between count as referenced.
    referenced = busy.union(_referenced_files(dataset)) if candidates else busy
    found = [file for file in candidates if not _is_referenced(file.path, referenced)]
    return sorted([*found, *dead], key=lambda each: each.path)


def _rows(reader: Any) -> Iterator[dict[str, Any]]:
    for batch in reader:
        yield from batch.to_pylist()


def _referenced_files(dataset: Any) -> Iterator[str]:
    """Yield the paths of all referenced files, relative to the main branch's location."""
    root = dataset.uri.rstrip("/")
    yield from (row["path"] for row in _rows(dataset.tracked_files()))
    for branch in branches_of(dataset):
        for row in _rows(dataset.checkout_version((branch, None)).tracked_files()):
            base = str(row["base_uri"]).rstrip("/")
            inside = base.removeprefix(root).strip("/") if base.startswith(root) else ""
            yield f"{inside}/{row['path']}" if inside else row["path"]
            yield f"tree/{branch}/{row['path']}"


def _is_referenced(path: str, referenced: set[str]) -> bool:
    """Return whether a version or a job references a file or the folder that contains it."""
    blob = _PARENT.fullmatch(path)
    return (
        path in referenced
        or "/".join(path.split("/")[:2]) in referenced  # the folder of a part that a job recorded
        or (blob is not None and f"{blob['file']}.lance" in referenced)
    )


def delete_orphans(storage: TableStorage, orphans: Iterable[Orphan]) -> int:
    """Delete files and return their total size; missing files are skipped.

    Raises:
        OSError: a file could not be deleted.
    """
    LanceFileSession = load("lance.file").LanceFileSession

    session = LanceFileSession(storage.location, storage_options=storage.lance_options())
    deleted = 0
    # A record is deleted after its file, so that an interrupted run can be resumed.
    for orphan in sorted(orphans, key=lambda each: each.path.startswith("_transactions/")):
        if session.contains(orphan.path) and delete_file(session, orphan.path):
            deleted += orphan.bytes
    return deleted
