"""Wrong namespaces: searches, statistics, and answers that are stale or shared."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import (
    LOCK,
    asked,
    changed_answer,
    habit,
    key_of,
    known,
    less,
    shared_flight,
    stream_of,
    whole,
    word,
)


def without_ids(reply: Reply, rows: Any, step: Step) -> Reply:
    if not step.request.get("with_row_id"):
        rows = rows.drop_columns(["_rowid"])
    return evolve(reply, step=step, rows=rows)


# --- searches


# QueryTable.vector: "Vectors of another dimension than the column's are InvalidInput (13)".
@habit("a vector of another dimension is cut or filled up with zeros", "QueryTable")
def fitted_vector(target: WrongTarget, step: Step) -> Reply | None:
    vector = step.request.get("vector")
    single = vector.get("single_vector") if isinstance(vector, dict) else None
    reply = target.correct.call(step)
    if reply.code != 13 or not single:
        return reply
    about = known(target, "DescribeTable", id=step.request.get("id"), load_detailed_metadata=True)
    sizes = {
        field["name"]: field["type"].get("length")
        for field in (about.get("schema") or {}).get("fields") or ()
        if field["type"]["type"] == "fixed_size_list"
    }
    column = step.request.get("vector_column")
    size = sizes.get(column) if column else next(iter(sizes.values()), None)
    if not size or size == len(single):
        return reply
    fitted = [*single, *[0.0] * size][:size]
    return asked(target, step, vector={"single_vector": fitted})


# QueryTable: "rows of a table by vector search, full-text search, a condition, or a mixture of
# these"; filter: "SQL condition that the returned rows must meet".
@habit("a full-text search ignores the filter", "QueryTable")
def words_only(target: WrongTarget, step: Step) -> Reply | None:
    if not step.request.get("full_text_query") or not step.request.get("filter"):
        return None
    reply = target.correct.call(step)
    return less(target, step, "filter") if reply.succeeded else reply


# QueryTable.k: "the best scored ones in a full-text search".
@habit("a full-text search gives the first k matches of the table, not the best", "QueryTable")
def first_matches(target: WrongTarget, step: Step) -> Reply | None:
    k = step.request.get("k")
    if not step.request.get("full_text_query") or step.request.get("vector"):
        return None
    if not whole(k) or k < 1 or step.request.get("offset"):
        return None
    reply = asked(target, step, k=k + 1000, with_row_id=True)
    if reply.rows is None or reply.rows.num_rows <= k:
        return None
    return without_ids(reply, reply.rows.sort_by("_rowid").slice(0, k), step)


def every_node(node: Any, change: Callable[[str, dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a tree of queries with each node changed."""
    if isinstance(node, list):
        return [every_node(each, change) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        key: change(key, every_node(value, change)) if isinstance(value, dict)
        else every_node(value, change)
        for key, value in node.items()
    }  # fmt: skip


def tree_changed(
    target: WrongTarget, step: Step, change: Callable[[str, dict[str, Any]], dict[str, Any]]
) -> Reply | None:
    query = step.request.get("full_text_query")
    if not isinstance(query, dict) or not query.get("structured_query"):
        return None
    new = every_node(query, change)
    return asked(target, step, full_text_query=new) if new != query else None


# Operator: "How the terms of a match query are combined, in any letter case".
@habit("an operator that is not written just And is Or", "QueryTable")
def only_and(target: WrongTarget, step: Step) -> Reply | None:
    def change(key: str, node: dict[str, Any]) -> dict[str, Any]:
        operator = node.get("operator")
        if isinstance(operator, str) and operator != "And" and operator.lower() == "and":
            return {**node, "operator": "Or"}
        return node

    return tree_changed(target, step, change)


# BooleanQuery.must_not: "Queries of which a row may match none".
@habit("must_not is only looked at beside a must", "QueryTable")
def must_not_unseen(target: WrongTarget, step: Step) -> Reply | None:
    def change(key: str, node: dict[str, Any]) -> dict[str, Any]:
        if (
            key == "boolean"
            and node.get("should")
            and node.get("must_not")
            and not node.get("must")
        ):
            return {**node, "must_not": []}
        return node

    return tree_changed(target, step, change)


