"""DropNamespace: modes and behaviors."""

from __future__ import annotations

from typing import Any

from ..lab import Failed, Lab, NotReached, Skipped
from ..requirement import check
from ..rows import plain
from .namespaces import PROPERTIES, with_properties

_MODES = 'protocol semantics, "Modes"; rest.yaml, DropNamespace'


def with_contents(lab: Lab) -> tuple[list[str], list[str], str]:
    """Return a namespace, an object in it, and the operation that tests if the object exists."""
    identifier = lab.new_namespace()
    child = [*identifier, lab.ledger.fresh()]
    for operation, data, look in (
        ("DeclareTable", None, "TableExists"), ("CreateTable", plain(1), "TableExists"),
        ("CreateNamespace", None, "NamespaceExists"),
    ):  # fmt: skip
        reply = lab.call(operation, data, id=child)
        if reply.succeeded:
            return identifier, child, look
    if lab.shape.nested or lab.shape.tables_in_new:
        raise NotReached(f"{reply.step.operation} failed: {reply.outcome()}")
    raise Skipped("a namespace here holds neither tables nor namespaces")


@check("LN-NAMESPACE-DROP-001", "A namespace no longer exists after DropNamespace.", _MODES,
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.ok("DropNamespace", id=identifier)
    lab.that(
        not lab.exists("NamespaceExists", identifier), "the namespace to be gone", "it is there"
    )


@check("LN-NAMESPACE-DROP-002",
       "DropNamespace of a missing namespace fails with code 1 in mode Fail; the Iceberg "
       "specification allows it to succeed.", f"{_MODES}; iceberg specification, DropNamespace",
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop_missing(lab: Lab) -> None:
    identifier = lab.namespace_id()
    reply = lab.call("DropNamespace", id=identifier, mode="Fail")
    if reply.succeeded:
        return
    lab.must_fail(reply, [1])


@check("LN-NAMESPACE-DROP-003", "DropNamespace of a missing namespace succeeds in mode Skip.",
       _MODES, "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop_skip(lab: Lab) -> None:
    identifier = lab.namespace_id()
    for spelling in ("Skip", "skip", "SKIP"):
        lab.ok("DropNamespace", id=identifier, mode=spelling)


@check("LN-NAMESPACE-DROP-004", "Mode Skip drops an existing namespace.", _MODES, "DropNamespace",
       capabilities=["namespaces"])  # fmt: skip
def drop_skip_drops(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.ok("DropNamespace", id=identifier, mode="Skip")
    lab.that(
        not lab.exists("NamespaceExists", identifier), "the namespace to be gone", "it is there"
    )


@check("LN-NAMESPACE-DROP-005", "DropNamespace of a namespace that is not empty fails with code 3.",
       _MODES, "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop_not_empty(lab: Lab) -> None:
    identifier, _, _ = with_contents(lab)
    lab.refused("DropNamespace", [3], id=identifier)


@check("LN-NAMESPACE-DROP-006", "A failed DropNamespace keeps the namespace and its contents.",
       _MODES, "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop_not_empty_keeps(lab: Lab) -> None:
    identifier, child, look = with_contents(lab)
    reply = lab.call("DropNamespace", id=identifier, behavior="Restrict")
    if reply.succeeded:
        raise Failed("a namespace that is not empty not to be dropped", reply.outcome(), reply)
    lab.that(lab.exists("NamespaceExists", identifier), "the namespace to stay", "it is gone")
    lab.that(lab.exists(look, child), "what is in it to stay", "it is gone")


@check("LN-NAMESPACE-DROP-007", "Behavior Cascade also drops the contents of the namespace.",
       _MODES, "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def cascade(lab: Lab) -> None:
    identifier, child, look = with_contents(lab)
    lab.maybe("DropNamespace", id=identifier, behavior="Cascade")
    lab.that(
        not lab.exists("NamespaceExists", identifier), "the namespace to be gone", "it is there"
    )
    lab.that(not lab.exists(look, child), "what was in it to be gone", "it is there")
    lab.given("CreateNamespace", id=identifier)
    lab.that(not lab.exists(look, child), "a new namespace to be empty", f"{child} is back")


@check("LN-NAMESPACE-DROP-008",
       "An unknown mode of DropNamespace fails with code 13 and drops nothing.", _MODES,
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def unknown_mode(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.refused("DropNamespace", [13], id=identifier, mode="sometimes")
    lab.that(lab.exists("NamespaceExists", identifier), "the namespace to stay", "it is gone")


@check("LN-NAMESPACE-DROP-009",
       "An unknown behavior of DropNamespace fails with code 13 and drops nothing.", _MODES,
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def unknown_behavior(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.refused("DropNamespace", [13], id=identifier, behavior="gently")
    lab.that(lab.exists("NamespaceExists", identifier), "the namespace to stay", "it is gone")


@check("LN-NAMESPACE-DROP-010",
       "The properties that DropNamespace returns, if any, are those of the dropped namespace.",
       "rest.yaml, DropNamespaceResponse", "DropNamespace",
       capabilities=["namespaces"])  # fmt: skip
def drop_answers(lab: Lab) -> None:
    identifier = with_properties(lab)
    answer = lab.ok("DropNamespace", id=identifier)
    if answer.get("properties"):
        lab.has(answer["properties"], PROPERTIES, "the answer's properties")


@check("LN-NAMESPACE-DROP-011",
       "A name can be reused after DropNamespace, without the old properties.",
       "general specification, Object Name", "DropNamespace", "DescribeNamespace",
       capabilities=["namespaces"])  # fmt: skip
def drop_and_create(lab: Lab) -> None:
    identifier = with_properties(lab)
    lab.ok("DropNamespace", id=identifier)
    lab.ok("CreateNamespace", id=identifier)
    found = lab.ok("DescribeNamespace", id=identifier).get("properties") or {}
    lab.that("owner" not in found, "no property of before", found)


@check("LN-NAMESPACE-DROP-012", "DropNamespace does not affect namespaces with similar names.",
       "general specification, Object Identifier", "DropNamespace",
       capabilities=["namespaces"])  # fmt: skip
def drop_neighbours(lab: Lab) -> None:
    identifier = lab.new_namespace()
    longer = [*identifier[:-1], identifier[-1] + "x"]
    lab.given("CreateNamespace", id=longer)
    lab.ok("DropNamespace", id=identifier)
    lab.that(lab.exists("NamespaceExists", longer), f"{longer} to stay", "it is gone")


@check("LN-NAMESPACE-DROP-013",
       "A second DropNamespace fails with code 1, unless dropping is idempotent.",
       f"{_MODES}; iceberg specification, DropNamespace", "DropNamespace",
       capabilities=["namespaces"])  # fmt: skip
def drop_twice(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.ok("DropNamespace", id=identifier)
    reply = lab.call("DropNamespace", id=identifier)
    if not reply.succeeded:
        lab.must_fail(reply, [1])


@check("LN-NAMESPACE-DROP-019",
       "DropNamespace of a missing namespace in mode Skip succeeds with either behavior.", _MODES,
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def skip_either(lab: Lab) -> None:
    for behavior in ("Restrict", "Cascade", "CASCADE"):
        lab.maybe("DropNamespace", id=lab.namespace_id(), mode="Skip", behavior=behavior)


@check("LN-NAMESPACE-DROP-020",
       "A table is not a namespace: it is not described or dropped as one.",
       "general specification, Object Name and Object Identifier", "DropNamespace",
       capabilities=["tables", "namespaces"])  # fmt: skip
def not_a_table(lab: Lab) -> None:
    table = lab.any_table()
    for operation in ("DescribeNamespace", "NamespaceExists", "ListTables", "ListNamespaces"):
        reply = lab.call(operation, id=table)
        empty = operation.startswith("List") and not any((reply.answer or {}).values())
        if reply.code != 0 and not (reply.succeeded and empty):
            lab.must_fail(reply, [1, 13])
    # The Iceberg specification allows a drop of a missing namespace to succeed.
    idempotent = lab.call("DropNamespace", id=lab.namespace_id()).succeeded
    for more in ({}, {"behavior": "Cascade"}, {"mode": "Skip"}):
        reply = lab.call("DropNamespace", id=table, **more)
        if not (reply.succeeded and (idempotent or more.get("mode"))):
            lab.must_fail(reply, [0, 1, 13])
        lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


@check("LN-NAMESPACE-DROP-021", "Nothing can be created below a table.",
       "general specification, Namespace Definition: it contains tables or namespaces; Parent & Child",
       "CreateNamespace", capabilities=["tables", "namespaces"])  # fmt: skip
def below_a_table(lab: Lab) -> None:
    table = lab.any_table()
    for operation in ("CreateNamespace", "DeclareTable"):
        lab.refused(operation, [0, 1, 13], id=[*table, lab.ledger.fresh()])
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


@check("LN-NAMESPACE-DROP-024",
       "Namespaces with the same last name under different parents have separate contents.",
       "rest.yaml, DropNamespace; general specification, Object Identifier", "CreateNamespace",
       "DropNamespace", capabilities=["namespaces", "nested"])  # fmt: skip
def of_one_last_name(lab: Lab) -> None:
    first, second = lab.new_namespace(), lab.new_namespace()
    full, empty = [*first, "same"], [*second, "same"]
    lab.maybe("CreateNamespace", id=full)
    lab.maybe("DeclareTable", id=[*full, "t"])
    lab.refused("NamespaceExists", [1], id=empty)
    lab.refused("DescribeNamespace", [1], id=empty)
    lab.ok("CreateNamespace", id=empty)
    lab.same(lab.walk("ListTables", "tables", id=empty), [], "the tables of the empty one")
    lab.ok("DropNamespace", id=empty)
    lab.refused("DropNamespace", [3], id=full)
    lab.that(lab.exists("TableExists", [*full, "t"]), "the table to stay", "it is gone")


@check("LN-NAMESPACE-DROP-025",
       "At any level, Skip ignores a missing namespace, and Cascade drops one with all its "
       "contents.", _MODES, "CreateNamespace", "DropNamespace",
       capabilities=["namespaces", "nested"])  # fmt: skip
def at_any_level(lab: Lab) -> None:
    top = lab.new_namespace()
    reply = lab.call("DropNamespace", id=[*top, "none", "child"], mode="Skip")
    if reply.code not in (0, 13):
        lab.must_succeed(reply)
    levels = [[*top, "a"], [*top, "a", "b"]]
    made = [level for level in levels if lab.call("CreateNamespace", id=level).succeeded]
    tables = [
        [*level, "t"]
        for level in (top, *made)
        if lab.call("DeclareTable", id=[*level, "t"]).succeeded
    ]
    lab.maybe("DropNamespace", id=top, behavior="Cascade")
    for level in (top, *made):
        lab.that(not lab.exists("NamespaceExists", level), f"{level} to be gone", "it is there")
        lab.ok("CreateNamespace", id=level)
    for table in tables:
        lab.that(not lab.exists("TableExists", table), f"{table} to be gone", "it is there again")
    for level in (top, *made):
        lab.same(lab.walk("ListTables", "tables", id=level), [], f"the tables of {level}")


@check("LN-WHOLE-066",
       "A rejected call creates no object of another kind, and changes none with the same name.",
       "rest.yaml, info: a call that is refused has changed nothing", "CreateNamespace",
       capabilities=["namespaces"])  # fmt: skip
def no_other_kind(lab: Lab) -> None:
    parent = list(lab.shape.namespace_parent or ())
    setting = {"setPropertyAction": {"key": "a", "value": "b"}}
    calls: tuple[tuple[str, list[str], dict[str, Any]], ...] = (
        ("AlterNamespace", parent, {"set_properties": {"a": "b"}}), ("DropNamespace", parent, {}),
        ("DescribeNamespace", parent, {}), ("CreateNamespace", parent, {"mode": "sometimes"}),
        ("AlterTransaction", [], {"actions": [setting]}),
    )  # fmt: skip
    for operation, above, request in calls:
        name = [*above, lab.ledger.fresh()]
        if lab.call(operation, id=name, **request).succeeded:
            continue  # other checks cover this operation's codes
        for exists in ("TableExists", "NamespaceExists"):
            reply = lab.call(exists, id=name)
            lab.that(not reply.succeeded, f"{exists} to find nothing after {operation}", name[-1])
    there = with_properties(lab)
    before = lab.ok("DescribeNamespace", id=there).get("properties")
    if not lab.call("DeclareTable", id=there, properties={"owner": "eve"}).succeeded:
        after = lab.ok("DescribeNamespace", id=there).get("properties")
        lab.same(after, before, "properties of the namespace whose name a table was to have")
