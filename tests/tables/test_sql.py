"""Whether an expression plainly calls no function, and how its brackets are counted."""

from __future__ import annotations

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.tables.sql import MAX_LEVELS, calls_nothing, check_sql


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
def test_names_values_and_operators_call_nothing(sql):
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
def test_functions_with_and_without_brackets_are_seen(sql):
    assert not calls_nothing(sql)


@pytest.mark.parametrize(
    "sql", [")", "a > 1)", "(a) > (1))", "a END)", "CASE a WHEN 1 THEN 2 END)"]
)
def test_a_bracket_too_many_is_left_to_lance(sql):
    check_sql(sql, "t")


@pytest.mark.parametrize("group", ["(a)", "CASE a WHEN 1 THEN 2 END", "f(a)", "a[0]"])
def test_brackets_that_are_closed_are_no_levels(group):
    check_sql(" > 0 OR ".join([group] * (2 * MAX_LEVELS)), "t")
    with pytest.raises(InvalidInputError, match=f"more than {MAX_LEVELS} levels"):
        check_sql("(" * (MAX_LEVELS + 1) + group + ")" * (MAX_LEVELS + 1), "t")
