"""DropTable and RenameTable."""

from __future__ import annotations

from ..lab import Failed, Lab, Skipped
from ..requirement import check
from ..rows import PEOPLE, people, plain, stream
from .tables import PROPERTIES, declared_with_properties, missing_namespace_table

_DROP = "rest.yaml, DropTable"
_RENAME = "rest.yaml, RenameTable"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'


@check("LN-TABLE-DROP-001", "A table no longer exists after DropTable.", _DROP, "DropTable",
       capabilities=["tables"])  # fmt: skip
def drop(lab: Lab) -> None:
    table = lab.any_table()
    lab.ok("DropTable", id=table)
    lab.that(not lab.exists("TableExists", table), "the table to be gone", "it is there")


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
    lab.same((found.column_names, found.num_rows), (["x"], 1), "columns and number of rows")


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
    lab.same(lab.count(longer), 2, f"the number of rows of {longer[-1]}")


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
       "rest.yaml, DropTable: an object that is not a Lance table is refused and stays",
       "DropTable", capabilities=["nested", "tables"])  # fmt: skip
def drop_namespace(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.refused("DropTable", [1, 4, 13], id=identifier)
    lab.that(lab.exists("NamespaceExists", identifier), "the namespace to stay", "it is gone")


@check("LN-TABLE-RENAME-001", "A renamed table has its new name, and its old name is free.",
       _RENAME, "RenameTable", capabilities=["tables"])  # fmt: skip
def rename(lab: Lab) -> None:
    table, new = lab.any_table(), lab.ledger.fresh()
    lab.ok("RenameTable", id=table, new_table_name=new)
    lab.that(lab.exists("TableExists", [*table[:-1], new]), "the new name to be there", "it is not")
    lab.that(not lab.exists("TableExists", table), "the old name to be gone", "it is there")


@check("LN-TABLE-RENAME-002", "RenameTable keeps the rows, including those of earlier versions.",
       _RENAME, "RenameTable", "CreateTable", "QueryTable", capabilities=["tables"])  # fmt: skip
def rename_rows(lab: Lab) -> None:
    table, new = lab.new_table(), lab.ledger.fresh()
    written = lab.call("InsertIntoTable", stream(people(11)), id=table).succeeded
    lab.ok("RenameTable", id=table, new_table_name=new)
    renamed = [*table[:-1], new]
    lab.same(lab.ids(renamed), [*PEOPLE, 11] if written else list(PEOPLE), "the ids")
    older = lab.call("CountTableRows", id=renamed, version=1)
    if older.code != 0:
        lab.must_succeed(older)
        lab.same((older.answer or {}).get("count"), len(PEOPLE), "the rows of the first version")


@check("LN-TABLE-RENAME-003", "RenameTable keeps the properties.", _RENAME, "RenameTable",
       "DescribeTable", capabilities=["tables"])  # fmt: skip
def rename_properties(lab: Lab) -> None:
    table, new = declared_with_properties(lab), lab.ledger.fresh()
    lab.ok("RenameTable", id=table, new_table_name=new)
    found = lab.ok("DescribeTable", id=[*table[:-1], new]).get("properties")
    lab.has(found, PROPERTIES, "the properties")


@check("LN-TABLE-RENAME-004", "RenameTable to an existing name fails with code 5.", _CODES,
       "RenameTable", capabilities=["tables"])  # fmt: skip
def rename_taken(lab: Lab) -> None:
    first, second = lab.any_table(), lab.any_table()
    lab.call("AlterTable", id=first, set_properties={"owner": "ana"})
    before = [lab.ok("DescribeTable", id=table) for table in (first, second)]
    lab.refused("RenameTable", [5], id=first, new_table_name=second[-1])
    for table, told in zip((first, second), before, strict=True):
        lab.that(lab.exists("TableExists", table), f"{table[-1]} to stay", "it is gone")
        found = lab.ok("DescribeTable", id=table)
        for key in ("location", "properties"):
            lab.same(found.get(key), told.get(key), f"the {key} of {table[-1]}")


@check("LN-TABLE-RENAME-005", "RenameTable of a missing table fails with code 4.", _CODES,
       "RenameTable", capabilities=["tables"])  # fmt: skip
def rename_missing(lab: Lab) -> None:
    lab.refused("RenameTable", [4], id=lab.table_id(), new_table_name=lab.ledger.fresh())


@check("LN-TABLE-RENAME-006",
       "RenameTable with new_namespace_id moves the table to that namespace.", _RENAME,
       "RenameTable", capabilities=["namespaces", "tables"])  # fmt: skip
def rename_across(lab: Lab) -> None:
    from .listings import place_for_tables

    first, second = place_for_tables(lab), place_for_tables(lab)
    if first == second:
        raise Skipped("one namespace alone holds tables")
    name, new = lab.ledger.fresh(), lab.ledger.fresh()
    lab.given("DeclareTable", id=[*first, name])
    lab.maybe("RenameTable", id=[*first, name], new_table_name=new, new_namespace_id=second)
    lab.that(lab.exists("TableExists", [*second, new]), "the table at its new place", "it is not")
    lab.that(not lab.exists("TableExists", [*first, name]), "its old place empty", "it is there")
    lab.that(not lab.exists("TableExists", [*first, new]), "nothing else made", f"{new} in {first}")


@check("LN-TABLE-RENAME-007",
       "RenameTable into a missing namespace fails with code 1 and moves nothing.", _CODES,
       "RenameTable", capabilities=["namespaces", "tables"])  # fmt: skip
def rename_nowhere(lab: Lab) -> None:
    table = lab.any_table()
    missing = missing_namespace_table(lab)[:-1]
    lab.refused("RenameTable", [0, 1], id=table, new_table_name=lab.ledger.fresh(),
                new_namespace_id=missing)  # fmt: skip
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


@check("LN-TABLE-RENAME-008", "RenameTable without a new name fails with code 13.",
       "rest.yaml, RenameTableRequest", "RenameTable", capabilities=["tables"])  # fmt: skip
def rename_no_name(lab: Lab) -> None:
    table = lab.any_table()
    lab.refused("RenameTable", [13], id=table, new_table_name="")
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


@check("LN-TABLE-RENAME-012", "A table cannot be renamed to the name of a namespace.",
       "general specification, Object Name: a name is unique in its namespace", "RenameTable",
       capabilities=["namespaces", "tables"])  # fmt: skip
def rename_to_namespace(lab: Lab) -> None:
    if lab.shape.table_parent != lab.shape.namespace_parent:
        raise Skipped("tables and namespaces have no common parent")
    table, namespace = lab.any_table(), lab.new_namespace()
    lab.refused("RenameTable", [0, 2, 5, 13], id=table, new_table_name=namespace[-1])
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")
    lab.that(lab.exists("NamespaceExists", namespace), "the namespace to stay", "it is gone")


@check("LN-TABLE-DROP-011", "A namespace remains after its last table is dropped or deregistered.",
       _DROP, "DropTable", "DeregisterTable", capabilities=["namespaces", "tables"])  # fmt: skip
def last_table(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("new namespaces hold no tables")
    for operation in ("DropTable", "DeregisterTable"):
        namespace = lab.new_namespace()
        table = [*namespace, lab.ledger.fresh()]
        lab.given("DeclareTable", id=table)
        lab.ok(operation, id=table)
        there = lab.exists("NamespaceExists", namespace)
        lab.that(there, f"the namespace to stay after {operation}", "it is gone")
