"""Runs the conformance kit with many seeds on correct targets: every failure is a false alarm.

``python -m tests.conformance.seeds [--seeds N] [--whole N] TARGET...`` runs all checks with the first
``--whole`` seeds. With the remaining seeds it runs only the checks that depend on the seed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lance_namespace_impls import connect
from lance_namespace_impls.conformance.lab import Target
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import Result
from lance_namespace_impls.conformance.runner import Options, run
from tests.servers.hive import shared

from .results import SUBJECTS, Subject

DRAWN = ("LN-ORDER-*", "LN-SEQUENCE-*")
"""The checks that depend on the seed."""


@contextmanager
def _hive_3_1(folder: Path) -> Iterator[Target]:
    with connect("hive2", {"uri": shared("3.1").uri, "root": str(folder)}) as namespace:
        yield PythonTarget(namespace, "hive-3.1")


@contextmanager
def _unity_double(folder: Path) -> Iterator[Target]:
    from tests.clients.backends import BACKENDS

    with BACKENDS["unity"](folder) as home:
        yield PythonTarget(home.namespace, "unity-double")


RIGHT = {
    **{name: SUBJECTS[name] for name in ("memory", "dir", "rest", "iceberg", "unity")},
    "hive-3.1": Subject(make=_hive_3_1),
    "unity-double": Subject(make=_unity_double, under=("main",)),
}


def alarms(name: str, seeds: int, whole: int) -> int:
    """Run the kit on a target with seeds from 0, print the failures, and return their number."""
    subject = RIGHT[name]
    failed = 0
    longest = 0.0
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lns-") as folder, subject.make(Path(folder)) as target:
        for seed in range(seeds):
            only = () if seed < whole else DRAWN
            options = Options(under=subject.under, seed=seed, max_seconds=3600, only=only)
            outcome = run(target, options)
            wrong = [f for f in outcome.findings if f.result in (Result.FAIL, Result.NOT_REACHED)]
            failed += len(wrong)
            for each in wrong:
                print(f"{name} seed {seed} {each.check.id} {each.result.value}: "
                      f"expected {each.expected}; got {each.got}", flush=True)  # fmt: skip
            if outcome.leftovers:
                failed += 1
                print(f"{name} seed {seed}: left {outcome.leftovers}", flush=True)
            if not only:
                longest = max(longest, outcome.seconds)
                print(f"{name} seed {seed}: all checks in {outcome.seconds:.1f} s", flush=True)
    print(
        f"{name}: {failed} false alarms in {seeds} seeds ({whole} with all checks, the longest "
        f"{longest:.1f} s) in {time.monotonic() - started:.0f} s",
        flush=True,
    )
    return failed


def main(arguments: list[str]) -> int:
    """Return 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.seeds")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--whole", type=int, default=5)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(RIGHT))
    given = parser.parse_args(arguments)
    failed = [alarms(name, given.seeds, given.whole) for name in given.targets or RIGHT]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
