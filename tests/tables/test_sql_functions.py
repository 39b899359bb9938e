"""Functions that remote callers may use: they exist, and hostile calls are not fatal."""

from __future__ import annotations

import itertools
import os
import re
import string
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.tables.sql_functions import FUNCTIONS, NOT_ALLOWED

from .sql_engine import SECONDS, DiedError, Engine, Expressions, calls

_NEAREST = re.compile(r"Invalid function '[^']*'.\nDid you mean '([^']*)'")


@pytest.fixture(scope="module")
def nearest(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return a function that finds the registered function with the name nearest to a text."""
    import lance

    path = str(tmp_path_factory.mktemp("functions"))
    dataset = lance.write_dataset(pa.table({"a": [1]}), path)

    @cache
    def find(name: str) -> str:
        try:
            dataset.scanner(filter=f"{name}(a)").explain_plan()
        except BaseException as error:  # noqa: BLE001 - the message is the answer, or a panic
            if (found := _NEAREST.search(str(error))) is not None:
                return found[1]
        return name

    return find


def test_every_listed_function_is_registered(nearest: Callable[[str], str]) -> None:
    listed = [*FUNCTIONS, *NOT_ALLOWED]
    assert [name for name in listed if nearest(name) != name] == []
    assert not set(FUNCTIONS) & set(NOT_ALLOWED)


def neighbors(known: list[str]) -> Iterator[str]:
    """Yield names to which an unlisted function may be the nearest."""
    words = sorted({word for name in known for word in name.split("_")})
    heads = ("array", "date", "json", "list", "map", "regexp", "st", "to")
    yield from (f"{head}_{word}" for head in heads for word in words)
    yield from (
        f"{name}{end}" for name in known for end in ("s", "_n", "_all", "_any", "64", "_agg")
    )
    for head in ("", *(f"{head}_" for head in heads)):
        for tail in itertools.product(string.ascii_lowercase, repeat=2):
            yield head + "".join(tail)


def test_no_function_of_the_engine_is_missing(nearest: Callable[[str], str]) -> None:
    known = {*FUNCTIONS, *NOT_ALLOWED}
    found = {nearest(name) for name in neighbors(sorted(known))}
    # A name that is not a function is never returned unchanged, so every name found is registered.
    assert found - known == set(), "list these functions in sql_functions"


def test_a_function_is_found_by_its_neighbors(nearest: Callable[[str], str]) -> None:
    removed = {"levenshtein", "json_get", "array_sort", "st_x"}
    known = {*FUNCTIONS, *NOT_ALLOWED} - removed
    found = {nearest(name) for name in neighbors(sorted(known))}
    assert len((found - known) & removed) >= 3


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as started:
        yield started


def run(engine: Engine, table: str, text: str) -> dict[str, Any]:
    found = dict(engine.run(text, table=table))
    assert found["seconds"] < SECONDS, (text[:200], found)
    return found


@pytest.mark.parametrize("name", sorted(FUNCTIONS)[::24])
def test_some_functions_survive_hostile_arguments(engine: Engine, name: str) -> None:
    outcomes = {run(engine, table, text)["outcome"] for table, text in list(calls(name))[::7]}
    assert "rejected" in outcomes


@pytest.mark.slow
def test_all_functions_survive_hostile_arguments(engine: Engine) -> None:
    for name in sorted(FUNCTIONS):
        for table, text in calls(name):
            run(engine, table, text)


HOSTILE_IN_PROCESS = (
    "st_geomfromtext(wkt)", "st_area(gt)", "st_area(gw)", "st_astext(st.g)", "st_geomfromwkb(wkb)",
    "json_extract(jsonb, '$')", "json_array_contains(jsonb, '$', 'x')",
    "json_extract(json_get(jsonb, 'a'), '$')", "json_extract(cast(wkt as binary), '$')",
    "arrow_cast(1, kind)", "json_extract(j, path)",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE_IN_PROCESS)
@pytest.mark.parametrize("remote", [True, False])
def test_stored_texts_and_bytes_are_not_parsed(engine: Engine, text: str, remote: bool) -> None:
    found = engine.run(text, remote=remote, table="evil")
    assert found["outcome"] == "rejected", found


def test_the_death_of_the_child_is_a_failure(engine: Engine) -> None:
    with pytest.raises(DiedError, match="ended with 1: 'a'"):
        engine.run("a", table="one that the child does not have")
    assert engine.run("a")["outcome"] == "completed"


def run_random_expressions(
    engine: Engine, seed: int, *, count: int | None = None, seconds: float = float("inf")
) -> int:
    """Run random expressions from a seed; return how many completed."""
    expressions = Expressions(seed, sorted(FUNCTIONS))
    until = time.monotonic() + seconds
    completed = done = 0
    while done != count and time.monotonic() < until:
        found = run(engine, "usual", expressions.next())
        completed += found["outcome"] == "completed"
        done += 1
    return completed


@pytest.mark.parametrize("seed", [1, 2])
def test_random_expressions_survive(engine: Engine, seed: int) -> None:
    assert run_random_expressions(engine, seed, count=150) > 10


@pytest.mark.slow
def test_random_expressions_survive_for_long(engine: Engine) -> None:
    seed = int(os.environ.get("SQL_SEED", "101"))
    seconds = float(os.environ.get("SQL_SECONDS", "600"))
    assert run_random_expressions(engine, seed, seconds=seconds) > 100
