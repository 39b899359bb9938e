"""``pytest --lance-namespace URL``: runs the conformance checks on a server, one test item per
check.

This is a top-level module because pytest loads it in every run: it imports the packages only if the
option is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

__all__ = [
    "CheckItem",
    "Checks",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
]

NAME = "lance-namespace"
COULD_NOT_RUN = 2
LEFT = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup(NAME, "conformance of a Lance REST server")
    group.addoption(
        f"--{NAME}", metavar="URL", help="Base address of a Lance REST server to check."
    )
    group.addoption(
        f"--{NAME}-header", metavar="KEY=VALUE", action="append", default=[],
        help="Header of every request; repeatable.",
    )  # fmt: skip
    group.addoption(f"--{NAME}-token", metavar="TEXT", help="Bearer token.")
    group.addoption(
        f"--{NAME}-property", metavar="KEY=VALUE", action="append", default=[],
        help="Property of the rest backend to log in, such as credential; repeatable.",
    )  # fmt: skip
    group.addoption(
        f"--{NAME}-under", metavar="ID", default="",
        help="Namespace to work in, as names joined by $; defaults to the root.",
    )  # fmt: skip
    group.addoption(f"--{NAME}-read-only", action="store_true", help="Create and change nothing.")


@pytest.hookimpl(tryfirst=True)  # before -k and -m select tests
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add an item for each check if the option is used."""
    if config.getoption(f"--{NAME}"):
        items.extend(Checks.from_parent(session, name=NAME, nodeid=NAME).collect())


class Checks(pytest.Collector):
    """Runs the checks: connects to the server before the first one and cleans up after the last one."""

    _session: Any = None
    _target: Any = None

    def collect(self) -> Iterator[pytest.Item]:
        """Return an item for each check; checks that examine all responses come last."""
        from lance_namespace_impls.conformance.requirement import CHECKS
        from lance_namespace_impls.conformance.run_order import in_run_order
        from lance_namespace_impls.conformance.scenarios import load_all

        load_all()
        for check in in_run_order(CHECKS.values()):
            yield CheckItem.from_parent(self, name=check.id)

    def entry(self, id: str) -> Mapping[str, Any]:
        """Run a check and return its entry in the report."""
        from lance_namespace_impls.conformance.report import entry_of
        from lance_namespace_impls.conformance.requirement import CHECKS

        if self._session is None:
            self._start()
        finding = self._session.run_one(CHECKS[id])
        entry = entry_of(finding, self._target.name, self._connection)
        found: Mapping[str, Any] = self._redactor.value(entry)
        return found

    def _start(self) -> None:
        from lance_namespace_client.errors import InvalidInputError
        from lance_namespace_impls.conformance.api import url_target
        from lance_namespace_impls.conformance.ledger import state_folder
        from lance_namespace_impls.conformance.redact import Redactor
        from lance_namespace_impls.conformance.runner import CannotRunError, Options, Session

        option = self.config.getoption
        headers = dict(text.partition("=")[::2] for text in option(f"--{NAME}-header"))
        properties = dict(text.partition("=")[::2] for text in option(f"--{NAME}-property"))
        options = Options(
            under=tuple(name for name in option(f"--{NAME}-under").split("$") if name),
            read_only=option(f"--{NAME}-read-only"),
            max_seconds=float("inf"),
            folder=state_folder(),
        )
        self._redactor = Redactor()
        try:
            self._target, self._connection = url_target(
                option(f"--{NAME}"), headers, option(f"--{NAME}-token"), self._redactor, properties
            )
        except InvalidInputError as error:
            pytest.exit(f"--{NAME}-property: {self._redactor.text(str(error))}", COULD_NOT_RUN)
        self._session = Session(self._target, options)
        try:
            self._session.start()
        except CannotRunError as error:
            text = str(error).replace("--under", f"--{NAME}-under")
            text = text.replace("--read-only", f"--{NAME}-read-only")
            pytest.exit(f"--{NAME}: {self._redactor.text(text)}", COULD_NOT_RUN)

    def finish(self) -> list[str]:
        """Clean up; return the identifiers of objects that could not be removed."""
        if self._session is None:
            return []
        try:
            self._session.finish()
        finally:
            self._target.close()
        return ["$".join(identifier) for _, identifier in self._session.outcome.leftovers]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the objects that could not be removed, without hiding failures of checks."""
    if left := config.stash.get(LEFT, []):
        terminalreporter.write_sep("-", "objects that the conformance checks could not remove")
        for text in left:
            terminalreporter.write_line(text)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Clean up after the last check."""
    for parent in {item.parent for item in session.items if isinstance(item.parent, Checks)}:
        try:
            session.config.stash[LEFT] = parent.finish()
        except Exception as error:  # noqa: BLE001 - must not hide earlier failures
            session.config.stash[LEFT] = [f"cleaning up failed: {error}"]


class CheckFailedError(Exception):
    """A check failed; its argument is the report's entry."""


class CheckItem(pytest.Item):
    """One check."""

    def runtest(self) -> None:
        """Raise CheckFailedError if the check failed; skip the item if the check was skipped."""
        assert isinstance(self.parent, Checks)
        entry = self.parent.entry(self.name)
        if entry["result"] == "fail":
            raise CheckFailedError(entry)
        if entry["result"] != "pass":
            # pytest has only one outcome for skipped, disabled and unreached checks; the reason
            # states which.
            pytest.skip(f"{entry['result']}: {entry['got']}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the requirement, the actual result, and the calls that led to it."""
        if not isinstance(excinfo.value, CheckFailedError):
            return super().repr_failure(excinfo, style)
        entry = excinfo.value.args[0]
        lines = [
            f"{entry['id']} {entry['requirement']} ({entry['level']})",
            f"    expected {entry['expected']}",
            f"    got      {entry['got']}",
            f"    source   {entry['source']}",
        ]
        script = entry["script"] or {}
        if text := script.get("curl") or script.get("python"):
            lines += ["", text]
        return "\n".join(lines)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the item's location for reports; it has no file."""
        return self.config.rootpath / NAME, None, self.name
