"""Wrong namespaces: rows that are written and changed."""

from __future__ import annotations

import re
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import (
    asked,
    changed_answer,
    columns_of,
    habit,
    latest,
    less,
    only_declared,
    resent,
    stream_of,
    whole,
    with_columns,
    word,
)

# --- stored data


# JsonArrowDataType.timezone: "Time zone of a timestamp, such as `UTC` or `+02:00`", for each
# column.
@habit(
    "timestamps of any zone are stored as timestamps of UTC",
    "CreateTable",
    "InsertIntoTable",
    "MergeInsertIntoTable",
)
def all_utc(target: WrongTarget, step: Step) -> Reply | None:
    import pyarrow as pa

    def change(field: Any, column: Any) -> Any:
        kind = field.type
        if not pa.types.is_timestamp(kind) or kind.tz in (None, "UTC"):
            return None
        return column.cast(pa.timestamp(kind.unit, "UTC"))

    rows = stream_of(step)
    if rows is None:
        return None
    made = with_columns(rows, change)
    return None if made is rows else resent(target, step, made)


# QueryTableResponse.data: "an Arrow IPC file with the rows found", with the written values.
@habit("whole numbers beyond 2^53 are rounded like floats when they are read", "QueryTable")
def through_floats(target: WrongTarget, step: Step) -> Reply | None:
    import pyarrow as pa

    bounds = {pa.int64(): (-(2**63), 2**63 - 1), pa.uint64(): (0, 2**64 - 1)}

    def change(field: Any, column: Any) -> Any:
        if field.type not in bounds:
            return None
        low, high = bounds[field.type]
        values = [
            None if v is None else min(max(int(float(v)), low), high) for v in column.to_pylist()
        ]
        return pa.chunked_array([values], field.type)

    reply = target.correct.call(step)
    return reply if reply.rows is None else evolve(reply, rows=with_columns(reply.rows, change))


# JsonArrowField.nullable: "Whether the field may hold nulls": a null list is not an empty one.
@habit("a null list comes back as an empty list", "QueryTable")
def empty_lists(target: WrongTarget, step: Step) -> Reply | None:
    import pyarrow as pa

    def change(field: Any, column: Any) -> Any:
        if not (pa.types.is_list(field.type) or pa.types.is_large_list(field.type)):
            return None
        if not column.null_count:
            return None
        return pa.chunked_array([[[] if v is None else v for v in column.to_pylist()]], field.type)

    reply = target.correct.call(step)
    return reply if reply.rows is None else evolve(reply, rows=with_columns(reply.rows, change))


# InsertIntoTable: "Writes the rows of the Arrow IPC stream in the body into the table", unchanged.
@habit("a NaN is stored as a null", "CreateTable", "InsertIntoTable")
def nan_is_null(target: WrongTarget, step: Step) -> Reply | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    def change(field: Any, column: Any) -> Any:
        if not field.nullable or field.type not in (pa.float32(), pa.float64()):
            return None
        return pc.if_else(pc.is_nan(column), pa.scalar(None, field.type), column)

    rows = stream_of(step)
    if rows is None:
        return None
    made = with_columns(rows, change)
    return None if made is rows else resent(target, step, made)


# --- writing rows


