"""Bounds on the SQL that callers send.

Lance parses, plans and runs an expression by recursion, on stacks that end the process when they
overflow: from 250 to 800 operators in a row, depending on which and where, and some 50,000 ``AND``
or ``OR``. Its parser also tries some keywords in several ways, so that text which is wrong inside
``POSITION(POSITION(...`` takes three times as long with each level. So a text is measured before
Lance gets to see it; the bounds are well below what was seen to fail with pylance 14.0.2.
"""

from __future__ import annotations

import re

from attrs import define

from lance_namespace_client.errors import InvalidInputError

__all__ = ["calls_nothing", "check_sql"]

# Parts (names, values, operators, brackets) from the outermost expression to the innermost, where
# each may be an operand of the next.
MAX_PARTS = 256
MAX_CONNECTIVES = 5_000
MAX_LEVELS = 32
# How often the parser may look at a part, all of them together.
MAX_STEPS = 4_000_000
BACKTRACK_FACTOR = 3

_NUMBER = r"[0-9][0-9.]*+(?:[eE][+-]?[0-9]++)?+(?!\w)"
_STRING = r"'(?>[^']*(?:''[^']*)*)'"
_VALUE = rf"(?:-?{_NUMBER}|{_STRING})"
_TOKEN = re.compile(
    rf"""(?P<skipped>\s++|--[^\n]*+|/\*(?>.*?\*/))
       |(?P<prefixed>\b(?:[bBnNrReEqQ]|[bB][rR]|[rR][bB]|[nN][qQ]|[uU]&)(?=['"]))
       |(?P<values>{_VALUE}(?>\s*,\s*{_VALUE})*+)
       |(?P<quoted>"(?>[^"]*(?:""[^"]*)*)"|`(?>[^`]*(?:``[^`]*)*)`)
       |(?P<word>\w++)
       |(?P<open>[(\[{{])
       |(?P<close>[)\]}}])
       |(?P<other>/\*|::|\|\||<>|[<>!]=|.)""",
    re.DOTALL | re.VERBOSE,
)
# How many times as long a value may become. A batch has thousands of them, all in memory.
MAX_GROWTH = 1_000
UNBOUNDED = 1 << 62
_GROWING = frozenset(
    {"ARRAY_REPEAT", "ARRAY_RESIZE", "LIST_REPEAT", "LIST_RESIZE", "LPAD", "REPEAT", "RPAD"}
)
_SERIES = frozenset({"GENERATE_SERIES", "RANGE"})
_PUTTING_IN = {
    **dict.fromkeys(("REGEXP_REPLACE", "REPLACE"), slice(2, 3)),
    **{
        f"{kind}_{name}": arguments
        for kind in ("ARRAY", "LIST")
        for name, arguments in (
            ("JOIN", slice(1, 3)), ("TO_STRING", slice(1, 3)),
            ("REPLACE", slice(2, 3)), ("REPLACE_ALL", slice(2, 3)), ("REPLACE_N", slice(2, 3)),
        )
    },
}  # fmt: skip
"""Which arguments come into the value of a function many times."""
_GROWS = re.compile("|".join(sorted(_GROWING | _SERIES | {*_PUTTING_IN})), re.IGNORECASE)
_NUMBER_ALONE = re.compile(rf"-?{_NUMBER}")
_VALUES = re.compile(_VALUE)

# What the parser reads in more ways than one.
_TRIED_TWICE = frozenset(
    {"ARRAY", "CASE", "CAST", "CEIL", "CONVERT", "EXISTS", "EXTRACT", "FLOOR", "INTERVAL", "MATCH",
     "NOT", "OVERLAY", "POSITION", "PRIOR", "SAFE_CAST", "SUBSTR", "SUBSTRING", "TRIM", "TRY_CAST",
     "TRY_CONVERT"}
)  # fmt: skip
_SPLITTING = frozenset({"WHEN", "THEN", "ELSE"})
# What may stand before a bracket that is no function's, and functions that need no brackets.
_NO_CALLS = frozenset({"AND", "BETWEEN", "IN", "IS", "LIKE", "NOT", "OR"})
_CALL = re.compile(r"(?:CURRENT|LOCAL|SESSION)\w*|USER")


