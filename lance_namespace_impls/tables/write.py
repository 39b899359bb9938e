"""Writes rows; streams are processed one batch at a time."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidTableStateError,
    TableAlreadyExistsError,
    TableVersionNotFoundError,
)

from ..core.imports import load
from ..core.modes import InsertMode
from ..core.storage import TableStorage
from .dataset import follow, open_dataset
from .errors import from_lance, plain_message
from .files import delete_file, missing_files
from .incoming import writable
from .layout import DATA
from .lineage import LocationState, OpenedVersion
from .schema import check_columns

if TYPE_CHECKING:
    from lance_namespace_client.arrow import RowStream

__all__ = [
    "commit_onto",
    "create",
    "create_unshared",
    "delete_data_files",
    "insert",
    "is_overtaken",
]

# pylance's errors for a commit based on version 0 if there already is a version. The second error
# contains the manifest's name, which counts up or down.
_OVERTAKEN = re.compile(
    r"Dataset already exists|_versions/(0|18446744073709551615)\.manifest was not found"
)

# On disk, a file is written under a temporary name and then renamed; if the folder is deleted in
# between, the rename fails with this message.
_FOLDER_GONE = re.compile(r"failed to persist temp file .*No such file or directory")


def create(
    storage: TableStorage,
    rows: RowStream,
    *,
    overwrite: bool,
    committing: AbstractContextManager[None] | None = None,
) -> int:
    """Write the first rows of a table and return the dataset's version.

    Args:
        storage: location and options of the dataset.
        rows: the rows.
        overwrite: whether to replace an existing dataset, in one commit.
        committing: context manager around the commit of the written rows; it may reject the commit.

    Raises:
        TableAlreadyExistsError: code 5, there is a dataset and `overwrite` is false.
    """
    write = _overwrite if overwrite else _write_first
    try:
        return write(storage, rows, committing or nullcontext())
    except OSError as error:
        if rows.failure is None and _FOLDER_GONE.search(str(error)):
            raise _deleted_meanwhile(storage) from error
        raise


def create_unshared(storage: TableStorage, rows: RowStream) -> int:
    """Write a few first rows without concurrent writers, and return the version.

    Args:
        storage: location of the dataset on this machine's disk, unknown to other writers.
        rows: the rows.
    """
    lance = load("lance")

    # With this URI scheme, Lance writes a small file in one step. With a plain path, it opens,
    # writes, closes and renames the file, each on a different thread.
    return int(
        lance.write_dataset(
            writable(rows),
            f"file-object-store://{quote(os.fsencode(storage.location))}",
            mode="create",
            storage_options=storage.lance_options(),
            session=storage.session(),
        ).version
    )


def _overwrite(
    storage: TableStorage, rows: RowStream, committing: AbstractContextManager[None]
) -> int:
    """Write a version that contains only these rows, on top of any existing version."""
    lance = load("lance")
    write_fragments = load("lance.fragment").write_fragments

    options = storage.lance_options()
    transaction = write_fragments(
        writable(rows),
        storage.location,
        mode="overwrite",
        return_transaction=True,
        storage_options=options,
        session=storage.session(),
    )
    with committing:
        _require_data_files(storage, transaction)
        # Without a base version, pylance commits the operation on top of the latest version.
        dataset = lance.LanceDataset.commit(
            storage.location,
            transaction.operation,
            storage_options=options,
            **storage.of_namespace(),
        )
    return int(dataset.version)


def _write_first(
    storage: TableStorage, rows: RowStream, committing: AbstractContextManager[None]
) -> int:
    """Write version 1, or fail without writing anything.

    pylance's mode "create" is not used, because one of several concurrent writers would overwrite
    the rows of the first one.
    """
    write_fragments = load("lance.fragment").write_fragments

    try:
        transaction = write_fragments(
            writable(rows),
            storage.location,
            mode="create",
            return_transaction=True,
            storage_options=storage.lance_options(),
            session=storage.session(),
        )
    except OSError as error:
        if rows.failure is not None or not is_overtaken(error):
            raise
        raise _created_by_other(storage) from error
    try:
        with committing:
            _require_data_files(storage, transaction)
            return commit_onto(storage, transaction)
    except OSError as error:
        if not is_overtaken(error):
            raise
        if _took_effect(storage, transaction):
            return 1
        raise _created_by_other(storage) from error


def _data_files(transaction: Any) -> list[str]:
    """Return the names of the files that a transaction adds below ``data``."""
    return [file.path for each in transaction.operation.fragments for file in each.files]


def _require_data_files(storage: TableStorage, transaction: Any) -> None:
    """Reject a commit if its data files were deleted after they had been written.

    A concurrent drop of the table deletes everything in its folder, and another table may now have
    its name and location.

    Raises:
        ConcurrentModificationError: code 14.
    """
    if missing_files(storage, DATA, _data_files(transaction)):
        raise _deleted_meanwhile(storage)


def _deleted_meanwhile(storage: TableStorage) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        f"{storage.location}: data files were deleted while the rows were written, possibly "
        f"because the table was dropped; send the rows again"
    )


def commit_onto(
    storage: TableStorage, transaction: Any, *, stable_row_ids: bool | None = None
) -> int:
    """Commit a change if its base version is still the latest; return the new version.

    Args:
        storage: location of the dataset, which may not exist yet.
        transaction: a ``lance.Transaction`` that overwrites; its read version is 0 if the dataset
            does not exist.
        stable_row_ids: whether a new dataset has stable row ids; defaults to false.

    Raises:
        OSError: raised by pylance, for example if the dataset already has another version.
    """
    lance = load("lance")

    # With retries, pylance would commit an overwrite on top of other commits.
    dataset = lance.LanceDataset.commit(
        storage.location,
        transaction,
        storage_options=storage.lance_options(),
        max_retries=0,
        enable_stable_row_ids=stable_row_ids,
        **storage.of_namespace(),
    )
    return int(dataset.version)


def is_overtaken(error: OSError) -> bool:
    """Return whether a first write or commit failed because another writer was faster.

    For a managed table, this shows in pylance's request to the namespace for version 0, which does
    not exist.
    """
    return bool(_OVERTAKEN.search(str(error))) or isinstance(
        from_lance(error, ""), (ConcurrentModificationError, TableVersionNotFoundError)
    )


def _created_by_other(storage: TableStorage) -> TableAlreadyExistsError:
    return TableAlreadyExistsError(
        f"{storage.location}: another writer created the table first; send the rows again"
    )


def _took_effect(storage: TableStorage, transaction: Any) -> bool:
    """Return whether this writer created version 1 after all; if not, delete this writer's files.

    If a response is lost, the object store client repeats the request and then finds its own file.
    """
    files = _data_files(transaction)
    try:
        if _first_writer(storage) == transaction.uuid:
            return True
        delete_data_files(storage, files)
    except Exception as error:  # noqa: BLE001 the caller must see that the table exists
        warnings.warn(
            f"unused data files remain at {storage.location}/data: {', '.join(files)}: "
            f"{plain_message(error)}",
            stacklevel=2,
        )
    return False


def _first_writer(storage: TableStorage) -> str | None:
    """Return the transaction that created version 1, or None if the version was removed."""
    try:
        return str(open_dataset(storage, version=1).read_transaction(1).uuid)
    except (InvalidTableStateError, TableVersionNotFoundError):
        return None


def delete_data_files(storage: TableStorage, files: Iterable[str]) -> None:
    """Delete data files that no version references, and their blobs.

    Args:
        storage: location and options of the dataset.
        files: names below ``data``; missing files are skipped.

    Raises:
        OSError: a file could not be deleted.
    """
    LanceFileSession = load("lance.file").LanceFileSession

    session = LanceFileSession(storage.location, storage_options=storage.lance_options())
    for file in files:
        path = f"data/{file}"
        for each in [path, *session.list(path.removesuffix(".lance"))]:
            delete_file(session, each)


def insert(dataset: Any, rows: RowStream, mode: InsertMode, opened: OpenedVersion) -> None:
    """Append rows, or replace all existing rows, in one commit.

    Args:
        dataset: the ``lance.LanceDataset``; afterwards, it is at the new version.
        rows: the rows.
        mode: whether to append to or replace the existing rows.
        opened: the opened version of the dataset. It is checked after the rows have been written,
            which takes as long as the caller needs to send them.

    Raises:
        TableSchemaValidationError: code 20, the rows do not match the table, or contain columns
            that Lance could not read afterwards.
        ConcurrentModificationError: code 14, the dataset was removed from its location in between.
    """
    lance = load("lance")
    write_fragments = load("lance.fragment").write_fragments

    if mode is InsertMode.OVERWRITE:
        check_columns(rows.schema)
    transaction = write_fragments(
        writable(rows, dataset.schema), dataset, mode=mode.value, return_transaction=True
    )
    try:
        found = opened.state()
    except (OSError, ValueError):
        found = LocationState.SAME  # the commit reports the storage failure
    if found is not LocationState.SAME:
        delete_data_files(opened.root, _data_files(transaction))
        raise _deleted_meanwhile(opened.storage)
    follow(dataset, lance.LanceDataset.commit(dataset, transaction))
