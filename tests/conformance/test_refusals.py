"""Each check whose rule names an error code fails if the target returns success instead."""

from __future__ import annotations

import re

import pytest

from lance_namespace_impls.conformance.exchange import Reply
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import CHECKS
from lance_namespace_impls.conformance.runner import Options, run
from lance_namespace_impls.conformance.scenarios import load_all

from .targets import memory
from .wrong.python import WrongTarget

load_all()

# The code is one of several right answers, or the namespace in this test never returns it.
OPEN = {
    "LN-OPERATIONS-002", "LN-OPERATIONS-003", "LN-MISSING-036", "LN-NAMESPACE-DROP-002",
    "LN-NAMESPACE-DROP-013", "LN-TABLE-DESCRIBE-004", "LN-TABLE-DROP-008", "LN-NAME-013",
    "LN-NAME-015", "LN-RACE-007", "LN-RACE-011", "LN-REFERENCE-001", "LN-PAGE-025", "LN-PAGE-028",
    "LN-NAME-001", "LN-NAME-002", "LN-NAME-018", "LN-NAME-019", "LN-REFERENCE-061",
    "LN-ROWS-MERGE-013",
}  # fmt: skip
CODES = re.compile(r"\bcode (\d+(?:(?:, | or |, or )\d+)*)")
NAMED = [
    (name, codes)
    for name, check in CHECKS.items()
    if check.run is not None
    and name not in OPEN
    and not name.startswith(("LN-SCHEMA-", "LN-WIRE-"))
    for codes in CODES.findall(check.requirement)
]


@pytest.mark.parametrize(("name", "codes"), NAMED)
def test_a_success_instead_of_a_code_is_caught(name, codes, tmp_path):
    expected = {int(code) for code in re.findall(r"\d+", codes)}
    of_all = re.search("[Ee]very (operation|listing)", CHECKS[name].requirement)

    def act(target, step):
        reply = target.correct.call(step)
        if reply.code not in expected or not (of_all or step.operation in CHECKS[name].operations):
            return reply
        # The state is unchanged and the answer is empty, so only the missing code shows the fault.
        return Reply(step=step, answer={})

    correct = PythonTarget(memory(tmp_path, "mixed"), "refusals")
    outcome = run(WrongTarget(correct, act), Options(only=(name,)))
    assert [finding.check.id for finding in outcome.failed()] == [name]