def calls_nothing(sql: str) -> bool:
    """Return whether an expression plainly calls no function."""
    before = ""
    for match in _TOKEN.finditer(sql):
        kind, text = match.lastgroup, match[0].upper()
        if kind == "skipped":
            continue
        if (kind == "open" and before) or (kind == "word" and _CALL.fullmatch(text)):
            return False
        is_name = kind in ("word", "quoted", "prefixed", "close") and text not in _NO_CALLS
        before = text if is_name else ""
    return True


@define
class _Level:
    """What is between two brackets; its segments are operands that stand side by side."""

    steps: int
    """How often the parser may look at a part here."""
    parts: int = 0
    inner_parts: int = 0
    inner_connectives: int = 0
    """The deepest of the levels in the segment under way."""
    tried: int = 0
    ranges: int = 0
    """``BETWEEN`` whose ``AND`` is still to come."""
    connectives: int = 0
    max_parts: int = 0
    max_connectives: int = 0
    operand: bool = False
    """Whether the last part was an operand: a sign after it is an operator."""
    is_case: bool = False

    def end_segment(self) -> None:
        self.max_parts = max(self.max_parts, self.parts + self.inner_parts)
        self.max_connectives = max(self.max_connectives, self.inner_connectives)
        self.parts = self.inner_parts = self.inner_connectives = self.tried = self.ranges = 0
        self.operand = False


def check_sql(text: str, what: str) -> None:
    """Refuse an SQL expression that Lance cannot work through safely.

    Args:
        text: a predicate or an expression.
        what: the operation and the part of it, to open the message with.

    Raises:
        InvalidInputError: code 13, it is nested too deeply, chains too many operators, or has a
            kind of literal that Lance does not know.
    """
    _Measure(what).measure(text)
    if _GROWS.search(text) and (times := _growth(text)) > MAX_GROWTH:
        if times < UNBOUNDED:
            raise InvalidInputError(
                f"{what} makes values {times} times as long; {MAX_GROWTH} times is the most"
            )
        raise InvalidInputError(
            f"{what} may make values of any length: give REPEAT, LPAD and the like a plain number of at "
            f"most {MAX_GROWTH} and REPLACE, ARRAY_TO_STRING and the like a plain text to put in; cut what "
            "is too long, as left(rpad(name, 100), size) does"
        )


@define
class _Call:
    """A bracket, and the function before it if there is one."""

    name: str
    arguments: list[list[str]]
    inner: int = 1
    """How many times as long what is within makes a value."""

    def growth(self) -> int:
        """Return how many times as long as what it is given its value may be."""
        if self.name in _GROWING:
            own = max(map(_size, self.arguments[1:2]), default=1)
        elif self.name in _SERIES:
            own = max(map(_size, self.arguments))
        elif self.name in _PUTTING_IN:
            own = max(map(_length, self.arguments[_PUTTING_IN[self.name]]), default=1)
        else:
            own = 1
        return min(UNBOUNDED, max(own, 1) * self.inner)


def _size(argument: list[str]) -> int:
    """Return a number that stands by itself; any other expression may be of any size."""
    if len(argument) != 1 or _NUMBER_ALONE.fullmatch(argument[0]) is None:
        return UNBOUNDED
    try:
        return int(min(abs(float(argument[0])), UNBOUNDED))
    except ValueError:  # it has several points
        return UNBOUNDED


def _length(argument: list[str]) -> int:
    """Return the length of a value that stands by itself; any other expression may be of any length."""
    if len(argument) != 1 or _VALUES.fullmatch(argument[0]) is None:
        return UNBOUNDED
    return len(argument[0])


def _growth(text: str) -> int:
    """Return how many times as long an expression may make a value by functions made for that."""
    calls = [_Call("", [[]])]
    before = ""
    most = 1
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind == "skipped":
            continue
        call = calls[-1]
        if kind == "open":
            calls.append(_Call(before, [[]]))
        elif kind == "close" and len(calls) > 1:
            growth = calls.pop().growth()
            calls[-1].inner = max(calls[-1].inner, growth)
            calls[-1].arguments[-1].append(found[0])
            most = max(most, growth)
        elif kind == "values":
            first, *others = _VALUES.findall(found[0])
            call.arguments[-1].append(first)
            call.arguments += [[each] for each in others]
        elif found[0] == ",":
            call.arguments.append([])
        else:
            call.arguments[-1].append(found[0])
        before = found[0].strip('"`').upper() if kind in ("word", "quoted") else ""
    return most


