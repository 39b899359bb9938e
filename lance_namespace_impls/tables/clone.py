"""Clones datasets: a clone is a new dataset that starts with the same rows."""

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
        target: location of the clone.
        version: number or tag of the version; defaults to the latest.
        is_shallow: whether the clone references the source's files instead of copying them.

    Raises:
        InvalidTableStateError: code 19, the source has no dataset.
        TableVersionNotFoundError: code 11.
        TableTagNotFoundError: code 8.
        ConcurrentModificationError: code 14, another writer wrote to the clone's location.
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
            f"{target.location}: another writer wrote there concurrently; try again"
        ) from error
