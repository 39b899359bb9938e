"""Policies: the permissions of callers, from files or custom classes, or read-only access."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection
from importlib import import_module
from typing import Any, Protocol, cast

import attrs

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.operations import Action

from ...core.errors import first_line
from ...core.identifiers import Identifier
from .authentication import Caller
from .watched_file import Watched

__all__ = ["Policies", "Policy", "PolicyFile", "ReadOnly", "find_policy"]

ANY_LEVEL, ANY_LEVELS = "*", "**"
GROUP = "group:"
_KEYS = frozenset({"to", "actions", "on"})
_ACTIONS = {action.value: action for action in Action}


class Policy(Protocol):
    """Decides which actions a caller may perform.

    Its methods are called from several threads concurrently, often several times per request. The
    caller is None if the server does not authenticate callers. Anything not allowed is denied.
    """

    def allows(self, caller: Caller | None, action: Action, identifier: Identifier) -> bool:
        """Return whether a caller may perform an action on a table, or on a namespace itself."""

    def allows_some(self, caller: Caller | None, action: Action, identifier: Identifier) -> bool:
        """Return whether a caller may perform an action on a namespace or anything below it.

        True for `READ` makes the namespace visible.
        """

    def allows_all(self, caller: Caller | None, action: Action, identifier: Identifier) -> bool:
        """Return whether a caller may perform an action on a namespace and everything below it."""


class ReadOnly:
    """A policy that allows all callers to read everything and to change nothing."""

    def allows(self, caller: Caller | None, action: Action, identifier: Identifier) -> bool:
        """Return whether the action is `READ`."""
        return action is Action.READ

    allows_some = allows_all = allows


@attrs.frozen
class Policies:
    """A policy that allows an action only if all of several policies allow it."""

    parts: tuple[Policy, ...]

    def allows(self, caller: Caller | None, action: Action, identifier: Identifier) -> bool:
        """Return whether every policy allows the action."""
        return all(part.allows(caller, action, identifier) for part in self.parts)

    def allows_some(self, caller: Caller | None, action: Action, identifier: Identifier) -> bool:
        """Return whether every policy allows the action on something at or below a namespace."""
        return all(part.allows_some(caller, action, identifier) for part in self.parts)

    def allows_all(self, caller: Caller | None, action: Action, identifier: Identifier) -> bool:
        """Return whether every policy allows the action on everything at and below a namespace."""
        return all(part.allows_all(caller, action, identifier) for part in self.parts)


class PolicyFile:
    """A policy with grants from a TOML file, which is reloaded when it changes.

    Each ``[[grant]]`` has the keys ``to`` (names of callers, and groups as ``group:NAME``),
    ``actions`` (``read``, ``write``, ``manage``; none implies another), and ``on`` (patterns of
    identifiers). A pattern is a list of levels: ``*`` matches one level, ``**`` matches any number
    of levels, including none, and everything else matches literally.

    Args:
        path: the file.

    Raises:
        InvalidInputError: code 13, the file cannot be read or a grant is invalid.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._grants = Watched(path, _read, "the policy")

    def allows(self, caller: Caller | None, action: Action, identifier: Identifier) -> bool:
        """Return whether a pattern granted to the caller matches."""
        return any(
            len(pattern) in _reached(pattern, identifier) for pattern in self._of(caller, action)
        )

    def allows_some(self, caller: Caller | None, action: Action, identifier: Identifier) -> bool:
        """Return whether a pattern granted to the caller matches this or something below it."""
        return any(_reached(pattern, identifier) for pattern in self._of(caller, action))

    def allows_all(self, caller: Caller | None, action: Action, identifier: Identifier) -> bool:
        """Return whether one pattern granted to the caller matches this and everything below it."""
        return any(
            pattern[-1:] == (ANY_LEVELS,) and len(pattern) in _reached(pattern, identifier)
            for pattern in self._of(caller, action)
        )

    def _of(self, caller: Caller | None, action: Action) -> list[Identifier]:
        if caller is None:
            return []
        return [
            pattern
            for grant in self._grants.get()
            if action in grant.actions and grant.is_to(caller)
            for pattern in grant.on
        ]


