"""Recognizes the files that Lance writes to a table's location, by their names.

Source: the Lance table format specification, "Storage Layout"; names as written by pylance 14.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote

__all__ = [
    "DATA",
    "FOLDERS",
    "MARKERS",
    "RESERVED",
    "VERSIONS",
    "branch_of",
    "could_be_data",
    "is_lance_file",
    "is_marker",
]

VERSIONS = "_versions"
DATA = "data"
BRANCHES = "_refs/branches/"
TREE = "tree"
RESERVED = ".lance-reserved"
"""File that pylance writes to the folder of a declared table; pylance drops folders with this file
in bulk."""

FOLDERS = frozenset(
    {VERSIONS, DATA, "_deletions", "_indices", "_mem_wal", "_refs", "_transactions", TREE}
)
"""Folders at the root of a dataset; the folder ``tree`` contains its branches."""
MARKERS = frozenset(
    {
        RESERVED,
        ".lance-deregistered",
        ".lance-dropped",
        ".lance-beside",
        ".lance-properties",
        "_latest.manifest",
    }
)
"""Marker files that pylance and this package write at the root of a dataset."""

_UUID = r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}"
# Three bytes in binary, which distribute files over an object store's partitions, then thirteen
# bytes in hexadecimal.
_SPREAD = r"[01]{24}[0-9a-f]{26}"
_FILES = {
    VERSIONS: rf"d?\d{{1,20}}\.manifest(?:-{_UUID})?|latest_version_hint\.json",
    DATA: rf"(?:{_SPREAD}|{_UUID})\.lance|(?:{_SPREAD}|{_UUID})/[01]{{1,64}}\.blob",
    "_deletions": r"\d+-\d+-\d+\.(?:arrow|bin)",
    # In a subfolder, Spark's tasks record the files and the index parts that they have written.
    "_transactions": rf"\d+-{_UUID}\.txn|{_UUID}/(?:open|model\.arrow|{re.escape(RESERVED)}"
    rf"|{_UUID}\.json|(?:{_SPREAD}|{_UUID})\.lance)",
    "_indices": rf"{_UUID}/(?:[^/]+/)*[^/]+\.(?:lance|idx)",
}
_OF_DATASET = "|".join(f"{folder}/(?:{names})" for folder, names in _FILES.items())
_OF_SHARD = (
    rf"manifest/(?:[01]+|\d+)\.binpb|manifest/version_hint\.json|wal/[01]+\.(?:arrow|lance)"
    rf"|[0-9a-f]+_gen_\d+/(?:{_OF_DATASET})"
)
# A file that is being written on local storage has Lance's temporary name, or its final name with a
# number that the object_store library appends.
_WRITING = rf"(?:{'|'.join(FOLDERS - {TREE})}|_indices/{_UUID}(?:/[^/]+)*)/\.tmp[\w.-]*"
_LANCE_FILE = re.compile(
    rf"(?:{_OF_DATASET}|_refs/(?:tags|branches)/(?:[^/]+\.json)?|_mem_wal/{_UUID}/(?:{_OF_SHARD})"
    rf"|{_WRITING}|(?:{'|'.join(FOLDERS)})/{re.escape(RESERVED)})(?:#\d+)?",
    re.ASCII,
)
_MARKER = re.compile(rf"(?:{'|'.join(map(re.escape, MARKERS))})(?:\.[0-9a-f]{{32}}|#\d+)?")


def is_marker(name: str) -> bool:
    """Return whether a file at the root of a location is a marker, possibly an incomplete one."""
    return _MARKER.fullmatch(name) is not None


def is_lance_file(path: str, branches: Collection[str] = ()) -> bool:
    """Return whether a file in one of `FOLDERS` has a name that Lance generates.

    Args:
        path: the file's path, relative to the table's location.
        branches: names of the dataset's branches; nothing else in ``tree`` belongs to the table.
    """
    if path.startswith(f"{TREE}/"):
        for branch in branches:
            start = f"{TREE}/{branch}/"
            if path.startswith(start) and is_lance_file(path[len(start) :]):
                return True
    return _LANCE_FILE.fullmatch(path) is not None


def could_be_data(path: str) -> bool:
    """Return whether a manifest may reference the file: a data file may have any name."""
    return path.startswith(f"{DATA}/") and path.endswith(".lance")


def branch_of(path: str) -> str | None:
    """Return the name of the branch that a file describes, or None for other files."""
    if not path.startswith(BRANCHES) or not path.endswith(".json"):
        return None
    return unquote(path[len(BRANCHES) : -len(".json")])
