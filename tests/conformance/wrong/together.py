"""Handwritten wrong namespaces: each feature works alone, but a combination is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .python import WrongTarget, add, listing, without, wrong


def each(operation: str, key: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return an act that changes each entry of a list in the request."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        request = {**step.request, key: [change(entry) for entry in step.request[key]]}
        return evolve(target.correct.call(evolve(step, request=request)), step=step)

    return act


def keeps_properties(operation: str, described: str, levels: int) -> Any:
    """Return an act in which Overwrite keeps the properties of objects at or below a level."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        overwrites = step.operation == operation and step.request.get("mode") == "Overwrite"
        if not overwrites or len(step.request["id"]) < levels:
            return None
        before = target.ask(described, id=step.request["id"]).answer or {}
        kept = {**(before.get("properties") or {}), **(step.request.get("properties") or {})}
        changed = evolve(step, request={**step.request, "properties": kept})
        return evolve(target.correct.call(changed), step=step)

    return act


add("Overwrite keeps properties three levels down", "LN-NAMESPACE-CREATE-020",
    keeps_properties("CreateNamespace", "DescribeNamespace", 3))  # fmt: skip
add("RegisterTable keeps properties of what it replaces", "LN-TABLE-REGISTER-012",
    keeps_properties("RegisterTable", "DescribeTable", 1))  # fmt: skip
add("ListAllTables goes three levels down", "LN-LIST-ALL-003",
    listing("ListAllTables", lambda names: [n for n in names if n.count("$") < 3]))  # fmt: skip
add("include_declared is read on the first page alone", "LN-PAGE-030",
    without("ListTables", "include_declared", when=lambda s: "page_token" in s.request))  # fmt: skip
add("properties are dropped where a location is given", "LN-TABLE-DECLARE-012",
    without("DeclareTable", "properties", when=lambda s: "location" in s.request))  # fmt: skip
add("a tag moves on the main line alone", "LN-TAG-015", without("UpdateTableTag", "branch"))
add("replace is passed over where a null is given", "LN-METADATA-008",
    each("UpdateFieldMetadata", "updates", lambda e: {**e, "replace": False}
         if None in e["metadata"].values() else e))  # fmt: skip
add("a column that is renamed keeps its nullability", "LN-COLUMN-020",
    each("AlterTableAlterColumns", "alterations", lambda e: {k: v for k, v in e.items()
         if k != "nullable" or "rename" not in e}))  # fmt: skip


@wrong("stats are always of the latest version", "LN-TABLE-DESCRIBE-023")
def stats_of_latest(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DescribeTable":
        return None
    reply = target.correct.call(step)
    if not reply.succeeded or not (reply.answer or {}).get("stats"):
        return reply
    latest = target.ask("DescribeTable", id=step.request["id"], load_detailed_metadata=True)
    return evolve(reply, answer={**reply.answer, "stats": latest.answer["stats"]})


@wrong("a table that was registered is dropped without its data", "LN-TABLE-DROP-012")
def drops_entry(target: WrongTarget, step: Step) -> Reply | None:
    table = tuple(step.request.get("id") or ())
    if step.operation == "RegisterTable":
        target.memory[table] = True
    if step.operation == "DropTable" and target.memory.pop(table, False):
        return evolve(target.ask("DeregisterTable", id=list(table)), step=step)
    return None


@wrong("a table with tags cannot be overwritten", "LN-TABLE-CREATE-030")
def tagged_stays(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateTable" or step.request.get("mode") != "Overwrite":
        return None
    tags = target.ask("ListTableTags", id=step.request["id"]).answer or {}
    return Reply(step=step, code=9, message="a tag already exists") if tags.get("tags") else None


@wrong("a blank predicate deletes every row", "LN-ROWS-DELETE-007")
def blank_deletes(target: WrongTarget, step: Step) -> Reply | None:
    predicate = step.request.get("predicate")
    if step.operation != "DeleteFromTable" or not predicate or predicate.strip():
        return None
    request = {**step.request, "predicate": "true"}
    return evolve(target.correct.call(evolve(step, request=request)), step=step)
