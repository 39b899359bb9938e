"""Full-text search: what a query finds, and the effect of the index settings."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..lab import Lab, Skipped
from ..requirement import check
from ..rows import people, stream
from .searches import built, match, text, words

_QUERIES = "rest.yaml, MatchQuery, PhraseQuery, BoostQuery, MultiMatchQuery and BooleanQuery"
_INDEX = "rest.yaml, CreateTableIndexRequest, settings of full-text indexes"
_NEEDED = ("CreateTableScalarIndex", "QueryTable", "CreateTable")
_TABLES = ["tables"]


def indexed(lab: Lab, texts: list[str], **settings: Any) -> list[str]:
    """Return a table of texts, with ids from 1 and a full-text index.

    Raises:
        Skipped: the target does not support such an index.
    """
    table = lab.table_id()
    rows = pa.table({"id": pa.array(range(1, len(texts) + 1), pa.int64()), "text": texts})
    lab.given("CreateTable", stream(rows), id=table)
    reply = lab.call(
        "CreateTableScalarIndex", id=table, column="text", index_type="FTS", **settings
    )
    if reply.code in (0, 13):
        raise Skipped(f"CreateTableScalarIndex: {reply.outcome()}")
    lab.must_succeed(reply)
    built(lab, table)
    return table


def tree(**query: Any) -> dict[str, Any]:
    """Return a structured query."""
    return {"structured_query": {"query": query}}


def term(word: str) -> dict[str, Any]:
    """Return the part of a structured query that matches a word."""
    return {"match": {"terms": word, "column": "text"}}


@check("LN-SEARCH-015",
       "A phrase query matches its words in order, with at most slop words between them.", _QUERIES,
       *_NEEDED, capabilities=_TABLES)  # fmt: skip
def phrases(lab: Lab) -> None:
    table = indexed(lab, ["red fox", "red swift fox", "fox red"], with_position=True)
    for slop, due in ((0, [1]), (1, [1, 2])):
        phrase = {"terms": "red fox", "column": "text", "slop": slop}
        found = words(lab, table, tree(phrase=phrase))
        # Some engines count reordered words as slop, so id 3 is optional with a slop above 0.
        lab.same([i for i in found if i != 3 or slop == 0], due, f"the ids with a slop of {slop}")


@check("LN-SEARCH-016",
       "fuzziness finds words with other spellings; their first prefix_length letters must match.",
       _QUERIES, *_NEEDED, capabilities=_TABLES)  # fmt: skip
def fuzzy(lab: Lab) -> None:
    table = indexed(lab, ["quartz", "quarks", "square"], stem=False)
    for more, due in (
        ({}, []), ({"fuzziness": 1}, [1]), ({"fuzziness": 0}, []),
        ({"fuzziness": 1, "prefix_length": 5}, [1]), ({"fuzziness": 1, "prefix_length": 6}, []),
    ):  # fmt: skip
        lab.same(words(lab, table, match("quarty", **more)), due, f"the ids with {more}")


@check("LN-SEARCH-017",
       "In a boolean query must and must_not filter, and should ranks; should alone requires one "
       "match.", _QUERIES, *_NEEDED, capabilities=_TABLES)  # fmt: skip
def boolean(lab: Lab) -> None:
    table = indexed(lab, ["red fox", "green fox", "red hen", "blue whale"])
    red, fox, whale = (term(word) for word in ("red", "fox", "whale"))
    for more, due in (({}, [1, 2, 3]), ({"operator": "Or"}, [1, 2, 3]), ({"operator": "And"}, [1])):
        lab.same(
            words(lab, table, match("red fox", **more)), due, f"the ids of any or all words, {more}"
        )
    for must, must_not, should, due in (
        ([red], [], [fox], [1, 3]), ([red, fox], [], [], [1]), ([fox], [red], [], [2]),
        ([], [], [red, whale], [1, 3, 4]), ([], [red], [fox, whale], [2, 4]),
        ([fox], [red, whale], [], [2]), ([fox], [whale, red], [], [2]),
    ):  # fmt: skip
        query = {"must": must, "must_not": must_not, "should": should}
        lab.same(words(lab, table, tree(boolean=query)), due, f"the ids for {query}")
    for word, due in (("fox", [1, 3]), ("hen", [3, 1])):
        ranked = tree(boolean={"must": [red], "must_not": [], "should": [term(word)]})
        request = {"vector": lab.no_vector(), "k": 10, "full_text_query": ranked}
        reply = lab.call("QueryTable", id=table, **request)
        lab.must_succeed(reply)
        lab.same(reply.rows.column("id").to_pylist(), due, f"the ids, those with {word} first")


@check("LN-SEARCH-018",
       "A boost query ranks rows that match the negative query lower, and still returns them.",
       _QUERIES, *_NEEDED, capabilities=_TABLES)  # fmt: skip
def boosted(lab: Lab) -> None:
    table = indexed(lab, ["red fox", "red hen", "blue whale"])
    for low, due in (("fox", [2, 1]), ("hen", [1, 2])):
        query = tree(boost={"positive": term("red"), "negative": term(low), "negative_boost": 0.9})
        request = {"vector": lab.no_vector(), "k": 10, "full_text_query": query}
        reply = lab.call("QueryTable", id=table, **request)
        if reply.code in (0, 13):
            raise Skipped(f"QueryTable with a boost: {reply.outcome()}")
        lab.must_succeed(reply)
        lab.same(reply.rows.column("id").to_pylist(), due, f"the ids, {low} lower")


@check("LN-SEARCH-019",
       "columns selects the columns to search; without it, all indexed columns are searched.",
       "rest.yaml, StringFtsQuery and MultiMatchQuery", *_NEEDED, capabilities=_TABLES)  # fmt: skip
def columns(lab: Lab) -> None:
    table = lab.table_id()
    rows = {"id": pa.array([1, 2], pa.int64()), "text": ["fox", "hen"], "title": ["hen", "owl"]}
    lab.given("CreateTable", stream(pa.table(rows)), id=table)
    for column in ("text", "title"):
        reply = lab.call(
            "CreateTableScalarIndex", id=table, column=column, index_type="FTS", name=f"on_{column}"
        )
        if not reply.succeeded:
            raise Skipped(f"CreateTableScalarIndex: {reply.outcome()}")
    built(lab, table)
    hen = [{"match": {"terms": "hen", "column": c}}["match"] for c in ("text", "title")]
    for query, due in (
        (text("hen", columns=["text"]), [2]), (text("hen", columns=["title"]), [1]),
        (text("hen"), [1, 2]), (text("hen", columns=["text", "title"]), [1, 2]),
        (tree(multi_match={"match_queries": hen}), [1, 2]),
        (tree(multi_match={"match_queries": hen[:1]}), [2]),
    ):  # fmt: skip
        lab.same(words(lab, table, query), due, f"the ids for {query}")


@check("LN-SEARCH-020", "multi_match gives each row its best score.", "rest.yaml, MultiMatchQuery",
       *_NEEDED, capabilities=_TABLES)  # fmt: skip
def best_score(lab: Lab) -> None:
    table = lab.table_id()
    texts = {"text": ["hen", "hen hen owl", "fox"], "title": ["a long hen of titles", "owl", "hen"]}
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), **texts})
    lab.given("CreateTable", stream(rows), id=table)
    for column in texts:
        lab.maybe(
            "CreateTableScalarIndex", id=table, column=column, index_type="FTS", name=f"on_{column}"
        )
    built(lab, table)
    parts = [{"terms": "hen", "column": column} for column in texts]

    def scores(query: dict[str, Any]) -> dict[int, float]:
        request = {"vector": lab.no_vector(), "k": 10, "full_text_query": query}
        reply = lab.call("QueryTable", id=table, **request)
        lab.may_refuse(reply)
        if "_score" not in reply.rows.column_names:
            raise Skipped("QueryTable tells no score")
        return {row["id"]: round(row["_score"], 4) for row in reply.rows.to_pylist()}

    each = [scores(tree(match=part)) for part in parts]
    best = {
        i: max(found.get(i, 0.0) for found in each) for i in sorted({i for f in each for i in f})
    }
    found = scores(tree(multi_match={"match_queries": parts}))
    lab.same(dict(sorted(found.items())), best, "the scores by id")


@check("LN-SEARCH-021", "A combined vector and full-text search respects filter, columns and k.",
       "rest.yaml, QueryTableRequest: a mixture of these", *_NEEDED,
       capabilities=_TABLES)  # fmt: skip
def mixture(lab: Lab) -> None:
    table = lab.table_id()
    rows = people(*range(1, 9)).append_column("text", [["red fox", "red hen"] * 4])
    lab.given("CreateTable", stream(rows), id=table)
    lab.maybe("CreateTableScalarIndex", id=table, column="text", index_type="FTS")
    built(lab, table)
    near = {"single_vector": [1.0, 0.0]}

    def found(**more: Any) -> Any:
        request = {"vector": near, "vector_column": "vec", "full_text_query": text("fox"), **more}
        reply = lab.call("QueryTable", id=table, **{"k": 10, **request})
        lab.may_refuse(reply)
        return reply.rows

    everything = found()
    lab.that(
        {1, 3, 5, 7} <= set(everything["id"].to_pylist()), "all that hold the word", everything
    )
    kept = found(filter="id > 4", prefilter=True)["id"].to_pylist()
    lab.that(bool(kept) and min(kept) > 4, "ids above 4 alone", kept)
    kept = found(filter="id > 4")["id"].to_pylist()
    lab.that(all(i > 4 for i in kept), "ids above 4 alone", kept)
    lab.that(found(k=2).num_rows <= 2, "at most two rows for k of 2", found(k=2).num_rows)
    named = found(columns={"column_names": ["name"]}).column_names
    lab.that("name" in named and not {"id", "text", "vec"} & set(named), "the column name", named)


@check("LN-INDEX-022", "The settings of a full-text index determine which words match.", _INDEX,
       *_NEEDED, capabilities=_TABLES)  # fmt: skip
def alike(lab: Lab) -> None:
    texts = ["Running", "the café", "red-fox", "extraordinary"]
    for settings, found, lost in (
        ({}, {"running": [1], "run": [1], "cafe": [2], "fox": [3]}, {"the": []}),
        ({"stem": False, "lower_case": False}, {"Running": [1]}, {"running": []}),
        ({"stem": False}, {"running": [1]}, {"run": []}),
        ({"ascii_folding": False}, {"café": [2]}, {"cafe": []}),
        ({"remove_stop_words": False}, {"the": [2]}, {}),
        ({"base_tokenizer": "whitespace", "stem": False}, {"red-fox": [3]}, {"fox": []}),
        ({"max_token_length": 8, "stem": False}, {"running": [1]}, {"extraordinary": []}),
    ):  # fmt: skip
        table = indexed(lab, texts, **settings)
        for word, due in {**found, **lost}.items():
            lab.same(words(lab, table, text(word)), due, f"the ids for {word} with {settings}")
