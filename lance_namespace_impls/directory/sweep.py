"""Removes files that killed processes left in a directory on local storage."""

from __future__ import annotations

import os
import re
import time
import warnings
from contextlib import suppress

from lance_namespace_client.errors import InvalidTableStateError

from ..core.errors import first_line
from ..core.storage import TableStorage
from ..tables.drop import TableFolder, has_only_lance_names
from . import local

__all__ = ["STAGED", "SWEEP_SECONDS", "TRASH", "sweep"]

TRASH = ".dropped-"
STAGED = ".adding-"
SWEEP_SECONDS = 600.0
_TRASH = re.compile(rf"{re.escape(TRASH)}[0-9a-f]{{32}}")
_STAGED = re.compile(rf"{re.escape(STAGED)}[0-9a-f]{{32}}")


def sweep(root: str) -> None:
    """Delete files that Lance wrote and that can be deleted; warn about all others."""
    try:
        names = os.listdir(root)
    except FileNotFoundError:
        names = []
    for name in names:
        path = f"{root}/{name}"
        if not _TRASH.fullmatch(name) and not (_STAGED.fullmatch(name) and _is_stale(path)):
            continue
        try:
            _delete_stale(path)
        except (OSError, InvalidTableStateError) as error:
            warnings.warn(
                f"{path}, left by an earlier process, could not be deleted ({first_line(error)}); "
                f"delete it manually",
                stacklevel=2,
            )


def _delete_stale(path: str) -> None:
    """Delete a directory unless a process has locked it.

    Raises:
        InvalidTableStateError: code 19, the directory contains files that Lance did not write; in
            this case, nothing is deleted.
        OSError: the directory could not be deleted completely.
    """
    with suppress(FileNotFoundError):
        held = local.try_lock(path, local.AS_DIRECTORY)
        if held is None:
            return
        with local.LockedFile(held), local.OpenTree(path) as opened:
            whole = opened if opened.is_whole else None
            if whole is None or not has_only_lance_names(whole.folders, whole.files, whole.below):
                foreign = TableFolder(TableStorage(location=path, options={})).first_foreign()
                if foreign is not None:
                    raise InvalidTableStateError(
                        f"Lance did not write {path}/{foreign}; move that file elsewhere first"
                    )
            local.delete_tree(path, whole)


def _is_stale(staged: str) -> bool:
    """Return whether a directory was staged so long ago that its process must have exited since."""
    try:
        return time.time() - os.lstat(staged).st_mtime > SWEEP_SECONDS
    except FileNotFoundError:
        return False
