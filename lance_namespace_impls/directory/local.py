"""Files and directories of a local disk, for the file system of a namespace directory."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import AbstractContextManager, suppress

from lance_namespace_client.errors import InvalidTableStateError

__all__ = [
    "Held",
    "delete_tree",
    "is_text",
    "local_kind",
    "make_directory",
    "read_plain",
    "try_to_hold",
]

MAX_SMALL_BYTES = 16 << 20


def local_kind(path: str, root: int | None = None) -> str:
    """Return what is at a path of local storage, past pyarrow, which takes several times as long."""
    try:
        mode = os.stat(path, dir_fd=root).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return "missing"  # nothing can be there
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "missing"


def is_text(name: str) -> bool:
    """Return whether a name of the file system is UTF-8; bytes that are not come as surrogates."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


class Held(AbstractContextManager[None]):
    """A file that this process has; it is deleted, so that nothing is left lying about."""

    def __init__(self, path: str, handle: int) -> None:
        self._path = path
        self._handle = handle

    def __exit__(self, *raised: object) -> None:
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass
        finally:
            os.close(self._handle)


def try_to_hold(path: str) -> int | None:
    """Open a file that nobody else has locked, and lock it; None where somebody has."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Who had it last may have deleted it after it was opened here.
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def read_plain(path: str) -> bytes:
    """Read a file without waiting for anybody, as one would who opens a pipe."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_SMALL_BYTES:
            raise InvalidTableStateError(
                f"{path} is not a plain file of at most {MAX_SMALL_BYTES} bytes: remove it"
            )
        return file.read()


def make_directory(directory: str) -> None:
    """Create a directory, and those above it that are missing.

    Raises:
        FileExistsError: something is there.
    """
    try:
        os.mkdir(directory)
    except FileNotFoundError:
        os.makedirs(directory)


def delete_tree(name: str, parent: int | None = None) -> None:
    """Delete a directory with all in it, as `shutil.rmtree` does but in a third of the time.

    No link is followed, not one either that takes the place of a directory meanwhile. Another process
    may delete the same files at the same time.
    """
    with suppress(FileNotFoundError):
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            with os.scandir(handle) as found:
                entries = [(each.name, each.is_dir(follow_symlinks=False)) for each in found]
            for entry, is_folder in entries:
                if is_folder:
                    delete_tree(entry, handle)
                    continue
                with suppress(FileNotFoundError):
                    os.unlink(entry, dir_fd=handle)
        finally:
            os.close(handle)
        os.rmdir(name, dir_fd=parent)
