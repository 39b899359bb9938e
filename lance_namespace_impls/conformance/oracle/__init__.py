"""The model: the expected answers of a namespace, in plain Python."""

from __future__ import annotations

from .calls import STORAGE, Call, Granted, Mismatch, Outcome, Refused, Rows, local_path, value_of
from .dataset import Dataset, Line, Snapshot
from .draw import DATA_OPERATIONS, WIDE_OPERATIONS, data_call
from .known import Identifier, Known
from .tree import Table, Tree

__all__ = [
    "DATA_OPERATIONS",
    "STORAGE",
    "Call",
    "Dataset",
    "Granted",
    "Identifier",
    "Known",
    "Line",
    "Mismatch",
    "Outcome",
    "Refused",
    "Rows",
    "Snapshot",
    "Table",
    "Tree",
    "WIDE_OPERATIONS",
    "data_call",
    "local_path",
    "value_of",
]
