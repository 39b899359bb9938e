"""Wrong namespaces: queries, searches, counts and plans."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import (
    asked,
    columns_of,
    habit,
    known,
    latest,
    less,
    matched,
    other_tree,
    searched,
    whole,
    word,
)

# --- queries


def plain(step: Step) -> bool:
    return not step.request.get("vector") and not step.request.get("full_text_query")


# QueryTable.offset: "Number of rows to skip before the first one returned"; `k` does not count
# them.
@habit("in a vector search the offset is taken off the k rows", "QueryTable")
def within_k(target: WrongTarget, step: Step) -> Reply | None:
    offset = step.request.get("offset")
    if not step.request.get("vector") or not whole(offset) or offset < 1:
        return None
    reply = less(target, step, "offset")
    return reply if reply.rows is None else evolve(reply, rows=reply.rows.slice(offset))


# QueryTable.branch: "Branch of the table to work on", with or without a filter.
@habit("a query of a branch with a filter reads the main branch", "QueryTable")
def filtered_main(target: WrongTarget, step: Step) -> Reply | None:
    if not step.request.get("branch") or not step.request.get("filter"):
        return None
    reply = target.correct.call(step)
    return less(target, step, "branch") if reply.succeeded else reply


# QueryTable.upper_bound: "Distance that every returned row must stay below, exclusive".
@habit("upper_bound lets a row at just that distance through", "QueryTable")
def bound_included(target: WrongTarget, step: Step) -> Reply | None:
    upper = step.request.get("upper_bound")
    if not step.request.get("vector") or isinstance(upper, bool):
        return None
    if not isinstance(upper, int | float):
        return None
    return asked(target, step, upper_bound=upper + max(abs(upper), 1.0) * 1e-6)


# QueryTable.distance_type: "where it differs from the index, the index cannot be used".
@habit("where there is a vector index its distance is taken, whatever is asked", "QueryTable")
def index_distance(target: WrongTarget, step: Step) -> Reply | None:
    if not step.request.get("vector") or not step.request.get("distance_type"):
        return None
    found = known(target, "ListTableIndices", id=step.request.get("id")).get("indexes") or ()
    if any(str(index.get("index_type")).upper().startswith("IVF") for index in found):
        return less(target, step, "distance_type")
    return None


# QueryTable.k: "0 is no limit" in a query without a search, also with an offset.
@habit("k=0 with an offset finds nothing", "QueryTable")
def none_after_offset(target: WrongTarget, step: Step) -> Reply | None:
    if not plain(step) or step.request.get("k") != 0 or not step.request.get("offset"):
        return None
    reply = target.correct.call(step)
    return reply if reply.rows is None else evolve(reply, rows=reply.rows.slice(0, 0))


def structured(step: Step) -> dict[str, Any] | None:
    asked_for = step.request.get("full_text_query")
    tree = asked_for.get("structured_query") if isinstance(asked_for, dict) else None
    root = tree.get("query") if isinstance(tree, dict) else None
    return root if isinstance(root, dict) else None


# BooleanQuery.should: "Queries that add to the score of a row"; required only "without any `must`".
@habit("a row must match the should queries beside a must", "QueryTable")
def should_is_must(target: WrongTarget, step: Step) -> Reply | None:
    boolean = (structured(step) or {}).get("boolean")
    if not isinstance(boolean, dict) or not boolean.get("must") or not boolean.get("should"):
        return None
    changed = {**boolean, "must": [*boolean["must"], *boolean["should"]], "should": []}
    return asked(
        target, step, full_text_query={"structured_query": {"query": {"boolean": changed}}}
    )


# BoostQuery.negative: "Query whose hits are ranked lower, though not left out".
@habit("a boost query leaves the hits of its negative query out", "QueryTable")
def negative_is_not(target: WrongTarget, step: Step) -> Reply | None:
    boost = (structured(step) or {}).get("boost")
    if not isinstance(boost, dict) or not boost.get("positive") or not boost.get("negative"):
        return None
    changed = {"must": [boost["positive"]], "must_not": [boost["negative"]], "should": []}
    return asked(
        target, step, full_text_query={"structured_query": {"query": {"boolean": changed}}}
    )


# AlterTableDropColumns: "earlier versions keep the columns".
@habit("an earlier version is read with the columns of the latest", "QueryTable")
def columns_of_now(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    if request.get("version") is None or request.get("columns") or request.get("branch"):
        return None
    reply = target.correct.call(step)
    if reply.rows is None:
        return reply
    now = columns_of(target, request.get("id"))
    lost = [n for n in reply.rows.column_names if n not in now and not n.startswith("_")]
    return evolve(reply, rows=reply.rows.drop_columns(lost)) if now and lost else reply


# CountTableRows.version: "Version to count in", with or without a predicate.
@habit("a count with a predicate counts in the latest version", "CountTableRows")
def counts_latest(target: WrongTarget, step: Step) -> Reply | None:
    if not step.request.get("predicate") or step.request.get("version") is None:
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    now = less(target, step, "version")
    return now if now.succeeded else reply


# QueryTableRequest.offset: "Number of rows to skip before the first one returned"; filter: "the
# returned rows must meet" it.
@habit("the offset of a scan counts rows that the filter leaves out", "QueryTable")
def skips_unfiltered(target: WrongTarget, step: Step) -> Reply | None:
    offset, k = step.request.get("offset"), step.request.get("k")
    if searched(step) or matched(step) or not step.request.get("filter"):
        return None
    if not whole(offset) or offset < 1 or not whole(k):
        return None
    found = asked(target, step, k=0, offset=0, with_row_id=True)
    every = asked(target, step, k=0, offset=0, with_row_id=True, filter=None)
    if found.rows is None or every.rows is None:
        return found
    skipped = set(every.rows["_rowid"].to_pylist()[:offset])
    kept = [n for n, row in enumerate(found.rows["_rowid"].to_pylist()) if row not in skipped]
    rows = found.rows.take(kept[: k or None])
    return evolve(
        found, rows=rows if step.request.get("with_row_id") else rows.drop_columns(["_rowid"])
    )


# QueryTableRequest.with_row_id: "Whether the rows come with their row id in a column `_rowid`".
@habit("with_row_id is forgotten where columns are named", "QueryTable")
def no_row_id(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("columns") and step.request.get("with_row_id"):
        return asked(target, step, with_row_id=False)
    return None


# QueryTableRequest.upper_bound: "Distance that every returned row must stay below, exclusive, in
# the unit of `distance_type`": the unit of `_distance`.
@habit("upper_bound of l2 is compared with the root of the distance that is told", "QueryTable")
def root_of_distance(target: WrongTarget, step: Step) -> Reply | None:
    upper = step.request.get("upper_bound")
    if not searched(step) or word(step.request.get("distance_type")) not in ("", "l2"):
        return None
    if isinstance(upper, bool) or not isinstance(upper, int | float) or upper <= 0:
        return None
    return asked(target, step, upper_bound=upper * upper)


# QueryTableRequest.prefilter: "With true the filter is applied before the search, so that `k`
# matching rows can be found".
@habit("prefilter=true filters what a vector search found", "QueryTable")
def filters_after(target: WrongTarget, step: Step) -> Reply | None:
    if searched(step) and step.request.get("prefilter") is True and step.request.get("filter"):
        return asked(target, step, prefilter=False)
    return None


# QueryTableRequest.vector_column: "Name of the vector column to search".
@habit("the first vector column is searched, whichever is named", "QueryTable")
def first_vectors(target: WrongTarget, step: Step) -> Reply | None:
    named = step.request.get("vector_column")
    if not searched(step) or not named:
        return None
    fields = (latest(target, step).get("schema") or {}).get("fields") or ()
    there = [f["name"] for f in fields if f["type"]["type"] == "fixed_size_list"]
    return asked(target, step, vector_column=there[0]) if named in there[1:] else None


# QueryTableRequestVector.multi_vector: "for several searches at once".
@habit("of several query vectors the first is searched for", "QueryTable")
def first_search(target: WrongTarget, step: Step) -> Reply | None:
    vector = step.request.get("vector")
    several = vector.get("multi_vector") if isinstance(vector, dict) else None
    if not isinstance(several, list) or len(several) < 2 or vector.get("single_vector"):
        return None
    return asked(target, step, vector={"single_vector": several[0]})


# QueryTableResponse.data: "a vector search adds a column `_distance`", also if columns are
# selected.
@habit("_distance is left out where columns are named", "QueryTable")
def no_distance(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    names = (step.request.get("columns") or {}).get("column_names")
    if reply.rows is None or not names or "_distance" in names:
        return reply
    return evolve(
        reply,
        rows=reply.rows.drop_columns([n for n in reply.rows.column_names if n == "_distance"]),
    )


# --- full-text search


# QueryTableRequest.fast_search: "skips rows added since the index was last updated; false by
# default".
@habit("a full-text search does not see rows added since the index was made", "QueryTable")
def always_fast(target: WrongTarget, step: Step) -> Reply | None:
    if matched(step) and not searched(step) and not step.request.get("fast_search"):
        return asked(target, step, fast_search=True)
    return None


# Operator: "in any letter case: `And` (all must match) or `Or`".
@habit("an operator in another letter case than And is taken for Or", "QueryTable")
def and_in_one_case(target: WrongTarget, step: Step) -> Reply | None:
    def change(kind: str, node: dict[str, Any]) -> dict[str, Any]:
        operator = node.get("operator")
        if kind == "match" and operator != "And" and word(operator) == "and":
            return {**node, "operator": "Or"}
        return node

    return other_tree(target, step, change)


# MultiMatchQuery: "gives each row its best score"; FtsQuery.multi_match: "keeps the best score".
@habit("a multi_match query adds the scores up", "QueryTable")
def adds_up(target: WrongTarget, step: Step) -> Reply | None:
    asked_for = step.request.get("full_text_query")
    tree = asked_for.get("structured_query") if isinstance(asked_for, dict) else None
    root = tree.get("query") if isinstance(tree, dict) else None
    several = root.get("multi_match") if isinstance(root, dict) else None
    queries = several.get("match_queries") if isinstance(several, dict) else None
    if not isinstance(queries, list) or len(queries) < 2 or not target.correct.call(step).succeeded:
        return None
    sums = {"must": [], "must_not": [], "should": [{"match": query} for query in queries]}
    return asked(target, step, full_text_query={"structured_query": {"query": {"boolean": sums}}})


# BooleanQuery.must_not: "Queries of which a row may match none".
@habit("of several must_not queries the last one counts", "QueryTable")
def last_must_not(target: WrongTarget, step: Step) -> Reply | None:
    def change(kind: str, node: dict[str, Any]) -> dict[str, Any]:
        refused = node.get("must_not")
        if kind == "boolean" and isinstance(refused, list) and len(refused) > 1:
            return {**node, "must_not": refused[-1:]}
        return node

    return other_tree(target, step, change)


# StringFtsQuery.columns: "Text columns to search".
@habit("a search for plain words looks in every indexed column", "QueryTable")
def every_column(target: WrongTarget, step: Step) -> Reply | None:
    asked_for = step.request.get("full_text_query")
    words = asked_for.get("string_query") if isinstance(asked_for, dict) else None
    if not isinstance(words, dict) or not words.get("columns"):
        return None
    if not target.correct.call(step).succeeded:
        return None
    anywhere = {k: v for k, v in words.items() if k != "columns"}
    return asked(target, step, full_text_query={**asked_for, "string_query": anywhere})


# QueryTableRequest: "by vector search, full-text search, a condition, or a mixture of these";
# filter: "SQL condition that the returned rows must meet".
@habit("a search by vector and text does not apply the filter", "QueryTable")
def hybrid_unfiltered(target: WrongTarget, step: Step) -> Reply | None:
    if not searched(step) or not matched(step) or not step.request.get("filter"):
        return None
    return less(target, step, "filter") if target.correct.call(step).succeeded else None


# --- counts, plans and statistics


# CountTableRowsRequest.branch: "One that does not exist is TableVersionNotFound (11)".
@habit("a count on a missing branch is namespace not found", "CountTableRows")
def branch_is_table(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code == 11 and step.request.get("branch") and step.request.get("version") is None:
        return evolve(reply, code=1)
    return reply


# ExplainTableQueryPlanRequest.query: "but a version that does not exist is TableNotFound (4) here".
@habit("a plan for a missing version is tag not found", "ExplainTableQueryPlan")
def plan_of_version(target: WrongTarget, step: Step) -> Reply | None:
    query = step.request.get("query")
    reply = target.correct.call(step)
    if reply.code != 4 or not isinstance(query, dict) or not whole(query.get("version")):
        return reply
    there = target.ask("TableExists", id=step.request.get("id")).succeeded
    return evolve(reply, code=8) if there and not step.request.get("branch") else reply


# AnalyzeTableQueryPlanRequest.branch: "Branch of the table to work on ... One that does not exist
# is TableNotFound (4)".
@habit("an analysis is of the main branch, whichever is named", "AnalyzeTableQueryPlan")
def analyzes_main(target: WrongTarget, step: Step) -> Reply | None:
    return less(target, step, "branch") if step.request.get("branch") else None


# GetTableStats: "for the current version of the main branch or of the branch named in the request".
@habit("the figures of a branch are those of the main branch", "GetTableStats")
def figures_of_main(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    return less(target, step, "branch") if reply.succeeded and step.request.get("branch") else reply
