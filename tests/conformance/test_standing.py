"""If a check and one of its prerequisite checks both fail, the former counts as not reached."""

from __future__ import annotations

import pytest
from attrs import evolve

from lance_namespace_impls.conformance.lab import Failed
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import CHECKS, Result
from lance_namespace_impls.conformance.runner import PREPARED, Finding, Options, _Runner, run
from lance_namespace_impls.conformance.scenarios import load_all
from lance_namespace_impls.conformance.standing import CARRIES, stands_on

from .targets import memory
from .wrong import tables  # noqa: F401 - registers its faults
from .wrong.python import WRONG, WrongTarget

load_all()


def findings(tmp_path, *only: str) -> dict[str, Finding]:
    act = WRONG["writes go to the main line"].act
    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed"), "wrong"), act)
    return {f.check.id: f for f in run(target, Options(only=only)).findings}


@pytest.mark.parametrize("lower", CARRIES)
def test_prerequisites_name_existing_checks_and_have_no_cycle(lower):
    upper = {f"LN-{name}" for name in CARRIES[lower].split()}
    assert upper <= set(CHECKS)
    assert CHECKS[f"LN-{lower}"].run is not None
    below, seen = [f"LN-{lower}"], set[str]()
    while below:
        id = below.pop()
        seen.add(id)
        below += [other for other in stands_on(id) if other not in seen]
    assert not seen & upper


def test_a_failed_prerequisite_makes_the_check_not_reached(tmp_path):
    found = findings(tmp_path, "LN-BRANCH-003", "LN-BRANCH-017")
    assert found["LN-BRANCH-003"].result is Result.FAIL
    assert found["LN-BRANCH-017"].result is Result.NOT_REACHED
    assert "LN-BRANCH-003 failed: expected the number of rows" in found["LN-BRANCH-017"].got


def test_a_check_that_runs_alone_names_its_failed_prerequisite(tmp_path):
    found = findings(tmp_path, "LN-BRANCH-017")["LN-BRANCH-017"]
    assert (found.result, found.expected) == (Result.FAIL, PREPARED)
    assert found.got.startswith("LN-BRANCH-003 failed")


def test_a_check_that_passes_ignores_its_prerequisites(tmp_path):
    found = findings(tmp_path, "LN-BRANCH-014")
    assert found["LN-BRANCH-014"].result is Result.PASS


@pytest.mark.parametrize("left_out", [{"skip": ("LN-BRANCH-003",)}, {"read_only": True}])
def test_an_excluded_prerequisite_is_not_run(tmp_path, monkeypatch, left_out):
    """The dependent check then fails as if it had no prerequisite."""
    ran = []

    def fails(lab):
        raise Failed("one", "another")

    upper, lower = CHECKS["LN-BRANCH-017"], CHECKS["LN-BRANCH-003"]
    monkeypatch.setitem(CHECKS, upper.id, evolve(upper, run=fails, changes=False))
    monkeypatch.setitem(CHECKS, lower.id, evolve(lower, run=ran.append))
    target = PythonTarget(memory(tmp_path, "mixed"), "right")
    monkeypatch.setattr(_Runner, "_missing", lambda self, check: "")
    options = Options(only=("LN-BRANCH-017",), **left_out)
    (found,) = [f for f in run(target, options).findings if f.check.id == upper.id]
    assert (found.result, found.expected, found.got) == (Result.FAIL, "one", "another")
    assert ran == []
