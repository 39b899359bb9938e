"""A correct target passes every check, and a run leaves no objects on it."""

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
"""Targets that add little coverage.

They are the target recorded for other tests, catalogs with other levels, the same catalogs behind a
server, and databases and directories with a manifest, which the behaviour suite always covers.
"""


# One check commits directly to storage; a catalog that manages versions warns about this.
@pytest.mark.filterwarnings("ignore:.*committed without the catalog")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CORRECT],
)
def test_a_correct_target_passes_every_check(name, tmp_path):
    check_correct(name, tmp_path, skip=WIDE)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*committed without the catalog")
@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_target_passes_the_wide_checks(name, tmp_path):
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


def test_a_read_only_run_creates_nothing(tmp_path):
    with correct("mixed", tmp_path) as target:
        outcome = run(target, Options(read_only=True))
        assert target.namespace._catalog.namespaces == {}
    assert outcome.failed() == []
    assert list(tmp_path.iterdir()) == []
