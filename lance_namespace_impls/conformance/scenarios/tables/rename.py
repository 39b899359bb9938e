"""RenameTable."""

from __future__ import annotations

from typing import Any

from ...catalog_objects import PROPERTIES, place_for_tables
from ...lab import Lab, Skipped
from ...requirement import check
from ...rows import PEOPLE, people, stream
from ...table_versions import (
    branch_starts,
    branch_state,
    forked_table,
    same_values,
    two_versions,
    version_numbers,
)
from .fixtures import declared_with_properties, missing_namespace_table

_RENAME = "rest.yaml, RenameTable"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)
_SIDE = {"branch": "side"}


@check("LN-TABLE-RENAME-001", "A renamed table has its new name, and its old name is free.",
       _RENAME, "RenameTable", capabilities=["tables"])  # fmt: skip
def rename(lab: Lab) -> None:
    table, new = lab.any_table(), lab.ledger.fresh()
    lab.ok("RenameTable", id=table, new_table_name=new)
    lab.that(
        lab.exists("TableExists", [*table[:-1], new]), "the new name to exist", "it does not exist"
    )
    lab.that(not lab.exists("TableExists", table), "the old name to no longer exist", "it exists")


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
        lab.same((older.answer or {}).get("count"), len(PEOPLE), "the rows in the first version")


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
        lab.that(lab.exists("TableExists", table), f"{table[-1]} to remain", "it no longer exists")
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
    first, second = place_for_tables(lab), place_for_tables(lab)
    if first == second:
        raise Skipped("only one namespace can contain tables")
    name, new = lab.ledger.fresh(), lab.ledger.fresh()
    lab.given("DeclareTable", id=[*first, name])
    lab.maybe("RenameTable", id=[*first, name], new_table_name=new, new_namespace_id=second)
    lab.that(
        lab.exists("TableExists", [*second, new]),
        "the table to exist in its new namespace",
        "it does not exist",
    )
    lab.that(
        not lab.exists("TableExists", [*first, name]),
        "the table to no longer exist in its old namespace",
        "it exists",
    )
    lab.that(
        not lab.exists("TableExists", [*first, new]),
        "no other table to be created",
        f"{new} in {first}",
    )


@check("LN-TABLE-RENAME-007",
       "RenameTable into a missing namespace fails with code 1 and moves nothing.", _CODES,
       "RenameTable", capabilities=["namespaces", "tables"])  # fmt: skip
def rename_nowhere(lab: Lab) -> None:
    table = lab.any_table()
    missing = missing_namespace_table(lab)[:-1]
    lab.refused(
        "RenameTable", [0, 1], id=table, new_table_name=lab.ledger.fresh(), new_namespace_id=missing
    )
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-TABLE-RENAME-008", "RenameTable without a new name fails with code 13.",
       "rest.yaml, RenameTableRequest", "RenameTable", capabilities=["tables"])  # fmt: skip
def rename_no_name(lab: Lab) -> None:
    table = lab.any_table()
    lab.refused("RenameTable", [13], id=table, new_table_name="")
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-TABLE-RENAME-012", "A table cannot be renamed to the name of a namespace.",
       "general specification, Object Name: a name is unique in its namespace", "RenameTable",
       capabilities=["namespaces", "tables"])  # fmt: skip
def rename_to_namespace(lab: Lab) -> None:
    if lab.shape.table_parent != lab.shape.namespace_parent:
        raise Skipped("tables and namespaces have no common parent")
    table, namespace = lab.any_table(), lab.new_namespace()
    lab.refused("RenameTable", [0, 2, 5, 13], id=table, new_table_name=namespace[-1])
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")
    lab.that(
        lab.exists("NamespaceExists", namespace), "the namespace to remain", "it no longer exists"
    )


