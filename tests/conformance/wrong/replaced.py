"""Handwritten wrong namespaces: faults with replaced, moved or nested objects, and spelling."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .python import WrongTarget, add, answer, without, wrong
from .together import each

add("a table that moves to the root stays in its namespace", "LN-TABLE-RENAME-013",
    without("RenameTable", "new_namespace_id",
            when=lambda s: s.request.get("new_namespace_id") == []))  # fmt: skip
add("the type of distance is read where there is no filter alone", "LN-COMBINED-004",
    without("QueryTable", "distance_type", when=lambda s: bool(s.request.get("filter"))))  # fmt: skip
add("a column that is renamed keeps its old type", "LN-COLUMN-020",
    each("AlterTableAlterColumns", "alterations", lambda e: {k: v for k, v in e.items()
         if k != "data_type" or "rename" not in e}))  # fmt: skip


@wrong("Overwrite without properties keeps those of the namespace", "LN-PROPERTY-003")
def keeps_unless_given(target: WrongTarget, step: Step) -> Reply | None:
    overwrites = step.operation == "CreateNamespace" and step.request.get("mode") == "Overwrite"
    if not overwrites or step.request.get("properties") is not None:
        return None
    before = target.ask("DescribeNamespace", id=step.request["id"]).answer or {}
    kept = {**step.request, "properties": before.get("properties") or {}}
    return evolve(target.correct.call(evolve(step, request=kept)), step=step)


@wrong("a name is looked for in the namespace that the table comes from", "LN-TABLE-RENAME-014")
def checks_old_namespace(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "RenameTable" or not step.request.get("new_namespace_id"):
        return None
    table = step.request["id"]
    at_home = [*table[:-1], step.request["new_table_name"]]
    if at_home != table and target.ask("TableExists", id=at_home).succeeded:
        return Reply(step=step, code=5, message="the name is taken")
    return None


@wrong("Cascade deletes the data of tables below", "LN-NAMESPACE-DROP-022")
def drops_below(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "DropNamespace" and step.request.get("behavior") == "Cascade":
        _empty(target, step.request["id"], top=True)
    return None


def _empty(target: WrongTarget, namespace: list[str], *, top: bool) -> None:
    children: Any = (target.ask("ListNamespaces", id=namespace).answer or {}).get("namespaces")
    for child in children or ():
        _empty(target, [*namespace, child], top=False)
    tables: Any = (target.ask("ListTables", id=namespace).answer or {}).get("tables")
    for table in () if top else tables or ():
        target.ask("DropTable", id=[*namespace, table])


@wrong("and in small letters is or", "LN-SPELT-003")
def small_and(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "QueryTable" or "'and'" not in repr(step.request):
        return None
    request = dict(step.request)
    request["full_text_query"] = _and_as_or(request["full_text_query"])
    return evolve(target.correct.call(evolve(step, request=request)), step=step)


def _and_as_or(query: Any) -> Any:
    if isinstance(query, list):
        return [_and_as_or(part) for part in query]
    if not isinstance(query, dict):
        return query
    return {k: "Or" if k == "operator" and v == "and" else _and_as_or(v) for k, v in query.items()}


add("a level of a namespace is split at its dots", "LN-NAME-017", answer("DescribeTable", lambda a: {
    **a, "namespace": [p for level in a.get("namespace") or () for p in level.split(".")]}))  # fmt: skip


@wrong("the mean of fragments is rounded up", "LN-STATS-005")
def rounded_up(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "GetTableStats":
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    answer: dict[str, Any] = dict(reply.answer or {})
    fragments = dict(answer["fragment_stats"])
    if fragments["num_fragments"]:
        mean = -(-answer["num_rows"] // fragments["num_fragments"])
        fragments["lengths"] = {**fragments["lengths"], "mean": mean}
    return evolve(reply, answer={**answer, "fragment_stats": fragments})


@wrong("a plan of a version that is missing is another code", "LN-STATED-029")
def plan_code(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step) if step.operation == "ExplainTableQueryPlan" else None
    missing = (
        reply is not None and reply.code == 4 and (step.request.get("query") or {}).get("version")
    )
    return evolve(reply, code=18) if missing and reply is not None else reply


@wrong("a merge makes a declared table without its rows", "LN-ROWS-DECLARED-003")
def made_empty(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "MergeInsertIntoTable" or step.request.get("when_not_matched_insert_all"):
        return None
    told = target.ask("DescribeTable", id=step.request["id"], check_declared=True).answer or {}
    reply = target.correct.call(step)
    if told.get("is_only_declared") and reply.succeeded:
        target.ask("DeleteFromTable", id=step.request["id"], predicate="true")
    return reply
