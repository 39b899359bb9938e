"""Wrong namespaces that each break one sentence of the protocol's documents."""

from . import (
    answers,
    changes,
    failing,
    history,
    life,
    lines,
    objects,
    queries,
    rows,
    shape,
    state,
    tree,
)
from .asking import SENTENCES

__all__ = [
    "SENTENCES",
    "answers",
    "changes",
    "failing",
    "history",
    "life",
    "lines",
    "objects",
    "queries",
    "rows",
    "shape",
    "state",
    "tree",
]