@check("LN-TABLE-RENAME-009", "RenameTable preserves versions, tags and indices.",
       "rest.yaml, RenameTable", "RenameTable", "CreateTableTag", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def rename_keeps(lab: Lab) -> None:
    table = two_versions(lab)
    lab.given("CreateTableTag", id=table, tag="first", version=1)
    indexed = lab.call(
        "CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id"
    )
    new = lab.table_id()
    lab.ok("RenameTable", id=table, new_table_name=new[-1])
    answer = lab.ok("GetTableTagVersion", id=new, tag="first")
    lab.same(answer.get("version"), 1, "the version of the tag")
    lab.same(lab.count(new, version=1), len(ALL), "the rows in version 1")
    if indexed.succeeded:
        found = lab.ok("ListTableIndices", id=new).get("indexes") or ()
        lab.same([entry["index_name"] for entry in found], ["by_id"], "the indices")


@check("LN-TABLE-RENAME-010", "Renaming a table to its current name changes nothing.",
       "rest.yaml, RenameTable, code 5", "RenameTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def rename_same(lab: Lab) -> None:
    table = lab.new_table()
    reply = lab.call("RenameTable", id=table, new_table_name=table[-1])
    if not reply.succeeded:
        lab.must_fail(reply, [5, 13])
    lab.same(lab.count(table), len(ALL), "the rows")


@check("LN-TABLE-RENAME-011",
       "A renamed table keeps its rows, its old name can be reused, and other tables do not "
       "change.",
       "rest.yaml, RenameTable", "RenameTable", "DescribeTable", "ListTables", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def renamed_keeps_rows(lab: Lab) -> None:
    table, other = lab.new_table(1), lab.new_table(2)
    new = lab.table_id()
    lab.ok("RenameTable", id=table, new_table_name=new[-1])
    lab.ok("InsertIntoTable", stream(people(3)), id=new)
    lab.same(lab.ids(new), [1, 3], "the ids")
    lab.given("CreateTable", stream(people(9)), id=table)
    lab.same(
        (lab.ids(table), lab.ids(new), lab.ids(other)),
        ([9], [1, 3], [2]),
        "the ids in the three tables",
    )
    lab.ok("DropTable", id=table)
    lab.same(lab.ids(new), [1, 3], "the ids after the table with the old name is dropped")
    names = lab.walk("ListTables", "tables", id=new[:-1])
    lab.same((new[-1] in names, table[-1] in names), (True, False), "which name is listed")


def _where(lab: Lab, namespaces: list[list[str]], name: str) -> list[list[str]]:
    """Return the namespaces that contain a table; ListTables and TableExists must agree."""
    found = []
    for namespace in namespaces:
        listed = name in lab.walk("ListTables", "tables", id=namespace)
        there = lab.exists("TableExists", [*namespace, name])
        lab.same(
            listed, there, f"whether ListTables, like TableExists, finds {name} in {namespace}"
        )
        if there:
            found.append(namespace)
    return found


@check("LN-TABLE-RENAME-013",
       "RenameTable moves a table to the requested namespace, and it is in no other.",
       "rest.yaml, RenameTableRequest, new_namespace_id; ListTables: the tables directly in the namespace",
       "RenameTable", "ListTables", "CreateTable", capabilities=_TABLES)  # fmt: skip
def moves(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be created in a new namespace")
    spaces = [lab.new_namespace(), lab.new_namespace()]
    child = [*spaces[0], lab.ledger.fresh()]
    if (
        lab.call("CreateNamespace", id=child).succeeded
        and lab.call("DeclareTable", id=[*child, lab.ledger.fresh()]).succeeded
    ):
        spaces.append(child)
    if not lab.shape.base and lab.call("DeclareTable", id=[lab.ledger.fresh()]).succeeded:
        spaces.append([])
    table = [*spaces[0], lab.ledger.fresh()]
    lab.given("CreateTable", stream(people(1, 2)), id=table)
    for target in (*spaces[1:], *reversed(spaces[:-1])):
        for name in (table[-1], lab.ledger.fresh()):
            if [*target, name] == table:
                continue
            _where(lab, spaces, table[-1])
            reply = lab.call("RenameTable", id=table, new_table_name=name, new_namespace_id=target)
            if reply.code in (0, 13):
                continue
            lab.must_succeed(reply)
            lab.same(
                _where(lab, spaces, name),
                [target],
                f"the namespaces that contain {name} after the move",
            )
            if name != table[-1]:
                lab.same(
                    _where(lab, spaces, table[-1]),
                    [],
                    f"the namespaces that contain {table[-1]} after the move",
                )
            table = [*target, name]
            lab.same(lab.ids(table), [1, 2], "the ids in the moved table")
            described = lab.ok("DescribeTable", id=table)
            for key, due in (("table", name), ("namespace", target)):
                lab.that(described.get(key) in (None, due), f"{key} {due}", described.get(key))


@check("LN-TABLE-RENAME-014",
       "RenameTable to another namespace fails with code 5 only if the name exists in that "
       "namespace.", "rest.yaml, RenameTableRequest, new_table_name and new_namespace_id",
       "RenameTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def taken_there(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be created in a new namespace")
    one, other = lab.new_namespace(), lab.new_namespace()
    lab.given("CreateTable", stream(people(1)), id=[*one, "t"])
    lab.given("CreateTable", stream(people(2)), id=[*one, "here"])
    lab.given("CreateTable", stream(people(3)), id=[*other, "there"])
    reply = lab.call("RenameTable", id=[*one, "t"], new_table_name="there", new_namespace_id=other)
    if reply.code in (0, 13):
        raise Skipped(f"RenameTable: {reply.outcome()}")
    lab.must_fail(reply, [5])
    lab.same(lab.ids([*other, "there"]), [3], "the ids in the table that already has the name")
    lab.ok("RenameTable", id=[*one, "t"], new_table_name="here", new_namespace_id=other)
    lab.same(
        (lab.ids([*other, "here"]), lab.ids([*one, "here"])), ([1], [2]), "the ids in both tables"
    )


@check("LN-TABLE-RENAME-060",
       "A renamed or moved table keeps its branches, and a new table with the old name has none.",
       "rest.yaml, RenameTable: the rows, versions and schema of the table stay unchanged", "RenameTable",
       "CreateTableBranch", "CreateTable", capabilities=_TABLES)  # fmt: skip
def renamed_with_branches(lab: Lab) -> None:
    table = old = forked_table(lab)
    lab.call("CreateTableTag", id=table, tag="t", version=1)

    def told(at: list[str]) -> dict[str, Any]:
        side = {f"{key}, branch": value for key, value in branch_state(lab, at, **_SIDE).items()}
        tags = lab.call("ListTableTags", id=at).answer
        return {
            **branch_state(lab, at),
            **side,
            "the tags": tags,
            "the branches": branch_starts(lab, at),
        }

    before = told(table)
    moves: list[tuple[list[str], dict[str, Any]]] = [(lab.table_id(), {})]
    if lab.shape.tables_in_new:
        parent = lab.new_namespace()
        moves.append(([*parent, "moved"], {"new_namespace_id": parent}))
    for new, more in moves:
        reply = lab.call("RenameTable", id=table, new_table_name=new[-1], **more)
        if reply.code == 19:
            raise Skipped(f"RenameTable on a table with branches: {reply.outcome()}")
        (lab.may_refuse if more else lab.must_succeed)(reply)
        table = new
        same_values(lab, before, told(table), f"a table renamed to {new}")
    lab.given("CreateTable", stream(people(7)), id=old)
    found = (branch_starts(lab, old), version_numbers(lab, old))
    lab.same(found, ({}, [1]), "the branches and versions of a new table with the old name")
    lab.refused("DeleteTableTag", [0, 8], id=old, tag="t")
    same_values(lab, before, told(table), "the renamed table next to one with its old name")


@check("LN-TABLE-RENAME-061",
       "A renamed table has exactly the requested name, or the new name is rejected.",
       "rest.yaml, RenameTableRequest: new_table_name", "RenameTable", "CreateTable", "QueryTable",
       "ListTables", capabilities=_TABLES)  # fmt: skip
def exact_names(lab: Lab) -> None:
    table, made = lab.new_table(1), list[str]()
    parent = table[:-1]
    for ending in (
        "_Mixed_Case",
        "-a-b",
        ".a",
        "n" * 64,
        "n" * 64 + "a",
        "n" * 128,
        "n" * 128 + "a",
    ):
        name = lab.ledger.fresh() + ending
        reply = lab.call("RenameTable", id=table, new_table_name=name)
        if not reply.succeeded:
            lab.must_fail(reply, [0, 13])
            lab.same(lab.ids(table), [1], "the ids in the table that keeps its name")
            continue
        lab.that(not lab.exists("TableExists", table), "the old name to be unused", table[-1])
        table = [*parent, name]
        lab.same(lab.ids(table), [1], f"the ids in {name}")
        listed = lab.walk("ListTables", "tables", id=parent)
        lab.same(
            [n for n in listed if n == name or n in made],
            [name],
            "the listed names that the table has or had",
        )
        made.append(name)
