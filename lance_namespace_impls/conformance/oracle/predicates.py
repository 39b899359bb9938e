"""SQL conditions of the model: random ones, and whether a row matches one.

A condition is an atom such as ``id > 3``, or ``NOT (atom)``, ``atom AND atom`` or ``atom OR atom``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .codes import BAD_INPUT, NO_COLUMN
from .columns import is_number, is_text

__all__ = ["BROKEN", "MISSING", "condition", "faults_of", "matches"]

BROKEN = ("id >>> ((", "id =", "SELECT")
"""Conditions that cannot be parsed."""
MISSING = "nothing"
"""Name of a column that no table has."""

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    ">": lambda a, b: a > b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b, "=": lambda a, b: a == b, "<>": lambda a, b: a != b,
}  # fmt: skip
_COMPARISON = re.compile(r"(\w+) (>=|<=|<>|>|<|=) (-?\d+|'[^']*')")
_NULL = re.compile(r"(\w+) IS (NOT )?NULL")
_IN = re.compile(r"(\w+) IN \(([^)]*)\)")
_BETWEEN = re.compile(r"(\w+) BETWEEN (-?\d+) AND (-?\d+)")
_LIKE = re.compile(r"(\w+) LIKE '(\w*)%'")
_NOT = re.compile(r"NOT \((.*)\)")
_BOTH = re.compile(r" (AND|OR) ")


def matches(predicate: str | None, record: Mapping[str, Any]) -> bool:
    """Return whether a row matches a condition; an unknown result is no match."""
    return predicate is None or _truth(predicate, record) is True


def faults_of(predicate: str | None, columns: Sequence[str]) -> set[int]:
    """Return the codes for a condition that cannot be parsed or names a missing column.

    For a missing column, rest.yaml names 12, the descriptions of the fields also 13.
    """
    if predicate is None:
        return set()
    if predicate in BROKEN or not predicate:
        return {BAD_INPUT}
    return (
        {NO_COLUMN, BAD_INPUT} if f"{MISSING} " in predicate and MISSING not in columns else set()
    )


def _truth(text: str, record: Mapping[str, Any]) -> bool | None:
    """Return the truth of a condition, None if unknown."""
    found = _atom(text, record)
    if found is not _NO_ATOM:
        return found  # type: ignore[no-any-return]
    if (inner := _NOT.fullmatch(text)) is not None:
        truth = _truth(inner[1], record)
        return None if truth is None else not truth
    for word in _BOTH.finditer(text):
        left, right = text[: word.start()], text[word.end() :]
        if _NO_ATOM in (_atom(left, record), _atom(right, record)):
            continue
        sides = {_atom(left, record), _atom(right, record)}
        decisive = word[1] == "OR"
        return decisive if decisive in sides else None if None in sides else not decisive
    raise AssertionError(f"the model does not support the condition {text!r}")


_NO_ATOM: Any = object()


def _atom(text: str, record: Mapping[str, Any]) -> Any:
    if (found := _NULL.fullmatch(text)) is not None:
        return (record[found[1]] is None) is (found[2] is None)
    for pattern in (_COMPARISON, _IN, _BETWEEN, _LIKE):
        found = pattern.fullmatch(text)
        if found is None:
            continue
        value = record[found[1]]
        if value is None:
            return None
        if pattern is _COMPARISON:
            return _COMPARED[found[2]](value, _literal(found[3]))
        if pattern is _IN:
            return value in [_literal(each) for each in found[2].split(", ")]
        if pattern is _BETWEEN:
            return int(found[2]) <= value <= int(found[3])
        return str(value).startswith(found[2])
    return _NO_ATOM


def _literal(text: str) -> Any:
    return text[1:-1] if text.startswith("'") else int(text)


def condition(columns: Sequence[str], chance: random.Random) -> str | None:
    """Return a random condition on some of the columns; None if none is suitable."""
    fit = [c for c in columns if is_number(c) or is_text(c)]
    lower = [c.lower() for c in columns]
    fit = [c for c in fit if c == c.lower() and lower.count(c) == 1]
    if not fit:
        return None
    first, second = _drawn(chance.choice(fit), chance), _drawn(chance.choice(fit), chance)
    return chance.choice((first, first, first, f"NOT ({first})", f"{first} AND {second}",
                          f"{first} OR {second}"))  # fmt: skip


def _drawn(column: str, chance: random.Random) -> str:
    number = chance.randrange(12)
    if chance.randrange(6) == 0:
        return f"{column} IS {chance.choice(('', 'NOT '))}NULL"
    if not is_number(column):
        start = "n" if column.startswith("name") else ""
        texts = ", ".join(f"'{start}{n}'" for n in (number, 3, 5))
        return chance.choice((f"{column} = '{start}{number}'", f"{column} IN ({texts})",
                              f"{column} LIKE '{start}1%'", f"{column} <> '{start}{number}'"))  # fmt: skip
    sign = chance.choice(tuple(_COMPARED))
    return chance.choice((f"{column} {sign} {number}", f"{column} {sign} {number}",
                          f"{column} IN ({number}, 3, 5)",
                          f"{column} BETWEEN {number - 3} AND {number}"))  # fmt: skip
