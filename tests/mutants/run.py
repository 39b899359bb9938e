"""Run the fast tests on each mutant, several mutants in parallel, and compute the score.

Each worker has a copy of the project. A mutant runs against the tests that run its line
(`reach.py`), the most promising first, within a time limit. A failing test counts only if it passes
without the mutant. The outcomes are stored in ``build/mutants``. A mutant runs again if its file
has changed, or with ``--again`` if it was not caught.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from attrs import field, frozen

from .make import SEED, Mutant, mutants_of
from .packages import PACKAGES, REACH, ROOT
from .reach import tests_of

BOUND = 0.9
CAUGHT, SURVIVED, TIMEOUT = "caught", "survived", "timeout"
ROUNDS = ((4.0, 25, 6), (25.0, 120, 30), (90.0, 800, 200))
"""Maximum recorded seconds, tests and files of each round; each round runs further tests.

The number of files is limited because importing a test file takes longer than most tests. The last
round runs only with ``--again``.
"""
GRACE = 120
"""Seconds that a round may take in addition to ten times the recorded duration.

Servers need time to start, and the machine may be busy.
"""
RESULTS = ROOT / "build" / "mutants"
COPIED = (
    "lance_namespace_impls", "generated", "codegen", "tests", "examples", "docs", "benchmarks", "demo",
    "rest.yaml", "pyproject.toml", "constraints.txt", "README.md", "CONTRIBUTING.md", "CHANGELOG.md",
    "noxfile.py", "mkdocs.yml", "lance_namespace_kit.py", "lance_namespace_namesake.py",
    "lance_namespace_pytest.py", "pyspark_lance_namespace.py",
)  # fmt: skip


_running: set[int] = set()
"""Process groups of the running tests."""


def stop(*_: object) -> None:
    """Kill the running tests, and exit."""
    for group in list(_running):
        os.killpg(group, signal.SIGKILL)
    os._exit(1)


class Scores:
    """The stored outcomes of a package's mutants."""

    def __init__(self, package: str) -> None:
        self._path = RESULTS / f"{package}.jsonl"
        self._lock = threading.Lock()
        self.known: dict[str, str] = {}
        if self._path.exists():
            for line in self._path.read_text("utf-8").splitlines():
                row = json.loads(line)
                self.known[row["key"]] = row["outcome"]

    def add(self, key: str, mutant: Mutant, outcome: str, by: str) -> None:
        with self._lock:
            self.known[key] = outcome
            RESULTS.mkdir(parents=True, exist_ok=True)
            row = {
                "key": key,
                "mutant": mutant.name,
                "what": str(mutant),
                "outcome": outcome,
                "by": by,
            }
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def key_of(package: str, mutant: Mutant) -> str:
    """Return the key of an outcome: a hash of the mutant and the content of its file."""
    digest = hashlib.sha256(f"{package} {mutant.name}".encode())
    digest.update((ROOT / mutant.file).read_bytes())
    return digest.hexdigest()[:16]


