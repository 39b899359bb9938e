"""Whether an expression plainly calls no function, and where its bounds are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.tables.sql import (
    _TRIED_TWICE,
    MAX_CONNECTIVES,
    MAX_GROWTH,
    MAX_LEVELS,
    MAX_PARTS,
    calls_nothing,
    check_sql,
)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "id > 3",
        "(id > 3 AND (name = 'now()')) or not (id in (1, 2) and s like 'a(b)')",
        '"current date" is null',
        "-- now()\nid between (1) and (2)",
    ],
)
def test_names_values_and_operators_call_nothing(sql: str) -> None:
    assert calls_nothing(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "now() > t",
        "NOW /* here */ () > t",
        '"now"() > t',
        "`random`() > 0.5",
        "t > Current_Date",
        "t < localtimestamp",
        "u = current_user",
        "cast(t as date) > s",
        "a[0] > 1 and b[random()] > 2",
    ],
)
def test_functions_with_and_without_brackets_are_seen(sql: str) -> None:
    assert not calls_nothing(sql)


@pytest.mark.parametrize(
    "sql",
    [
        ")",
        "a > 1)",
        "(a) > (1))",
        "a END)",
        "CASE a WHEN 1 THEN 2 END)",
        "repeat(a, 2)) > repeat(a, 3)",
    ],
)
def test_a_bracket_too_many_is_left_to_lance(sql: str) -> None:
    check_sql(sql, "t")


@pytest.mark.parametrize("group", ["(a)", "CASE a WHEN 1 THEN 2 END", "f(a)", "a[0]"])
def test_brackets_that_are_closed_are_no_levels(group: str) -> None:
    check_sql(" > 0 OR ".join([group] * (2 * MAX_LEVELS)), "t")
    with pytest.raises(InvalidInputError, match=f"more than {MAX_LEVELS} levels"):
        check_sql("(" * (MAX_LEVELS + 1) + group + ")" * (MAX_LEVELS + 1), "t")


def in_a_row(part: str) -> Callable[[int], str]:
    return lambda n: part * n + " "


# What makes a text of a size, the largest that fits, and what is said of the next larger one.
PARTS, WITHIN = "256 names, values and operators", MAX_PARTS - 1
ORS, STEPS = f"more than {MAX_CONNECTIVES} AND and OR", "is too much to parse"
BOUNDS: dict[str, tuple[Callable[[int], str], int, str]] = {
    **{
        f"{part} side by side": (in_a_row(f"{part} "), MAX_PARTS, PARTS)
        for part in ("a", "1", "'x'", '"a"', "`a`", "+", "::", "END", "WHEN")
    },
    **{
        f"{group} side by side": (in_a_row(f"{group} "), WITHIN, PARTS)
        for group in ("(a)", "[a]", "CASE a END", "(a, a, a)", "CASE WHEN a THEN a ELSE a END")
    },
    "ranges in a row": (lambda n: "a BETWEEN a AND a " * n, MAX_PARTS // 5, PARTS),
    "in brackets and before": (lambda n: "a " * 127 + "(" + "a " * n + ")", 128, PARTS),
    "in brackets twice": (lambda n: "((" + "a " * 100 + ") a OR (" + "a " * n + "))", 254, PARTS),
    "before a comma": (lambda n: "f(a, " + "a " * n + ", a)", 254, PARTS),
    "in a bracket that is not closed": (lambda n: "f(" + "a " * n, 254, PARTS),
    "or": (lambda n: "a" + " OR a" * n, MAX_CONNECTIVES, ORS),
    "and": (lambda n: "a" + " and a" * n, MAX_CONNECTIVES, ORS),
    "or within or": (lambda n: "(a" + " OR a" * 3000 + ")" + " OR a" * n, 2000, ORS),
    "or within the later or": (lambda n: "a" + " OR a" * n + " OR (a" + " OR a" * 3000 + ")", 1999, ORS),
    **{
        f"{word} in brackets": (in_a_row(f"{word}("), 13, STEPS)
        for word in sorted({*_TRIED_TWICE, "cast", "-", "+", "!", "~", "@"} - {"CASE"})
    },
    "levels": (lambda n: "(" * n + "a", 32, "more than 32 levels of brackets"),
    "case within case": (lambda n: "CASE " * n + "a", 13, STEPS),
    "not in front of not": (lambda n: "NOT NOT (" * n + "a", 6, STEPS),
    "a sign behind and": (lambda n: "a AND -(" * n + "a", 12, STEPS),
    "a sign behind a comma": (lambda n: "f(a, -(" * n + "a", 12, STEPS),
    "a sign behind the and of a range": (lambda n: "a BETWEEN a AND -(" * n + "a", 12, STEPS),
    "a long text in casts": (lambda n: "CAST(" * 10 + f"'{'x' * n}'", 525, STEPS),
    "repeat": (lambda n: f"repeat(a, {n})", MAX_GROWTH, "1001 times as long; 1000 times is the most"),
    "less than nothing": (lambda n: f"lpad(a, -{n}, 'x')", MAX_GROWTH, "1001 times"),
    "repeat in repeat": (lambda n: f"repeat(b || repeat(a, 10), {n})", 100, "1010 times"),
    "repeat in an argument": (lambda n: f"lpad(a, 5, f(1, repeat(a, {n})))", 200, "1005 times"),
    "a series": (lambda n: f"range(3, {n}, 2)", MAX_GROWTH, "1001 times"),
    "another series": (lambda n: f"generate_series({n})", MAX_GROWTH, "1001 times"),
    "a text to put in": (lambda n: f"replace(a, 'x', '{'y' * n}')", 998, "1001 times"),
    "a text between others": (lambda n: f"array_to_string(c, '{'y' * n}')", 998, "1001 times"),
    "a text for what is missing": (lambda n: f"list_join(c, 1, '{'y' * n}')", 998, "1001 times"),
    "a text to put into a list": (lambda n: f"array_replace_n(c, 1, '{'y' * n}', 2)", 998, "1001 times"),
    "a text to put in by a pattern": (
        lambda n: f"regexp_replace(a, 'x', '{'y' * n}', 'g')", 998, "1001 times",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_is_where_it_is_said_to_be(name: str) -> None:
    make, most, said = BOUNDS[name]
    check_sql(make(most), "the filter")
    with pytest.raises(InvalidInputError, match=f"^the filter .*{said}"):
        check_sql(make(most + 1), "the filter")


@pytest.mark.parametrize(
    "sql",
    [
        *(f"{operand} - (" * 31 + "a" for operand in ("a", "1", "'x'", '"a"', "(a)", "CASE a END")),
        "NOT a, (" * MAX_LEVELS + "a",
        "NOT a AND (" * MAX_LEVELS + "a",
        "a BETWEEN a AND a AND " * 200 + "a",
        "CASE " + "WHEN a THEN a " * 300 + "ELSE a END",
        "f(" + "a " * 200 + ", " + "a " * 200 + ")",
        "(" + "a " * 200 + ") OR (" + "a " * 200 + ")",
        "(" + "a OR " * 3000 + "a) OR (" + "a OR " * 3000 + "a)",
        "repeat(a, 900) || repeat(a, 900)",
        "repeat(a, 1, 2000)",
        "repeat(a)",
        f"regexp_replace(a, 'x', 'y', '{'g' * 2000}')",
        "replace(a, 'x')",
        f"replace(a, '{'x' * 2000}', 'y')",
        "s = 'repeat(a, 2000)' -- repeat(a, 2000)",
        "repeat = 1 AND (a > 2000)",
        "floor(repeated(a, 2000))",
    ],
    ids=lambda sql: sql[:30],
)
def test_what_stands_side_by_side_does_not_add_up(sql: str) -> None:
    check_sql(sql, "the filter")


@pytest.mark.parametrize(
    "sql",
    [
        "repeat(a, (b)-9)",
        "repeat(a, b)",
        "repeat(a, (b))",
        "repeat(a, b * 2)",
        "repeat(a, 1.2.3)",
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
def test_a_size_that_no_number_says_is_any_size(sql: str) -> None:
    with pytest.raises(InvalidInputError, match="the filter may make values of any length"):
        check_sql(sql, "the filter")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("a = 'x", "has a ' that is not closed"),
        ('a = "x', 'has a " that is not closed'),
        ("a = `x", "has a ` that is not closed"),
        ("a /* b", r"has a /\* that is not closed"),
        ("a = $1", r"has a \$: there are no parameters"),
        ("a = ?", r"has a \?: there are no parameters"),
        *(
            (f"a = {of}'x'", f"has a literal {of}'...'; write it as '...'")
            for of in ("N", "b", "U&")
        ),
    ],
)
def test_what_is_no_sql_of_lance_is_named(sql: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^the filter {said}"):
        check_sql(sql, "the filter")
