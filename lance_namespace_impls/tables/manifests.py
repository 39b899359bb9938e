"""The manifests of a table whose versions its catalog keeps, as files.

A writer stages a manifest under its final name with a suffix of its own. When the catalog has taken
it, it gets the final name, under which every reader of the format finds it. A manifest with a final
name that the catalog has not taken was committed past the catalog: it is set aside under a suffix,
as if it were still staged, since pylance would commit on top of it.
"""

from __future__ import annotations

import os
import re
import uuid
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

from lance_namespace_client.errors import InvalidInputError

from ..core.imports import load
from ..core.storage import TableStorage
from .files import delete_file, is_missing, local_path
from .layout import VERSIONS

__all__ = ["ManifestFolder", "final_name", "final_names", "staged_name", "version_of"]

LARGEST = 2**64 - 1
_STAGED = re.compile(r"(\d{1,20}\.manifest)(-[A-Za-z0-9._-]{1,100})?")


def version_of(name: str) -> int:
    """Return the version of a final name; the newer naming counts down from the largest number."""
    text = name.removesuffix(".manifest")
    return LARGEST - int(text) if len(text) == 20 else int(text)


def final_name(path: str, version: int | None = None) -> str:
    """Return the final name of a manifest, or that of another version named alike.

    Args:
        path: where a manifest is staged, or is for good.
        version: the other version.
    """
    name = path.rpartition("/")[2].partition(".manifest")[0] + ".manifest"
    if version is None:
        return name
    return final_names(version)[0 if len(name) == 29 else 1]


def final_names(version: int) -> tuple[str, str]:
    """Return the two final names that a version's manifest can have, by the newer naming first."""
    return f"{LARGEST - version:020d}.manifest", f"{version}.manifest"


def staged_name(path: str, version: int, what: str, manifests: ManifestFolder) -> str:
    """Return the file name of a manifest that a writer has staged.

    Args:
        path: where the writer says that it is.
        version: the version that it is to be.
        manifests: where it has to be; readers open it at the path that is kept.
        what: the operation and its object, to open a message with.

    Raises:
        InvalidInputError: code 13, it is no manifest of that version.
    """
    folder, _, name = path.rpartition("/")
    match = _STAGED.fullmatch(name)
    if match is None or not manifests.is_at(folder):
        raise InvalidInputError(
            f"{what}: {path[:200]!r} is no place of a manifest; stage it in the table's {VERSIONS} "
            "folder, under its final name with a '-' and a UUID behind"
        )
    if version_of(match[1]) != version:
        raise InvalidInputError(
            f"{what}: the manifest {name} is one of version {version_of(match[1])}, not {version}"
        )
    return name


class ManifestFolder:
    """The folder of the manifests of a table or of one of its branches.

    Args:
        storage: location and options of the table.
        branch: the branch; None is the main one.
    """

    def __init__(self, storage: TableStorage, branch: str | None) -> None:
        self._storage = storage
        self._folder = VERSIONS if branch is None else f"tree/{branch}/{VERSIONS}"

    @cached_property
    def _local(self) -> Path | None:
        path = local_path(self._storage.location)
        return None if path is None else Path(path, self._folder)

    def is_at(self, folder: str) -> bool:
        """Return whether a path is that of this folder, as an object store of the table names it.

        Args:
            folder: a key, or an absolute path with or without its first slash; object stores
                escape some characters in either.
        """
        if self._local is not None:
            own = {os.path.abspath(self._local)}
            if not {".", ".."} & set(folder.split("/")) and "\0" not in folder:
                folder = "/" + folder.removeprefix("/")
                if os.path.realpath(folder) == os.path.realpath(self._local):
                    return True
        else:
            parts = urlsplit(self._storage.location)
            paths = (parts.path, unquote(parts.path))
            roots = (*paths, *(parts.netloc + path for path in paths))
            own = {f"/{root.strip('/')}/{self._folder}".replace("//", "/") for root in roots}
            folder = "/" + folder.removeprefix("/")
        return bool(own & {folder, unquote(folder), unquote(unquote(folder))})

    @cached_property
    def _files(self) -> Any:
        LanceFileSession = load("lance.file").LanceFileSession

        return LanceFileSession(
            self._storage.location, storage_options=self._storage.lance_options()
        )

    def has(self, name: str) -> bool:
        """Return whether a file is there."""
        if self._local is not None:
            return (self._local / name).exists()
        return bool(self._files.contains(f"{self._folder}/{name}"))

    def size(self, name: str) -> int | None:
        """Return a file's size in bytes; None where it is not there, or storage does not say."""
        if self._local is None:
            return None
        try:
            return (self._local / name).stat().st_size
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        """Return the final names that are there, in no order."""
        if self._local is not None:
            try:
                found = os.listdir(self._local)
            except FileNotFoundError:
                return []
        else:
            found = [path.rpartition("/")[2] for path in self._files.list(self._folder)]
        return [name for name in found if re.fullmatch(r"\d+\.manifest", name)]

    def publish(self, staged: str) -> None:
        """Rename a staged manifest to its final name, in the place of whatever has that name.

        Nothing happens where somebody else did it already.

        Raises:
            InvalidInputError: code 13, neither file is there.
        """
        final = final_name(staged)
        if staged == final:
            return
        try:
            self._move(staged, final, keep=True)
        except FileNotFoundError:
            if not self.has(final):
                raise InvalidInputError(
                    f"{self._storage.location}: the manifest {staged} is not there"
                ) from None

    def set_aside(self, name: str) -> None:
        """Take a final name away from a manifest that was committed past the catalog."""
        with suppress(FileNotFoundError):  # somebody else did
            self._move(name, f"{name}-{uuid.uuid4()}", keep=False)

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        if self._local is not None:
            (self._local / name).unlink(missing_ok=True)
            return
        delete_file(self._files, f"{self._folder}/{name}")

    def _move(self, old: str, new: str, *, keep: bool) -> None:
        """Rename a file; an object store, which cannot, keeps the old one where `keep` is true."""
        if self._local is not None:
            os.replace(self._local / old, self._local / new)
            return
        with TemporaryDirectory() as folder:
            copy = Path(folder, "manifest")
            try:
                self._files.download_file(f"{self._folder}/{old}", copy)
            except OSError as error:
                if is_missing(error):
                    raise FileNotFoundError(old) from error
                raise
            self._files.upload_file(copy, f"{self._folder}/{new}")
        if not keep:
            self.delete(old)
