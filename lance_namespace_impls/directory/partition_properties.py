"""Properties that describe the namespaces of a partitioned directory; they are not stored in rows.

Source: the partitioned namespace specification.
"""

from __future__ import annotations

import re

from ..core.identifiers import Identifier
from .manifest import Row, Snapshot

__all__ = ["partition_properties"]

SPEC = "partition_spec"
VALUE = "partition."
_SPEC_NAMESPACE = re.compile(r"v[0-9]+")


def partition_properties(snapshot: Snapshot, identifier: Identifier, row: Row) -> dict[str, str]:
    """Return the spec for ``v<N>``, or for a namespace below it, the partition value of its level.

    Args:
        snapshot: the manifest.
        identifier: the namespace.
        row: its row.

    Raises:
        InvalidTableStateError: code 19, the specs of the directory cannot be read.
    """
    if not _SPEC_NAMESPACE.fullmatch(identifier[0]):
        return {}
    from ..partitioned.spec import SPEC_KEY, read_specs

    number = identifier[0].removeprefix("v")
    text = snapshot.metadata.get(f"{SPEC_KEY}{number}")
    if text is None:
        return {}
    if len(identifier) == 1:
        return {SPEC: text}
    fields = read_specs({f"{SPEC_KEY}{number}": text})[int(number)].fields
    if len(identifier) - 1 > len(fields):
        return {}
    field = fields[len(identifier) - 2]
    value = row.more.get(field.column)
    return {} if value is None else {f"{VALUE}{field.id}": str(value.as_py())}
