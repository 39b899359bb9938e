"""SQL that would overflow Lance's stack or block its parser for minutes never reaches Lance.

The calls run in a child process, because a signal kills the process if one of them is not rejected.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.tables.sql import check_sql

CHAINS = {
    "plus": "+".join(["a"] * 1000) + " > 0",
    "times": "*".join(["a"] * 1000) + " > 0",
    "equals": "a = 1" + " = true" * 1500,
    "cast": "a" + "::int" * 1500 + " > 0",
    "is null": "a" + " IS NULL" * 1500,
    "is not true": "b" + " IS NOT TRUE" * 400,
    "concat": "||".join(["s"] * 1500) + " = 'x'",
    "like": "s" + " LIKE 's'" * 1000,
    "between": "a" + " BETWEEN 0 AND 1" * 1000,
    "interval": "INTERVAL " * 1000 + "'1 day' > 0",
    "time zone": "a" + " AT TIME ZONE 'UTC'" * 20_000 + " IS NULL",
    "type": "CAST(a AS " + "ARRAY<" * 20_000 + "INT" + ">" * 20_000 + ") IS NULL",
    "or": " OR ".join(["b"] * 50_000),
    "and": " AND ".join(f"a <> {i}" for i in range(50_000)),
    "or of ands": " OR ".join(f"a > {i} AND s = 'x{i}'" for i in range(50_000)),
    "and of ors": " AND ".join(f"(a > {i} OR s = 'x{i}')" for i in range(50_000)),
    "or within or": "(" * 20 + "b" + (" OR b" * 3000 + ")") * 20,
    "plus within plus": "(" * 20 + "a" + ("+a" * 50 + ")") * 20 + " > 0",
    "after a string": "s = '\\'' OR b" + " = true" * 1500 + " = 'x'",
    "after a comment": "b -- '\n" + " = true" * 1500 + " -- '",
    "within a block comment": "b /* ' */" + " = true" * 1500 + " /* ' */",
    "casts": "CAST(" * 100 + "a" + " AS int)" * 100 + " > 0",
    "positions": "POSITION(" * 14 + "a a",
    "intervals of positions": "INTERVAL POSITION(" * 10 + "a a",
    "negated casts": "NOT -CAST(" * 14 + "a a",
    "brackets": "(" * 5000 + "a" + ")" * 5000 + " > 0",
    "a literal of a kind that Lance panics at": "s = N'x'",
    "a dollar-quoted literal": "s = $$x$$",
    "a parameter": "a = $1",
    "a bare parameter": "a = ?",
    "a quote that is not closed": "s = 'x",
    "a comment that is not closed": "a = 1 /* /* /*",
}
WAYS = (
    "query", "explain", "analyze", "alias", "count", "delete", "update", "set", "add",
    "merge", "merge_source",
)  # fmt: skip

CHILD = """
import json, sys
import pyarrow as pa
from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
chains, ways = json.load(sys.stdin)
rows = pa.table({"a": [1, 2], "b": [True, False], "s": ["x", "y"]})
with connect("memory") as ns:
    ns.create_table({"id": ["t"]}, rows)
    for name, text in chains.items():
        query = {"id": ["t"], "vector": None, "k": 1, "filter": text}
        alias = {**query, "filter": None, "columns": {"column_aliases": {"z": text}}}
        merge = {"id": ["t"], "on": ["a"], "when_not_matched_insert_all": True}
        calls = {
            "query": lambda: ns.query_table(query).read_all(),
            "explain": lambda: ns.explain_table_query_plan({"id": ["t"], "query": query}),
            "analyze": lambda: ns.analyze_table_query_plan(query),
            "alias": lambda: ns.query_table(alias).read_all(),
            "count": lambda: ns.count_table_rows({"id": ["t"], "predicate": text}),
            "delete": lambda: ns.delete_from_table({"id": ["t"], "predicate": text}),
            "update": lambda: ns.update_table(
                {"id": ["t"], "updates": [["a", "a"]], "predicate": text}),
            "set": lambda: ns.update_table({"id": ["t"], "updates": [["b", text]]}),
            "add": lambda: ns.alter_table_add_columns(
                {"id": ["t"], "new_columns": [{"name": "z", "expression": text}]}),
            "merge": lambda: ns.merge_insert_into_table(
                {**merge, "when_matched_update_all": True,
                 "when_matched_update_all_filt": text}, rows),
            "merge_source": lambda: ns.merge_insert_into_table(
                {**merge, "when_not_matched_by_source_delete": True,
                 "when_not_matched_by_source_delete_filt": text}, rows),
        }
        for way in ways:
            try:
                calls[way]()
                print(json.dumps([name, way, None, ""]), flush=True)
            except LanceNamespaceError as error:
                print(json.dumps([name, way, int(error.code), error.message]), flush=True)
