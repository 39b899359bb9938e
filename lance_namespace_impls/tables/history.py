"""Describes the versions of a dataset: commit times, operations, and rows added and removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from attrs import frozen

from lance_namespace_client.errors import LanceNamespaceError, TableVersionNotFoundError

__all__ = ["VersionSummary", "commit_times", "operation_of", "summaries", "version_at"]

UNKNOWN = "unknown operation"
# pylance has no class for some operations, and returns their base class.
_UNNAMED = "BaseOperation"


@frozen(kw_only=True)
class VersionSummary:
    """A version, as its manifest and its transaction describe it.

    Attributes:
        committed: time of the commit, in UTC.
        operation: pylance's name of the operation; None if it is not known.
        rows: number of rows.
        added: number of rows that the version added; None if it is not known.
        removed: number of rows that the version removed; None if it is not known.
    """

    committed: datetime
    operation: str | None
    rows: int
    added: int | None
    removed: int | None


def commit_times(dataset: Any) -> dict[int, datetime]:
    """Return the commit times in UTC of the existing versions, from their manifests.

    Args:
        dataset: a ``lance.LanceDataset``.
    """
    return {int(each["version"]): _in_utc(each["timestamp"]) for each in dataset.versions()}


def version_at(times: Mapping[int, datetime], moment: datetime) -> int:
    """Return the latest version at a time.

    Args:
        times: commit times of the versions, with a zone.
        moment: the time, with a zone.

    Raises:
        TableVersionNotFoundError: code 11, there was no version yet.
    """
    if found := [version for version, committed in times.items() if committed <= moment]:
        return max(found)
    message = f"there is no version at or before {moment.isoformat(' ')}; use a later time"
    if times:
        oldest = min(times)
        message += f": the first version, {oldest}, is from {times[oldest].isoformat(' ')}"
    raise TableVersionNotFoundError(message)


def operation_of(dataset: Any, version: int) -> str:
    """Return the name of the operation that created a version, as in pylance."""
    return _transaction(dataset, version)[0]


def summaries(dataset: Any, numbers: Iterable[int]) -> dict[int, VersionSummary]:
    """Return summaries of the versions that exist.

    All manifests are read in one call of pylance, and one transaction per version.

    Args:
        dataset: a ``lance.LanceDataset``.
        numbers: numbers of the versions.
    """
    found = {int(each["version"]): each for each in dataset.versions()}
    rows = {number: int(each["metadata"]["total_rows"]) for number, each in found.items()}
    result = {}
    for number in numbers:
        if number not in found:
            continue
        name, operation = _transaction(dataset, number)
        before = 0 if number == 1 else rows.get(number - 1)
        added, removed = _row_changes(name, operation, before, rows[number])
        result[number] = VersionSummary(
            committed=_in_utc(found[number]["timestamp"]),
            operation=None if name in (UNKNOWN, _UNNAMED) else name,
            rows=rows[number],
            added=added,
            removed=removed,
        )
    return result


def _in_utc(moment: datetime) -> datetime:
    # pylance returns the time in the machine's local time zone.
    return moment.astimezone(UTC)


def _transaction(dataset: Any, version: int) -> tuple[str, Any]:
    """Return the name of a version's operation, and the operation itself if it can be read."""
    try:
        found = dataset.read_transaction(version)
    except TypeError:
        return "Rewrite", None  # pylance cannot read a transaction that moved indexed rows
    except LanceNamespaceError:
        raise
    except Exception:  # noqa: BLE001 the versions themselves show the changes
        found = None
    if found is None:
        return UNKNOWN, None
    return type(found.operation).__name__, found.operation


def _row_changes(
    name: str, operation: Any, before: int | None, after: int
) -> tuple[int | None, int | None]:
    """Return the numbers of rows that an operation added and removed; None if not known.

    Args:
        name: name of the operation.
        operation: the operation.
        before: rows of the previous version, or None if it was deleted.
        after: rows of the version.
    """
    if name == "Append":
        return _rows_in(operation.fragments), 0
    if name == "Overwrite":
        return after, before
    if before is None:
        return None, None
    if name == "Update":
        added = _rows_in(operation.new_fragments)
        return added, before + added - after
    if name == "Delete":
        return 0, before - after
    # A restored version may have other rows, even if their number is the same.
    if name not in (UNKNOWN, "Restore") and before == after:
        return 0, 0
    return None, None


def _rows_in(fragments: Iterable[Any]) -> int:
    return sum(each.physical_rows for each in fragments)
