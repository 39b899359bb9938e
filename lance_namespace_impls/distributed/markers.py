"""Finds commits by the properties of their transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["marked"]


def marked(
    dataset: Any, key: str, value: str, *, after: int = 0, until: int | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the versions whose transaction has a property, latest first, each with all properties.

    Args:
        dataset: a ``lance.LanceDataset`` at its latest version.
        key: the property.
        value: the value of the property.
        after: search only versions after this one.
        until: search only versions up to this one.
    """
    existing = {int(each["version"]) for each in dataset.versions()}
    last = int(dataset.version) if until is None else until
    for version in range(last, after, -1):
        if version not in existing:
            continue  # the version was cleaned up
        try:
            found = dataset.read_transaction(version)
        except TypeError:
            continue  # the version is a compaction of an indexed table, which pylance cannot read
        properties = (found.transaction_properties or {}) if found is not None else {}
        if properties.get(key) == value:
            yield version, properties
