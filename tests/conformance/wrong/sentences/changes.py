"""Wrong namespaces: rows written, merged, updated, deleted and read."""

from __future__ import annotations

import re
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import (
    asked,
    columns_of,
    habit,
    less,
    stream_of,
    whole,
    written,
)


def plain(step: Step) -> bool:
    return not step.request.get("vector") and not step.request.get("full_text_query")


def sent(target: WrongTarget, step: Step, rows: Any) -> Reply:
    return evolve(target.correct.call(evolve(step, data=written(rows))), step=step)


def without_ids(reply: Reply, rows: Any, step: Step) -> Reply:
    if not step.request.get("with_row_id"):
        rows = rows.drop_columns(["_rowid"])
    return evolve(reply, step=step, rows=rows)


WRITES = ("CreateTable", "InsertIntoTable", "MergeInsertIntoTable")


# --- writing rows


# InsertIntoTable: "Writes the rows of the Arrow IPC stream in the body into the table".
@habit("whole numbers of 64 bits pass through a double on their way in", *WRITES)
def through_double(target: WrongTarget, step: Step) -> Reply | None:
    import pyarrow as pa

    rows = stream_of(step)
    if rows is None:
        return None
    changed = rows
    for at, field in enumerate(rows.schema):
        if field.type != pa.int64():
            continue
        values = rows.column(at).to_pylist()
        near = [v if v is None else min(int(float(v)), 2**63 - 1024) for v in values]
        if any(v is not None and abs(v) > 2**53 for v in values) and near != values:
            changed = changed.set_column(at, field, pa.array(near, pa.int64()))
    return None if changed is rows else sent(target, step, changed)


# InsertIntoTable: "Writes the rows of the Arrow IPC stream": an empty list is not null.
@habit("an empty list is stored as null", *WRITES)
def list_of_nothing(target: WrongTarget, step: Step) -> Reply | None:
    import pyarrow as pa

    rows = stream_of(step)
    if rows is None:
        return None
    changed = rows
    for at, field in enumerate(rows.schema):
        if not (pa.types.is_list(field.type) or pa.types.is_large_list(field.type)):
            continue
        values = rows.column(at).to_pylist()
        if field.nullable and [] in values:
            some = pa.array([v or None for v in values], field.type)
            changed = changed.set_column(at, field, some)
    return None if changed is rows else sent(target, step, changed)


# --- merging


# MergeInsertIntoTable.when_matched_update_all: "Whether a table row that has a match takes all
# column values of its source row; false by default".
@habit("a merge that is to insert updates the matches as well", "MergeInsertIntoTable")
def always_upsert(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    if request.get("when_not_matched_insert_all") and not request.get("when_matched_update_all"):
        return asked(target, step, when_matched_update_all=True)
    return None


# MergeInsertIntoTable.when_not_matched_by_source_delete_filt: "Unused without
# `when_not_matched_by_source_delete`".
@habit(
    "the filter of a merge's deletion turns on the deletion of the others", "MergeInsertIntoTable"
)
def filter_is_flag(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    if request.get("when_not_matched_by_source_delete"):
        return None
    if not request.get("when_not_matched_by_source_delete_filt"):
        return None
    others = f"NOT ({request['when_not_matched_by_source_delete_filt']})"
    return asked(target, step, when_not_matched_by_source_delete=True,
                 when_not_matched_by_source_delete_filt=others)  # fmt: skip


# --- updating and deleting


# DeleteFromTable: "Deletes every row that the SQL predicate selects": SQL selects no row for which
# the condition is null.
@habit("a row for which the predicate is null is deleted", "DeleteFromTable")
def null_is_true(target: WrongTarget, step: Step) -> Reply | None:
    predicate = step.request.get("predicate")
    if not isinstance(predicate, str) or not predicate.strip():
        return None
    reply = asked(target, step, predicate=f"({predicate}) OR ({predicate}) IS NULL")
    return reply if reply.succeeded else None


# DeleteFromTable.branch: "Branch of the table to work on"; tag Branch: "Lines of versions of a
# table that are written independently".
@habit("a deletion on a branch is made on the main branch as well", "DeleteFromTable")
def deletes_on_main(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.succeeded and step.request.get("branch"):
        less(target, step, "branch")
    return reply


# --- plain queries


# QueryTable.k: "Highest number of rows ... 0 is no limit there".
@habit("k=0 of a scan is the default of ten rows", "QueryTable")
def or_ten(target: WrongTarget, step: Step) -> Reply | None:
    if plain(step) and step.request.get("k") == 0:
        return asked(target, step, k=10)
    return None


# QueryTable.offset: "Number of rows to skip before the first one returned; 0 by default": an offset
# past the end returns no rows.
@habit("an offset at or past the last row is invalid input", "QueryTable")
def past_the_end(target: WrongTarget, step: Step) -> Reply | None:
    offset = step.request.get("offset")
    if not plain(step) or not whole(offset) or offset < 1:
        return None
    reply = target.correct.call(step)
    if reply.rows is not None and reply.rows.num_rows == 0:
        return Reply(step=step, code=13, message="the offset is out of range")
    return reply


# QueryTable.filter: "SQL condition that the returned rows must meet"; columns: "Which columns to
# return": the filter may use other columns.
@habit("a filter sees only the columns that are returned", "QueryTable")
def filters_projection(target: WrongTarget, step: Step) -> Reply | None:
    chosen, condition = step.request.get("columns"), step.request.get("filter")
    names = chosen.get("column_names") if isinstance(chosen, dict) else None
    reply = target.correct.call(step)
    if reply.rows is None or not names or not isinstance(condition, str):
        return reply
    bare = re.sub(r"'[^']*'", "''", condition)
    used = {
        n for n in columns_of(target, step.request["id"]) if re.search(rf"\b{re.escape(n)}\b", bare)
    }
    if used <= set(names):
        return reply
    return Reply(step=step, code=12, message="no such column")


# QueryTable.columns: "Which columns to return; absent or null returns all of them".
@habit("a query that finds no rows answers a file without columns", "QueryTable")
def no_rows_no_columns(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.rows is None or reply.rows.num_rows:
        return reply
    return evolve(reply, rows=reply.rows.select([]))
