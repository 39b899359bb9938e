"""Random sequences of calls; every answer is compared with the oracle."""

from __future__ import annotations

from ...explorer import explore
from ...lab import Lab
from ...requirement import check

SEQUENCES = 60


@check("LN-SEQUENCE-001",
       "In any sequence of calls, each answer matches the state that the previous calls created.",
       "rest.yaml, the operations; protocol semantics, Modes and Errors", "CreateTable",
       "ListTables", "QueryTable", "InsertIntoTable", capabilities=["tables"])  # fmt: skip
def sequences(lab: Lab) -> None:
    explore(lab, lab.seed, SEQUENCES)
