"""Manages the manifest files of tables whose versions are managed by the catalog.

A writer stages a manifest under its final name plus a suffix. Once the catalog has accepted the
manifest, the file is renamed to the final name, under which all Lance readers find it. If the
catalog has not accepted a manifest that has a final name, the manifest was committed without the
catalog. Such a file is renamed by adding a suffix, because pylance would commit on top of it.
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
    """Return the version in a final name; newer names count down from the largest number."""
    text = name.removesuffix(".manifest")
    return LARGEST - int(text) if len(text) == 20 else int(text)


def final_name(path: str, version: int | None = None) -> str:
    """Return the final name of a manifest, or of another version in the same naming scheme.

    Args:
        path: path of a manifest, staged or final.
        version: the other version.
    """
    name = path.rpartition("/")[2].partition(".manifest")[0] + ".manifest"
    if version is None:
        return name
    return final_names(version)[0 if len(name) == 29 else 1]


def final_names(version: int) -> tuple[str, str]:
    """Return the two possible final names of a version's manifest, the newer scheme first."""
    return f"{LARGEST - version:020d}.manifest", f"{version}.manifest"


def staged_name(path: str, version: int, what: str, manifests: ManifestFolder) -> str:
    """Return the file name of a manifest that a writer has staged.

    Args:
        path: path of the manifest according to the writer.
        version: its intended version.
        what: the operation and its object, as the start of messages.
        manifests: the folder that must contain the manifest; readers open the manifest at the
            stored path.

    Raises:
        InvalidInputError: code 13, the file is not a manifest of that version.
    """
    folder, _, name = path.rpartition("/")
    match = _STAGED.fullmatch(name)
    if match is None or not manifests.is_at(folder):
        raise InvalidInputError(
            f"{what}: {path[:200]!r} is not a valid manifest path; stage the manifest in the "
            f"table's {VERSIONS} folder, under its final name followed by '-' and a UUID"
        )
    if version_of(match[1]) != version:
        raise InvalidInputError(
            f"{what}: the manifest {name} is for version {version_of(match[1])}, not {version}"
        )
    return name


class ManifestFolder:
    """The folder that contains the manifests of a table or of one of its branches.

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
        """Return whether a path refers to this folder in the table's object store.

        Args:
            folder: a key, or an absolute path with or without its leading slash; object stores
                escape some characters in both forms.
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
        """Return whether a file with this name exists."""
        if self._local is not None:
            return (self._local / name).exists()
        return bool(self._files.contains(f"{self._folder}/{name}"))

    def size(self, name: str) -> int | None:
        """Return a file's size in bytes, or None if there is no file or no reported size."""
        if self._local is None:
            return None
        try:
            return (self._local / name).stat().st_size
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        """Return the final names that exist, in no particular order."""
        if self._local is not None:
            try:
                found = os.listdir(self._local)
            except FileNotFoundError:
                return []
        else:
            found = [path.rpartition("/")[2] for path in self._files.list(self._folder)]
        return [name for name in found if re.fullmatch(r"\d+\.manifest", name)]

    def publish(self, staged: str) -> None:
        """Rename a staged manifest to its final name, replacing any file with that name.

        Do nothing if another process has already renamed it.

        Raises:
            InvalidInputError: code 13, neither file exists.
        """
        final = final_name(staged)
        if staged == final:
            return
        try:
            self._move(staged, final, keep=True)
        except FileNotFoundError:
            if not self.has(final):
                raise InvalidInputError(
                    f"{self._storage.location}: the manifest {staged} does not exist; stage it "
                    f"again"
                ) from None

    def set_aside(self, name: str) -> None:
        """Rename a manifest that was committed without the catalog to a name that is not final."""
        with suppress(FileNotFoundError):  # another process has renamed it
            self._move(name, f"{name}-{uuid.uuid4()}", keep=False)

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""
        if self._local is not None:
            (self._local / name).unlink(missing_ok=True)
            return
        delete_file(self._files, f"{self._folder}/{name}")

    def _move(self, old: str, new: str, *, keep: bool) -> None:
        """Rename a file; on object stores, copy it and delete the old one unless `keep` is true."""
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
