"""Run the fast tests on each mutant, several at a time, and keep the score.

Each worker has a copy of the project. The outcome of a mutant is kept in ``build/mutants``, and is
asked for again where its file has changed, and with ``--again`` where it survived.
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

from .make import Mutant, mutants_of
from .packages import PACKAGES, ROOT

BOUND = 0.9
TIMEOUT = 300
"""Seconds after which a mutant that hangs counts as caught."""
RESULTS = ROOT / "build" / "mutants"
COPIED = (
    "lance_namespace_impls", "generated", "codegen", "tests", "examples", "docs", "benchmarks", "demo",
    "rest.yaml", "pyproject.toml", "requirements.lock", "README.md", "CONTRIBUTING.md", "CHANGELOG.md",
    "noxfile.py", "mkdocs.yml", "lance_namespace_kit.py", "lance_namespace_pytest.py",
    "pyspark_lance_namespace.py",
)  # fmt: skip


_running: set[int] = set()
"""Process groups of the tests under way."""


def stop(*_: object) -> None:
    """End the tests under way, and this process."""
    for group in list(_running):
        os.killpg(group, signal.SIGKILL)
    os._exit(1)


class Scores:
    """The outcomes so far."""

    def __init__(self, package: str) -> None:
        self._path = RESULTS / f"{package}.jsonl"
        self._lock = threading.Lock()
        self.known: dict[str, bool] = {}
        if self._path.exists():
            for line in self._path.read_text("utf-8").splitlines():
                row = json.loads(line)
                self.known[row["key"]] = row["caught"]

    def add(self, key: str, mutant: Mutant, caught: bool, by: str) -> None:
        with self._lock:
            self.known[key] = caught
            RESULTS.mkdir(parents=True, exist_ok=True)
            row = {
                "key": key,
                "mutant": mutant.name,
                "what": str(mutant),
                "caught": caught,
                "by": by,
            }
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def key_of(package: str, mutant: Mutant) -> str:
    """Return what an outcome holds for: the mutant and the file that it is in."""
    digest = hashlib.sha256(f"{package} {mutant.name}".encode())
    digest.update((ROOT / mutant.file).read_bytes())
    return digest.hexdigest()[:16]


def copy_project(to: Path) -> None:
    """Copy what tests read."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, to / name)


def check_without(copy: Path, package: str) -> None:
    """Stop where the tests of a package fail by themselves: they would catch anything."""
    failed, by = _fails(copy, PACKAGES[package].tests)
    if failed:
        sys.exit(f"{package}: the tests fail without a mutant: {by}")


def is_caught(copy: Path, package: str, mutant: Mutant) -> tuple[bool, str]:
    """Run the tests of a package on a copy with the fault in it; return whether one failed."""
    path = copy / mutant.file
    original = path.read_bytes()
    mutant.apply(copy)
    try:
        return _fails(copy, PACKAGES[package].tests)
    finally:
        path.write_bytes(original)


def _fails(copy: Path, tests: tuple[str, ...]) -> tuple[bool, str]:
    paths = os.pathsep.join([str(copy / "generated"), str(copy)])
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider",
        "-m", "not slow and not real", *tests,
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command, cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    ) as process:  # fmt: skip
        _running.add(process.pid)
        try:
            said, _ = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return True, "the time ran out"
        finally:
            _running.discard(process.pid)
    last = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return process.returncode not in (0, 5), (last or said.splitlines()[-1:] or [""])[0][:160]


def run(package: str, jobs: int, limit: int | None, *, again: bool) -> None:
    """Ask for the outcome of each mutant of a package that is not known yet.

    Args:
        package: its name.
        jobs: copies at work at a time.
        limit: most mutants to run now.
        again: whether those that survived are run again, as after a new test.
    """
    scores = Scores(package)
    if again:
        scores.known = {key: caught for key, caught in scores.known.items() if caught}
    waiting: queue.SimpleQueue[tuple[str, Mutant]] = queue.SimpleQueue()
    todo = [(key_of(package, each), each) for each in mutants_of(package)]
    for item in [item for item in todo if item[0] not in scores.known][:limit]:
        waiting.put(item)
    if waiting.empty():
        return
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy_project(Path(folder))
        check_without(Path(folder), package)

    def work() -> None:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            copy = Path(folder)
            copy_project(copy)
            while True:
                try:
                    key, mutant = waiting.get_nowait()
                except queue.Empty:
                    return
                caught, by = is_caught(copy, package, mutant)
                scores.add(key, mutant, caught, by)
                print("caught  " if caught else "SURVIVED", mutant, flush=True)

    workers = [threading.Thread(target=work) for _ in range(min(jobs, waiting.qsize()))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def score(packages: list[str]) -> float:
    """Print how many mutants of each package are caught, and those that are not."""
    total = caught_total = made = 0
    survivors = []
    for package in packages:
        known = Scores(package).known
        mutants = mutants_of(package)
        made += len(mutants)
        outcomes = {each: known.get(key_of(package, each)) for each in mutants}
        caught = sum(outcome is True for outcome in outcomes.values())
        done = sum(outcome is not None for outcome in outcomes.values())
        survivors += [each for each, outcome in outcomes.items() if outcome is False]
        total, caught_total = total + done, caught_total + caught
        print(f"{package:12} {caught:4} of {done:4} caught, {len(mutants) - done:4} not run")
    print(f"{'all':12} {caught_total:4} of {total:4} caught, {made} in all")
    for each in survivors:
        print(f"survived: {each.name} {each}")
    return caught_total / total if total else 0.0


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="packages, all unless given")
    parser.add_argument("--jobs", type=int, default=2, help="copies at work at a time")
    parser.add_argument("--limit", type=int, help="most mutants of a package to run now")
    parser.add_argument("--again", action="store_true", help="run those that survived again")
    parser.add_argument("--score", action="store_true", help="print the score alone")
    options = parser.parse_args()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)
    packages = options.packages or list(PACKAGES)
    if not options.score:
        for package in packages:
            run(package, options.jobs, options.limit, again=options.again)
    found = score(packages)
    if found < BOUND:
        sys.exit(f"{found:.0%} of the mutants are caught, and {BOUND:.0%} should be")
