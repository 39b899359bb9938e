"""Which objects a run removes, and when it retries a failed removal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.runner import CLEANED_AT_ONCE, Options, run

from .targets import memory
from .wrong.python import WrongTarget

ONLY = ("LN-TABLE-DESCRIBE-*", "LN-TABLE-EXISTS-*", "LN-VALUE-*")


def test_failed_removals_are_retried_only_when_the_run_ends(tmp_path: Path) -> None:
    tried: Counter[tuple[str, ...]] = Counter()

    def in_use(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation not in ("DropTable", "DeregisterTable"):
            return None
        tried[tuple(step.request["id"])] += step.operation == "DropTable"
        return Reply(step=step, code=18, message="the table is in use")

    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed")), in_use)
    outcome = run(target, Options(only=ONLY, seed=1, max_seconds=600))
    left = {identifier for kind, identifier in outcome.leftovers if kind == "table"}
    assert len(left) > 2 * CLEANED_AT_ONCE
    # Each of the two cleanups tries twice, and a check may try once itself.
    assert max(tried[identifier] for identifier in left) <= 5
