"""Wrong namespaces that name no check: a whole run catches each, in its time."""

from __future__ import annotations

import pytest

from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import Result
from lance_namespace_impls.conformance.runner import Finding, Options, run

from .targets import memory
from .wrong import fresh_answers  # noqa: F401 - adds its own
from .wrong.fresh import FRESH
from .wrong.python import WrongTarget


class Caught(Exception):
    """A check failed: the rest of the run tells nothing more."""


def stop_at_first(finding: Finding) -> None:
    if finding.result is Result.FAIL:
        raise Caught(finding.check.id)


@pytest.mark.slow
@pytest.mark.parametrize("name", FRESH)
def test_a_wrong_namespace_is_caught(name, tmp_path):
    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed"), "wrong"), FRESH[name])
    with pytest.raises(Caught):
        run(target, Options(seed=3, max_seconds=120), stop_at_first)
