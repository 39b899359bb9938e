"""Every wrong namespace is caught by the check of the rule that it breaks."""

from __future__ import annotations

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import CHECKS
from lance_namespace_impls.conformance.runner import Options, run
from lance_namespace_impls.conformance.scenarios import load_all

from .targets import memory
from .trace import caught as first_caught
from .wrong import replaced, storage, tables, together  # noqa: F401 - each registers its faults
from .wrong.generated import CODES, FIELDS, dropped, of_another_type
from .wrong.python import WRONG, Act, WrongTarget, code_instead

load_all()


def caught(tmp_path, act: Act, *only: str) -> list[str]:
    """Return the ids of the checks that fail with a fault."""
    correct = PythonTarget(memory(tmp_path, "mixed"), "wrong")
    outcome = run(WrongTarget(correct, act), Options(only=only, max_seconds=100))
    return [finding.check.id for finding in outcome.failed()]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_namespace_is_caught_by_the_check_of_its_rule(name, tmp_path):
    wrong = WRONG[name]
    assert wrong.caught_by in CHECKS
    more = ("LN-TABLE-DROP-*",) if wrong.caught_by == "LN-SAFE-001" else ()
    found = caught(tmp_path, wrong.act, wrong.caught_by, *more)
    assert wrong.caught_by in found


def schema_check(operation: str) -> str:
    return next(
        check.id
        for check in CHECKS.values()
        if check.id.startswith("LN-SCHEMA-") and check.requirement.split()[3] == operation
    )


# These operations need a catalog that manages table versions; the target here does not.
MANAGED = {
    "CreateTableVersion",
    "BatchCreateTableVersions",
    "BatchCommitTables",
    "DescribeTransaction",
    "AlterTransaction",
}

with connect("memory", {}) as _namespace:
    SUPPORTED = set(_namespace.list_operations({}).operations) - MANAGED

EXERCISED = [(operation, key) for operation, key in FIELDS if operation in SUPPORTED]


@pytest.mark.parametrize("how", [dropped, of_another_type])
@pytest.mark.parametrize(("operation", "key"), EXERCISED)
def test_a_required_field_that_is_wrong_is_caught(operation, key, how, tmp_path):
    checks = [c.id for c in CHECKS.values() if operation in c.operations and c.run is not None]
    found = caught(tmp_path, how(operation, key), schema_check(operation), *checks[:8])
    assert schema_check(operation) in found


REACHED = [
    (operation, before, after)
    for operation, before, after in CODES
    if operation in SUPPORTED and before not in (14, 19, 1, 3)
]


@pytest.mark.parametrize(("operation", "before", "after"), REACHED)
def test_a_neighboring_code_is_caught(operation, before, after, tmp_path):
    checks = [c.id for c in CHECKS.values() if operation in c.operations and c.run is not None]
    act = code_instead(operation, before, after)
    assert first_caught(WrongTarget(PythonTarget(memory(tmp_path, "mixed"), "wrong"), act), checks)


def test_a_flat_namespace_that_loses_rows_is_caught(tmp_path):
    correct = PythonTarget(connect("dir", {"path": str(tmp_path)}), "flat")
    act = WRONG["CreateTable stores no rows"].act
    outcome = run(WrongTarget(correct, act), Options(only=("LN-TABLE-CREATE-*",)))
    assert "LN-TABLE-CREATE-002" in [finding.check.id for finding in outcome.failed()]
