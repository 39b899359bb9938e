"""Opening datasets and looking at them without reading rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

from lance_namespace_client.errors import (
    InvalidTableStateError,
    LanceNamespaceError,
    TableVersionNotFoundError,
)

from ..core.errors import from_system_failure
from ..core.identifiers import format_identifier
from ..core.imports import load
from ..core.storage import TableStorage
from .errors import from_lance, plain_message
from .refs import checkout, checkout_tag

__all__ = [
    "exists",
    "follow",
    "has_version",
    "latest_version",
    "open_dataset",
    "open_through",
    "table_uri",
]

# A version was listed, and is deleted or replaced before it is read.
_GONE_BETWEEN = re.compile(r"[Nn]ot found: .*_versions/|Invalid range \d+\.\.\d+ for object")
_PAUSES_SECONDS = (0.01, 0.05, 0.2)


def open_dataset(
    storage: TableStorage, *, version: int | str | None = None, branch: str | None = None
) -> Any:
    """Open a dataset; storage options that expire are renewed while it is read.

    Args:
        storage: where it is.
        version: number or tag of the version; the latest unless given.
        branch: the branch; the main one unless given.

    Returns:
        a ``lance.LanceDataset``.

    Raises:
        InvalidTableStateError: code 19, the location holds no dataset.
        TableVersionNotFoundError: code 11.
        TableTagNotFoundError: code 8.
        TableBranchNotFoundError: code 22.
    """
    lance = load("lance")

    options = storage.lance_options()
    with _no_dataset(storage.location):
        # lance.dataset takes either a location or a namespace; both spare a second look-up.
        dataset = lance.LanceDataset(
            storage.location,
            storage_options=options,
            session=storage.session(),
            **storage.of_namespace(),
        )
    return _at(dataset, version, branch)


def open_through(namespace: Any, identifier: Sequence[str], version: int | str | None) -> Any:
    """Open a dataset through a namespace, which hands out new credentials when the old expire.

    Raises:
        TableNotFoundError: code 4.
        InvalidTableStateError: code 19, the location holds no dataset.
        TableVersionNotFoundError: code 11.
        TableTagNotFoundError: code 8.
    """
    lance = load("lance")

    name = format_identifier(identifier)
    try:
        with _no_dataset(f"table {name}"):
            dataset = lance.dataset(namespace_client=namespace, table_id=list(identifier))
        return _at(dataset, version, None)
    except LanceNamespaceError:
        raise
    except Exception as error:
        what = f"open_table {name}"
        raise (from_lance(error, what) or from_system_failure(error, what)) from error


@contextmanager
def _no_dataset(where: str) -> Iterator[None]:
    """Raise where there is nothing to open."""
    try:
        yield
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        raise InvalidTableStateError(
            f"{where} holds no Lance dataset: the table is declared without data, or what is there "
            "does not follow the Lance format; write to it, or drop it"
        ) from error


def _at(dataset: Any, version: int | str | None, branch: str | None) -> Any:
    if isinstance(version, str):
        return checkout_tag(dataset, version)
    if branch is None and version in (None, dataset.version):
        return dataset
    return checkout(dataset, version, branch)


def exists(storage: TableStorage) -> bool:
    """Return whether the location holds a dataset.

    While one is dropped, versions are listed that can no longer be read: it is looked again.

    Raises:
        InvalidTableStateError: code 19, a version stays listed and cannot be read.
    """
    for pause in (*_PAUSES_SECONDS, None):
        try:
            return _opens(storage)
        except (OSError, ValueError) as error:
            if not _GONE_BETWEEN.search(str(error)):
                raise
            if pause is None:
                raise InvalidTableStateError(
                    f"{storage.location}: a version is listed and cannot be read; restore its "
                    f"manifest, or drop the table: {plain_message(error)}"
                ) from error
            sleep(pause)
    raise AssertionError("the last look returns or raises")


def _opens(storage: TableStorage) -> bool:
    try:
        open_dataset(storage)
    except InvalidTableStateError:
        return False
    return True


def follow(dataset: Any, after: Any) -> None:
    """Let a dataset be at the version that another is at, as pylance's own changes leave it.

    Args:
        dataset: the ``lance.LanceDataset`` that was changed.
        after: the one that the commit gave.
    """
    dataset._ds = after._ds


def latest_version(storage: TableStorage) -> int:
    """Return the number of the latest version."""
    return int(open_dataset(storage).version)


def has_version(storage: TableStorage, version: int) -> bool:
    """Return whether the dataset has that version."""
    try:
        open_dataset(storage, version=version)
    except (TableVersionNotFoundError, InvalidTableStateError):
        return False
    return True


def table_uri(location: str) -> str:
    """Return a location as a URI; a path becomes a ``file://`` one."""
    return location if "://" in location else Path(location).absolute().as_uri()
