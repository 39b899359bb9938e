"""The registry of checks: one requirement each, with a stable id and its source."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, TypeAlias

from attrs import frozen

from lance_namespace_client.errors import InvalidInputError

__all__ = [
    "CHECKS",
    "Check",
    "Level",
    "Result",
    "Run",
    "TIME_UP",
    "check",
    "chosen",
    "is_chosen",
    "observed",
    "require_matches",
]

Run: TypeAlias = Callable[[Any], None]
"""A check, called with the `Lab` that it works in."""
TIME_UP = "time was up"
"""Reason for a check that only a longer run reaches."""


class Level(Enum):
    """How binding a requirement is."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"
    """The sources leave it unspecified or disagree: every answer that one of them allows passes."""


class Result(Enum):
    """The result of a check."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"
    """The target properly reports that it does not support what the check needs."""
    DISABLED = "disabled"
    """The caller excluded it."""
    NOT_REACHED = "not reached"
    """The time limit expired, or a prerequisite of the check failed."""


@frozen(kw_only=True)
class Check:
    """One requirement and the function that checks it."""

    id: str
    requirement: str
    source: str
    level: Level
    operations: tuple[str, ...]
    """Required operations."""
    capabilities: frozenset[str]
    """Other required capabilities: ``http``, ``namespaces``, ``nested``, ``data``."""
    changes: bool
    """Whether it creates or changes objects of its own."""
    run: Run | None
    """None if the requirement is checked on every answer of all other checks instead."""

    @property
    def area(self) -> str:
        """Middle part of the id, such as ``TABLE-CREATE``."""
        return self.id.removeprefix("LN-").rpartition("-")[0]


CHECKS: dict[str, Check] = {}
"""Every check by its id; `lance_namespace_impls.conformance.scenarios` fills it."""


def check(
    id: str,
    requirement: str,
    source: str,
    *operations: str,
    level: Level = Level.MUST,
    capabilities: Iterable[str] = (),
    changes: bool = True,
) -> Callable[[Run], Run]:
    """Register a function as the check of a requirement.

    Args:
        id: stable id, ``LN-<AREA>-<NNN>``.
        requirement: the rule, in one sentence.
        source: source of the rule.
        operations: required operations.
        level: how binding the requirement is.
        capabilities: other required capabilities.
        changes: whether it creates or changes objects.
    """

    def add(run: Run) -> Run:
        _add(id, requirement, source, operations, level, capabilities, changes, run)
        return run

    return add


def observed(
    id: str, requirement: str, source: str, *, level: Level = Level.MUST, http: bool = False
) -> None:
    """Register a requirement that is checked on every answer of all other checks."""
    _add(id, requirement, source, (), level, ("http",) if http else (), False, None)


def _add(
    id: str,
    requirement: str,
    source: str,
    operations: tuple[str, ...],
    level: Level,
    capabilities: Iterable[str],
    changes: bool,
    run: Run | None,
) -> None:
    if id in CHECKS:
        raise ValueError(f"check {id} is registered twice")
    CHECKS[id] = Check(
        id=id,
        requirement=requirement,
        source=source,
        level=level,
        operations=operations,
        capabilities=frozenset(capabilities),
        changes=changes,
        run=run,
    )


def chosen(check: Check, only: Iterable[str], skip: Iterable[str]) -> bool:
    """Return whether the patterns of the options select a check."""
    return is_chosen(check.id, only, skip)


def require_matches(patterns: Iterable[str]) -> None:
    """Require that each pattern selects a check; otherwise, a misspelled one would check nothing.

    Raises:
        InvalidInputError: code 13, a pattern matches no id.
    """
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(id, pattern) for id in CHECKS):
            near = difflib.get_close_matches(pattern, CHECKS, 1)
            advice = (
                f"; did you mean {near[0]!r}?" if near else "; ids look like 'LN-TABLE-DROP-001'"
            )
            raise InvalidInputError(f"no check matches {pattern!r}{advice}")


def is_chosen(id: str, only: Iterable[str], skip: Iterable[str]) -> bool:
    """Return whether patterns select an id; without `only`, every id that `skip` does not match."""
    wanted = list(only)
    if wanted and not any(fnmatch.fnmatchcase(id, pattern) for pattern in wanted):
        return False
    return not any(fnmatch.fnmatchcase(id, pattern) for pattern in skip)