def copy_project(to: Path) -> None:
    """Copy the files that tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, to / name)


def record() -> None:
    """Record which tests run which lines, for each folder of tests that is not recorded yet."""
    folders = sorted(
        each.name for each in (ROOT / "tests").iterdir() if any(each.glob("**/test_*.py"))
    )
    for name in folders:
        to = REACH / f"{name}.json"
        if not to.exists():
            print("recorded which lines are run by", f"tests/{name}", flush=True)
            _pytest(ROOT, [f"tests/{name}"], 3600, LANCE_NS_REACH=str(to))
    _pytest(ROOT, ["--collect-only", "tests"], 600, LANCE_NS_COLLECTED=str(REACH / "collected"))


@frozen
class Bench:
    """A copy of the project in which mutants run."""

    copy: Path
    good: dict[str, bool] = field(factory=dict)
    """For each test that failed with a mutant, whether it passes without."""

    def outcome(self, package: str, mutant: Mutant, *, again: bool) -> tuple[str, str]:
        """Return the outcome of a mutant and the reason: the test that caught it, or an explanation."""
        path = self.copy / mutant.file
        original = path.read_bytes()
        for tests, seconds in rounds(package, mutant)[: None if again else 2]:
            while tests:
                mutant.apply(self.copy)
                try:
                    code, failed = _pytest(self.copy, ["-x", *tests], seconds)
                except subprocess.TimeoutExpired:
                    return TIMEOUT, f"after {seconds:.0f} s"
                finally:
                    path.write_bytes(original)
                if code in (0, 5):
                    break
                if not failed or self.passes_without(failed):
                    return (
                        CAUGHT,
                        failed or f"pytest ended with {code}",
                    )  # if no test failed, the import itself failed
                tests = [each for each in tests if each != failed]
        return SURVIVED, ""

    def passes_without(self, test: str) -> bool:
        if test not in self.good:
            self.good[test] = _pytest(self.copy, [test], 600)[0] == 0
        return self.good[test]


def rounds(package: str, mutant: Mutant) -> list[tuple[list[str], float]]:
    """Return the tests of each round for a mutant, and the time limit of each round in seconds."""
    folders = PACKAGES[package].tests
    left = tests_of(mutant.file, mutant.first, mutant.last, mutant.old, folders)
    found: list[tuple[list[str], float]] = []
    for most_seconds, most, most_files in ROUNDS:
        chosen: list[str] = []
        later, files, spent = [], set[str](), 0.0
        for test, seconds in left:
            file = test.partition("::")[0]
            fits = spent + seconds <= most_seconds and len(chosen) < most
            if fits and (file in files or len(files) < most_files):
                chosen.append(test)
                files.add(file)
                spent += seconds
            else:
                later.append((test, seconds))
        left = later
        if chosen:
            found.append((chosen, GRACE + 10 * spent))
    found = found or [(list(folders), 1800.0)]
    found[0][0].extend(PACKAGES[package].whole)
    return found


def _pytest(root: Path, arguments: list[str], seconds: float, **more: str) -> tuple[int, str]:
    """Return the exit code of a test run and the first test that failed.

    Raises:
        subprocess.TimeoutExpired: the run exceeded the time limit.
    """
    paths = os.pathsep.join([str(root / "generated"), str(root)])
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        ids, failed = Path(folder, "ids"), Path(folder, "failed")
        ids.write_text("\n".join(arguments), "utf-8")
        failed.touch()
        command = [
            sys.executable, "-m", "pytest", "-qq", "--tb=no", "-p", "tests.mutants.reach",
            "-p", "lance_namespace_pytest", "-p", "_hypothesis_pytestplugin", f"@{ids}",
        ]  # fmt: skip
        environment = os.environ | more | {
            "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "LANCE_NS_FAILED": str(failed),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # loading plugins takes longer than a few tests
        }  # fmt: skip
        with subprocess.Popen(
            command, cwd=root, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:  # fmt: skip
            _running.add(process.pid)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
            finally:
                _running.discard(process.pid)
        return code, failed.read_text("utf-8").partition("\n")[0]


def run(package: str, jobs: int, limit: int | None, *, again: bool, seed: int = SEED) -> None:
    """Run each mutant of a package whose outcome is not stored yet.

    Args:
        package: its name.
        jobs: number of copies of the project that run in parallel.
        limit: maximum number of mutants to run now.
        again: whether to rerun mutants that were not caught, against more tests.
        seed: the seed of the random choice.
    """
    scores = Scores(package)
    if again:
        scores.known = {key: each for key, each in scores.known.items() if each == CAUGHT}
    waiting: queue.SimpleQueue[tuple[str, Mutant]] = queue.SimpleQueue()
    todo = [(key_of(package, each), each) for each in mutants_of(package, seed)]
    for item in [item for item in todo if item[0] not in scores.known][:limit]:
        waiting.put(item)

    def work() -> None:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            bench = Bench(Path(folder))
            copy_project(bench.copy)
            while True:
                try:
                    key, mutant = waiting.get_nowait()
                except queue.Empty:
                    return
                outcome, by = bench.outcome(package, mutant, again=again)
                scores.add(key, mutant, outcome, by)
                print(f"{outcome:8}", mutant, flush=True)

    workers = [threading.Thread(target=work) for _ in range(min(jobs, waiting.qsize()))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def score(packages: list[str], seed: int = SEED) -> float:
    """Print the score of each package and the mutants that are not caught; return the total score."""
    total = caught_total = made = 0
    left = []
    for package in packages:
        known = Scores(package).known
        mutants = mutants_of(package, seed)
        made += len(mutants)
        outcomes = [(known.get(key_of(package, each)), each) for each in mutants]
        caught, survived, timeout = (
            sum(outcome == kind for outcome, _ in outcomes) for kind in (CAUGHT, SURVIVED, TIMEOUT)
        )
        done = caught + survived + timeout
        left += [(outcome, each) for outcome, each in outcomes if outcome in (SURVIVED, TIMEOUT)]
        total, caught_total = total + done, caught_total + caught
        print(
            f"{package:12} {caught:4} of {done:4} caught, {survived:3} survived, {timeout:3} timeout, "
            f"{len(mutants) - done:4} not run"
        )
    print(f"{'all':12} {caught_total:4} of {total:4} caught; {made} mutants in total")
    for outcome, each in left:
        print(f"{outcome}: {each.name} {each}")
    return caught_total / total if total else 0.0


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="packages, all unless given")
    parser.add_argument("--jobs", type=int, default=2, help="copies at work at a time")
    parser.add_argument("--limit", type=int, help="most mutants of a package to run now")
    parser.add_argument("--seed", type=int, default=SEED, help="another choice than the usual one")
    parser.add_argument("--again", action="store_true", help="run those not caught again")
    parser.add_argument("--score", action="store_true", help="print the score alone")
    options = parser.parse_args()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)
    packages = options.packages or list(PACKAGES)
    if not options.score:
        record()
        for package in packages:
            run(package, options.jobs, options.limit, again=options.again, seed=options.seed)
    found = score(packages, options.seed)
    if found < BOUND:
        sys.exit(f"{found:.0%} of the mutants are caught, and {BOUND:.0%} should be")
