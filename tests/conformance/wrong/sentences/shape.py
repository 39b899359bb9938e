"""Wrong namespaces: branches, indices, columns and descriptions."""

from __future__ import annotations

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import (
    READS,
    asked,
    changed_answer,
    columns_of,
    habit,
    indexes_of,
    key_of,
    known,
    less,
    numbers_of,
    word,
)

# --- branches


# DeleteTableBranch: "The main branch and other branches keep their rows".
@habit("the branches made from a branch are deleted along with it", "DeleteTableBranch")
def children_too(target: WrongTarget, step: Step) -> Reply | None:
    def remove(name: str) -> None:
        told = known(target, "ListTableBranches", id=step.request.get("id")).get("branches") or {}
        for child, found in told.items():
            if found.get("parentBranch") == name:
                remove(child)
                target.ask("DeleteTableBranch", id=step.request["id"], name=child)

    if isinstance(step.request.get("name"), str):
        remove(step.request["name"])
    return None


# CreateTableBranchRequest.from_version: "Version number on that branch to start from; its latest if
# left out".
@habit("a branch of a branch starts where that one started", "CreateTableBranch")
def starts_at_start(target: WrongTarget, step: Step) -> Reply | None:
    source = step.request.get("from_branch")
    if not source or step.request.get("from_version") is not None:
        return None
    there = numbers_of(target, step.request.get("id"), source)
    return asked(target, step, from_version=there[0]) if there else None


# CreateTableBranch: only "A branch of that name answers TableBranchAlreadyExists";
# DeleteTableBranch: "Removes a branch".
@habit(
    "the name of a deleted branch stays taken",
    "DeleteTableBranch",
    "CreateTableBranch",
    "DropTable",
    "CreateTable",
    "RenameTable",
)
def name_taken(target: WrongTarget, step: Step) -> Reply | None:
    taken = target.memory.setdefault("taken", {}).setdefault(key_of(step), set())
    if step.operation == "CreateTableBranch":
        name = step.request.get("name")
        if isinstance(name, str) and name in taken:
            return Reply(step=step, code=23, message="the branch is there")
        return None
    reply = target.correct.call(step)
    if reply.succeeded:
        if step.operation == "DeleteTableBranch":
            taken.add(step.request["name"])
        else:
            taken.clear()
    return reply


# --- indices