# InsertIntoTable.mode: "`overwrite` makes a new version that holds only them", with `branch` as
# well.
@habit("overwrite on a branch appends", "InsertIntoTable")
def branch_appends(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("branch") and word(step.request.get("mode")) == "overwrite":
        return asked(target, step, mode="append")
    return None


# MergeInsertIntoTable.on: "Names of the key columns by which ... rows are matched, together".
@habit("only the first column of a key is compared", "MergeInsertIntoTable")
def first_key(target: WrongTarget, step: Step) -> Reply | None:
    on = step.request.get("on")
    if not isinstance(on, list) or len(on) < 2:
        return None
    if not set(on) <= set(columns_of(target, step.request.get("id"))):
        return None
    return asked(target, step, on=on[:1])


# MergeInsertIntoTable.when_matched_update_all_filt: "condition that a matched pair must meet".
@habit("a merge that inserts as well updates without its condition", "MergeInsertIntoTable")
def upsert_without(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    if not request.get("when_matched_update_all") or not request.get("when_not_matched_insert_all"):
        return None
    if not request.get("when_matched_update_all_filt"):
        return None
    if "source." not in str(request["when_matched_update_all_filt"]) and "target." not in str(
        request["when_matched_update_all_filt"]
    ):
        return None
    return less(target, step, "when_matched_update_all_filt")


# MergeInsertIntoTable.num_updated_rows: "Number of table rows that were updated".
@habit("num_updated_rows counts the matches that the condition left alone", "MergeInsertIntoTable")
def matches_counted(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    if not request.get("when_matched_update_all_filt") or not request.get(
        "when_matched_update_all"
    ):
        return None
    rows = stream_of(step)
    reply = target.correct.call(step)
    if not reply.succeeded or rows is None or not request.get("when_not_matched_insert_all"):
        return reply
    found = reply.answer or {}
    matched = rows.num_rows - (found.get("num_inserted_rows") or 0)
    return evolve(reply, answer={**found, "num_updated_rows": matched})


# UpdateTable.updates: "the expressions see the old values".
@habit("an expression of an update sees the values that the pairs before it set", "UpdateTable")
def one_after_another(target: WrongTarget, step: Step) -> Reply | None:
    updates = step.request.get("updates")
    if not isinstance(updates, list) or len(updates) < 2:
        return None
    if not all(isinstance(p, list | tuple) and len(p) == 2 for p in updates):
        return None
    made: list[list[str]] = []
    for name, expression in updates:
        now = str(expression)
        for earlier, value in made:
            now = re.sub(rf"\b{re.escape(earlier)}\b", lambda _, v=value: f"({v})", now)  # type: ignore[misc]
        made.append([name, now])
    if made == [list(p) for p in updates]:
        return None
    return asked(target, step, updates=made)


# --- inserts


# InsertIntoTable: "A stream whose schema does not fit the table answers
# TableSchemaValidationError".
@habit("columns that the table lacks are left out of an insert without a word", "InsertIntoTable")
def drops_columns(target: WrongTarget, step: Step) -> Reply | None:
    rows = stream_of(step)
    if rows is None or word(step.request.get("mode")) not in ("", "append"):
        return None
    there = [f["name"] for f in (latest(target, step).get("schema") or {}).get("fields") or ()]
    kept = [name for name in rows.column_names if name in there]
    if not kept or len(kept) == rows.num_columns:
        return None
    return resent(target, step, rows.select(kept))


# InsertIntoTableRequest.mode: "`overwrite` makes a new version that holds only them", even if there
# are none.
@habit("overwrite by a stream without rows leaves the rows in the table", "InsertIntoTable")
def overwrites_by_rows(target: WrongTarget, step: Step) -> Reply | None:
    rows = stream_of(step)
    if rows is None or rows.num_rows or word(step.request.get("mode")) != "overwrite":
        return None
    return asked(target, step, mode="append")


# InsertIntoTable: "`overwrite` makes the new rows the whole content, while earlier versions stay
# readable".
@habit("overwrite removes the versions before it", "InsertIntoTable")
def overwrites_history(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    now = (reply.answer or {}).get("version")
    if not reply.succeeded or word(step.request.get("mode")) != "overwrite" or not whole(now):
        return reply
    if not step.request.get("branch"):
        target.ask(
            "BatchDeleteTableVersions",
            id=step.request["id"],
            ranges=[{"start_version": 1, "end_version": now}],
        )
    return reply


# --- merges


# MergeInsertIntoTableRequest.use_index: "Whether a scalar index on the key column may be used";
# UseIndex: "It changes how fast the merge is, not its result".
@habit("a merge with use_index needs an index on its key", "MergeInsertIntoTable")
def needs_index(target: WrongTarget, step: Step) -> Reply | None:
    on = step.request.get("on")
    if step.request.get("use_index") is not True or not on:
        return None
    keys = on if isinstance(on, list) else [on]
    where = {"branch": step.request["branch"]} if step.request.get("branch") else {}
    there = target.ask("ListTableIndices", id=step.request.get("id"), **where)
    if not there.succeeded:
        return None
    if any(set(index["columns"]) & set(keys) for index in (there.answer or {})["indexes"]):
        return None
    return Reply(step=step, code=13, message="no index on the key")


# MergeInsertIntoTableRequest.when_matched_update_all: "a table row that has a match takes all
# column values of its source row", including nulls.
@habit("a null in the stream does not replace a matched row's value", "MergeInsertIntoTable")
def keeps_values(target: WrongTarget, step: Step) -> Reply | None:
    import pyarrow as pa

    rows, on = stream_of(step), step.request.get("on")
    if rows is None or not on or not step.request.get("when_matched_update_all"):
        return None
    if not any(column.null_count for column in rows.columns):
        return None
    keys = on if isinstance(on, list) else [on]
    where = {"branch": step.request["branch"]} if step.request.get("branch") else {}
    held = target.ask("QueryTable", id=step.request.get("id"), k=0, vector=None, **where)
    if held.rows is None or not set(keys) <= set(held.rows.column_names) & set(rows.column_names):
        return None
    old = {str([row[key] for key in keys]): row for row in held.rows.to_pylist()}
    made = []
    for row in rows.to_pylist():
        was = old.get(str([row[key] for key in keys])) or {}
        made.append({name: was.get(name) if v is None else v for name, v in row.items()})
    return resent(target, step, pa.Table.from_pylist(made, schema=rows.schema))


# MergeInsertIntoTable: "commits the result as one new version".
@habit("a merge that updates and inserts makes two versions", "MergeInsertIntoTable")
def two_commits(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    if not request.get("when_matched_update_all") or not request.get("when_not_matched_insert_all"):
        return None
    if only_declared(target, request.get("id")):
        return None
    first = less(target, step, "when_not_matched_insert_all")
    if not first.succeeded:
        return first
    more = less(
        target,
        step,
        "when_matched_update_all",
        "when_matched_update_all_filt",
        "when_not_matched_by_source_delete",
        "when_not_matched_by_source_delete_filt",
    )
    if not more.succeeded:
        return more
    done, added = first.answer or {}, more.answer or {}
    return changed_answer(
        more,
        num_updated_rows=done.get("num_updated_rows"),
        num_deleted_rows=done.get("num_deleted_rows"),
        num_inserted_rows=added.get("num_inserted_rows"),
    )


# --- updates and deletions


# UpdateTableResponse.updated_rows: "Number of rows that met the condition and were updated".
@habit("updated_rows leaves out rows that held the new values already", "UpdateTable")
def changed_rows(target: WrongTarget, step: Step) -> Reply | None:
    request, updates = step.request, step.request.get("updates")
    if not isinstance(updates, list) or not updates:
        return None
    if not all(isinstance(p, list | tuple) and len(p) == 2 for p in updates):
        return None
    changes = " OR ".join(f"{name} IS DISTINCT FROM ({value})" for name, value in updates)
    where = {"branch": request["branch"]} if request.get("branch") else {}
    count = target.ask(
        "CountTableRows",
        id=request.get("id"),
        predicate=f"({request.get('predicate') or 'true'}) AND ({changes})",
        **where,
    )
    reply = target.correct.call(step)
    if not reply.succeeded or not count.succeeded:
        return reply
    return changed_answer(reply, updated_rows=(count.answer or {})["count"])


# DeleteFromTableRequest.predicate: "`true` deletes all of them. One that is empty ... is
# InvalidInput".
@habit("an empty predicate deletes all rows", "DeleteFromTable")
def deletes_all(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("predicate") == "":
        return asked(target, step, predicate="true")
    return None


# DeleteFromTableResponse.version: "Version of the table after the delete".
@habit("a delete answers the version that it read", "DeleteFromTable")
def version_read(target: WrongTarget, step: Step) -> Reply | None:
    before = latest(target, step).get("version")
    reply = target.correct.call(step)
    return changed_answer(reply, version=before) if reply.succeeded and before else reply


# MergeInsertIntoTableRequest.on: rows "are matched, together"
@habit("of several key columns of a merge the last one counts", "MergeInsertIntoTable")
def last_key(target: WrongTarget, step: Step) -> Reply | None:
    keys = step.request.get("on")
    return asked(target, step, on=keys[-1:]) if isinstance(keys, list) and len(keys) > 1 else None