class _Measure:
    def __init__(self, what: str) -> None:
        self._what = what
        self._levels = [_Level(steps=1)]
        self._steps = 0

    def measure(self, text: str) -> None:
        for found in _TOKEN.finditer(text):
            kind = found.lastgroup
            if kind == "skipped":
                continue
            level = self._levels[-1]
            # A list of a hundred thousand values is one part that is looked at for long.
            self._steps += level.steps * (1 + (found.end() - found.start()) // 8)
            if self._steps > MAX_STEPS:
                raise self._refused(
                    "is too much to parse: nest fewer function calls, or shorten it"
                )
            if kind == "open":
                self._part(level, operand=True)
                self._open(level)
            elif kind == "close":
                self._close()
            elif kind == "word":
                self._word(level, found[0].upper())
            elif kind == "prefixed":
                raise self._refused(f"has a literal {found[0]}'...'; write it as '...'")
            elif kind == "other":
                self._other(level, found[0])
            else:
                self._part(level, operand=True)
        while len(self._levels) > 1:
            self._close()
        self._levels[0].end_segment()
        self._check(self._levels[0])

    def _word(self, level: _Level, word: str) -> None:
        if word in ("AND", "OR"):
            if word == "AND" and level.ranges:
                level.ranges -= 1
                self._part(level, operand=False)
            else:
                level.connectives += 1
                level.end_segment()
                self._check(level)
        elif word == "CASE":
            self._part(level, operand=True)
            self._open(level, is_case=True)
        elif word == "END" and level.is_case:
            self._close()
        elif word in _SPLITTING and level.is_case:
            level.end_segment()
        else:
            level.ranges += word == "BETWEEN"
            level.tried += word in _TRIED_TWICE
            self._part(level, operand=word not in _TRIED_TWICE)

    def _other(self, level: _Level, sign: str) -> None:
        if sign == ",":
            level.end_segment()
        elif sign in ("'", '"', "`", "/*"):
            raise self._refused(f"has a {sign} that is not closed")
        elif sign in "$?":
            raise self._refused(f"has a {sign}: there are no parameters; write the values")
        else:
            level.tried += sign in "+-!~@" and not level.operand
            self._part(level, operand=False)

    def _part(self, level: _Level, *, operand: bool) -> None:
        level.parts += 1
        level.operand = operand
        if level.parts > MAX_PARTS:
            raise self._too_long()

    def _open(self, level: _Level, *, is_case: bool = False) -> None:
        if len(self._levels) > MAX_LEVELS:
            raise self._refused(f"has more than {MAX_LEVELS} levels of brackets; take some out")
        tried = level.tried + is_case
        steps = min(level.steps * BACKTRACK_FACTOR ** min(tried, 16), MAX_STEPS)
        self._levels.append(_Level(steps=steps, is_case=is_case))

    def _close(self) -> None:
        if len(self._levels) == 1:  # a bracket too many is Lance's to refuse
            return
        ended = self._levels.pop()
        ended.end_segment()
        self._check(ended)
        outer = self._levels[-1]
        outer.inner_parts = max(outer.inner_parts, ended.max_parts)
        outer.inner_connectives = max(
            outer.inner_connectives, ended.max_connectives + ended.connectives
        )

    def _check(self, level: _Level) -> None:
        if level.max_parts > MAX_PARTS:
            raise self._too_long()
        if level.connectives + level.max_connectives > MAX_CONNECTIVES:
            raise self._refused(
                f"has more than {MAX_CONNECTIVES} AND and OR, one within the other; use IN (...) "
                "for many values, or ask several times"
            )

    def _too_long(self) -> InvalidInputError:
        return self._refused(
            f"has an expression of more than {MAX_PARTS} names, values and operators, one within "
            "the other; split it with AND or OR, or compute it in steps"
        )

    def _refused(self, why: str) -> InvalidInputError:
        return InvalidInputError(f"{self._what} {why}")