"""


def answers(chains, ways=WAYS):
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps([chains, ways]),
        capture_output=True,
        text=True,
        timeout=300,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.returncode, found[-1:], done.stderr[-500:])
    return found


def test_deep_sql_is_rejected_by_every_operation():
    found = answers(CHAINS)
    assert len(found) == len(CHAINS) * len(WAYS)
    assert {code for _, _, code, _ in found} == {13}, [f for f in found if f[2] != 13]
    assert all("\n" not in message and len(message) < 400 for *_, message in found)


TAKEN = {
    "plus": "+".join(["a"] * 127) + " > 0",
    "equals": "b" + " = true" * 127,
    "cast": "a" + "::bigint" * 126 + " > 0",
    "is not true": "b" + " IS NOT TRUE" * 85,
    "concat": "||".join(["s"] * 126) + " = 'x'",
    "or": " OR ".join(["b"] * 5001),
    "and": " AND ".join(f"a <> {i}" for i in range(5001)),
    "or of ands": " OR ".join(f"a > {i} AND s = 'x{i}'" for i in range(2500)),
    "and of ors": " AND ".join(f"(a > {i} OR s = 'x{i}')" for i in range(4900)),
    "sums side by side": " OR ".join("+".join(["a"] * 100) + f" > {i}" for i in range(200)),
    "a long list": "a IN (" + ", ".join(map(str, range(200_000))) + ")",
    "not in a long list": "NOT (a IN (" + ", ".join(map(str, range(50_000))) + "))",
    "texts in a list": "s IN (" + ", ".join(f"'it''s {i}'" for i in range(20_000)) + ")",
    "brackets": "(" * 31 + "a" + ")" * 31 + " > 0",
    "casts": "CAST(" * 6 + "a" + " AS int)" * 6 + " > 0",
    "a long text": "s = '" + "a + b AND (" * 20_000 + "'",
    "signs in a text": "s = 'N''x' OR s = '$1 ? [\"' OR `s` = \"x\"",
    "a comment": "a = 1 -- it's\n OR a = 2 /* isn't */",
    "ranges": " OR ".join(f"a BETWEEN {i} AND {i + 1}" for i in range(2000)),
}  # fmt: skip


def test_expressions_below_the_limits_are_accepted():
    for name, way, code, message in answers(TAKEN, ("count",)):
        assert code is None, (name, way, message)
    # Evaluation overflows the stack at shorter chains, so it is tested too.
    chains = {
        name: TAKEN[name] for name in ("equals", "is not true", "or", "and of ors", "brackets")
    }
    for name, way, code, message in answers(chains, ("query", "delete", "set", "merge_source")):
        assert code is None, (name, way, message)


@pytest.mark.parametrize(
    "unit", ["a + ", "'x', ", "'", "(", "a AND ", "1, ", "'' ", "/* ", "-- ", "`", "N", "1.", "e+1"]
)
def test_an_expression_is_checked_in_linear_time(unit):
    def seconds(size):
        text = unit * (size // len(unit))
        best = float("inf")
        for _ in range(3):
            started = time.perf_counter()
            with contextlib.suppress(InvalidInputError):
                check_sql(text, "t")
            best = min(best, time.perf_counter() - started)
        return best

    assert seconds(320_000) < 64 * seconds(20_000) + 0.5
