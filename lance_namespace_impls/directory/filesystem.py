"""Accesses the file system of a directory namespace through pyarrow.fs."""

from __future__ import annotations

import errno
import fcntl
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyarrow import fs

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
)

from ..core.disks import on_local_disk
from ..core.file_stamps import Stamp
from ..core.location import as_end_of_uri
from ..core.stores import resolve
from . import local, sweep

__all__ = ["Directory"]

POLL_SECONDS = 0.02
MANY = 16
"""Minimum number of paths for which it is faster to open the root once."""


class Directory:
    """A directory on local storage or an object store.

    Args:
        root: URI or absolute path.
        options: object-store options with pylance's names, such as ``aws_endpoint``.
    """

    def __init__(self, root: str, options: Mapping[str, str]) -> None:
        self._resolved = resolve(root, options)
        self.root, self._base = self._resolved.location, self._resolved.path
        self._inside = f"{self._base.rstrip('/')}/"
        self.is_local = self._resolved.kind is None
        if not self.is_local:
            self._resolved.arguments()  # validates the options
        self._swept: float | None = None

    @cached_property
    def _fs(self) -> Any:
        """The file system, which is opened on first use."""
        return self._resolved.filesystem()

    @property
    def lance_options(self) -> dict[str, str] | None:
        """Lance's options for opening tables in the directory."""
        return dict(self._resolved.options) or None

    def location(self, folder: str) -> str:
        """Return the location of a table directory in the form that pylance uses."""
        name = folder if self.is_local else as_end_of_uri(folder)
        return f"{self.root.rstrip('/')}/{name}"

    def folder(self, location: str) -> str:
        """Return the path of the table directory at a location, relative to the root."""
        root = f"{self.root.rstrip('/')}/"
        inside = location.startswith(root) and len(location) > len(root)
        name = location[len(root) :] if inside else location.rsplit("/", 1)[1]
        return name if self.is_local else unquote(name)

    def _path(self, path: str) -> str:
        return self._inside + path

    def kinds(self, *paths: str) -> list[str]:
        """Return the kind of each path: ``directory``, ``file`` or ``missing``."""
        if self.is_local and len(paths) >= MANY:
            return self._many_kinds(paths)
        places = [self._path(path) if path else self._base for path in paths]
        if self.is_local:
            return [local.local_kind(place) for place in places]
        try:
            infos = self._fs.get_file_info(places)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            if len(paths) == 1:
                return ["missing"]  # nothing can exist at such a path
            return [kind for path in paths for kind in self.kinds(path)]
        return [_KIND.get(info.type, "missing") for info in infos]

    def _many_kinds(self, paths: Sequence[str]) -> list[str]:
        """Examine local paths relative to the opened root, whose path is thus resolved only
        once.
        """
        try:
            root = os.open(self._base, os.O_RDONLY | os.O_DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):
            return ["missing"] * len(paths)
        try:
            return [local.local_kind(path, root) for path in paths]
        finally:
            os.close(root)

    def local_kind(self, path: str) -> str:
        """Return the kind of one local path; see `kinds`."""
        return local.local_kind(self._path(path))

    def has(self, name: str) -> bool:
        """Return whether local storage has an entry with a name, including dangling links."""
        return os.path.lexists(self._path(name))

    def stamp(self, *paths: str) -> Stamp | None:
        """Return the current state of local paths.

        None if the state cannot be determined (see `Stamp`) or the paths are not on a local disk.
        """
        taken = Stamp.take(*map(self._path, paths))
        return taken if taken is not None and on_local_disk(self._base) else None

    def is_link(self, folder: str) -> bool:
        """Return whether a directory on local storage is a symbolic link."""
        return self.is_local and os.path.islink(self._path(folder))

    def folders(self, unreadable: Callable[[LanceNamespaceError], None]) -> list[str]:
        """List the names of the directories in the root; a missing root has none.

        Args:
            unreadable: called with the error if a name is unreadable; returns to omit the name, or
                raises the error.

        Raises:
            InvalidInputError: code 13, the root is a file.
            InvalidTableStateError: code 19, a name is not valid UTF-8.
        """
        if self.is_local:
            return self._local_folders(unreadable)
        selector = fs.FileSelector(self._base, recursive=False, allow_not_found=True)
        try:
            infos = self._fs.get_file_info(selector)
        except (FileNotFoundError, NotADirectoryError):
            infos = []  # the root was deleted in between; pyarrow accesses it twice
        if not infos:
            self.require_directory()
        return [info.base_name for info in infos if info.type == fs.FileType.Directory]

    def _local_folders(self, unreadable: Callable[[LanceNamespaceError], None]) -> list[str]:
        """List the directories in a local root; few entries need to be examined individually."""
        found = []
        try:
            with os.scandir(self._base) as entries:
                found = [entry.name for entry in entries if entry.is_dir()]
        except (FileNotFoundError, NotADirectoryError):
            self.require_directory()
        if all(map(str.isascii, found)):
            return found
        unread = [name for name in found if not local.is_text(name)]
        for name in unread:
            unreadable(
                InvalidTableStateError(
                    f"{self.root} contains a directory whose name is not UTF-8: rename "
                    f"{os.fsencode(name)!r}"
                )
            )
        return [name for name in found if name not in unread] if unread else found

    def starting_with(
        self, prefix: str, unreadable: Callable[[LanceNamespaceError], None]
    ) -> list[str]:
        """List the names of the directories in the root that start with a prefix; see `folders`."""
        if not self.is_local:
            return [name for name in self.folders(unreadable) if name.startswith(prefix)]
        try:
            names = os.listdir(self._base)
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = [name for name in names if name.startswith(prefix)]
        kinds = self.kinds(*found)
        return [name for name, kind in zip(found, kinds, strict=True) if kind == "directory"]

    def require_directory(self) -> None:
        """Reject a root that is a file, or whose bucket does not exist (code 13)."""
        kind = self.kinds("")[0]
        if kind == "file":
            raise InvalidInputError(f"{self.root} is a file; specify a directory of tables")
        if kind == "missing" and self._resolved.kind is not None:
            bucket = self._resolved.bucket
            if self._fs.get_file_info([bucket])[0].type == fs.FileType.NotFound:
                raise InvalidInputError(
                    f"{self.root}: the bucket {bucket!r} does not exist; create it, or correct the "
                    "address"
                )

    def holds_file(self, folder: str, ending: str) -> bool:
        """Return whether a directory directly contains a file with a suffix; False if it is missing."""
        if self.is_local:
            try:
                with os.scandir(self._path(folder)) as found:
                    return any(entry.name.endswith(ending) for entry in found)
            except (FileNotFoundError, NotADirectoryError):
                return False
        selector = fs.FileSelector(self._path(folder), recursive=False, allow_not_found=True)
        try:
            infos = self._fs.get_file_info(selector)
        except (FileNotFoundError, NotADirectoryError):
            return False  # the directory was deleted after pyarrow checked it
        return any(info.path.endswith(ending) for info in infos)

    def read(self, path: str) -> bytes | None:
        """Read a small file, or return None if it does not exist.

        Raises:
            InvalidTableStateError: code 19, the file is not a regular file; reading it might never
                end.
        """
        try:
            if self.is_local:
                return local.read_plain(self._path(path))
            with self._fs.open_input_stream(self._path(path)) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def modified(self, path: str) -> int | None:
        """Return a file's modification time in microseconds since 1970; None if there is no
        file.
        """
        (found,) = self._fs.get_file_info([self._path(path)])
        return None if found.mtime_ns is None else int(found.mtime_ns // 1000)

    def write(self, path: str, content: bytes) -> None:
        """Write a small file atomically; readers find either the old or the new content."""
        if not self.is_local:
            with self._fs.open_output_stream(self._path(path)) as stream:
                stream.write(content)
            return
        target = Path(self._path(path))
        temporary = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
        try:
            temporary.write_bytes(content)
            os.replace(temporary, target)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise

    def create_marker(self, path: str) -> bool:
        """Create an empty file; return False if it already exists.

        On local storage, exactly one of several concurrent callers gets True. For object stores,
        pyarrow.fs has no such call, so two concurrent callers may both get True.
        """
        if self.is_local:
            try:
                os.close(os.open(self._path(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            except FileExistsError:
                return False
            return True
        if self.kinds(path)[0] == "file":
            return False
        with self._fs.open_output_stream(self._path(path)):
            return True

    def remove_marker(self, path: str) -> bool:
        """Remove a file; return False if it does not exist."""
        try:
            self._fs.delete_file(self._path(path))
        except FileNotFoundError:
            return False
        return True

    def add(self, folder: str, files: Mapping[str, bytes]) -> bool:
        """Atomically create a directory that contains small files; return False if it already
        exists. On local storage, exactly one of several concurrent callers gets True.
        """
        if not self.is_local:
            if self.kinds(folder)[0] != "missing":
                return False
            for name, content in files.items():
                self.write(f"{folder}/{name}", content)
            return True
        with self.staged() as made:
            for name, content in files.items():
                with open(self._path(f"{made}/{name}"), "xb", buffering=0) as file:
                    file.write(content)
            return self.move(made, folder)

    @contextmanager
    def staged(self) -> Iterator[str]:
        """Create a directory and yield its name; delete it afterwards, unless it was moved.

        The directory is locked, so that it is not mistaken for an abandoned one.
        """
        name = f"{sweep.STAGED}{os.urandom(16).hex()}"
        path = self._path(name)
        try:
            local.make_directory(path)
        except NotADirectoryError:
            self.require_directory()
            raise
        held = local.try_lock(path, local.AS_DIRECTORY)
        try:
            yield name
        finally:
            if held is not None:
                local.release(held)
            if os.path.lexists(path):
                local.delete_tree(path)

    def move(self, folder: str, new: str) -> bool:
        """Rename a directory on local storage; return False if the new name is in use.

        Raises:
            FileNotFoundError: the directory does not exist, or no longer exists.
        """
        return local.move_new(self._path(folder), self._path(new))

    def refuse_link(self, folder: str) -> None:
        """Reject a directory on local storage that is a symbolic link (code 19)."""
        if self.is_link(folder):
            raise InvalidTableStateError(
                f"{self.location(folder)} is a symbolic link, but only the directory itself can "
                f"be changed: remove the link manually"
            )

    def move_to_trash(self, folder: str) -> str:
        """Move a directory to the trash for later deletion; return its name in the trash.

        Only local storage supports this; on an object store, the directory is not moved.

        Raises:
            FileNotFoundError: the directory does not exist, or no longer exists.
        """
        if not self.is_local:
            if self.kinds(folder)[0] == "missing":
                raise FileNotFoundError(folder)
            return folder
        trash = f"{sweep.TRASH}{os.urandom(16).hex()}"
        os.rename(self._path(folder), self._path(trash))
        return trash

    def opened(self, folder: str) -> AbstractContextManager[local.OpenTree | None]:
        """Return a handle that keeps a directory and its subdirectories open, or None on object
        stores or if there are too many subdirectories.

        Raises:
            FileNotFoundError: the directory does not exist, or no longer exists.
            InvalidTableStateError: code 19, the directory is a symbolic link.
        """
        if not self.is_local:
            return nullcontext()
        try:
            opened = local.OpenTree(self._path(folder))
        except NotADirectoryError as error:
            self.refuse_link(folder)
            raise FileNotFoundError(folder) from error
        if opened.is_whole:
            return opened
        opened.close()
        return nullcontext()

    def delete(self, folder: str, opened: local.OpenTree | None = None) -> None:
        """Delete a directory in the trash and its contents.

        Directories that other processes left behind are also deleted, if possible. The search for
        them is only occasional, because the root may contain many tables.

        Args:
            folder: name of the directory in the trash.
            opened: the examined directory; only the entries that it lists are deleted.

        Raises:
            OSError: the directory could not be deleted completely.
        """
        if not self.is_local:
            with suppress(FileNotFoundError):  # another process deleted it concurrently
                self._fs.delete_dir(self._path(folder))
            return
        local.delete_tree(self._path(folder), opened)
        now = time.monotonic()
        if self._swept is None or now - self._swept >= sweep.SWEEP_SECONDS:
            self._swept = now
            sweep.sweep(self._base)

    def contents(self, folder: str) -> list[tuple[int, float]]:
        """Return the size in bytes and the time in seconds since 1970 of each file in a directory."""
        selector = fs.FileSelector(self._path(folder), recursive=True, allow_not_found=True)
        return [
            (info.size, info.mtime_ns / 1e9)
            for info in self._fs.get_file_info(selector)
            if info.type == fs.FileType.File
        ]

    @contextmanager
    def lock(self, folder: str) -> Iterator[None]:
        """Briefly lock a directory against other processes; object stores have no locks.

        Raises:
            FileNotFoundError: the directory does not exist.
        """
        if not self.is_local:
            yield
            return
        handle = os.open(self._path(folder), os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not os.path.samestat(os.fstat(handle), os.stat(self._path(folder))):
                raise FileNotFoundError(folder)
            yield
        finally:
            local.release(handle)

    def hold(
        self, name: str, *, timeout: float, marker: str | None = None
    ) -> AbstractContextManager[Any] | None:
        """Lock a file, so that no other process can lock it; object stores do not support this.

        Args:
            name: the file to create and lock; it is deleted afterwards. Creating a file is slow in
                a root with many directories.
            timeout: how long to wait for the lock, in seconds.
            marker: an existing file to lock instead, if it can be locked; it is not deleted.

        Returns:
            a context manager that releases the lock, or None if another process holds the lock.

        Raises:
            FileNotFoundError: the root does not exist.
        """
        if not self.is_local:
            return nullcontext()
        until = time.monotonic() + timeout
        while (held := self._try_lock(name, marker)) is None and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return held

    def _try_lock(self, name: str, marker: str | None) -> local.LockedFile | None:
        if marker is not None:
            try:
                handle = local.try_lock(
                    self._path(marker), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                )
            except OSError:
                pass  # the file is missing, or read-only on a system that cannot lock such files
            else:
                return None if handle is None else local.LockedFile(handle)
        path = self._path(name)
        handle = local.try_lock(path)
        return None if handle is None else local.LockedFile(handle, path)


_KIND = {fs.FileType.Directory: "directory", fs.FileType.File: "file"}
