"""Random sequences: right on correct targets for many seeds, and short where one is wrong."""

from __future__ import annotations

import pytest

from lance_namespace_impls.conformance.exchange import Reply
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


def test_a_script_makes_the_table_that_checks_share(tmp_path):
    """Whoever replays the failure of one check has none of what the checks before it made."""

    def act(target, step):
        if "filter" in step.request:
            return Reply(step=step, code=18, message="no filters today")
        return None

    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed")), act)
    only = ("LN-QUERY-002", "LN-QUERY-003")
    failed = run(target, Options(only=only, max_seconds=600)).failed()
    assert [finding.check.id for finding in failed] == list(only)
    for finding in failed:
        made = [step for step in finding.script if step.operation == "CreateTable"]
        asked = [step for step in finding.script if step.operation == "QueryTable"]
        assert [step.request["id"] for step in made] == [asked[0].request["id"]]
        assert finding.script.index(made[0]) < finding.script.index(asked[0])
