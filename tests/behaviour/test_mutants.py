"""The suite finds what is wrong: each mutant is wrong in one way."""

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
"""Most are found within 50."""
RARE = {
    "takes an unknown mode for the default",
    "takes any page token",
    "moves a table to the wrong namespace",
}
"""Found after hundreds."""


def rare_ones_slow(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow) if name in RARE else name for name in names]


@pytest.mark.parametrize("mutant", rare_ones_slow(DIRECTORY_MUTANTS))
def test_finds_what_is_wrong_with_a_directory(mutant: str, tmp_path: Path) -> None:
    found = find_fault(directory_subject(tmp_path / "tables", DIRECTORY_MUTANTS[mutant]), RUNS)
    assert found is not None, f"a namespace that {mutant} passes the suite"


@pytest.mark.parametrize("mutant", rare_ones_slow(MEMORY_MUTANTS))
def test_finds_what_is_wrong_with_a_catalog(mutant: str, tmp_path: Path) -> None:
    found = find_fault(memory_subject(tmp_path / "tables", MEMORY_MUTANTS[mutant]), RUNS)
    assert found is not None, f"a namespace that {mutant} passes the suite"
