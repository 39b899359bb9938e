"""Random sequences: right on correct targets for many seeds, and short where one is wrong."""

from __future__ import annotations

import pytest

from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.runner import Options, run

from .targets import correct, memory
from .wrong import tables  # noqa: F401 - adds its own
from .wrong.python import WRONG, WrongTarget

ONLY = ("LN-SEQUENCE-*",)


@pytest.mark.parametrize("name", ["dir", "mixed", "three-levels"])
@pytest.mark.parametrize("seed", range(4))
def test_a_correct_target_passes_every_sequence(name, seed, tmp_path):
    with correct(name, tmp_path) as target:
        outcome = run(target, Options(only=ONLY, seed=seed, max_seconds=600))
    assert [(f.expected, f.got, f.script) for f in outcome.failed()] == []


@pytest.mark.parametrize(
    "name",
    [
        "append overwrites",
        "overwrite appends",
        "RestoreTable does nothing",
        "the count ignores the version",
        "ListTables leaves the first out",
    ],
)
def test_a_wrong_one_is_found_and_its_script_is_short(name, tmp_path):
    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed")), WRONG[name].act)
    outcome = run(target, Options(only=ONLY, seed=1, max_seconds=600))
    (found,) = [f for f in outcome.failed() if f.check.id == "LN-SEQUENCE-001"]
    assert len(found.script) <= 12
