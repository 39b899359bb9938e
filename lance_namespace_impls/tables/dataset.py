"""Opens and inspects datasets without reading rows."""

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

# pylance's errors if a version was deleted or replaced between being listed and being read.
_GONE_BETWEEN = re.compile(r"[Nn]ot found: .*_versions/|Invalid range \d+\.\.\d+ for object")
_PAUSES_SECONDS = (0.01, 0.05, 0.2)


def open_dataset(
    storage: TableStorage, *, version: int | str | None = None, branch: str | None = None
) -> Any:
    """Open a dataset; storage options that expire are renewed while the dataset is being read.

    Args:
        storage: location and options.
        version: number or tag of the version; defaults to the latest.
        branch: the branch; defaults to the main one.

    Returns:
        a ``lance.LanceDataset``.

    Raises:
        InvalidTableStateError: code 19, the location has no dataset.
        TableVersionNotFoundError: code 11.
        TableTagNotFoundError: code 8.
        TableBranchNotFoundError: code 22.
    """
    lance = load("lance")

    options = storage.lance_options()
    with _no_dataset(storage.location):
        # lance.dataset accepts either a location or a namespace; passing both to the class avoids a
        # second lookup.
        dataset = lance.LanceDataset(
            storage.location,
            storage_options=options,
            session=storage.session(),
            **storage.of_namespace(),
        )
    return _at(dataset, version, branch)


def open_through(
    namespace: Any,
    identifier: Sequence[str],
    version: int | str | None,
    branch: str | None = None,
) -> Any:
    """Open a dataset through a namespace, which vends new credentials when the old ones expire.

    Args:
        namespace: the namespace of the table.
        identifier: the table.
        version: number or tag of the version; defaults to the latest.
        branch: the branch; defaults to the main branch.

    Raises:
        TableNotFoundError: code 4.
        InvalidTableStateError: code 19, the location has no dataset.
        TableVersionNotFoundError: code 11.
        TableTagNotFoundError: code 8.
    """
    lance = load("lance")

    name = format_identifier(identifier)
    try:
        with _no_dataset(f"table {name}"):
            dataset = lance.dataset(namespace_client=namespace, table_id=list(identifier))
        return _at(dataset, version, branch)
    except LanceNamespaceError:
        raise
    except Exception as error:
        what = f"open_table {name}"
        raise (from_lance(error, what) or from_system_failure(error, what)) from error


@contextmanager
def _no_dataset(where: str) -> Iterator[None]:
    """Raise InvalidTableStateError if there is no dataset to open."""
    try:
        yield
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        raise InvalidTableStateError(
            f"{where} contains no Lance dataset: the table is declared without data, or its files "
            f"do not follow the Lance format; write rows to it, or drop it"
        ) from error


def _at(dataset: Any, version: int | str | None, branch: str | None) -> Any:
    if isinstance(version, str):
        return checkout_tag(dataset, version)
    if branch is None and version in (None, dataset.version):
        return dataset
    return checkout(dataset, version, branch)


def exists(storage: TableStorage) -> bool:
    """Return whether the location has a dataset.

    During a drop, a version may still be listed although it cannot be read; the check is then
    repeated.

    Raises:
        InvalidTableStateError: code 19, a version remains listed but cannot be read.
    """
    for pause in (*_PAUSES_SECONDS, None):
        try:
            return _opens(storage)
        except (OSError, ValueError) as error:
            if not _GONE_BETWEEN.search(str(error)):
                raise
            if pause is None:
                raise InvalidTableStateError(
                    f"{storage.location}: a version is listed but cannot be read; restore its "
                    f"manifest, or drop the table: {plain_message(error)}"
                ) from error
            sleep(pause)
    raise AssertionError("the last attempt returns or raises")


def _opens(storage: TableStorage) -> bool:
    try:
        open_dataset(storage)
    except InvalidTableStateError:
        return False
    return True


def follow(dataset: Any, after: Any) -> None:
    """Move a dataset object to the version that a commit created, as pylance's own methods do.

    Args:
        dataset: the ``lance.LanceDataset`` that was changed.
        after: the dataset returned by the commit.
    """
    dataset._ds = after._ds


def latest_version(storage: TableStorage) -> int:
    """Return the number of the latest version."""
    return int(open_dataset(storage).version)


def has_version(storage: TableStorage, version: int) -> bool:
    """Return whether the dataset has a version."""
    try:
        open_dataset(storage, version=version)
    except (TableVersionNotFoundError, InvalidTableStateError):
        return False
    return True


def table_uri(location: str) -> str:
    """Return a location as a URI; a path becomes a ``file://`` URI."""
    return location if "://" in location else Path(location).absolute().as_uri()