@attrs.frozen
class _Grant:
    names: frozenset[str]
    groups: frozenset[str]
    actions: frozenset[Action]
    on: tuple[Identifier, ...]

    def is_to(self, caller: Caller) -> bool:
        return caller.name in self.names or not self.groups.isdisjoint(caller.groups)


def find_policy(text: str) -> Policy:
    """Load a policy from a file, or from ``module:Class``.

    Args:
        text: path of a TOML file, or, if no such file exists, a class that can be called without
            arguments.

    Raises:
        InvalidInputError: code 13, neither a file nor a class is found, or the policy is invalid.
    """
    module, colon, name = text.partition(":")
    names = (*module.split("."), name)
    if not colon or os.path.exists(text) or not all(each.isidentifier() for each in names):
        return PolicyFile(text)
    try:
        made = getattr(import_module(module), name)()
    except (ImportError, AttributeError, TypeError) as error:
        raise InvalidInputError(f"the policy {text}: {first_line(error)}") from error
    if missing := [each for each in _METHODS if not callable(getattr(made, each, None))]:
        raise InvalidInputError(f"the policy {text} has no method {missing[0]}()")
    return cast("Policy", made)


_METHODS = ("allows", "allows_some", "allows_all")


def _reached(pattern: Identifier, identifier: Identifier) -> frozenset[int]:
    """Return the positions in a pattern up to which an identifier can match.

    The position at the end of the pattern is a full match; all others are partial matches.
    """
    found = _skipped(pattern, {0})
    for name in identifier:
        found = _skipped(
            pattern,
            {
                at if pattern[at] == ANY_LEVELS else at + 1
                for at in found
                if at < len(pattern) and pattern[at] in (ANY_LEVELS, ANY_LEVEL, name)
            },
        )
    return frozenset(found)


def _skipped(pattern: Identifier, found: set[int]) -> set[int]:
    """Also add the position after each ``**``, because it may match no level at all."""
    for at in sorted(found):
        while at < len(pattern) and pattern[at] == ANY_LEVELS:
            at += 1
            found.add(at)
    return found


def _read(text: str) -> tuple[_Grant, ...]:
    data = tomllib.loads(text)
    if unknown := sorted(data.keys() - {"grant"}):
        raise ValueError(f"unknown key {unknown[0]!r}; write each grant as a [[grant]] table")
    rows = data.get("grant", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("write [[grant]], in double brackets, for each grant")
    return tuple(_grant(row, f"grant {number}") for number, row in enumerate(rows, 1))


def _grant(row: dict[str, Any], what: str) -> _Grant:
    if unknown := sorted(row.keys() - _KEYS):
        raise ValueError(
            f"{what} has an unknown key {unknown[0]!r}; the accepted keys are "
            f"{', '.join(sorted(_KEYS))}"
        )
    to = _names(row.get("to"), f"{what}: to")
    actions = _names(row.get("actions"), f"{what}: actions")
    if unknown := [each for each in actions if each not in _ACTIONS]:
        raise ValueError(
            f"{what}: unknown action {unknown[0]!r}; the available actions are "
            f"{', '.join(_ACTIONS)}"
        )
    on = row.get("on")
    if not isinstance(on, list) or not on or not all(isinstance(each, list) for each in on):
        raise ValueError(
            f"{what}: 'on' must be a list of patterns, which are lists of levels, such as "
            '[["prod", "**"]]'
        )
    return _Grant(
        frozenset(each for each in to if not each.startswith(GROUP)),
        frozenset(each.removeprefix(GROUP) for each in to if each.startswith(GROUP)),
        frozenset(_ACTIONS[each] for each in actions),
        tuple(tuple(_names(each, f"{what}: a pattern", may_be_empty=True)) for each in on),
    )


def _names(names: Any, what: str, *, may_be_empty: bool = False) -> Collection[str]:
    if not isinstance(names, list) or not (names or may_be_empty):
        raise ValueError(f"{what} must be a list of names")
    if not all(isinstance(each, str) and each for each in names):
        raise ValueError(f"{what} must contain only non-empty strings")
    return names
