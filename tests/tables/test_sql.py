"""Limits of SQL expressions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.tables.sql import check_sql
from lance_namespace_impls.tables.sql_functions import MAX_GROWTH
from lance_namespace_impls.tables.sql_parser import (
    MAX_CASES,
    MAX_CONNECTIVES,
    MAX_DEPTH,
    MAX_LEVELS,
)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (")", r"'\)' at character 1; expected an expression"),
        ("a > 1)", r"'\)' at character 6; expected an operator or the end"),
        ("(a) > (1))", r"'\)' at character 10"),
        ("CASE a WHEN 1 THEN 2", "nothing more at character 21; expected END"),
        ("a a", "'a' at character 3"),
        ("a = 1 LIMIT 1", "'LIMIT' at character 7"),
        ("a = 1 ORDER BY a", "'ORDER' at character 7"),
        ("a = 1,", "',' at character 6"),
        ("'x' 'y'", "\"'y'\" at character 5"),
        ("a = 1; b", "a ';': write one expression"),
        ("a in (select 1)", "'select' at character 7; expected an expression"),
        ("a in ()", "an IN with empty parentheses"),
        ("a::array<int>", "casts to 'array'"),
        ("cast(a as jsonb)", "casts a value to JSONB that is not a string literal"),
        ('st."x" = 1', 'has "x" as a name; double quotes are for strings, so write it as `x`'),
        ("a.b(c)", "calls 'a.b', but function names cannot contain dots"),
        ("count(*) > 1", r"calls count\(\*\), but aggregates are not supported"),
        ("a #= 1", "'#' at character 3"),
        ("a -- /* \r b", "a comment with a carriage return"),
        ("a /* /* */ b */ = 1", r"an unclosed /\*"),
    ],
)
def test_invalid_syntax_is_rejected_with_its_position(sql: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^the filter .*{said}"):
        check_sql(sql, "the filter")


@pytest.mark.parametrize("group", ["(a)", "CASE a WHEN 1 THEN 2 END", "f(a)", "a[0]"])
def test_closed_brackets_do_not_count_as_levels(group: str) -> None:
    check_sql(" > 0 OR ".join([group] * (2 * MAX_LEVELS)), "t")
    with pytest.raises(InvalidInputError, match=f"more than {MAX_LEVELS} levels"):
        check_sql("(" * (MAX_LEVELS + 1) + group + ")" * (MAX_LEVELS + 1), "t")


def in_a_row(part: str) -> Callable[[int], str]:
    return lambda n: part * n + " "


# A function from a size to a text, the largest accepted size, and the error for the next size.
DEPTH = f"more than {MAX_DEPTH} nested operators and calls"
ORS = f"more than {MAX_CONNECTIVES} nested AND and OR"
LEVELS = f"more than {MAX_LEVELS} levels of brackets"
BOUNDS: dict[str, tuple[Callable[[int], str], int, str]] = {
    "plus": (lambda n: "a" + " + a" * n, MAX_DEPTH - 1, DEPTH),
    "concat": (lambda n: "a" + " || a" * n, MAX_DEPTH - 1, DEPTH),
    "casts behind": (lambda n: "a" + "::int" * n, MAX_DEPTH - 1, DEPTH),
    "is null": (lambda n: "a" + " IS NULL" * n, MAX_DEPTH - 1, DEPTH),
    "not": (lambda n: "NOT " * n + "a", MAX_DEPTH - 1, DEPTH),
    "minus": (lambda n: "-" + " -" * (n - 1) + "a", MAX_DEPTH - 1, DEPTH),
    "ranges in a row": (lambda n: "a" + " BETWEEN a AND a" * n, MAX_DEPTH - 1, DEPTH),
    "fields": (lambda n: "a[0]" + ".b" * n, MAX_DEPTH - 2, DEPTH),
    "in an argument": (lambda n: "f(a, a" + " + a" * n + ", a)", MAX_DEPTH - 2, DEPTH),
    "in the last of a chain": (lambda n: "a AND a AND a" + " + a" * n, MAX_DEPTH - 2, DEPTH),
    "or": (lambda n: "a" + " OR a" * n, MAX_CONNECTIVES, ORS),
    "and": (lambda n: "a" + " and a" * n, MAX_CONNECTIVES, ORS),
    "or within or": (lambda n: "(a" + " OR a" * 3000 + ")" + " OR a" * n, 2000, ORS),
    "or within the later or": (lambda n: "a" + " OR a" * n + " OR (a" + " OR a" * 3000 + ")", 1999, ORS),
    **{
        f"{opening} nested": (lambda n, o=opening, c=closing: o * n + "a" + c * n, MAX_LEVELS, LEVELS)
        for opening, closing in (
            ("(", ")"), ("[", "]"), ("f(", ")"), ("CAST(", " AS int)"), ("POSITION(a IN ", ")"),
            ("NOT (", ")"), ("a AND -(", ")"), ("a[", "]"), ("a IN (", ")"),
        )
    },
    "case within case": (
        lambda n: "CASE WHEN " * n + "a" + " THEN a END" * n, MAX_CASES, f"more than {MAX_CASES} nested CASE",
    ),
    "repeat": (lambda n: f"repeat(a, {n})", MAX_GROWTH, "1001 times as long; the maximum is 1000 times"),
    "less than nothing": (lambda n: f"lpad(a, -{n}, 'x')", MAX_GROWTH, "1001 times"),
    "repeat in repeat": (lambda n: f"repeat(b || repeat(a, 9), {n})", 100, "1010 times"),
    "repeat in an argument": (lambda n: f"repeat(f(1, repeat(a, {n})), 5)", 200, "1005 times"),
    "a series": (lambda n: f"range(3, {n}, 2)", MAX_GROWTH, "1001 times"),
    "another series": (lambda n: f"generate_series({n})", MAX_GROWTH, "1001 times"),
    "a text to put in": (lambda n: f"replace(a, 'x', '{'y' * n}')", 1000, "1001 times"),
    "a text between others": (lambda n: f"array_to_string(c, '{'y' * n}')", 1000, "1001 times"),
    "a text for what is missing": (lambda n: f"list_join(c, 1, '{'y' * n}')", 1000, "1001 times"),
    "a text to put into a list": (lambda n: f"array_replace_n(c, 1, '{'y' * n}', 2)", 1000, "1001 times"),
    "a text to put in by a pattern": (
        lambda n: f"regexp_replace(a, 'x', '{'y' * n}', 'g')", 1000, "1001 times",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_exact(name: str) -> None:
    make, most, said = BOUNDS[name]
    check_sql(make(most), "the filter")
    with pytest.raises(InvalidInputError, match=f"^the filter .*{said}"):
        check_sql(make(most + 1), "the filter")


@pytest.mark.parametrize(
    "sql",
    [
        "NOT a AND " * MAX_LEVELS + "a",
        "a BETWEEN a AND a AND " * 200 + "a",
        "CASE " + "WHEN a THEN a " * 300 + "ELSE a END",
        "f(" + ", ".join(["a" + " + a" * 100] * 3) + ")",
        " OR ".join(["(" + "a" + " + a" * 100 + ")"] * 3),
        "(" + "a OR " * 3000 + "a) AND (" + "a OR " * 1000 + "a)",
        "repeat(a, 400) || repeat(a, 600)",
        "repeat(a, 1, 2000)",
        "repeat(a)",
        f"regexp_replace(a, 'x', 'y', '{'g' * 2000}')",
        "replace(a, 'x')",
        "lpad(repeat(a, 900), 1000)",
        f"replace(a, '{'x' * 2000}', 'y')",
        "s = 'repeat(a, 2000)' -- repeat(a, 2000)\r\n OR a",
        "repeat = 1 AND (a > 2000)",
        "floor(repeated(a, 2000))",
    ],
    ids=lambda sql: sql[:30],
)
def test_the_sizes_of_adjacent_parts_are_not_added(sql: str) -> None:
    check_sql(sql, "the filter")


@pytest.mark.parametrize(
    "sql",
    [
        "repeat(a, (b)-9)",
        "repeat(a, b)",
        "repeat(a, (b))",
        "repeat(a, b * 2)",
        "`repeat`(a, 2 * 2)",
        "f(a, [repeat(a, b)])",
        "range(3, b)",
        "range()",
        "repeat(a, 1e300)",
        "replace(a, 'x', b)",
        "REPLACE(a, 'x', 'y' || b)",
        "regexp_replace(a, 'x', lower(b), 'g')",
        "array_to_string(c, b)",
        "list_join(c, ',', b)",
        "array_replace_all(c, 'x', b)",
    ],
)
def test_a_size_that_is_not_a_number_is_unbounded(sql: str) -> None:
    with pytest.raises(InvalidInputError, match="the filter can produce values of any length"):
        check_sql(sql, "the filter")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("a = 'x", "has an unclosed '"),
        ('a = "x', 'has an unclosed "'),
        ("a = `x", "has an unclosed `"),
        ("a /* b", r"has an unclosed /\*"),
        ("a = $1", r"has a \$, but parameters are not supported"),
        ("a = ?", r"has a \?, but parameters are not supported"),
        *(
            (f"a = {of}'x'", f"has a literal {of}'...'; write it as '...'")
            for of in ("N", "b", "U&")
        ),
    ],
)
def test_unsupported_syntax_is_named(sql: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^the filter {said}"):
        check_sql(sql, "the filter")