# CreateTableIndex.name: "A name already in use is TableIndexAlreadyExists (7)".
@habit("an index of a name in use replaces the old one", "CreateTableScalarIndex")
def replaces_index(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code != 7 or not step.request.get("name"):
        return reply
    more = {"branch": step.request["branch"]} if step.request.get("branch") else {}
    target.ask("DropTableIndex", id=step.request["id"], index_name=step.request["name"], **more)
    return target.correct.call(step)


# IndexContent.columns: "Names of the columns the index is on".
@habit(
    "an index tells the name its column had when the index was made",
    "AlterTableAlterColumns",
    "ListTableIndices",
)
def old_column(target: WrongTarget, step: Step) -> Reply | None:
    old = target.memory.setdefault("old", {}).setdefault(key_of(step), {})
    if step.operation == "AlterTableAlterColumns":
        if step.request.get("branch"):
            return None
        before = known(target, "ListTableIndices", id=step.request.get("id")).get("indexes") or ()
        reply = target.correct.call(step)
        for entry in step.request["alterations"] if reply.succeeded else ():
            for index in before if entry.get("rename") else ():
                if entry["path"] in index["columns"]:
                    told = old.setdefault(index["index_uuid"], {})
                    told[entry["rename"]] = told.pop(entry["path"], entry["path"])
        return reply
    reply = target.correct.call(step)
    if not reply.succeeded or not old:
        return reply
    found = reply.answer or {}
    shown = [
        {**i, "columns": [old.get(i["index_uuid"], {}).get(c, c) for c in i["columns"]]}
        for i in found["indexes"]
    ]
    return evolve(reply, answer={**found, "indexes": shown})


# CreateTableIndexRequest.distance_type: "the distance the index is built for".
@habit("every vector index is built for l2", "CreateTableIndex")
def always_l2(target: WrongTarget, step: Step) -> Reply | None:
    if word(step.request.get("distance_type")) in ("cosine", "dot"):
        return less(target, step, "distance_type")
    return None


# ListTableIndices: "for the current version or the version given".
@habit("the indexes of an earlier version are those of the latest", "ListTableIndices")
def indexes_of_now(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("version") is None or step.request.get("page_token"):
        return None
    reply = target.correct.call(step)
    return less(target, step, "version") if reply.succeeded else reply


# ListTableIndicesResponse.indexes: "The indexes, sorted by name".
@habit("indexes are listed in the order of their making", "ListTableIndices")
def order_of_making(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    found = (reply.answer or {})["indexes"]
    return changed_answer(reply, indexes=sorted(found, key=lambda i: str(i.get("created_at"))))


# DropTableIndex: "Takes an index off a table"; other indexes of its column stay.
@habit("all indexes of the column go with the one that is dropped", "DropTableIndex")
def drops_of_column(target: WrongTarget, step: Step) -> Reply | None:
    ident, branch = step.request.get("id"), step.request.get("branch")
    before = indexes_of(target, ident, branch)
    own = [i["columns"] for i in before if i["index_name"] == step.request.get("index_name")]
    reply = target.correct.call(step)
    if reply.succeeded:
        more = {"branch": branch} if branch else {}
        for index in indexes_of(target, ident, branch):
            if index["columns"] in own:
                target.ask("DropTableIndex", id=ident, index_name=index["index_name"], **more)
    return reply


# DescribeTableIndexStatsResponse.num_unindexed_rows: "Number of rows the index does not cover yet".
@habit(
    "the statistics of an index count the rows added since as indexed", "DescribeTableIndexStats"
)
def all_indexed(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    found = reply.answer or {}
    if not reply.succeeded or not found.get("num_unindexed_rows"):
        return reply
    total = (found.get("num_indexed_rows") or 0) + found["num_unindexed_rows"]
    return changed_answer(reply, num_indexed_rows=total, num_unindexed_rows=0)


# --- columns


# AlterTableDropColumns: "A column that is not there answers TableColumnNotFound and nothing is
# dropped".
@habit("the columns that are there are dropped beside one that is not", "AlterTableDropColumns")
def drops_some(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    columns = step.request.get("columns")
    if reply.code == 12 and isinstance(columns, list) and len(columns) > 1:
        for column in columns:
            asked(target, step, columns=[column])
    return reply


# AddColumnsEntry: "with exactly one of `expression`, `computed` and `virtual_column` ..., else
# the request is InvalidInput (13)".
@habit("a new column that says nothing of its values is one of nulls", "AlterTableAddColumns")
def null_column(target: WrongTarget, step: Step) -> Reply | None:
    entries = step.request.get("new_columns")
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        return None
    kinds = ("expression", "computed", "virtual_column")
    if not any(all(e.get(kind) is None for kind in kinds) for e in entries):
        return None
    changed = [
        e if any(e.get(kind) is not None for kind in kinds)
        else {"name": e.get("name"), "expression": "CAST(NULL AS INT)"}
        for e in entries
    ]  # fmt: skip
    return asked(target, step, new_columns=changed)


# AlterTableBackfillColumns.column: "Column to fill; one that no function fills is InvalidInput
# (13)".
@habit("a backfill is taken on for a column that no function fills", "AlterTableBackfillColumns")
def fills_all(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code not in (0, 13):
        return reply
    if step.request.get("column") in columns_of(target, step.request.get("id")):
        return Reply(step=step, answer={"job_id": "backfill-1"})
    return reply


# UpdateTableSchemaMetadata.metadata: "All metadata of the table's schema after the change".
@habit("an empty change of the schema metadata answers an empty map", "UpdateTableSchemaMetadata")
def empty_change(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("metadata"):
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    found = reply.answer or {}
    return evolve(reply, answer={**found, "metadata": {}} if "metadata" in found else {})


# AlterTableAddColumnsRequest.new_columns: "The columns to add", all of them.
@habit("only the first of several new columns is added", "AlterTableAddColumns")
def first_column(target: WrongTarget, step: Step) -> Reply | None:
    entries = step.request.get("new_columns")
    if not isinstance(entries, list) or len(entries) < 2:
        return None
    return asked(target, step, new_columns=entries[:1])


# AlterColumnsEntry.nullable: "false on a column that holds some is TableSchemaValidationError
# (20)".
@habit(
    "nullable=false on a column with nulls succeeds and changes nothing", "AlterTableAlterColumns"
)
def still_nullable(target: WrongTarget, step: Step) -> Reply | None:
    entries = step.request.get("alterations")
    reply = target.correct.call(step)
    if reply.code != 20 or not isinstance(entries, list) or len(entries) != 1:
        return reply
    if entries[0].get("nullable") is not False or entries[0].get("rename"):
        return reply
    if entries[0].get("data_type") is not None:
        return reply
    now = numbers_of(target, step.request["id"], step.request.get("branch"))
    return Reply(step=step, answer={"version": now[-1]})


# AlterColumnsEntry: "Change to one column; what is left out stays as it is".
@habit("a column of a new data type has lost its metadata", "AlterTableAlterColumns")
def retyped_bare(target: WrongTarget, step: Step) -> Reply | None:
    entries, branch = step.request.get("alterations"), step.request.get("branch")
    told = known(
        target, "DescribeTable", id=step.request.get("id"), load_detailed_metadata=True,
        **({"branch": branch} if branch else {}),
    )  # fmt: skip
    fields = (told.get("schema") or {}).get("fields") or ()
    marked = {field["name"] for field in fields if field.get("metadata")}
    reply = target.correct.call(step)
    if not reply.succeeded or not isinstance(entries, list):
        return reply
    updates = []
    for entry in entries:
        if entry.get("data_type") is not None and entry["path"] in marked:
            parent, dot, name = entry["path"].rpartition(".")
            path = f"{parent}{dot}{entry.get('rename') or name}"
            updates.append({"path": path, "metadata": {}, "replace": True})
    if not updates:
        return reply
    more = {"branch": step.request["branch"]} if step.request.get("branch") else {}
    done = target.ask("UpdateFieldMetadata", id=step.request["id"], updates=updates, **more)
    return (
        changed_answer(reply, version=(done.answer or {})["version"]) if done.succeeded else reply
    )


# AlterTableDropColumnsRequest.columns: "Paths of the columns, with dots between the levels".
@habit("dropping a nested field drops the whole column", "AlterTableDropColumns")
def drops_whole(target: WrongTarget, step: Step) -> Reply | None:
    columns = step.request.get("columns")
    if not isinstance(columns, list) or not all(isinstance(c, str) for c in columns):
        return None
    there = columns_of(target, step.request.get("id"))
    if not any("." in c and c not in there for c in columns):
        return None
    reply = target.correct.call(step)
    tops = sorted({c.split(".")[0] for c in columns if "." in c and c not in there})
    if not reply.succeeded or set(columns_of(target, step.request["id"])) <= set(tops):
        return reply
    return asked(target, step, columns=tops)


# UpdateFieldMetadataEntry.metadata: "a null value removes the key".
@habit(
    "a null value leaves the key of a column's metadata with an empty text", "UpdateFieldMetadata"
)
def null_is_empty(target: WrongTarget, step: Step) -> Reply | None:
    updates = step.request.get("updates")
    if not isinstance(updates, list) or not all(
        isinstance(u, dict) and isinstance(u.get("metadata"), dict) for u in updates
    ):
        return None
    changed = [
        {**u, "metadata": {k: "" if v is None else v for k, v in u["metadata"].items()}}
        for u in updates
    ]
    return asked(target, step, updates=changed) if changed != updates else None


# UpdateFieldMetadataResponse.fields: "All metadata of every column that was changed".
@habit(
    "UpdateFieldMetadata answers the pairs it set and not those that were there",
    "UpdateFieldMetadata",
)
def only_what_was_set(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    found = reply.answer or {}
    if not reply.succeeded or not found.get("fields"):
        return reply
    named = {u["path"]: set(u.get("metadata") or ()) for u in step.request.get("updates") or ()}
    fields = {
        path: {k: v for k, v in told.items() if k in named.get(path, told)}
        for path, told in found["fields"].items()
    }
    return changed_answer(reply, fields=fields)


# UpdateTableSchemaMetadata: "Adds the given pairs ..., in place of those of the same keys".
@habit("schema metadata that is there is not overwritten", "UpdateTableSchemaMetadata")
def keeps_old(target: WrongTarget, step: Step) -> Reply | None:
    pairs, branch = step.request.get("metadata"), step.request.get("branch")
    if not isinstance(pairs, dict):
        return None
    more = {"branch": branch} if branch else {}
    told = known(
        target, "DescribeTable", id=step.request.get("id"), load_detailed_metadata=True, **more
    )
    old = {**((told.get("schema") or {}).get("metadata") or {}), **(told.get("metadata") or {})}
    return asked(target, step, metadata={k: v for k, v in pairs.items() if k not in old})


# --- descriptions and statistics


# DescribeTableResponse.schema: "Arrow schema of the described version".
@habit("the schema that DescribeTable gives is kept until rows are written")
def kept_schema(target: WrongTarget, step: Step) -> Reply | None:
    kept = target.memory.setdefault("schemas", {})
    if step.operation == "DescribeTable":
        latest = all(step.request.get(k) is None for k in ("version", "tag", "branch"))
        reply = target.correct.call(step)
        if not latest or not step.request.get("load_detailed_metadata") or not reply.succeeded:
            return reply
        schema = (reply.answer or {}).get("schema")
        return changed_answer(reply, schema=kept.setdefault(key_of(step), schema))
    if not step.operation.startswith((*READS, "AlterTable", "UpdateField", "UpdateTableSchema")):
        kept.clear()
    return None


# GetTableStatsResponse.num_rows: "Number of rows, deleted ones not counted".
@habit("the rows of GetTableStats count those that were deleted", "GetTableStats")
def deleted_counted(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    branch = step.request.get("branch")
    told = known(
        target, "DescribeTable", id=step.request.get("id"), load_detailed_metadata=True,
        **({"branch": branch} if branch else {}),
    )  # fmt: skip
    deleted = (told.get("stats") or {}).get("num_deleted_rows") or 0
    return changed_answer(reply, num_rows=(reply.answer or {})["num_rows"] + deleted)


# GetTableStatsResponse.num_indices: "Number of indexes on the table".
@habit("GetTableStats counts the indexed columns and not the indexes", "GetTableStats")
def columns_counted(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    found = indexes_of(target, step.request.get("id"), step.request.get("branch"))
    return changed_answer(reply, num_indices=len({tuple(i["columns"]) for i in found}))
