"""Clones of a dataset: a new one that begins with its rows."""

from __future__ import annotations

from lance_namespace_client.errors import ConcurrentModificationError

from ..core.storage import TableStorage
from .dataset import open_dataset
from .write import is_overtaken

__all__ = ["clone"]


def clone(
    source: TableStorage,
    target: TableStorage,
    *,
    version: int | str | None,
    is_shallow: bool,
) -> int:
    """Clone one version of a dataset and return the version of the clone.

    Args:
        source: the dataset.
        target: where the clone goes.
        version: number or tag of the version; the latest unless given.
        is_shallow: whether the clone reads the source's files where they are; else it has its own.

    Raises:
        InvalidTableStateError: code 19, the source holds no dataset.
        TableVersionNotFoundError: code 11.
        TableTagNotFoundError: code 8.
        ConcurrentModificationError: code 14, someone else wrote to the clone's place meanwhile.
    """
    dataset = open_dataset(source, version=version)
    make = dataset.shallow_clone if is_shallow else dataset.deep_clone
    options = target.lance_options()
    try:
        return int(make(target.location, dataset.version, storage_options=options).version)
    except OSError as error:
        if not is_overtaken(error):
            raise
        raise ConcurrentModificationError(
            f"{target.location}: someone else wrote there at the same moment; try again"
        ) from error
