"""DropTable."""

from __future__ import annotations

from ...catalog_objects import PROPERTIES, namespace_for_tables
from ...lab import Failed, Lab, Skipped
from ...requirement import check
from ...rows import people, plain, stream
from .fixtures import deregistered, missing_namespace_table, register_again

_DROP = "rest.yaml, DropTable"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]


@check("LN-TABLE-DROP-001", "A table no longer exists after DropTable.", _DROP, "DropTable",
       capabilities=["tables"])  # fmt: skip
def drop(lab: Lab) -> None:
    table = lab.any_table()
    lab.ok("DropTable", id=table)
    lab.that(not lab.exists("TableExists", table), "the table to no longer exist", "it exists")


@check("LN-TABLE-DROP-002", "DropTable of a missing table fails with code 4.", _CODES, "DropTable",
       capabilities=["tables"])  # fmt: skip
def drop_missing(lab: Lab) -> None:
    lab.refused("DropTable", [4], id=lab.table_id())


@check("LN-TABLE-DROP-003", "A second DropTable fails with code 4.", _CODES, "DropTable",
       capabilities=["tables"])  # fmt: skip
def drop_twice(lab: Lab) -> None:
    table = lab.any_table()
    lab.ok("DropTable", id=table)
    lab.refused("DropTable", [4], id=table)


@check("LN-TABLE-DROP-004",
       "After DropTable, a new table with the same name has none of the old rows.", _DROP,
       "DropTable", "CreateTable", "QueryTable", capabilities=["tables"])  # fmt: skip
