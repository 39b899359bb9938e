"""``pytest --lance-namespace URL``: the conformance checks of a server as tests, one item a check.

A module of its own beside the packages: pytest loads it in every run, and it imports none of them
unless the option is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Checks", "CheckItem", "pytest_addoption", "pytest_collection_modifyitems"]

NAME = "lance-namespace"
COULD_NOT_RUN = 2


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
    """The checks, which run together when the first of them is asked for."""

    _report: Mapping[str, Mapping[str, Any]] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Return an item for each check."""
        from lance_namespace_impls.conformance.checks import load_all
        from lance_namespace_impls.conformance.requirement import CHECKS

        load_all()
        for check in CHECKS.values():
            yield CheckItem.from_parent(self, name=check.id)

    def entry(self, id: str) -> Mapping[str, Any]:
        """Return how a check came out; the first call runs all that were chosen."""
        if self._report is None:
            chosen = [item.name for item in self.session.items if item.parent is self]
            self._report = self._run(tuple(chosen))
        return self._report[id]

    def _run(self, chosen: tuple[str, ...]) -> dict[str, Mapping[str, Any]]:
        from lance_namespace_impls.conformance import CannotRunError, Options, check_url
        from lance_namespace_impls.conformance.ledger import state_folder

        option = self.config.getoption
        headers = dict(text.partition("=")[::2] for text in option(f"--{NAME}-header"))
        options = Options(
            under=tuple(name for name in option(f"--{NAME}-under").split("$") if name),
            read_only=option(f"--{NAME}-read-only"),
            only=chosen,
            folder=state_folder(),
        )
        try:
            report = check_url(
                option(f"--{NAME}"), options, headers=headers, token=option(f"--{NAME}-token")
            )
        except CannotRunError as error:
            text = str(error).replace("--under", f"--{NAME}-under")
            text = text.replace("--read-only", f"--{NAME}-read-only")
            pytest.exit(f"--{NAME}: {text}", COULD_NOT_RUN)
        return {entry["id"]: entry for entry in report["checks"]}


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
