"""Wrong namespaces with plausible design mistakes of an implementation.

They were written after the rules; no rule was derived from them before their first run.
"""

from __future__ import annotations

import time
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.rows import stream

from .habitual import asked, habits, key_of
from .python import Act, WrongTarget, answer, table_of

__all__ = ["HABITS"]

HABITS: dict[str, Act] = {}
habit = habits(HABITS)


@habit("page_token is an offset into the listing of the moment")
def offset(target: WrongTarget, step: Step) -> Reply | None:
    limit = step.request.get("limit")
    if step.operation not in ("ListTables", "ListNamespaces") or not limit:
        return None
    key = "tables" if step.operation == "ListTables" else "namespaces"
    request = {k: v for k, v in step.request.items() if k not in ("limit", "page_token")}
    reply = target.correct.call(evolve(step, request=request))
    token = str(step.request.get("page_token") or "0")
    if not reply.succeeded or not token.isdigit():
        return None
    names = (reply.answer or {})[key]
    start = int(token)
    found: dict[str, Any] = {key: names[start : start + limit]}
    if start + limit < len(names):
        found["page_token"] = str(start + limit)
    return Reply(step=step, answer=found)


@habit("versions are sorted as texts", "ListTableVersions")
def as_texts(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("limit"):
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    found = sorted(
        (reply.answer or {})["versions"],
        key=lambda v: str(v["version"]),
        reverse=bool(step.request.get("descending")),
    )
    return evolve(reply, answer={**(reply.answer or {}), "versions": found})


@habit("a dropped table goes to a bin, and its name stays taken")
def moves_to_bin(target: WrongTarget, step: Step) -> Reply | None:
    gone = target.memory.setdefault("gone", set())
    if step.operation == "DropTable":
        reply = target.correct.call(step)
        if reply.succeeded:
            gone.add(key_of(step))
        return reply
    if step.operation in ("CreateTable", "DeclareTable") and key_of(step) in gone:
        return Reply(step=step, code=5, message="the table is in the bin")
    return None


@habit(
    "properties with null or empty values are left out", "CreateTable", "DeclareTable", "AlterTable"
)
def no_empty(target: WrongTarget, step: Step) -> Reply | None:
    key = "set_properties" if step.operation == "AlterTable" else "properties"
    given = step.request.get(key)
    if not given:
        return None
    return asked(target, step, **{key: {k: v for k, v in given.items() if v != ""}})


@habit("everything that is updated moves to the end with null in what was not named", "UpdateTable")
def nulls_on_update(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("branch"):
        return None
    named = {pair[0] for pair in step.request.get("updates") or () if len(pair) == 2}
    if "name" in named or not named:
        return None
    reply = asked(target, step, updates=[*step.request["updates"], ["name", "NULL"]])
    return reply if reply.succeeded else None


@habit("an expression of an update is taken as a text where it is a bare word")
def bare_word(target: WrongTarget, step: Step) -> Reply | None:
    updates = step.request.get("updates")
    if step.operation != "UpdateTable" or not updates:
        return None
    made = [[p[0], f"'{p[1]}'" if len(p) == 2 and str(p[1]).isalpha() else p[-1]] for p in updates]
    return asked(target, step, updates=made)


@habit("CountTableRows counts deleted rows")
def deleted_count(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "DeleteFromTable":
        before = target.ask("CountTableRows", id=step.request["id"]).answer or {}
        reply = target.correct.call(step)
        after = target.ask("CountTableRows", id=step.request["id"]).answer or {}
        kept = target.memory.setdefault(key_of(step), 0)
        target.memory[key_of(step)] = kept + before.get("count", 0) - after.get("count", 0)
        return reply
    if step.operation == "CountTableRows" and set(step.request) == {"id"}:
        reply = target.correct.call(step)
        if reply.succeeded and key_of(step) in target.memory:
            count = (reply.answer or {})["count"] + target.memory[key_of(step)]
            return evolve(reply, answer={"count": count})
        return reply
    return None


@habit("k of 10 at most, whatever is asked")
def ten(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "QueryTable" and isinstance(step.request.get("k"), int):
        return asked(target, step, k=min(step.request["k"] or 10, 10))
    return None


@habit("a query without rows fails with table not found", "QueryTable")
def none_found(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.rows is not None and reply.rows.num_rows == 0:
        return Reply(step=step, code=4, message="no rows")
    return reply


@habit("every column of an answer is nullable, and texts are large")
def all_nullable(target: WrongTarget, step: Step) -> Reply | None:
    import pyarrow as pa

    if step.operation != "QueryTable":
        return None
    reply = target.correct.call(step)
    if reply.rows is None:
        return reply
    fields = [f.with_nullable(True).remove_metadata() for f in reply.rows.schema]
    return evolve(reply, rows=reply.rows.cast(pa.schema(fields)))


@habit("a namespace is a prefix of names: it exists once something is in it", "NamespaceExists")
def prefixes(target: WrongTarget, step: Step) -> Reply | None:
    if not step.request.get("id"):
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    ident = step.request["id"]
    inside = (target.ask("ListTables", id=ident).answer or {}).get("tables") or (
        target.ask("ListNamespaces", id=ident).answer or {}
    ).get("namespaces")
    return reply if inside else Reply(step=step, code=1, message="it is empty")


@habit("tables are listed from an index that lags by one call", "ListTables")
def lags(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("limit"):
        return None
    reply = target.correct.call(step)
    before = target.memory.get(key_of(step))
    target.memory[key_of(step)] = reply
    return evolve(before, step=step) if before is not None and reply.succeeded else reply


@habit("DropNamespace takes empty children along", "DropNamespace")
def empty_children(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("behavior"):
        return None
    children = (target.ask("ListNamespaces", id=step.request["id"]).answer or {}).get("namespaces")
    for child in children or ():
        target.ask("DropNamespace", id=[*step.request["id"], child])
    return None


@habit("tags are moved by CreateTableTag", "CreateTableTag")
def moves(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code == 9:
        return evolve(target.ask("UpdateTableTag", **step.request), step=step)
    return reply


@habit("a tag follows the newest version")
def follows(target: WrongTarget, step: Step) -> Reply | None:
    tags = target.memory.setdefault("tags", {})
    if step.operation == "CreateTableTag" and not step.request.get("branch"):
        tags.setdefault(key_of(step), []).append(step.request.get("tag"))
    if step.operation == "InsertIntoTable" and not step.request.get("branch"):
        reply = target.correct.call(step)
        version = (reply.answer or {}).get("version")
        for tag in tags.get(key_of(step), ()) if version else ():
            target.ask("UpdateTableTag", id=step.request["id"], tag=tag, version=version)
        return reply
    return None


@habit("RestoreTable throws the later versions away", "RestoreTable")
def throws_away(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("branch"):
        return None
    reply = target.correct.call(step)
    if reply.succeeded:
        later = [{"start_version": step.request["version"] + 1, "end_version": -1}]
        target.ask("BatchDeleteTableVersions", id=step.request["id"], ranges=later)
    return reply


@habit("a merge without a match in the source deletes only when the filter is given")
def needs_filter(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    if step.operation != "MergeInsertIntoTable" or not request.get(
        "when_not_matched_by_source_delete"
    ):
        return None
    if request.get("when_not_matched_by_source_delete_filt"):
        return None
    return asked(target, step, when_not_matched_by_source_delete=False)


@habit("rows of the source that are twice there are inserted once", "InsertIntoTable")
def distinct(target: WrongTarget, step: Step) -> Reply | None:
    if step.data is None:
        return None
    try:
        rows = table_of(step.data)
    except (ValueError, OSError):
        return None
    seen: dict[str, int] = {}
    for number, row in enumerate(rows.to_pylist()):
        seen.setdefault(repr(row), number)
    if len(seen) == rows.num_rows:
        return None
    return evolve(
        target.correct.call(evolve(step, data=stream(rows.take(sorted(seen.values()))))), step=step
    )


@habit("new columns are computed for the first fragment", "AlterTableAddColumns")
def first_fragment(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    names = [c["name"] for c in step.request.get("new_columns") or () if isinstance(c, dict)]
    if reply.succeeded and len((target.ask("ListTableVersions", id=step.request["id"]).answer or {}
                                ).get("versions") or ()) > 2:  # fmt: skip
        target.ask("UpdateTable", id=step.request["id"], predicate="id > 3",
                   updates=[[n, "NULL"] for n in names])  # fmt: skip
    return reply


@habit("renaming a table makes a copy", "RenameTable")
def copies(target: WrongTarget, step: Step) -> Reply | None:
    told = (target.ask("DescribeTable", id=step.request["id"]).answer or {}).get("location")
    reply = target.correct.call(step)
    if reply.succeeded and told:
        target.ask("RegisterTable", id=step.request["id"], location=told)
    return reply


@habit("RenameTable forgets the properties", "RenameTable")
def forgets(target: WrongTarget, step: Step) -> Reply | None:
    old = (target.ask("DescribeTable", id=step.request["id"]).answer or {}).get("properties") or {}
    reply = target.correct.call(step)
    if reply.succeeded and old:
        parent = step.request.get("new_namespace_id") or step.request["id"][:-1]
        new = [*parent, step.request["new_table_name"]]
        target.ask("AlterTable", id=new, unset_properties=sorted(old))
    return reply


@habit("descriptions are kept for two seconds", "DescribeTable", "DescribeNamespace")
def kept(target: WrongTarget, step: Step) -> Reply | None:
    key = repr(sorted(step.request.items(), key=repr)) + step.operation
    held = target.memory.get(key)
    if held is not None and time.monotonic() - held[0] < 2:
        return evolve(held[1], step=step)
    reply = target.correct.call(step)
    if reply.succeeded:
        target.memory[key] = (time.monotonic(), reply)
    return reply


@habit("a missing table is told as a missing namespace")
def missing(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    return evolve(reply, code=1) if reply.code == 4 and step.operation == "DropTable" else reply


@habit(
    "what cannot be done is a success without effect",
    "AlterTableAlterColumns",
    "CreateTableIndex",
    "RestoreTable",
)
def swallowed(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code in (13, 20):
        return Reply(step=step, answer={"version": 1})
    return reply


@habit("a filter is applied after the limit")
def after_limit(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    if step.operation != "QueryTable" or not request.get("filter") or request.get("vector"):
        return None
    if request.get("full_text_query") or not isinstance(request.get("k"), int):
        return None
    whole = asked(target, step, k=0)
    first = target.correct.call(
        evolve(step, request={k: v for k, v in request.items() if k != "filter"})
    )
    if whole.rows is None or first.rows is None:
        return whole
    held = [repr(row) for row in whole.rows.to_pylist()]
    rows = [n for n, row in enumerate(first.rows.to_pylist()) if repr(row) in held]
    return evolve(first, step=step, rows=first.rows.take(rows))


@habit("offset is rounded down to a page of ten")
def rounded(target: WrongTarget, step: Step) -> Reply | None:
    offset = step.request.get("offset")
    if step.operation == "QueryTable" and isinstance(offset, int):
        return asked(target, step, offset=offset // 10 * 10)
    return None


@habit("names of columns are looked up in any case", "QueryTable")
def any_case(target: WrongTarget, step: Step) -> Reply | None:
    if not step.request.get("columns"):
        return None
    columns = step.request["columns"].get("column_names") or []
    return asked(target, step, columns={"column_names": [c.lower() for c in columns]})


@habit("a location keeps a slash at its end")
def slash(target: WrongTarget, step: Step) -> Reply | None:
    return answer(
        "DescribeTable",
        lambda a: {**a, "location": f"{a['location']}/"} if a.get("location") else a,
    )(target, step)


@habit("the schema tells list types without their items")
def bare_lists(target: WrongTarget, step: Step) -> Reply | None:
    def change(found: dict[str, Any]) -> dict[str, Any]:
        for field in (found.get("schema") or {}).get("fields") or ():
            if "list" in field["type"]["type"]:
                field["type"].pop("fields", None)
        return found

    return answer("DescribeTable", change)(target, step)


@habit("a branch of a branch starts at its first version", "CreateTableBranch")
def from_the_first(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("from_version") is None and step.request.get("from_branch"):
        return asked(target, step, from_version=1)
    return None


@habit("a listing of indices has one at most")
def one_index(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "ListTableIndices":
        reply = target.correct.call(step)
        if reply.succeeded and len((reply.answer or {}).get("indexes") or ()) > 1:
            return evolve(reply, answer={"indexes": (reply.answer or {})["indexes"][:1]})
        return reply
    return None


@habit("statistics are of the moment when the table was made", "GetTableStats")
def first_stats(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    return target.memory.setdefault(key_of(step), reply) if reply.succeeded else reply


@habit("metadata of a field is replaced, whatever is asked", "UpdateFieldMetadata")
def replaced(target: WrongTarget, step: Step) -> Reply | None:
    updates = [
        {**u, "replace": True} if isinstance(u, dict) else u
        for u in step.request.get("updates") or ()
    ]
    return asked(target, step, updates=updates)


@habit("NULL is a value like another in a comparison")
def null_compares(target: WrongTarget, step: Step) -> Reply | None:
    found = step.request.get("predicate")
    if step.operation in ("DeleteFromTable", "CountTableRows") and found and "<" in str(found):
        return asked(target, step, predicate=f"({found}) IS NOT FALSE")
    return None


@habit("a namespace made under a missing one is made at the root", "CreateNamespace")
def at_the_root(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code == 1:
        return Reply(step=step, answer={"properties": step.request.get("properties") or {}})
    return reply


@habit("the answer of AlterTable has the properties from before", "AlterTable")
def from_before(target: WrongTarget, step: Step) -> Reply | None:
    old = (target.ask("DescribeTable", id=step.request["id"]).answer or {}).get("properties")
    reply = target.correct.call(step)
    return evolve(reply, answer={"properties": old or {}}) if reply.succeeded else reply


@habit("only the first hundred rows of a stream are searched by a condition")
def first_hundred(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "CountTableRows" and step.request.get("predicate"):
        reply = target.correct.call(step)
        count = (reply.answer or {}).get("count", 0)
        return evolve(reply, answer={"count": min(count, 100)}) if reply.succeeded else reply
    return None


@habit("empty lists of names mean all")
def empty_means_all(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "BatchDeleteTableVersions" and step.request.get("ranges") == []:
        return asked(target, step, ranges=[{"start_version": 1, "end_version": -1}])
    if step.operation == "AlterTableDropColumns" and step.request.get("columns") == []:
        return asked(target, step, columns=["name"])
    return None
