"""Random sequences of calls, every answer compared with a model."""

from __future__ import annotations

from ..explorer import explore
from ..lab import Lab
from ..requirement import check

SEQUENCES = 60


@check("LN-SEQUENCE-001",
       "Whatever was called before, each answer fits what the calls so far have made.",
       "rest.yaml, the operations; protocol semantics, Modes and Errors", "CreateTable",
       "ListTables", "QueryTable", "InsertIntoTable", capabilities=["tables"])  # fmt: skip
def sequences(lab: Lab) -> None:
    explore(lab, lab.seed, SEQUENCES)
