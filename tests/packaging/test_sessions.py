"""The environments of nox sessions."""

from __future__ import annotations

from typing import Any

import pytest

import noxfile


class Recorded:
    """A session that records its installs."""

    def __init__(self) -> None:
        self.env: dict[str, str | None] = {}
        self.installs: list[tuple[str, ...]] = []

    def install(self, *arguments: str, **_: Any) -> None:
        self.installs.append(arguments)


@pytest.mark.parametrize("groups", [("demo",), ("dev",), ("test",), ("docs",), ()])
def test_spark_is_installed_before_the_build_without_isolation(groups: tuple[str, ...]) -> None:
    """PySpark is a source archive, and its build needs a package that our build does not need."""
    session = Recorded()
    noxfile.install(session, *groups)  # type: ignore[arg-type] # only these members are used
    isolated, project = session.installs
    assert "--no-build-isolation" not in isolated
    assert any(each.startswith("pyspark") for each in isolated)
    assert "--no-build-isolation" in project
    assert project[-1] == ".[all]"
