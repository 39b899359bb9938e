"""Versions of a table: list, describe, delete, restore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError, TableVersionNotFoundError
from lance_namespace_client.models import TableVersion

from .refs import checkout

if TYPE_CHECKING:
    from datetime import datetime

    from lance_namespace_client.models import VersionRange

__all__ = ["delete", "describe", "list_versions", "restore"]

MANIFEST = ".manifest"
LARGEST = 2**64 - 1
ALL = -1


def list_versions(dataset: Any, branch: str | None) -> list[TableVersion]:
    """List the versions that are kept, oldest first; no manifest is read."""
    folder = "_versions/" if branch is None else f"tree/{branch}/_versions/"
    found = []
    for batch in dataset.all_files():
        for file in batch.to_pylist():
            path = file["path"]
            if path.startswith(folder) and path.endswith(MANIFEST):
                found.append(
                    TableVersion(
                        version=_number(path),
                        manifest_path=f"{file['base_uri'].rstrip('/')}/{path}",
                        manifest_size=file["size_bytes"],
                        timestamp_millis=_millis(file["last_modified"]),
                    )
                )
    return sorted(found, key=lambda version: version.version)


def _number(path: str) -> int:
    """Read the version off a manifest's name; the newer naming counts down from the largest."""
    name = path.rsplit("/", 1)[1].removesuffix(MANIFEST)
    return LARGEST - int(name) if len(name) == 20 else int(name)


def _millis(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


def describe(dataset: Any, version: int | None, branch: str | None) -> TableVersion:
    """Describe one version, the latest unless it is named.

    Raises:
        TableVersionNotFoundError: code 11.
    """
    versions = {found.version: found for found in list_versions(dataset, branch)}
    wanted = max(versions, default=0) if version is None else version
    if wanted not in versions:
        raise TableVersionNotFoundError(f"version {wanted} does not exist")
    chosen = dataset.checkout_version(wanted if branch is None else (branch, wanted))
    found = versions[wanted]
    manifest = chosen.get_version()
    found.timestamp_millis = _millis(manifest["timestamp"])
    found.metadata = {str(key): str(value) for key, value in manifest["metadata"].items()}
    return found


def delete(dataset: Any, ranges: Sequence[VersionRange]) -> int:
    """Delete versions and the files that only they need; give the number deleted.

    Args:
        dataset: the dataset at the latest version of the branch.
        ranges: each from its start up to, not including, its end; an end of -1 takes all but the
            latest.

    Raises:
        InvalidInputError: code 13, a range is empty or would delete the latest version.
    """
    kept = {ref["version"] for ref in dataset.version_refs()}
    latest = int(dataset.latest_version)
    doomed: set[int] = set()
    for span in ranges:
        end = latest if span.end_version == ALL else span.end_version
        if end <= span.start_version and span.end_version != ALL:
            raise InvalidInputError(
                f"versions {span.start_version} to {span.end_version} are no range: "
                "the end must be after the start"
            )
        doomed |= {version for version in kept if span.start_version <= version < end}
    if latest in doomed:
        raise InvalidInputError(f"version {latest} is the latest and cannot be deleted")
    if not doomed:
        return 0
    return int(dataset.cleanup_old_versions(versions=sorted(doomed)).old_versions)


def restore(dataset: Any, version: int, branch: str | None) -> None:
    """Make an older version the latest again, as a new version.

    Raises:
        TableBranchNotFoundError: code 22.
        TableVersionNotFoundError: code 11.
    """
    checkout(dataset, version, branch).restore()
