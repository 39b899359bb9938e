"""All entry points use one SQL dialect: double quotes delimit strings, never columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.server import Reach, ServerOptions, serving

ROWS = pa.table(
    {
        "Party": ["D", "R", "R"],
        "n": [1, 2, 3],
        "home": [{"City": "x"}, {"City": "y"}, {"City": "z"}],
        "a b": [1, 2, 3],
    }
)
Way = Callable[[Namespace, str], Any]
MERGE = {"id": ["t"], "on": ["n"]}


def query(text: str) -> dict[str, Any]:
    return {"id": ["t"], "vector": None, "k": 0, "filter": text}


CONDITIONS: dict[str, Way] = {
    "query": lambda ns, text: ns.query_table(query(text)).read_all(),
    "explain": lambda ns, text: ns.explain_table_query_plan({"id": ["t"], "query": query(text)}),
    "analyze": lambda ns, text: ns.analyze_table_query_plan(query(text)),
    "count": lambda ns, text: ns.count_table_rows({"id": ["t"], "predicate": text}),
    "delete": lambda ns, text: ns.delete_from_table({"id": ["t"], "predicate": text}),
    "update": lambda ns, text: ns.update_table(
        {"id": ["t"], "updates": [["n", "n + 1"]], "predicate": text}
    ),
    "merge": lambda ns, text: ns.merge_insert_into_table(
        {**MERGE, "when_matched_update_all": True, "when_matched_update_all_filt": text}, ROWS
    ),
    "merge delete": lambda ns, text: ns.merge_insert_into_table(
        {
            **MERGE,
            "when_not_matched_insert_all": True,
            "when_not_matched_by_source_delete": True,
            "when_not_matched_by_source_delete_filt": text,
        },
        ROWS,
    ),
    "table count": lambda ns, text: ns.table("t").count_rows(text),
    "table delete": lambda ns, text: ns.table("t").delete(text),
    "table update": lambda ns, text: ns.table("t").update(text, {"n": 1}),
    "search": lambda ns, text: ns.table("t").search().where(text).to_arrow(),
}
VALUES: dict[str, Way] = {
    "update value": lambda ns, text: ns.update_table({"id": ["t"], "updates": [["n", text]]}),
    "alias": lambda ns, text: ns.query_table(
        {**query(""), "columns": {"column_aliases": {"z": text}}}
    ).read_all(),
    "new column": lambda ns, text: ns.alter_table_add_columns(
        {"id": ["t"], "new_columns": [{"name": "z", "expression": text}]}
    ),
}


@pytest.fixture(scope="module")
def own() -> Iterator[Namespace]:
    """A namespace in this process; no test changes its table."""
    with connect("memory") as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        yield namespace


@pytest.fixture(scope="module")
def remote(own: Namespace) -> Iterator[Namespace]:
    """The same namespace over REST."""
    with serving(own) as uri, connect("rest", {"uri": uri}) as namespace:
        yield namespace


@pytest.fixture(params=["own", "remote"], ids=["in process", "rest"])
def namespace(request: pytest.FixtureRequest) -> Namespace:
    found: Namespace = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\"Party\" != 'R'", r"write `Party` for the column or 'Party' for the string"),
        ("\"PARTY\" != 'R'", r"write `Party` for the column"),
        ("n > 0 AND 'R' = \"party\"", r"write `Party` for the column"),
        ("\"Home.city\" = 'x'", r"write `home`.`City` for the column"),
        ('n = 1 OR Party = "a b"', r"write `a b` for the column"),
        ("coalesce(\"Party\", '') = 'D'", r"write `Party` for the column"),
        ('"_rowid" > 5', r"write `_rowid` for the column"),
        ("\"Prty\" != 'R'", r'compares "Prty" with a constant'),
        ("\"Prty\" IN ('R')", r'compares "Prty" with a constant'),
        ("\"Prty\" LIKE 'R%'", r'compares "Prty" with a constant'),
        ('"Prty" IS NOT NULL', r'compares "Prty" with a constant'),
        ('home."City" = 1', r'has "City" as a name'),
    ],
)
def test_a_column_in_double_quotes_is_rejected(own: Namespace, text: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        CONDITIONS["count"](own, text)


@pytest.mark.parametrize("way", CONDITIONS)
def test_every_condition_is_checked(namespace: Namespace, way: str) -> None:
    with pytest.raises(InvalidInputError, match="write `Party` for the column"):
        CONDITIONS[way](namespace, "\"Party\" != 'R'")
    assert namespace.query_table(query("")).read_all() == ROWS


@pytest.mark.parametrize("way", VALUES)
def test_a_value_in_double_quotes_is_not_a_column(namespace: Namespace, way: str) -> None:
    for text in ('"n"', 'coalesce("N", 1)', 'CAST("n" AS bigint)'):
        with pytest.raises(InvalidInputError, match="write `n` for the column"):
            VALUES[way](namespace, text)
    assert namespace.query_table(query("")).read_all() == ROWS


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("`Party` = \"R\"", 2), ("party = 'R'", 2), ("`a b` > 1", 2), ("home.City = 'x'", 1),
        ("home[\"City\"] = 'x'", 1), ("`home`.`City` <> \"x\"", 2), ("Party IN (\"D\", 'x')", 1),
    ],
)  # fmt: skip
def test_strings_and_backticks_are_accepted(namespace: Namespace, text: str, count: int) -> None:
    assert namespace.count_table_rows({"id": ["t"], "predicate": text}).count == count


def test_a_column_alias_may_be_a_plain_name(namespace: Namespace) -> None:
    found = VALUES["alias"](namespace, "a b")
    assert found["z"].to_pylist() == [1, 2, 3]


def test_the_command_line_rejects_a_column_in_double_quotes(tmp_path: Any) -> None:
    from lance_namespace_impls.cli.app import app

    with connect("dir", {"path": str(tmp_path)}) as own:
        own.create_table({"id": ["t"]}, ROWS)
    at = ["--impl", "dir", "-p", f"path={tmp_path}"]
    for command in ("count", "query"):
        done = CliRunner().invoke(app, [command, "t", "--where", "\"Party\" != 'R'", *at])
        assert done.exit_code != 0
        assert "`Party`" in " ".join(done.output.split())


UNBOUNDED = {
    "a function that is not listed": "st_simplify(home, 1.0) IS NULL",
    "a function that does not exist": "frobnicate(n) > 1",
    "an aggregate": "sum(n) > 1",
    "products of lengths": "levenshtein(Party, Party) > 1",
    "long products": "levenshtein(repeat(Party, 1000), repeat(Party, 1000)) > 1",
    "doubling": "encode(" * 30 + "Party" + ", 'hex')" * 30 + " = 'x'",
    "a long text in each row": f"concat(Party, '{'x' * 100_000}') = 'x'",
    "patterns from columns": "Party LIKE Party",
    "a long pattern": f"Party LIKE '{'%a' * 400_000}'",
}


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *((name, "count") for name in UNBOUNDED),
        *(("products of lengths", way) for way in CONDITIONS if way != "count"),
    ],
)
def test_remote_callers_can_use_only_bounded_functions(
    remote: Namespace, name: str, way: str
) -> None:
    with pytest.raises(InvalidInputError):
        CONDITIONS[way](remote, UNBOUNDED[name])


def test_many_columns_are_bounded_together(own: Namespace) -> None:
    aliases = {f"c{i}": "repeat(Party, 1000)" for i in range(400)}
    request = {**query(""), "columns": {"column_aliases": aliases}}
    with pytest.raises(InvalidInputError, match="1999 times as long; the maximum is 1000 times"):
        own.query_table(request)
    few = dict(list(aliases.items())[:1])
    own.query_table({**request, "columns": {"column_aliases": few}}).read_all()


def test_an_operator_may_allow_a_function(own: Namespace, remote: Namespace) -> None:
    text = "levenshtein(version(), Party) > 0"
    assert own.table("t").count_rows(text) == 3
    with pytest.raises(InvalidInputError, match=r"version.*--allow-function"):
        remote.table("t").count_rows(text)
    options = ServerOptions(reach=Reach(functions=["VERSION"]))
    with serving(own, options=options) as uri, connect("rest", {"uri": uri}) as allowed:
        assert allowed.table("t").count_rows(text) == 3


class Foreign:
    """A third-party namespace, which checks nothing."""

    def __init__(self, inner: Namespace) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_a_server_of_a_third_party_namespace_checks_sql(own: Namespace) -> None:
    with (
        serving(Foreign(own)) as uri,  # type: ignore[arg-type]
        connect("rest", {"uri": uri}) as foreign,
    ):
        for way in ("query", "count", "update value", "alias", "new column"):
            with pytest.raises(LanceNamespaceError, match="frobnicate") as failure:
                {**CONDITIONS, **VALUES}[way](foreign, "frobnicate(n)")
            assert "remote callers may not use" in json.dumps(failure.value.message), way
