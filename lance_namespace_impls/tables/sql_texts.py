"""Limits for strings that functions parse, usually recursively.

Strings with a few thousand nesting levels make the parsers overflow the stack, which crashes the
process. A string that is not a literal in the expression, such as a column, is unbounded and
therefore rejected.
"""

from __future__ import annotations

import re

from .sql_parser import SqlError

__all__ = [
    "check_arrow_type",
    "check_format",
    "check_json",
    "check_json_path",
    "check_pattern",
    "check_wkb",
    "check_wkt",
]

MAX_PATH_LENGTH, MAX_PATH_LEVELS = 1_000, 4
MAX_WKT_LENGTH, MAX_WKT_LEVELS = 64_000, 16
MAX_WKB_DIGITS = 4_000
MAX_TYPE_LENGTH, MAX_TYPE_LEVELS = 500, 8
MAX_TYPE_NUMBER = 1_000
MAX_JSON_LEVELS = 64
MAX_FORMAT_LENGTH = 200
MAX_PATTERN_LENGTH, MAX_PATTERN_LEVELS, MAX_REPEATED = 1_000, 32, 5_000

_OPEN, _CLOSE = "([{<", ")]}>"
_REPEAT = re.compile(r"\{(\d{0,9})(?:,(\d{0,9}))?\}")
# A number that is not part of a name, such as Float32.
_NUMBER = re.compile(r"(?<!\w)\d+")
_NO_LENGTHS = re.compile(r"Decimal\d+\([^()]*\)")
# Quoted field names, with and without escapes; the interpretation that leaves more numbers applies.
_QUOTED = (re.compile(r'"[^"]*"'), re.compile(r'"(?:[^"\\]|\\.)*"'))


def _levels(text: str, opening: str = "([{", closing: str = ")]}") -> int:
    """Return the nesting depth of brackets, including brackets inside quotes."""
    deepest = level = 0
    for sign in text:
        if sign in opening:
            level += 1
            deepest = max(deepest, level)
        elif sign in closing:
            level = max(0, level - 1)
    return deepest


def _check(text: str | None, what: str, length: int, levels: int, **brackets: str) -> str:
    """Return the text of a literal; raise SqlError if it exceeds the limits or is not a literal."""
    if text is None:
        raise SqlError(
            f"{what} that is not a string in single quotes; its nesting cannot be bounded, so "
            f"write the string itself"
        )
    if len(text) > length:
        raise SqlError(f"{what} of {len(text):,} characters; the maximum is {length:,}")
    if _levels(text, **brackets) > levels:
        raise SqlError(f"{what} with more than {levels} levels of brackets; simplify it")
    return text


def check_json_path(text: str | None) -> None:
    """Reject a JSON path that is not a literal, is too long or deep, or selects all levels."""
    found = _check(text, "a JSON path", MAX_PATH_LENGTH, MAX_PATH_LEVELS)
    if "**" in found:
        raise SqlError(
            "a JSON path with **, whose result grows with the square of the nesting depth; write "
            "the keys instead"
        )


def check_wkt(text: str | None) -> None:
    """Reject WKT that is not a literal, is too long or is too deeply nested."""
    _check(text, "WKT", MAX_WKT_LENGTH, MAX_WKT_LEVELS)


def check_wkb(digits: str | None) -> None:
    """Reject WKB that is not a literal or is too long."""
    if digits is None:
        raise SqlError(
            "WKB that is not a literal such as x'0101...'; its nesting cannot be "
            "bounded, so write the bytes themselves"
        )
    if len(digits) > MAX_WKB_DIGITS:
        raise SqlError(f"WKB of {len(digits) // 2:,} bytes; the maximum is {MAX_WKB_DIGITS // 2:,}")


def check_arrow_type(text: str | None) -> None:
    """Reject an Arrow type that is not named by a literal, or is too deep or too large."""
    found = _check(text, "a type", MAX_TYPE_LENGTH, MAX_TYPE_LEVELS, opening=_OPEN, closing=_CLOSE)
    size = max(_fixed_values(quoted.sub('""', found)) for quoted in _QUOTED)
    if size > MAX_TYPE_NUMBER:
        raise SqlError(
            f"a type {found[:100]!r} of {size:,} values; the maximum is {MAX_TYPE_NUMBER:,}"
        )


def _fixed_values(kind: str) -> int:
    """Return the number of items in one value of a type: the product of its fixed list lengths."""
    size = 1
    for number in _NUMBER.findall(_NO_LENGTHS.sub("", kind) if "FixedSize" in kind else ""):
        size *= max(1, int(number))
    return size


def check_json(text: str) -> None:
    """Reject a JSON literal that is too deeply nested."""
    _check(text, "a JSON literal", len(text), MAX_JSON_LEVELS)


def check_format(text: str | None) -> None:
    """Reject a date format that is too long."""
    if text is not None:
        _check(text, "a format", MAX_FORMAT_LENGTH, MAX_FORMAT_LENGTH)


def check_pattern(text: str | None) -> None:
    """Reject a regular expression that is not a literal or has too many repetitions."""
    found = _check(
        text, "a regular expression", MAX_PATTERN_LENGTH, MAX_PATTERN_LEVELS,
        opening="(", closing=")",
    )  # fmt: skip
    if (size := _repeated(found)) > MAX_REPEATED:
        raise SqlError(
            f"a regular expression of {size:,} elements after its repetitions are expanded; the "
            f"maximum is {MAX_REPEATED:,}"
        )


def _repeated(pattern: str) -> int:
    """Return the length of a regular expression in which counted repetitions are expanded.

    A repetition inside a character class is counted as well.
    """
    totals = [0]
    last = 0
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "(":
            totals[-1] += last
            totals.append(0)
            last = 0
        elif sign == ")" and len(totals) > 1:
            last += totals.pop()
        elif sign == "{" and (found := _REPEAT.match(pattern, at)) is not None:
            last *= max(1, *(int(number) for number in found.groups() if number))
            at = found.end()
            continue
        else:
            totals[-1] += last
            last = 1
            at += sign == "\\"
        at += 1
    return sum(totals) + last
