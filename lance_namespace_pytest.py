"""``pytest --lance-namespace URL``: the conformance checks of a server as tests, one item a check.

A module of its own beside the packages: pytest loads it in every run, and it imports none of them
unless the option is given.
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
        f"--{NAME}-under", metavar="ID", default="",
        help="Namespace to work in, its names joined by $; the root unless given.",
    )  # fmt: skip
    group.addoption(f"--{NAME}-read-only", action="store_true", help="Make and change nothing.")


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add an item for each check, where the option is given."""
    if config.getoption(f"--{NAME}"):
        items.extend(Checks.from_parent(session, name=NAME, nodeid=NAME).collect())


class Checks(pytest.Collector):
    """The checks: the first that is asked for reaches the server, and the last cleans up."""

    _session: Any = None
    _target: Any = None

    def collect(self) -> Iterator[pytest.Item]:
        """Return an item for each check; those on all answers come last."""
        from lance_namespace_impls.conformance.checks import load_all
        from lance_namespace_impls.conformance.requirement import CHECKS

        load_all()
        for check in sorted(CHECKS.values(), key=lambda check: check.run is None):
            yield CheckItem.from_parent(self, name=check.id)

    def entry(self, id: str) -> Mapping[str, Any]:
        """Run a check and return how it came out."""
        from lance_namespace_impls.conformance.report import entry_of
        from lance_namespace_impls.conformance.requirement import CHECKS

        if self._session is None:
            self._start()
        finding = self._session.run_one(CHECKS[id])
        entry = entry_of(finding, self._target.name, self._connection)
        found: Mapping[str, Any] = self._redactor.value(entry)
        return found

    def _start(self) -> None:
        from lance_namespace_impls.conformance.api import url_target
        from lance_namespace_impls.conformance.ledger import state_folder
        from lance_namespace_impls.conformance.redact import Redactor
        from lance_namespace_impls.conformance.runner import CannotRunError, Options, Session

        option = self.config.getoption
        headers = dict(text.partition("=")[::2] for text in option(f"--{NAME}-header"))
        options = Options(
            under=tuple(name for name in option(f"--{NAME}-under").split("$") if name),
            read_only=option(f"--{NAME}-read-only"),
            max_seconds=float("inf"),
            folder=state_folder(),
        )
        self._redactor = Redactor()
        self._target, self._connection = url_target(
            option(f"--{NAME}"), headers, option(f"--{NAME}-token"), self._redactor
        )
        self._session = Session(self._target, options)
        try:
            self._session.start()
        except CannotRunError as error:
            text = str(error).replace("--under", f"--{NAME}-under")
            text = text.replace("--read-only", f"--{NAME}-read-only")
            pytest.exit(f"--{NAME}: {text}", COULD_NOT_RUN)

    def finish(self) -> list[str]:
        """Clean up; return the identifiers of what could not be removed."""
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
    """Name what could not be removed; no failure of a check is replaced by it."""
    if left := config.stash.get(LEFT, []):
        terminalreporter.write_sep("-", "left behind by the conformance checks")
        for text in left:
            terminalreporter.write_line(text)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Clean up after the last check."""
    for parent in {item.parent for item in session.items if isinstance(item.parent, Checks)}:
        try:
            session.config.stash[LEFT] = parent.finish()
        except Exception as error:  # noqa: BLE001 - the causes before it are to be seen first
            session.config.stash[LEFT] = [f"cleaning up failed: {error}"]


class CheckFailedError(Exception):
    """A check failed; its argument is the report's entry."""


class CheckItem(pytest.Item):
    """One check."""

    def runtest(self) -> None:
        """Raise CheckFailedError, or skip, as the check came out."""
        assert isinstance(self.parent, Checks)
        entry = self.parent.entry(self.name)
        if entry["result"] == "fail":
            raise CheckFailedError(entry)
        if entry["result"] != "pass":
            # Pytest has one word for skip, disabled and not reached; the reason says which it is.
            pytest.skip(f"{entry['result']}: {entry['got']}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the requirement, what came instead, and the calls that lead there."""
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
        """Return where the item is named: it has no file."""
        return self.config.rootpath / NAME, None, self.name
