"""Whether an expression plainly calls no function."""

from __future__ import annotations

import pytest

from lance_namespace_impls.tables.sql import calls_nothing


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
