"""The file system of a namespace directory, over pyarrow.fs."""

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
from ..core.stores import resolve
from . import local, sweep

__all__ = ["Directory"]

POLL_SECONDS = 0.02
MANY = 16
"""Paths that are looked at together from an opened root."""

# What would not be read as a part of a name in a URI.
_FOR_URI = str.maketrans({"%": "%25", "#": "%23", "?": "%3F"})


class Directory:
    """A directory on local storage or an object store.

    Args:
        root: URI or absolute path.
        options: object-store options by pylance's names, such as ``aws_endpoint``.
    """

    def __init__(self, root: str, options: Mapping[str, str]) -> None:
        self._resolved = resolve(root, options)
        self.root, self._base = self._resolved.location, self._resolved.path
        self._inside = f"{self._base.rstrip('/')}/"
        self.is_local = self._resolved.kind is None
        if not self.is_local:
            self._resolved.arguments()  # what is wrong with them shows here
        self._swept: float | None = None

    @cached_property
    def _fs(self) -> Any:
        """The file system, which is opened when something is first looked for."""
        return self._resolved.filesystem()

    @property
    def lance_options(self) -> dict[str, str] | None:
        """The options with which Lance opens what is in the directory."""
        return dict(self._resolved.options) or None

    def location(self, folder: str) -> str:
        """Return the location of a table directory as pylance takes it."""
        name = folder if self.is_local else folder.translate(_FOR_URI)
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
        """Return of each path what it is: ``directory``, ``file`` or ``missing``."""
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
                return ["missing"]  # nothing can be there
            return [kind for path in paths for kind in self.kinds(path)]
        return [_KIND.get(info.type, "missing") for info in infos]

    def _many_kinds(self, paths: Sequence[str]) -> list[str]:
        """Look at paths of local storage from the root on, so that the way to it is gone once."""
        try:
            root = os.open(self._base, os.O_RDONLY | os.O_DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):
            return ["missing"] * len(paths)
        try:
            return [local.local_kind(path, root) for path in paths]
        finally:
            os.close(root)

    def local_kind(self, path: str) -> str:
        """Return what one path of local storage is; see `kinds`."""
        return local.local_kind(self._path(path))

    def has(self, name: str) -> bool:
        """Return whether local storage has something of that name, a link that leads nowhere too."""
        return os.path.lexists(self._path(name))

    def stamp(self, *paths: str) -> Stamp | None:
        """Return how paths of local storage are now.

        It is None where it cannot be told (see `Stamp`), or the disk is not of this machine.
        """
        taken = Stamp.take(*map(self._path, paths))
        return taken if taken is not None and on_local_disk(self._base) else None

    def is_link(self, folder: str) -> bool:
        """Return whether a directory of local storage is a symbolic link."""
        return self.is_local and os.path.islink(self._path(folder))

    def folders(self, unreadable: Callable[[LanceNamespaceError], None]) -> list[str]:
        """List the names of the directories in the root; a missing root has none.

        Args:
            unreadable: is told of a name that cannot be read, and raises unless it is to be left out.

        Raises:
            InvalidInputError: code 13, the root is a file.
            InvalidTableStateError: code 19, a name in it is no text.
        """
        if self.is_local:
            return self._local_folders(unreadable)
        selector = fs.FileSelector(self._base, recursive=False, allow_not_found=True)
        try:
            infos = self._fs.get_file_info(selector)
        except (FileNotFoundError, NotADirectoryError):
            infos = []  # pyarrow looks twice, and the root may go between
        if not infos:
            self.require_directory()
        return [info.base_name for info in infos if info.type == fs.FileType.Directory]

    def _local_folders(self, unreadable: Callable[[LanceNamespaceError], None]) -> list[str]:
        """List the directories of a local root, most of which need not be looked at one by one."""
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
                    f"{self.root} holds a directory whose name is not UTF-8, {os.fsencode(name)!r}: "
                    "rename it"
                )
            )
        return [name for name in found if name not in unread] if unread else found

    def starting_with(
        self, prefix: str, unreadable: Callable[[LanceNamespaceError], None]
    ) -> list[str]:
        """List the names of the directories in the root that start so; see `folders`."""
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
        """Refuse a root that is a file, or in a bucket that does not exist (code 13)."""
        kind = self.kinds("")[0]
        if kind == "file":
            raise InvalidInputError(f"{self.root} is a file, not a directory of tables")
        if kind == "missing" and self._resolved.kind is not None:
            bucket = self._resolved.bucket
            if self._fs.get_file_info([bucket])[0].type == fs.FileType.NotFound:
                raise InvalidInputError(
                    f"{self.root}: the bucket {bucket!r} does not exist: create it, or correct the "
                    "address"
                )

    def holds_file(self, folder: str, ending: str) -> bool:
        """Return whether a directory directly holds a file whose name ends so; a missing one does not."""
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
            return False  # pyarrow looks whether it is there, then lists it: it went between
        return any(info.path.endswith(ending) for info in infos)

    def read(self, path: str) -> bytes | None:
        """Read a small file; None where there is none.

        Raises:
            InvalidTableStateError: code 19, it is no plain file, and might never be read.
        """
        try:
            if self.is_local:
                return local.read_plain(self._path(path))
            with self._fs.open_input_stream(self._path(path)) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def modified(self, path: str) -> int | None:
        """Return when a file was last written, in microseconds since 1970; None if there is none."""
        (found,) = self._fs.get_file_info([self._path(path)])
        return None if found.mtime_ns is None else int(found.mtime_ns // 1000)

    def write(self, path: str, content: bytes) -> None:
        """Write a small file; a reader finds the old content or the new, never a part."""
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
        """Create an empty file; False where it was there already.

        On local storage exactly one of several callers gets True. Object stores through
        pyarrow.fs have no such call: there two callers at the same moment may both get it.
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
        """Remove a file; False where it was not there."""
        try:
            self._fs.delete_file(self._path(path))
        except FileNotFoundError:
            return False
        return True

    def add(self, folder: str, files: Mapping[str, bytes]) -> bool:
        """Create a directory with small files in it, all at once; False where it is there already.

        On local storage exactly one of several callers gets True.
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
        """Return the name of a new directory, which goes again unless it is moved meanwhile.

        As long as it is held nobody takes it for one that was left behind.
        """
        name = f"{sweep.STAGED}{os.urandom(16).hex()}"
        path = self._path(name)
        try:
            local.make_directory(path)
        except NotADirectoryError:
            self.require_directory()
            raise
        held = local.try_to_hold(path, local.AS_DIRECTORY)
        try:
            yield name
        finally:
            if held is not None:
                local.release(held)
            if os.path.lexists(path):
                local.delete_tree(path)

    def move(self, folder: str, new: str) -> bool:
        """Rename a directory of local storage; False where the new name is taken.

        Raises:
            FileNotFoundError: there is no such directory (any more).
        """
        return local.move_new(self._path(folder), self._path(new))

    def refuse_link(self, folder: str) -> None:
        """Refuse a directory of local storage that is a symbolic link (code 19)."""
        if self.is_link(folder):
            raise InvalidTableStateError(
                f"{self.location(folder)} is a symbolic link, and what it leads to is changed at its "
                "own place only: remove the link by hand"
            )

    def move_to_trash(self, folder: str) -> str:
        """Move a directory out of sight, to be deleted; return its name there.

        Only local storage can: on an object store it stays where it is.

        Raises:
            FileNotFoundError: there is no such directory (any more).
        """
        if not self.is_local:
            if self.kinds(folder)[0] == "missing":
                raise FileNotFoundError(folder)
            return folder
        trash = f"{sweep.TRASH}{os.urandom(16).hex()}"
        os.rename(self._path(folder), self._path(trash))
        return trash

    def opened(self, folder: str) -> AbstractContextManager[local.OpenTree | None]:
        """Return what holds a directory open with those in it.

        It is None where there are too many, and on an object store.

        Raises:
            FileNotFoundError: there is no such directory (any more).
            InvalidTableStateError: code 19, it is a symbolic link.
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
        """Delete a directory that was moved to the trash, with all that is in it.

        What other processes left behind goes too, as far as it can; it is looked for now and then, since
        the root may hold many tables.

        Args:
            folder: its name in the trash.
            opened: the directory as it was looked at, of which no more than that is deleted.

        Raises:
            OSError: it could not be deleted, and stays in part.
        """
        if not self.is_local:
            with suppress(FileNotFoundError):  # another deleted it at the same time
                self._fs.delete_dir(self._path(folder))
            return
        local.delete_tree(self._path(folder), opened)
        now = time.monotonic()
        if self._swept is None or now - self._swept >= sweep.SWEEP_SECONDS:
            self._swept = now
            sweep.sweep(self._base)

    @contextmanager
    def lock(self, folder: str) -> Iterator[None]:
        """Keep other processes out of a directory for a moment; object stores have no lock.

        Raises:
            FileNotFoundError: there is no such directory.
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
        """Take a file that only one process has at a time; object stores have no such thing.

        Args:
            name: the file, which goes again. To make one takes long beside many directories.
            timeout: how long to wait for it, in seconds.
            marker: a file that is taken instead, and stays, where there is one that can be locked.

        Returns:
            what gives it back at its end; None where another process has it.

        Raises:
            FileNotFoundError: there is no root.
        """
        if not self.is_local:
            return nullcontext()
        until = time.monotonic() + timeout
        while (held := self._try_to_hold(name, marker)) is None and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return held

    def _try_to_hold(self, name: str, marker: str | None) -> local.Held | None:
        if marker is not None:
            try:
                handle = local.try_to_hold(
                    self._path(marker), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                )
            except OSError:
                pass  # it is not there, or on a system that locks none which is read alone
            else:
                return None if handle is None else local.Held(handle)
        path = self._path(name)
        handle = local.try_to_hold(path)
        return None if handle is None else local.Held(handle, path)


_KIND = {fs.FileType.Directory: "directory", fs.FileType.File: "file"}
