"""A correct target fails nothing, and nothing stays behind on it."""

from __future__ import annotations

import pytest

from lance_namespace_impls.conformance.requirement import Result
from lance_namespace_impls.conformance.runner import Options, run
from tests.conformance.targets import CORRECT, UNDER, WIDE, correct

pytestmark = pytest.mark.xdist_group("spread")

SLOW = (
    *("mixed", "one-catalog", "two-levels", "three-levels", "any-depth"),
    *("rest-mixed", "rest-three-levels", "sql-postgresql", "sql-managed", "dir-manifest"),
)
"""Those that show little which the others do not: what is recorded for other tests, other levels, the same
behind a server, and where the behaviour suite runs each time, databases and directories with a manifest.
"""


# A check commits past the catalog, which says so where it keeps the versions.
@pytest.mark.filterwarnings("ignore:.*committed without the catalog")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CORRECT],
)
def test_a_correct_target_fails_nothing(name, tmp_path):
    check_correct(name, tmp_path, skip=WIDE)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*committed without the catalog")
@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_target_fails_nothing_on_wide_courses(name, tmp_path):
    check_correct(name, tmp_path, only=WIDE)


def check_correct(name, tmp_path, skip=(), only=()):
    options = Options(under=UNDER.get(name, ()), skip=skip, only=only, max_seconds=3600)
    with correct(name, tmp_path) as target:
        outcome = run(target, options)
    assert [(f.check.id, f.expected, f.got) for f in outcome.failed()] == []
    assert not [f for f in outcome.findings if f.result is Result.NOT_REACHED]
    assert outcome.leftovers == []
    passed = [f for f in outcome.findings if f.result is Result.PASS]
    assert len(passed) > 60


def test_a_read_only_run_makes_nothing(tmp_path):
    with correct("mixed", tmp_path) as target:
        outcome = run(target, Options(read_only=True))
        assert target.namespace._catalog.namespaces == {}
    assert outcome.failed() == []
    assert list(tmp_path.iterdir()) == []