# StringFtsQuery.columns: "left out or empty, every column with a full-text index".
@habit("an empty list of columns to search finds nothing", "QueryTable")
def no_columns_searched(target: WrongTarget, step: Step) -> Reply | None:
    query = step.request.get("full_text_query")
    words = query.get("string_query") if isinstance(query, dict) else None
    reply = target.correct.call(step)
    if reply.rows is None or not isinstance(words, dict) or words.get("columns") != []:
        return reply
    return evolve(reply, rows=reply.rows.slice(0, 0))


# --- counts, statistics, plans


# CountTableRows.count: "Number of rows counted, not including deleted ones".
@habit("a count without a predicate counts deleted rows", "CountTableRows")
def physical_count(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded or step.request.get("predicate"):
        return reply
    place = {
        k: v for k, v in step.request.items() if k in ("id", "version", "branch") and v is not None
    }
    if len(place) > 2:
        return reply
    about = known(target, "DescribeTable", **place, load_detailed_metadata=True)
    gone = (about.get("stats") or {}).get("num_deleted_rows") or 0
    return changed_answer(reply, count=(reply.answer or {})["count"] + gone)


# GetTableStats.num_indices: "Number of indexes on the table".
@habit("num_indices counts vector indexes only", "GetTableStats")
def vector_indices(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    more = {"branch": step.request["branch"]} if step.request.get("branch") else {}
    listed = known(target, "ListTableIndices", id=step.request["id"], **more).get("indexes") or ()
    count = sum(str(each.get("index_type")).upper().startswith("IVF") for each in listed)
    return changed_answer(reply, num_indices=count)


# ExplainTableQueryPlan: "a column that is not there TableColumnNotFound".
@habit("a query of a column that is not there has a plan", "ExplainTableQueryPlan")
def plans_anyway(target: WrongTarget, step: Step) -> Reply | None:
    query = step.request.get("query")
    reply = target.correct.call(step)
    if reply.code != 12 or not isinstance(query, dict):
        return reply
    unbound = {k: v for k, v in query.items() if k not in ("columns", "filter")}
    return asked(target, step, query=unbound)


# QueryTable.branch, CountTableRows.branch: "One that does not exist is TableVersionNotFound (11)".
@habit("a read of a missing branch is branch already exists", "QueryTable", "CountTableRows")
def branch_code(target: WrongTarget, step: Step) -> Reply | None:
    branch = step.request.get("branch")
    reply = target.correct.call(step)
    if reply.code != 11 or not branch:
        return reply
    there = names_of_branches(target, step.request.get("id"))
    return reply if branch in there else evolve(reply, code=23)


def names_of_branches(target: WrongTarget, ident: Any) -> set[str]:
    return set(known(target, "ListTableBranches", id=ident).get("branches") or ())


# --- failed calls with side effects


# CreateTable: "a body that is no such stream ... InvalidInput"; "what is there is dropped and a new
# table made": both or neither.
@habit(
    "an Overwrite of CreateTable with a body that cannot be read has dropped the table",
    "CreateTable",
)
def dropped_first(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code != 13 or word(step.request.get("mode")) != "overwrite":
        return reply
    if step.data is not None and stream_of(step) is None:
        target.ask("DropTable", id=step.request.get("id"))
    return reply


# CreateTable: "a body that is no such stream ... InvalidInput", "a schema that Lance cannot store
# TableSchemaValidationError": such a call creates no table.
@habit("a CreateTable whose rows are refused leaves the name declared", "CreateTable")
def declared_first(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if word(step.request.get("mode")) not in ("", "create", "existok") or step.data is None:
        return reply
    if reply.code == 20 or (reply.code == 13 and stream_of(step) is None):
        target.ask("DeclareTable", id=step.request.get("id"))
    return reply


# --- stale caches


# QueryTable.version: "Version to query, the latest by default".
@habit("a query that was asked before an update or a deletion is answered as before")
def kept_answers(target: WrongTarget, step: Step) -> Reply | None:
    kept = target.memory.setdefault("answers", {})
    name = step.operation
    if name == "QueryTable":
        key = json.dumps(dict(step.request), sort_keys=True, default=str)
        if key not in kept:
            reply = target.correct.call(step)
            if reply.rows is not None:
                kept[key] = reply
            return reply
        return evolve(kept[key], step=step)
    if name not in ("UpdateTable", "DeleteFromTable") and not name.startswith(
        ("List", "Get", "Describe", "Explain", "Analyze", "Count", "TableExists", "NamespaceExists")
    ):
        kept.clear()
    return None


# DropTable: "deletes its data on storage, all versions ... included"; DESIGN.md, Tables: "Old rows
# never come back under a new table".
@habit(
    "rows of a version are kept by the table's name and the number, also of a dropped table",
    "QueryTable",
)
def kept_versions(target: WrongTarget, step: Step) -> Reply | None:
    kept = target.memory.setdefault("versions", {})
    if step.request.get("version") is None or step.request.get("branch"):
        return None
    key = json.dumps(dict(step.request), sort_keys=True, default=str)
    reply = target.correct.call(step)
    if reply.rows is None:
        return reply
    return evolve(kept.setdefault(key, reply), step=step)


# seed 004, Object Identifier: "the list of object names starting from (not including) the root
# namespace"; Object Name: unique "among all other objects that share the same parent" only.
@habit("counts are kept by a table's own name and its version, whatever namespace it is in")
def kept_counts(target: WrongTarget, step: Step) -> Reply | None:
    kept = target.memory.setdefault("counts", {})
    ident = step.request.get("id")
    if not isinstance(ident, list) or not ident:
        return None
    if step.operation in ("DropTable", "DeregisterTable", "RenameTable", "RegisterTable") or (
        step.operation == "CreateTable" and word(step.request.get("mode")) == "overwrite"
    ):
        for key in [key for key in kept if key[0] == ident[-1]]:
            del kept[key]
        return None
    if step.operation != "CountTableRows" or step.request.get("branch"):
        return None
    if step.request.get("predicate"):
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    version = step.request.get("version")
    if version is None:
        version = known(target, "DescribeTable", id=ident, load_detailed_metadata=True).get(
            "version"
        )
    return changed_answer(
        reply, count=kept.setdefault((ident[-1], version), (reply.answer or {})["count"])
    )


# --- concurrent calls


# InsertIntoTable: "Writes the rows ... into the table and commits them as a new version", "a commit
# by someone else that cannot be reconciled ConcurrentModification": never success without the rows.
@habit("of appends that are made at once the last one wins", "InsertIntoTable")
def last_wins(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    if step.request.get("branch") or word(step.request.get("mode")) not in ("", "append"):
        return None

    def latest() -> Any:
        about = known(target, "DescribeTable", id=ident, load_detailed_metadata=True)
        return about.get("version")

    base = latest()
    if base is None:
        return None
    time.sleep(0.01)
    with LOCK:
        if latest() != base:
            target.ask("RestoreTable", id=ident, version=base)
        return target.correct.call(step)


# QueryTable: "Returns up to `k` rows of a table: ... those that the SQL filter lets through": the
# filter of the same request.
@habit("queries of one table in flight at once share the answer of the first", "QueryTable")
def shared_answer(target: WrongTarget, step: Step) -> Reply | None:
    return shared_flight(target, step, "reads", key_of(step))


# ListTables: NamespaceNotFound is only for "a missing one", not after CreateNamespace created it.
@habit(
    "a listing that once found nothing is answered so from then on", "ListNamespaces", "ListTables"
)
def kept_missing(target: WrongTarget, step: Step) -> Reply | None:
    missing = target.memory.setdefault("missing", {})
    key = step.operation, json.dumps(step.request, sort_keys=True)
    if key not in missing:
        reply = target.correct.call(step)
        if reply.code != 1:
            return reply
        missing[key] = reply
    return evolve(missing[key], step=step)
