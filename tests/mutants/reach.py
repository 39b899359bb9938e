"""Record which tests run which lines with a pytest plugin, and select the tests for a mutant.

A mutant needs the tests that run its line, but to run all of them would take minutes. So the plugin
records only some of the passing tests of each file: first one case of each test function, fast
tests first. Lines that only a child process runs are not recorded; there the tests of the package
are used.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .packages import REACH, ROOT

__all__ = ["tests_of"]

_NAME = re.compile(r"[A-Za-z_]{4,}")
_WORD = re.compile(r"[a-z_]{5,}")
NAMED = 15
"""Maximum number of tests that come first because their ids share a word with the mutant."""
ABOUT_FILES, ABOUT = 3, 7
"""Number of test files that best match a line, and number of tests from each that come first."""
FEW = 20
"""If fewer tests run a line, others are added: often other tests ran it during their import."""
UNKNOWN_SECONDS = 0.05
"""Assumed for a test whose duration was not recorded."""
PER_FILE = 30
"""Maximum number of tests of one file that are recorded for a line."""
SOURCES = ("lance_namespace_impls", "generated/lance_namespace_client", "codegen")


class Recorder:
    """Records the lines that each test runs."""

    def __init__(self, to: Path) -> None:
        import coverage

        self._to = to
        self._coverage = coverage.Coverage(
            data_file=None, config_file=False, source=[str(ROOT / each) for each in SOURCES]
        )
        self._coverage.start()
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        yield
        self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        data = self._coverage.get_data()
        found = {
            Path(file).relative_to(ROOT).as_posix(): {
                line: self._quickest(tests) for line, tests in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        kept = {test for lines in found.values() for tests in lines.values() for test in tests}
        self._to.parent.mkdir(parents=True, exist_ok=True)
        seconds = {test: round(self._seconds[test], 3) for test in sorted(kept)}
        self._to.write_text(json.dumps({"seconds": seconds, "lines": found}), "utf-8")

    def _quickest(self, tests: list[str]) -> list[str]:
        passed = {test for test in tests if test in self._seconds and test not in self._failed}
        kept: Counter[str] = Counter()
        chosen = []
        for test in _interleaved(passed, self._seconds):
            file = test.partition("::")[0]
            kept[file] += 1
            if kept[file] <= PER_FILE:
                chosen.append(test)
        return chosen


def pytest_configure(config: pytest.Config) -> None:
    """Record lines if the environment names an output file."""
    if to := os.environ.get("LANCE_NS_REACH"):
        config.pluginmanager.register(Recorder(Path(to)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write the ids of failed tests to a file."""
    if report.failed and (to := os.environ.get("LANCE_NS_FAILED")):
        with open(to, "a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write the ids of all tests to a file."""
    if to := os.environ.get("LANCE_NS_COLLECTED"):
        Path(to).write_text(json.dumps([item.nodeid for item in session.items]), "utf-8")


@cache
def _collected() -> list[str]:
    found: list[str] = json.loads((REACH / "collected").read_text("utf-8"))
    return found


@cache
def _recorded() -> tuple[dict[str, float], dict[str, dict[int, list[str]]]]:
    there = set(_collected())
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, list[str]]] = {}
    for path in sorted(REACH.glob("*.json")):
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        seconds |= found["seconds"]
        for file, of_file in found["lines"].items():
            for line, tests in of_file.items():
                lines.setdefault(file, {}).setdefault(int(line), []).extend(
                    there.intersection(tests)
                )
    return seconds, lines


def tests_of(
    file: str, first: int, last: int, text: str, folders: tuple[str, ...]
) -> list[tuple[str, float]]:
    """Return the tests for a mutant and their durations in seconds, in the order to run them."""
    tests = tests_of_lines(file, first, last, text)
    if len(tests) < FEW:
        tests += tests_of_file(file, folders, text)
    lines = (ROOT / file).read_text("utf-8").splitlines()[first - 1 : last]
    within = [name for name, body in _functions(file) if first in body]
    names = frozenset(_NAME.findall("\n".join([*lines, text, *within])))
    seconds, _ = _recorded()
    ordered = dict.fromkeys([*_best_matching(names, tests), *tests])
    return [(test, seconds.get(test, UNKNOWN_SECONDS)) for test in ordered]


def _best_matching(names: frozenset[str], tests: list[str]) -> list[str]:
    """Return the tests from the files that best match some names; names in few files count more."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(test.partition("::")[0], []).append(test)
    worth = dict.fromkeys(files, 0.0)
    for name in names:
        holding = [each for each in files if _holds(each, name)]
        for each in holding:
            worth[each] += 1 / len(holding)
    best = sorted(files, key=lambda each: -worth[each])[:ABOUT_FILES]
    return [test for file in best for test in files[file][:ABOUT]]


def tests_of_lines(file: str, first: int, last: int, text: str) -> list[str]:
    """Return the tests that run a line of a range, in the order to run them.

    Tests whose ids share a word with the text come first, because they probably test this code.
    Then come the tests of the lines that the fewest tests run. The result is empty for code that
    runs when a module is imported, because the recorded tests only happened to import it first.
    """
    if not any(first in body or last in body for _, body in _functions(file)):
        return []
    seconds, lines = _recorded()
    of_file = lines.get(file, {})
    found: dict[str, None] = {}
    for tests in sorted((of_file.get(line, []) for line in range(first, last + 1)), key=len):
        found |= dict.fromkeys(_interleaved(set(tests), seconds))
    files = {test.partition("::")[0] for test in found}
    named = [
        test
        for test in _collected()
        if test.partition("::")[0] in files and _words(test) & _words(text)
    ]
    return list(dict.fromkeys([*named[:NAMED], *found]))


@cache
def _functions(file: str) -> list[tuple[str, range]]:
    """Return the name and the lines of each function of a file."""
    found = []
    for node in ast.walk(ast.parse((ROOT / file).read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body = node.body[0] if isinstance(node.body, list) else node.body
            lines = range(body.lineno, (node.end_lineno or body.lineno) + 1)
            found.append((getattr(node, "name", ""), lines))
    return found


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.partition("[")[2] or text))


def tests_of_file(file: str, folders: tuple[str, ...], text: str) -> list[str]:
    """Return all tests from the test files, within some folders, that run a line of a file.

    This is for code that runs when a module is imported, which any of them may test. Test files
    that contain the text come first, then those that contain the name of the module.
    """
    seconds, lines = _recorded()
    reaching = {test for tests in lines.get(file, {}).values() for test in tests}
    files = Counter(test.partition("::")[0] for test in reaching if test.startswith(folders))
    text, module = text.strip("\"', "), file.removesuffix(".py").replace("/", ".")
    ranked = sorted(
        files, key=lambda each: (not _holds(each, text), not _holds(each, module), -files[each])
    )
    found = []
    for of_test in ranked:
        cases = {test for test in _collected() if test.startswith(f"{of_test}::")}
        found += sorted(_interleaved(cases, seconds), key=lambda test: text not in test)
    return found


@cache
def _holds(file: str, text: str) -> bool:
    return len(text) > 2 and text in (ROOT / file).read_text("utf-8")


def _interleaved(tests: set[str], seconds: dict[str, float]) -> list[str]:
    """Return one case of each test function, fastest first, then a second case of each, etc."""
    cases: Counter[str] = Counter()
    placed = []
    for test in sorted(tests, key=lambda each: (seconds.get(each, UNKNOWN_SECONDS), each)):
        function = test.partition("[")[0]
        cases[function] += 1
        placed.append((cases[function], seconds.get(test, UNKNOWN_SECONDS), test))
    return [test for _, _, test in sorted(placed)]
