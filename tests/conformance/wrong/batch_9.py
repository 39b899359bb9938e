"""Wrong namespaces for a second random sample of sentences from rest.yaml and the semantics."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .batch_3 import id_of, refused
from .batch_7 import fields, in_tree, newest, ranges, then, told
from .fresh import add, after, fresh, has, request
from .managed import add as add_managed
from .python import WrongTarget, answer, code_instead, succeeds_instead, with_field, without

# --- branches


def elsewhere(operation: str, *codes: int) -> None:
    add(f"{operation} of a missing branch is one of the main line", then(
        operation, *codes, act=lambda t, s: without(operation, "branch")(t, s)
        if s.request.get("branch") else None))  # fmt: skip


for _operation in ("RestoreTable", "DeleteFromTable", "DropTableIndex", "CreateTableTag"):
    elsewhere(_operation, 4, 6, 11, 13, 22)
add("a branch starts a version back", lambda t, s: with_field(
    "CreateTableBranch", from_version=newest(t, s) - 1)(t, s) if s.operation == "CreateTableBranch"
    and not s.request.get("from_version") and not s.request.get("from_branch")
    and newest(t, s) > 1 else None)  # fmt: skip


@fresh("a branch starts at the one that was made before")
def from_the_last(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateTableBranch":
        return None
    last = target.memory.get(tuple(id_of(step)))
    given = step.request.get("from_branch") or step.request.get("from_version")
    changed = (
        step if given or not last else evolve(step, request={**step.request, "from_branch": last})
    )
    reply = target.correct.call(changed)
    if reply.succeeded:
        target.memory[tuple(id_of(step))] = step.request["name"]
    return evolve(reply, step=step)


add("every branch has version 1 of its parent", answer("ListTableBranches", lambda a: {
    **a, "branches": {k: {**b, "parentVersion": 1} for k, b in a["branches"].items()}}))  # fmt: skip
add(
    "a tag of the main line says so",
    answer("GetTableTagVersion", lambda a: {"branch": "main", **a}),
)
add("a branch is restored with the main line", after("RestoreTable", lambda t, s: s.request.get(
    "branch") and t.ask("RestoreTable", id=id_of(s), version=1) and None))  # fmt: skip
add(
    "columns are dropped on every branch",
    after(
        "AlterTableDropColumns",
        lambda t, s: (
            [
                t.ask("AlterTableDropColumns", **{**s.request, "branch": b})
                for b in told(t, "ListTableBranches", s).get("branches", {})
                if not s.request.get("branch")
            ]
            and None
        ),
    ),
)
add("a missing branch has no rows", then("CountTableRows", 4, 11, 22, act=lambda t, s: Reply(
    step=s, answer={"count": 0}) if s.request.get("branch") else None))  # fmt: skip
add("of version and branch the version counts", then("DescribeTable", 13, act=lambda t, s:
    without("DescribeTable", "branch")(t, s)))  # fmt: skip

# --- versions, tags and indices


@fresh("versions that are gone are listed")
def still_listed(target: WrongTarget, step: Step) -> Reply | None:
    if (
        step.operation != "ListTableVersions"
        or step.request.get("limit")
        or step.request.get("branch")
    ):
        return None
    reply = target.correct.call(step)
    if reply.answer is None:
        return reply
    seen = target.memory.setdefault(tuple(id_of(step)), {})
    seen |= {v["version"]: v for v in reply.answer["versions"]}
    every = sorted(
        seen.values(), key=lambda v: v["version"], reverse=bool(step.request.get("descending"))
    )
    return evolve(reply, answer={**reply.answer, "versions": every})


add("a token of another table's tags starts at the beginning", then("ListTableTags", 13,
    act=lambda t, s: without("ListTableTags", "page_token")(t, s)))  # fmt: skip
add("the start of a range stays", ranges(lambda rs: [
    {**r, "start_version": r["start_version"] + 1} if r["end_version"] > r["start_version"] + 1 else r
    for r in rs]))  # fmt: skip
add("no indices is nothing", answer("ListTableIndices", lambda a: {
    k: v for k, v in a.items() if k != "indexes" or v}))  # fmt: skip
add("every index is for cosine", answer("DescribeTableIndexStats", lambda a: {
    **a, "distance_type": "cosine"} if a.get("distance_type") else a))  # fmt: skip
add(
    "stop words are in an index",
    lambda t, s: (
        with_field("CreateTableScalarIndex", remove_stop_words=False)(t, s)
        if s.request.get("remove_stop_words") is None
        else None
    ),
)
add("an index keeps capitals", lambda t, s: with_field("CreateTableScalarIndex", lower_case=False)(t, s)
    if s.request.get("lower_case") is None else None)  # fmt: skip
add("a new index deletes rows with nulls", after("CreateTableScalarIndex", lambda t, s: t.ask(
    "DeleteFromTable", id=id_of(s), predicate=f"{s.request['column']} IS NULL") and None))  # fmt: skip
add("a vector index of a missing column is code 6", code_instead("CreateTableIndex", 12, 6))

# --- tables, rows and columns

add("a merge into a declared table is refused", lambda t, s: Reply(step=s, code=13, message="no data")
    if s.operation == "MergeInsertIntoTable" and told(
        t, "DescribeTable", s, check_declared=True).get("is_only_declared") else None)  # fmt: skip
add("words are all needed unless it is said", request("QueryTable", lambda r: {
    **r, "full_text_query": in_tree(r["full_text_query"], lambda k, v: {"operator": "And", **v}
                                    if k == "match" and isinstance(v, dict) else v)}
    if r.get("full_text_query") else r))  # fmt: skip
for _operation, _old, _new in (
    ("AlterTableAlterColumns", 4, 12), ("ExplainTableQueryPlan", 4, 13), ("GetTableStats", 4, 13),
    ("UpdateTableSchemaMetadata", 4, 13), ("CreateTable", 20, 18),
):  # fmt: skip
    add(f"{_operation} is code {_new} for {_old}", code_instead(_operation, _old, _new))
add("a stream without rows declares a table", lambda t, s: evolve(t.ask("DeclareTable", id=id_of(s)), step=s)
    if s.operation == "CreateTable" and not s.request.get("mode") and s.data and len(s.data) < 1200
    and _no_rows(s) else None)  # fmt: skip


def _no_rows(step: Step) -> bool:
    import pyarrow as pa

    try:
        return pa.ipc.open_stream(step.data).read_all().num_rows == 0
    except (pa.ArrowInvalid, OSError):
        return False


def lengths(**change: Any) -> Any:
    return answer(
        "GetTableStats",
        lambda a: {
            **a,
            "fragment_stats": {
                **a["fragment_stats"],
                "lengths": {
                    k: change[k](v, a["fragment_stats"]["lengths"]) if k in change else v
                    for k, v in a["fragment_stats"]["lengths"].items()
                },
            },
        },
    )


add("lengths of fragments are bytes", lengths(max=lambda v, a: v * 8, min=lambda v, a: v * 8))
add("the median is the longest", lengths(p50=lambda v, a: a["max"]))
add("a filter reads the newest version", without("QueryTable", "version", when=has("filter")))
add("times have no zone", fields(lambda f: {
    **f, "type": {k: v for k, v in f["type"].items() if k != "timezone"}}))  # fmt: skip
add("a plan of an unknown column is of all", then("AnalyzeTableQueryPlan", 12, 13, act=lambda t, s:
    without("AnalyzeTableQueryPlan", "columns")(t, s) if s.request.get("columns") else None))  # fmt: skip
add("a column takes the name of another", succeeds_instead("AlterTableAlterColumns", 20))
add(
    "metadata that is there is kept",
    lambda t, s: (
        with_field(
            "UpdateTableSchemaMetadata",
            metadata={
                k: v
                for k, v in s.request["metadata"].items()
                if k
                not in (
                    (
                        told(t, "DescribeTable", s, load_detailed_metadata=True).get("schema") or {}
                    ).get("metadata")
                    or {}
                )
            },
        )(t, s)
        if s.operation == "UpdateTableSchemaMetadata" and s.request.get("metadata")
        else None
    ),
)
add(
    "registering over a table is code 5",
    lambda t, s: (
        code_instead("RegisterTable", 0, 0)(
            t, evolve(s, request={k: v for k, v in s.request.items() if k != "mode"})
        )
        if has("mode", "overwrite")(s) and s.operation == "RegisterTable"
        else None
    ),
)
add("DeregisterTable drops an empty namespace, too", then("DeregisterTable", 4, 13, act=lambda t, s:
    t.ask("DropNamespace", id=id_of(s)) and None))  # fmt: skip
add("properties of an update are refused", refused("UpdateTable", has("properties")))

# --- HTTP and managed versions

add_managed("an unknown mode of a property is Overwrite", then("AlterTransaction", 13, act=lambda t, s:
    t.correct.call(evolve(s, request={**s.request, "actions": [
        {k: {f: v for f, v in x.items() if f != "mode"} for k, x in each.items()}
        for each in s.request.get("actions") or ()]}))))  # fmt: skip


add_managed("what fits of a batch is done", then("BatchCommitTables", 4, 5, 13, 14, act=lambda t, s: [
    t.ask("BatchCommitTables", operations=[each]) for each in s.request["operations"]] and None))  # fmt: skip