def drop_and_create(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("DropTable", id=table)
    lab.ok("CreateTable", plain(7), id=table)
    found = lab.query(table)
    lab.same((found.column_names, found.num_rows), (["x"], 1), "the columns and the number of rows")


@check("LN-TABLE-DROP-005",
       "DropTable deletes the data: a table declared with the same name is empty.", _DROP,
       "DropTable", "CreateTable", "DeclareTable", capabilities=["tables"])  # fmt: skip
def drop_deletes(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("DropTable", id=table)
    lab.ok("DeclareTable", id=table)
    reply = lab.call("CountTableRows", id=table)
    if reply.succeeded and (reply.answer or {}).get("count"):
        raise Failed("no rows", reply.outcome(), reply)


@check("LN-TABLE-DROP-006", "DropTable does not affect tables with similar names.",
       "general specification, Object Identifier", "DropTable", "CreateTable", "CountTableRows",
       capabilities=["tables"])  # fmt: skip
def drop_neighbours(lab: Lab) -> None:
    table = lab.new_table()
    longer = [*table[:-1], table[-1] + "x"]
    lab.ok("CreateTable", plain(1, 2), id=longer)
    lab.ok("DropTable", id=table)
    lab.same(lab.count(longer), 2, f"the number of rows in {longer[-1]}")


@check("LN-TABLE-DROP-007", "DropTable returns the id and location of the dropped table.",
       "rest.yaml, DropTableResponse", "DropTable", "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def drop_answers(lab: Lab) -> None:
    table = lab.any_table()
    where = lab.given("DescribeTable", id=table).get("location")
    answer = lab.ok("DropTable", id=table)
    if answer.get("id") is not None:
        lab.same(list(answer["id"]), table, "the id")
    if answer.get("location") is not None:
        lab.same(answer["location"], where, "the location")


@check("LN-TABLE-DROP-008", "DropTable in a missing namespace fails with code 1 or 4.", _CODES,
       "DropTable", capabilities=["namespaces", "tables"])  # fmt: skip
def drop_without_parent(lab: Lab) -> None:
    lab.refused("DropTable", [1, 4], id=missing_namespace_table(lab))


@check("LN-TABLE-DROP-009", "DropTable of a namespace is rejected and drops nothing.",
       "rest.yaml, DropTable: an object that is not a Lance table is rejected and kept",
       "DropTable", capabilities=["nested", "tables"])  # fmt: skip
def drop_namespace(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.refused("DropTable", [1, 4, 13], id=identifier)
    lab.that(
        lab.exists("NamespaceExists", identifier), "the namespace to remain", "it no longer exists"
    )


@check("LN-TABLE-DROP-011", "A namespace remains after its last table is dropped or deregistered.",
       _DROP, "DropTable", "DeregisterTable", capabilities=["namespaces", "tables"])  # fmt: skip
def last_table(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("new namespaces cannot contain tables")
    for operation in ("DropTable", "DeregisterTable"):
        namespace = lab.new_namespace()
        table = [*namespace, lab.ledger.fresh()]
        lab.given("DeclareTable", id=table)
        lab.ok(operation, id=table)
        there = lab.exists("NamespaceExists", namespace)
        lab.that(there, f"the namespace to remain after {operation}", "it no longer exists")


@check("LN-TABLE-DROP-010",
       "DropTable and DeregisterTable return the properties and the location that the table had.",
       "rest.yaml, DropTableResponse and DeregisterTableResponse", "DeclareTable", "DropTable",
       "DeregisterTable", capabilities=_TABLES)  # fmt: skip
def last_words(lab: Lab) -> None:
    for operation in ("DropTable", "DeregisterTable"):
        table = lab.table_id()
        lab.maybe("DeclareTable", id=table, properties={"owner": "me"})
        location = lab.ok("DescribeTable", id=table).get("location")
        reply = lab.call(operation, id=table)
        if reply.code == 0:
            continue
        lab.must_succeed(reply)
        answer = reply.answer or {}
        if answer.get("properties") is not None:
            lab.has(answer["properties"], {"owner": "me"}, "the properties")
        if answer.get("location") is not None:
            lab.same(answer["location"], location, "the location")


@check("LN-TABLE-DROP-012", "DropTable also deletes the data of a table that was registered.",
       "rest.yaml, DropTable: deletes its data in storage", "DropTable", "RegisterTable",
       "DeregisterTable", "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def drop_registered(lab: Lab) -> None:
    table, where = deregistered(lab)
    register_again(lab, table, where)
    lab.ok("DropTable", id=table)
    again = lab.table_id()
    if lab.call("RegisterTable", id=again, location=where).succeeded:
        reply = lab.call("CountTableRows", id=again)
        lab.that(not reply.succeeded, "no rows to remain", reply.outcome())


@check("LN-TABLE-DROP-060",
       "Removing a renamed table returns its new name, and only DropTable deletes its data.",
       "rest.yaml, DropTableResponse and DeregisterTableResponse; DropTable: deletes its data", "DropTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def named_now(lab: Lab) -> None:
    for operation, move in (("DropTable", False), ("DropTable", True), ("DeregisterTable", True)):
        old = lab.new_table(1, 2)
        new = [*namespace_for_tables(lab), old[-1]] if move else lab.table_id()
        request = {"new_namespace_id": new[:-1]} if move else {}
        if not lab.call("RenameTable", id=old, new_table_name=new[-1], **request).succeeded:
            continue
        lab.call("AlterTable", id=new, set_properties=PROPERTIES)
        lab.ok("CreateTable", stream(people(5)), id=old)
        told = {**lab.ok("DescribeTable", id=new), "id": new}
        answer = lab.ok(operation, id=new)
        for key in ("id", "location", "properties"):
            lab.same(
                answer.get(key) or told.get(key),
                told.get(key),
                f"the {key} that {operation} returns",
            )
        lab.same(lab.ids(old), [5], f"the ids in the table with the old name after {operation}")
        again = lab.table_id()
        if lab.call("RegisterTable", id=again, location=told.get("location")).succeeded:
            count = lab.call("CountTableRows", id=again)
            if count.code != 0:
                left = (count.answer or {}).get("count") or 0
                lab.same(
                    left, 2 * (operation != "DropTable"), f"the number of rows left by {operation}"
                )
