"""Lists, describes, deletes and restores versions of a table."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from attrs import frozen
from pyarrow import fs

from lance_namespace_client.errors import InvalidInputError, TableVersionNotFoundError
from lance_namespace_client.models import TableVersion

from ..core.stores import resolve
from .dataset import follow
from .manifests import version_of
from .refs import checkout, require_unreferenced

if TYPE_CHECKING:
    from lance_namespace_client.models import VersionRange

__all__ = ["Manifests", "delete", "describe", "doomed", "restore"]

_NAME = re.compile(r"\d+\.manifest")
ALL = -1


class Manifests:
    """Lists the manifests of a table or of one of its branches without reading them.

    Only the folder that contains the manifests is listed, regardless of the number of data files.

    Args:
        dataset: a ``lance.LanceDataset``.
        branch: the branch; defaults to the main one.
    """

    def __init__(self, dataset: Any, branch: str | None) -> None:
        self._folder = "_versions" if branch is None else f"tree/{branch}/_versions"
        self._uri = str(dataset.uri).rstrip("/")
        self._found = {version_of(file.name): file for file in self._listed(dataset)}

    def _listed(self, dataset: Any) -> Iterator[_Manifest]:
        options = dataset.latest_storage_options() or {}
        if "://" not in self._uri:
            # Each file is examined only when needed.
            names: Iterator[_Manifest] = (
                _Manifest(name) for name in os.listdir(f"{self._uri}/{self._folder}")
            )
        elif (found := resolve(self._uri, options)).is_reached_by_pyarrow:
            selector = fs.FileSelector(f"{found.path}/{self._folder}")
            infos = found.filesystem().get_file_info(selector)
            names = (_Manifest(info.base_name, info.size, info.mtime) for info in infos)
        else:
            names = self._among_all(dataset)
        return (file for file in names if _NAME.fullmatch(file.name))

    def _among_all(self, dataset: Any) -> Iterator[_Manifest]:
        """Yield the manifests found by pylance's own listing of all files."""
        for batch in dataset.all_files():
            for file in batch.to_pylist():
                folder, _, name = file["path"].rpartition("/")
                if folder == self._folder:
                    yield _Manifest(name, file["size_bytes"], file["last_modified"])

    def numbers(self, *, descending: bool = False) -> list[int]:
        """Return the numbers of the existing versions, oldest first unless `descending`."""
        return sorted(self._found, reverse=descending)

    def __contains__(self, version: int) -> bool:
        return version in self._found

    def version(self, number: int) -> TableVersion | None:
        """Return a version, read from its manifest, or None if the manifest no longer exists."""
        file = self._found[number]
        path = f"{self._uri}/{self._folder}/{file.name}"
        size, modified = file.size, file.modified
        if size is None:
            try:
                found = os.stat(path)
            except FileNotFoundError:
                return None
            size, modified = found.st_size, datetime.fromtimestamp(found.st_mtime, UTC)
        return TableVersion(
            version=number,
            manifest_path=path,
            manifest_size=size,
            timestamp_millis=_millis(modified),
        )


@frozen
class _Manifest:
    """A manifest file; size and time are None until they are read."""

    name: str
    size: int | None = None
    modified: datetime | None = None


def _millis(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


def describe(dataset: Any, version: int | None, branch: str | None) -> TableVersion:
    """Describe one version, by default the latest.

    Raises:
        TableVersionNotFoundError: code 11.
    """
    manifests = Manifests(dataset, branch)
    number = max(manifests.numbers(), default=0) if version is None else version
    found = manifests.version(number) if number in manifests else None
    if found is None:
        raise TableVersionNotFoundError(f"version {number} does not exist")
    chosen = dataset.checkout_version(number if branch is None else (branch, number))
    metadata = chosen.get_version()["metadata"]
    found.metadata = {str(key): str(value) for key, value in metadata.items()}
    return found


def doomed(dataset: Any, ranges: Sequence[VersionRange], branch: str | None) -> list[int]:
    """Return the versions in the ranges, in order.

    Args:
        dataset: the dataset at the latest version of the branch.
        ranges: ranges of versions with an exclusive end; an end of -1 means all versions except the
            latest.
        branch: the branch; None is the main one.

    Raises:
        InvalidInputError: code 13, a range is empty or contains the latest version.
        InvalidTableStateError: code 19, a tag or another branch references one of the versions.
    """
    referenced = {ref["version"] for ref in dataset.version_refs()}
    latest = int(dataset.latest_version)
    found: set[int] = set()
    for span in ranges:
        end = latest if span.end_version == ALL else span.end_version
        if end <= span.start_version and span.end_version != ALL:
            raise InvalidInputError(
                f"versions {span.start_version} to {span.end_version} are not a range; the end "
                f"must be greater than the start"
            )
        found |= {version for version in referenced if span.start_version <= version < end}
    if latest in found:
        raise InvalidInputError(
            f"version {latest} is the latest and cannot be deleted; exclude it from the range"
        )
    if found:
        require_unreferenced(dataset, found, branch)
    return sorted(found)


def delete(dataset: Any, versions: Sequence[int]) -> int:
    """Delete versions and the files that only they use; return how many versions were deleted."""
    if not versions:
        return 0
    return int(dataset.cleanup_old_versions(versions=list(versions)).old_versions)


def restore(dataset: Any, version: int, branch: str | None) -> None:
    """Commit an older version as the new latest version, and move the dataset object to it.

    Raises:
        TableBranchNotFoundError: code 22.
        TableVersionNotFoundError: code 11.
    """
    chosen = checkout(dataset, version, branch)
    chosen.restore()
    follow(dataset, chosen)
