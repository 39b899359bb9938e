"""The registry of checks: one requirement each, with a stable id and the sentence it stands on."""

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
"""Why a check is not reached that a longer run reaches."""


class Level(Enum):
    """How binding a requirement is."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"
    """The sources leave it open or disagree: each of their answers passes."""


class Result(Enum):
    """How a check came out."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"
    """The target properly says that it cannot do what the check needs."""
    DISABLED = "disabled"
    """The caller left it out."""
    NOT_REACHED = "not reached"
    """Time was up, or what the check stands on already failed."""


@frozen(kw_only=True)
class Check:
    """One requirement and the function that checks it."""

    id: str
    requirement: str
    source: str
    level: Level
    operations: tuple[str, ...]
    """Operations that it needs."""
    capabilities: frozenset[str]
    """What else the target must have: ``http``, ``namespaces``, ``nested``, ``data``."""
    changes: bool
    """Whether it makes or changes objects of its own."""
    run: Run | None
    """None where every answer of all other checks is looked at instead."""

    @property
    def area(self) -> str:
        """Middle part of the id, such as ``TABLE-CREATE``."""
        return self.id.removeprefix("LN-").rpartition("-")[0]


CHECKS: dict[str, Check] = {}
"""Every check by its id; `lance_namespace_impls.conformance.checks` fills it."""


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
        requirement: the sentence that it stands on.
        source: where that sentence comes from.
        operations: operations that it needs.
        level: how binding the requirement is.
        capabilities: what else the target must have.
        changes: whether it makes or changes objects.
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
        raise ValueError(f"check {id} is there twice")
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
    """Return whether patterns select an id; without `only`, all that `skip` does not exclude."""
    wanted = list(only)
    if wanted and not any(fnmatch.fnmatchcase(id, pattern) for pattern in wanted):
        return False
    return not any(fnmatch.fnmatchcase(id, pattern) for pattern in skip)
