"""The suite finds the fault of each mutant."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from .machine import find_fault
from .mutants import DIRECTORY_MUTANTS, MEMORY_MUTANTS
from .subjects import directory_subject, memory_subject

pytestmark = pytest.mark.xdist_group("spread")

RUNS = 1000
"""Most faults are found within 50 runs."""
RARE = {
    "takes an unknown mode for the default",
    "takes any page token",
    "moves a table to the wrong namespace",
}
"""Mutants whose fault is found only after hundreds of runs."""


def mark_rare_as_slow(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow) if name in RARE else name for name in names]


@pytest.mark.parametrize("mutant", mark_rare_as_slow(DIRECTORY_MUTANTS))
def test_finds_the_fault_of_a_directory_mutant(mutant: str, tmp_path: Path) -> None:
    found = find_fault(directory_subject(tmp_path / "tables", DIRECTORY_MUTANTS[mutant]), RUNS)
    assert found is not None, f"a namespace that {mutant} passes the suite"


@pytest.mark.parametrize("mutant", mark_rare_as_slow(MEMORY_MUTANTS))
def test_finds_the_fault_of_a_catalog_mutant(mutant: str, tmp_path: Path) -> None:
    found = find_fault(memory_subject(tmp_path / "tables", MEMORY_MUTANTS[mutant]), RUNS)
    assert found is not None, f"a namespace that {mutant} passes the suite"
